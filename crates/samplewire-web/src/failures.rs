//! Why the page, or a part of it, failed.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use crate::source::lock;

/// The first failure that the program has not taken.
///
/// The receiving thread takes it. Its lock is held only for a move, so taking never waits for the
/// page's work.
#[derive(Clone, Debug, Default)]
pub struct Failures(Arc<Mutex<Option<String>>>);

impl Failures {
    /// Keeps a failure, unless an earlier one is kept.
    pub(crate) fn note(&self, words: String) {
        lock(&self.0).get_or_insert(words);
    }

    /// Keeps a panic as a failure.
    pub(crate) fn note_panic(&self, panic: &(dyn Any + Send)) {
        let words = panic.downcast_ref::<&str>().copied();
        let words = words.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        self.note(format!("a defect: {}", words.unwrap_or_default()));
    }

    /// Returns the failure, once.
    pub fn take(&self) -> Option<String> {
        lock(&self.0).take()
    }

    /// Runs the page's thread, and keeps why it ended if it failed or panicked.
    pub(crate) fn supervise(&self, run: impl FnOnce() -> io::Result<()>) {
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.note(error.to_string()),
            Err(panic) => self.note_panic(&*panic),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_of_the_thread_is_a_failure_in_words() {
        let failures = Failures::default();
        failures.supervise(|| panic!("a number {}", 7));
        failures.note("a later one".to_owned());
        assert_eq!(failures.take().as_deref(), Some("a defect: a number 7"));
        failures.supervise(|| Err(io::Error::other("no")));
        assert_eq!(failures.take().as_deref(), Some("no"));
        failures.supervise(|| Ok(()));
        assert_eq!(failures.take(), None);
    }
}
