//! Memory that the kernel and this process write frames into in turns (UMEM of AF_XDP).
//!
//! It is divided into frames of one length. A [`Frame`] is a value: its owner may read and write its bytes.
//! The kernel gets it when its address enters a ring, and this process gets it back with an address from
//! another ring.

use std::io;
use std::ptr::{NonNull, null_mut};
use std::sync::{Mutex, PoisonError};

/// Frames in one piece of memory.
#[derive(Debug)]
pub(crate) struct Umem {
    base: NonNull<u8>,
    len_bytes: usize,
    frame_bytes: usize,
    /// Frames that batches have given back.
    returned: Mutex<Vec<Frame>>,
}

/// A frame, by its place. It belongs to the owner of this value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame(u32);

impl Umem {
    /// Takes memory for frames of `frame_bytes`, which divides a page, and hands out all of them.
    ///
    /// # Errors
    /// The system has no memory.
    pub(crate) fn new(frames: usize, frame_bytes: usize) -> io::Result<(Self, Vec<Frame>)> {
        assert!(frame_bytes.is_power_of_two() && frames > 0, "frames divide pages");
        let len_bytes = frames * frame_bytes;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a mapping of its own, at an address that the kernel chooses.
        let base = unsafe { libc::mmap(null_mut(), len_bytes, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // Advice: without huge pages the memory is as good, and somewhat slower.
        // SAFETY: the range is the mapping's; the advice changes no content.
        let _ = unsafe { libc::madvise(base, len_bytes, libc::MADV_HUGEPAGE) };
        let base = NonNull::new(base.cast()).expect("a mapping does not begin at 0");
        let returned = Mutex::new(Vec::with_capacity(frames));
        let all = (0..frames as u32).map(Frame).collect();
        Ok((Self { base, len_bytes, frame_bytes, returned }, all))
    }

    /// Where it begins, for the kernel.
    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// How long it is.
    pub(crate) fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// How long a frame is.
    pub(super) fn frame_bytes(&self) -> usize {
        self.frame_bytes
    }

    /// The bytes of a frame.
    pub(crate) fn bytes<'a>(&'a self, frame: &'a Frame) -> &'a [u8] {
        // SAFETY: frames lie in the mapping, as only `new` and `frame_at` make them. The value is the
        // caller's, so the kernel does not write there, and no exclusive borrow of it exists.
        unsafe { std::slice::from_raw_parts(self.start_of(frame), self.frame_bytes) }
    }

    /// The bytes of a frame, to be written.
    pub(super) fn bytes_mut<'a>(&'a self, frame: &'a mut Frame) -> &'a mut [u8] {
        // SAFETY: as for `bytes`; the exclusive borrow of the value excludes all others of its bytes.
        unsafe { std::slice::from_raw_parts_mut(self.start_of(frame), self.frame_bytes) }
    }

    fn start_of(&self, frame: &Frame) -> *mut u8 {
        let offset_bytes = frame.0 as usize * self.frame_bytes;
        assert!(offset_bytes < self.len_bytes, "a frame of this memory");
        // SAFETY: the offset lies in the mapping, as checked.
        unsafe { self.base.as_ptr().add(offset_bytes) }
    }

    /// The address of a frame in a ring; the kernel has it from then on.
    pub(super) fn address(&self, frame: Frame) -> u64 {
        u64::from(frame.0) * self.frame_bytes as u64
    }

    /// The frame of an address that the kernel has put into a ring, and where in it the address points.
    ///
    /// # Panics
    /// When the address lies outside: the kernel answers only with addresses that it was given.
    pub(super) fn frame_at(&self, address: u64) -> (Frame, usize) {
        assert!(
            address < self.len_bytes as u64,
            "the kernel answers with addresses of this memory"
        );
        let place = address / self.frame_bytes as u64;
        (Frame(place as u32), (address % self.frame_bytes as u64) as usize)
    }

    /// Takes frames that a batch no longer shows.
    pub(crate) fn give_back(&self, frames: &mut Vec<Frame>) {
        // A panic of another holder cannot leave the list half changed.
        self.returned.lock().unwrap_or_else(PoisonError::into_inner).append(frames);
    }

    /// Moves the frames that were given back to the end of `frames`.
    pub(super) fn take_returned(&self, frames: &mut Vec<Frame>) {
        frames.append(&mut self.returned.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

// SAFETY: a mapping has no thread affinity; access to its bytes goes by values of `Frame`.
unsafe impl Send for Umem {}
// SAFETY: as above; the list has a lock.
unsafe impl Sync for Umem {}

impl Drop for Umem {
    fn drop(&mut self) {
        // SAFETY: the range came from mmap in one piece and goes back once. Sockets hold their own
        // references to its pages.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_apart_and_come_back_by_their_addresses() {
        let (umem, mut frames) = Umem::new(4, 2_048).unwrap();
        for (number, frame) in frames.iter_mut().enumerate() {
            umem.bytes_mut(frame).fill(number as u8);
        }
        assert!(frames.iter().enumerate().all(|(n, it)| umem.bytes(it) == [n as u8; 2_048]));
        let address = umem.address(frames.pop().unwrap());
        assert_eq!(umem.frame_at(address + 256), (Frame(3), 256));
        umem.give_back(&mut frames);
        assert!(frames.is_empty());
        umem.take_returned(&mut frames);
        assert_eq!(frames.len(), 3);
    }

    #[test]
    #[should_panic(expected = "addresses of this memory")]
    fn address_past_the_end_is_no_frame() {
        let (umem, _frames) = Umem::new(4, 2_048).unwrap();
        umem.frame_at(4 * 2_048);
    }
}
