//! What a graph that cannot run is refused with.

use samplewire_circuit::blocks::{NullSink, NullSource};
use samplewire_circuit::{
    BuildError, Circuit, Done, Failure, GraphBuilder, Join, PoolConfig, Ratio, Stream, Transform,
};

/// The text of the error.
fn refused(graph: GraphBuilder) -> String {
    graph.build().unwrap_err().to_string()
}

fn source(graph: &mut GraphBuilder, name: &str) -> Stream<f32> {
    let circuit = graph.circuit(format!("{name}'s"), 2, 16);
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
    let text = "two blocks are named 'twin': errors and figures could not tell them apart";
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
fn circuit_whose_quanta_nobody_takes() {
    let mut graph = GraphBuilder::new();
    let stream = source(&mut graph, "source");
    graph.sink("sink", NullSink, stream);
    let _unused: Circuit<f32> = graph.circuit("spare", 1, 1);
    assert_eq!(refused(graph), "no block fills the quanta of circuit 'spare'");
}

#[test]
fn circuit_whose_memory_cannot_be_had() {
    let mut graph = GraphBuilder::new();
    let circuit = graph.circuit("none", 0, 16);
    let stream: Stream<f32> = graph.source("source", NullSource, circuit);
    graph.sink("sink", NullSink, stream);
    assert_eq!(refused(graph), "circuit 'none': a pool of 0 quanta: must be 1 to 16777215");
}

#[test]
fn quanta_too_small_for_a_sample() {
    let mut graph = GraphBuilder::new();
    let circuit = graph.circuit_of("bytes", PoolConfig::new(1, 3));
    let stream: Stream<f32> = graph.source("source", NullSource, circuit);
    graph.sink("sink", NullSink, stream);
    assert_eq!(refused(graph), "circuit 'bytes': a quantum of 3 bytes holds no f32 (4 bytes)");
}

#[test]
fn streams_and_circuits_of_another_builder() {
    let mut other = GraphBuilder::new();
    let [first, second] = ["first", "second"].map(|name| source(&mut other, name));
    let shared = other.broadcast("shared", second);
    let circuit = other.circuit("circuit", 1, 1);
    let foreign = |block: &str, token| {
        format!("'{block}' is connected to {token} of another graph's builder")
    };

    let mut graph = GraphBuilder::new();
    graph.sink("sink", NullSink, first);
    assert_eq!(refused(graph), foreign("sink", "the stream of 'first'"));

    let mut graph = GraphBuilder::new();
    graph.sink("sink", NullSink, shared);
    assert_eq!(refused(graph), foreign("sink", "the stream of 'shared'"));

    let mut graph = GraphBuilder::new();
    let stream: Stream<f32> = graph.source("source", NullSource, circuit);
    graph.sink("sink", NullSink, stream);
    assert_eq!(refused(graph), foreign("source", "circuit 'circuit'"));
}

#[test]
fn loop_that_is_open() {
    let mut graph = GraphBuilder::new();
    let circuit = graph.circuit("loop", 2, 16);
    let (_open, stream) = graph.feedback::<f32>("back", circuit, 1);
    graph.sink("sink", NullSink, stream);
    let text = "the feedback 'back' is not closed: nothing would follow its initial quanta";
    assert_eq!(refused(graph), text);
}

#[test]
fn loop_without_a_quantum_to_begin_with_or_to_fill() {
    for initial in [0, 2, 3] {
        let mut graph = GraphBuilder::new();
        let circuit = graph.circuit("loop", 2, 16);
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
    let circuit = other.circuit("loop", 2, 16);
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
        let circuit = graph.circuit("input", quanta, 10);
        let stream = graph.source("source", NullSource, circuit);
        let stream = graph.broadcast("both", stream);
        let circuit = graph.circuit("half", 2, 20);
        let half = graph.transform("half", Half, stream.clone(), circuit);
        let stream = graph.join("join", Nothing, half, stream);
        graph.sink("sink", NullSink, stream);
        graph.build().map(|_| ())
    };
    let text = "the join 'join' cannot move: 'half' keeps back 40 samples of 'both', and the 3 quanta \
                of circuit 'input' hold 30: must hold as many";
    assert_eq!(with_quanta(3).map_err(|error: BuildError| error.to_string()), Err(text.into()));
    assert_eq!(with_quanta(4), Ok(()));
}
