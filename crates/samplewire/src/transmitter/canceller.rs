//! Ends a session from another thread.

use std::sync::Arc;

use super::shared::Shared;

/// Ends a stream that is sent from another thread: calls that wait return that it has ended, once the
/// receiver knows or is dead.
#[derive(Clone, Debug)]
pub struct Canceller {
    pub(super) shared: Arc<Shared>,
    /// Which session; a listener's ends whichever is open.
    pub(super) session: Option<u64>,
}

impl Canceller {
    /// Ends the stream with what has departed; does nothing where none is open.
    pub fn cancel(&self) {
        if let Some(session) = self.session.or_else(|| self.shared.open_session()) {
            self.shared.cancel(session);
        }
    }
}
