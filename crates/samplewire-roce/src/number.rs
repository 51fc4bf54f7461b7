//! The numbers of a connection, each a type of its own because it wraps or has few values.

use core::fmt;
use core::ops::Add;

/// A packet sequence number: 24 bits in serial arithmetic (IB 9.7). Comparisons hold over half of
/// the number space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Psn(u32);

impl Psn {
    /// The low 24 bits of a number.
    pub const fn new(number: u32) -> Self {
        Self(number & U24_MAX)
    }

    /// As a number below 2^24.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The signed distance from `other` to `self`, from -2^23 to 2^23 - 1.
    pub const fn distance(self, other: Self) -> i32 {
        // The 24 bits stand at the top, so that the sign is theirs.
        (self.0.wrapping_sub(other.0) << 8) as i32 >> 8
    }

    /// How many packets from `first` up to `self`, below 2^24.
    pub const fn after(self, first: Self) -> u32 {
        self.0.wrapping_sub(first.0) & U24_MAX
    }
}

impl Add<u32> for Psn {
    type Output = Self;
    fn add(self, packets: u32) -> Self {
        Self::new(self.0.wrapping_add(packets))
    }
}

impl fmt::Display for Psn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a queue pair, 24 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Qpn(u32);

impl Qpn {
    /// The low 24 bits of a number.
    pub const fn new(number: u32) -> Self {
        Self(number & U24_MAX)
    }

    /// As a number below 2^24.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Qpn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The payload of a full packet. Both ends of a connection have the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PathMtu {
    /// 256 bytes.
    Bytes256,
    /// 512 bytes.
    Bytes512,
    /// 1,024 bytes, which fits an Ethernet MTU of 1,500.
    #[default]
    Bytes1024,
    /// 2,048 bytes.
    Bytes2048,
    /// 4,096 bytes.
    Bytes4096,
}

impl PathMtu {
    /// Every size, ascending.
    pub const ALL: [Self; 5] =
        [Self::Bytes256, Self::Bytes512, Self::Bytes1024, Self::Bytes2048, Self::Bytes4096];

    /// In bytes.
    pub const fn bytes(self) -> u32 {
        256 << self as u32
    }

    /// The MTU of that many bytes, `None` where there is none.
    pub fn from_bytes(bytes: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|mtu| mtu.bytes() == bytes)
    }

    /// The packets of a message: one for an empty one too (IB 9.7).
    pub const fn packets(self, len_bytes: u32) -> u32 {
        if len_bytes == 0 { 1 } else { len_bytes.div_ceil(self.bytes()) }
    }
}

/// The longest message, 2^31 bytes (IB 9.7.7).
pub const MESSAGE_BYTES_MAX: u32 = 1 << 31;

pub(crate) const U24_MAX: u32 = (1 << 24) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn psn_comparisons_hold_across_the_wrap() {
        let before = Psn::new(U24_MAX - 1);
        let after = before + 3;
        assert_eq!(after, Psn::new(1));
        assert_eq!((after.distance(before), before.distance(after)), (3, -3));
        assert_eq!((after.after(before), before.after(after)), (3, U24_MAX - 2));
        assert_eq!(Psn::new(0x0180_0000).distance(Psn::new(0)), -(1 << 23));
        assert_eq!(Psn::new(0x7F_FFFF).distance(Psn::new(0)), (1 << 23) - 1);
        assert_eq!(format!("{:>3} {}", Psn::new(7), Qpn::new(0x0200_0009)), "  7 9");
    }

    #[test]
    fn mtu_cuts_messages() {
        assert_eq!(PathMtu::ALL.map(PathMtu::bytes), [256, 512, 1024, 2048, 4096]);
        assert_eq!(PathMtu::from_bytes(2048), Some(PathMtu::Bytes2048));
        assert_eq!(PathMtu::from_bytes(1500), None);
        let packets = [0, 1, 256, 257, MESSAGE_BYTES_MAX].map(|len| PathMtu::Bytes256.packets(len));
        assert_eq!(packets, [1, 1, 1, 2, 1 << 23]);
    }
}
