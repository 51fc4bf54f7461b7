//! The memory of a pool: one aligned piece, taken once, every page touched.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::ptr::NonNull;

/// A piece of initialised memory that begins at a multiple of [`ALIGN_BYTES`].
///
/// It hands out pointers, never references: who may touch which bytes is the pool's matter.
pub(crate) struct Region {
    base: NonNull<u8>,
    layout: Layout,
}

impl Region {
    /// Takes `len_bytes` of zeroed memory and touches each page, so that no later access faults.
    /// `None` when the address space cannot hold it.
    ///
    /// # Panics
    /// When `len_bytes` is zero. Memory that the system refuses aborts, as for any allocation.
    pub(crate) fn new(len_bytes: usize) -> Option<Self> {
        assert_ne!(len_bytes, 0, "an empty region has no address");
        let layout = Layout::from_size_align(len_bytes, ALIGN_BYTES).ok()?;
        // SAFETY: the layout's size is not zero, as asserted above.
        let base = unsafe { alloc_zeroed(layout) };
        let base = NonNull::new(base).unwrap_or_else(|| handle_alloc_error(layout));
        for offset in (0..len_bytes).step_by(PAGE_BYTES) {
            // SAFETY: offset < len_bytes, so the byte lies in the allocation, which nobody else
            // knows yet. Volatile, or the compiler drops a zero written over a zero.
            unsafe { base.add(offset).write_volatile(0) };
        }
        Some(Self { base, layout })
    }

    /// The address of the byte at `offset_bytes`.
    ///
    /// # Panics
    /// When the offset lies beyond the region's end.
    pub(crate) fn at(&self, offset_bytes: usize) -> NonNull<u8> {
        assert!(offset_bytes <= self.layout.size(), "offset {offset_bytes} is outside the region");
        // SAFETY: the offset is at most the allocation's size, as asserted above.
        unsafe { self.base.add(offset_bytes) }
    }

    /// The size in bytes.
    pub(crate) fn len_bytes(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: `base` came from the allocator with this very layout, and is freed only here.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
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
