//! What travels in channels: one word.

use std::ptr::NonNull;

use crate::pool::Slot;
use crate::quantum::{Quantum, SharedQuantum};

/// A handle of a slot that can be made one word, and back.
pub(crate) trait Word: Send + Sized {
    /// The handle as one word, which owns it.
    fn into_word(self) -> NonNull<Slot>;

    /// The handle that a word owns.
    ///
    /// # Safety
    /// The word came from [`Word::into_word`] of the same type, and this is called once for it.
    unsafe fn from_word(word: NonNull<Slot>) -> Self;
}

impl Word for Quantum {
    fn into_word(self) -> NonNull<Slot> {
        self.into_slot()
    }

    unsafe fn from_word(word: NonNull<Slot>) -> Self {
        // SAFETY: by the caller's promise.
        unsafe { Self::from_slot(word) }
    }
}

impl Word for SharedQuantum {
    fn into_word(self) -> NonNull<Slot> {
        self.into_slot()
    }

    unsafe fn from_word(word: NonNull<Slot>) -> Self {
        // SAFETY: by the caller's promise, this handle was one of several.
        unsafe { Self::from_slot(word) }
    }
}
