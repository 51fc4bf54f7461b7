//! CLOSE_ACK: the end is known, or the stream never was.

use super::{Header, PacketType, WireError, body_of, check_len, check_zero, field, seal};
use crate::number::Tag;

/// The answer to a CLOSE, or to a packet of no known stream; the header's `index` and `seq` are
/// final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CloseAck {
    /// What this answers.
    pub reason: CloseAckReason,
    /// The tag that the answered packet carried: only its sender can know it.
    pub echoed_tag: Tag,
    /// How many samples the source lost in all, from a receiver as far as it has heard; from a
    /// device that plays, how many were not there when they were to be played.
    pub source_lost: u64,
}

impl CloseAck {
    /// The length of the packet, header and CRC included.
    pub const PACKET_LEN: usize = super::HEADER_LEN + BODY_LEN + super::TRAILER_LEN;

    /// Writes the whole packet and returns its length.
    ///
    /// # Panics
    /// When `out` is too short or `header` is of another type.
    pub fn emit(&self, header: &Header, out: &mut [u8]) -> usize {
        let body = body_of(PacketType::CloseAck, header, BODY_LEN, out);
        field::put_u16(body, at::REASON, self.reason.number());
        field::put_u32(body, at::ECHOED_TAG, self.echoed_tag.0);
        field::put_u64(body, at::SOURCE_LOST, self.source_lost);
        seal(header, BODY_LEN, out)
    }

    pub(crate) fn parse(body: &[u8]) -> Result<Self, WireError> {
        check_len(PacketType::CloseAck, body, BODY_LEN)?;
        check_zero(PacketType::CloseAck, field::get_u16(body, at::ZERO).into())?;
        Ok(Self {
            reason: CloseAckReason::from_number(field::get_u16(body, at::REASON)),
            echoed_tag: Tag(field::get_u32(body, at::ECHOED_TAG)),
            source_lost: field::get_u64(body, at::SOURCE_LOST),
        })
    }
}

/// What a CLOSE_ACK answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseAckReason {
    /// A CLOSE: the stream has ended here too.
    Done,
    /// A packet whose tag names no stream here.
    UnknownTag,
    /// A number of a later version.
    Unknown(u16),
}

impl CloseAckReason {
    /// The reason's number.
    pub const fn number(self) -> u16 {
        match self {
            Self::Done => 0,
            Self::UnknownTag => 1,
            Self::Unknown(number) => number,
        }
    }

    /// The reason of a number.
    pub const fn from_number(number: u16) -> Self {
        match number {
            0 => Self::Done,
            1 => Self::UnknownTag,
            other => Self::Unknown(other),
        }
    }
}

/// Where each field of the body stands.
mod at {
    pub(super) const REASON: usize = 0;
    pub(super) const ZERO: usize = 2;
    pub(super) const ECHOED_TAG: usize = 4;
    pub(super) const SOURCE_LOST: usize = 8;
}

const BODY_LEN: usize = 16;
