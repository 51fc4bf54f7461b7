//! A packet, possibly truncated or damaged.

use samplewire_proto::wire::{self, HEADER_LEN, Header, Packet, VERSION, WireError};

use super::segments::is_sealed;

/// The decoded parts of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoded<'a> {
    /// The version and type number in the first byte, if there is one.
    pub(super) stated: Option<(u8, u8)>,
    /// The header, if its version is supported.
    pub(super) header: Option<Header>,
    pub(super) crc: Crc,
    pub(super) body: Result<Packet<'a>, Fault>,
    /// The packet's length in bytes.
    pub(super) len_bytes: usize,
}

/// The result of the CRC check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crc {
    /// The bytes are those that were sent.
    Right,
    /// The bytes are damaged, or are not a packet.
    Wrong,
    /// The CRC was not captured.
    Absent,
}

/// Why bytes are not a valid packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    /// The protocol forbids it.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The packet was not captured whole.
    #[error("{captured} of {len} bytes were captured")]
    Cut {
        /// Number of captured bytes.
        captured: usize,
        /// Length of the packet.
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

    /// The type number that it states.
    pub(super) fn type_number(&self) -> Option<u8> {
        self.stated.map(|(_, number)| number)
    }
}

impl Fault {
    /// The error's name in `vectors/README.md`; `Cut` for a truncated packet, which that file does
    /// not list.
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

/// The fields of the header. A packet with a reserved type or flag has the same layout; the layout
/// of another version is unknown (`docs/protocol.md#2.8`).
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
