//! The header that every packet starts with (`docs/protocol.md#2.2`).

use core::ops::BitOr;

use super::{HEADER_LEN, VERSION, WireError, field};
use crate::number::{Departure, SampleIndex, Seq, Tag};

/// The header of a packet; what `index` and `seq` name depends on `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// The type of the body.
    pub kind: PacketType,
    /// The flags.
    pub flags: Flags,
    /// The tag that the receiver of this packet chose, [`Tag::NONE`] before it has.
    pub tag: Tag,
    /// A sample index: of the first sample (DATA), the next (MARK), the consumer's (REPORT).
    pub index: SampleIndex,
    /// A number: of the packet (DATA), the next packet (MARK), the REPORT.
    pub seq: Seq,
    /// When the packet left, by its sender's clock.
    pub departure: Departure,
}

impl Header {
    /// The header's bytes.
    pub fn to_bytes(&self) -> [u8; HEADER_LEN] {
        self.to_bytes_in(VERSION)
    }

    /// The header's bytes in a version that another end speaks.
    pub(super) fn to_bytes_in(self, version: u8) -> [u8; HEADER_LEN] {
        debug_assert_eq!(self.flags.0 & Flags::RESERVED, 0, "the reserved flag is set");
        let mut bytes = [0; HEADER_LEN];
        bytes[at::KIND] = version << 4 | self.kind as u8;
        bytes[at::FLAGS] = self.flags.0;
        field::put_u32(&mut bytes, at::TAG, self.tag.0);
        field::put_u64(&mut bytes, at::INDEX, self.index);
        field::put_u32(&mut bytes, at::SEQ, self.seq.0);
        field::put_u32(&mut bytes, at::DEPARTURE, self.departure.0);
        bytes
    }

    /// Parses the header at the start of a packet, without a look at its CRC.
    ///
    /// # Errors
    /// When the bytes are too few, of another version or type, or have the reserved flag set.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        if bytes.len() < HEADER_LEN {
            return Err(WireError::TooShort { len: bytes.len() });
        }
        let version = bytes[at::KIND] >> 4;
        if version != VERSION {
            return Err(WireError::Version(version));
        }
        let number = bytes[at::KIND] & 0x0F;
        let kind = PacketType::from_number(number).ok_or(WireError::UnknownType(number))?;
        let flags = Flags(bytes[at::FLAGS]);
        if flags.0 & Flags::RESERVED != 0 {
            return Err(WireError::ReservedFlag(flags.0));
        }
        Ok(Self {
            kind,
            flags,
            tag: Tag(field::get_u32(bytes, at::TAG)),
            index: field::get_u64(bytes, at::INDEX),
            seq: Seq(field::get_u32(bytes, at::SEQ)),
            departure: Departure(field::get_u32(bytes, at::DEPARTURE)),
        })
    }
}

/// The type of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PacketType {
    /// Samples or metadata.
    Data = 0,
    /// The sender's state.
    Mark = 1,
    /// The receiver's state.
    Report = 2,
    /// A wish to open a stream.
    Open = 3,
    /// A cookie for an address that has not been proven.
    Challenge = 4,
    /// A stream is open.
    Accept = 5,
    /// A stream is not opened.
    Refuse = 6,
    /// An end of the stream.
    Close = 7,
    /// The end is known.
    CloseAck = 8,
}

impl PacketType {
    /// Every type, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::Data,
        Self::Mark,
        Self::Report,
        Self::Open,
        Self::Challenge,
        Self::Accept,
        Self::Refuse,
        Self::Close,
        Self::CloseAck,
    ];

    /// Its name in the specification.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "DATA",
            Self::Mark => "MARK",
            Self::Report => "REPORT",
            Self::Open => "OPEN",
            Self::Challenge => "CHALLENGE",
            Self::Accept => "ACCEPT",
            Self::Refuse => "REFUSE",
            Self::Close => "CLOSE",
            Self::CloseAck => "CLOSE_ACK",
        }
    }

    /// The type of a number, `None` for a reserved one.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// The flags of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0x00);
    /// The index was set on purpose: the first packet, or a jump.
    pub const START: Self = Self(0x01);
    /// The last packet of a burst; its last 8 bytes are the number of valid samples.
    pub const END_OF_BURST: Self = Self(0x02);
    /// Samples were lost at the source just before this packet.
    pub const OVERFLOW: Self = Self(0x04);
    /// Not the first departure of this seq.
    pub const RETRANSMISSION: Self = Self(0x08);
    /// The body of DATA is TLVs that apply at its index.
    pub const META: Self = Self(0x10);
    /// Report at once.
    pub const ASK: Self = Self(0x20);
    /// Sent by the end that opened the stream.
    pub const FROM_OPENER: Self = Self(0x80);

    /// The bit that must be zero.
    const RESERVED: u8 = 0x40;

    /// Whether every flag of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The flags of both.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These flags less those of `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

/// Where each field stands.
mod at {
    pub(super) const KIND: usize = 0;
    pub(super) const FLAGS: usize = 1;
    pub(super) const TAG: usize = 2;
    pub(super) const INDEX: usize = 6;
    pub(super) const SEQ: usize = 14;
    pub(super) const DEPARTURE: usize = 18;
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header {
        kind: PacketType::Refuse,
        flags: Flags(0xA9),
        tag: Tag(0x0102_0304),
        index: 0x1112_1314_1516_1718,
        seq: Seq(0x2122_2324),
        departure: Departure(0x3132_3334),
    };
    const BYTES: [u8; HEADER_LEN] = [
        0x16, 0xA9, 0x01, 0x02, 0x03, 0x04, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x21,
        0x22, 0x23, 0x24, 0x31, 0x32, 0x33, 0x34,
    ];

    #[test]
    fn header_is_these_bytes() {
        assert_eq!(HEADER.to_bytes(), BYTES);
        assert_eq!(Header::parse(&BYTES), Ok(HEADER));
        assert_eq!(Header::parse(&BYTES[..21]), Err(WireError::TooShort { len: 21 }));
    }

    #[test]
    fn reserved_version_type_and_flag_are_named() {
        let with = |at: usize, value: u8| {
            let mut bytes = BYTES;
            bytes[at] = value;
            Header::parse(&bytes)
        };
        assert_eq!(with(0, 0x26), Err(WireError::Version(2)));
        assert_eq!(with(0, 0x06), Err(WireError::Version(0)));
        assert_eq!(with(0, 0x19), Err(WireError::UnknownType(9)));
        assert_eq!(with(0, 0x1F), Err(WireError::UnknownType(15)));
        assert_eq!(with(1, 0xE9), Err(WireError::ReservedFlag(0xE9)));
    }

    #[test]
    fn types_have_the_numbers_of_the_specification() {
        for (number, kind) in PacketType::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, number);
        }
    }

    #[test]
    fn flags_combine_and_separate() {
        let flags = Flags::START | Flags::META;
        assert_eq!(flags, Flags(0x11));
        assert!(flags.contains(Flags::META) && !flags.contains(Flags::META | Flags::ASK));
        assert_eq!(flags.without(Flags::START | Flags::ASK), Flags::META);
    }

    #[test]
    fn flags_join_and_part_and_contain_all_or_nothing() {
        let both = Flags::START | Flags::META;
        assert_eq!(both, Flags(0x11));
        assert_eq!(both.union(Flags::META), both);
        assert_eq!(both.without(Flags::META), Flags::START);
        assert_eq!(Flags::START.without(Flags::META), Flags::START);
        assert!(both.contains(Flags::META) && !Flags::META.contains(both));
    }
}
