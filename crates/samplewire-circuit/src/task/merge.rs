//! Merges: quanta of several streams in the order in which they come.

use crate::channel::{Arrival, Give, Inlet};
use crate::graph::Survey;
use crate::quantum::Quantum;
use crate::task::{Next, Progress};

/// Takes from several streams in turn.
pub(crate) struct MergeHead {
    inlets: Vec<Inlet<Quantum>>,
    /// The one to look at first.
    at: usize,
}

impl MergeHead {
    pub(crate) fn new(inlets: Vec<Inlet<Quantum>>) -> Self {
        Self { inlets, at: 0 }
    }

    /// The next quantum: one of each stream that has any before another of the same.
    pub(crate) fn next(&mut self) -> Next {
        let mut next = Next::Ended;
        for _ in 0..self.inlets.len() {
            let arrival = self.inlets[self.at].pop();
            self.at = (self.at + 1) % self.inlets.len();
            match arrival {
                Arrival::Next(quantum) => return Next::Quantum(quantum),
                Arrival::Empty => next = Next::Starved,
                Arrival::Ended => {}
            }
        }
        next
    }

    /// See [`Head::clear`](crate::task::Head::clear).
    pub(crate) fn clear(&mut self, give: &mut Give) -> Progress {
        match self.next() {
            Next::Quantum(quantum) => {
                give.give(quantum);
                Progress::Moved
            }
            Next::Ended => Progress::Done,
            Next::Worked | Next::Starved | Next::Blocked => Progress::Idle,
        }
    }

    /// Reports where everything is.
    pub(crate) fn survey(&mut self, node: usize, survey: &mut Survey<'_>) {
        for (input, inlet) in self.inlets.iter_mut().enumerate() {
            survey.waits_for_input(node, input);
            survey.inlet(node, input, inlet);
        }
    }

    /// Says that no more will be taken.
    pub(crate) fn close(&mut self) {
        self.inlets.iter_mut().for_each(Inlet::close);
    }
}
