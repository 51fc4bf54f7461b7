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

    /// Whether an answer can reach the peer: its port is not 0, and its address names one host
    /// (`docs/protocol.md#3.3`). A sender can forge these; a host that sends never has them.
    pub fn is_answerable(&self) -> bool {
        let (address, port) = self.0.split_at(16);
        let names_one_host = match address.strip_prefix(&V4_MAPPED) {
            Some([255, 255, 255, 255]) => false,
            // 0.0.0.0/8 is this network, 224.0.0.0/4 multicast.
            Some(v4) => v4[0] != 0 && v4[0] & 0xF0 != 0xE0,
            None => address != [0; 16] && address[0] != 0xFF,
        };
        names_one_host && port != [0, 0]
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

    #[test]
    fn port_0_and_addresses_of_many_or_of_none_cannot_be_answered() {
        for v4 in [[192, 0, 2, 1], [127, 0, 0, 1], [10, 0, 0, 255], [223, 255, 255, 255]] {
            assert!(Peer::v4(v4, 1).is_answerable(), "{v4:?}");
            assert!(!Peer::v4(v4, 0).is_answerable(), "{v4:?}");
        }
        for v4 in [[0, 0, 0, 0], [0, 1, 2, 3], [224, 0, 0, 1], [239, 1, 1, 1], [255; 4]] {
            assert!(!Peer::v4(v4, 9_100).is_answerable(), "{v4:?}");
        }
        let v6 = |first, last| {
            let mut address = [0; 16];
            (address[0], address[15]) = (first, last);
            address
        };
        for address in [v6(0, 1), v6(0xFE, 1), v6(0x20, 0)] {
            assert!(Peer::v6(address, 1).is_answerable(), "{address:?}");
            assert!(!Peer::v6(address, 0).is_answerable(), "{address:?}");
        }
        for address in [v6(0, 0), v6(0xFF, 1)] {
            assert!(!Peer::v6(address, 9_100).is_answerable(), "{address:?}");
        }
    }
}
