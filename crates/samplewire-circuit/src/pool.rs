//! Pools: all memory that samples will ever have, in quanta of one size.

use std::cell::UnsafeCell;
use std::fmt;
use std::mem;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::config::{PoolConfig, PoolError};
use crate::free_list::FreeList;
use crate::loan::Loan;
use crate::memory::Memory;
use crate::pages::Pages;
use crate::quantum::Quantum;
use crate::region::{ALIGN_BYTES, Region};
use crate::shares::Shares;
use crate::tag::Tags;

/// A fixed number of [`Quantum`]s. Clones are handles of the same pool, for any thread.
///
/// Quanta keep the memory alive, so they may outlive every handle of the pool.
///
/// ```
/// use samplewire_circuit::{Pool, PoolConfig};
///
/// let pool = Pool::new(PoolConfig::new(2, 1_408))?;
/// let (first, second) = (pool.take().unwrap(), pool.take().unwrap());
/// assert!(pool.take().is_none(), "none free: the sender gets no credit");
/// drop(first);
/// assert_eq!((pool.free(), pool.len()), (1, 2));
/// # drop(second);
/// # Ok::<(), samplewire_circuit::PoolError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pool {
    shared: Arc<Shared>,
}

impl Pool {
    /// Takes the pool's memory in one piece and touches every page of it.
    ///
    /// # Errors
    /// [`PoolError`] names the value that is out of range.
    ///
    /// # Blocking
    /// Until the kernel has mapped every page: 0.5 to 2.9 s per GB where this was measured (a
    /// virtual machine, pages of 4 KiB).
    pub fn new(config: PoolConfig) -> Result<Self, PoolError> {
        Ok(Self { shared: Shared::new(config)? })
    }

    /// A pool in memory of one's own, [`PoolConfig::memory_bytes`] long or longer;
    /// [`PoolConfig::huge_pages`] is not looked at.
    ///
    /// # Errors
    /// [`PoolError`] names the value that is out of range.
    ///
    /// # Panics
    /// When the memory does not begin at a multiple of 64.
    pub fn with_memory(
        config: PoolConfig,
        memory: impl Memory + 'static,
    ) -> Result<Self, PoolError> {
        let (needed_bytes, given_bytes) = (config.memory_bytes()?, memory.len_bytes());
        if given_bytes < needed_bytes {
            return Err(PoolError::Memory { needed_bytes, given_bytes });
        }
        Ok(Self { shared: Shared::over(config, config.stride_bytes()?, memory) })
    }

    /// Where the data of `quantum` begin in the pool's memory. `None` when it belongs to another
    /// pool, or shows borrowed samples.
    pub fn offset_bytes<T>(&self, quantum: &Quantum<T>) -> Option<usize> {
        let memory = &self.shared.memory;
        let address = quantum.data().as_ptr().addr();
        let offset = address.checked_sub(memory.base().addr().get())?;
        (self.owns(quantum) && offset <= memory.len_bytes()).then_some(offset)
    }

    /// A pool of `quanta` without memory of their own: each holds what it has borrowed.
    pub(crate) fn of_borrowers(quanta: usize) -> Result<Self, PoolError> {
        let config = PoolConfig::new(quanta, 1).head_bytes(0).tail_bytes(0);
        config.stride_bytes()?;
        let config = PoolConfig { capacity_bytes: 0, ..config };
        let region = Region::new(1, false).ok_or_else(|| config.too_large())?;
        Ok(Self { shared: Shared::over(config, 0, region) })
    }

    /// Takes an empty quantum; `None` when all are in use.
    ///
    /// Its index is 0, it has no tags, its front stands at the end of the head margin. Bytes that
    /// become part of it are what an earlier owner left there.
    pub fn take(&self) -> Option<Quantum> {
        let number = self.shared.free_list.take()?;
        let slot = NonNull::from(&self.shared.slots[number as usize]);
        // The count that the slot's handles own together, until the last of them gives it back.
        mem::forget(Arc::clone(&self.shared));
        // SAFETY: the free list has just given the slot to this caller alone, with a count of the
        // pool that keeps it alive.
        Some(unsafe { Quantum::new(slot) })
    }

