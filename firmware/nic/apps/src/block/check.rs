//! The CRC-32C of a file in buffers, a packet at a time: frames are taken in between.

use samplewire_nic_driver::{Buffer, Bus};
use samplewire_proto::crc::crc32c_extend;

use super::PACKET_BYTES;

/// How far it is.
#[derive(Debug)]
pub(super) struct Check {
    bytes: u64,
    next: usize,
    done: u64,
    crc: u32,
}

impl Check {
    /// That of the first `bytes` bytes.
    pub(super) const fn new(bytes: u64) -> Self {
        Self { bytes, next: 0, done: 0, crc: 0 }
    }

    /// Adds a packet. The CRC when it was the last.
    pub(super) fn step<B: Bus>(&mut self, slots: &mut [Option<Buffer<B>>]) -> Option<u32> {
        let len = PACKET_BYTES.min(self.bytes - self.done) as usize;
        if len > 0 {
            // Only a packet that is sent has no buffer, and what is checked is not sent.
            let buffer = slots.get_mut(self.next)?.as_mut()?;
            let crc = self.crc;
            self.crc = buffer.frame(|frame| {
                crc32c_extend(crc, frame.get(PAYLOAD..PAYLOAD + len).unwrap_or(&[]))
            });
        }
        self.next += 1;
        self.done += len as u64;
        (self.done == self.bytes).then_some(self.crc)
    }
}

/// Where the payload of a frame with a transfer ID begins.
const PAYLOAD: usize = 23;
