//! UDP over IP in a frame, for links that bypass the kernel, and for captures.
//!
//! [`Headers`] are those that a sender of ours writes: TTL 64, no identification, not to be fragmented.
//! [`Datagram`] reads what came.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use etherparse::{EtherType, Ethernet2Slice, Ipv4HeaderSlice, Ipv6HeaderSlice, SingleVlanSlice};
use samplewire_proto::checksum::InternetSum;

use crate::link::Ecn;

/// The IP and UDP headers of one packet.
#[derive(Clone, Copy, Debug)]
pub struct Headers {
    bytes: [u8; HEADERS_BYTES_MAX],
    len_bytes: usize,
}

impl Headers {
    /// The headers of a payload in parts, with right lengths and checksums. Each part but the last has an
    /// even length. Addresses of different families are both written as IPv6.
    pub fn new(source: SocketAddr, destination: SocketAddr, ecn: Ecn, payload: &[&[u8]]) -> Self {
        let payload_bytes: usize = payload.iter().map(|part| part.len()).sum();
        let udp_len_bytes = UDP_BYTES + payload_bytes;
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
        payload.iter().for_each(|part| sum.add(part));
        // Zero would mean that there is no checksum (RFC 768).
        let checksum = match sum.complement() {
            0 => 0xffff,
            checksum => checksum,
        };
        udp[6..8].copy_from_slice(&checksum.to_be_bytes());
        headers.append(&udp);
        headers
    }

    /// The headers, IP's first.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len_bytes]
    }

    fn append(&mut self, part: &[u8]) {
        self.bytes[self.len_bytes..self.len_bytes + part.len()].copy_from_slice(part);
        self.len_bytes += part.len();
    }
}

/// A UDP packet in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Where it came from.
    pub source: SocketAddr,
    /// Where it goes.
    pub destination: SocketAddr,
    /// Its ECN bits.
    pub ecn: Ecn,
    /// Where its payload begins in the frame.
    pub payload_offset_bytes: usize,
    /// How long its payload is.
    pub payload_bytes: usize,
}

impl Datagram {
    /// Reads the headers at the start of a frame of `frame_bytes`; `head` has at least its headers.
    /// `None` for anything but a whole UDP packet over IPv4 or IPv6 without extension headers, behind one
    /// VLAN tag at most. Checksums are not checked: a network card does, and the stream has its own.
    pub fn parse(head: &[u8], frame_bytes: usize) -> Option<Self> {
        let ethernet = Ethernet2Slice::from_slice_without_fcs(head).ok()?;
        let (mut kind, mut rest) = (ethernet.ether_type(), ethernet.payload_slice());
        if kind == EtherType::VLAN_TAGGED_FRAME {
            let vlan = SingleVlanSlice::from_slice(rest).ok()?;
            (kind, rest) = (vlan.ether_type(), vlan.payload_slice());
        }
        let (ips, tos, ip_bytes, ip_payload_bytes) = match kind {
            EtherType::IPV4 => {
                let ip = Ipv4HeaderSlice::from_slice(rest).ok()?;
                let is_udp = ip.protocol().0 == PROTOCOL_UDP;
                if !is_udp || ip.is_fragmenting_payload() {
                    return None;
                }
                let ips: [IpAddr; 2] = [ip.source_addr().into(), ip.destination_addr().into()];
                (ips, rest[1], ip.slice().len(), usize::from(ip.payload_len().ok()?))
            }
            EtherType::IPV6 => {
                let ip = Ipv6HeaderSlice::from_slice(rest).ok()?;
                if ip.next_header().0 != PROTOCOL_UDP {
                    return None;
                }
                let ips: [IpAddr; 2] = [ip.source_addr().into(), ip.destination_addr().into()];
                (ips, ip.traffic_class(), IPV6_BYTES, usize::from(ip.payload_length()))
            }
            _ => return None,
        };
        let udp = rest.get(ip_bytes..)?.first_chunk::<UDP_BYTES>()?;
        let word = |at: usize| u16::from_be_bytes([udp[at], udp[at + 1]]);
        let udp_bytes = usize::from(word(4));
        let payload_offset_bytes = head.len() - rest.len() + ip_bytes + UDP_BYTES;
        let payload_bytes = udp_bytes.checked_sub(UDP_BYTES)?;
        // A frame may be padded; what is shorter than its headers state was cut.
        let is_whole =
            udp_bytes <= ip_payload_bytes && payload_offset_bytes + payload_bytes <= frame_bytes;
        is_whole.then(|| Self {
            source: SocketAddr::new(ips[0], word(0)),
            destination: SocketAddr::new(ips[1], word(2)),
            ecn: Ecn::from_tos(tos),
            payload_offset_bytes,
            payload_bytes,
        })
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
        let headers = Headers::new(from, to, Ecn::Ect0, &[b"abc"]);
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
                let headers = Headers::new(from, to, Ecn::Ce, &[&payload]);
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
        let headers = Headers::new(from, to, Ecn::Ce, &[]);
        assert_eq!(headers.as_bytes()[..8], [0x60, 0x30, 0, 0, 0, 8, 17, 64]);
    }

