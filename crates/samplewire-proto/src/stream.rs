//! What both ends of an open stream agree on, and how a stream ends.

use core::fmt;

use crate::crc::Zeros;
use crate::number::{INDEX_MAX, Nanos, SampleIndex, Seq, Tag};
pub use crate::terms_error::TermsError;
use crate::wire::{CloseAckReason, CloseReason, HEADER_LEN, Header, Packet, RdmaError, record_at};

/// The terms of one stream as the opening settled them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The tag that this end chose; packets to it carry it.
    pub local_tag: Tag,
    /// The tag that the peer chose; packets from here carry it.
    pub peer_tag: Tag,
    /// Whether this end sent the OPEN (flag `from the opener`).
    pub is_opener: bool,
    /// The seq of the first packet.
    pub first_seq: Seq,
    /// The index of the first sample to come.
    pub first_index: SampleIndex,
    /// Samples in every packet that does not end a burst.
    pub packet_samples: u32,
    /// Payload bytes of such a packet, a multiple of 8.
    pub payload_bytes: u16,
    /// Where the payload starts, counted from the header's first byte: 22 to 64.
    pub payload_offset: u8,
    /// Packets that the ring of either end holds at most.
    pub window: u32,
    /// How much later a packet may arrive than one that departed after it, in 16 ns units: at most
    /// 1 s.
    pub reorder_tolerance: u32,
    /// A peer that is silent for this long is dead: 400 ms to 15 s.
    pub dead_after: Nanos,
    /// The longest silence of an idle sender: 1 ms to a quarter of `dead_after`.
    pub idle_after: Nanos,
    /// How many ranges of a REPORT the sender takes.
    pub ranges_max: u16,
    /// The round-trip time that the opening measured.
    pub rtt: Nanos,
    /// How packets of samples travel.
    pub carriage: Carriage,
}

/// How packets of samples travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carriage {
    /// As DATA.
    #[default]
    Data,
    /// As RDMA WRITEs into slots of the receiver (`docs/protocol.md#13`).
    Rdma,
}

impl Carriage {
    /// The names of the choices.
    pub const NAMES: [&str; 2] = ["data", "rdma"];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Rdma => "rdma",
        }
    }
}

/// A text that names no choice of [`Carriage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is neither data nor rdma")]
pub struct NoCarriage;

impl core::str::FromStr for Carriage {
    type Err = NoCarriage;

    fn from_str(text: &str) -> Result<Self, NoCarriage> {
        [Self::Data, Self::Rdma].into_iter().find(|it| it.name() == text).ok_or(NoCarriage)
    }
}

impl Terms {
    /// The longest silence of a peer that lives, losses apart (`docs/protocol.md#4.5`, `#4.8`).
    pub(crate) fn silence_max(&self) -> Nanos {
        self.idle_after.max(PAUSE_MAX)
    }

    /// Whether a packet says that the peer knows no such stream (`docs/protocol.md#7.6`). None comes
    /// from an opener.
    pub(crate) fn is_denied_by(&self, header: &Header, packet: &Packet<'_>) -> bool {
        let Packet::CloseAck(ack) = packet else { return false };
        self.is_opener
            && header.tag == Tag::NONE
            && ack.echoed_tag == self.peer_tag
            && ack.reason == CloseAckReason::UnknownTag
    }

    /// Over RDMA, the zeros between a full payload and its record.
    pub(crate) fn slot_pad(&self) -> Zeros {
        Zeros::new(match self.carriage {
            Carriage::Data => 0,
            Carriage::Rdma => record_at(self.payload_bytes) - usize::from(self.payload_bytes),
        })
    }

    /// Checks each term against its range and against the others (`docs/protocol.md#3.12`), and the
    /// storage of `slots` packets against the window.
    ///
    /// # Errors
    /// Names the first term that is out of range, with its value.
    pub const fn check(&self, slots: usize) -> Result<(), TermsError> {
        if let Err(error) = self.check_ranges() {
            return Err(error);
        }
        if !slots.is_power_of_two() || slots < self.window as usize || slots > WINDOW_MAX as usize {
            return Err(TermsError::Slots { slots, window: self.window });
        }
        Ok(())
    }

