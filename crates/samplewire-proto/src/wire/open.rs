//! OPEN: a wish to open a stream, or to learn what a device offers.

use super::{
    HEADER_LEN, Header, OPEN_LEN_MIN, PacketType, TRAILER_LEN, Tlvs, WireError, body_of,
    check_zero, field, seal,
};
use crate::number::Tag;

/// A wish to open a stream; the header's `index` is the start index (0 = at once), and its `seq`
/// the first seq if the opener sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open<'a> {
    /// The tag that the opener wants on every packet of the stream to it.
    pub tag: Tag,
    /// What the opener wants to do.
    pub role: Role,
    /// How the receiver delivers: 0 complete, 1 by a deadline, 2 best effort.
    pub delivery: u8,
    /// The device's number of the stream.
    pub stream: u16,
    /// Names this attempt.
    pub nonce: u64,
    /// Names the program that opens: the same owner may take its stream over.
    pub owner: u64,
    /// The cookie of a CHALLENGE, zero in the first OPEN.
    pub cookie: [u8; 16],
    /// How many packets the opener can take or hold.
    pub window: u32,
    /// The largest IP packet, headers included, that the opener can take.
    pub max_packet_bytes: u16,
    /// How many bytes the opener wishes between the header and the payload of DATA.
    pub pad: u8,
    /// The trailer that the opener wishes, 0 = CRC-32C.
    pub trailer_kind: u8,
    /// The deadline of delivery in microseconds, 0 when there is none.
    pub deadline_us: u32,
    /// Extensions.
    pub tlvs: Tlvs<'a>,
}

impl<'a> Open<'a> {
    /// Writes the whole packet, padded to `total_len` bytes, and returns its length.
    ///
    /// # Panics
    /// When `out` is shorter than `total_len`, `total_len` is below [`OPEN_LEN_MIN`] or too short
    /// for the TLVs, or `header` is of another type.
    pub fn emit(&self, header: &Header, total_len: usize, out: &mut [u8]) -> usize {
        assert!(total_len >= OPEN_LEN_MIN, "an OPEN of {total_len} bytes is too short");
        let body_len = total_len - HEADER_LEN - TRAILER_LEN;
        let body = body_of(PacketType::Open, header, body_len, out);
        field::put_u32(body, at::TAG, self.tag.0);
        body[at::ROLE] = self.role as u8;
        body[at::DELIVERY] = self.delivery;
        field::put_u16(body, at::STREAM, self.stream);
        field::put_u64(body, at::NONCE, self.nonce);
        field::put_u64(body, at::OWNER, self.owner);
        field::put(body, at::COOKIE, self.cookie);
        field::put_u32(body, at::WINDOW, self.window);
        field::put_u16(body, at::MAX_PACKET, self.max_packet_bytes);
        body[at::PAD] = self.pad;
        body[at::TRAILER_KIND] = self.trailer_kind;
        field::put_u32(body, at::DEADLINE, self.deadline_us);
        self.tlvs.write_to(&mut body[FIXED_LEN..]);
        seal(header, body_len, out)
    }

    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, WireError> {
        if body.len() < OPEN_LEN_MIN - HEADER_LEN - TRAILER_LEN {
            return Err(WireError::Length { kind: PacketType::Open, len: body.len() });
        }
        check_zero(PacketType::Open, field::get_u32(body, at::ZERO))?;
        let role = body[at::ROLE];
        Ok(Self {
            tag: Tag(field::get_u32(body, at::TAG)),
            role: Role::from_number(role).ok_or(WireError::Role(role))?,
            delivery: body[at::DELIVERY],
            stream: field::get_u16(body, at::STREAM),
            nonce: field::get_u64(body, at::NONCE),
            owner: field::get_u64(body, at::OWNER),
            cookie: field::get(body, at::COOKIE),
            window: field::get_u32(body, at::WINDOW),
            max_packet_bytes: field::get_u16(body, at::MAX_PACKET),
            pad: body[at::PAD],
            trailer_kind: body[at::TRAILER_KIND],
            deadline_us: field::get_u32(body, at::DEADLINE),
            tlvs: Tlvs::parse(&body[FIXED_LEN..])?,
        })
    }
}

/// What an opener wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Role {
    /// Learn the stream's parameters, without a stream.
    Describe = 0,
    /// Receive samples.
    Receive = 1,
    /// Send samples.
    Send = 2,
}

impl Role {
    /// The role of a number.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Describe),
            1 => Some(Self::Receive),
            2 => Some(Self::Send),
            _ => None,
        }
    }
}

/// What an OPEN of every version holds at the same place: enough to refuse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpenPrefix {
    /// The version of the OPEN.
    pub version: u8,
    /// The opener's tag.
    pub tag: Tag,
    /// The attempt.
    pub nonce: u64,
}

impl OpenPrefix {
    /// Reads the prefix of an OPEN of any version, `None` when the bytes are not one.
    ///
    /// The CRC is not checked: how another version guards its packets is not known.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let kind = bytes.first()? & 0x0F;
        if bytes.len() < OPEN_LEN_MIN || kind != PacketType::Open as u8 {
            return None;
        }
        let body = &bytes[HEADER_LEN..];
        Some(Self {
            version: bytes[0] >> 4,
            tag: Tag(field::get_u32(body, at::TAG)),
            nonce: field::get_u64(body, at::NONCE),
        })
    }
}

/// Where each field of the body stands.
mod at {
    pub(super) const TAG: usize = 0;
    pub(super) const ROLE: usize = 4;
    pub(super) const DELIVERY: usize = 5;
    pub(super) const STREAM: usize = 6;
    pub(super) const NONCE: usize = 8;
    pub(super) const OWNER: usize = 16;
    pub(super) const COOKIE: usize = 24;
    pub(super) const WINDOW: usize = 40;
    pub(super) const MAX_PACKET: usize = 44;
    pub(super) const PAD: usize = 46;
    pub(super) const TRAILER_KIND: usize = 47;
    pub(super) const DEADLINE: usize = 48;
    pub(super) const ZERO: usize = 52;
}

const FIXED_LEN: usize = 56;
