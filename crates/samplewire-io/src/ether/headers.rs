//! The headers of a frame that a switch reads and changes: addresses, priority, ECN bits.

use etherparse::{EtherType, Ethernet2Slice, Ipv4HeaderSlice, Ipv6HeaderSlice, SingleVlanSlice};

use crate::link::Ecn;

/// What a switch knows of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Destination address.
    pub destination: [u8; 6],
    /// Source address.
    pub source: [u8; 6],
    /// Priority of the outer VLAN tag, 0 to 7; 0 without one.
    pub class: u8,
    ip: Option<Ip>,
}

/// Where the IP header begins, and its ECN bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ip {
    offset_bytes: usize,
    version: Version,
    ecn: Ecn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V4,
    V6,
}

impl Headers {
    /// Reads the headers of any bytes; `None` for a frame without both addresses and a type. Behind
    /// more than two VLAN tags, or in a damaged header, no IP is seen.
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let ethernet = Ethernet2Slice::from_slice_without_fcs(frame).ok()?;
        let (mut kind, mut rest) = (ethernet.ether_type(), ethernet.payload_slice());
        let mut class = 0;
        for tag in 0..VLAN_TAGS_MAX {
            if !VLAN_TYPES.contains(&kind) {
                break;
            }
            let Ok(vlan) = SingleVlanSlice::from_slice(rest) else { break };
            if tag == 0 {
                class = vlan.priority_code_point().value();
            }
            (kind, rest) = (vlan.ether_type(), vlan.payload_slice());
        }
        let (version, tos) = match kind {
            EtherType::IPV4 => (Version::V4, Ipv4HeaderSlice::from_slice(rest).ok().map(v4_ecn)),
            EtherType::IPV6 => (Version::V6, Ipv6HeaderSlice::from_slice(rest).ok().map(v6_ecn)),
            _ => (Version::V4, None),
        };
        let offset_bytes = frame.len() - rest.len();
        let ip = tos.map(|tos| Ip { offset_bytes, version, ecn: Ecn::from_tos(tos) });
        Some(Self { destination: ethernet.destination(), source: ethernet.source(), class, ip })
    }

    /// The ECN bits of the IP packet; not ECN-capable without one.
    pub fn ecn(&self) -> Ecn {
        self.ip.map_or(Ecn::NotEct, |ip| ip.ecn)
    }

    /// Whether the frame goes to several stations.
    pub const fn is_group(&self) -> bool {
        self.destination[0] & 1 == 1
    }

    /// Whether the destination belongs to the link and no bridge forwards it, e.g. PAUSE and LLDP
    /// (IEEE 802.1Q, table 8-1).
    pub const fn is_link_local(&self) -> bool {
        matches!(self.destination, [0x01, 0x80, 0xC2, 0x00, 0x00, 0x00..=0x0F])
    }

    /// Marks the IP packet as congestion experienced and updates an IPv4 checksum; returns whether
    /// it did. A packet that is not ECN-capable is left as it is.
    ///
    /// # Panics
    /// When `frame` is shorter than the frame that was parsed.
    pub fn mark(&self, frame: &mut [u8]) -> bool {
        let Some(Ip { offset_bytes, version, ecn: Ecn::Ect0 | Ecn::Ect1 }) = self.ip else {
            return false;
        };
        let header = &mut frame[offset_bytes..];
        match version {
            Version::V6 => header[1] |= 0x30,
            Version::V4 => {
                let before = word(header, 0);
                header[1] |= 0x03;
                let checksum = checksum_update(word(header, V4_CHECKSUM), before, word(header, 0));
                header[V4_CHECKSUM..V4_CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
            }
        }
        true
    }
}

fn v4_ecn(header: Ipv4HeaderSlice<'_>) -> u8 {
    header.ecn().value()
}

