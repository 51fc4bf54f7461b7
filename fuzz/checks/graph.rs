//! Graphs of any blocks, ratios and placements pass every sample once, in order and with its index.

#[path = "graph/blocks.rs"]
mod blocks;

use std::collections::{BTreeMap, VecDeque};
use std::task::Waker;

use blocks::{Add, Cut, Deal, Hold, Seen, Sum};
use samplewire_circuit::{
    Circuit, Graph, GraphBuilder, Placement, Polled, Ratio, RunError, Scheduler, Stream,
};
use samplewire_proto::Rng;

/// Builds the graph that `bytes` spell, and runs it on this thread, its groups in the order that they
/// spell.
///
/// # Panics
/// When a sample is not where it should be, or the graph stands still.
pub(crate) fn check(bytes: &[u8]) {
    let mut draw = Draw { bytes: bytes.to_vec().into(), rng: Rng::new(0) };
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
        let (circuit, len) = circuit(draw, 0);
        let stream = graph.source("source", Cut { runs, next: 0 }, circuit);
        grow(&mut graph, draw, Grown { stream, samples, len }, 0, &mut sinks);
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
            let mut samples = seen.samples.lock().expect("no sink panicked");
            if !seen.has_order {
                samples.sort_unstable();
            }
            let at = samples.iter().zip(expected).position(|(seen, expected)| seen != expected);
            let (len, of) = (samples.len(), expected.len());
            assert!(at.is_none() && len == of, "sink {number}: {len} of {of}, {at:?}");
        }
    }
}

/// Polls groups on one thread, in any order.
struct InTurn(Draw);

