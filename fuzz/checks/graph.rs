//! Graphs of any blocks, ratios and placements pass every sample once, in order and with its index.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use samplewire_circuit::{
    Done, Failure, Flow, Graph, GraphBuilder, Group, InPlace, Join, Placement, Polled, Quantum,
    Ratio, RunError, Scheduler, Sink, Source, Stream, Tag, TagKind, Transform, Work,
};

/// Builds the graph that `bytes` spell, and runs it on this thread, its groups in the order that they
/// spell.
///
/// # Panics
/// When a sample is not where it should be, or the graph stands still.
pub(crate) fn check(bytes: &[u8]) {
    let mut draw = Draw { bytes: bytes.to_vec().into(), seed: 0 };
    let drawn = Drawn::new(&mut draw, 2_000);
    drawn.run(InTurn(draw));
}

/// A graph, and what each of its sinks is to see.
pub(crate) struct Drawn {
    graph: Graph,
    sinks: Vec<(Seen, Samples)>,
}

impl Drawn {
    /// One whose source has up to `length_max` samples.
    pub(crate) fn new(draw: &mut Draw, length_max: u64) -> Self {
        let mut graph = GraphBuilder::new();
        let mut sinks = Vec::new();
        let length = 1 + draw.below(length_max);
        let runs = runs(draw, length);
        let indexes = runs.iter().flat_map(|&(index, len)| index..index + len);
        let samples = indexes.map(|index| (index, value(index))).collect();
        let circuit = circuit(&mut graph, draw, 0);
        let stream = graph.source("source", Cut { runs, next: 0 }, circuit);
        grow(&mut graph, draw, stream, samples, 0, &mut sinks);
        Self { graph: graph.build().expect("it is whole"), sinks }
    }

    /// Runs it.
    ///
    /// # Panics
    /// When it fails, or a sink saw something else.
    pub(crate) fn run(self, scheduler: impl Scheduler) {
        let result = self.graph.run(scheduler);
        assert!(result.is_ok(), "{result:?}");
        for (number, (seen, expected)) in self.sinks.iter().enumerate() {
            let seen = seen.0.lock().expect("no sink panicked");
            let at = seen.iter().zip(expected).position(|(seen, expected)| seen != expected);
            let (len, of) = (seen.len(), expected.len());
            assert!(at.is_none() && len == of, "sink {number}: {len} of {of}, {at:?}");
        }
    }
}

/// Polls groups on one thread, in any order; at first they may change what they have.
struct InTurn(Draw);

impl Scheduler for InTurn {
    fn run(&mut self, graph: &mut Graph) -> Result<(), RunError> {
        let Self(draw) = self;
        let mut groups = regrouped(graph, draw);
        // Once each without a move may be chance, so often in a row it is not.
        let (mut idle, idle_max) = (0, 1_000 * groups.len());
        let mut is_done = vec![false; groups.len()];
        while is_done.contains(&false) {
            let at = draw.below(groups.len() as u64) as usize;
            match groups[at].poll() {
                Polled::Moved => idle = 0,
                Polled::Done => is_done[at] = true,
                Polled::Idle | Polled::Waiting | Polled::Asleep => idle += 1,
            }
            assert!(idle < idle_max, "nothing moves");
        }
        graph.join(groups)
    }
}

/// The groups of a placement, after up to five others in which blocks worked for a while.
pub(crate) fn regrouped(graph: &mut Graph, draw: &mut Draw) -> Vec<Group> {
    let placement = placement(graph, draw);
    let mut groups = graph.split(&placement);
    for _ in 0..draw.below(6) {
        for group in &mut groups {
            (0..draw.below(20)).for_each(|_| {
                group.poll();
            });
        }
        let placement = self::placement(graph, draw);
        groups = match graph.regroup(groups, &placement) {
            Ok(groups) => {
                REGROUPED.fetch_add(1, Ordering::Relaxed);
                groups
            }
            // A stream has ended.
            Err(groups) => groups,
        };
    }
    groups
}

/// How often blocks came to other groups.
pub(crate) static REGROUPED: AtomicUsize = AtomicUsize::new(0);

