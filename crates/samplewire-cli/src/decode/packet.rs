//! A packet, or what is left of one.

use samplewire_proto::wire::{self, HEADER_LEN, Header, Packet, VERSION, WireError};

use super::segments::is_sealed;

/// What is known of a packet's bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoded<'a> {
    /// The version and the number of the type that it states, where there is a first byte.
    pub(super) stated: Option<(u8, u8)>,
    /// The header, as far as this version's places hold.
    pub(super) header: Option<Header>,
    pub(super) crc: Crc,
    pub(super) body: Result<Packet<'a>, Fault>,
    /// The packet's length in bytes.
    pub(super) len_bytes: usize,
}

/// What the CRC tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crc {
    /// The bytes are those that were sent.
    Right,
    /// They are not, or never were a packet.
    Wrong,
    /// It was not captured.
    Absent,
}

/// Why bytes are no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    /// The protocol forbids it.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The capture did not keep all of it.
    #[error("{captured} of {len} bytes were captured")]
    Cut {
        /// How many bytes there are.
        captured: usize,
        /// How many there were.
        len: usize,
    },
}

impl<'a> Decoded<'a> {
    /// Decodes a packet of `len_bytes`, of which `bytes` were captured.
    pub(super) fn new(bytes: &'a [u8], len_bytes: usize) -> Self {
        let stated = bytes.first().map(|byte| (byte >> 4, byte & 0x0f));
        let captured = bytes.len();
        let (crc, body) = if captured < len_bytes {
            (Crc::Absent, Err(Fault::Cut { captured, len: len_bytes }))
        } else {
            let body = wire::parse(bytes).map(|(_, packet)| packet);
            let is_right = body.is_ok() || is_sealed(bytes);
            (if is_right { Crc::Right } else { Crc::Wrong }, body.map_err(Fault::Wire))
        };
        Self { stated, header: header(bytes), crc, body, len_bytes }
    }

    /// The number of the type that it states.
    pub(super) fn type_number(&self) -> Option<u8> {
        self.stated.map(|(_, number)| number)
    }
}

impl Fault {
    /// The error's name in `vectors/README.md`, `Cut` for what it does not know.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Wire(WireError::TooShort { .. }) => "TooShort",
            Self::Wire(WireError::Version(_)) => "Version",
            Self::Wire(WireError::UnknownType(_)) => "UnknownType",
            Self::Wire(WireError::ReservedFlag(_)) => "ReservedFlag",
            Self::Wire(WireError::Crc) => "Crc",
            Self::Wire(WireError::Length { .. }) => "Length",
            Self::Wire(WireError::Count { .. }) => "Count",
            Self::Wire(WireError::ReservedField { .. }) => "ReservedField",
            Self::Wire(WireError::Role(_)) => "Role",
            Self::Wire(WireError::Tlv { .. }) => "Tlv",
            Self::Cut { .. } => "Cut",
        }
    }
}

/// The header's fields. Those of a reserved type or with the reserved flag stand in the same
/// places; of another version nothing is known (`docs/protocol.md#2.8`).
fn header(bytes: &[u8]) -> Option<Header> {
    let mut header = *bytes.first_chunk::<HEADER_LEN>()?;
    if header[0] >> 4 != VERSION {
        return None;
    }
    let flags = header[1];
    header[1] &= !RESERVED_FLAG;
    let parsed = Header::parse(&header).or_else(|_| {
        header[0] &= 0xf0;
        Header::parse(&header)
    });
    parsed.ok().map(|mut parsed| {
        parsed.flags.0 = flags;
        parsed
    })
}

/// The bit of the flags that must be zero (`docs/protocol.md#2.3`).
pub(super) const RESERVED_FLAG: u8 = 0x40;
