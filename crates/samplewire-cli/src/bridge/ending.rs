//! When a bridge ends.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// When both directions end: one of them has, or the program wants it.
#[derive(Clone)]
pub(crate) struct Ending {
    should_stop: Arc<dyn Fn() -> bool + Send + Sync>,
    /// One direction has ended, and the other ends with it.
    is_over: Arc<AtomicBool>,
}

impl Ending {
    /// `should_stop` is called often, from the threads of both directions.
    pub(crate) fn new(should_stop: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { should_stop: Arc::new(should_stop), is_over: Arc::default() }
    }

    /// Ends both directions.
    pub(crate) fn end(&self) {
        // Relaxed: the flag is read again soon, and orders nothing.
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_come(&self) -> bool {
        (self.should_stop)() || self.is_over.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ending").field("has_come", &self.has_come()).finish_non_exhaustive()
    }
}
