//! Nothing allocates after the pool was made.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use samplewire_circuit::{Pool, PoolConfig, Tag, TagKind};

/// The system's allocator, counting calls.
struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises hold for the system's allocator alike.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(start, layout) }
    }
}

static CALLS: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn quanta_go_round_without_an_allocation() {
    let pool = Pool::new(PoolConfig::new(4, 8_000)).unwrap();
    let rounds = if cfg!(miri) { 100 } else { 10_000 };
    let before = CALLS.load(Ordering::Relaxed);
    for index in 0..rounds {
        let mut quantum = pool.take().unwrap();
        quantum.set_len(8_000);
        quantum.data_mut()[0] = index as u8;
        quantum.set_index(index);
        quantum.push_tag(Tag { index, kind: TagKind::Gain { db: 3.0 } }).unwrap();
        let shared = quantum.share();
        assert_eq!(shared.clone().data()[0], index as u8);
    }
    assert_eq!(CALLS.load(Ordering::Relaxed), before);
}
