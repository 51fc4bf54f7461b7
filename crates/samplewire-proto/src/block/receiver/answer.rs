//! The answer to a summary: which packets are missing.

use crate::block::ANSWER_FRAMES_MAX;
use crate::block::seq_set::SeqSet;
use crate::block::wire::{FRAME_BYTES_MAX, FRAME_BYTES_MIN, Header};

/// What is left of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// Those before it have been listed.
    next: u32,
    frames_left: u32,
    bytes_left: u64,
}

impl Answer {
    /// An answer of at most so many bytes, which are 60 at least: those of the summary.
    pub(super) fn new(bytes_max: u64) -> Self {
        debug_assert!(bytes_max >= FRAME_BYTES_MIN as u64, "a summary is a frame");
        Self { next: 0, frames_left: ANSWER_FRAMES_MAX, bytes_left: bytes_max }
    }

    /// Writes its next frame and returns the length, `None` when it is complete. `header` is that of
    /// the answer; packets up to `packets` that are not `present` are missing.
    pub(super) fn poll_transmit<S: AsRef<[u32]> + AsMut<[u32]>>(
        &mut self,
        header: &Header,
        present: &SeqSet<S>,
        packets: u32,
        out: &mut [u8],
    ) -> Option<usize> {
        if self.frames_left == 0 || self.bytes_left < FRAME_BYTES_MIN as u64 {
            return None;
        }
        let missing = present.absent(self.next, packets);
        missing.clone().next()?;
        let len_max = self.bytes_left.min(FRAME_BYTES_MAX as u64) as usize;
        let next = &mut self.next;
        let seqs = missing.take(header.seqs_in(len_max)).inspect(|seq| *next = seq + 1);
        let len = header.emit_missing(seqs, out);
        self.frames_left -= 1;
        self.bytes_left -= len as u64;
        Some(len)
    }
}
