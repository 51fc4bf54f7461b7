//! Any bytes as an Ethernet frame are read within their length, as a UDP packet, as ARP, as a switch reads
//! them, and as a station of ours handles them.

use std::net::SocketAddr;

use samplewire_io::datagram::{Datagram, Headers};
use samplewire_io::ether::{
    Arp, CardChecks, Headers as SwitchHeaders, Network, UdpStation, Verdict,
};
use samplewire_proto::Nanos;

/// Reads the bytes after the first two as the head of a frame, which may go on elsewhere.
///
/// # Panics
/// When a packet is found that does not lie in its frame, or that reads otherwise when it is whole.
pub(crate) fn check(bytes: &[u8]) {
    let Some((further, head)) = bytes.split_first_chunk::<2>() else { return };
    let frame_bytes = head.len() + usize::from(u16::from_le_bytes(*further));
    if let Some(datagram) = Datagram::parse(head, frame_bytes) {
        assert!(datagram.payload_offset_bytes <= head.len());
        assert!(datagram.payload_offset_bytes + datagram.payload_bytes <= frame_bytes);
        // The frame's length alone decides whether a packet is whole.
        let end_bytes = datagram.payload_offset_bytes + datagram.payload_bytes;
        assert_eq!(Datagram::parse(head, end_bytes), Some(datagram));
        assert_eq!(Datagram::parse(head, end_bytes - 1), None);
        rewritten(datagram, head);
    }
    if let Some(arp) = Arp::parse(head) {
        assert_eq!(Arp::parse(&arp.frame()), Some(arp));
    }
    assert_eq!(SwitchHeaders::parse(head).is_some(), head.len() >= ETHERNET_BYTES);
    handled(head);
}

/// The frame at the station that it names.
fn handled(frame: &[u8]) {
    // Where a UDP packet has its destination, and where an ARP request names the one that it looks for.
    for (ip, port) in [(30, 36), (38, 42)] {
        let part = |at: usize, len: usize| frame.get(at..at + len).map(<[u8]>::to_vec);
        let (Some(mac), Some(ip), Some(port)) = (part(0, 6), part(ip, 4), part(port, 2)) else {
            return;
        };
        let ip: [u8; 4] = ip.try_into().expect("four bytes");
        let Ok(network) = Network::new(ip.into(), 8) else { continue };
        let (mac, port) = (mac.try_into().expect("six bytes"), [port[0], port[1]]);
        let mut station = UdpStation::new(network, u16::from_be_bytes(port), mac);
        if let Some(datagram) = station.handle(Nanos(0), frame, CardChecks::default()) {
            delivered(datagram, frame);
            assert_eq!(datagram.destination, station.local_addr().into());
            assert_eq!(station.poll_frame(), None);
            let wrong = CardChecks { udp: Verdict::Wrong, ..CardChecks::default() };
            assert_eq!(station.handle(Nanos(0), frame, wrong), None, "the card has refused it");
        } else if let Some(answer) = station.poll_frame() {
            assert!(answer.len() <= frame.len().max(Arp::FRAME_BYTES), "it is no longer");
            assert_eq!(answer[6..12], mac, "it comes from the station");
            assert!(answer[0] & 1 == 0, "it goes to one station");
        }
    }
}

/// What a station delivers is what the fields of the frame say, and its source may be answered.
fn delivered(datagram: Datagram, frame: &[u8]) {
    let SocketAddr::V4(source) = datagram.source else { panic!("it is IPv4") };
    assert_eq!(source.ip().octets(), frame[26..30]);
    assert!(!source.ip().is_multicast() && !source.ip().is_broadcast());
    assert!(!source.ip().is_unspecified() && !source.ip().is_loopback());
    assert_ne!(datagram.source.ip(), datagram.destination.ip());
    let udp = ETHERNET_BYTES + 4 * usize::from(frame[14] & 0x0F);
    assert_eq!(datagram.payload_offset_bytes, udp + 8);
    assert_eq!(source.port().to_be_bytes(), frame[udp..udp + 2]);
    let udp_bytes = u16::from_be_bytes([frame[udp + 4], frame[udp + 5]]);
    assert_eq!(datagram.payload_bytes + 8, usize::from(udp_bytes));
    assert_eq!(frame[20] & 0x3F, 0, "it is no fragment");
    assert_eq!(frame[21], 0, "it is no fragment");
}

/// A packet with the same addresses and payload, in headers of ours, reads the same.
fn rewritten(datagram: Datagram, head: &[u8]) {
    let Datagram { source, destination, ecn, payload_offset_bytes, payload_bytes } = datagram;
    let Some(payload) = head.get(payload_offset_bytes..payload_offset_bytes + payload_bytes) else {
        return;
    };
    let headers = Headers::new(source, destination, ecn, &[payload]);
    let kind = if source.is_ipv4() { [0x08, 0x00] } else { [0x86, 0xDD] };
    let frame = [&[0; 12][..], &kind, headers.as_bytes(), payload].concat();
    let again = Datagram::parse(&frame, frame.len()).expect("it was written so");
    assert_eq!((again.source, again.destination, again.ecn), (source, destination, ecn));
    assert_eq!(&frame[again.payload_offset_bytes..], payload);
}

const ETHERNET_BYTES: usize = 14;
