//! Where a line's quanta come from.

use crate::block::Failure;
use crate::channel::{Arrival, Give, Inlet, Take};
use crate::quantum::Quantum;
use crate::task::{Progress, TransformHead};

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
    pub(crate) fn next(&mut self) -> Result<Next, Failure> {
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
        }
    }

    /// Sends home what still comes after the close, one at a time: done, once nothing can come.
    pub(crate) fn clear(&mut self, give: &mut Give) -> Progress {
        match self {
            Self::Free { .. } => Progress::Done,
            Self::Inlet(inlet) => match inlet.pop() {
                Arrival::Next(quantum) => {
                    give.give(quantum);
                    Progress::Moved
                }
                Arrival::Empty => Progress::Idle,
                Arrival::Ended => Progress::Done,
            },
            Self::Transform(transform) => transform.clear(),
        }
    }

    /// Takes no more free quanta for a source.
    pub(crate) fn drain(&mut self) {
        if let Self::Free { is_draining, .. } = self {
            *is_draining = true;
        }
    }

    /// Says that no more will be taken.
    pub(crate) fn close(&mut self) {
        match self {
            Self::Free { .. } => {}
            Self::Inlet(inlet) => inlet.close(),
            Self::Transform(transform) => transform.close(),
        }
    }
}
