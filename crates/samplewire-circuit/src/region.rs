//! The memory of a pool: one aligned piece, taken once, every page touched.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::ptr::NonNull;

use crate::memory::Memory;
use crate::pages::{self, Mapping, Pages};

/// A piece of initialised memory that begins at a multiple of [`ALIGN_BYTES`].
///
/// It hands out pointers, never references: the pool decides which code may touch which bytes.
pub(crate) struct Region {
    base: NonNull<u8>,
    len_bytes: usize,
    origin: Origin,
    pages: Pages,
}

/// Where the memory came from, and goes back to.
enum Origin {
    Heap(Layout),
    /// Pages of its own, which go back when this is dropped.
    Mapped {
        _mapping: Mapping,
    },
}

impl Region {
    /// Takes `len_bytes` of zeroed memory and touches each page, so that no later access faults.
    /// `None` when the address space cannot hold it.
    ///
    /// # Panics
    /// When `len_bytes` is zero. Memory that the system refuses aborts, as for any allocation.
    pub(crate) fn new(len_bytes: usize, wants_huge_pages: bool) -> Option<Self> {
        assert_ne!(len_bytes, 0, "an empty region has no address");
        let layout = Layout::from_size_align(len_bytes, ALIGN_BYTES).ok()?;
        if wants_huge_pages && let Some((mapping, base, pages)) = pages::take(len_bytes) {
            touch(base, len_bytes);
            let pages = pages.unwrap_or_else(|| pages::found(base, len_bytes));
            return Some(Self {
                base,
                len_bytes,
                origin: Origin::Mapped { _mapping: mapping },
                pages,
            });
        }
        // SAFETY: the layout's size is not zero, as asserted above.
        let base = unsafe { alloc_zeroed(layout) };
        let base = NonNull::new(base).unwrap_or_else(|| handle_alloc_error(layout));
        touch(base, len_bytes);
        Some(Self { base, len_bytes, origin: Origin::Heap(layout), pages: Pages::Small })
    }
}

// SAFETY: the memory is zeroed, begins at a multiple of `ALIGN_BYTES`, and goes back in the drop; its
// address does not leave this value but by this trait.
unsafe impl Memory for Region {
    fn base(&self) -> NonNull<u8> {
        self.base
    }

    fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    fn taken_bytes(&self) -> usize {
        match self.origin {
            Origin::Heap(_) => self.len_bytes,
            // Whole pages, where it has pages of its own.
            Origin::Mapped { .. } => self.len_bytes.next_multiple_of(pages::HUGE_BYTES),
        }
    }

    fn pages(&self) -> Pages {
        self.pages
    }
}

// SAFETY: memory has no thread affinity.
unsafe impl Send for Region {}
// SAFETY: a reference to it only says where it lies.
unsafe impl Sync for Region {}

/// Writes to every page of fresh memory of `len_bytes`, which is zero.
fn touch(base: NonNull<u8>, len_bytes: usize) {
    for offset in (0..len_bytes).step_by(PAGE_BYTES) {
        // SAFETY: offset < len_bytes, so the byte lies in the memory, which no other code knows
        // yet.
        // Volatile, or the compiler drops a zero written over a zero.
        unsafe { base.add(offset).write_volatile(0) };
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        match self.origin {
            // SAFETY: `base` came from the allocator with this very layout, and is freed only here.
            Origin::Heap(layout) => unsafe { dealloc(self.base.as_ptr(), layout) },
            Origin::Mapped { .. } => {}
        }
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region").field("len_bytes", &self.len_bytes()).finish_non_exhaustive()
    }
}

/// A cache line, and the widest vector register.
pub(crate) const ALIGN_BYTES: usize = 64;
/// The smallest page of the machines that this runs on: touching more often does no harm.
const PAGE_BYTES: usize = 4096;
