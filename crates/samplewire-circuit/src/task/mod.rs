//! Tasks: what a group runs in turn. Blocks that follow one another on the same quanta are one
//! task, a [`Line`], so that a quantum visits them without a channel between.

mod custom;
mod feedback;
mod head;
mod input;
mod join;
mod line;
mod merge;
mod reader;
mod transform;
mod visit;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::block::{Context, Failure, Flow};
use crate::graph::Survey;
use crate::meter::Counting;
use crate::sample::SampleSize;

pub(crate) use custom::CustomTask;
pub(crate) use feedback::FeedbackHead;
pub(crate) use head::{Head, Next};
pub(crate) use input::{Input, Reading, Way};
pub(crate) use join::JoinHead;
pub(crate) use line::{EXCHANGED, Line, Tail};
pub(crate) use merge::MergeHead;
pub(crate) use reader::Reader;
pub(crate) use transform::TransformHead;
pub(crate) use visit::{
    Consuming, Cross, Crossing, Filling, Joining, Lending, Live, Own, Pair, Read, Visit, Working,
};

/// What a task came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Progress {
    /// All its quanta have gone through, and none will come.
    Done,
    /// It can do nothing before another task has.
    Idle,
    /// A block waits for something outside of the graph, and is woken for it.
    Asleep,
    /// A block waits for something outside of the graph, and is to be asked again.
    Waiting,
    /// It did something.
    Moved,
}

impl Progress {
    /// Where a block did nothing and said `flow`.
    fn of_wait(flow: Flow) -> Self {
        if flow == Flow::Sleep { Self::Asleep } else { Self::Waiting }
    }
}

/// What a group runs.
pub(crate) enum Task {
    /// Quanta that visit blocks.
    Line(Box<Line>),
    /// A block that reads what others read too.
    Reader(Box<Reader>),
    /// A block with ports of its own.
    Custom(Box<CustomTask>),
}

impl Task {
    pub(crate) fn poll(&mut self) -> Result<Progress, Failure> {
        match self {
            Self::Line(line) => line.poll(),
            Self::Reader(reader) => reader.poll(),
            Self::Custom(custom) => custom.poll(),
        }
    }

    /// The node that is or was at work: whose failure or panic it is.
    pub(crate) fn at(&self) -> usize {
        match self {
            Self::Line(line) => line.at(),
            Self::Reader(reader) => reader.node(),
            Self::Custom(custom) => custom.node(),
        }
    }

    /// Starts every block; `names` makes the context of each node.
    pub(crate) fn start(&mut self, names: &Names<'_>) -> Result<(), (usize, Failure)> {
        match self {
            Self::Line(line) => line.start(names),
            Self::Reader(reader) => reader.start(names),
            Self::Custom(custom) => custom.start(names),
        }
    }

    /// Stops every block that was started, all of them even if one fails: the first failure.
    pub(crate) fn stop(&mut self) -> Result<(), (usize, Failure)> {
        match self {
            Self::Line(line) => line.stop(),
            Self::Reader(reader) => reader.stop(),
            Self::Custom(custom) => custom.stop(),
        }
    }

    /// Has a source end.
    pub(crate) fn drain(&mut self) {
        match self {
            Self::Line(line) => line.drain(),
            Self::Custom(custom) => custom.drain(),
            Self::Reader(_) => {}
        }
    }

    /// Reports where everything is in a stalled graph, and gives the quanta that are under way to
    /// their pools.
    pub(crate) fn survey(&mut self, survey: &mut Survey<'_>) {
        match self {
            Self::Line(line) => line.survey(survey),
            Self::Reader(reader) => reader.survey(survey),
            Self::Custom(custom) => custom.survey(survey),
        }
    }

    /// Publishes the counters.
    pub(crate) fn publish(&self) {
        match self {
            Self::Line(line) => line.publish(),
            Self::Reader(reader) => reader.publish(),
            Self::Custom(custom) => custom.publish(),
        }
    }
}

/// Makes the contexts of blocks that start.
pub(crate) struct Names<'a> {
    /// Each node's name.
    pub(crate) names: &'a [std::sync::Arc<str>],
    /// Wakes their group.
    pub(crate) waker: std::task::Waker,
}

impl Names<'_> {
    pub(crate) fn of(&self, node: usize) -> Context<'_> {
        Context { name: &self.names[node], waker: self.waker.clone() }
    }
}

impl<B: Live + ?Sized> Station<B> {
    /// Starts the block.
    pub(crate) fn start(&mut self, names: &Names<'_>) -> Result<(), (usize, Failure)> {
        guarded(self.node, || self.block.start(&names.of(self.node)))
    }

    /// Stops the block, if it was started.
    pub(crate) fn stop(&mut self) -> Result<(), (usize, Failure)> {
        guarded(self.node, || self.block.stop())
    }
}

/// What a block's start or stop comes to: a panic too is a failure of the block at `node`.
pub(crate) fn guarded(
    node: usize,
    call: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), (usize, Failure)> {
    let result = catch_unwind(AssertUnwindSafe(call));
    let result =
        result.unwrap_or_else(|panic| Err(format!("panicked: {}", words_of_panic(&*panic)).into()));
    result.map_err(|failure| (node, failure))
}

/// What a panic said.
pub(crate) fn words_of_panic(panic: &(dyn Any + Send)) -> &str {
    let said = panic.downcast_ref::<String>().map(String::as_str);
    said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words")
}

/// A block in a task, in cache lines that no other thread's share: its counters change at each call.
#[repr(align(128))]
pub(crate) struct Station<B: ?Sized> {
    /// Its node in the graph.
    pub(crate) node: usize,
    pub(crate) sample_size: SampleSize,
    pub(crate) counting: Counting,
    pub(crate) block: Box<B>,
}

/// How many quanta a task moves before others have their turn.
pub(crate) const BUDGET: usize = 64;
