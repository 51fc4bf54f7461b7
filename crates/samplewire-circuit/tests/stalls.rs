//! Graphs that stand still end and say why; those that wait do not. Under each scheduler.

mod schedulers;

use std::time::{Duration, Instant};

use samplewire_circuit::blocks::{NullSink, NullSource};
use samplewire_circuit::{
    Circuit, Custom, Done, Failure, Flow, Graph, GraphBuilder, Input, Join, Output, Polled, Ports,
    Quantum, Sink, Source, Transform, Work,
};
use schedulers::under_each_scheduler;

struct Sum;

impl Join<f32, f32> for Sum {
    fn work(&mut self, first: &mut [f32], second: &[f32]) -> Result<(), Failure> {
        first.iter_mut().zip(second).for_each(|(first, second)| *first += second);
        Ok(())
    }
}

struct Copy;

impl Transform<f32, f32> for Copy {
    fn work(&mut self, input: &[f32], output: &mut [f32]) -> Result<Done, Failure> {
        let len = input.len().min(output.len());
        output[..len].copy_from_slice(&input[..len]);
        Ok(Done { consumed: len, produced: len })
    }
}

/// One sample in each quantum.
struct Ones;

impl Source<f32> for Ones {
    fn fill(&mut self, quantum: &mut Quantum<f32>) -> Work {
        quantum.set_len(1);
        Ok(Flow::Pass)
    }
}

/// Runs a graph that cannot move, and looks at the error and the time.
fn check(graph: impl Fn() -> Graph, parts: &[&str]) {
    under_each_scheduler(|run| {
        let begin = Instant::now();
        let text = run(graph()).unwrap_err().to_string();
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
        assert!(text.starts_with("nothing moves: "), "{text}");
        for part in parts {
            assert!(text.contains(part), "'{part}' is not in: {text}");
        }
    });
}

#[test]
fn join_of_branches_that_hold_different_amounts() {
    let graph = || {
        let mut graph = GraphBuilder::new();
        let circuit = Circuit::new(3, 100).named("input");
        let stream = graph.source("source", Ones, circuit);
        let stream = graph.broadcast("both", stream);
        // It fills quanta of 40 samples, and three quanta of one each can come.
        let circuit = Circuit::new(2, 40).named("long");
        let long = graph.transform("copy", Copy, stream.clone(), circuit);
        let stream = graph.join("sum", Sum, long, stream);
        graph.sink("sink", NullSink, stream);
        graph.build().unwrap()
    };
    let parts = [
        "'source' waits for a free quantum of circuit 'input'",
        "'copy' waits for samples from 'both'",
        "'sum' waits for samples from 'copy'",
        "'input' has 3: 3 on the way from 'both' to 'sum'",
        "'long' has 2: 1 home, 1 with 'copy'",
        "'sum: spares' has 2: 2 home",
    ];
    check(graph, &parts);
}

#[test]
fn loop_that_is_shorter_than_the_quanta_of_its_input() {
    let graph = || {
        let mut graph = GraphBuilder::new();
        let (input, round) =
            (Circuit::new(2, 30).named("input"), Circuit::new(3, 10).named("loop"));
        let input = graph.source("source", NullSource, input);
        let (feedback, delayed) = graph.feedback("feedback", round, 2);
        let output = graph.join("sum", Sum, input, delayed);
        let output = graph.broadcast("both", output);
        graph.close(feedback, output.clone());
        graph.sink("sink", NullSink, output);
        graph.build().unwrap()
    };
    let parts = [
        "'source' waits for a free quantum of circuit 'input'",
        "'sum' waits for samples from 'feedback'",
        "'feedback' waits for samples from 'both'",
        "'sink' waits for samples from 'both'",
        "'input' has 2: 1 on the way from 'source' to 'sum', 1 with 'sum'",
        "'loop' has 3: 3 home",
    ];
    check(graph, &parts);
}

/// Does nothing.
struct Lazy {
    _input: Input<f32>,
    _output: Output<f32>,
}

impl Custom for Lazy {
    fn work(&mut self, _: &mut Ports) -> Result<Polled, Failure> {
        Ok(Polled::Idle)
    }
}

#[test]
fn block_that_takes_nothing() {
    let graph = || {
        let mut graph = GraphBuilder::new();
        let circuit = Circuit::new(2, 30).named("input");
        let stream = graph.source("source", NullSource, circuit);
        let stream = graph.custom("lazy", |ports| {
            let _input = ports.input(stream);
            let (_output, stream) = ports.pass(&_input);
            (Lazy { _input, _output }, stream)
        });
        graph.sink("sink", NullSink, stream);
        graph.build().unwrap()
    };
    let parts = ["'lazy' is idle", "'input' has 2: 2 on the way from 'source' to 'lazy'"];
    check(graph, &parts);
}

/// Takes nothing, and says that it waits.
struct Waits;

impl Sink<f32> for Waits {
    fn consume(&mut self, _: &Quantum<f32>) -> Work {
        Ok(Flow::Wait)
    }
}

#[test]
fn sink_that_waits_for_ever_is_no_stall_and_can_be_stopped() {
    under_each_scheduler(|run| {
        let mut graph = GraphBuilder::new();
        let circuit = Circuit::new(4, 10).named("input");
        let stream = graph.source("source", NullSource, circuit);
        let shared = graph.broadcast("both", stream);
        let circuit = Circuit::new(2, 15).named("long");
        let stream = graph.transform("copy", Copy, shared.clone(), circuit);
        let stream = graph.join("sum", Sum, stream, shared);
        graph.sink("sink", Waits, stream);
        let graph = graph.build().unwrap();
        let control = graph.control();
        let stopper = std::thread::spawn(move || {
            // Longer than the second after which a graph that stands still is an error.
            std::thread::sleep(Duration::from_millis(1_500));
            control.stop();
        });
        // All quanta came home: it would be an error else.
        let report = run(graph).unwrap();
        assert!(report.elapsed >= Duration::from_millis(1_400));
        stopper.join().unwrap();
    });
}
