//! The choices of a receiver.

use crate::block::wire::{Header, MacAddress, TransferId};

/// The receiving end, for one transfer after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// The address of this end.
    pub local: MacAddress,
    /// The address of the sender. Default: that of the first frame that is taken.
    pub peer: Option<MacAddress>,
    /// Which types are taken. Default: those with a transfer ID.
    pub types: Types,
    /// Payload of each packet but the last, as the sender has chosen it. Default: 1,477 bytes, in
    /// transfers without ID 1,481.
    pub packet_bytes: Option<u16>,
    /// The longest transfer, 0 to 2^63 bytes. Packets beyond the bits of the memory are not taken
    /// either.
    pub bytes_max: u64,
}

/// Which types a receiver takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Types {
    /// 0x11 and 0x12: transfers in a row are kept apart, and a CRC covers the whole.
    #[default]
    WithId,
    /// 0x01 and 0x02, for other implementations.
    Plain,
    /// Both; a transfer has those of its first frame.
    Either,
}

impl ReceiverConfig {
    /// Transfers with an ID, of full packets, from any sender.
    pub const fn new(local: MacAddress, bytes_max: u64) -> Self {
        Self { local, peer: None, types: Types::WithId, packet_bytes: None, bytes_max }
    }

    /// Whether the choices are in range.
    ///
    /// # Errors
    /// The first choice that does not hold.
    pub const fn check(&self) -> Result<(), ReceiverConfigError> {
        let with_id = !matches!(self.types, Types::Plain);
        let longest = longest_packet(with_id);
        if let Some(packet_bytes) = self.packet_bytes
            && (packet_bytes == 0 || packet_bytes > longest)
        {
            return Err(ReceiverConfigError::PacketBytes { packet_bytes, longest });
        }
        if self.bytes_max > BYTES_MAX {
            return Err(ReceiverConfigError::BytesMax(self.bytes_max));
        }
        Ok(())
    }

    /// Whether frames with or without a transfer ID are taken.
    pub(super) const fn takes(&self, with_id: bool) -> bool {
        match self.types {
            Types::WithId => with_id,
            Types::Plain => !with_id,
            Types::Either => true,
        }
    }

    /// Payload of each packet but the last.
    pub(super) fn full_packet(&self, with_id: bool) -> u16 {
        self.packet_bytes.unwrap_or(longest_packet(with_id))
    }
}

/// A choice out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiverConfigError {
    /// See [`ReceiverConfig::packet_bytes`].
    #[error("packets of {packet_bytes} bytes: must be 1 to {longest}")]
    PacketBytes {
        /// The length given.
        packet_bytes: u16,
        /// The longest of the types.
        longest: u16,
    },
    /// See [`ReceiverConfig::bytes_max`].
    #[error("at most {0} bytes: must be 0 to 2^63")]
    BytesMax(u64),
}

const fn longest_packet(with_id: bool) -> u16 {
    let transfer = if with_id { Some(TransferId(0)) } else { None };
    let header = Header { destination: [0; 6], source: [0; 6], transfer };
    // Below 1,500.
    header.payload_bytes_max() as u16
}

/// Sums of offsets and lengths then fit 64 bits.
const BYTES_MAX: u64 = 1 << 63;
