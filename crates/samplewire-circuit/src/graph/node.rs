//! What a graph is made of.

use std::sync::Arc;

use crate::meter::Meter;
use crate::pool::Pool;
use crate::ports::Custom;
use crate::quantum::Quantum;
use crate::sample::SampleSize;
use crate::task::{Cross, Pair, Read, Visit};

/// A block and its connections.
pub(crate) struct Node {
    pub(crate) name: Arc<str>,
    pub(crate) kind: Kind,
    /// The edges that lead to it.
    pub(crate) inputs: Vec<usize>,
    /// The edges that leave it: several at a broadcast.
    pub(crate) outputs: Vec<usize>,
    /// The circuit whose quanta it takes.
    pub(crate) takes: Option<usize>,
    pub(crate) meter: Arc<Meter>,
    /// Of the samples that come, at a source of those that leave.
    pub(crate) sample_size: SampleSize,
}

/// What a node does, and its block; a task has the block while the graph is split.
pub(crate) enum Kind {
    Source(Option<Box<dyn Visit>>),
    InPlace(Option<Box<dyn Visit>>),
    Sink(Option<Box<dyn Visit>>),
    /// A sink at a broadcast.
    Reader(Option<Box<dyn Read>>),
    Transform {
        block: Option<Box<dyn Cross>>,
        /// Of the samples that leave.
        output_size: SampleSize,
    },
    /// The edge that leads to it first is worked on, the second read.
    Join {
        block: Option<Box<dyn Pair>>,
        /// The circuit of its spare quanta.
        spare: usize,
    },
    /// The quanta of several streams on one.
    Merge,
    /// What comes round a loop; without an input until the loop is closed.
    Feedback {
        /// Quanta of zeros with which its stream begins.
        initial: usize,
    },
    Custom {
        block: Option<Box<dyn Custom>>,
        /// For each output the circuit that is its own.
        takes: Vec<Option<usize>>,
    },
    /// The quanta of one stream for several readers.
    Broadcast,
}

impl Kind {
    /// Whether quanta come to it from the block before it, in the same task where they can.
    pub(crate) const fn is_visited(&self) -> bool {
        matches!(self, Self::InPlace(_) | Self::Sink(_) | Self::Broadcast)
    }

    /// The word for it.
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            Self::Source(_) => "source",
            Self::InPlace(_) => "in place",
            Self::Sink(_) | Self::Reader(_) => "sink",
            Self::Transform { .. } => "transform",
            Self::Join { .. } => "join",
            Self::Merge => "merge",
            Self::Feedback { .. } => "feedback",
            Self::Custom { .. } => "custom",
            Self::Broadcast => "broadcast",
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    /// `None` while a graph is being built.
    pub(crate) to: Option<usize>,
    /// Whose quanta go over it ..
    pub(crate) circuit: usize,
    /// .. and theirs: the spares of joins, and the other streams of a merge.
    pub(crate) guests: Vec<usize>,
    /// Whether it is one of several that leave a broadcast.
    pub(crate) is_shared: bool,
}

impl Edge {
    /// All circuits whose quanta go over it.
    pub(crate) fn circuits(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.circuit).chain(self.guests.iter().copied())
    }
}

/// The quanta that go round one circuit.
pub(crate) struct Round {
    pub(crate) name: Arc<str>,
    pub(crate) pool: Pool,
    /// The node that takes them.
    pub(crate) taken_by: usize,
    /// Those that are home, while the graph is not split.
    pub(crate) free: Vec<Quantum>,
    /// How many samples one holds.
    pub(crate) len: usize,
}
