//! Wakes a program's thread from an I/O thread, at no cost while nobody waits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::Duration;

/// One waiting thread and the flag that says so.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    is_awaited: AtomicBool,
    thread: Mutex<Option<Thread>>,
}

impl Bell {
    /// Announces a wait. The caller looks once more for what it waits for, then calls
    /// [`Bell::wait`].
    pub(crate) fn announce(&self) {
        *lock(&self.thread) = Some(std::thread::current());
        // SeqCst: this store before the second look, and the change before the load in `ring`, are
        // in one order, so that one side sees the other.
        self.is_awaited.store(true, Ordering::SeqCst);
    }

    /// Waits for [`Bell::ring`], at most for `timeout`; may return early.
    pub(crate) fn wait(&self, timeout: Duration) {
        std::thread::park_timeout(timeout);
        self.is_awaited.store(false, Ordering::SeqCst);
    }

    /// Ends the wait, if there is one, after a change.
    pub(crate) fn ring(&self) {
        // The fence puts the change, made with weaker orders, before the load; see `announce`.
        std::sync::atomic::fence(Ordering::SeqCst);
        if self.is_awaited.load(Ordering::Relaxed)
            && self.is_awaited.swap(false, Ordering::SeqCst)
            && let Some(thread) = &*lock(&self.thread)
        {
            thread.unpark();
        }
    }
}

/// Locks what is whole at every moment: a poisoned lock is still good.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