    /// As [`Terms::check`], for terms without storage.
    ///
    /// # Errors
    /// Names the first term that is out of range, with its value.
    pub(crate) const fn check_ranges(&self) -> Result<(), TermsError> {
        if self.window == 0 || self.window > WINDOW_MAX {
            return Err(TermsError::Window(self.window));
        }
        if self.payload_bytes == 0 || !self.payload_bytes.is_multiple_of(8) {
            return Err(TermsError::Payload(self.payload_bytes));
        }
        if (self.payload_offset as usize) < HEADER_LEN || self.payload_offset > PAYLOAD_OFFSET_MAX {
            return Err(TermsError::PayloadOffset(self.payload_offset));
        }
        if self.packet_samples == 0 || self.packet_samples > 8 * self.payload_bytes as u32 {
            return Err(TermsError::PacketSamples(self.packet_samples));
        }
        if self.dead_after.0 < DEAD_MIN.0 || self.dead_after.0 > DEAD_MAX.0 {
            return Err(TermsError::DeadAfter(self.dead_after.0));
        }
        if self.idle_after.0 < IDLE_MIN.0 || self.idle_after.0 > self.dead_after.0 / 4 {
            return Err(TermsError::IdleAfter(self.idle_after.0));
        }
        if self.reorder_tolerance > REORDER_TOLERANCE_MAX {
            return Err(TermsError::ReorderTolerance(self.reorder_tolerance));
        }
        if self.first_index > INDEX_MAX {
            return Err(TermsError::FirstIndex(self.first_index));
        }
        if self.ranges_max == 0 {
            return Err(TermsError::Ranges(self.ranges_max));
        }
        Ok(())
    }
}

/// The largest window in packets.
pub const WINDOW_MAX: u32 = 1 << 24;

/// In a smaller window credit is reported in larger steps (`docs/protocol.md#4.5`), and requested
/// later once all of it is used (`#4.8`).
pub(crate) const WINDOW_SMALL: u32 = 64;

/// The longest pause of REPORTs, and of MARKs of a sender that waits.
pub(crate) const PAUSE_MAX: Nanos = Nanos::from_millis(100);

/// The furthest that a payload may start behind the header's first byte.
pub const PAYLOAD_OFFSET_MAX: u8 = 64;

/// An end with nothing to say speaks every 100 ms; one lost packet must not be a death.
const DEAD_MIN: Nanos = Nanos::from_millis(400);

const IDLE_MIN: Nanos = Nanos::from_millis(1);

/// One second: a tolerance near half the wrap of departures would turn `settled` into the future.
const REORDER_TOLERANCE_MAX: u32 = 62_500_000;

/// Departures are sound over 34 s; a peer must be given up well before.
const DEAD_MAX: Nanos = Nanos::from_millis(15_000);

/// What a device that plays does when samples are not there in time (`docs/protocol.md#6.10`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Underflow {
    /// It plays zeros, keeps the grid, and drops what comes late.
    #[default]
    Zeros,
    /// It ends the stream.
    Stop,
}

impl Underflow {
    /// The number in an OPEN.
    pub const fn number(self) -> u8 {
        match self {
            Self::Zeros => 0,
            Self::Stop => 1,
        }
    }

    /// The underflow behaviour for a number in an OPEN; numbers of later versions mean zeros.
    pub const fn from_number(number: u8) -> Self {
        if number == 1 { Self::Stop } else { Self::Zeros }
    }
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The sender closed and everything up to its final index is accounted for.
    Finished {
        /// The first index after the stream.
        final_index: SampleIndex,
    },
    /// This end closed before the stream was over.
    Cancelled,
    /// The peer closed before the stream was over. At a receiver everything up to the sender's
    /// final index is accounted for.
    ClosedByPeer(CloseReason),
    /// The peer no longer knows the stream: it restarted, gave the stream to another, or received
    /// nothing from this end in time (`docs/protocol.md#3.14`, `#7.7`).
    PeerRestarted,
    /// Nothing was heard for the time after which a peer is dead.
    PeerSilent,
    /// More than half of all departures were repeats for ten intervals in a row.
    CircuitBreaker,
    /// The queue pair of a stream over RDMA failed at this end.
    QueuePairFailed,
    /// The peer broke a rule without which samples cannot be placed.
    Violation(Violation),
}

impl End {
    /// The end in words for people; `peer` names the other end: `the device fell silent`. The alternate
    /// form (`{:#}`) adds what can be done about it.
    pub const fn words<'a>(&'a self, peer: &'a str) -> EndWords<'a> {
        EndWords { end: self, peer }
    }
}

/// See [`End::words`].
#[derive(Clone, Copy, Debug)]
pub struct EndWords<'a> {
    end: &'a End,
    peer: &'a str,
}

