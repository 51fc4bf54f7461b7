//! Wire formats: a frame of Ethernet, IPv4 and UDP around an InfiniBand packet.
//!
//! [`Frame::new_checked`] is the one place that checks a peer's bytes: the getters of a frame do
//! not fail. [`Packet::emit`] is canonical: a frame that was read and is written again has the same
//! bytes, except for padding, a UDP checksum, reserved bits and IPv4's DF, which is set. All numbers
//! are in network byte order but the ICRC. `vectors/roce.json` holds frames that an independent
//! program wrote.

mod aeth;
mod bth;
mod frame;
mod icrc;
mod opcode;
mod packet;
mod reth;
mod route;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;

pub use aeth::{Aeth, NakCode, RnrTimer, Syndrome};
pub use bth::{Bth, P_KEY_DEFAULT};
pub use frame::Frame;
pub use opcode::{Opcode, Operation};
pub(crate) use packet::request_frame_len;
pub use packet::{Body, Packet};
pub use reth::Reth;
pub use route::{Route, UDP_PORT};

/// Why bytes are not a RoCEv2 frame that this crate handles, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum WireError {
    /// Shorter than the headers and an ICRC.
    #[error("{len} bytes are too short for a frame with a base transport header")]
    TooShort {
        /// The length in bytes.
        len: usize,
    },
    /// Not IPv4: another protocol, or a VLAN tag.
    #[error("ether type {0:#06x} is not IPv4")]
    EtherType(u16),
    /// An IPv4 header of another version, or with options.
    #[error("an IPv4 header that begins with {0:#04x}, not with 0x45")]
    IpHeader(u8),
    /// The IPv4 header's total length does not fit the frame.
    #[error("an IPv4 length of {stated} in a frame with {captured} bytes after Ethernet's header")]
    IpLength {
        /// The length that it states.
        stated: u16,
        /// What there is.
        captured: usize,
    },
    /// A fragment: the ICRC covers whole packets.
    #[error("fragment {0:#06x}")]
    Fragment(u16),
    /// Not UDP.
    #[error("IP protocol {0} is not UDP")]
    Protocol(u8),
    /// The checksum of the IPv4 header is wrong.
    #[error("wrong IPv4 checksum")]
    IpChecksum,
    /// Another port than [`UDP_PORT`].
    #[error("UDP port {0} is not 4791")]
    Port(u16),
    /// UDP's length is not that of IPv4 less its header.
    #[error("a UDP length of {stated} in an IPv4 payload of {expected} bytes")]
    UdpLength {
        /// The length that it states.
        stated: u16,
        /// That of IPv4's payload.
        expected: u16,
    },
    /// A UDP checksum that is present and wrong.
    #[error("wrong UDP checksum")]
    UdpChecksum,
    /// Padding that the packet has no room for, or a length that is no multiple of 4 (IB 9.2).
    #[error("{len} bytes and {pad} of padding after a base transport header")]
    Padding {
        /// Bytes between header and ICRC.
        len: usize,
        /// The padding that the header states.
        pad: u8,
    },
    /// Another version of the transport (IB 9.2).
    #[error("transport version {0} is not 0")]
    TransportVersion(u8),
    /// The ICRC does not match: corrupted on the way (IB 7.8.1).
    #[error("wrong ICRC")]
    Icrc,
    /// An opcode of another service, or a response to a READ or an atomic.
    #[error("opcode {0:#04x} is not supported")]
    Opcode(u8),
    /// A packet that has no room for its headers, or bytes that its opcode does not have.
    #[error("{len} bytes after the base transport header do not fit {opcode:?}")]
    Length {
        /// The packet's opcode.
        opcode: Opcode,
        /// Bytes between header and ICRC, without padding.
        len: usize,
    },
}

impl WireError {
    /// Its name in `vectors/README.md`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::TooShort { .. } => "TooShort",
            Self::EtherType(_) => "EtherType",
            Self::IpHeader(_) => "IpHeader",
            Self::IpLength { .. } => "IpLength",
            Self::Fragment(_) => "Fragment",
            Self::Protocol(_) => "Protocol",
            Self::IpChecksum => "IpChecksum",
            Self::Port(_) => "Port",
            Self::UdpLength { .. } => "UdpLength",
            Self::UdpChecksum => "UdpChecksum",
            Self::Padding { .. } => "Padding",
            Self::TransportVersion(_) => "TransportVersion",
            Self::Icrc => "Icrc",
            Self::Opcode(_) => "Opcode",
            Self::Length { .. } => "Length",
        }
    }
}

/// The longest frame: a WRITE ONLY with immediate of [`PAYLOAD_BYTES_MAX`].
pub const FRAME_BYTES_MAX: usize =
    at::BODY + reth::LEN + IMMEDIATE_LEN + PAYLOAD_BYTES_MAX + icrc::LEN;

/// The longest payload of a packet: that of the longest path MTU.
pub const PAYLOAD_BYTES_MAX: usize = 4_096;

const IMMEDIATE_LEN: usize = 4;

/// Where each header of a frame stands.
mod at {
    pub(super) const IP: usize = 14;
    pub(super) const UDP: usize = 34;
    pub(super) const BTH: usize = 42;
    /// What follows depends on the opcode.
    pub(super) const BODY: usize = 54;
}