    /// Whether `quantum` is one of this pool's.
    pub(crate) fn owns<T>(&self, quantum: &Quantum<T>) -> bool {
        std::ptr::eq(quantum.pool(), &raw const *self.shared)
    }

    /// What the pool was made by.
    pub(crate) fn config(&self) -> PoolConfig {
        self.shared.config
    }

    /// Whether both are handles of one pool.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// How many quanta can be taken at this instant. Other threads may change it at any time, but
    /// a quantum that was given back is counted only once it can be taken.
    pub fn free(&self) -> usize {
        self.shared.free_list.free() as usize
    }

    /// How many quanta there are, free or in use.
    #[expect(clippy::len_without_is_empty, reason = "a pool is never without quanta")]
    pub fn len(&self) -> usize {
        self.shared.free_list.len() as usize
    }

    /// How many bytes one quantum carries between its margins.
    pub fn capacity_bytes(&self) -> usize {
        self.shared.config.capacity_bytes
    }

    /// What the memory is made of.
    pub fn pages(&self) -> Pages {
        self.shared.memory.pages()
    }

    /// All memory of the pool in bytes: data, margins, and what is kept for each quantum.
    pub fn memory_bytes(&self) -> usize {
        let slot_bytes = size_of::<Slot>() + size_of::<u32>();
        self.shared.memory.taken_bytes()
            + self.shared.slots.len() * slot_bytes
            + size_of::<Shared>()
    }
}

/// What all handles of a pool, and all its quanta, have in common.
pub(crate) struct Shared {
    slots: Box<[Slot]>,
    free_list: FreeList,
    config: PoolConfig,
    memory: Box<dyn Memory>,
}

/// What is kept for each quantum beside its bytes, in cache lines of its own: neighbours are with
/// other threads. What changes with each use lies in the first of them, which is then all that goes
/// from core to core with a quantum.
#[repr(C, align(64))]
pub(crate) struct Slot {
    /// Where the head margin begins: `stride_bytes` of initialised memory from there on are this
    /// slot's alone.
    base: NonNull<u8>,
    /// The pool that the slot is one of: alive while any handle of the slot is.
    pool: *const Shared,
    /// The slot's place in the pool.
    number: u32,
    /// How many handles there are.
    shares: Shares,
    state: UnsafeCell<State>,
}

/// What the quantum in a slot holds.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct State {
    /// Where the data lie.
    pub(crate) extent: Extent,
    /// The index of the first sample.
    pub(crate) index: u64,
    /// Samples per second and channel; 0 when it is not known.
    pub(crate) rate_hz: f64,
    /// Events among the samples.
    pub(crate) tags: Tags,
    /// The samples, where they lie in another owner's memory; `extent` is empty then.
    pub(crate) loan: Option<Loan>,
}

/// Where the data of a quantum lie: the quantum keeps the end within its margins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    /// Where they begin, from the start of the head margin.
    pub(crate) start_bytes: usize,
    /// How long they are.
    pub(crate) len_bytes: usize,
}

impl Extent {
    /// The first byte after them.
    pub(crate) fn end_bytes(self) -> usize {
        self.start_bytes + self.len_bytes
    }
}

impl Shared {
    fn new(config: PoolConfig) -> Result<Arc<Self>, PoolError> {
        let stride_bytes = config.stride_bytes()?;
        let region = stride_bytes
            .checked_mul(config.quanta)
            .and_then(|len_bytes| Region::new(len_bytes, config.huge_pages))
            .ok_or_else(|| config.too_large())?;
        Ok(Self::over(config, stride_bytes, region))
    }

    /// Slots `stride_bytes` apart in `memory`, which holds as many.
    fn over(config: PoolConfig, stride_bytes: usize, memory: impl Memory + 'static) -> Arc<Self> {
        let base = memory.base();
        assert!(
            base.addr().get().is_multiple_of(ALIGN_BYTES),
            "memory at {base:?}, no multiple of 64"
        );
        let memory: Box<dyn Memory> = Box::new(memory);
        Arc::new_cyclic(|shared| {
            let slot = |number: usize| Slot {
                // SAFETY: the memory holds `config.quanta` slots of `stride_bytes`: the caller has
                // checked it.
                base: unsafe { base.add(number * stride_bytes) },
                pool: shared.as_ptr(),
                number: number as u32,
                shares: Shares::default(),
                state: UnsafeCell::default(),
            };
            let slots = (0..config.quanta).map(slot).collect();
            Self { slots, free_list: FreeList::new(config.quanta as u32), config, memory }
        })
    }

