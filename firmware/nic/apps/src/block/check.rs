//! The CRC-32C of a file in buffers, a packet at a time: frames are taken in between.

use samplewire_nic_driver::{Buffer, Bus, FRAME_OFFSET};

use super::PACKET_BYTES;

/// What computes a CRC-32C: the processor's registers, or on a host its software.
pub trait Crc32c {
    /// The CRC of some bytes and of the `bytes` behind them; `crc` is that of the former, 0 where there
    /// are none.
    fn extend(&mut self, crc: u32, bytes: &[u8]) -> u32;

    /// The same of the bytes of `words`, each from its lowest on.
    fn extend_words(&mut self, crc: u32, words: &[u32]) -> u32;
}

/// The state of a check. It adds packets in order while later ones still arrive.
#[derive(Debug)]
pub(super) struct Check {
    /// Bytes of the file, once all packets are there.
    bytes: Option<u64>,
    next: u32,
    done: u64,
    crc: u32,
}

impl Check {
    /// That of a file whose first packet has come.
    pub(super) const fn new() -> Self {
        Self { bytes: None, next: 0, done: 0, crc: 0 }
    }

    /// All packets of the file are there: it has `bytes` bytes. Packets that contradicted this have been
    /// replaced, so what was added with them does not count.
    pub(super) const fn complete(&mut self, bytes: u64) {
        if self.done > bytes {
            *self = Self::new();
        }
        self.bytes = Some(bytes);
    }

    /// Whether all packets are there.
    pub(super) const fn is_complete(&self) -> bool {
        self.bytes.is_some()
    }

    /// The packet that is next.
    pub(super) const fn next(&self) -> u32 {
        self.next
    }

    /// Adds the next packet, which is there. The CRC when it was the last.
    pub(super) fn step<B: Bus>(
        &mut self,
        slots: &mut [Option<Buffer<B>>],
        unit: &mut impl Crc32c,
    ) -> Option<u32> {
        let left = self.bytes.map_or(u64::MAX, |bytes| bytes - self.done);
        let len = PACKET_BYTES.min(left) as usize;
        if len > 0 {
            // Only a packet that is sent has no buffer, and what is checked is not sent.
            let buffer = slots.get_mut(self.next as usize)?.as_mut()?;
            self.crc = extend(self.crc, buffer, len, unit);
        }
        self.next += 1;
        self.done += len as u64;
        (self.bytes == Some(self.done)).then_some(self.crc)
    }
}

/// Adds the first `len` bytes of a packet's payload. The first is the last of a word: whole words follow,
/// which cost a processor as much as a byte each.
fn extend<B: Bus>(crc: u32, buffer: &mut Buffer<B>, len: usize, unit: &mut impl Crc32c) -> u32 {
    let (end, bytes) = (PAYLOAD + len, (PAYLOAD + len).next_multiple_of(4));
    let words_end = end / 4;
    let crc = buffer.units(bytes, |bytes: &mut [u8]| unit.extend(crc, &bytes[PAYLOAD..=PAYLOAD]));
    let crc = buffer.units(bytes, |words: &mut [u32]| {
        unit.extend_words(crc, &words[(PAYLOAD + 1) / 4..words_end])
    });
    buffer.units(bytes, |bytes: &mut [u8]| unit.extend(crc, &bytes[4 * words_end..end]))
}

/// Where the payload of a frame with a transfer ID begins in its buffer: the last byte of a word.
const PAYLOAD: usize = FRAME_OFFSET + 23;
const _: () = assert!(PAYLOAD % 4 == 3);
