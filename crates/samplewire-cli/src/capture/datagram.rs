//! Finds the UDP datagram in a frame: Ethernet with VLAN tags, Linux's cooked captures, loopback,
//! or bare IP; IPv4 or IPv6.

use std::net::{IpAddr, SocketAddr};

use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, TransportSlice, UdpSlice, ip_number};

/// The relevant content of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content<'a> {
    /// A datagram.
    Datagram(Datagram<'a>),
    /// A fragment of a datagram: packets of the protocol are never fragmented
    /// (`docs/protocol.md#2.1`).
    Fragment,
    /// An unsupported link type.
    Link(u16),
    /// Anything else, or a truncated frame.
    Other,
}

/// A UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Datagram<'a> {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    /// The captured bytes of the payload.
    pub(super) payload: &'a [u8],
    /// The payload's length in bytes.
    pub(super) len_bytes: usize,
    /// The version of IP, and the captured bytes from its header on.
    pub(super) ip: (EtherType, &'a [u8]),
}

/// Removes the headers.
pub(super) fn content(link_type: u16, bytes: &[u8]) -> Content<'_> {
    let packet = match slice(link_type, bytes) {
        Ok(packet) => packet,
        Err(content) => return content,
    };
    let (addresses, payload, ip): ((IpAddr, IpAddr), _, _) = match &packet.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let addresses = (header.source_addr().into(), header.destination_addr().into());
            (addresses, ip.payload(), (EtherType::IPV4, behind(bytes, header.slice())))
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let addresses = (header.source_addr().into(), header.destination_addr().into());
            (addresses, ip.payload(), (EtherType::IPV6, behind(bytes, header.slice())))
        }
        _ => return Content::Other,
    };
    if payload.fragmented && payload.ip_number == ip_number::UDP {
        return Content::Fragment;
    }
    let Some(TransportSlice::Udp(udp)) = &packet.transport else { return Content::Other };
    Content::Datagram(Datagram {
        source: SocketAddr::new(addresses.0, udp.source_port()),
        destination: SocketAddr::new(addresses.1, udp.destination_port()),
        payload: udp.payload(),
        len_bytes: len_bytes(udp),
        ip,
    })
}

/// The bytes of a frame from a header within it on; etherparse does not tell where that stands.
fn behind<'a>(frame: &'a [u8], header: &[u8]) -> &'a [u8] {
    let offset = header.as_ptr().addr().wrapping_sub(frame.as_ptr().addr());
    frame.get(offset..).expect("the header stands in the frame")
}

/// The payload's length as in the header; if that is 0 or too small, the captured length.
fn len_bytes(udp: &UdpSlice<'_>) -> usize {
    usize::from(udp.length()).saturating_sub(UDP_HEADER_BYTES).max(udp.payload().len())
}

/// The packet after the link header. If the header is truncated or of an unsupported type, the
/// content of the frame instead.
fn slice(link_type: u16, bytes: &[u8]) -> Result<LaxSlicedPacket<'_>, Content<'_>> {
    let cooked = |type_at: usize, header_bytes: usize| {
        let field = bytes.get(type_at..)?.first_chunk()?;
        let rest = bytes.get(header_bytes..)?;
        Some(LaxSlicedPacket::from_ether_type(EtherType(u16::from_be_bytes(*field)), rest))
    };
    let sliced = match link_type {
        LINK_ETHERNET => LaxSlicedPacket::from_ethernet(bytes).ok(),
        LINK_LINUX_SLL => cooked(14, 16),
        LINK_LINUX_SLL2 => cooked(0, 20),
        // The family's number depends on the capturing system; the IP version does not.
        LINK_NULL | LINK_LOOP => {
            bytes.get(4..).and_then(|rest| LaxSlicedPacket::from_ip(rest).ok())
        }
        LINK_RAW | LINK_RAW_OF_BSD | LINK_RAW_OF_OPENBSD | LINK_IPV4 | LINK_IPV6 => {
            LaxSlicedPacket::from_ip(bytes).ok()
        }
        other => return Err(Content::Link(other)),
    };
    sliced.ok_or(Content::Other)
}

const LINK_NULL: u16 = 0;
const LINK_ETHERNET: u16 = 1;
const LINK_RAW_OF_BSD: u16 = 12;
const LINK_RAW_OF_OPENBSD: u16 = 14;
const LINK_RAW: u16 = 101;
const LINK_LOOP: u16 = 108;
const LINK_LINUX_SLL: u16 = 113;
const LINK_IPV4: u16 = 228;
const LINK_IPV6: u16 = 229;
const LINK_LINUX_SLL2: u16 = 276;

const UDP_HEADER_BYTES: usize = 8;
