//! Graphs: blocks, the streams between them, and the quanta that go round.

mod assemble;
mod builder;
mod chain;
mod check;
mod circuit;
mod control;
mod dot;
mod layout;
mod node;
mod picture;
mod placement;
mod ports;
mod report;
mod split;
mod stream;
mod survey;
mod svg;
mod table;
mod ways;

use std::sync::Arc;
use std::time::Instant;

pub use builder::GraphBuilder;
pub use chain::{Chain, chain, chain_borrowed};
pub use check::BuildError;
pub use circuit::Circuit;
pub use control::Control;
pub(crate) use control::Shared;
pub use placement::{BlockView, Placement};
pub use ports::PortsBuilder;
pub use report::{BlockReport, CircuitReport, Report, RunError};
pub use stream::{Feedback, Readable, SharedStream, Stream};

pub(crate) use survey::Survey;

pub(crate) use node::Edge;
pub(crate) use node::Kind;
use node::{Node, Round};

use crate::group::Group;
use crate::schedule::Scheduler;

/// Blocks that can run: made by [`GraphBuilder::build`].
pub struct Graph {
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) rounds: Vec<Round>,
    shared: Arc<Shared>,
}

impl Graph {
    fn new(nodes: Vec<Node>, edges: Vec<Edge>, rounds: Vec<Round>) -> Self {
        let of_each = |node: &Node| (node.name.clone(), node.kind.as_str(), node.meter.clone());
        let blocks = nodes.iter().map(of_each).collect();
        let ends = |edge: &Edge| (edge.from, edge.to.expect("checked"), edge.circuit);
        let streams = edges.iter().map(ends).collect();
        let circuits = rounds.iter().map(circuit_of).collect();
        let shared = Arc::new(Shared::new(blocks, streams, circuits));
        Self { nodes, edges, rounds, shared }
    }

    /// Runs until every stream has ended, or until it is stopped.
    ///
    /// # Errors
    /// [`RunError`]: a block failed or panicked, nothing can move, or quanta did not come home.
    ///
    /// # Blocking
    /// Until then.
    pub fn run(mut self, mut scheduler: impl Scheduler) -> Result<Report, RunError> {
        let begin = Instant::now();
        scheduler.run(&mut self)?;
        Ok(Report::new(&self, begin.elapsed()))
    }

    /// Stops the graph, has it drain, and reads its counters, from any thread.
    pub fn control(&self) -> Control {
        Control::new(Arc::clone(&self.shared))
    }

    /// The blocks, in the order in which they were added: no stream leads back, but for those that
    /// close a feedback.
    pub fn blocks(&self) -> impl Iterator<Item = BlockView<'_>> {
        (0..self.nodes.len()).map(|number| BlockView::new(self, number))
    }

    /// The most samples that can be under way in each circuit: what bounds the latency.
    pub fn circuits(&self) -> Vec<CircuitReport> {
        self.shared.circuits()
    }

    /// The graph as a picture in Graphviz' DOT language: blocks with what they have done, streams
    /// with their circuits. Of more than 500 blocks it has the first, and says how many more there
    /// are. [`Control::dot`] is the same while the graph runs, and afterwards.
    ///
    /// ```
    /// use samplewire_circuit::blocks::{NullSink, NullSource};
    /// use samplewire_circuit::chain;
    ///
    /// let graph = chain::<f32, _>(NullSource).sink(NullSink).build()?;
    /// let dot = graph.dot();
    /// assert!(dot.contains("0 -> 1 [label=\"null source\\n4 x 16384\"]"));
    /// # Ok::<(), samplewire_circuit::BuildError>(())
    /// ```
    pub fn dot(&self) -> String {
        self.shared.dot()
    }

    /// The graph as a picture in SVG, for browsers and documents: what [`Graph::dot`] has in it, each
    /// block with a bar as long as it was busy, streams from top to bottom. [`Control::svg`] is the
    /// same while the graph runs, and afterwards.
    ///
    /// ```
    /// use samplewire_circuit::blocks::{NullSink, NullSource};
    /// use samplewire_circuit::chain;
    ///
    /// let graph = chain::<f32, _>(NullSource).sink(NullSink).build()?;
    /// let svg = graph.svg();
    /// assert!(svg.starts_with("<svg") && svg.contains(">4 x 16384</text>"));
    /// # Ok::<(), samplewire_circuit::BuildError>(())
    /// ```
    pub fn svg(&self) -> String {
        self.shared.svg()
    }

    /// Divides the blocks into groups, each for one thread at a time. Give the groups back to
    /// [`Graph::join`] when they are done.
    pub fn split(&mut self, placement: &Placement) -> Vec<Group> {
        split::split(self, placement)
    }

    /// Takes the groups back, with their blocks and all quanta.
    ///
    /// # Errors
    /// The [`RunError`] that stopped them; quanta that did not come home.
    pub fn join(&mut self, groups: Vec<Group>) -> Result<(), RunError> {
        split::join(self, groups)
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

/// A circuit as its report begins, and the block whose rate it has.
fn circuit_of(round: &Round) -> (CircuitReport, usize) {
    let Round { name, pool, len, .. } = round;
    let report = CircuitReport { name: name.clone(), quanta: pool.len(), len: *len, rate_hz: 0.0 };
    (report, round.taken_by)
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.nodes.iter().map(|node| &node.name);
        f.debug_struct("Graph").field("blocks", &names.collect::<Vec<_>>()).finish_non_exhaustive()
    }
}
