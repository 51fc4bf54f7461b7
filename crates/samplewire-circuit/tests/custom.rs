//! Blocks with ports of their own, under each scheduler.

mod schedulers;

use std::sync::{Arc, Mutex};

use samplewire_circuit::blocks::{Head, NullSink, NullSource};
use samplewire_circuit::{
    Circuit, Custom, Failure, Flow, Graph, GraphBuilder, Held, Input, Output, Polled, Ports,
    Quantum, SharedInput, Sink, Source, Work,
};
use schedulers::under_each_scheduler;

/// Sample n is n.
struct Count(u64);

impl Source<i32> for Count {
    fn fill(&mut self, quantum: &mut Quantum<i32>) -> Work {
        let left = self.0 - quantum.index();
        let len = quantum.fill().len().min(left as usize);
        quantum.set_len(len);
        let index = quantum.index();
        (index..).zip(quantum.samples_mut()).for_each(|(index, sample)| *sample = index as i32);
        Ok(if len as u64 == left { Flow::End } else { Flow::Pass })
    }
}

#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<(u64, i32)>>>);

impl Sink<i32> for Seen {
    fn consume(&mut self, quantum: &Quantum<i32>) -> Work {
        let indexed = (quantum.index()..).zip(quantum.samples().iter().copied());
        self.0.lock().unwrap().extend(indexed);
        Ok(Flow::Pass)
    }
}

/// Passes the first stream's quanta on, with a quantum of its own behind each that holds the length
/// and what was seen of the second meanwhile.
struct Annotate {
    input: Input<i32>,
    other: SharedInput<i32>,
    passed: Output<i32>,
    lengths: Output<i32>,
    /// What was passed and is still to be said.
    owed: Option<i32>,
    written: u64,
    other_samples: Arc<Mutex<u64>>,
}

impl Custom for Annotate {
    fn work(&mut self, ports: &mut Ports) -> Result<Polled, Failure> {
        let mut polled = Polled::Idle;
        if let Some(quantum) = ports.read(&self.other) {
            *self.other_samples.lock().unwrap() += quantum.len() as u64;
            ports.release(quantum);
            polled = Polled::Moved;
        }
        if let Some(len) = self.owed {
            let Some(mut quantum) = ports.take(&self.lengths) else { return Ok(polled) };
            quantum.set_len(1);
            quantum.set_index(self.written);
            quantum.samples_mut()[0] = len;
            self.written += 1;
            self.owed = None;
            ports.push(&self.lengths, quantum)?;
            return Ok(Polled::Moved);
        }
        let Some(mut quantum) = ports.pop(&self.input) else {
            let is_over = ports.is_ended(&self.input) && ports.is_shared_ended(&self.other);
            return Ok(if is_over { Polled::Done } else { polled });
        };
        quantum.samples_mut().iter_mut().for_each(|sample| *sample += 1);
        self.owed = Some(quantum.len() as i32);
        ports.push(&self.passed, quantum)?;
        Ok(Polled::Moved)
    }
}

