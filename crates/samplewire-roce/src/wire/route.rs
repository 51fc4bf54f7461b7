//! The headers below InfiniBand's: Ethernet, IPv4 and UDP (A17.3.1, A17.3.2).

use samplewire_proto::checksum::InternetSum;
use samplewire_proto::wire::field;

use super::at;

/// The way of a frame: addresses, and what else those headers choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Route {
    /// Ethernet address of the sender.
    pub source_mac: [u8; 6],
    /// Ethernet address of the receiver, or of the next router.
    pub destination_mac: [u8; 6],
    /// IPv4 address of the sender.
    pub source_ip: [u8; 4],
    /// IPv4 address of the receiver.
    pub destination_ip: [u8; 4],
    /// UDP port of the sender: switches choose among equal paths by it. The receiver's is
    /// [`UDP_PORT`].
    pub source_port: u16,
    /// IPv4's identification; the ICRC covers it.
    pub identification: u16,
    /// IPv4's type of service: DSCP in the upper six bits, ECN in the lower two.
    pub tos: u8,
    /// IPv4's time to live.
    pub ttl: u8,
}

impl Route {
    /// Whether a switch has marked the frame: ECN is "congestion experienced" (CE).
    pub const fn is_marked(&self) -> bool {
        self.tos & ECN_CE == ECN_CE
    }

    /// The same way for a congestion notification: DSCP 48, and not ECN-capable. A17.9.3 leaves
    /// both open.
    pub const fn for_cnp(self) -> Self {
        Self { tos: CNP_DSCP << 2, ..self }
    }

    /// Writes the headers of a datagram with `payload_len` bytes. The UDP checksum is 0: the ICRC
    /// covers the payload. IPv4 forbids fragments.
    pub(super) fn emit(&self, payload_len: usize, out: &mut [u8]) {
        let udp_len = UDP_LEN + payload_len;
        field::put(out, 0, self.destination_mac);
        field::put(out, 6, self.source_mac);
        field::put_u16(out, ETHER_TYPE, ETHER_TYPE_IPV4);
        let ip = &mut out[at::IP..at::BTH];
        ip.fill(0);
        ip[0] = IP_FIRST_BYTE;
        ip[1] = self.tos;
        field::put_u16(ip, 2, (IP_LEN + udp_len) as u16);
        field::put_u16(ip, 4, self.identification);
        field::put_u16(ip, 6, DONT_FRAGMENT);
        ip[8] = self.ttl;
        ip[9] = IP_UDP;
        field::put(ip, 12, self.source_ip);
        field::put(ip, 16, self.destination_ip);
        let mut sum = InternetSum::default();
        sum.add(&ip[..IP_LEN]);
        field::put_u16(ip, 10, sum.complement());
        field::put_u16(ip, 20, self.source_port);
        field::put_u16(ip, 22, UDP_PORT);
        field::put_u16(ip, 24, udp_len as u16);
    }

    /// Reads the headers of a frame that was checked.
    pub(super) fn read(frame: &[u8]) -> Self {
        Self {
            source_mac: field::get(frame, 6),
            destination_mac: field::get(frame, 0),
            source_ip: field::get(frame, at::IP + 12),
            destination_ip: field::get(frame, at::IP + 16),
            source_port: field::get_u16(frame, at::UDP),
            identification: field::get_u16(frame, at::IP + 4),
            tos: frame[at::IP + 1],
            ttl: frame[at::IP + 8],
        }
    }
}

const ECN_CE: u8 = 0b11;

/// Class selector 6, a usual setting of network cards.
const CNP_DSCP: u8 = 48;

/// The UDP port of RoCEv2 (A17.3.2.2).
pub const UDP_PORT: u16 = 4_791;

/// Where Ethernet's type stands.
pub(super) const ETHER_TYPE: usize = 12;
pub(super) const ETHER_TYPE_IPV4: u16 = 0x0800;
/// Version 4, and a header of five words.
pub(super) const IP_FIRST_BYTE: u8 = 0x45;
pub(super) const IP_UDP: u8 = 17;
pub(super) const IP_LEN: usize = at::UDP - at::IP;
pub(super) const UDP_LEN: usize = at::BTH - at::UDP;
/// Bits of flags and offset that only fragments have.
pub(super) const FRAGMENT: u16 = 0x3FFF;
const DONT_FRAGMENT: u16 = 0x4000;
