//! Which slots are free: a lock-free stack of slot numbers with an exact count.
//!
//! Last in, first out, so that the slot taken next is the one whose bytes are most likely still
//! in a cache. A Treiber stack of numbers instead of pointers: no memory is reclaimed, so only the
//! ABA problem is left, and a version beside the top slot's number closes it. The loom tests below
//! run with `RUSTFLAGS="--cfg loom" cargo test -p samplewire-circuit --lib`.

use crate::atomic::{AtomicU32, AtomicU64, Ordering};

/// The free slots. Any thread may take and give, in cache lines (which this kind of machine fetches
/// by pairs) that nothing else shares: what stands beside it is read for each packet.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct FreeList {
    /// [`Top`]: version and slot number.
    top: AtomicU64,
    /// How many slots can be taken. Never more than the stack holds: a slot is counted after it
    /// was pushed, and taken off the count before it is popped.
    free: AtomicU32,
    /// For each slot in the stack, the one below it.
    below: Box<[AtomicU32]>,
}

impl FreeList {
    /// A list of `len` free slots, the lowest on top.
    ///
    /// # Panics
    /// When `len` exceeds [`LEN_MAX`].
    pub(crate) fn new(len: u32) -> Self {
        assert!(len <= LEN_MAX, "{len} slots are more than {LEN_MAX}");
        let below = (1..=len).map(|next| AtomicU32::new(if next == len { END } else { next }));
        let top = Top { version: 0, slot: if len == 0 { END } else { 0 } };
        Self { top: AtomicU64::new(top.pack()), free: AtomicU32::new(len), below: below.collect() }
    }

    /// How many slots can be taken at this instant.
    pub(crate) fn free(&self) -> u32 {
        // Relaxed: a count, which orders nothing.
        self.free.load(Ordering::Relaxed)
    }

    /// How many slots there are, free or not.
    pub(crate) fn len(&self) -> u32 {
        self.below.len() as u32
    }

    /// Takes a slot, `None` when none is free. All that happened before the slot was given
    /// happens before this returns.
    pub(crate) fn take(&self) -> Option<u32> {
        // Acquire pairs with the Release in `give`: the pushes that were counted are visible.
        self.free
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, |free| free.checked_sub(1))
            .ok()?;
        // The stack cannot be empty. Were it so at some value of `top`, with n pops before it,
        // then the last of the n + 1 reservations saw at least n + 1 counted pushes, and all of
        // those precede its own access to `top`, hence that value: n + 1 pushes, n pops.
        Some(self.pop().expect("a reserved slot is in the stack"))
    }

    /// Gives `slot` back, which the caller took and does not touch any more.
    pub(crate) fn give(&self, slot: u32) {
        self.push(slot);
        // Release: a `take` that reads this count sees the push.
        self.free.fetch_add(1, Ordering::Release);
    }

    fn pop(&self) -> Option<u32> {
        // Acquire, here and on failure: sees what the slot's last owner did, and `below` as of the
        // push that wrote this value of `top`. Every change of `top` is a read-modify-write, so
        // each value continues the release sequence of all earlier pushes, also of the one that
        // pushed the slot.
        let mut packed = self.top.load(Ordering::Acquire);
        loop {
            let top = Top::unpack(packed);
            if top.slot == END {
                return None;
            }
            // Relaxed: ordered by the load of `top`. If another thread pops and pushes the slot
            // meanwhile, the value read is stale, the version differs, and the exchange fails.
            let slot = self.below[top.slot as usize].load(Ordering::Relaxed);
            let next = Top { version: top.version.wrapping_add(1), slot }.pack();
            // Relaxed on success: the value was acquired when it was read, and its version says that
            // it is the same.
            match self.top.compare_exchange_weak(packed, next, Ordering::Relaxed, Ordering::Acquire)
            {
                Ok(_) => return Some(top.slot),
                Err(seen) => packed = seen,
            }
        }
    }

    fn push(&self, slot: u32) {
        // Relaxed: only the value is compared; nothing is read through it.
        let mut packed = self.top.load(Ordering::Relaxed);
        loop {
            let top = Top::unpack(packed);
            // Relaxed: published by the exchange.
            self.below[slot as usize].store(top.slot, Ordering::Relaxed);
            let next = Top { version: top.version.wrapping_add(1), slot }.pack();
            // Release: publishes `below` and all that the owner did with the slot.
            match self.top.compare_exchange_weak(packed, next, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(seen) => packed = seen,
            }
        }
    }
}

/// The top of the stack. The version moves with every change, so that a thread which slept
/// through a pop and a push of the same slot cannot mistake the second for the first, unless it
/// slept through a multiple of 2^40 changes: 30 hours at ten million a second, hit exactly.
#[derive(Clone, Copy)]
struct Top {
    version: u64,
    slot: u32,
}

impl Top {
    fn pack(self) -> u64 {
        self.version << SLOT_BITS | u64::from(self.slot)
    }

    fn unpack(packed: u64) -> Self {
        Self { version: packed >> SLOT_BITS, slot: packed as u32 & END }
    }
}

