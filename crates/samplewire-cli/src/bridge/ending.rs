//! When a bridge ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::interrupt::Interrupt;

/// When both directions end.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    interrupt: Interrupt,
    /// One direction has ended, and the other ends with it.
    is_over: Arc<AtomicBool>,
}

impl Ending {
    pub(super) fn new(interrupt: Interrupt) -> Self {
        Self { interrupt, is_over: Arc::default() }
    }

    /// Ends the other direction too.
    pub(super) fn end(&self) {
        // Relaxed: the flag is read again soon, and orders nothing.
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_come(&self) -> bool {
        self.signal().is_some() || self.is_over.load(Ordering::Relaxed)
    }

    /// The signal that came, if any.
    pub(super) fn signal(&self) -> Option<u8> {
        self.interrupt.signal()
    }
}