impl fmt::Display for EndWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { end, peer } = self;
        match end {
            End::Finished { .. } => f.write_str("finished"),
            End::Cancelled => f.write_str("closed here"),
            End::ClosedByPeer(CloseReason::Finished | CloseReason::Cancelled) => {
                write!(f, "closed by {peer}")
            }
            End::ClosedByPeer(reason) => write!(f, "closed by {peer}: {reason}"),
            End::PeerRestarted => write!(
                f,
                "{peer} no longer knows the stream: it restarted, another took the stream over, or \
                 it received nothing from this end in time"
            ),
            End::PeerSilent => write!(f, "{peer} fell silent"),
            End::CircuitBreaker => {
                f.write_str("more than half of all packets were retransmissions for too long")
            }
            End::QueuePairFailed => f.write_str("the queue pair failed"),
            End::Violation(violation) => write!(f, "{peer} broke the protocol: {violation}"),
        }?;
        match end {
            _ if !f.alternate() => Ok(()),
            End::PeerRestarted | End::QueuePairFailed => f.write_str("; open the stream again"),
            End::PeerSilent => f.write_str(": is it powered, is the cable in?"),
            End::CircuitBreaker => f.write_str(": the path carries less than the stream needs"),
            _ => Ok(()),
        }
    }
}

