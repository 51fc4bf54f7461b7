//! Any bytes as an Ethernet frame are read within their length, as a UDP packet, as ARP, and as a switch
//! reads them.

use samplewire_io::datagram::{Datagram, Headers};
use samplewire_io::ether::{Arp, Headers as SwitchHeaders};

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
        // Nothing but the frame's length says whether a packet is whole.
        let end_bytes = datagram.payload_offset_bytes + datagram.payload_bytes;
        assert_eq!(Datagram::parse(head, end_bytes), Some(datagram));
        assert_eq!(Datagram::parse(head, end_bytes - 1), None);
        rewritten(datagram, head);
    }
    if let Some(arp) = Arp::parse(head) {
        assert_eq!(Arp::parse(&arp.frame()), Some(arp));
    }
    assert_eq!(SwitchHeaders::parse(head).is_some(), head.len() >= ETHERNET_BYTES);
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
