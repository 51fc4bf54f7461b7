//! Captures that tests write: the shared vectors, and frames of every kind.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use samplewire_io::Ecn;
use samplewire_io::pcapng::{Direction, PcapngPacket, PcapngWriter};
use serde_json::Value;

use crate::harness::{folder, run, text};

/// The ports of the packets that tests write.
pub(crate) const DEVICE: &str = "10.0.0.1:9100";
pub(crate) const CLIENT: &str = "10.0.0.2:40000";

/// A file of `vectors/` that is one list.
pub(crate) fn vectors(file: &str) -> Vec<Value> {
    list(&json_of(file))
}

/// A list in a file of `vectors/`.
pub(crate) fn vectors_in(file: &str, part: &str) -> Vec<Value> {
    list(&json_of(file)[part])
}

fn json_of(file: &str) -> Value {
    let path = format!("{}/../../vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let json = fs::read_to_string(&path).expect("the vectors lie beside the crates");
    serde_json::from_str(&json).expect("the vectors are JSON")
}

fn list(vectors: &Value) -> Vec<Value> {
    vectors.as_array().expect("a list of vectors").clone()
}

/// A capture of the Ethernet frames of these vectors.
pub(crate) fn capture(test: &str, vectors: &[Value]) -> PathBuf {
    let path = folder(test).join("capture.pcap");
    let frames = packets_of(vectors);
    let frames: Vec<_> = frames.iter().map(|frame| (&frame[..], frame.len())).collect();
    fs::write(&path, pcap_of(1, &frames)).unwrap();
    path
}

/// What `decode --json` prints of a capture, a document each.
pub(crate) fn decode(path: &Path, options: &[&str]) -> Vec<Value> {
    let ran = run(&[&["decode", text(path), "--json"], options].concat()).expect(0);
    ran.text().lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

/// The bytes of each vector.
pub(crate) fn packets_of(vectors: &[Value]) -> Vec<Vec<u8>> {
    vectors.iter().map(|vector| unhex(vector["hex"].as_str().unwrap())).collect()
}

/// The bytes of the vector of a name.
pub(crate) fn packet(name: &str) -> Vec<u8> {
    let vectors = vectors("packets.json");
    let vector = vectors.iter().find(|vector| vector["name"] == name).expect("there is one");
    unhex(vector["hex"].as_str().unwrap())
}

/// Writes payloads from the device to the client, a microsecond after each other.
pub(crate) fn write_payloads(path: &Path, payloads: &[Vec<u8>]) {
    let between: Vec<_> = payloads.iter().map(|payload| (DEVICE, CLIENT, &payload[..])).collect();
    write_datagrams(path, &between);
}

/// Writes datagrams: where from, where to, what.
pub(crate) fn write_datagrams(path: &Path, datagrams: &[(&str, &str, &[u8])]) {
    let mut writer = PcapngWriter::new(File::create(path).unwrap(), &["test"]).unwrap();
    for (time_us, (source, destination, payload)) in (0..).zip(datagrams) {
        let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let packet = PcapngPacket {
            interface: 0,
            time_ns: START_NS + time_us * 1_000,
            direction: Direction::Outbound,
            source: address(source),
            destination: address(destination),
            ecn: Ecn::NotEct,
            wire_len_bytes: None,
            comment: "",
        };
        writer.packet(&packet, payload).unwrap();
    }
    writer.flush().unwrap();
}

/// A frame of Linux's loopback device from and to port 9100: Ethernet, IPv4 and UDP headers.
pub(crate) fn ethernet(payload: &[u8]) -> Vec<u8> {
    [&[0; 12][..], &[0x08, 0x00], &ipv4(payload)].concat()
}

/// A packet of IPv4 from and to port 9100.
pub(crate) fn ipv4(payload: &[u8]) -> Vec<u8> {
    let total = (payload.len() as u16 + 28).to_be_bytes();
    let mut bytes = vec![0x45, 0, total[0], total[1], 0, 0, 0x40, 0, 64, 17, 0, 0];
    bytes.extend([127, 0, 0, 1, 127, 0, 0, 1]);
    bytes.extend(udp(payload));
    bytes
}

/// A packet of IPv6 from and to port 9100.
pub(crate) fn ipv6(payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u16 + 8).to_be_bytes();
    let mut bytes = vec![0x60, 0, 0, 0, len[0], len[1], 17, 64];
    for _ in 0..2 {
        bytes.extend([0; 15]);
        bytes.push(1);
    }
    bytes.extend(udp(payload));
    bytes
}

fn udp(payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u16 + 8).to_be_bytes();
    let mut bytes = vec![0x23, 0x8c, 0x23, 0x8c, len[0], len[1], 0, 0];
    bytes.extend(payload);
    bytes
}

/// A capture of the older form with one frame, of which `kept` bytes are there.
pub(crate) fn pcap(link_type: u32, frame: &[u8], kept: usize) -> Vec<u8> {
    pcap_of(link_type, &[(frame, kept)])
}

/// The same with several frames.
pub(crate) fn pcap_of(link_type: u32, frames: &[(&[u8], usize)]) -> Vec<u8> {
    let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend(65_535u32.to_le_bytes());
    bytes.extend(link_type.to_le_bytes());
    for &(frame, kept) in frames {
        for word in [1, 500_000, kept as u32, frame.len() as u32] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(&frame[..kept]);
    }
    bytes
}

pub(crate) fn unhex(digits: &str) -> Vec<u8> {
    let digit = |c: u8| char::from(c).to_digit(16).expect("a hex digit") as u8;
    digits.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// The time of the first packet.
pub(crate) const START_NS: u64 = 1_700_000_000_000_000_000;
