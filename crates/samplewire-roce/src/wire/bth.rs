//! The base transport header of every packet (IB 9.2).

use samplewire_proto::wire::field;

use super::{Opcode, WireError, at as frame_at};
use crate::number::{Psn, Qpn};

/// The fields of the header but the padding, which follows from the payload, and the transport
/// version, which is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bth {
    /// What the packet is.
    pub opcode: Opcode,
    /// SE: whether the packet requests a solicited event.
    pub solicited: bool,
    /// MigReq: the connection is in the state Migrated, as one without path migration always is
    /// (IB 9.2). A ConnectX takes packets without it on a slow path.
    pub migrated: bool,
    /// The partition's key.
    pub p_key: u16,
    /// Forward congestion notification.
    pub fecn: bool,
    /// Backward congestion notification.
    pub becn: bool,
    /// The queue pair that the packet is for.
    pub destination: Qpn,
    /// Whether the responder is to acknowledge.
    pub ack_request: bool,
    /// The number of a request, or of the request that a response answers.
    pub psn: Psn,
}

impl Bth {
    /// A header of the default partition without flags.
    pub const fn new(opcode: Opcode, destination: Qpn, psn: Psn) -> Self {
        Self {
            opcode,
            solicited: false,
            migrated: false,
            p_key: P_KEY_DEFAULT,
            fecn: false,
            becn: false,
            destination,
            ack_request: false,
            psn,
        }
    }

    /// The header of a frame that may fail every other check; `None` where it is cut off, or its
    /// opcode is not handled. For displays: what acts on frames reads them by
    /// [`Frame`](super::Frame).
    pub fn peek(frame: &[u8]) -> Option<Self> {
        Self::read(frame.get(frame_at::BTH..frame_at::BODY)?).ok()
    }

    pub(super) fn to_bytes(self, pad: u8) -> [u8; LEN] {
        let bit = |flag: bool, shift: u32| u8::from(flag) << shift;
        let mut bytes = [0; LEN];
        bytes[at::OPCODE] = self.opcode as u8;
        bytes[at::FLAGS] = bit(self.solicited, 7) | bit(self.migrated, 6) | pad << 4;
        field::put_u16(&mut bytes, at::P_KEY, self.p_key);
        field::put_u32(&mut bytes, at::DESTINATION, self.destination.get());
        bytes[at::DESTINATION] = bit(self.fecn, 7) | bit(self.becn, 6);
        field::put_u32(&mut bytes, at::PSN, self.psn.get());
        bytes[at::PSN] = bit(self.ack_request, 7);
        bytes
    }

    /// Reads a header; reserved bits are ignored, and padding and version are not looked at.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, WireError> {
        let number = bytes[at::OPCODE];
        let flag = |at: usize, bit: u8| bytes[at] & 1 << bit != 0;
        Ok(Self {
            opcode: Opcode::from_number(number).ok_or(WireError::Opcode(number))?,
            solicited: flag(at::FLAGS, 7),
            migrated: flag(at::FLAGS, 6),
            p_key: field::get_u16(bytes, at::P_KEY),
            fecn: flag(at::DESTINATION, 7),
            becn: flag(at::DESTINATION, 6),
            destination: Qpn::new(field::get_u32(bytes, at::DESTINATION)),
            ack_request: flag(at::PSN, 7),
            psn: Psn::new(field::get_u32(bytes, at::PSN)),
        })
    }
}

/// The padding that a header states.
pub(super) fn pad(bytes: &[u8]) -> u8 {
    bytes[at::FLAGS] >> 4 & 3
}

/// The transport version that a header states.
pub(super) fn version(bytes: &[u8]) -> u8 {
    bytes[at::FLAGS] & 0x0F
}

/// The key of the default partition (IB 10.9.1.2), the only one that is accepted.
pub const P_KEY_DEFAULT: u16 = 0xFFFF;

pub(super) const LEN: usize = 12;

/// Where each field stands.
mod at {
    pub(super) const OPCODE: usize = 0;
    pub(super) const FLAGS: usize = 1;
    pub(super) const P_KEY: usize = 2;
    pub(super) const DESTINATION: usize = 4;
    pub(super) const PSN: usize = 8;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_is_these_bytes() {
        let bth = Bth {
            opcode: Opcode::WriteLastImmediate,
            solicited: true,
            migrated: false,
            p_key: 0x8765,
            fecn: false,
            becn: true,
            destination: Qpn::new(0x01_0203),
            ack_request: true,
            psn: Psn::new(0xFE_DCBA),
        };
        let bytes = [0x09, 0xB0, 0x87, 0x65, 0x40, 0x01, 0x02, 0x03, 0x80, 0xFE, 0xDC, 0xBA];
        assert_eq!(bth.to_bytes(3), bytes);
        assert_eq!(Bth::read(&bytes), Ok(bth));
        assert_eq!((pad(&bytes), version(&bytes)), (3, 0));
        let other = Bth { solicited: false, migrated: true, fecn: true, becn: false, ..bth };
        assert_eq!(other.to_bytes(0)[1..5], [0x40, 0x87, 0x65, 0x80]);
    }

    /// IB 9.2: reserved bits are ignored at the receiver.
    #[test]
    fn reserved_bits_change_nothing() {
        let mut bytes = Bth::new(Opcode::SendOnly, Qpn::new(5), Psn::new(6)).to_bytes(0);
        let plain = Bth::read(&bytes);
        bytes[4] |= 0x3F;
        bytes[8] |= 0x7F;
        assert_eq!(Bth::read(&bytes), plain);
        bytes[0] = 0x24;
        assert_eq!(Bth::read(&bytes), Err(WireError::Opcode(0x24)), "unreliable connection");
    }
}