#[test]
fn quanta_are_passed_made_and_read_by_one_block() {
    under_each_scheduler(|run| {
        let (passed, lengths) = (Seen::default(), Seen::default());
        let other_samples = Arc::<Mutex<u64>>::default();
        let mut graph = GraphBuilder::new();
        let [first, second] = ["first", "second"].map(|name| {
            let circuit = Circuit::new(2, 30).named(name);
            graph.source(name, Count(1_000), circuit)
        });
        let second = graph.broadcast("several", second);
        graph.sink("also", NullSink, second.clone());
        let circuit = Circuit::new(1, 1).named("lengths");
        let streams = graph.custom("annotate", |ports| {
            let (input, other) = (ports.input(first), ports.shared_input(second));
            let (passed, passed_stream) = ports.pass(&input);
            let (lengths, lengths_stream) = ports.output(circuit);
            let other_samples = other_samples.clone();
            let (owed, written) = (None, 0);
            let block = Annotate { input, other, passed, lengths, owed, written, other_samples };
            (block, [passed_stream, lengths_stream])
        });
        for (name, seen, stream) in ["passed", "lengths"]
            .into_iter()
            .zip([&passed, &lengths])
            .zip(streams)
            .map(|((name, seen), stream)| (name, seen, stream))
        {
            graph.sink(name, seen.clone(), stream);
        }
        let report = run(graph.build().unwrap()).unwrap();
        let expected: Vec<_> = (0..1_000).map(|index| (index, index as i32 + 1)).collect();
        assert!(*passed.0.lock().unwrap() == expected);
        let mut expected: Vec<_> = (0..34).map(|index| (index, 30)).collect();
        expected[33].1 = 10;
        assert_eq!(*lengths.0.lock().unwrap(), expected);
        assert_eq!(*other_samples.lock().unwrap(), 1_000);
        let counters = report.block("annotate").unwrap().counters;
        // Those that it got, and those that it took to make.
        assert_eq!(counters.samples, 2_000);
    });
}

/// Drops its third quantum, or pushes it where it does not belong, or keeps it.
struct Wrong {
    input: Input<f32>,
    output: Output<f32>,
    of_other: Output<f32>,
    does: Does,
    calls: u32,
    kept: Option<Held<Quantum<f32>>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Does {
    Drop,
    Push,
    Keep,
    KeepUntilStop,
}

impl Custom for Wrong {
    fn work(&mut self, ports: &mut Ports) -> Result<Polled, Failure> {
        let Some(quantum) = ports.pop(&self.input) else {
            return Ok(if ports.is_ended(&self.input) { Polled::Done } else { Polled::Idle });
        };
        self.calls += 1;
        match self.does {
            _ if self.calls != 3 => ports.push(&self.output, quantum)?,
            Does::Drop => drop(quantum),
            Does::Push => ports.push(&self.of_other, quantum)?,
            Does::Keep | Does::KeepUntilStop => self.kept = Some(quantum),
        }
        Ok(Polled::Moved)
    }

    fn stop(&mut self) -> Result<(), Failure> {
        if self.does == Does::KeepUntilStop {
            self.kept = None;
        }
        Ok(())
    }
}

fn wrong(does: Does) -> Graph {
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::new(4, 10).named("samples");
    let stream = graph.source("source", NullSource, circuit);
    let stream = graph.in_place("head", Head::new(1_000), stream);
    let other = Circuit::new(1, 10).named("other");
    let streams = graph.custom("wrong", |ports| {
        let input = ports.input(stream);
        let (output, stream) = ports.pass(&input);
        let (of_other, other) = ports.output(other);
        (Wrong { input, output, of_other, does, calls: 0, kept: None }, [stream, other])
    });
    for (number, stream) in streams.into_iter().enumerate() {
        graph.sink(format!("sink {number}"), NullSink, stream);
    }
    graph.build().unwrap()
}

#[test]
fn block_that_drops_misplaces_or_keeps_a_quantum_is_named_with_the_circuit() {
    let cases = [
        (
            Does::Drop,
            "'wrong': dropped a quantum of circuit 'samples': it must be pushed or released",
        ),
        (
            Does::Push,
            "'wrong': pushed a quantum of circuit 'samples' to an output for those of 'other'",
        ),
        (Does::Keep, "'wrong' holds 1 quanta after it was stopped: its stop must drop them"),
    ];
    for (does, words) in cases {
        under_each_scheduler(|run| {
            assert_eq!(run(wrong(does)).unwrap_err().to_string(), words);
        });
    }
}

#[test]
fn what_a_block_holds_until_its_stop_comes_home() {
    under_each_scheduler(|run| {
        let report = run(wrong(Does::KeepUntilStop)).unwrap();
        assert_eq!(report.block("sink 0").unwrap().counters.samples, 990);
    });
}
