//! Several frames a call, by `sendmmsg` and `recvmmsg`, in memory that is taken once.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::null_mut;

/// Frames, and the headers by which the kernel reads or writes them.
///
/// Every pointer in a header is written by the call that uses it.
pub(in crate::ether::packet) struct Batch {
    bytes: Box<[u8]>,
    stride_bytes: usize,
    headers: Box<[libc::mmsghdr]>,
    parts: Box<[libc::iovec]>,
}

// SAFETY: the pointers in `headers` and `parts` are written and followed within one call of `send` or
// `receive`, which has the only reference; between calls no code follows them.
unsafe impl Send for Batch {}

impl Batch {
    /// Room for `frames_max` frames of `stride_bytes` each.
    pub(in crate::ether::packet) fn new(frames_max: usize, stride_bytes: usize) -> Self {
        Self {
            bytes: vec![0; frames_max * stride_bytes].into(),
            stride_bytes,
            headers: vec![HEADER; frames_max].into(),
            parts: vec![PART; frames_max].into(),
        }
    }

    /// Memory that it takes.
    pub(in crate::ether::packet) fn memory_bytes(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.headers) + size_of_val(&*self.parts)
    }

    /// How many frames it has room for.
    pub(in crate::ether::packet) fn frames_max(&self) -> usize {
        self.headers.len()
    }

    /// The longest frame that it has room for.
    pub(in crate::ether::packet) fn frame_bytes_max(&self) -> usize {
        self.stride_bytes
    }

    /// The place of a frame.
    pub(in crate::ether::packet) fn frame_mut(&mut self, number: usize) -> &mut [u8] {
        &mut self.bytes[number * self.stride_bytes..][..self.stride_bytes]
    }

    /// Sends the first bytes, `lens` many, of the frames from `first` on; how many were sent.
    ///
    /// # Errors
    /// The system's, which concerns the frame `first`; none was sent.
    pub(in crate::ether::packet) fn send(
        &mut self,
        socket: &OwnedFd,
        first: usize,
        lens: &[usize],
    ) -> io::Result<usize> {
        self.point(first, lens.iter().copied());
        // SAFETY: the first headers, as many as there are lengths, point to parts of `self`, which point
        // into `self.bytes`; all outlive the call, which reads them and writes only the headers' lengths.
        let answer = unsafe {
            let headers = self.headers.as_mut_ptr();
            libc::sendmmsg(socket.as_raw_fd(), headers, lens.len() as u32, FLAGS as _)
        };
        usize::try_from(answer).map_err(|_| io::Error::last_os_error())
    }

    /// Receives as many frames as there are, up to the room; how many. [`Batch::received`] has each.
    ///
    /// # Errors
    /// The system's; nothing was received.
    pub(in crate::ether::packet) fn receive(&mut self, socket: &OwnedFd) -> io::Result<usize> {
        let frames = self.frames_max();
        self.point(0, std::iter::repeat_n(self.stride_bytes, frames));
        // SAFETY: every header points to a part of `self`, and each part to its own place in
        // `self.bytes`, with its length; all outlive the call, which writes no more than that.
        let answer = unsafe {
            let (headers, flags) = (self.headers.as_mut_ptr(), FLAGS | libc::MSG_TRUNC);
            libc::recvmmsg(socket.as_raw_fd(), headers, frames as u32, flags as _, null_mut())
        };
        usize::try_from(answer).map_err(|_| io::Error::last_os_error())
    }

    /// A frame of the last [`Batch::receive`], as much of it as found room, and its whole length.
    pub(in crate::ether::packet) fn received(&self, number: usize) -> (&[u8], usize) {
        let len = self.headers[number].msg_len as usize;
        let bytes = &self.bytes[number * self.stride_bytes..][..len.min(self.stride_bytes)];
        (bytes, len)
    }

    /// Lets the headers point to frames from `first` on, of these lengths.
    fn point(&mut self, first: usize, lens: impl Iterator<Item = usize>) {
        let places = self.bytes[first * self.stride_bytes..].chunks_exact_mut(self.stride_bytes);
        let parts = self.parts.iter_mut().zip(&mut self.headers);
        for ((place, len), (part, header)) in places.zip(lens).zip(parts) {
            *part = libc::iovec { iov_base: place[..len].as_mut_ptr().cast(), iov_len: len };
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
        }
    }
}

/// A call never waits.
const FLAGS: libc::c_int = libc::MSG_DONTWAIT;

// SAFETY: all bytes zero are a valid header without name, parts and control message.
const HEADER: libc::mmsghdr = unsafe { std::mem::zeroed() };

const PART: libc::iovec = libc::iovec { iov_base: null_mut(), iov_len: 0 };
