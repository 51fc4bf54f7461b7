//! How many handles a slot has: a reference count whose place was taken with the pool.

use crate::atomic::{AtomicU32, Ordering};

/// The count of a slot's handles; meaningless while the slot is free.
#[derive(Debug, Default)]
pub(crate) struct Shares(AtomicU32);

impl Shares {
    /// Begins to count with one handle.
    pub(crate) fn start(&self) {
        // Relaxed: the caller is the only owner, and handing the first handle to another thread
        // orders this before what that thread does.
        self.0.store(1, Ordering::Relaxed);
    }

    /// Counts one more handle, made from an existing one.
    ///
    /// # Panics
    /// At 2^31 handles, far below the wrap: only leaked handles can become so many.
    pub(crate) fn add(&self) {
        // Relaxed: the existing handle keeps the slot, and the caller orders the copy when it
        // passes it on.
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        if before >= 1 << 31 {
            self.0.fetch_sub(1, Ordering::Relaxed);
            panic!("{before} handles share one quantum");
        }
    }

    /// Counts one handle less; true when it was the last, whose owner frees the slot.
    pub(crate) fn remove(&self) -> bool {
        // Release: the reads through this handle come before whatever the next owner writes.
        if self.0.fetch_sub(1, Ordering::Release) != 1 {
            return false;
        }
        // Acquire: pairs with the Release of every other handle's removal. A load and not a fence,
        // which ThreadSanitizer does not see.
        self.0.load(Ordering::Acquire);
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn last_handle_frees_the_slot() {
        let shares = Shares::default();
        shares.start();
        shares.add();
        assert!(!shares.remove());
        assert!(shares.remove());
    }

    #[test]
    #[should_panic(expected = "2147483648 handles share one quantum")]
    fn count_stops_before_it_wraps() {
        Shares(AtomicU32::new(1 << 31)).add();
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    struct Shared {
        shares: Shares,
        cell: UnsafeCell<u32>,
    }

    // SAFETY: readers hold a share, the writer has seen the last share go.
    unsafe impl Sync for Shared {}

    /// Reads through a handle, drops it, and writes if it was the last.
    fn read_then_drop(shared: &Shared) -> bool {
        // SAFETY: a handle is held.
        assert_eq!(shared.cell.with(|cell| unsafe { *cell }), 7);
        let last = shared.shares.remove();
        if last {
            // SAFETY: it was the last handle.
            shared.cell.with_mut(|cell| unsafe { *cell = 8 });
        }
        last
    }

    #[test]
    fn slot_is_reused_after_every_reader_left_and_no_sooner() {
        crate::model::every_order_matters(&[readers_then_a_writer]);
    }

    fn readers_then_a_writer() {
        loom::model(|| {
            let shared = Arc::new(Shared { shares: Shares::default(), cell: UnsafeCell::new(7) });
            shared.shares.start();
            shared.shares.add();
            shared.shares.add();
            let others: Vec<_> = (0..2)
                .map(|_| {
                    let shared = shared.clone();
                    thread::spawn(move || read_then_drop(&shared))
                })
                .collect();
            let mut last = usize::from(read_then_drop(&shared));
            last += others.into_iter().map(|t| usize::from(t.join().unwrap())).sum::<usize>();
            assert_eq!(last, 1);
        });
    }
}
