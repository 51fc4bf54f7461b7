//! What belongs to one process: a fork has the memory, and not the threads.

use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::prelude::*;

use crate::errors;

/// A value that is dropped in the process that made it, and let lie in a child of that: its threads
/// are not there to be joined, and its wakers are the parent's too.
#[derive(Debug)]
pub(crate) struct Own<T> {
    home: Home,
    /// `None` only while it is dropped.
    value: Option<T>,
}

impl<T> Own<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { home: Home::here(), value: Some(value) }
    }

    pub(crate) fn into_inner(mut self) -> T {
        self.value.take().expect(IS_THERE)
    }
}

impl<T> Deref for Own<T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.value.as_ref().expect(IS_THERE)
    }
}

impl<T> DerefMut for Own<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect(IS_THERE)
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if !self.home.is_here() {
            mem::forget(self.value.take());
        }
    }
}

/// The process that something was made in, counted in forks: to ask the system would cost more than
/// all else that is done for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Home(u32);

impl Home {
    pub(crate) fn here() -> Self {
        // Relaxed: it changes in a process that has one thread, before that goes on.
        Self(FORKS.load(Ordering::Relaxed))
    }

    pub(crate) fn is_here(self) -> bool {
        self == Self::here()
    }

    /// Refuses a child of the process.
    ///
    /// # Errors
    /// `ForkError`.
    pub(crate) fn check(self, py: Python<'_>) -> PyResult<()> {
        if self.is_here() {
            return Ok(());
        }
        let message = format!(
            "made before process {} was forked, which has none of its threads: open it in the \
             child, or start that with multiprocessing's `spawn`",
            std::process::id()
        );
        Err(errors::error(py, "ForkError", message))
    }
}

/// Has the forks of this process counted from here on, once.
///
/// # Errors
/// The system has no memory for it.
pub(crate) fn count_forks() -> std::io::Result<()> {
    static COUNTS: OnceLock<i32> = OnceLock::new();
    extern "C" fn count() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the handler stays, as modules of Python are not unloaded, and does what a child of a
    // process with several threads may do: it changes an atomic.
    let failure = *COUNTS.get_or_init(|| unsafe { libc::pthread_atfork(None, None, Some(count)) });
    if failure == 0 { Ok(()) } else { Err(std::io::Error::from_raw_os_error(failure)) }
}

/// How many forks lie between this process and the one that loaded the module.
static FORKS: AtomicU32 = AtomicU32::new(0);

const IS_THERE: &str = "it is taken only where this ends";
