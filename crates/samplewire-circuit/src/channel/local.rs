//! What the tasks of one group have in common, without atomics.

use std::cell::UnsafeCell;
use std::sync::Arc;

/// A value that several tasks of one group use in turn.
///
/// All handles of a value belong to tasks of one [`Group`](crate::Group) from the split of a graph
/// to its joining. A group runs its tasks one at a time through `&mut self`, and goes to another
/// thread only as a whole. So no two handles are used at once.
pub(crate) struct Local<T> {
    value: Arc<UnsafeCell<T>>,
}

impl<T> Local<T> {
    /// The first handle of `value`.
    pub(crate) fn new(value: T) -> Self {
        Self { value: Arc::new(UnsafeCell::new(value)) }
    }

    /// Uses the value. `use_it` must not reach this value by another handle.
    #[inline]
    pub(crate) fn with<R>(&mut self, use_it: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: no other handle is in use: callers uphold the rule above, with closures that only
        // push and pop.
        use_it(unsafe { &mut *self.value.get() })
    }
}

impl<T> Clone for Local<T> {
    fn clone(&self) -> Self {
        Self { value: Arc::clone(&self.value) }
    }
}

// SAFETY: a group's tasks, and with them all handles, go to another thread together.
unsafe impl<T: Send> Send for Local<T> {}
