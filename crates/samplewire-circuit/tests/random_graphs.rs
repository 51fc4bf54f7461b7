//! Graphs, placements and streams drawn from a seed, held against lists of samples.
//!
//! `SAMPLEWIRE_SEED=n cargo test -p samplewire-circuit --test random_graphs` runs one seed,
//! `SAMPLEWIRE_ROUNDS=n` so many from 0 on.

use std::env;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use samplewire_circuit::{
    Done, Failure, Flow, Graph, GraphBuilder, InPlace, Placement, Polled, Quantum, Ratio, RunError,
    Scheduler, Sink, Source, Stream, Transform, Work,
};

#[test]
fn every_sample_of_random_graphs_arrives_once_in_order_with_its_index() {
    if let Ok(seed) = env::var("SAMPLEWIRE_SEED") {
        return run(seed.parse().expect("SAMPLEWIRE_SEED is a number"));
    }
    let rounds = env::var("SAMPLEWIRE_ROUNDS").map_or(300, |rounds| rounds.parse().unwrap());
    (0..rounds).for_each(run);
}

fn run(seed: u64) {
    let mut draw = Draw(seed);
    let mut graph = GraphBuilder::new();
    let mut sinks = Vec::new();
    let length = 1 + draw.below(40_000);
    let runs = Runs { draw: Draw(seed ^ 0xface), left: length };
    let samples = runs.clone().all();
    let circuit = circuit(&mut graph, &mut draw, 0);
    let stream = graph.source("source", Cut { runs, index: 0, left: 0 }, circuit);
    grow(&mut graph, &mut draw, stream, samples, 0, &mut sinks);
    let result = graph.build().unwrap().run(Random(draw));
    assert!(result.is_ok(), "seed {seed}: {result:?}");
    for (number, (seen, expected)) in sinks.iter().enumerate() {
        let seen = seen.0.lock().unwrap();
        let at = seen.iter().zip(expected).position(|(seen, expected)| seen != expected);
        let (len, of) = (seen.len(), expected.len());
        assert!(at.is_none() && len == of, "seed {seed}: sink {number}: {len} of {of}, {at:?}");
    }
}

type Samples = Vec<(u64, i32)>;

/// Adds blocks behind `stream`, whose samples are `samples`, and sinks behind those.
fn grow(
    graph: &mut GraphBuilder,
    draw: &mut Draw,
    mut stream: Stream<i32>,
    mut samples: Samples,
    depth: u64,
    sinks: &mut Vec<(Seen, Samples)>,
) {
    for place in 0..draw.below(5) {
        let name = format!("{depth}.{}.{place}", sinks.len());
        match draw.below(5) {
            0 | 1 => {
                let add = draw.below(1_000) as i32;
                samples.iter_mut().for_each(|sample| sample.1 += add);
                stream = graph.in_place(name, Add(add, Draw(draw.below(u64::MAX))), stream);
            }
            2 => {
                let factor = 1 + draw.below(5);
                samples.retain(|sample| sample.0 % factor == 0);
                samples.iter_mut().for_each(|sample| sample.0 /= factor);
                let circuit = circuit(graph, draw, sinks.len() as u64 * 100 + depth * 10 + place);
                stream = graph.transform(name, Nth { factor, skip: 0 }, stream, circuit);
            }
            3 => {
                let factor = 1 + draw.below(4);
                let several = |&(index, sample): &(u64, i32)| {
                    (0..factor).map(move |part| (index * factor + part, sample))
                };
                samples = samples.iter().flat_map(several).collect();
                let circuit = circuit(graph, draw, sinks.len() as u64 * 100 + depth * 10 + place);
                stream = graph.transform(name, Times { factor, made: 0 }, stream, circuit);
            }
            _ if depth < 2 => {
                let shared = graph.broadcast(name.clone(), stream);
                for reader in 0..1 + draw.below(3) {
                    let name = format!("{name}.{reader}");
                    if draw.below(2) == 0 {
                        let seen = Seen::default();
                        graph.sink(name, seen.clone(), shared.clone());
                        sinks.push((seen, samples.clone()));
                    } else {
                        let circuit = circuit(graph, draw, sinks.len() as u64 * 100 + reader);
                        let copy = Times { factor: 1, made: 0 };
                        let stream = graph.transform(name, copy, shared.clone(), circuit);
                        grow(graph, draw, stream, samples.clone(), depth + 1, sinks);
                    }
                }
                return;
            }
            _ => {}
        }
    }
    let seen = Seen::default();
    graph.sink(format!("sink {}", sinks.len()), seen.clone(), stream);
    sinks.push((seen, samples));
}

fn circuit(
    graph: &mut GraphBuilder,
    draw: &mut Draw,
    number: u64,
) -> samplewire_circuit::Circuit<i32> {
    let (quanta, len) = (1 + draw.below(6), 1 + draw.below(300));
    graph.circuit(format!("circuit {number}"), quanta as usize, len as usize)
}

/// Places each block in one of up to four groups, each on a thread that sleeps or spins; often the
/// blocks were in other groups before, on one thread.
struct Random(Draw);

impl Random {
    fn placement(&mut self, graph: &Graph) -> Placement {
        let groups = 1 + self.0.below(4);
        let placement = Placement::by(graph, |_| self.0.below(groups) as usize);
        if self.0.below(2) == 0 { placement.spinning() } else { placement }
    }
}

