//! The choices of a sender for one transfer.

use crate::block::pacing::Bursts;
use crate::block::wire::{Header, MacAddress, TransferId, is_group};

/// The sending end of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderConfig {
    /// The address of this end.
    pub local: MacAddress,
    /// The address of the receiver. Answers from others are rejected.
    pub peer: MacAddress,
    /// With it frames have types 0x11 to 0x13, without 0x01 to 0x03. It must differ from those of the
    /// transfers before: draw it.
    pub transfer: Option<TransferId>,
    /// Payload of each packet but the last: 1 to 1,477 bytes, without a transfer ID 1,481, which is
    /// the default. The receiver must have chosen the same.
    pub packet_bytes: u16,
    /// Pauses, for a receiver with a small FIFO. Default: none.
    pub bursts: Option<Bursts>,
}

impl SenderConfig {
    /// Full packets without pauses.
    pub const fn new(local: MacAddress, peer: MacAddress, transfer: Option<TransferId>) -> Self {
        let header = Header { destination: peer, source: local, transfer };
        // Below 1,500.
        let packet_bytes = header.payload_bytes_max() as u16;
        Self { local, peer, transfer, packet_bytes, bursts: None }
    }

    /// Whether the choices are in range.
    ///
    /// # Errors
    /// The first choice that does not hold.
    pub fn check(&self) -> Result<(), SenderConfigError> {
        if is_group(self.peer) {
            return Err(SenderConfigError::GroupPeer(self.peer));
        }
        let longest = self.header().payload_bytes_max() as u16;
        if self.packet_bytes == 0 || self.packet_bytes > longest {
            let packet_bytes = self.packet_bytes;
            return Err(SenderConfigError::PacketBytes { packet_bytes, longest });
        }
        if self.bursts.is_some_and(|bursts| bursts.frames == 0) {
            return Err(SenderConfigError::EmptyBursts);
        }
        Ok(())
    }

    /// The header of the sender's frames.
    pub(super) const fn header(&self) -> Header {
        Header { destination: self.peer, source: self.local, transfer: self.transfer }
    }
}

/// Why a transfer cannot begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SenderConfigError {
    /// See [`SenderConfig::peer`].
    #[error("peer {0:02x?}: must not be the address of a group")]
    GroupPeer(MacAddress),
    /// See [`SenderConfig::packet_bytes`].
    #[error("packets of {packet_bytes} bytes: must be 1 to {longest}")]
    PacketBytes {
        /// The length given.
        packet_bytes: u16,
        /// The longest of these frames.
        longest: u16,
    },
    /// See [`Bursts::frames`].
    #[error("bursts of 0 frames: must be 1 at least")]
    EmptyBursts,
    /// The bytes need more packets than there are seqs, 2^32 - 1.
    #[error("{bytes} bytes in packets of {packet_bytes}: must be 2^32 - 1 packets at most")]
    TooLong {
        /// The bytes given.
        bytes: u64,
        /// See [`SenderConfig::packet_bytes`].
        packet_bytes: u16,
    },
    /// The memory does not hold a bit for each packet.
    #[error("memory for {capacity} packets: must be {packets} at least")]
    Memory {
        /// The bits given.
        capacity: u32,
        /// The packets of the transfer.
        packets: u32,
    },
}
