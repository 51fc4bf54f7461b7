use std::net::{IpAddr, Ipv4Addr};

use super::*;

const PACKET: PcapngPacket<'_> = PcapngPacket {
    interface: 0,
    time_ns: 0x0000_0001_0203_0405,
    direction: Direction::Inbound,
    source: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 1),
    destination: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 2),
    ecn: Ecn::Ce,
    wire_len_bytes: None,
    comment: "",
};

/// The blocks of a file: type and body. Both lengths of each are checked.
fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut blocks = Vec::new();
    while !file.is_empty() {
        let total_bytes = word(file, 4) as usize;
        assert_eq!(total_bytes % 4, 0);
        assert_eq!(word(file, total_bytes - 4) as usize, total_bytes);
        blocks.push((word(file, 0), file[8..total_bytes - 4].to_vec()));
        file = &file[total_bytes..];
    }
    blocks
}

/// The body of the block of one packet.
fn body(interfaces: &[&str], packet: &PcapngPacket<'_>, payload: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    PcapngWriter::new(&mut file, interfaces).unwrap().packet(packet, payload).unwrap();
    let (kind, body) = blocks(&file).pop().unwrap();
    assert_eq!(kind, 6);
    body
}

#[test]
fn file_has_the_blocks_in_their_order() {
    let mut file = Vec::new();
    let mut writer = PcapngWriter::new(&mut file, &["udp 127.0.0.1:1", "other"]).unwrap();
    for len_bytes in 0..5 {
        let packet = PcapngPacket { comment: &"words"[..len_bytes], ..PACKET };
        writer.packet(&packet, &[7; 5][..len_bytes]).unwrap();
    }
    writer.statistics(1, 5..=6, 9, 4).unwrap();
    let kinds: Vec<_> = blocks(&file).iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [0x0a0d_0d0a, 1, 1, 6, 6, 6, 6, 6, 5]);
}

#[test]
fn packet_block_is_the_literal_one() {
    let body = body(&["x"], &PACKET, &[0xcc]);
    let (head, rest) = body.split_at(20);
    assert_eq!(head, [0, 0, 0, 0, 1, 0, 0, 0, 5, 4, 3, 2, 29, 0, 0, 0, 29, 0, 0, 0]);
    let (frame, options) = rest.split_at(29);
    assert_eq!((frame[1], frame[28]), (Ecn::Ce as u8, 0xcc));
    assert_eq!(options, [0, 0, 0, 2, 0, 4, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn comment_interface_and_wire_length_are_in_the_block() {
    let direction = Direction::Outbound;
    let packet = PcapngPacket {
        interface: 1,
        direction,
        wire_len_bytes: Some(0x0102),
        comment: "lost",
        ..PACKET
    };
    let body = body(&["x", "y"], &packet, &[]);
    assert_eq!(body[..4], [1, 0, 0, 0]);
    assert_eq!(body[12..20], [28, 0, 0, 0, 2, 1, 0, 0]);
    let options = [1, 0, 4, 0, b'l', b'o', b's', b't', 2, 0, 4, 0, 2, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(body[48..], options);
}

#[test]
fn comment_too_long_for_its_field_writes_nothing() {
    let mut file = Vec::new();
    let mut writer = PcapngWriter::new(&mut file, &["x"]).unwrap();
    let comment = "x".repeat(65_536);
    let error = writer.packet(&PcapngPacket { comment: &comment, ..PACKET }, &[]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains("65536 bytes"), "{error}");
    assert_eq!(blocks(&file).len(), 2);
}

#[test]
#[should_panic(expected = "interface 1 of 1")]
fn interface_that_was_not_named_panics() {
    body(&["x"], &PcapngPacket { interface: 1, ..PACKET }, &[]);
}

#[test]
fn statistics_carry_what_was_skipped() {
    let mut file = Vec::new();
    let mut writer = PcapngWriter::new(&mut file, &["x"]).unwrap();
    writer.statistics(0, 5..=6, 9, 4).unwrap();
    let (_, body) = blocks(&file).pop().unwrap();
    let dropped = [5, 0, 8, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert!(body.ends_with(&dropped));
}
