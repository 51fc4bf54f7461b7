//! The states of a queue pair (IB 10.3).

/// The state of a queue pair.
///
/// ```text
/// Reset --Init--> Init --ReadyToReceive--> ReadyToReceive --ReadyToSend--> ReadyToSend
///   any but Reset --Fail--> Error          any --Reset--> Reset
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum State {
    /// Nothing is known of a peer; nothing can be posted.
    #[default]
    Reset,
    /// Receive requests can be posted.
    Init,
    /// RTR: requests are taken and acknowledged.
    ReadyToReceive,
    /// RTS: work requests are sent too.
    ReadyToSend,
    /// What is posted is flushed; nothing is taken.
    Error,
}

/// What moves a queue pair to another state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transition {
    /// To INIT.
    Init,
    /// To RTR.
    ReadyToReceive,
    /// To RTS.
    ReadyToSend,
    /// To ERROR: the caller's wish, or a failure of the connection.
    Fail,
    /// To RESET: the connection is forgotten.
    Reset,
}

/// A transition that the state does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a queue pair in {state:?} cannot take the transition {transition:?}")]
pub struct StateError {
    /// The state.
    pub state: State,
    /// The transition.
    pub transition: Transition,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 5] =
        [Self::Reset, Self::Init, Self::ReadyToReceive, Self::ReadyToSend, Self::Error];

    /// The state after a transition.
    ///
    /// # Errors
    /// The state does not have it.
    pub fn after(self, transition: Transition) -> Result<Self, StateError> {
        TABLE[self as usize][transition as usize].ok_or(StateError { state: self, transition })
    }

    /// Whether receive requests can be posted; in ERROR they are flushed.
    pub const fn takes_receives(self) -> bool {
        !matches!(self, Self::Reset)
    }

    /// Whether work requests can be posted; in ERROR they are flushed.
    pub const fn takes_sends(self) -> bool {
        matches!(self, Self::ReadyToSend | Self::Error)
    }

    /// Whether a peer's requests are taken.
    pub const fn takes_requests(self) -> bool {
        matches!(self, Self::ReadyToReceive | Self::ReadyToSend)
    }

    /// Whether a peer's acknowledgements are taken.
    pub const fn takes_responses(self) -> bool {
        matches!(self, Self::ReadyToSend)
    }
}

/// By state, then by transition. Transitions of the standard that keep a state and change an
/// attribute are left out, as are the states SQD and SQE: a queue pair is reset for other numbers.
const TABLE: [[Option<State>; 5]; 5] = {
    use State::{Error, Init, ReadyToReceive as Rtr, ReadyToSend as Rts, Reset};
    [
        // Init       ReadyToReceive ReadyToSend Fail         Reset
        [Some(Init), None, None, None, Some(Reset)], // Reset
        [None, Some(Rtr), None, Some(Error), Some(Reset)], // Init
        [None, None, Some(Rts), Some(Error), Some(Reset)], // ReadyToReceive
        [None, None, None, Some(Error), Some(Reset)], // ReadyToSend
        [None, None, None, Some(Error), Some(Reset)], // Error
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    /// IB 10.3: each state by each transition.
    #[test]
    fn every_state_by_every_transition_is_this_table() {
        let transitions = [
            Transition::Init,
            Transition::ReadyToReceive,
            Transition::ReadyToSend,
            Transition::Fail,
            Transition::Reset,
        ];
        let letter = |state: Result<State, StateError>| match state {
            Ok(State::Reset) => 'Z',
            Ok(State::Init) => 'I',
            Ok(State::ReadyToReceive) => 'R',
            Ok(State::ReadyToSend) => 'S',
            Ok(State::Error) => 'E',
            Err(_) => '-',
        };
        let table = State::ALL.map(|state| -> String {
            transitions.iter().map(|transition| letter(state.after(*transition))).collect()
        });
        assert_eq!(table, ["I---Z", "-R-EZ", "--SEZ", "---EZ", "---EZ"]);
    }

    /// IB 10.3: what each state takes.
    #[test]
    fn every_state_takes_this() {
        let taken = State::ALL.map(|state| -> String {
            let all = [
                (state.takes_receives(), 'r'),
                (state.takes_sends(), 's'),
                (state.takes_requests(), 'q'),
                (state.takes_responses(), 'a'),
            ];
            all.iter().filter(|(takes, _)| *takes).map(|(_, letter)| letter).collect()
        });
        assert_eq!(taken, ["", "r", "rq", "rsqa", "rs"]);
    }
}
