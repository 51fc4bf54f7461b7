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
    Scheduler, Sink, Source, Stream, Tag, TagKind, Transform, Work,
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
            2 | 3 => {
                let ratio = match draw.below(3) {
                    0 => Ratio::decimate(1 + draw.below(5) as u32),
                    1 => Ratio::interpolate(1 + draw.below(4) as u32),
                    _ => Ratio {
                        interpolation: 1 + draw.below(9) as u32,
                        decimation: 1 + draw.below(9) as u32,
                    },
                };
                let outputs = |&(index, sample): &(u64, i32)| {
                    (ratio.output_at(index)..ratio.output_at(index + 1)).map(move |at| (at, sample))
                };
                samples = samples.iter().flat_map(outputs).collect();
                let circuit = circuit(graph, draw, sinks.len() as u64 * 100 + depth * 10 + place);
                stream = graph.transform(name, Hold::new(ratio), stream, circuit);
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
                        let copy = Hold::new(Ratio::ONE);
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
            let end = self.index;
            (self.index, self.left) = self.runs.next(end);
            // Of several causes, in tags of their own.
            let (index, lost) = (self.index, self.index - end);
            let kinds = [
                TagKind::Gap { lost_samples: lost / 3, cause: "one" },
                TagKind::Overflow { lost_samples: lost / 3 },
                TagKind::Gap { lost_samples: lost - lost / 3 * 2, cause: "two" },
            ];
            for kind in kinds.into_iter().filter(|_| lost > 0) {
                quantum.push_tag(Tag { index, kind })?;
            }
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

/// Each output is the sample at which it stands, or the one before it.
struct Hold {
    ratio: Ratio,
    /// The index of the next input.
    input: u64,
    /// The index of the next output.
    output: u64,
}

impl Hold {
    fn new(ratio: Ratio) -> Self {
        Self { ratio, input: 0, output: 0 }
    }
}

impl Transform<i32, i32> for Hold {
    fn ratio(&self) -> Ratio {
        self.ratio
    }

    fn restart(&mut self, index: u64) {
        (self.input, self.output) = (index, self.ratio.output_at(index));
    }

    fn work(&mut self, input: &[i32], output: &mut [i32]) -> Result<Done, Failure> {
        let mut done = Done { consumed: 0, produced: 0 };
        for sample in input {
            let end = self.ratio.output_at(self.input + 1);
            let room = &mut output[done.produced..];
            let len = room.len().min((end - self.output) as usize);
            room[..len].fill(*sample);
            done.produced += len;
            self.output += len as u64;
            if self.output < end {
                break;
            }
            done.consumed += 1;
            self.input += 1;
        }
        Ok(done)
    }
}

/// What came: the index and value of each sample. Each index must be a sample's or counted in a tag.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Samples>>);

impl Sink<i32> for Seen {
    fn consume(&mut self, quantum: &Quantum<i32>) -> Work {
        let mut samples = self.0.lock().unwrap();
        let next = samples.last().map_or(0, |last| last.0 + 1);
        let lost_in = |tag: &Tag| match tag.kind {
            TagKind::Gap { lost_samples, .. } | TagKind::Overflow { lost_samples } => lost_samples,
            _ => 0,
        };
        let (index, tags) = (quantum.index(), quantum.tags());
        if next + tags.iter().map(lost_in).sum::<u64>() != index {
            return Err(format!("{next} was to come, {index} came with {tags:?}").into());
        }
        let indexed = (index..).zip(quantum.samples().iter().copied());
        samples.extend(indexed);
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
