//! CLOSE: one end ends the stream.

use core::fmt;

use super::{Header, PacketType, WireError, body_of, check_len, check_zero, field, seal};
use crate::number::Seq;

/// An end of the stream; the header's `index` and `seq` are final (from the sender), or the
/// consumer's position and what is released (from the receiver).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Close {
    /// Why.
    pub reason: CloseReason,
    /// From a sender the number of the newest REPORT that it took; from a receiver that of its last.
    pub last: Seq,
    /// How many samples the source lost in all, from a receiver as far as it has heard; from a
    /// device that plays, how many were not there when they were to be played.
    pub source_lost: u64,
}

impl Close {
    /// Writes the whole packet and returns its length.
    ///
    /// # Panics
    /// When `out` is too short or `header` is of another type.
    pub fn emit(&self, header: &Header, out: &mut [u8]) -> usize {
        let body = body_of(PacketType::Close, header, BODY_LEN, out);
        field::put_u16(body, at::REASON, self.reason.number());
        field::put_u32(body, at::LAST, self.last.0);
        field::put_u64(body, at::SOURCE_LOST, self.source_lost);
        seal(header, BODY_LEN, out)
    }

    pub(crate) fn parse(body: &[u8]) -> Result<Self, WireError> {
        check_len(PacketType::Close, body, BODY_LEN)?;
        check_zero(PacketType::Close, field::get_u16(body, at::ZERO).into())?;
        Ok(Self {
            reason: CloseReason::from_number(field::get_u16(body, at::REASON)),
            last: Seq(field::get_u32(body, at::LAST)),
            source_lost: field::get_u64(body, at::SOURCE_LOST),
        })
    }
}

/// Why a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// All that was to be sent has been sent, or enough has been received.
    Finished,
    /// The application gave up.
    Cancelled,
    /// The same owner opened the stream again.
    TakenOver,
    /// The device's source or sink failed.
    DeviceFault,
    /// The peer was silent for too long.
    PeerSilent,
    /// The peer broke the protocol.
    Protocol,
    /// Samples were not there when they were to be played, and the opener wished to stop then.
    Underflow,
    /// The index jumped further ahead than the device plays.
    JumpTooFar,
    /// The queue pair of a stream over RDMA failed.
    QueuePairFailed,
    /// A number of a later version.
    Unknown(u16),
}

impl CloseReason {
    /// The reason's number.
    pub const fn number(self) -> u16 {
        match self {
            Self::Finished => 0,
            Self::Cancelled => 1,
            Self::TakenOver => 2,
            Self::DeviceFault => 3,
            Self::PeerSilent => 4,
            Self::Protocol => 5,
            Self::Underflow => 6,
            Self::JumpTooFar => 7,
            Self::QueuePairFailed => 8,
            Self::Unknown(number) => number,
        }
    }

    /// The reason of a number.
    pub const fn from_number(number: u16) -> Self {
        match number {
            0 => Self::Finished,
            1 => Self::Cancelled,
            2 => Self::TakenOver,
            3 => Self::DeviceFault,
            4 => Self::PeerSilent,
            5 => Self::Protocol,
            6 => Self::Underflow,
            7 => Self::JumpTooFar,
            8 => Self::QueuePairFailed,
            other => Self::Unknown(other),
        }
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Finished => "finished",
            Self::Cancelled => "cancelled",
            Self::TakenOver => "taken over",
            Self::DeviceFault => "device fault",
            Self::PeerSilent => "peer silent",
            Self::Protocol => "protocol",
            Self::Underflow => "underflow",
            Self::JumpTooFar => "jump too far",
            Self::QueuePairFailed => "queue pair failed",
            Self::Unknown(number) => return write!(f, "reason {number}"),
        })
    }
}

/// Where each field of the body stands.
mod at {
    pub(super) const REASON: usize = 0;
    pub(super) const ZERO: usize = 2;
    pub(super) const LAST: usize = 4;
    pub(super) const SOURCE_LOST: usize = 8;
}

const BODY_LEN: usize = 16;
