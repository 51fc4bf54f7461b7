//! REFUSE: a stream is not opened; the same in all versions.

use super::{
    HEADER_LEN, Header, PacketType, VERSION, WireError, body_of, check_len, field, seal_written,
};

/// Why a stream is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Refuse {
    /// The nonce of the OPEN.
    pub nonce: u64,
    /// Why.
    pub reason: RefuseReason,
    /// The versions that the responder speaks: bit `n` is version `n`.
    pub versions: u16,
    /// After how many milliseconds another attempt makes sense, 0 = the answer will not change.
    pub retry_ms: u32,
}

impl Refuse {
    /// Writes the whole packet and returns its length.
    ///
    /// # Panics
    /// When `out` is too short or `header` is of another type.
    pub fn emit(&self, header: &Header, out: &mut [u8]) -> usize {
        self.emit_in_version(VERSION, header, out)
    }

    /// Writes the packet in the version that the opener spoke, so that it can read it.
    ///
    /// # Panics
    /// When `out` is too short, `header` is of another type, or `version` is above 15.
    pub fn emit_in_version(&self, version: u8, header: &Header, out: &mut [u8]) -> usize {
        assert!(version <= 0x0F, "version {version} does not fit its 4 bits");
        let body = body_of(PacketType::Refuse, header, BODY_LEN, out);
        field::put_u64(body, at::NONCE, self.nonce);
        field::put_u16(body, at::REASON, self.reason.number());
        field::put_u16(body, at::VERSIONS, self.versions);
        field::put_u32(body, at::RETRY, self.retry_ms);
        out[..HEADER_LEN].copy_from_slice(&header.to_bytes_in(version));
        seal_written(BODY_LEN, out)
    }

    pub(crate) fn parse(body: &[u8]) -> Result<Self, WireError> {
        check_len(PacketType::Refuse, body, BODY_LEN)?;
        Ok(Self {
            nonce: field::get_u64(body, at::NONCE),
            reason: RefuseReason::from_number(field::get_u16(body, at::REASON)),
            versions: field::get_u16(body, at::VERSIONS),
            retry_ms: field::get_u32(body, at::RETRY),
        })
    }
}

/// Why an OPEN is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefuseReason {
    /// Another owner has the stream.
    Busy,
    /// The device has no stream of that number.
    NoSuchStream,
    /// The stream goes the other way.
    Role,
    /// The samples of a packet do not fit the size that was proven.
    PacketSize,
    /// The responder does not speak the version.
    Version,
    /// The window is too small.
    Window,
    /// The device cannot give the samples as wished.
    Format,
    /// The delivery is not offered.
    Delivery,
    /// The trailer is not offered.
    Trailer,
    /// The start index has passed or is too far away.
    StartIndex,
    /// A number of a later version.
    Unknown(u16),
}

impl RefuseReason {
    /// The reason's number.
    pub const fn number(self) -> u16 {
        match self {
            Self::Busy => 1,
            Self::NoSuchStream => 2,
            Self::Role => 3,
            Self::PacketSize => 4,
            Self::Version => 5,
            Self::Window => 6,
            Self::Format => 7,
            Self::Delivery => 8,
            Self::Trailer => 9,
            Self::StartIndex => 10,
            Self::Unknown(number) => number,
        }
    }

    /// The reason of a number.
    pub const fn from_number(number: u16) -> Self {
        match number {
            1 => Self::Busy,
            2 => Self::NoSuchStream,
            3 => Self::Role,
            4 => Self::PacketSize,
            5 => Self::Version,
            6 => Self::Window,
            7 => Self::Format,
            8 => Self::Delivery,
            9 => Self::Trailer,
            10 => Self::StartIndex,
            other => Self::Unknown(other),
        }
    }
}

/// Where each field of the body stands.
mod at {
    pub(super) const NONCE: usize = 0;
    pub(super) const REASON: usize = 8;
    pub(super) const VERSIONS: usize = 10;
    pub(super) const RETRY: usize = 12;
}

const BODY_LEN: usize = 16;
