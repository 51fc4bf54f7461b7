//! Ends a session from another thread.

use std::sync::Arc;

use super::shared::Shared;

/// Cancels the open session of a [`Transmitter`](super::Transmitter) from another thread: calls that
/// wait return that it has ended, once the receiver knows or is dead.
#[derive(Clone, Debug)]
pub struct Canceller {
    pub(super) shared: Arc<Shared>,
}

impl Canceller {
    /// Ends the open session with what has departed; nothing when there is none.
    pub fn cancel(&self) {
        if let Some(session) = self.shared.with_state(|state| state.session) {
            self.shared.cancel(session.id);
        }
    }
}
