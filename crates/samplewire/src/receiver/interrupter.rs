//! Interrupts a wait for samples from another thread.

use std::sync::Arc;

use super::shared::Shared;

/// Interrupts the thread that waits in
/// [`ReceiveStream::next_within`](super::ReceiveStream::next_within). That call and every later one
/// returns [`ReceiveError::Interrupted`](crate::ReceiveError) if no block is available. The stream
/// itself continues until the receiver is closed or dropped.
#[derive(Clone, Debug)]
pub struct Interrupter {
    pub(super) shared: Arc<Shared>,
}

impl Interrupter {
    /// Interrupts the waits permanently.
    pub fn interrupt(&self) {
        self.shared.interrupt();
    }

    /// Whether it was interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.shared.is_interrupted()
    }
}