fn v6_ecn(header: Ipv6HeaderSlice<'_>) -> u8 {
    header.ecn().value()
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// The Internet checksum after one of its words has changed: RFC 1624, equation 3. Equation 4 of RFC
/// 1141 gives the other of the two zeros where the sum is zero.
pub const fn checksum_update(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = !checksum as u32 + !before as u32 + after as u32;
    // Two carries at most: three words add up to less than 3 * 2^16.
    let sum = (sum & 0xFFFF) + (sum >> 16);
    let sum = (sum & 0xFFFF) + (sum >> 16);
    !(sum as u16)
}

/// Tags that are looked behind: a customer's within a provider's (IEEE 802.1Q).
const VLAN_TAGS_MAX: usize = 2;

const VLAN_TYPES: [EtherType; 3] = [
    EtherType::VLAN_TAGGED_FRAME,
    EtherType::PROVIDER_BRIDGING,
    EtherType::VLAN_DOUBLE_TAGGED_FRAME,
];

/// Offset of the checksum in an IPv4 header.
const V4_CHECKSUM: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksum of a header, its own field left out: RFC 1071, in full.
    fn checksum_of(header: &[u8]) -> u16 {
        let words = header.chunks_exact(2).enumerate().filter(|(at, _)| *at != V4_CHECKSUM / 2);
        let sum: u32 = words.map(|(_, pair)| u32::from(word(pair, 0))).sum();
        let sum = (sum & 0xFFFF) + (sum >> 16);
        !(((sum & 0xFFFF) + (sum >> 16)) as u16)
    }

    /// A frame with `tags` before an IPv4 header of `header_bytes`, whose checksum is right.
    fn v4_frame(tags: &[[u8; 4]], tos: u8, id: u16, header_bytes: usize) -> Vec<u8> {
        let mut frame = vec![0x02, 0, 0, 0, 0, 0xBB, 0x02, 0, 0, 0, 0, 0xAA];
        frame.extend(tags.concat());
        frame.extend([0x08, 0x00]);
        let mut ip = vec![0; header_bytes];
        (ip[0], ip[1], ip[3]) = (0x40 | (header_bytes / 4) as u8, tos, header_bytes as u8 + 8);
        ip[4..6].copy_from_slice(&id.to_be_bytes());
        (ip[8], ip[9]) = (64, 17);
        ip[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        let checksum = checksum_of(&ip);
        ip[V4_CHECKSUM..V4_CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
        frame.extend(ip);
        frame.extend([0xEE; 8]);
        frame
    }

    #[test]
    fn updates_give_the_examples_of_rfc_1624() {
        assert_eq!(checksum_update(0xDD2F, 0x5555, 0x3285), 0x0000, "section 4");
        assert_eq!(checksum_update(0x0000, 0x3285, 0x5555), 0xDD2F, "back again");
    }

    #[test]
    fn checksums_at_the_ends_of_their_range_stay_right() {
        // What the whole sum gives, for every word that a mark can change and every checksum.
        for before in [0x4500, 0x4501, 0x4502, 0x4FFE, 0x0000, 0xFFFC] {
            let after = before | 3;
            for rest in 0..=u16::MAX {
                let sum = |first: u16| {
                    let sum = u32::from(first) + u32::from(rest);
                    !(((sum & 0xFFFF) + (sum >> 16)) as u16)
                };
                let (old, whole) = (sum(before), sum(after));
                let updated = checksum_update(old, before, after);
                assert_eq!(updated, whole, "{before:04x} {rest:04x}");
            }
        }
        // A header that carries the other zero, which some senders write, still sums to zero.
        assert_eq!(checksum_update(0xFFFF, 0x4500, 0x4503), 0xFFFC);
        assert_eq!(checksum_update(0x0000, 0x4500, 0x4503), 0xFFFC);
    }

    #[test]
    fn marks_keep_the_checksum_right_behind_any_tags_and_options() {
        let tags = [[0x88, 0xA8, 0x60, 0x05], [0x81, 0x00, 0xE0, 0x07]];
        for (tags, class) in [(&tags[..0], 0), (&tags[..1], 3), (&tags[1..], 7), (&tags[..], 3)] {
            for header_bytes in [20, 24, 60] {
                for id in (0..=u16::MAX).step_by(97) {
                    for tos in [0xB8, 0xB9, 0xBA, 0xBB] {
                        let mut frame = v4_frame(tags, tos, id, header_bytes);
                        let headers = Headers::parse(&frame).expect("a frame");
                        assert_eq!((headers.class, headers.ecn()), (class, Ecn::from_tos(tos)));
                        let untouched = frame.clone();
                        let is_capable = matches!(headers.ecn(), Ecn::Ect0 | Ecn::Ect1);
                        assert_eq!(headers.mark(&mut frame), is_capable);
                        let ip = 14 + 4 * tags.len();
                        let header = &frame[ip..ip + header_bytes];
                        assert_eq!(word(header, V4_CHECKSUM), checksum_of(header));
                        let marked = if is_capable { tos | 3 } else { tos };
                        assert_eq!(header[1], marked);
                        let changed = frame.iter().zip(&untouched).filter(|(a, b)| a != b).count();
                        assert!(changed <= 3, "TOS and checksum");
                    }
                }
            }
        }
    }

    #[test]
    fn wrong_checksum_stays_wrong() {
        let mut frame = v4_frame(&[], 0x02, 1, 20);
        frame[14 + V4_CHECKSUM] ^= 0x10;
        Headers::parse(&frame).expect("a frame").mark(&mut frame);
        assert_ne!(word(&frame[14..], V4_CHECKSUM), checksum_of(&frame[14..34]));
    }

    #[test]
    fn traffic_class_of_ipv6_is_marked() {
        let mut frame = vec![0xFF; 12];
        frame.extend([0x86, 0xDD, 0x6B, 0xA5, 0x55, 0x55]);
        frame.resize(14 + 40, 0);
        let headers = Headers::parse(&frame).expect("a frame");
        assert_eq!((headers.ecn(), headers.is_group()), (Ecn::Ect0, true));
        assert!(headers.mark(&mut frame));
        assert_eq!(frame[14..18], [0x6B, 0xB5, 0x55, 0x55], "only the two bits");
        assert_eq!(Headers::parse(&frame).expect("a frame").ecn(), Ecn::Ce);
    }

    #[test]
    fn runts_and_damaged_headers_are_no_ip() {
        let frame = v4_frame(&[[0x81, 0x00, 0x20, 0x01]], 0x02, 1, 20);
        for len in 0..frame.len() {
            let headers = Headers::parse(&frame[..len]);
            assert_eq!(headers.is_some(), len >= 14, "{len} bytes");
            let is_whole = len >= 18 + 20;
            assert_eq!(headers.is_some_and(|it| it.ecn() == Ecn::Ect0), is_whole, "{len} bytes");
        }
        for (at, byte) in [(18, 0x55), (18, 0x44), (18, 0x4F), (16, 0x12)] {
            let mut damaged = frame.clone();
            damaged[at] = byte;
            let headers = Headers::parse(&damaged).expect("a frame");
            assert_eq!(headers.ecn(), Ecn::NotEct, "byte {at}: {byte:02x}");
            assert!(!headers.mark(&mut damaged));
        }
    }

    #[test]
    fn addresses_of_the_link_are_known() {
        for (last, is_local) in [(0x00, true), (0x01, true), (0x0F, true), (0x10, false)] {
            let mut frame = v4_frame(&[], 0, 0, 20);
            frame[..6].copy_from_slice(&[0x01, 0x80, 0xC2, 0x00, 0x00, last]);
            assert_eq!(Headers::parse(&frame).expect("a frame").is_link_local(), is_local);
        }
    }
}
