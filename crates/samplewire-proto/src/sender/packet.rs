//! What goes into a sender and what comes out.

use crate::number::{SampleIndex, Seq};
use crate::stream::PAYLOAD_OFFSET_MAX;
use crate::wire::{Flags, TRAILER_LEN};

/// A packet that the caller wants sent.
#[derive(Clone, Copy, Debug)]
pub struct NewPacket {
    /// The index of its first sample.
    pub index: SampleIndex,
    /// `START`, `OVERFLOW`, `END_OF_BURST` or `META`, as they apply.
    pub flags: Flags,
    /// Valid samples, for an end of burst; otherwise the packet is full (META has none).
    pub burst_samples: u32,
    /// Payload bytes as they will be sent, padding included.
    pub len_bytes: u16,
    /// The CRC-32C of these bytes.
    pub payload_crc: u32,
}

/// Why a packet was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    /// Every slot of the window is held.
    #[error("the window of {0} packets is full")]
    Full(u32),
    /// The stream is closing or has ended.
    #[error("the stream takes no more packets")]
    Closed,
    /// The index lies before the end of the last packet.
    #[error("index {index} lies before {expected}")]
    IndexRetreats {
        /// The index given.
        index: SampleIndex,
        /// The end of the last packet.
        expected: SampleIndex,
    },
    /// The index jumps without `OVERFLOW` or `START`.
    #[error("index jumps from {expected} to {index} without a reason")]
    IndexJumps {
        /// The index given.
        index: SampleIndex,
        /// The end of the last packet.
        expected: SampleIndex,
    },
    /// The index lies beyond [`INDEX_MAX`](crate::number::INDEX_MAX).
    #[error("index {0} lies beyond 2^63")]
    IndexTooLarge(SampleIndex),
    /// More valid samples than the end of burst carries beside their count.
    #[error("{0} samples do not fit an end of burst beside their count")]
    BurstLength(u32),
    /// Neither the agreed payload nor the end of a burst.
    #[error("payload of {0} bytes does not fit the agreed form")]
    PayloadLength(u16),
}

/// Something to send.
#[derive(Clone, Copy, Debug)]
pub enum Transmit {
    /// DATA: the bytes are `head`, the payload of `seq`, `trailer`.
    Data(DataTransmit),
    /// A packet that was written whole into the caller's buffer.
    Control {
        /// Its length in bytes.
        len_bytes: usize,
    },
}

/// The parts of a DATA packet besides its payload.
#[derive(Clone, Copy, Debug)]
pub struct DataTransmit {
    /// Which packet: the payload stands where the caller put it when it pushed this seq.
    pub seq: Seq,
    /// Payload bytes.
    pub len_bytes: u16,
    pub(super) head: [u8; PAYLOAD_OFFSET_MAX as usize],
    pub(super) head_len: u8,
    /// The CRC over head and payload.
    pub trailer: [u8; TRAILER_LEN],
}

impl DataTransmit {
    /// Everything before the payload.
    pub fn head(&self) -> &[u8] {
        &self.head[..self.head_len as usize]
    }
}
