//! Locks, and what the thread that hashes a file waits by: the standard library's, or under
//! `--cfg loom` what the model checker watches.

use std::sync::PoisonError;
pub(crate) use std::sync::{Mutex, MutexGuard};

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(loom))]
pub(crate) use std::thread::park;

#[cfg(loom)]
pub(crate) use samplewire_circuit::model::loom::thread::park;
#[cfg(loom)]
pub(crate) use samplewire_circuit::model::{AtomicBool, Ordering};

/// Locks what is whole at every moment: a poisoned lock is still good.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