impl Scheduler for InTurn {
    fn run(&mut self, graph: &mut Graph) -> Result<(), RunError> {
        let Self(draw) = self;
        let placement = placement(graph, draw);
        let mut groups = graph.split(&placement);
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

/// Each block in one of up to four groups, which sleep or spin.
pub(crate) fn placement(graph: &Graph, draw: &mut Draw) -> Placement {
    let groups = 1 + draw.below(4);
    let placement = Placement::by(graph, |_| draw.below(groups) as usize);
    if draw.below(2) == 0 { placement.spinning() } else { placement }
}

type Samples = Vec<(u64, i32)>;

/// A stream, and what is on it.
struct Grown {
    stream: Stream<i32>,
    samples: Samples,
    /// How many samples a quantum holds at most.
    len: u64,
}

/// Adds blocks behind `grown`, and sinks behind those.
fn grow(
    graph: &mut GraphBuilder,
    draw: &mut Draw,
    mut grown: Grown,
    depth: u64,
    sinks: &mut Vec<(Seen, Samples)>,
) {
    for place in 0..draw.below(5) {
        let name = format!("{depth}.{}.{place}", sinks.len());
        let number = sinks.len() as u64 * 100 + depth * 10 + place;
        match draw.below(10) {
            0 | 1 => {
                let add = draw.below(1_000) as i32;
                grown.samples.iter_mut().for_each(|sample| sample.1 = sample.1.wrapping_add(add));
                let block = Add(add, Draw::of_seed(draw.below(1 << 16)));
                grown.stream = graph.in_place(name, block, grown.stream);
            }
            2 | 3 => grown = transformed(graph, draw, &name, number, grown),
            4 => grown = joined(graph, draw, &name, number, grown),
            5 => {
                let dealt = dealt(graph, draw, &name, grown.stream, 1);
                grown.stream = dealt.into_iter().next().expect("to one output");
            }
            6 if grown.samples.iter().zip(0..).all(|(sample, index)| sample.0 == index) => {
                grown = looped(graph, draw, &name, number, grown);
            }
            7 => return merged(graph, draw, &name, number, grown, sinks),
            8 | 9 if depth < 2 => {
                let shared = graph.broadcast(name.clone(), grown.stream);
                for reader in 0..1 + draw.below(3) {
                    let name = format!("{name}.{reader}");
                    let samples = grown.samples.clone();
                    if draw.below(2) == 0 {
                        see(graph, name, shared.clone(), samples, true, sinks);
                    } else {
                        let (circuit, len) = circuit(draw, number + reader);
                        let copy = Hold::new(Ratio::ONE);
                        let stream = graph.transform(name, copy, shared.clone(), circuit);
                        grow(graph, draw, Grown { stream, samples, len }, depth + 1, sinks);
                    }
                }
                return;
            }
            _ => {}
        }
    }
    let name = format!("sink {}", sinks.len());
    see(graph, name, grown.stream, grown.samples, true, sinks);
}

/// A sink for `stream`.
fn see(
    graph: &mut GraphBuilder,
    name: String,
    stream: impl Into<samplewire_circuit::Readable<i32>>,
    mut expected: Samples,
    has_order: bool,
    sinks: &mut Vec<(Seen, Samples)>,
) {
    if !has_order {
        expected.sort_unstable();
    }
    let seen = Seen { samples: Default::default(), has_order };
    graph.sink(name, seen.clone(), stream);
    sinks.push((seen, expected));
}

fn transformed(
    graph: &mut GraphBuilder,
    draw: &mut Draw,
    name: &str,
    number: u64,
    grown: Grown,
) -> Grown {
    let ratio = match draw.below(3) {
        0 => Ratio::decimate(1 + draw.below(5) as u32),
        1 => Ratio::interpolate(1 + draw.below(4) as u32),
        _ => {
            Ratio { interpolation: 1 + draw.below(9) as u32, decimation: 1 + draw.below(9) as u32 }
        }
    };
    let outputs = |&(index, sample): &(u64, i32)| {
        (ratio.output_at(index)..ratio.output_at(index + 1)).map(move |at| (at, sample))
    };
    let samples = grown.samples.iter().flat_map(outputs).collect();
    let (circuit, len) = circuit(draw, number);
    let stream = graph.transform(name, Hold::new(ratio), grown.stream, circuit);
    Grown { stream, samples, len }
}

/// The sum with another source's samples of the same indexes.
fn joined(
    graph: &mut GraphBuilder,
    draw: &mut Draw,
    name: &str,
    number: u64,
    mut grown: Grown,
) -> Grown {
    let (other, samples) = another(graph, draw, name, number, &grown.samples);
    let others: BTreeMap<_, _> = samples.into_iter().collect();
    grown.samples.retain_mut(|(index, sample)| {
        others.get(index).is_some_and(|other| {
            *sample = sample.wrapping_add(*other);
            true
        })
    });
    let stream = graph.join(name, Sum, grown.stream, other);
    Grown { stream, ..grown }
}

/// A source of about as many samples.
fn another(
    graph: &mut GraphBuilder,
    draw: &mut Draw,
    name: &str,
    number: u64,
    samples: &Samples,
) -> (Stream<i32>, Samples) {
    let runs = runs(draw, samples.last().map_or(1, |last| 1 + last.0.min(LENGTH_MAX)));
    let indexes = runs.iter().flat_map(|&(index, len)| index..index + len);
    let samples = indexes.map(|index| (index, value(index))).collect();
    let (circuit, _) = circuit(draw, number);
    (graph.source(format!("{name} other"), Cut { runs, next: 0 }, circuit), samples)
}

/// Its quanta on `outputs` streams.
fn dealt(
    graph: &mut GraphBuilder,
    draw: &mut Draw,
    name: &str,
    stream: Stream<i32>,
    outputs: usize,
) -> Vec<Stream<i32>> {
    graph.custom(format!("{name} deal"), |ports| {
        let input = ports.input(stream);
        let (outputs, streams) = (0..outputs).map(|_| ports.pass(&input)).unzip();
        let draw = Draw::of_seed(draw.below(1 << 16));
        (Deal { input, outputs, draw, waker: Waker::noop().clone() }, streams)
    })
}

/// The sum of a stream without gaps with itself, some quanta later: y[n] = x[n] + y[n - D].
fn looped(
    graph: &mut GraphBuilder,
    draw: &mut Draw,
    name: &str,
    number: u64,
    mut grown: Grown,
) -> Grown {
    let len = 1 + draw.below(300);
    // The join keeps back a quantum of the input.
    let initial = grown.len.div_ceil(len) + draw.below(3);
    let quanta = initial + 1 + draw.below(3);
    let round = Circuit::new(quanta as usize, len as usize).named(format!("{name} round"));
    let (feedback, delayed) = graph.feedback(format!("{name} loop"), round, initial as usize);
    let sum = graph.join(name, Sum, grown.stream, delayed);
    let both = graph.broadcast(format!("{name} both"), sum);
    graph.close(feedback, both.clone());
    let delay = (initial * len) as usize;
    for index in delay..grown.samples.len() {
        let before = grown.samples[index - delay].1;
        grown.samples[index].1 = grown.samples[index].1.wrapping_add(before);
    }
    let (circuit, len) = circuit(draw, number);
    let copy = Hold::new(Ratio::ONE);
    let stream = graph.transform(format!("{name} copy"), copy, both, circuit);
    Grown { stream, samples: grown.samples, len }
}

/// Its quanta by several ways, and those of another source, in one sink.
fn merged(
    graph: &mut GraphBuilder,
    draw: &mut Draw,
    name: &str,
    number: u64,
    mut grown: Grown,
    sinks: &mut Vec<(Seen, Samples)>,
) {
    let (other, samples) = another(graph, draw, name, number, &grown.samples);
    let outputs = 1 + draw.below(3) as usize;
    let mut streams = dealt(graph, draw, name, grown.stream, outputs);
    streams.insert(draw.below(streams.len() as u64 + 1) as usize, other);
    grown.samples.extend(samples);
    let stream = graph.merge(format!("{name} merge"), streams);
    see(graph, name.to_owned(), stream, grown.samples, false, sinks);
}

/// A circuit, and how many samples its quanta hold.
fn circuit(draw: &mut Draw, number: u64) -> (Circuit<i32>, u64) {
    let (quanta, len) = (1 + draw.below(6), 1 + draw.below(300));
    (Circuit::new(quanta as usize, len as usize).named(format!("circuit {number}")), len)
}

/// Runs of samples, of `left` in all: the index of each and its length, with a gap before some.
fn runs(draw: &mut Draw, mut left: u64) -> VecDeque<(u64, u64)> {
    let mut runs = VecDeque::new();
    let mut index = 0;
    let has_gaps = draw.below(4) > 0;
    while left > 0 {
        if has_gaps && draw.below(8) == 0 {
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

/// Choices drawn from bytes, and when they are used up from a seed.
#[derive(Clone)]
pub(crate) struct Draw {
    bytes: VecDeque<u8>,
    rng: Rng,
}

impl Draw {
    /// All from a seed.
    pub(crate) fn of_seed(seed: u64) -> Self {
        Self { bytes: VecDeque::new(), rng: Rng::new(seed) }
    }

    /// One of 0 to `end`, `end` excluded.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        let drawn = match self.bytes.pop_front() {
            Some(byte) if end <= 256 => byte.into(),
            Some(byte) => u64::from(byte) << 8 | u64::from(self.bytes.pop_front().unwrap_or(0)),
            None => self.rng.draw(),
        };
        drawn % end
    }
}

/// Samples that are joined with a stream, at most.
const LENGTH_MAX: u64 = 40_000;
