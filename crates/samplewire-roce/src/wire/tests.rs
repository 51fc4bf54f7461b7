//! What holds for frames of every kind.

use super::*;
use crate::number::{Psn, Qpn};

const ROUTE: Route = Route {
    source_mac: [2, 0, 0, 0, 0, 1],
    destination_mac: [2, 0, 0, 0, 0, 2],
    source_ip: [192, 0, 2, 1],
    destination_ip: [192, 0, 2, 2],
    source_port: 0xC000,
    identification: 7,
    tos: 0x02,
    ttl: 64,
};

/// IB 7.8.1 and A17.3.3: type of service, time to live, both checksums and BTH's byte 4.
#[test]
fn every_flipped_bit_is_caught_but_those_that_routers_change() {
    for frame in vectors::frames().into_iter().filter(|frame| frame.len() < 400) {
        let unflipped = Frame::new_checked(&frame).expect("a vector is a frame").packet();
        for bit in 0..8 * frame.len() {
            let mut bytes = frame.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let is_caught = Frame::new_checked(&bytes).is_err();
            // Ethernet's addresses are not covered. A UDP checksum of 0 becomes a wrong one.
            let passes = matches!(bit / 8, 0..12 | 46);
            assert_ne!(is_caught, passes, "bit {bit} of {frame:02x?}");
        }
        let mut bytes = frame.clone();
        (bytes[15], bytes[22], bytes[46]) = (bytes[15] ^ 0x03, bytes[22] - 1, bytes[46] ^ 0xC0);
        let mut sum = samplewire_proto::checksum::InternetSum::default();
        bytes[24..26].fill(0);
        sum.add(&bytes[14..34]);
        bytes[24..26].copy_from_slice(&sum.complement().to_be_bytes());
        let changed = Frame::new_checked(&bytes).expect("the ICRC holds");
        assert_eq!(changed.packet().body, unflipped.body, "a marked frame is the same packet");
        assert_eq!(changed.packet().bth.fecn, !unflipped.bth.fecn);
    }
}

#[test]
fn every_truncation_is_an_error() {
    for frame in vectors::frames() {
        for len in (0..frame.len()).rev().take(200) {
            assert!(Frame::new_checked(&frame[..len]).is_err(), "{len} bytes of {frame:02x?}");
        }
        assert!(Frame::new_checked(&frame[..57]).is_err());
    }
}

/// A SEND ONLY of 3 bytes, whose ICRC an independent program computed.
#[test]
fn frame_is_these_bytes() {
    let bth = Bth { ack_request: true, ..Bth::new(Opcode::SendOnly, Qpn::new(0x11), Psn::new(5)) };
    let body = Body::Request { reth: None, immediate: None, payload: &[1, 2, 3] };
    let packet = Packet { bth, body };
    let mut out = [0xEE; 80];
    let len = packet.emit(&ROUTE, &mut out);
    let expected = [
        2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00, // Ethernet
        0x45, 0x02, 0x00, 0x30, 0x00, 0x07, 0x40, 0x00, 0x40, 0x11, 0xB6, 0xB0, // IPv4
        192, 0, 2, 1, 192, 0, 2, 2, //
        0xC0, 0x00, 0x12, 0xB7, 0x00, 0x1C, 0x00, 0x00, // UDP
        0x04, 0x10, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x11, 0x80, 0x00, 0x00, 0x05, // BTH
        1, 2, 3, 0, // payload and padding
        0xB3, 0x7A, 0x8E, 0x3E, // ICRC
    ];
    assert_eq!(out[..len], expected);
    let frame = Frame::new_checked(&out[..len]).expect("what is written can be read");
    assert_eq!((frame.route(), frame.packet()), (ROUTE, packet));
}

#[test]
fn longest_frame_fits_its_constant() {
    let payload = [0; 4_096];
    let bth = Bth::new(Opcode::WriteOnlyImmediate, Qpn::new(1), Psn::new(1));
    let body = Body::Request { reth: Some(Reth::default()), immediate: Some(0), payload: &payload };
    let mut out = [0; FRAME_BYTES_MAX];
    assert_eq!(Packet { bth, body }.emit(&ROUTE, &mut out), FRAME_BYTES_MAX);
}

/// With more, IPv4's and UDP's lengths would wrap.
#[test]
#[should_panic(expected = "a payload of 65540 bytes is too long")]
fn payload_beyond_the_longest_mtu_is_not_built() {
    let bth = Bth::new(Opcode::SendOnly, Qpn::new(1), Psn::new(1));
    let body = Body::Request { reth: None, immediate: None, payload: &[0; 65_540] };
    Packet { bth, body }.emit(&ROUTE, &mut [0; 66_000]);
}

/// [`Frame::new_checked`] checks in the order of [`WireError`]: of two errors it returns the first.
#[test]
fn protocol_is_checked_before_the_ipv4_checksum() {
    let mut frame = vectors::frames().swap_remove(0);
    frame[23] = 6;
    assert_eq!(Frame::new_checked(&frame).map(|_| ()), Err(WireError::Protocol(6)));
}

#[test]
#[should_panic(expected = "WriteOnly with None")]
fn write_without_a_place_is_not_built() {
    let bth = Bth::new(Opcode::WriteOnly, Qpn::new(1), Psn::new(1));
    let body = Body::Request { reth: None, immediate: None, payload: &[] };
    Packet { bth, body }.emit(&ROUTE, &mut [0; 100]);
}

/// A damaged one counts too: it passes a switch.
#[test]
fn congestion_notification_is_known_by_its_headers() {
    let mut frame = [0; FRAME_BYTES_MAX];
    let len = Packet::cnp(Qpn::new(7)).emit(&Route::default(), &mut frame);
    let frame = &frame[..len];
    assert!(Frame::is_cnp(frame));
    let damaged = |at: usize| {
        let mut other = frame.to_vec();
        other[at] ^= 1;
        Frame::is_cnp(&other)
    };
    // Type, IPv4's first byte, protocol, port, opcode; then the payload.
    for at in [13, 14, 23, 37, 42] {
        assert!(!damaged(at), "byte {at}");
    }
    assert!(damaged(len - 1) && damaged(60));
    assert!((0..54).all(|len| !Frame::is_cnp(&frame[..len])) && Frame::is_cnp(&frame[..54]));
}