/// Each block in one of up to four groups, which sleep or spin.
fn placement(graph: &Graph, draw: &mut Draw) -> Placement {
    let groups = 1 + draw.below(4);
    let placement = Placement::by(graph, |_| draw.below(groups) as usize);
    if draw.below(2) == 0 { placement.spinning() } else { placement }
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
        match draw.below(6) {
            0 | 1 => {
                let add = draw.below(1_000) as i32;
                samples.iter_mut().for_each(|sample| sample.1 = sample.1.wrapping_add(add));
                stream = graph.in_place(name, Add(add, Draw::of_seed(draw.below(1 << 16))), stream);
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
            4 => {
                let runs = runs(draw, samples.last().map_or(1, |last| 1 + last.0.min(LENGTH_MAX)));
                let indexes = runs.iter().flat_map(|&(index, len)| index..index + len);
                let others: BTreeMap<_, _> = indexes.map(|index| (index, value(index))).collect();
                samples.retain_mut(|(index, sample)| {
                    let other = others.get(index);
                    other.is_some_and(|other| {
                        *sample = sample.wrapping_add(*other);
                        true
                    })
                });
                let circuit = circuit(graph, draw, sinks.len() as u64 * 100 + depth * 10 + place);
                let other = graph.source(format!("{name} other"), Cut { runs, next: 0 }, circuit);
                stream = graph.join(name, Sum, stream, other);
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

/// Runs of samples, of `left` in all: the index of each and its length, with a gap before some.
fn runs(draw: &mut Draw, mut left: u64) -> VecDeque<(u64, u64)> {
    let mut runs = VecDeque::new();
    let mut index = 0;
    while left > 0 {
        if draw.below(8) == 0 {
            index += draw.below(50);
        }
        let len = (1 + draw.below(300)).min(left);
        runs.push_back((index, len));
        index += len;
        left -= len;
    }
    runs
}

/// What stands at an index.
fn value(index: u64) -> i32 {
    (index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as i32
}

/// Runs cut to quanta, with tags for the gaps between.
struct Cut {
    /// What is left.
    runs: VecDeque<(u64, u64)>,
    /// The index behind the last sample.
    next: u64,
}

impl Source<i32> for Cut {
    fn fill(&mut self, quantum: &mut Quantum<i32>) -> Work {
        let Some((index, left)) = self.runs.front_mut() else { return Ok(Flow::End) };
        let lost = *index - self.next;
        // Of several causes, in tags of their own.
        let kinds = [
            TagKind::Gap { lost_samples: lost / 3, cause: "one" },
            TagKind::Overflow { lost_samples: lost / 3 },
            TagKind::Gap { lost_samples: lost - lost / 3 * 2, cause: "two" },
        ];
        for kind in kinds.into_iter().filter(|_| lost > 0) {
            quantum.push_tag(Tag { index: *index, kind })?;
        }
        let len = quantum.fill().len().min(*left as usize);
        quantum.set_len(len);
        quantum.set_index(*index);
        (*index..).zip(quantum.samples_mut()).for_each(|(index, at)| *at = value(index));
        *index += len as u64;
        *left -= len as u64;
        self.next = *index;
        if *left == 0 {
            self.runs.pop_front();
        }
        Ok(if self.runs.is_empty() { Flow::End } else { Flow::Pass })
    }
}

/// Adds the second stream to the first.
struct Sum;

impl Join<i32, i32> for Sum {
    fn work(&mut self, first: &mut [i32], second: &[i32]) -> Result<(), Failure> {
        first.iter_mut().zip(second).for_each(|(first, other)| *first = first.wrapping_add(*other));
        Ok(())
    }
}

/// Adds, and waits now and then before.
struct Add(i32, Draw);

impl InPlace<i32> for Add {
    fn work(&mut self, quantum: &mut Quantum<i32>) -> Work {
        if self.1.below(64) == 0 {
            return Ok(Flow::Wait);
        }
        let samples = quantum.samples_mut();
        samples.iter_mut().for_each(|sample| *sample = sample.wrapping_add(self.0));
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

/// Choices drawn from bytes, and when they are used up from a seed.
#[derive(Clone)]
pub(crate) struct Draw {
    bytes: VecDeque<u8>,
    seed: u64,
}

impl Draw {
    /// All from a seed.
    pub(crate) fn of_seed(seed: u64) -> Self {
        Self { bytes: VecDeque::new(), seed }
    }

    /// One of 0 to `end`, `end` excluded.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        let drawn = match self.bytes.pop_front() {
            Some(byte) if end <= 256 => byte.into(),
            Some(byte) => u64::from(byte) << 8 | u64::from(self.bytes.pop_front().unwrap_or(0)),
            None => self.next(),
        };
        drawn % end
    }

    /// The next number of the seed (splitmix64, Steele et al. 2014).
    fn next(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.seed;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// Samples that are joined with a stream, at most.
const LENGTH_MAX: u64 = 40_000;
