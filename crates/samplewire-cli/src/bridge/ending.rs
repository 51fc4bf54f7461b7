//! When a bridge is to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::interrupt::Interrupt;

/// When everything is to end.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    interrupt: Interrupt,
    /// One way has ended, and the other ends with it.
    is_over: Arc<AtomicBool>,
}

impl Ending {
    pub(super) fn new(interrupt: Interrupt) -> Self {
        Self { interrupt, is_over: Arc::default() }
    }

    /// Ends the other way too.
    pub(super) fn end(&self) {
        // Relaxed: a flag that is looked at again soon; nothing is ordered by it.
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_come(&self) -> bool {
        self.signal().is_some() || self.is_over.load(Ordering::Relaxed)
    }

    /// The signal that came, if one did.
    pub(super) fn signal(&self) -> Option<u8> {
        self.interrupt.signal()
    }
}
