//! Why terms do not make a stream.

use crate::number::SampleIndex;
use crate::out_of_range::{OutOfRange, WINDOW_RANGE};
use crate::wire::RdmaError;

/// A term out of its range, or two terms that contradict each other (`docs/protocol.md#3.12`).
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum TermsError {
    /// See [`WINDOW_MAX`](crate::stream::WINDOW_MAX).
    #[error("{}", OutOfRange("window", .0, WINDOW_RANGE))]
    Window(u32),
    /// The number of slots is not a power of two that holds the window.
    #[error("{slots} slots for a window of {window} packets: a power of two is needed")]
    Slots {
        /// Slots provided.
        slots: usize,
        /// Window in packets.
        window: u32,
    },
    /// A queue pair repeats until all has come.
    #[error("a stream over RDMA has complete delivery, and no other")]
    RdmaDelivery,
    /// A queue pair or slots that cannot be.
    #[error("stream over RDMA: {0}")]
    Rdma(#[from] RdmaError),
    /// The responder opened a stream over RDMA that was not requested.
    #[error("the stream is over RDMA, which was not requested")]
    RdmaUnasked,
    /// The responder receives, and does not say where.
    #[error("a stream over RDMA without the slots of its receiver")]
    RdmaNowhere,
    /// A receiver has a slot for each packet of its window.
    #[error("{slots} slots for a window of {window} packets: as many are needed")]
    RdmaSlots {
        /// Slots.
        slots: u32,
        /// Window in packets.
        window: u32,
    },
    /// A slot holds a full payload and its record.
    #[error("slots of {slot_bytes} bytes do not hold a payload of {payload_bytes} and its record")]
    RdmaSlotBytes {
        /// From slot to slot.
        slot_bytes: u32,
        /// Payload of a full packet.
        payload_bytes: u16,
    },
    /// DATA carries a multiple of 8 bytes.
    #[error("payload of {0} bytes is not a positive multiple of 8")]
    Payload(u16),
    /// The end of a burst would not fit a packet.
    #[error(
        "payload of {payload_bytes} bytes does not hold a sample of {frame_bytes} bytes and a \
         count of 8 bytes"
    )]
    PayloadTooSmall {
        /// Payload of a full packet.
        payload_bytes: u16,
        /// One sample of all channels.
        frame_bytes: u32,
    },
    /// See [`PAYLOAD_OFFSET_MAX`](crate::stream::PAYLOAD_OFFSET_MAX).
    #[error("{}", OutOfRange("payload offset", .0, "22 to 64 bytes"))]
    PayloadOffset(u8),
    /// More samples than bits of payload, or none.
    #[error("{0} samples a packet do not fit the payload")]
    PacketSamples(u32),
    /// Samples a packet, times the bytes of a sample, are not the payload.
    #[error(
        "{packet_samples} samples a packet of {frame_bytes} bytes are not the payload of \
         {payload_bytes} bytes"
    )]
    PayloadOfSamples {
        /// Samples of a full packet.
        packet_samples: u32,
        /// One sample of all channels.
        frame_bytes: u32,
        /// Payload of a full packet.
        payload_bytes: u16,
    },
    /// A sample has one channel at least.
    #[error("{}", OutOfRange("channels", .0, "1 to 65535"))]
    Channels(u16),
    /// A sample rate that is known has a denominator.
    #[error("a sample rate of {numerator}/{denominator} Hz is not a number")]
    Rate {
        /// The numerator, above 0.
        numerator: u64,
        /// The denominator.
        denominator: u32,
    },
    /// A frequency, bandwidth or gain is infinite or not a number, or a bandwidth is below 0.
    #[error("a {term} of {value} is not allowed: it must be finite, and a bandwidth at least 0")]
    Number {
        /// Which of them.
        term: &'static str,
        /// Its value, in hertz or decibels.
        value: f64,
    },
    /// A trailer that is not a CRC-32C.
    #[error("trailer kind {0} is not 0")]
    Trailer(u8),
    /// The end of a burst is padded to a part of the payload.
    #[error(
        "granularity of {granularity_bytes} bytes is not a multiple of 8 that divides the payload \
         of {payload_bytes} bytes"
    )]
    Granularity {
        /// The granularity.
        granularity_bytes: u16,
        /// Payload of a full packet.
        payload_bytes: u16,
    },
    /// The device has fewer streams.
    #[error("stream {stream} of a device of {streams} streams does not exist")]
    Stream {
        /// The stream's number, from 0.
        stream: u16,
        /// How many the device has.
        streams: u16,
    },
    /// See [`Terms::dead_after`](crate::stream::Terms::dead_after).
    #[error("dead after {0} ns: must be 400 ms to 15 s")]
    DeadAfter(u64),
    /// See [`Terms::idle_after`](crate::stream::Terms::idle_after).
    #[error("idle after {0} ns: must be 1 ms to a quarter of dead after")]
    IdleAfter(u64),
    /// See [`Terms::reorder_tolerance`](crate::stream::Terms::reorder_tolerance).
    #[error("reorder tolerance {0} units of 16 ns: must be 0 to 1 s")]
    ReorderTolerance(u32),
    /// See [`INDEX_MAX`](crate::number::INDEX_MAX).
    #[error("{}", OutOfRange("first index", .0, "0 to 2^63"))]
    FirstIndex(SampleIndex),
    /// A sender that takes no request repairs nothing.
    #[error("a sender that takes {0} ranges of a REPORT cannot repair")]
    Ranges(u16),
}

impl TermsError {
    /// The field of ACCEPT that is wrong, under the name of `vectors/README.md`; of several that
    /// contradict each other the one that is checked against the others.
    pub const fn field(&self) -> &'static str {
        match self {
            Self::Window(_) | Self::Slots { .. } => "window",
            Self::RdmaDelivery => "delivery",
            Self::Rdma(error) => error.field.name(),
            Self::RdmaUnasked => "queue_pair",
            Self::RdmaNowhere => "slots_tlv",
            Self::RdmaSlots { .. } => "slots",
            Self::RdmaSlotBytes { .. } => "slot_bytes",
            Self::Payload(_) | Self::PayloadTooSmall { .. } | Self::PayloadOfSamples { .. } => {
                "payload_bytes"
            }
            Self::PayloadOffset(_) => "payload_offset",
            Self::PacketSamples(_) => "packet_samples",
            Self::Channels(_) => "channels",
            Self::Rate { .. } => "rate_denominator",
            Self::Number { term, .. } => term,
            Self::Trailer(_) => "trailer_kind",
            Self::Granularity { .. } => "granularity_bytes",
            Self::Stream { .. } => "stream",
            Self::DeadAfter(_) => "dead_ms",
            Self::IdleAfter(_) => "idle_ms",
            Self::ReorderTolerance(_) => "reorder_tolerance",
            Self::FirstIndex(_) => "index",
            Self::Ranges(_) => "ranges_max",
        }
    }
}
