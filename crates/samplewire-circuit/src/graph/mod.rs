//! Graphs: blocks, the streams between them, and the quanta that go round.

mod builder;
mod check;
mod control;
mod node;
mod placement;
mod ports;
mod report;
mod split;
mod stream;
mod survey;

use std::sync::Arc;
use std::time::Instant;

pub use builder::GraphBuilder;
pub use check::BuildError;
pub use control::Control;
pub(crate) use control::Shared;
pub use placement::{BlockView, Placement};
pub use ports::PortsBuilder;
pub use report::{BlockReport, CircuitReport, Report, RunError};
pub use stream::{Circuit, Feedback, LentCircuit, Readable, SharedStream, Stream};

pub(crate) use survey::Survey;

pub(crate) use node::Kind;
use node::{Edge, Node, Round};

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
        let shared = Arc::new(Shared::new(nodes.iter().map(of_each).collect()));
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
        self.rounds.iter().map(CircuitReport::new).collect()
    }

    /// What runs by itself: the blocks in groups, each for one thread at a time. Give them back to
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

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.nodes.iter().map(|node| &node.name);
        f.debug_struct("Graph").field("blocks", &names.collect::<Vec<_>>()).finish_non_exhaustive()
    }
}
