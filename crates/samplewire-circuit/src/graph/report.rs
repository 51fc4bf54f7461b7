//! What a run came to.

use std::sync::Arc;
use std::time::Duration;

use crate::block::Failure;
use crate::graph::Graph;
use crate::graph::check::BuildError;
use crate::meter::Counters;

/// What a run came to; it displays as a table.
#[derive(Clone, Debug)]
pub struct Report {
    /// Each block, in the order in which they were added.
    pub blocks: Vec<BlockReport>,
    /// Each circuit.
    pub circuits: Vec<CircuitReport>,
    /// How long it ran.
    pub elapsed: Duration,
}

/// What one block did.
#[derive(Clone, Debug)]
pub struct BlockReport {
    /// Its name.
    pub name: Arc<str>,
    /// What it is.
    pub kind: &'static str,
    /// What it did.
    pub counters: Counters,
    /// The group that it was in last; `None` by quantum, where it is on every thread.
    pub group: Option<usize>,
}

/// The quanta of one circuit.
#[derive(Clone, Debug, PartialEq)]
pub struct CircuitReport {
    /// Its name.
    pub name: Arc<str>,
    /// How many quanta go round.
    pub quanta: usize,
    /// How many samples one holds.
    pub len: usize,
    /// Samples per second, as the last quantum said; 0 when it is not known.
    pub rate_hz: f64,
}

impl CircuitReport {
    /// The most samples that can be under way: divided by the rate, what bounds the latency.
    pub fn samples_max(&self) -> usize {
        self.quanta.saturating_mul(self.len)
    }

    /// The longest that a sample can be under way while samples move at their rate; `None` when
    /// that is not known.
    pub fn latency_max(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.samples_max() as f64 / self.rate_hz).ok()
    }
}

impl Report {
    pub(super) fn new(graph: &Graph, elapsed: Duration) -> Self {
        Self { blocks: graph.shared().blocks(), circuits: graph.circuits(), elapsed }
    }

    /// The block of this name.
    pub fn block(&self, name: &str) -> Option<&BlockReport> {
        self.blocks.iter().find(|block| &*block.name == name)
    }
}

/// Why a graph stopped before its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The graph cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A block failed.
    #[error("'{block}': {failure}")]
    Failed {
        /// The block.
        block: Arc<str>,
        /// Why.
        failure: Failure,
    },
    /// A block panicked.
    #[error("'{block}' panicked: {message}")]
    Panicked {
        /// The block.
        block: Arc<str>,
        /// The panic's message.
        message: String,
    },
    /// No block can move, and none waits for anything outside of the graph.
    #[error("nothing moves: {waits}; of the quanta, {quanta}")]
    Stalled {
        /// Which block waits for what.
        waits: String,
        /// For each circuit, how many quanta are where. One that several read is counted with each.
        quanta: String,
    },
    /// Quanta did not come home: a block keeps or forgot them.
    #[error("{missing} of {quanta} quanta of circuit '{circuit}' did not come home")]
    Lost {
        /// The circuit.
        circuit: Arc<str>,
        /// How many are missing.
        missing: usize,
        /// How many there are.
        quanta: usize,
    },
    /// A block that was stopped still has quanta.
    #[error("'{block}' holds {held} quanta after it was stopped: its stop must drop them")]
    Kept {
        /// The block.
        block: Arc<str>,
        /// How many.
        held: usize,
    },
    /// The system refuses a thread.
    #[error(
        "cannot start thread '{thread}': {error}; take fewer threads or raise the limit (ulimit -u)"
    )]
    Thread {
        /// Its name.
        thread: String,
        /// Why.
        error: std::io::Error,
    },
    /// The scheduler cannot run this graph, or not on this machine.
    #[error("{0}")]
    Schedule(String),
}