    /// A frame with these headers around a payload, and Ethernet's padding.
    fn frame(from: &str, to: &str, tag: &[u8], payload: &[u8]) -> Vec<u8> {
        let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
        let kind = if from.is_ipv4() { [0x08, 0x00] } else { [0x86, 0xDD] };
        let headers = Headers::new(from, to, Ecn::Ect0, &[payload]);
        let mut frame = [&[2; 6][..], &[4; 6], tag, &kind, headers.as_bytes(), payload].concat();
        frame.resize(frame.len().max(60), 0);
        frame
    }

    #[test]
    fn datagram_is_read_back_from_its_frame() {
        let tags: [&[u8]; 2] = [&[], &[0x81, 0x00, 0x00, 0x07]];
        for (from, to) in [("192.0.2.1:4660", "192.0.2.2:22136"), ("[2001:db8::1]:1", "[::1]:2")] {
            for tag in tags {
                for len_bytes in [0, 1, 18, 1_472] {
                    let payload = vec![0x5A; len_bytes];
                    let frame = frame(from, to, tag, &payload);
                    let datagram = Datagram::parse(&frame, frame.len()).unwrap();
                    assert_eq!(datagram.source, from.parse().unwrap());
                    assert_eq!(datagram.destination, to.parse().unwrap());
                    assert_eq!(datagram.ecn, Ecn::Ect0);
                    let at = datagram.payload_offset_bytes;
                    assert_eq!(frame[at..at + datagram.payload_bytes], payload);
                }
            }
        }
    }

    #[test]
    fn cut_frames_are_no_datagrams() {
        for (from, to) in [("192.0.2.1:1", "192.0.2.2:2"), ("[2001:db8::1]:1", "[::1]:2")] {
            let frame = frame(from, to, &[], &[7; 100]);
            for len in 0..frame.len() {
                assert_eq!(Datagram::parse(&frame[..len], len), None, "{len} bytes");
            }
            // The payload may lie elsewhere, but must be there.
            let head = &frame[..frame.len() - 100];
            assert!(Datagram::parse(head, frame.len()).is_some());
            assert_eq!(Datagram::parse(head, frame.len() - 1), None);
        }
    }

    #[test]
    fn other_packets_are_no_datagrams() {
        let good = frame("192.0.2.1:1", "192.0.2.2:2", &[], &[7; 100]);
        // Type, version, total length, fragment, protocol, UDP length below its header and beyond IP's.
        for (at, byte) in
            [(12, 9), (14, 0x44), (17, 19), (20, 0x20), (21, 1), (23, 6), (39, 7), (38, 1)]
        {
            let mut wrong = good.clone();
            assert_ne!(wrong[at], byte);
            wrong[at] = byte;
            assert_eq!(Datagram::parse(&wrong, wrong.len()), None, "byte {at}");
        }
    }
}
