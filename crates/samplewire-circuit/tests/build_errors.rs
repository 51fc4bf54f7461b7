//! What a graph that cannot run is refused with.

use samplewire_circuit::blocks::{NullSink, NullSource};
use samplewire_circuit::{
    BorrowedSource, Circuit, Done, Failure, GraphBuilder, Join, Quantum, Ratio, Stream, Transform,
    Work,
};

/// The text of the error.
fn refused(graph: GraphBuilder) -> String {
    graph.build().unwrap_err().to_string()
}

fn source(graph: &mut GraphBuilder, name: &str) -> Stream<f32> {
    let circuit = Circuit::new(2, 16).named(format!("{name}'s"));
    graph.source(name, NullSource, circuit)
}

#[test]
fn graph_without_a_block() {
    assert_eq!(refused(GraphBuilder::new()), "the graph has no block");
}

#[test]
fn two_blocks_of_one_name() {
    let mut graph = GraphBuilder::new();
    let stream = source(&mut graph, "twin");
    graph.sink("twin", NullSink, stream);
    let text = "two blocks are named 'twin': errors and figures could not distinguish them";
    assert_eq!(refused(graph), text);
}

#[test]
fn output_that_leads_nowhere() {
    let text = "the output of 'source' is connected to nothing: end it in a sink";
    let mut graph = GraphBuilder::new();
    let _open = source(&mut graph, "source");
    assert_eq!(refused(graph), text);

    let mut graph = GraphBuilder::new();
    let stream = source(&mut graph, "source");
    let _open = graph.broadcast("several", stream);
    assert_eq!(refused(graph), text.replace("source", "several"));
}

#[test]
fn circuit_whose_memory_cannot_be_had() {
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::new(0, 16).named("none");
    let stream: Stream<f32> = graph.source("source", NullSource, circuit);
    graph.sink("sink", NullSink, stream);
    assert_eq!(refused(graph), "circuit 'none': a pool of 0 quanta: must be 1 to 16777215");
}

#[test]
fn quanta_without_a_sample() {
    let mut graph = GraphBuilder::new();
    let stream = graph.source("source", NullSource, Circuit::<f32>::new(1, 0));
    graph.sink("sink", NullSink, stream);
    assert_eq!(refused(graph), "circuit 'source': a quantum of 0 bytes: must be at least 1");
}

/// Makes three samples of one.
struct Triple;

impl Transform<f32, f32> for Triple {
    fn ratio(&self) -> Ratio {
        Ratio::interpolate(3)
    }

    fn output_multiple(&self) -> usize {
        3
    }

    fn work(&mut self, _: &[f32], _: &mut [f32]) -> Result<Done, Failure> {
        unreachable!("the graph is not built")
    }
}

#[test]
fn quanta_too_small_for_what_a_transform_makes_at_once() {
    let with_len = |len| {
        let mut graph = GraphBuilder::new();
        let stream = source(&mut graph, "source");
        let stream = graph.transform("triple", Triple, stream, Circuit::new(2, len).named("out"));
        graph.sink("sink", NullSink, stream);
        graph
    };
    let text =
        "circuit 'out': a quantum of 2 samples has no room for the 3 that 'triple' makes at once";
    assert_eq!(refused(with_len(2)), text);
    assert!(with_len(3).build().is_ok());
}

/// Lends ten samples at once.
struct Tens;

impl BorrowedSource<f32> for Tens {
    fn samples_max(&self) -> usize {
        10
    }

    fn lend(&mut self, _: &mut Quantum<f32>) -> Work {
        unreachable!("the graph is not built")
    }
}

#[test]
fn length_of_quanta_that_are_lent() {
    let mut graph = GraphBuilder::new();
    let stream = graph.borrowed_source("tens", Tens, Circuit::new(4, 20));
    graph.sink("sink", NullSink, stream);
    let text = "circuit 'tens': quanta of 20 samples were requested, but 'tens' lends 10: set only \
                the number of quanta";
    assert_eq!(refused(graph), text);
}

