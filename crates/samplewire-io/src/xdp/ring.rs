//! The rings of an AF_XDP socket: one side writes entries, the other takes them, in memory that the
//! kernel maps (`Documentation/networking/af_xdp.rst`).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

/// A ring that this process writes into: fill, transmit.
#[derive(Debug)]
pub(super) struct Producer<T> {
    map: RingMap<T>,
    /// The next entry to write, and the first that the kernel had not taken at the last look.
    next: u32,
    taken: u32,
}

/// A ring that this process takes from: receive, completion.
#[derive(Debug)]
pub(super) struct Consumer<T> {
    map: RingMap<T>,
    /// The next entry to take, and the end of what the kernel had written at the last look.
    next: u32,
    written: u32,
}

impl<T: Copy> Producer<T> {
    pub(super) const fn new(map: RingMap<T>) -> Self {
        Self { map, next: 0, taken: 0 }
    }

    /// How many entries find room.
    pub(super) fn room(&mut self) -> u32 {
        // Acquire: the kernel's reads of an entry come before this process writes it again.
        self.taken = self.map.consumer().load(Ordering::Acquire);
        self.map.entries - self.next.wrapping_sub(self.taken)
    }

    /// Whether the kernel has taken every entry.
    pub(super) fn is_empty(&mut self) -> bool {
        self.room() == self.map.entries
    }

    /// Writes an entry, which the kernel sees after [`Producer::submit`].
    ///
    /// # Panics
    /// When there is no room.
    pub(super) fn push(&mut self, entry: T) {
        assert!(self.next.wrapping_sub(self.taken) < self.map.entries, "there is room");
        // SAFETY: the place lies in the ring, and is this process's until it is submitted.
        unsafe { self.map.entry(self.next).write(entry) };
        self.next = self.next.wrapping_add(1);
    }

    /// Lets the kernel take what was pushed.
    pub(super) fn submit(&self) {
        // Release: the entries and the frames behind them are written before the kernel reads them.
        self.map.producer().store(self.next, Ordering::Release);
    }

    /// Whether the kernel waits for a call before it looks.
    pub(super) fn needs_wakeup(&self) -> bool {
        // Relaxed: a flag alone. A call that was not needed does no harm, and a missed flag is seen at the next look.
        self.map.flags().load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

impl<T: Copy> Consumer<T> {
    pub(super) const fn new(map: RingMap<T>) -> Self {
        Self { map, next: 0, written: 0 }
    }

    /// Takes the next entry, if the kernel has written one. Its place is the kernel's again after
    /// [`Consumer::release`].
    pub(super) fn pop(&mut self) -> Option<T> {
        if self.next == self.written {
            // Acquire: the kernel's writes of entries, and of the frames behind them, come first.
            self.written = self.map.producer().load(Ordering::Acquire);
            if self.next == self.written {
                return None;
            }
        }
        // SAFETY: the place lies in the ring, the kernel has written it, and does not until the release.
        let entry = unsafe { self.map.entry(self.next).read() };
        self.next = self.next.wrapping_add(1);
        Some(entry)
    }

    /// Gives the places of what was taken back to the kernel.
    pub(super) fn release(&self) {
        // Release: the reads of the entries come before the kernel writes there again.
        self.map.consumer().store(self.next, Ordering::Release);
    }
}

/// A ring in memory of the kernel.
#[derive(Debug)]
pub(super) struct RingMap<T> {
    base: NonNull<u8>,
    len_bytes: usize,
    offsets: libc::xdp_ring_offset,
    entries: u32,
    _entry: std::marker::PhantomData<T>,
}

// SAFETY: the mapping is this value's alone, and no part of it depends on a thread.
unsafe impl<T: Send> Send for RingMap<T> {}

impl<T: Copy> RingMap<T> {
    /// Maps the ring at `page_offset` of a socket, which has so many entries, a power of two.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn new(
        socket: BorrowedFd<'_>,
        page_offset: u64,
        offsets: libc::xdp_ring_offset,
        entries: u32,
    ) -> io::Result<Self> {
        assert!(entries.is_power_of_two(), "places are found by a mask");
        let len_bytes = offsets.desc as usize + entries as usize * size_of::<T>();
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: a new mapping at an address of the kernel's choice; the kernel checks the length.
        let base = unsafe {
            let fd = socket.as_raw_fd();
            libc::mmap(null_mut(), len_bytes, protection, flags, fd, page_offset as libc::off_t)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).expect("a mapping does not begin at 0");
        Ok(Self { base, len_bytes, offsets, entries, _entry: std::marker::PhantomData })
    }

    fn producer(&self) -> &AtomicU32 {
        self.word(self.offsets.producer)
    }

    fn consumer(&self) -> &AtomicU32 {
        self.word(self.offsets.consumer)
    }

    fn flags(&self) -> &AtomicU32 {
        self.word(self.offsets.flags)
    }

    fn word(&self, offset: u64) -> &AtomicU32 {
        assert!(offset as usize + 4 <= self.len_bytes, "the kernel's offsets lie in its ring");
        // SAFETY: the word lies in the mapping, aligned by the kernel. Both sides access it as a whole
        // word, and this process in no other way.
        unsafe { AtomicU32::from_ptr(self.base.as_ptr().add(offset as usize).cast()) }
    }

    /// Where the entry of a running number lies.
    fn entry(&self, number: u32) -> *mut T {
        let place = (number & (self.entries - 1)) as usize;
        // SAFETY: the place is less than the number of entries, for which the mapping has room.
        unsafe {
            let start = self.base.as_ptr().add(self.offsets.desc as usize);
            start.cast::<T>().add(place)
        }
    }
}

impl<T> Drop for RingMap<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and no borrow of it is left.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len_bytes) };
    }
}