/// As many as the largest window has packets, less the number that marks the end.
pub(crate) const LEN_MAX: u32 = END;
const SLOT_BITS: u32 = 24;
/// The slot number below the last slot.
const END: u32 = (1 << SLOT_BITS) - 1;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn slot_given_last_is_taken_first() {
        let list = FreeList::new(3);
        let taken: Vec<_> = (0..3).map(|_| list.take().unwrap()).collect();
        assert_eq!(list.take(), None);
        list.give(taken[2]);
        list.give(taken[0]);
        assert_eq!(list.free(), 2);
        assert_eq!([list.take(), list.take(), list.take()], [Some(taken[0]), Some(taken[2]), None]);
    }

    #[test]
    fn every_slot_is_handed_out_once() {
        let list = FreeList::new(100);
        let taken: HashSet<_> = std::iter::from_fn(|| list.take()).collect();
        assert_eq!(taken, (0..100).collect());
        assert_eq!(list.free(), 0);
    }

    #[test]
    fn version_leaves_the_slot_number_alone_when_it_wraps() {
        let last = Top { version: (1 << 40) - 1, slot: 7 };
        let next = Top { version: last.version.wrapping_add(1), slot: 7 };
        assert_eq!(Top::unpack(last.pack()).slot, 7);
        assert_eq!(next.pack(), 7);
    }

    #[test]
    fn threads_that_take_and_give_lose_no_slot() {
        let rounds = if cfg!(miri) { 100 } else { 100_000 };
        let list = FreeList::new(3);
        let owners: Vec<_> = (0..3).map(|_| AtomicU32::new(0)).collect();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..rounds {
                        let Some(slot) = list.take() else { continue };
                        assert_eq!(owners[slot as usize].fetch_add(1, Ordering::Relaxed), 0);
                        owners[slot as usize].fetch_sub(1, Ordering::Relaxed);
                        list.give(slot);
                    }
                });
            }
        });
        assert_eq!(list.free(), 3);
        assert_eq!(std::iter::from_fn(|| list.take()).count(), 3);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    /// What a slot guards. Loom fails the model if two threads write a cell at once, or if one
    /// writes without having seen the other's.
    struct Guarded {
        list: FreeList,
        cells: [UnsafeCell<u32>; 2],
    }

    impl Guarded {
        fn use_a_slot(&self) -> bool {
            let Some(slot) = self.list.take() else { return false };
            // SAFETY: the slot was taken, so this thread alone may touch its cell.
            self.cells[slot as usize].with_mut(|cell| unsafe { *cell += 1 });
            self.list.give(slot);
            true
        }
    }

    // SAFETY: the cells are touched only by the owner of their slot.
    unsafe impl Sync for Guarded {}

    /// Runs every interleaving with up to `switches` forced changes of thread: beyond 3 the number
    /// of interleavings outgrows a test's time.
    fn check(slots: u32, threads: usize, rounds: usize, switches: usize) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(switches);
        model.check(move || {
            let shared = Arc::new(Guarded {
                list: FreeList::new(slots),
                cells: [UnsafeCell::new(0), UnsafeCell::new(0)],
            });
            let others: Vec<_> = (1..threads)
                .map(|_| {
                    let shared = shared.clone();
                    thread::spawn(move || (0..rounds).filter(|_| shared.use_a_slot()).count())
                })
                .collect();
            let mut uses = (0..rounds).filter(|_| shared.use_a_slot()).count();
            uses += others.into_iter().map(|other| other.join().unwrap()).sum::<usize>();
            assert_eq!(shared.list.free(), slots);
            // SAFETY: the other threads have ended.
            let counted: u32 =
                shared.cells.iter().map(|cell| cell.with(|cell| unsafe { *cell })).sum();
            assert_eq!(counted as usize, uses);
        });
    }

    /// With everything that could be weakened in turn.
    #[test]
    fn slots_are_owned_once_by_orders_that_all_matter() {
        crate::model::every_order_matters(&[one_slot, two_slots, slot_that_left_and_returned]);
    }

    fn one_slot() {
        check(1, 2, 2, 5);
    }

    fn two_slots() {
        check(2, 2, 2, 3);
    }

    #[test]
    fn three_threads_on_two_slots_lose_none() {
        check(2, 3, 1, 3);
    }

    /// A thread that sleeps in `pop` while the top slot is taken and given back must not put what
    /// lay below it then back on top. With a version that stands still, this fails.
    fn slot_that_left_and_returned() {
        loom::model(|| {
            let list = Arc::new(FreeList::new(3));
            let other = thread::spawn({
                let list = list.clone();
                move || {
                    let (first, second) = (list.take().unwrap(), list.take().unwrap());
                    list.give(first);
                    second
                }
            });
            let mut held = vec![list.take().unwrap()];
            held.push(other.join().unwrap());
            held.push(list.take().unwrap());
            held.sort_unstable();
            assert_eq!(held, [0, 1, 2]);
        });
    }
}
