//! The shared vectors, both ways: fields to bytes and bytes to fields.

use std::fs;

use serde_json::Value;

use super::*;

#[test]
fn every_vector_is_emitted_from_its_fields() {
    for vector in load("frames") {
        let expected = unhex(&vector["hex"]);
        let mut out = vec![0xEE; expected.len() + 8];
        let len = emit(&vector, &mut out);
        assert_eq!(out[..len], expected, "{}", vector["name"]);
        assert!(out[len..].iter().all(|&byte| byte == 0xEE), "{} overran", vector["name"]);
    }
}

#[test]
fn every_vector_is_parsed_to_its_fields() {
    for vector in load("frames") {
        let (name, bytes) = (&vector["name"], unhex(&vector["hex"]));
        let frame = Frame::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(frame.header, header_of(&vector), "{name}");
        match frame.body {
            Body::Data { seq, payload } => {
                let expected = unhex(&vector["payload"]);
                assert_eq!((kind(&vector), seq), ("DATA", number(&vector["seq"]) as u32));
                assert_eq!(payload[..expected.len()], expected, "{name}");
                assert!(payload.len() == expected.len() || bytes.len() == FRAME_BYTES_MIN);
            }
            Body::Summary(summary) => {
                assert_eq!((kind(&vector), summary), ("SUMMARY", summary_of(&vector)), "{name}");
            }
            Body::Complete => assert_eq!(kind(&vector), "OK"),
            Body::Checking => assert_eq!(kind(&vector), "CK"),
            Body::Missing(seqs) => {
                assert_eq!(kind(&vector), "MI");
                assert!(seqs.iter().eq(seqs_of(&vector)), "{name}");
            }
        }
    }
}

#[test]
fn every_type_has_a_vector() {
    let vectors = load("frames");
    for name in ["DATA", "SUMMARY", "OK", "MI", "CK"] {
        for with_id in [false, true] {
            if name == "CK" && !with_id {
                continue;
            }
            let is_it =
                |vector: &&Value| kind(vector) == name && vector["transfer"].is_null() != with_id;
            assert!(vectors.iter().any(|vector| is_it(&vector)), "{name} {with_id}");
        }
    }
}

#[test]
fn every_invalid_vector_names_its_error() {
    for vector in load("invalid") {
        let error = Frame::parse(&unhex(&vector["hex"])).expect_err(text(&vector["name"]));
        assert_eq!(error.name(), text(&vector["error"]), "{}", vector["name"]);
    }
}

#[test]
fn unusual_frames_of_other_senders_are_read() {
    for vector in load("unusual") {
        let (name, bytes) = (&vector["name"], unhex(&vector["hex"]));
        let frame = Frame::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        match frame.body {
            Body::Summary(Summary { packets: 0, bytes: 0, .. }) => {
                assert_eq!(kind(&vector), "SUMMARY");
            }
            Body::Complete => assert_eq!(kind(&vector), "OK"),
            Body::Checking => assert_eq!(kind(&vector), "CK"),
            Body::Missing(seqs) if seqs.iter().eq(0..2) => assert_eq!(kind(&vector), "MI"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// The frames of `block.json`, as bytes.
pub(super) fn frames() -> Vec<Vec<u8>> {
    load("frames").iter().map(|vector| unhex(&vector["hex"])).collect()
}

fn load(part: &str) -> Vec<Value> {
    let path = format!("{}/../../vectors/block.json", env!("CARGO_MANIFEST_DIR"));
    let json = fs::read_to_string(&path).expect("the vectors lie beside the crates");
    let vectors: Value = serde_json::from_str(&json).expect("the vectors are JSON");
    vectors[part].as_array().expect("a list of vectors").clone()
}

fn emit(vector: &Value, out: &mut [u8]) -> usize {
    let header = header_of(vector);
    let payload = unhex(&vector["payload"]);
    let body = match kind(vector) {
        "DATA" => Body::Data { seq: number(&vector["seq"]) as u32, payload: &payload },
        "SUMMARY" => Body::Summary(summary_of(vector)),
        "OK" => Body::Complete,
        "CK" => Body::Checking,
        _ => return header.emit_missing(seqs_of(vector).into_iter(), out),
    };
    Frame { header, body }.emit(out)
}

fn header_of(vector: &Value) -> Header {
    let address = |name: &str| unhex(&vector[name]).try_into().expect("6 bytes");
    let transfer = vector["transfer"].as_u64().map(|id| TransferId(id as u32));
    Header { destination: address("destination"), source: address("source"), transfer }
}

fn summary_of(vector: &Value) -> Summary {
    Summary {
        packets: number(&vector["packets"]) as u32,
        bytes: number(&vector["bytes"]),
        crc: vector.get("crc").map(|crc| number(crc) as u32),
    }
}

fn seqs_of(vector: &Value) -> Vec<u32> {
    let seqs = vector["seqs"].as_array().expect("a list of seqs");
    seqs.iter().map(|seq| number(seq) as u32).collect()
}

fn kind(vector: &Value) -> &str {
    text(&vector["type"])
}

/// A number of the vectors: a JSON number, or a string of `0x` and hex digits.
fn number(value: &Value) -> u64 {
    match value {
        Value::Number(number) => number.as_u64().expect("numbers are not negative"),
        other => {
            let digits = text(other).strip_prefix("0x").expect("64-bit numbers start with 0x");
            u64::from_str_radix(digits, 16).expect("hex digits")
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

/// Hex digits as bytes; none where there are none.
fn unhex(value: &Value) -> Vec<u8> {
    let digit = |c: u8| char::from(c).to_digit(16).expect("a hex digit") as u8;
    let digits = value.as_str().unwrap_or_default();
    digits.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}
