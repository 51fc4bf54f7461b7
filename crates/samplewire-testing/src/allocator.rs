//! An allocator for tests that show that code takes no memory.
#![expect(unsafe_code, reason = "an allocator is unsafe to implement")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// The system's allocator, which counts. A test declares it as its `#[global_allocator]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

impl CountingAllocator {
    /// How often memory was allocated, by all threads.
    pub fn calls() -> u64 {
        CALLS.load(Ordering::Relaxed)
    }

    /// How often memory was allocated, by this thread.
    pub fn calls_of_thread() -> u64 {
        CALLS_OF_THREAD.get()
    }

    /// Memory that is allocated now, in bytes.
    pub fn held_bytes() -> u64 {
        HELD_BYTES.load(Ordering::Relaxed)
    }
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Relaxed: the counts order nothing.
        CALLS.fetch_add(1, Ordering::Relaxed);
        CALLS_OF_THREAD.set(CALLS_OF_THREAD.get() + 1);
        HELD_BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's promises hold for the system's allocator alike.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD_BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's promises hold for the system's allocator alike.
        unsafe { System.dealloc(pointer, layout) }
    }
}

static CALLS: AtomicU64 = AtomicU64::new(0);
static HELD_BYTES: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static CALLS_OF_THREAD: Cell<u64> = const { Cell::new(0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: CountingAllocator = CountingAllocator;

    #[test]
    fn calls_are_counted_for_the_thread_and_for_all() {
        let before = (CountingAllocator::calls(), CountingAllocator::calls_of_thread());
        let mut bytes = std::hint::black_box(Vec::<u8>::with_capacity(1 << 20));
        assert_eq!(CountingAllocator::calls_of_thread() - before.1, 1);
        assert!(CountingAllocator::held_bytes() >= 1 << 20);
        bytes.reserve(1 << 21);
        assert_eq!(CountingAllocator::calls_of_thread() - before.1, 2);
        let elsewhere = std::thread::spawn(|| {
            let before = CountingAllocator::calls_of_thread();
            drop(std::hint::black_box(Box::new(7)));
            CountingAllocator::calls_of_thread() - before
        });
        assert_eq!(elsewhere.join().unwrap(), 1);
        assert!(CountingAllocator::calls() - before.0 >= 3);
    }
}