/// The rules whose breach ends a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A packet's payload is neither full nor the end of a burst.
    #[error("packet {seq} carries {len_bytes} bytes of payload against {expected} agreed")]
    PayloadLength {
        /// The packet.
        seq: Seq,
        /// What it carries.
        len_bytes: usize,
        /// What was agreed.
        expected: u16,
    },
    /// A packet's index lies before the end of its predecessor.
    #[error("packet {seq} starts at index {index}, before {expected}")]
    IndexRetreats {
        /// The packet.
        seq: Seq,
        /// Its index.
        index: SampleIndex,
        /// The end of its predecessor.
        expected: SampleIndex,
    },
    /// The index jumps and no flag says why.
    #[error("packet {seq} jumps from index {expected} to {index} without a reason")]
    IndexJumps {
        /// The packet.
        seq: Seq,
        /// Its index.
        index: SampleIndex,
        /// The end of its predecessor.
        expected: SampleIndex,
    },
    /// The index jumps, with a flag that says why, further ahead than this end plays
    /// (`docs/protocol.md#6.10`).
    #[error("the index jumps from {expected} to {index}: {latest} is the latest that is played")]
    JumpTooFar {
        /// The index of the packet, or the final index.
        index: SampleIndex,
        /// The end of its predecessor.
        expected: SampleIndex,
        /// The latest index that a jump may lead to.
        latest: SampleIndex,
    },
    /// A packet's index lies beyond [`INDEX_MAX`].
    #[error("packet {seq} starts at index {index}, beyond 2^63")]
    IndexTooLarge {
        /// The packet.
        seq: Seq,
        /// Its index.
        index: SampleIndex,
    },
    /// A final index lies before the end of what was delivered.
    #[error("final index {final_index} lies before {expected}")]
    FinalIndexRetreats {
        /// The final index of CLOSE.
        final_index: SampleIndex,
        /// The end of what was delivered.
        expected: SampleIndex,
    },
    /// An end of burst claims more samples than fit.
    #[error("packet {seq} ends a burst with {samples} valid samples, more than it carries")]
    BurstLength {
        /// The packet.
        seq: Seq,
        /// What it claims.
        samples: u64,
    },
    /// A WRITE brings another packet than the next, or one without credit.
    #[error("a WRITE brings packet {seq}, the next is {expected} and credit ends at {limit}")]
    WriteOrder {
        /// The packet.
        seq: Seq,
        /// The next packet.
        expected: Seq,
        /// The first packet without credit.
        limit: Seq,
    },
    /// A WRITE is not as long as a packet and its record.
    #[error("the WRITE of packet {seq} has {len_bytes} bytes against {expected} agreed")]
    WriteLength {
        /// The packet.
        seq: Seq,
        /// Its length.
        len_bytes: u32,
        /// What was agreed.
        expected: u32,
    },
    /// The record of a packet has a number that cannot be.
    #[error("the record of packet {seq}: {error}")]
    Record {
        /// The packet.
        seq: Seq,
        /// Which number, and what it is.
        error: RdmaError,
    },
    /// The peer has sent a SEND, which no stream uses.
    #[error("a SEND came, where a WRITE of packet {expected} was to come")]
    NoWrite {
        /// The next packet.
        expected: Seq,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Terms that hold with 16 slots.
    fn terms() -> Terms {
        Terms {
            local_tag: Tag(1),
            peer_tag: Tag(2),
            is_opener: true,
            first_seq: Seq(0),
            first_index: 0,
            packet_samples: 1,
            payload_bytes: 8,
            payload_offset: 22,
            window: 16,
            reorder_tolerance: 0,
            dead_after: Nanos::from_millis(4_000),
            idle_after: Nanos::from_millis(1),
            ranges_max: 1,
            rtt: Nanos(0),
            carriage: Carriage::Data,
        }
    }

    fn check(change: impl FnOnce(&mut Terms)) -> Result<(), TermsError> {
        let mut terms = terms();
        change(&mut terms);
        terms.check(16)
    }

    /// `docs/protocol.md#3.12`
    #[test]
    fn terms_at_the_ends_of_their_ranges_hold_and_those_beyond_are_named() {
        let ms = Nanos::from_millis;
        assert_eq!(check(|_| ()), Ok(()));
        assert_eq!(check(|t| t.window = 0), Err(TermsError::Window(0)));
        assert_eq!(check(|t| t.window = 1), Ok(()));

        assert_eq!(check(|t| t.payload_bytes = 0), Err(TermsError::Payload(0)));
        assert_eq!(check(|t| t.payload_bytes = 12), Err(TermsError::Payload(12)));

        assert_eq!(check(|t| t.payload_offset = 21), Err(TermsError::PayloadOffset(21)));
        assert_eq!(check(|t| t.payload_offset = 64), Ok(()));
        assert_eq!(check(|t| t.payload_offset = 65), Err(TermsError::PayloadOffset(65)));

        assert_eq!(check(|t| t.packet_samples = 0), Err(TermsError::PacketSamples(0)));
        assert_eq!(check(|t| t.packet_samples = 64), Ok(()), "a bit each");
        assert_eq!(check(|t| t.packet_samples = 65), Err(TermsError::PacketSamples(65)));

        let below = ms(400) - Nanos(1);
        assert_eq!(check(|t| t.dead_after = below), Err(TermsError::DeadAfter(below.0)));
        assert_eq!(check(|t| t.dead_after = ms(400)), Ok(()));
        assert_eq!(check(|t| t.dead_after = ms(15_000)), Ok(()));
        let above = ms(15_000) + Nanos(1);
        assert_eq!(check(|t| t.dead_after = above), Err(TermsError::DeadAfter(above.0)));

        let below = ms(1) - Nanos(1);
        assert_eq!(check(|t| t.idle_after = below), Err(TermsError::IdleAfter(below.0)));
        assert_eq!(check(|t| t.idle_after = ms(1_000)), Ok(()), "a quarter of dead after");
        let above = ms(1_000) + Nanos(1);
        assert_eq!(check(|t| t.idle_after = above), Err(TermsError::IdleAfter(above.0)));

        assert_eq!(check(|t| t.reorder_tolerance = 62_500_000), Ok(()));
        let above = Err(TermsError::ReorderTolerance(62_500_001));
        assert_eq!(check(|t| t.reorder_tolerance = 62_500_001), above);

        assert_eq!(check(|t| t.first_index = 1 << 63), Ok(()));
        let above = (1 << 63) + 1;
        assert_eq!(check(|t| t.first_index = above), Err(TermsError::FirstIndex(above)));

        assert_eq!(check(|t| t.ranges_max = 0), Err(TermsError::Ranges(0)));
    }

    #[test]
    fn slots_that_are_no_power_of_two_or_do_not_hold_the_window_are_refused() {
        let holds = |window: u32, slots: usize| Terms { window, ..terms() }.check(slots);
        assert_eq!(holds(9, 16), Ok(()));
        assert_eq!(holds(9, 12), Err(TermsError::Slots { slots: 12, window: 9 }));
        assert_eq!(holds(9, 8), Err(TermsError::Slots { slots: 8, window: 9 }));
        assert_eq!(holds(8, 8), Ok(()));
        let most = WINDOW_MAX as usize;
        assert_eq!(holds(WINDOW_MAX, most), Ok(()));
        assert_eq!(holds(WINDOW_MAX + 1, 2 * most), Err(TermsError::Window(WINDOW_MAX + 1)));
        assert_eq!(holds(1, 2 * most), Err(TermsError::Slots { slots: 2 * most, window: 1 }));
    }
}
