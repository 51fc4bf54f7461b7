//! The IP and UDP headers that a captured payload has on the wire, as far as a socket lets us
//! know: TTL and identification are those that a sender of ours would write.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use samplewire_proto::checksum::InternetSum;

use crate::link::Ecn;

/// Headers of one packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Headers {
    bytes: [u8; HEADERS_BYTES_MAX],
    len_bytes: usize,
}

impl Headers {
    /// The headers of `payload`, with right lengths and checksums. Addresses of different
    /// families are both written as IPv6.
    pub(super) fn new(
        source: SocketAddr,
        destination: SocketAddr,
        ecn: Ecn,
        payload: &[u8],
    ) -> Self {
        let udp_len_bytes = UDP_BYTES + payload.len();
        let mut headers = Self { bytes: [0; HEADERS_BYTES_MAX], len_bytes: 0 };
        let mut sum = InternetSum::default();
        match (source.ip(), destination.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let (from, to) = (from.octets(), to.octets());
                let total = field(IPV4_BYTES + udp_len_bytes);
                let mut ip = [0; IPV4_BYTES];
                ip[0] = 0x45;
                ip[1] = ecn as u8;
                ip[2..4].copy_from_slice(&total);
                ip[6..8].copy_from_slice(&DONT_FRAGMENT.to_be_bytes());
                ip[8] = TTL;
                ip[9] = PROTOCOL_UDP;
                ip[12..16].copy_from_slice(&from);
                ip[16..20].copy_from_slice(&to);
                let mut header_sum = InternetSum::default();
                header_sum.add(&ip);
                ip[10..12].copy_from_slice(&header_sum.complement().to_be_bytes());
                headers.append(&ip);
                sum.add(&from);
                sum.add(&to);
            }
            (from, to) => {
                let (from, to) = (v6(from).octets(), v6(to).octets());
                let mut ip = [0; IPV6_BYTES];
                let class = ecn as u8;
                ip[0] = 0x60 | class >> 4;
                ip[1] = class << 4;
                ip[4..6].copy_from_slice(&field(udp_len_bytes));
                ip[6] = PROTOCOL_UDP;
                ip[7] = TTL;
                ip[8..24].copy_from_slice(&from);
                ip[24..40].copy_from_slice(&to);
                headers.append(&ip);
                sum.add(&from);
                sum.add(&to);
            }
        }
        let mut udp = [0; UDP_BYTES];
        udp[0..2].copy_from_slice(&source.port().to_be_bytes());
        udp[2..4].copy_from_slice(&destination.port().to_be_bytes());
        udp[4..6].copy_from_slice(&field(udp_len_bytes));
        sum.add(&[0, PROTOCOL_UDP]);
        sum.add(&field(udp_len_bytes));
        sum.add(&udp);
        sum.add(payload);
        // Zero would mean that there is no checksum (RFC 768).
        let checksum = match sum.complement() {
            0 => 0xffff,
            checksum => checksum,
        };
        udp[6..8].copy_from_slice(&checksum.to_be_bytes());
        headers.append(&udp);
        headers
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len_bytes]
    }

    fn append(&mut self, part: &[u8]) {
        self.bytes[self.len_bytes..self.len_bytes + part.len()].copy_from_slice(part);
        self.len_bytes += part.len();
    }
}

/// A length field of 16 bits; what does not fit in it never was on a wire, and reads as 0, which
/// IPv6 calls a jumbogram.
fn field(len_bytes: usize) -> [u8; 2] {
    u16::try_from(len_bytes).unwrap_or(0).to_be_bytes()
}

fn v6(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
const UDP_BYTES: usize = 8;
const HEADERS_BYTES_MAX: usize = IPV6_BYTES + UDP_BYTES;
const DONT_FRAGMENT: u16 = 0x4000;
const TTL: u8 = 64;
const PROTOCOL_UDP: u8 = 17;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv4_header_is_the_literal_one() {
        let from = "192.0.2.1:4660".parse().unwrap();
        let to = "192.0.2.2:22136".parse().unwrap();
        let headers = Headers::new(from, to, Ecn::Ect0, b"abc");
        let expected = [
            0x45, 0x02, 0x00, 0x1f, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb6, 0xc8, 192, 0, 2, 1,
            192, 0, 2, 2, 0x12, 0x34, 0x56, 0x78, 0x00, 0x0b, 0x4e, 0xc5,
        ];
        assert_eq!(headers.as_bytes(), expected);
    }

    #[test]
    fn sum_over_header_and_payload_with_its_checksum_is_all_ones() {
        for (from, to) in [("192.0.2.1:1", "192.0.2.9:65535"), ("[2001:db8::1]:1", "[::1]:2")] {
            for len_bytes in [0, 1, 2, 33, 8_950] {
                let payload: Vec<_> = (0..len_bytes).map(|n| (n * 7) as u8).collect();
                let (from, to): (SocketAddr, SocketAddr) =
                    (from.parse().unwrap(), to.parse().unwrap());
                let headers = Headers::new(from, to, Ecn::Ce, &payload);
                let (ip, udp) = headers.as_bytes().split_at(headers.as_bytes().len() - UDP_BYTES);
                let mut sum = InternetSum::default();
                sum.add(&ip[if from.is_ipv4() { 12 } else { 8 }..]);
                sum.add(&[0, PROTOCOL_UDP]);
                sum.add(&field(UDP_BYTES + payload.len()));
                sum.add(udp);
                sum.add(&payload);
                assert_eq!(sum.complement(), 0, "{from} {len_bytes}");
            }
        }
    }

    #[test]
    fn ecn_bits_are_the_low_two_of_the_traffic_class() {
        let from = "[2001:db8::1]:1".parse().unwrap();
        let to = "[2001:db8::2]:2".parse().unwrap();
        let headers = Headers::new(from, to, Ecn::Ce, b"");
        assert_eq!(headers.as_bytes()[..8], [0x60, 0x30, 0, 0, 0, 8, 17, 64]);
    }
}