impl Scheduler for Random {
    fn run(&mut self, graph: &mut Graph) -> Result<(), RunError> {
        let placement = self.placement(graph);
        let mut groups = graph.split(&placement);
        for _ in 0..self.0.below(6) {
            for group in &mut groups {
                (0..self.0.below(20)).for_each(|_| {
                    group.poll();
                });
            }
            let placement = self.placement(graph);
            groups = graph.regroup(groups, &placement).unwrap_or_else(|groups| groups);
        }
        let poll = |mut group: samplewire_circuit::Group| {
            loop {
                match group.poll() {
                    Polled::Done => return group,
                    Polled::Moved => {}
                    Polled::Idle | Polled::Waiting if group.spins() => thread::yield_now(),
                    Polled::Idle | Polled::Waiting => {
                        group.sleep(Duration::from_millis(500));
                    }
                }
            }
        };
        let groups = thread::scope(|scope| {
            let spawn = |group| scope.spawn(move || poll(group));
            let threads: Vec<_> = groups.into_iter().map(spawn).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        graph.join(groups)
    }
}

/// Runs of samples of random lengths, with a gap before some.
#[derive(Clone)]
struct Runs {
    draw: Draw,
    left: u64,
}

impl Runs {
    /// The next run behind `index`: its own index and its length.
    fn next(&mut self, mut index: u64) -> (u64, u64) {
        if self.draw.below(8) == 0 {
            index += self.draw.below(50);
        }
        let len = (1 + self.draw.below(300)).min(self.left);
        self.left -= len;
        (index, len)
    }

    /// All samples.
    fn all(mut self) -> Samples {
        let mut samples = Samples::new();
        while self.left > 0 {
            let index = samples.last().map_or(0, |last| last.0 + 1);
            let (index, len) = self.next(index);
            samples.extend((index..index + len).map(|index| (index, value(index))));
        }
        samples
    }
}

/// What stands at an index.
fn value(index: u64) -> i32 {
    (index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as i32
}

impl Source<i32> for Cut {
    fn fill(&mut self, quantum: &mut Quantum<i32>) -> Work {
        if self.left == 0 {
            if self.runs.left == 0 {
                return Ok(Flow::End);
            }
            (self.index, self.left) = self.runs.next(self.index);
        }
        let len = quantum.fill().len().min(self.left as usize);
        quantum.set_len(len);
        quantum.set_index(self.index);
        (self.index..).zip(quantum.samples_mut()).for_each(|(index, at)| *at = value(index));
        self.index += len as u64;
        self.left -= len as u64;
        Ok(if self.left + self.runs.left == 0 { Flow::End } else { Flow::Pass })
    }
}

/// Runs cut to quanta.
struct Cut {
    runs: Runs,
    index: u64,
    left: u64,
}

/// Adds, and waits now and then before.
struct Add(i32, Draw);

impl InPlace<i32> for Add {
    fn work(&mut self, quantum: &mut Quantum<i32>) -> Work {
        if self.1.below(64) == 0 {
            return Ok(Flow::Wait);
        }
        quantum.samples_mut().iter_mut().for_each(|sample| *sample += self.0);
        Ok(Flow::Pass)
    }
}

/// The samples at multiples of a factor.
struct Nth {
    factor: u64,
    skip: usize,
}

impl Transform<i32, i32> for Nth {
    fn ratio(&self) -> Ratio {
        Ratio::decimate(self.factor as u32)
    }

    fn restart(&mut self, index: u64) {
        self.skip = (index.next_multiple_of(self.factor) - index) as usize;
    }

    fn work(&mut self, input: &[i32], output: &mut [i32]) -> Result<Done, Failure> {
        let mut done = Done { consumed: 0, produced: 0 };
        while done.consumed < input.len() {
            let skipped = self.skip.min(input.len() - done.consumed);
            done.consumed += skipped;
            self.skip -= skipped;
            if done.consumed == input.len() || done.produced == output.len() {
                break;
            }
            output[done.produced] = input[done.consumed];
            done.consumed += 1;
            done.produced += 1;
            self.skip = self.factor as usize - 1;
        }
        Ok(done)
    }
}

/// Each sample several times.
struct Times {
    factor: u64,
    /// How often the first sample of the input was written.
    made: u64,
}

impl Transform<i32, i32> for Times {
    fn ratio(&self) -> Ratio {
        Ratio::interpolate(self.factor as u32)
    }

    fn restart(&mut self, _: u64) {
        self.made = 0;
    }

    fn work(&mut self, input: &[i32], output: &mut [i32]) -> Result<Done, Failure> {
        let mut consumed = 0;
        let mut produced = 0;
        while consumed < input.len() && produced < output.len() {
            output[produced] = input[consumed];
            produced += 1;
            self.made += 1;
            if self.made == self.factor {
                self.made = 0;
                consumed += 1;
            }
        }
        Ok(Done { consumed, produced })
    }
}

/// What came: the index and value of each sample.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Samples>>);

impl Sink<i32> for Seen {
    fn consume(&mut self, quantum: &Quantum<i32>) -> Work {
        let indexed = (quantum.index()..).zip(quantum.samples().iter().copied());
        self.0.lock().unwrap().extend(indexed);
        Ok(Flow::Pass)
    }
}

/// Numbers that follow from a seed (splitmix64, Steele et al. 2014).
#[derive(Clone)]
struct Draw(u64);

impl Draw {
    /// One of 0 to `end`, `end` excluded.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }
}
