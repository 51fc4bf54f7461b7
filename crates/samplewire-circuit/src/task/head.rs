//! Where a line's quanta come from.

use crate::block::Failure;
use crate::channel::{Arrival, Give, Inlet, Take};
use crate::graph::Survey;
use crate::quantum::Quantum;
use crate::task::input::clear;
use crate::task::{FeedbackHead, JoinHead, MergeHead, Names, Progress, TransformHead};

/// Where a line's quanta come from.
pub(crate) enum Head {
    /// A circuit's free ones: the line's first block is a source.
    Free {
        take: Take,
        /// The index that follows what the source made last.
        next_index: u64,
        is_draining: bool,
    },
    /// Another task.
    Inlet(Inlet<Quantum>),
    /// A block that fills them from another circuit.
    Transform(Box<TransformHead>),
    /// A block that works on them together with another stream's.
    Join(Box<JoinHead>),
    /// Several other tasks.
    Merge(MergeHead),
    /// The end of a loop.
    Feedback(Box<FeedbackHead>),
}

/// What a head has.
pub(crate) enum Next {
    /// A quantum for the line's blocks.
    Quantum(Quantum),
    /// None yet, but input was used up.
    Worked,
    /// No input.
    Starved,
    /// No free quantum.
    Blocked,
    /// Nothing any more.
    Ended,
}

impl Head {
    #[inline]
    pub(crate) fn next(&mut self, give: &mut Give) -> Result<Next, Failure> {
        match self {
            Self::Free { is_draining: true, .. } => Ok(Next::Ended),
            Self::Free { take, next_index, .. } => Ok(match take.take() {
                Some(mut quantum) => {
                    quantum.set_index(*next_index);
                    Next::Quantum(quantum)
                }
                None => Next::Blocked,
            }),
            Self::Inlet(inlet) => Ok(match inlet.pop() {
                Arrival::Next(quantum) => Next::Quantum(quantum),
                Arrival::Empty => Next::Starved,
                Arrival::Ended => Next::Ended,
            }),
            Self::Transform(transform) => transform.next(),
            Self::Join(join) => join.next(give),
            Self::Merge(merge) => Ok(merge.next()),
            Self::Feedback(feedback) => Ok(feedback.next()),
        }
    }

    /// Sends home what still comes after the close, one at a time: done, once nothing can come.
    pub(crate) fn clear(&mut self, give: &mut Give) -> Progress {
        match self {
            Self::Free { .. } => Progress::Done,
            Self::Inlet(inlet) => clear(inlet, give),
            Self::Transform(transform) => transform.clear(),
            Self::Join(join) => join.clear(give),
            Self::Merge(merge) => merge.clear(give),
            Self::Feedback(feedback) => feedback.clear(),
        }
    }

    /// Takes no more free quanta for a source.
    pub(crate) fn drain(&mut self) {
        if let Self::Free { is_draining, .. } = self {
            *is_draining = true;
        }
    }

    /// Says that no more will be taken, and sends home what is held.
    pub(crate) fn close(&mut self, give: &mut Give) {
        match self {
            Self::Free { .. } => {}
            Self::Inlet(inlet) => inlet.close(),
            Self::Transform(transform) => transform.close(),
            Self::Join(join) => join.close(give),
            Self::Merge(merge) => merge.close(),
            Self::Feedback(feedback) => feedback.close(),
        }
    }

    /// Reports where everything is in a line that begins with `node`.
    pub(crate) fn survey(&mut self, node: usize, survey: &mut Survey<'_>) {
        match self {
            Self::Free { take, .. } => {
                survey.waits_for_quantum(node, take);
                survey.home(take);
            }
            Self::Inlet(inlet) => {
                survey.waits_for_input(node, 0);
                survey.inlet(node, 0, inlet);
            }
            Self::Transform(transform) => transform.survey(survey),
            Self::Join(join) => join.survey(survey),
            Self::Merge(merge) => merge.survey(node, survey),
            Self::Feedback(feedback) => feedback.survey(node, survey),
        }
    }

    /// The node of its block.
    pub(crate) fn node(&self) -> Option<usize> {
        match self {
            Self::Transform(transform) => Some(transform.node()),
            Self::Join(join) => Some(join.node()),
            Self::Free { .. } | Self::Inlet(_) | Self::Merge(_) | Self::Feedback(_) => None,
        }
    }

    /// Whether its block is at work, and none of the line's.
    pub(crate) fn is_at_work(&self) -> bool {
        match self {
            Self::Transform(transform) => transform.is_at_work(),
            Self::Join(join) => join.is_at_work(),
            Self::Free { .. } | Self::Inlet(_) | Self::Merge(_) | Self::Feedback(_) => false,
        }
    }

    pub(crate) fn start(&mut self, names: &Names<'_>) -> Result<(), (usize, Failure)> {
        match self {
            Self::Transform(transform) => transform.start(names),
            Self::Join(join) => join.start(names),
            Self::Free { .. } | Self::Inlet(_) | Self::Merge(_) | Self::Feedback(_) => Ok(()),
        }
    }

    pub(crate) fn stop(&mut self) -> Result<(), (usize, Failure)> {
        match self {
            Self::Transform(transform) => transform.stop(),
            Self::Join(join) => join.stop(),
            Self::Free { .. } | Self::Inlet(_) | Self::Merge(_) | Self::Feedback(_) => Ok(()),
        }
    }

    pub(crate) fn publish(&self) {
        match self {
            Self::Transform(transform) => transform.publish(),
            Self::Join(join) => join.publish(),
            Self::Feedback(feedback) => feedback.publish(),
            Self::Free { .. } | Self::Inlet(_) | Self::Merge(_) => {}
        }
    }
}
