//! Locks that a panic of another thread leaves usable.

use std::sync::PoisonError;
pub(crate) use std::sync::{Mutex, MutexGuard};

/// Locks what is whole at every moment: a poisoned lock is still good.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
