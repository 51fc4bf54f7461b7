//! The shared vectors, both ways: fields to bytes and bytes to fields.

use std::fs;

use serde_json::Value;

use super::*;
use crate::number::{Psn, Qpn};

#[test]
fn every_vector_is_emitted_from_its_fields() {
    for vector in load("frames") {
        let expected = bytes(&vector["hex"]);
        let payload = bytes(&vector["payload"]);
        let Some(packet) = packet_of(&vector, &payload) else { continue };
        let mut out = vec![0xEE; expected.len() + 8];
        let len = packet.emit(&route_of(&vector), &mut out);
        assert_eq!(hex(&out[..len]), hex(&expected), "{}", vector["name"]);
        assert!(out[len..].iter().all(|&byte| byte == 0xEE), "{} overran", vector["name"]);
        assert_eq!(len, packet.frame_len());
    }
}

#[test]
fn every_vector_is_read_to_its_fields() {
    for vector in load("frames") {
        let (name, bytes_of_frame) = (&vector["name"], bytes(&vector["hex"]));
        let frame = Frame::new_checked(&bytes_of_frame).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(frame.route(), route_of(&vector), "{name}");
        let payload = bytes(&vector["payload"]);
        let unsupported = Packet { bth: bth_of(&vector), body: Body::Unsupported };
        let expected = packet_of(&vector, &payload).unwrap_or(unsupported);
        assert_eq!(frame.packet(), expected, "{name}");
    }
}

#[test]
fn every_opcode_and_every_padding_has_a_vector() {
    let vectors = load("frames");
    for opcode in Opcode::ALL {
        assert!(vectors.iter().any(|vector| bth_of(vector).opcode == opcode), "{opcode:?}");
    }
    for pad in 0..4 {
        assert!(vectors.iter().any(|vector| number(&vector["pad"]) == pad), "{pad}");
    }
}

#[test]
fn every_invalid_vector_names_its_error() {
    for vector in load("invalid") {
        let error = Frame::new_checked(&bytes(&vector["hex"])).expect_err(text(&vector["name"]));
        assert_eq!(error.name(), text(&vector["error"]), "{}", vector["name"]);
    }
}

#[test]
fn unusual_frames_of_other_senders_are_read() {
    for vector in load("unusual") {
        let bytes = bytes(&vector["hex"]);
        let frame =
            Frame::new_checked(&bytes).unwrap_or_else(|e| panic!("{}: {e}", vector["name"]));
        assert_eq!(frame.packet().bth.opcode, Opcode::SendOnly);
    }
}

/// IB 7.8.1: the ICRC is checked before the opcode is looked at, so that an error about the opcode
/// shows a right ICRC.
#[test]
fn frames_that_others_made_have_a_right_icrc() {
    let vectors = load("foreign");
    for vector in &vectors {
        let bytes = bytes(&vector["hex"]);
        let error = Frame::new_checked(&bytes).err();
        assert_eq!(
            error.as_ref().map(WireError::name),
            vector["error"].as_str(),
            "{}",
            vector["name"]
        );
    }
    let bytes = bytes(&vectors[0]["hex"]);
    let packet = Frame::new_checked(&bytes).expect("it is right").packet();
    assert_eq!((packet.body, packet.bth.becn), (Body::Cnp, true));
    assert_eq!(packet.bth.destination, Qpn::new(0x118));
}

/// The frames of `roce.json`, as bytes.
pub(super) fn frames() -> Vec<Vec<u8>> {
    load("frames").iter().map(|vector| bytes(&vector["hex"])).collect()
}

fn load(part: &str) -> Vec<Value> {
    let path = format!("{}/../../vectors/roce.json", env!("CARGO_MANIFEST_DIR"));
    let json = fs::read_to_string(&path).expect("the vectors lie beside the crates");
    let vectors: Value = serde_json::from_str(&json).expect("the vectors are JSON");
    vectors[part].as_array().expect("a list of vectors").clone()
}

/// `None` for a request that is not sent.
fn packet_of<'a>(vector: &Value, payload: &'a [u8]) -> Option<Packet<'a>> {
    let bth = bth_of(vector);
    let reth = vector.get("reth").map(|reth| Reth {
        address: number(&reth["address"]),
        key: number(&reth["key"]) as u32,
        len_bytes: number(&reth["len_bytes"]) as u32,
    });
    let immediate = vector.get("immediate").map(|it| number(it) as u32);
    let body = match bth.opcode.operation() {
        Operation::Send | Operation::Write => Body::Request { reth, immediate, payload },
        Operation::Acknowledge => Body::Acknowledge(Aeth {
            syndrome: Syndrome::from_number(number(&vector["aeth"]["syndrome"]) as u8),
            msn: number(&vector["aeth"]["msn"]) as u32,
        }),
        Operation::Cnp => Body::Cnp,
        Operation::Unsupported => return None,
    };
    Some(Packet { bth, body })
}

fn bth_of(vector: &Value) -> Bth {
    let bth = &vector["bth"];
    let flag = |name: &str| match &bth[name] {
        Value::Bool(flag) => *flag,
        other => panic!("{name} is {other}"),
    };
    Bth {
        opcode: Opcode::from_number(number(&vector["opcode"]) as u8).expect("a known opcode"),
        solicited: flag("solicited"),
        migrated: flag("migrated"),
        p_key: number(&bth["p_key"]) as u16,
        fecn: flag("fecn"),
        becn: flag("becn"),
        destination: Qpn::new(number(&bth["destination"]) as u32),
        ack_request: flag("ack_request"),
        psn: Psn::new(number(&bth["psn"]) as u32),
    }
}

fn route_of(vector: &Value) -> Route {
    let route = &vector["route"];
    let address = |name: &str| bytes(&route[name]);
    Route {
        source_mac: address("source_mac").try_into().expect("6 bytes"),
        destination_mac: address("destination_mac").try_into().expect("6 bytes"),
        source_ip: address("source_ip").try_into().expect("4 bytes"),
        destination_ip: address("destination_ip").try_into().expect("4 bytes"),
        source_port: number(&route["source_port"]) as u16,
        identification: number(&route["identification"]) as u16,
        tos: number(&route["tos"]) as u8,
        ttl: number(&route["ttl"]) as u8,
    }
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
fn bytes(value: &Value) -> Vec<u8> {
    let digit = |c: u8| char::from(c).to_digit(16).expect("a hex digit") as u8;
    let digits = value.as_str().unwrap_or_default();
    digits.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
