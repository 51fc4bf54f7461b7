//! Graphs as a program builds and runs them, under each scheduler.

mod schedulers;

use std::sync::{Arc, Mutex};

use samplewire_circuit::blocks::{Head, NullSource};
use samplewire_circuit::{
    Circuit, Done, Failure, Flow, GraphBuilder, InPlace, Quantum, Ratio, Sink, Source, Tag,
    TagKind, Transform, Work,
};
use schedulers::under_each_scheduler;

/// Samples between two gaps; Miri takes its time.
const RUN: u64 = if cfg!(miri) { 80 } else { 10_000 };
/// Samples that are missing in a gap.
const GAP: u64 = RUN / 10;

/// Sample n is n, with a gap of [`GAP`] after each [`RUN`].
struct Ramp;

impl Source<i32> for Ramp {
    fn fill(&mut self, quantum: &mut Quantum<i32>) -> Work {
        let mut index = quantum.index();
        if index % (RUN + GAP) >= RUN {
            index = index.next_multiple_of(RUN + GAP);
            quantum.set_index(index);
            let kind = TagKind::Overflow { lost_samples: GAP };
            quantum.push_tag(Tag { index, kind })?;
        }
        quantum.set_rate_hz(8e6);
        let len = quantum.fill().len().min((RUN - index % (RUN + GAP)) as usize);
        quantum.set_len(len);
        (index..).zip(quantum.samples_mut()).for_each(|(index, sample)| *sample = index as i32);
        Ok(Flow::Pass)
    }
}

struct Add(i32);

impl InPlace<i32> for Add {
    fn work(&mut self, quantum: &mut Quantum<i32>) -> Work {
        quantum.samples_mut().iter_mut().for_each(|sample| *sample += self.0);
        Ok(Flow::Pass)
    }
}

/// Every 8th sample, at indexes that are multiples of 8.
#[derive(Default)]
struct EveryEighth {
    skip: usize,
}

impl Transform<i32, f64> for EveryEighth {
    fn ratio(&self) -> Ratio {
        Ratio::decimate(8)
    }

    fn restart(&mut self, index: u64) {
        self.skip = (index.next_multiple_of(8) - index) as usize;
    }

    fn work(&mut self, input: &[i32], output: &mut [f64]) -> Result<Done, Failure> {
        let mut done = Done { consumed: 0, produced: 0 };
        while done.produced < output.len() && done.consumed + self.skip < input.len() {
            done.consumed += self.skip + 1;
            output[done.produced] = f64::from(input[done.consumed - 1]);
            done.produced += 1;
            self.skip = 7;
        }
        if done.produced < output.len() {
            self.skip -= input.len() - done.consumed;
            done.consumed = input.len();
        }
        Ok(done)
    }
}

/// What came: the index and value of each sample, and each tag.
#[derive(Clone, Default)]
struct Seen<T> {
    samples: Arc<Mutex<Vec<(u64, T)>>>,
    tags: Arc<Mutex<Vec<Tag>>>,
}

impl<T: samplewire_circuit::Sample> Sink<T> for Seen<T> {
    fn consume(&mut self, quantum: &Quantum<T>) -> Work {
        let indexed = (quantum.index()..).zip(quantum.samples().iter().copied());
        self.samples.lock().unwrap().extend(indexed);
        self.tags.lock().unwrap().extend(quantum.tags().iter());
        Ok(Flow::Pass)
    }
}

