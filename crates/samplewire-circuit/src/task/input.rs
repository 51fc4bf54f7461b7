//! A stream that a task reads without working on it in place: its own, or one of several readers'.

use crate::channel::{Arrival, Give, Inlet};
use crate::graph::Survey;
use crate::quantum::{Quantum, SharedQuantum};
use crate::task::Progress;

/// A stream that is read, and the way home of its quanta.
pub(crate) struct Input {
    way: Way,
    give: Give,
}

/// Where quanta that are read come from.
pub(crate) enum Way {
    Owned(Inlet<Quantum>),
    Shared(Inlet<SharedQuantum>),
}

/// A quantum that is being read.
pub(crate) enum Reading {
    Owned(Quantum),
    Shared(SharedQuantum),
}

impl Input {
    pub(crate) fn new(way: Way, give: Give) -> Self {
        Self { way, give }
    }

    /// The next to read.
    #[inline]
    pub(crate) fn pop(&mut self) -> Arrival<Reading> {
        self.way.pop()
    }

    /// Has read `quantum`: it returns to its pool, unless others still read it.
    #[inline]
    pub(crate) fn release(&mut self, quantum: Reading) {
        match quantum {
            Reading::Owned(quantum) => self.give.give(quantum),
            Reading::Shared(quantum) => {
                if let Some(quantum) = quantum.reunite() {
                    self.give.give(quantum);
                }
            }
        }
    }

    /// See [`Head::clear`](crate::task::Head::clear).
    pub(crate) fn clear(&mut self) -> Progress {
        match self.pop() {
            Arrival::Next(quantum) => {
                self.release(quantum);
                Progress::Moved
            }
            Arrival::Empty => Progress::Idle,
            Arrival::Ended => Progress::Done,
        }
    }

    /// Reports where everything is.
    pub(crate) fn survey(&mut self, node: usize, input: usize, survey: &mut Survey<'_>) {
        self.way.survey(node, input, survey);
    }

    /// Closes the stream: no more will be taken.
    pub(crate) fn close(&mut self) {
        self.way.close();
    }
}

impl Way {
    /// The next to read.
    #[inline]
    pub(crate) fn pop(&mut self) -> Arrival<Reading> {
        match self {
            Self::Owned(inlet) => inlet.pop().map(Reading::Owned),
            Self::Shared(inlet) => inlet.pop().map(Reading::Shared),
        }
    }

    /// See [`Input::survey`].
    pub(crate) fn survey(&mut self, node: usize, input: usize, survey: &mut Survey<'_>) {
        match self {
            Self::Owned(inlet) => survey.inlet(node, input, inlet),
            Self::Shared(inlet) => survey.shared_inlet(node, input, inlet),
        }
    }

    /// Says that no more will be taken.
    pub(crate) fn close(&mut self) {
        match self {
            Self::Owned(inlet) => inlet.close(),
            Self::Shared(inlet) => inlet.close(),
        }
    }
}

impl Reading {
    /// The quantum.
    pub(crate) fn quantum(&self) -> &Quantum {
        match self {
            Self::Owned(quantum) => quantum,
            Self::Shared(quantum) => quantum,
        }
    }
}

/// See [`Head::clear`](crate::task::Head::clear).
pub(crate) fn clear(inlet: &mut Inlet<Quantum>, give: &mut Give) -> Progress {
    match inlet.pop() {
        Arrival::Next(quantum) => {
            give.give(quantum);
            Progress::Moved
        }
        Arrival::Empty => Progress::Idle,
        Arrival::Ended => Progress::Done,
    }
}
