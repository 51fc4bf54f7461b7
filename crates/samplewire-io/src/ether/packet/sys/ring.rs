//! The receive ring of AF_PACKET (TPACKET_V3): memory that the kernel writes frames into, a block of
//! them at a time.

use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::sockopt;

/// The ring of a socket. A block passes to this process when it is full, or after
/// [`RETIRE_MS`], and back to the kernel when its last frame has been taken.
#[derive(Debug)]
pub(in crate::ether::packet) struct Ring {
    base: NonNull<u8>,
    /// The block whose frames are taken, or the next one.
    block: usize,
    /// Whether that block is this process's.
    is_held: bool,
    /// Frames of it that have not been taken, and where the next one's header begins in it.
    left: u32,
    next: usize,
}

// SAFETY: the mapping is this value's alone, and no part of it depends on a thread.
unsafe impl Send for Ring {}

impl Ring {
    /// Gives a socket that is not yet bound a ring.
    pub(in crate::ether::packet) fn new(socket: &OwnedFd) -> io::Result<Self> {
        let version = libc::tpacket_versions::TPACKET_V3 as i32;
        sockopt::set(socket, libc::SOL_PACKET, libc::PACKET_VERSION, version)?;
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: BLOCKS as u32,
            tp_frame_size: FRAME_BYTES as u32,
            tp_frame_nr: (BLOCKS * BLOCK_BYTES / FRAME_BYTES) as u32,
            tp_retire_blk_tov: RETIRE_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        let len_bytes = size_of_val(&request) as libc::socklen_t;
        // SAFETY: the pointer covers `request`, whose length is given; the kernel copies it.
        super::check(unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_RX_RING,
                (&raw const request).cast(),
                len_bytes,
            )
        })?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; the kernel checks that its length
        // is that of the ring.
        let base = unsafe {
            let (fd, kind) = (socket.as_raw_fd(), libc::MAP_SHARED);
            libc::mmap(null_mut(), Self::BYTES, protection, kind, fd, 0)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).expect("a mapping does not begin at 0");
        Ok(Self { base, block: 0, is_held: false, left: 0, next: 0 })
    }

    /// Memory that the ring takes.
    pub(in crate::ether::packet) const BYTES: usize = BLOCKS * BLOCK_BYTES;

    /// The next frame and its whole length, if the kernel has passed one on. The bytes may be fewer.
    pub(in crate::ether::packet) fn next(&mut self) -> Option<(&[u8], usize)> {
        // A block without frames is passed on by no kernel; it would cost a round.
        for _ in 0..BLOCKS {
            if self.left > 0 {
                return Some(self.take());
            }
            if self.is_held {
                // Release: the reads of its frames come before the kernel's writes.
                self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
                self.is_held = false;
                self.block = (self.block + 1) % BLOCKS;
            }
            // Acquire: the kernel's writes of the block come before the reads of its frames.
            if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return None;
            }
            let at = offset_of!(libc::tpacket_block_desc, hdr);
            let header: libc::tpacket_hdr_v1 = self.read(at);
            self.is_held = true;
            self.left = header.num_pkts;
            self.next = header.offset_to_first_pkt as usize;
        }
        None
    }

    /// Takes a frame of the block that is held, in which one is left.
    fn take(&mut self) -> (&[u8], usize) {
        let header: libc::tpacket3_hdr = self.read(self.next);
        let start = self.next + usize::from(header.tp_mac);
        let len = header.tp_snaplen as usize;
        assert!(start + len <= BLOCK_BYTES, "the kernel writes frames into their block");
        self.left -= 1;
        self.next += header.tp_next_offset as usize;
        // SAFETY: the bytes lie in the block, as checked above. It is this process's until the next call,
        // for which the borrow ends: the kernel writes none of it.
        let bytes = unsafe {
            let block = self.base.as_ptr().add(self.block * BLOCK_BYTES);
            std::slice::from_raw_parts(block.add(start), len)
        };
        (bytes, header.tp_len as usize)
    }

    /// Reads a header of the present block, which is this process's.
    fn read<T: Copy>(&self, at: usize) -> T {
        assert!(at + size_of::<T>() <= BLOCK_BYTES, "the kernel writes headers into their block");
        // SAFETY: the header lies in the block, as checked above, and the kernel does not write there
        // while the block is this process's. Any bytes are valid numbers.
        unsafe {
            let block = self.base.as_ptr().add(self.block * BLOCK_BYTES);
            block.add(at).cast::<T>().read_unaligned()
        }
    }

    /// Who has the present block.
    fn status(&self) -> &AtomicU32 {
        const AT: usize = offset_of!(libc::tpacket_block_desc, hdr)
            + offset_of!(libc::tpacket_hdr_v1, block_status);
        // SAFETY: the word lies in the mapping, aligned, as blocks begin at pages. Both sides access it
        // as a whole word, and this process in no other way.
        unsafe {
            let word = self.base.as_ptr().add(self.block * BLOCK_BYTES + AT);
            AtomicU32::from_ptr(word.cast())
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and no borrow of it is left.
        unsafe { libc::munmap(self.base.as_ptr().cast(), Self::BYTES) };
    }
}

/// Two pages at least, and some 160 full frames.
const BLOCK_BYTES: usize = 256 << 10;

/// 32 MiB: 25 ms of 10 Gb/s.
const BLOCKS: usize = 128;

/// The kernel divides a block as it likes; it asks for a number that divides the block.
const FRAME_BYTES: usize = 2_048;

/// How long a frame waits for others of its block. The least that the kernel takes.
const RETIRE_MS: u32 = 1;