#[test]
fn streams_of_another_builder() {
    let mut other = GraphBuilder::new();
    let [first, second] = ["first", "second"].map(|name| source(&mut other, name));
    let shared = other.broadcast("shared", second);
    let foreign = |block: &str, token| {
        format!("'{block}' is connected to {token} of another graph's builder")
    };

    let mut graph = GraphBuilder::new();
    graph.sink("sink", NullSink, first);
    assert_eq!(refused(graph), foreign("sink", "the stream of 'first'"));

    let mut graph = GraphBuilder::new();
    graph.sink("sink", NullSink, shared);
    assert_eq!(refused(graph), foreign("sink", "the stream of 'shared'"));
}

#[test]
fn loop_that_is_open() {
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::new(2, 16).named("loop");
    let (_open, stream) = graph.feedback::<f32>("back", circuit, 1);
    graph.sink("sink", NullSink, stream);
    let text = "the feedback 'back' is not closed: nothing would follow its initial quanta";
    assert_eq!(refused(graph), text);
}

#[test]
fn loop_without_a_quantum_to_begin_with_or_to_fill() {
    for initial in [0, 2, 3] {
        let mut graph = GraphBuilder::new();
        let circuit = Circuit::new(2, 16).named("loop");
        let (feedback, stream) = graph.feedback::<f32>("back", circuit, initial);
        graph.close(feedback, stream);
        let text = format!(
            "the feedback 'back' begins with {initial} of the 2 quanta of circuit 'loop': must be 1 \
             at least, and leave 1"
        );
        assert_eq!(refused(graph), text);
    }
}

#[test]
fn loop_that_another_builder_closes() {
    let mut other = GraphBuilder::new();
    let circuit = Circuit::new(2, 16).named("loop");
    let (feedback, _stream) = other.feedback::<f32>("back", circuit, 1);
    let mut graph = GraphBuilder::new();
    let stream = source(&mut graph, "source");
    graph.close(feedback, stream);
    let text = "'source' is connected to the feedback 'back' of another graph's builder";
    assert_eq!(refused(graph), text);
}

#[test]
fn merge_of_nothing() {
    let mut graph = GraphBuilder::new();
    let stream = graph.merge::<f32>("all", []);
    graph.sink("sink", NullSink, stream);
    assert_eq!(refused(graph), "'all' merges no stream");
}

/// Half of the samples.
struct Half;

impl Transform<f32, f32> for Half {
    fn ratio(&self) -> Ratio {
        Ratio::decimate(2)
    }

    fn work(&mut self, input: &[f32], output: &mut [f32]) -> Result<Done, Failure> {
        let len = (input.len() / 2).min(output.len());
        Ok(Done { consumed: len * 2, produced: len })
    }
}

struct Nothing;

impl Join<f32, f32> for Nothing {
    fn work(&mut self, _: &mut [f32], _: &[f32]) -> Result<(), Failure> {
        Ok(())
    }
}

#[test]
fn join_of_a_branch_that_keeps_back_more_than_the_other_holds() {
    let with_quanta = |quanta| {
        let mut graph = GraphBuilder::new();
        let circuit = Circuit::new(quanta, 10).named("input");
        let stream = graph.source("source", NullSource, circuit);
        let stream = graph.broadcast("both", stream);
        let circuit = Circuit::new(2, 20).named("half");
        let half = graph.transform("half", Half, stream.clone(), circuit);
        let stream = graph.join("join", Nothing, half, stream);
        graph.sink("sink", NullSink, stream);
        graph.build().map(|_| ())
    };
    let text = "the join 'join' cannot move: 'half' keeps back 40 samples of 'both', and the 3 quanta \
                of circuit 'input' hold 30: must hold as many";
    assert_eq!(with_quanta(3).unwrap_err().to_string(), text);
    assert!(with_quanta(4).is_ok());
}
