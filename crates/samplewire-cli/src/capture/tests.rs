//! Random bytes through the whole decoder.

use std::net::SocketAddr;

use samplewire_io::Ecn;
use samplewire_io::pcapng::{Direction, PcapngPacket, PcapngWriter};
use samplewire_proto::Rng;

use super::*;

/// How many packets were found, and whether the capture was read to its end.
fn decoded(bytes: &[u8], options: &Options) -> (usize, bool) {
    let Ok(capture) = CaptureReader::new(bytes) else { return (0, false) };
    let (summary, ended) = decode(capture, &mut Vec::new(), options);
    (summary.packets() as usize, ended.is_ok())
}

/// A capture of every vector, valid or not, and of a run.
fn capture() -> Vec<u8> {
    let load = |file: &str| -> serde_json::Value {
        let path = format!("{}/../../vectors/{file}", env!("CARGO_MANIFEST_DIR"));
        let json = std::fs::read_to_string(path).expect("the vectors lie beside the crates");
        serde_json::from_str(&json).expect("JSON")
    };
    let bytes = |vector: &serde_json::Value| -> Vec<u8> {
        let digits = vector["hex"].as_str().expect("a vector has bytes").as_bytes();
        let digit = |c: u8| char::from(c).to_digit(16).expect("a hex digit") as u8;
        digits.chunks(2).map(|p| digit(p[0]) << 4 | digit(p[1])).collect()
    };
    let lists = ["packets.json", "invalid.json", "terms.json"].map(load);
    let vectors = lists.iter().flat_map(|list| list.as_array().expect("a list"));
    let mut packets: Vec<(u16, Vec<u8>)> = vectors.map(|it| (40_000, bytes(it))).collect();
    packets.push((40_000, packets[0].1.repeat(3)));
    // What stands behind UDP's header: the ICRC is wrong, as the header is another.
    let roce = load("roce.json");
    let frames = roce["frames"].as_array().expect("a list");
    packets.extend(frames.iter().map(|it| (4_791, bytes(it).split_off(42))));
    let mut file = Vec::new();
    let mut writer = PcapngWriter::new(&mut file, &["test"]).expect("memory takes all");
    for (time_ns, (port, packet)) in (0..).zip(&packets) {
        let packet_of = PcapngPacket {
            interface: 0,
            time_ns,
            direction: Direction::Inbound,
            source: "10.0.0.1:9100".parse().expect("an address"),
            destination: SocketAddr::from(([10, 0, 0, 2], *port)),
            ecn: Ecn::NotEct,
            wire_len_bytes: None,
            comment: "",
        };
        writer.packet(&packet_of, packet).expect("memory takes all");
    }
    file
}

#[test]
fn random_changes_of_a_capture_never_panic() {
    let options = [(None, true), (Some(9_100), false), (None, false)].map(|(port, json)| Options {
        port,
        json,
        fields: true,
        ..Options::default()
    });
    let original = capture();
    let (packets, is_whole) = decoded(&original, &options[1]);
    assert_eq!((packets, is_whole), (28 + 34 + 44 + 3 + 44, true));
    let mut broken = 0;
    for seed in 1..=RUNS {
        let mut rng = Rng::new(seed);
        let mut bytes = original.clone();
        for _ in 0..=rng.index(8) {
            let at = rng.index(bytes.len());
            let end = bytes.len().min(at + rng.index(64));
            match rng.index(16) {
                0 => bytes.truncate(at + 1),
                1 => drop(bytes.drain(at..end.min(bytes.len() - 1).max(at))),
                2 => bytes.extend_from_within(at..end),
                kind if kind < 5 => bytes[at..end].fill(rng.index(3) as u8 * 0x7f),
                _ => bytes[at] ^= 1 << rng.index(8),
            }
        }
        broken += u64::from(!decoded(&bytes, &options[seed as usize % 3]).1);
    }
    assert!((RUNS / 20..RUNS).contains(&broken), "{broken} of {RUNS} were broken");
}

const RUNS: u64 = 2_000;
