//! Wakes a program's thread from an I/O thread, at no cost while nobody waits.

use std::sync::PoisonError;
use std::time::Duration;

use crate::sync::{Mutex, MutexGuard, Thread, current, park_timeout};
use crate::wait_flag::WaitFlag;

/// One waiting thread and the flag that says so.
#[derive(Debug)]
pub(crate) struct Bell {
    flag: WaitFlag,
    thread: Mutex<Option<Thread>>,
}

impl Bell {
    pub(crate) fn new() -> Self {
        Self { flag: WaitFlag::new(), thread: Mutex::new(None) }
    }

    /// Announces a wait. The caller looks once more for what it waits for, then calls
    /// [`Bell::wait`].
    pub(crate) fn announce(&self) {
        *lock(&self.thread) = Some(current());
        self.flag.announce();
    }

    /// Waits for [`Bell::ring`], at most for `timeout`; may return early.
    pub(crate) fn wait(&self, timeout: Duration) {
        park_timeout(timeout);
        self.flag.clear();
    }

    /// Ends the wait, if there is one, after a change.
    pub(crate) fn ring(&self) {
        if self.flag.claim() {
            // Who is woken locks it again, and would run into a lock that is held while it wakes.
            let thread = lock(&self.thread).clone();
            if let Some(thread) = thread {
                thread.unpark();
            }
        }
    }
}

/// Locks what is whole at every moment: a poisoned lock is still good.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
