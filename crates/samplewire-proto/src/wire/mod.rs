//! Wire formats: every packet is a [`Header`], a body and a CRC-32C over both.
//!
//! [`parse`] is the one place that checks a peer's bytes: its result needs no further check of
//! lengths, counts or reserved values. Emission is canonical: parsing a packet and emitting it
//! again gives the same bytes, except for the contents of padding, which no reader uses. All
//! numbers are in network byte order. `docs/protocol.md` is the reference and
//! `vectors/packets.json` holds one packet of every kind, written by an independent program.

mod accept;
mod challenge;
mod close;
mod close_ack;
mod data;
pub mod field;
mod format;
mod header;
mod mark;
mod open;
mod rdma;
mod refuse;
mod report;
mod tlv;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;

pub use accept::Accept;
pub use challenge::Challenge;
pub use close::{Close, CloseReason};
pub use close_ack::{CloseAck, CloseAckReason};
pub use format::Format;
pub use header::{Flags, Header, PacketType};
pub use mark::Mark;
pub use open::{Open, OpenPrefix, Role};
pub use rdma::{
    QueuePairTerms, RECORD_LEN, RdmaError, RdmaField, RdmaOffer, SlotRecord, SlotRegion, record_at,
};
pub use refuse::{Refuse, RefuseReason};
pub use report::{Ranges, Report, ReportFields, SeqRange};
pub use tlv::{TlvIter, TlvKind, TlvWriter, Tlvs};

use crate::crc::crc32c;

/// A packet's body, borrowed from the bytes it was parsed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet<'a> {
    /// Samples, or TLVs when the header says [`Flags::META`]: the bytes between header and CRC.
    Data(&'a [u8]),
    /// The sender's state.
    Mark(Mark),
    /// The receiver's state.
    Report(Report<'a>),
    /// A wish to open a stream.
    Open(Open<'a>),
    /// A cookie for an address that has not been proven.
    Challenge(Challenge),
    /// A stream is open.
    Accept(Accept<'a>),
    /// A stream is not opened.
    Refuse(Refuse),
    /// An end of the stream.
    Close(Close),
    /// The end is known.
    CloseAck(CloseAck),
}

/// Why bytes are not a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum WireError {
    /// Shorter than a header and a CRC.
    #[error("{len} bytes are too short for a packet")]
    TooShort {
        /// The length in bytes.
        len: usize,
    },
    /// Another version of the protocol.
    #[error("version {0} is not {VERSION}")]
    Version(u8),
    /// A reserved packet type.
    #[error("packet type {0} is reserved")]
    UnknownType(u8),
    /// The reserved flag is set.
    #[error("flags {0:#04x} have the reserved bit set")]
    ReservedFlag(u8),
    /// The CRC does not match: corrupted on the way, or not our protocol.
    #[error("crc mismatch")]
    Crc,
    /// A body of a length that its type cannot have.
    #[error("a body of {len} bytes does not fit {kind:?}")]
    Length {
        /// The packet's type.
        kind: PacketType,
        /// The body's length in bytes.
        len: usize,
    },
    /// A REPORT whose count of ranges does not match its length.
    #[error("{n} ranges do not fit a body of {len} bytes")]
    Count {
        /// The count it states.
        n: u16,
        /// The body's length in bytes.
        len: usize,
    },
    /// A field that must be zero is not.
    #[error("a reserved field of {kind:?} is {value:#x}")]
    ReservedField {
        /// The packet's type.
        kind: PacketType,
        /// What the field holds.
        value: u32,
    },
    /// An OPEN with a role that does not exist.
    #[error("role {0} does not exist")]
    Role(u8),
    /// A TLV that reaches past the end of its packet.
    #[error("tlv {kind} of {len} bytes reaches past its packet")]
    Tlv {
        /// The kind it states.
        kind: u16,
        /// The length of value it states, or the bytes present when even that is cut off.
        len: usize,
    },
}

/// Parses and checks one packet, the cheapest checks first.
///
/// # Errors
/// A [`WireError`] when the bytes are not a packet of this version; the caller drops and counts.
pub fn parse(bytes: &[u8]) -> Result<(Header, Packet<'_>), WireError> {
    if bytes.len() < HEADER_LEN + TRAILER_LEN {
        return Err(WireError::TooShort { len: bytes.len() });
    }
    let header = Header::parse(bytes)?;
    let (covered, trailer) = bytes.split_at(bytes.len() - TRAILER_LEN);
    if field::get_u32(trailer, 0) != crc32c(covered) {
        return Err(WireError::Crc);
    }
    let body = &covered[HEADER_LEN..];
    let packet = match header.kind {
        // The usual packet returns at once: a copy has the size of the largest.
        PacketType::Data => return Ok((header, Packet::Data(data::parse(body)?))),
        PacketType::Mark => Packet::Mark(Mark::parse(body)?),
        PacketType::Report => Packet::Report(Report::parse(body)?),
        PacketType::Open => Packet::Open(Open::parse(body)?),
        PacketType::Challenge => Packet::Challenge(Challenge::parse(body)?),
        PacketType::Accept => Packet::Accept(Accept::parse(body)?),
        PacketType::Refuse => Packet::Refuse(Refuse::parse(body)?),
        PacketType::Close => Packet::Close(Close::parse(body)?),
        PacketType::CloseAck => Packet::CloseAck(CloseAck::parse(body)?),
    };
    Ok((header, packet))
}

/// Writes header and CRC around a body that stands at `out[HEADER_LEN..][..body_len]`, and
/// returns the packet's length.
///
/// # Panics
/// When `out` is shorter than the packet.
pub fn seal(header: &Header, body_len: usize, out: &mut [u8]) -> usize {
    out[..HEADER_LEN].copy_from_slice(&header.to_bytes());
    seal_written(body_len, out)
}

/// As [`seal`], for a header that stands in `out` too.
fn seal_written(body_len: usize, out: &mut [u8]) -> usize {
    let covered = HEADER_LEN + body_len;
    let crc = crc32c(&out[..covered]);
    field::put_u32(out, covered, crc);
    covered + TRAILER_LEN
}

/// The place of a body of `len` bytes in `out`, zeroed; `header` must be of type `kind`.
fn body_of<'a>(kind: PacketType, header: &Header, len: usize, out: &'a mut [u8]) -> &'a mut [u8] {
    assert_eq!(header.kind, kind, "the header is of another type than the body");
    let body = &mut out[HEADER_LEN..HEADER_LEN + len];
    body.fill(0);
    body
}

/// Whether a fixed body has exactly its length.
fn check_len(kind: PacketType, body: &[u8], expected: usize) -> Result<(), WireError> {
    let len = body.len();
    if len == expected { Ok(()) } else { Err(WireError::Length { kind, len }) }
}

/// Whether a field that must be zero is.
fn check_zero(kind: PacketType, value: u32) -> Result<(), WireError> {
    if value == 0 { Ok(()) } else { Err(WireError::ReservedField { kind, value }) }
}

/// The version of the protocol that this code speaks.
pub const VERSION: u8 = 1;
/// The length of the header in bytes: the payload starts at byte 64 of an untagged IPv4 frame.
pub const HEADER_LEN: usize = 22;
/// The length of the CRC at the end of a packet in bytes.
pub const TRAILER_LEN: usize = 4;
/// The length of the shortest OPEN in bytes, header and CRC included: an answer to an address
/// that has not been proven is never longer than what came from there.
pub const OPEN_LEN_MIN: usize = 128;
/// The trailer kind of this version: CRC-32C.
pub const TRAILER_CRC32C: u8 = 0;
