//! Where a packet came from.

/// An address and a port, opaque but for the version of IP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Peer(pub [u8; 18]);

impl Peer {
    /// An IPv4 address, kept as IPv6 maps it (`::ffff:a.b.c.d`).
    pub const fn v4(address: [u8; 4], port: u16) -> Self {
        let [a, b, c, d] = address;
        Self::v6([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, a, b, c, d], port)
    }

    /// An IPv6 address.
    pub const fn v6(address: [u8; 16], port: u16) -> Self {
        let mut bytes = [0; 18];
        let (ip, port_bytes) = bytes.split_at_mut(16);
        ip.copy_from_slice(&address);
        port_bytes.copy_from_slice(&port.to_be_bytes());
        Self(bytes)
    }

    /// The bytes of IP and UDP headers in a packet to or from the peer.
    pub fn ip_overhead(&self) -> u16 {
        if self.0.starts_with(&V4_MAPPED) { Self::V4_OVERHEAD } else { Self::V6_OVERHEAD }
    }

    /// The bytes of an IPv4 header without options and a UDP header.
    pub const V4_OVERHEAD: u16 = 28;
    /// The bytes of an IPv6 header without extensions and a UDP header.
    pub const V6_OVERHEAD: u16 = 48;
}

/// How IPv6 writes an IPv4 address (RFC 4291, section 2.5.5.2).
const V4_MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_address_counts_as_ipv4() {
        let peer = Peer::v4([192, 0, 2, 1], 0x1234);
        assert_eq!(&peer.0[10..], [0xFF, 0xFF, 192, 0, 2, 1, 0x12, 0x34]);
        assert_eq!(peer.ip_overhead(), 28);
        let mut address = [0; 16];
        address[15] = 1;
        assert_eq!(Peer::v6(address, 7).ip_overhead(), 48);
    }
}
