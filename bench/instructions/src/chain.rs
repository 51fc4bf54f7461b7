//! Quanta through a chain of blocks that do nothing.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use samplewire_circuit::blocks::{Head, NullSink, NullSource};
use samplewire_circuit::{
    Circuit, Flow, Graph, GraphBuilder, Group, InPlace, Placement, Quantum, RunError, Scheduler,
    Work,
};

/// A graph of a source, `blocks` blocks and a sink, through which `quanta` quanta go.
pub(crate) fn graph(blocks: usize, quanta: u64) -> Result<Graph, Box<dyn Error>> {
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::<f32>::new(QUANTA, QUANTUM_SAMPLES).named("samples");
    let mut stream = graph.source("source", NullSource, circuit);
    stream = graph.in_place("head", Head::new(quanta * QUANTUM_SAMPLES as u64), stream);
    for number in 0..blocks {
        stream = graph.in_place(format!("block {number}"), Nothing, stream);
    }
    graph.sink("sink", NullSink, stream);
    Ok(graph.build()?)
}

/// Each block in a group of its own; all groups in turn, in one thread. So each quantum goes through a
/// channel from block to block.
pub(crate) struct InTurn;

impl Scheduler for InTurn {
    fn run(&mut self, graph: &mut Graph) -> Result<(), RunError> {
        let mut groups = graph.split(&Placement::by(graph, |block| block.number()));
        let mut over = vec![false; groups.len()];
        let mut context = Context::from_waker(Waker::noop());
        while over.contains(&false) {
            for (group, is_over) in groups.iter_mut().zip(&mut over).filter(|it| !*it.1) {
                *is_over = poll(group, &mut context).is_ready();
            }
        }
        graph.join(groups)
    }
}

fn poll(group: &mut Group, context: &mut Context<'_>) -> Poll<()> {
    Pin::new(group).poll(context)
}

struct Nothing;

impl InPlace<f32> for Nothing {
    fn work(&mut self, _: &mut Quantum<f32>) -> Work {
        Ok(Flow::Pass)
    }
}

const QUANTA: usize = 8;
const QUANTUM_SAMPLES: usize = 64;