#[test]
fn samples_tags_and_gaps_keep_their_indexes_through_blocks_and_decimation() {
    under_each_scheduler(|run| {
        let (whole, eighth) = (Seen::<i32>::default(), Seen::<f64>::default());
        let mut graph = GraphBuilder::new();
        let input = Circuit::new(4, 512).named("input");
        let output = Circuit::new(2, 100).named("output");
        let stream = graph.source("ramp", Ramp, input);
        let stream = graph.in_place("add", Add(3), stream);
        let stream = graph.in_place("head", Head::new(5 * RUN), stream);
        let stream = graph.broadcast("both", stream);
        graph.sink("whole", whole.clone(), stream.clone());
        let stream = graph.transform("eighth", EveryEighth::default(), stream, output);
        graph.sink("seen", eighth.clone(), stream);
        let report = run(graph.build().unwrap()).unwrap();

        let indexes: Vec<u64> =
            (0..).filter(|index| index % (RUN + GAP) < RUN).take(5 * RUN as usize).collect();
        let expected: Vec<_> = indexes.iter().map(|&index| (index, index as i32 + 3)).collect();
        assert!(*whole.samples.lock().unwrap() == expected);
        let of_eighth = indexes.iter().filter(|&&index| index % 8 == 0);
        let expected: Vec<_> = of_eighth.map(|&index| (index / 8, (index + 3) as f64)).collect();
        assert!(*eighth.samples.lock().unwrap() == expected);
        let gaps = |ratio: u64| {
            [1, 2, 3, 4].map(|gap| {
                let index = gap * (RUN + GAP) / ratio;
                Tag { index, kind: TagKind::Overflow { lost_samples: GAP / ratio } }
            })
        };
        assert_eq!(*whole.tags.lock().unwrap(), gaps(1));
        assert_eq!(*eighth.tags.lock().unwrap(), gaps(8));
        let counters = report.block("eighth").unwrap().counters;
        assert_eq!((counters.samples, counters.tags_lost), (5 * RUN, 0));
        assert_eq!(report.block("seen").unwrap().counters.samples, 5 * RUN / 8);
    });
}

/// Samples 0 to 9, and 20 to 29 behind two gaps.
struct Twenty;

impl Source<i32> for Twenty {
    fn fill(&mut self, quantum: &mut Quantum<i32>) -> Work {
        quantum.fill();
        quantum.set_len(10);
        if quantum.index() == 0 {
            return Ok(Flow::Pass);
        }
        quantum.set_index(20);
        for (cause, lost_samples) in [("one", 7), ("two", 3)] {
            quantum.push_tag(Tag { index: 20, kind: TagKind::Gap { lost_samples, cause } })?;
        }
        Ok(Flow::End)
    }
}

/// One sample for each four that follow one another.
struct OfFour;

impl Transform<i32, i32> for OfFour {
    fn ratio(&self) -> Ratio {
        Ratio::decimate(4)
    }

    fn work(&mut self, input: &[i32], output: &mut [i32]) -> Result<Done, Failure> {
        let produced = (input.len() / 4).min(output.len());
        let consumed = if input.len() < 4 { input.len() } else { 4 * produced };
        Ok(Done { consumed, produced })
    }
}

#[test]
fn outputs_that_a_block_owes_when_a_gap_comes_are_counted_with_the_gap() {
    under_each_scheduler(|run| {
        let seen = Seen::<i32>::default();
        let mut graph = GraphBuilder::new();
        let (input, output) =
            (Circuit::new(2, 10).named("input"), Circuit::new(2, 10).named("output"));
        let stream = graph.source("twenty", Twenty, input);
        let stream = graph.transform("of four", OfFour, stream, output);
        graph.sink("seen", seen.clone(), stream);
        run(graph.build().unwrap()).unwrap();
        // Output 2 would stand at input 8, and needs 11; 3 and 4 stand at 12 and 16, 5 at 20.
        let indexes: Vec<_> = seen.samples.lock().unwrap().iter().map(|sample| sample.0).collect();
        assert_eq!(indexes, [0, 1, 5, 6]);
        let gap =
            |cause, lost_samples| Tag { index: 5, kind: TagKind::Gap { lost_samples, cause } };
        assert_eq!(*seen.tags.lock().unwrap(), [gap("one", 3), gap("two", 0)]);
    });
}

/// Fails, or panics, at its third quantum.
struct Third {
    calls: u32,
    panics: bool,
}

impl InPlace<i32> for Third {
    fn work(&mut self, _: &mut Quantum<i32>) -> Work {
        self.calls += 1;
        if self.calls < 3 {
            return Ok(Flow::Pass);
        }
        assert!(!self.panics, "enough");
        Err("the coil is hot".into())
    }
}

#[test]
fn failure_and_panic_of_a_block_name_it_and_end_the_graph() {
    for (panics, words) in [(false, "'third': the coil is hot"), (true, "'third' panicked: enough")]
    {
        under_each_scheduler(|run| {
            let mut graph = GraphBuilder::new();
            let circuit = Circuit::new(3, 64).named("samples");
            let stream = graph.source("source", NullSource, circuit);
            let stream = graph.in_place("third", Third { calls: 0, panics }, stream);
            graph.sink("sink", Seen::<i32>::default(), stream);
            let error = run(graph.build().unwrap()).unwrap_err();
            assert_eq!(error.to_string(), words);
        });
    }
}
