//! What comes out of a receiver for its caller.

use crate::gap::Gap;
use crate::number::{SampleIndex, Seq};
use crate::wire::Flags;

/// What became of a DATA packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The payload belongs to `seq`: store it, without its head, before the next call.
    Store {
        /// Which packet.
        seq: Seq,
        /// Where its payload starts in the body that was handed over.
        payload_at: usize,
    },
    /// It is not needed: a duplicate, late, or refused. The counters show which.
    Ignore,
}

/// What is delivered next, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// The samples of a packet; `seq` names its payload.
    Packet {
        /// Which packet.
        seq: Seq,
        /// The index of its first sample.
        index: SampleIndex,
        /// How many samples are valid; 0 for META, whose payload is TLVs.
        samples: u32,
        /// The flags it was sent with.
        flags: Flags,
    },
    /// A packet that was given up: its place is free, its samples are in a gap that follows.
    Skipped {
        /// Which packet.
        seq: Seq,
    },
    /// Samples that are not delivered; they lie before the next packet.
    Gap(Gap),
}
