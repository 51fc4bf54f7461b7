//! Ends a wait for samples from another thread.

use std::sync::Arc;

use super::shared::Shared;

/// Interrupts the thread that waits in [`ReceiveStream::next_within`](super::ReceiveStream::next_within):
/// that call and every later one returns [`ReceiveError::Interrupted`](crate::ReceiveError) when no
/// block is there. The stream itself goes on until the receiver is closed or dropped.
#[derive(Clone, Debug)]
pub struct Interrupter {
    pub(super) shared: Arc<Shared>,
}

impl Interrupter {
    /// Interrupts, for good.
    pub fn interrupt(&self) {
        self.shared.interrupt();
    }

    /// Whether that has been done.
    pub fn is_interrupted(&self) -> bool {
        self.shared.is_interrupted()
    }
}