    /// What the pool was made by.
    pub(crate) fn config(&self) -> &PoolConfig {
        &self.config
    }
}

impl Slot {
    /// The count of the handles.
    pub(crate) fn shares(&self) -> &Shares {
        &self.shares
    }

    /// The pool that the slot is one of.
    ///
    /// # Safety
    /// The caller holds a handle of the slot for as long as the reference lives.
    pub(crate) unsafe fn pool(&self) -> &Shared {
        // SAFETY: the slot's handles own a count of the pool, and its address was made with it.
        unsafe { &*self.pool }
    }

    /// Takes the slot back, and the count of the pool that its handles owned.
    ///
    /// # Safety
    /// The caller held the last handle of the slot, and touches the slot no more.
    pub(crate) unsafe fn give(slot: NonNull<Self>) {
        // SAFETY: the count that the slot's handles owned is the caller's until it is given up below.
        let (pool, number) = unsafe { ((*slot.as_ptr()).pool, (*slot.as_ptr()).number) };
        // SAFETY: as above. The pool came from an `Arc` and `take` left one count to the handles.
        let pool = unsafe { Arc::from_raw(pool) };
        pool.free_list.give(number);
    }

    /// What the quantum holds.
    ///
    /// # Safety
    /// The caller holds a handle of the slot, unique or shared, for as long as the reference
    /// lives, and no reference from [`Slot::state_mut`] lives meanwhile.
    pub(crate) unsafe fn state(&self) -> &State {
        // SAFETY: by the caller's promise no reference that can write the state exists meanwhile.
        unsafe { &*self.state.get() }
    }

    /// What the quantum holds, to be changed.
    ///
    /// # Safety
    /// The caller holds the slot's unique handle, mutably borrowed for as long as the reference
    /// lives.
    #[expect(clippy::mut_from_ref, reason = "the unique handle, not the slot, is borrowed")]
    pub(crate) unsafe fn state_mut(&self) -> &mut State {
        // SAFETY: by the caller's promise no other reference to the state exists.
        unsafe { &mut *self.state.get() }
    }

    /// The address of the byte at `start_bytes` from the start of the head margin.
    ///
    /// # Safety
    /// `start_bytes` is at most the stride of the pool.
    pub(crate) unsafe fn at(&self, start_bytes: usize) -> NonNull<u8> {
        // SAFETY: by the caller's promise this stays in the slot's part of the region.
        unsafe { self.base.add(start_bytes) }
    }
}

/// See [`Slot`]. (Loom's atomics are longer.)
#[cfg(not(loom))]
const _: () = {
    let tags = mem::offset_of!(Slot, state) + mem::offset_of!(State, tags);
    assert!(tags + Tags::COUNT_END_BYTES <= 64, "a slot's first cache line");
};

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("config", &self.config)
            .field("free", &self.free_list.free())
            .finish_non_exhaustive()
    }
}

// SAFETY: the region is memory without thread affinity; it is freed by whichever thread drops the
// last handle. The slots' pointers lead into the region and to the pool itself.
unsafe impl Send for Shared {}

// SAFETY: a slot's state and bytes are touched only through its handles (the contracts of `state`
// and `state_mut`). The free list gives each slot to one owner at a time and orders the previous
// owner's accesses before the next one's; `Shares` does the same for shared handles. The rest is
// atomic or never changes.
unsafe impl Sync for Shared {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn memory_is_all_that_was_taken() {
        let pool = Pool::new(PoolConfig::new(100, 8_000).head_bytes(128)).unwrap();
        let data_bytes = 100 * (128 + 8_000 + 64);
        assert!((data_bytes..data_bytes + 100 * 512 + 512).contains(&pool.memory_bytes()));
        assert_eq!((pool.len(), pool.capacity_bytes()), (100, 8_000));
    }
}
