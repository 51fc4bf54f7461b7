//! The shared vectors, both ways: fields to bytes and bytes to fields.

use std::fs;

use serde_json::Value;

use super::*;
use crate::number::{Departure, Seq, Tag};
use crate::session::StreamTerms;

#[test]
fn every_vector_is_emitted_from_its_fields() {
    for vector in load("packets.json") {
        let expected = unhex(text(&vector["hex"]));
        let mut out = vec![0xEE; expected.len() + 8];
        let len = emit(&vector, &mut out);
        assert_eq!(hex(&out[..len]), hex(&expected), "{}", vector["name"]);
        assert!(out[len..].iter().all(|&byte| byte == 0xEE), "{} overran", vector["name"]);
    }
}

#[test]
fn every_vector_is_parsed_to_its_fields() {
    for vector in load("packets.json") {
        let bytes = unhex(text(&vector["hex"]));
        let (header, packet) = parse(&bytes).expect("a vector is a packet");
        assert_eq!(header, header_of(&vector), "{}", vector["name"]);
        let fields = fields_of(&packet);
        for (name, value) in vector["body"].as_object().expect("a body is an object") {
            if name != "total_len" {
                assert_eq!(&fields[name], value, "{}: {name}", vector["name"]);
            }
        }
    }
}

#[test]
fn every_type_has_a_vector() {
    let vectors = load("packets.json");
    for kind in PacketType::ALL {
        assert!(vectors.iter().any(|vector| kind_of(vector) == kind), "{kind:?}");
    }
}

#[test]
fn every_invalid_vector_names_its_error() {
    for vector in load("invalid.json") {
        let error = parse(&unhex(text(&vector["hex"]))).expect_err(text(&vector["name"]));
        let name: String =
            format!("{error:?}").chars().take_while(|c| c.is_alphanumeric()).collect();
        assert_eq!(name, text(&vector["error"]), "{}", vector["name"]);
    }
}

/// `docs/protocol.md#3.12`
#[test]
fn terms_that_are_wrong_are_refused_by_the_name_of_their_field() {
    for vector in load("terms.json") {
        let bytes = unhex(text(&vector["hex"]));
        let (header, packet) = parse(&bytes).expect("a vector is a packet");
        let Packet::Accept(accept) = packet else { panic!("{} is an ACCEPT", vector["name"]) };
        let wrong = StreamTerms::read(&header, &accept).err().map(|error| error.field());
        assert_eq!(wrong, vector["wrong"].as_str(), "{}", vector["name"]);
    }
}

/// The packets of `packets.json`, as bytes.
pub(super) fn packets() -> Vec<Vec<u8>> {
    load("packets.json").iter().map(|vector| unhex(text(&vector["hex"]))).collect()
}

fn load(file: &str) -> Vec<Value> {
    let path = format!("{}/../../vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let json = fs::read_to_string(&path).expect("the vectors lie beside the crates");
    let vectors: Value = serde_json::from_str(&json).expect("the vectors are JSON");
    vectors.as_array().expect("a list of vectors").clone()
}

fn emit(vector: &Value, out: &mut [u8]) -> usize {
    let header = header_of(vector);
    let body = &vector["body"];
    let u8 = |name: &str| wide(&body[name]) as u8;
    let u16 = |name: &str| wide(&body[name]) as u16;
    let u32 = |name: &str| wide(&body[name]) as u32;
    let u64 = |name: &str| wide(&body[name]);
    let mut tlv_buf = [0; 256];
    let mut writer = TlvWriter::new(&mut tlv_buf);
    for tlv in body["tlvs"].as_array().into_iter().flatten() {
        writer = writer.push(wide(&tlv["kind"]) as u16, &unhex(text(&tlv["value"])));
    }
    let tlvs = writer.finish();
    match header.kind {
        PacketType::Data => {
            let payload = unhex(text(&body["payload"]));
            out[HEADER_LEN..HEADER_LEN + payload.len()].copy_from_slice(&payload);
            seal(&header, payload.len(), out)
        }
        PacketType::Mark => Mark {
            oldest: Seq(u32("oldest")),
            report: Seq(u32("report")),
            echo: Departure(u32("echo")),
            hold: u32("hold"),
            source_lost: u64("source_lost"),
            time_ns: u64("time_ns"),
        }
        .emit(&header, out),
        PacketType::Report => {
            let ranges: Vec<SeqRange> = body["ranges"]
                .as_array()
                .expect("a list of ranges")
                .iter()
                .map(|range| SeqRange {
                    first: Seq(wide(&range["first"]) as u32),
                    count: wide(&range["count"]) as u32,
                })
                .collect();
            ReportFields {
                released: Seq(u32("released")),
                limit: Seq(u32("limit")),
                settled: Departure(u32("settled")),
                highest_end: Seq(u32("highest_end")),
                echo: Departure(u32("echo")),
                hold: u32("hold"),
                received: u32("received"),
                marked: u32("marked"),
                skipped: u32("skipped"),
                late: u16("late"),
            }
            .emit(&header, &ranges, out)
        }
        PacketType::Open => Open {
            tag: Tag(u32("tag")),
            role: Role::from_number(u8("role")).expect("a role of this version"),
            delivery: u8("delivery"),
            stream: u16("stream"),
            nonce: u64("nonce"),
            owner: u64("owner"),
            cookie: cookie(body),
            window: u32("window"),
            max_packet_bytes: u16("max_packet_bytes"),
            pad: u8("pad"),
            trailer_kind: u8("trailer_kind"),
            deadline_us: u32("deadline_us"),
            tlvs,
        }
        .emit(&header, u64("total_len") as usize, out),
        PacketType::Challenge => {
            Challenge { nonce: u64("nonce"), cookie: cookie(body) }.emit(&header, out)
        }
        PacketType::Accept => Accept {
            nonce: u64("nonce"),
            tag: Tag(u32("tag")),
            stream: u16("stream"),
            streams: u16("streams"),
            boot_id: u64("boot_id"),
            rate_numerator: u64("rate_numerator"),
            rate_denominator: u32("rate_denominator"),
            format: u16("format"),
            channels: u16("channels"),
            packet_samples: u32("packet_samples"),
            payload_bytes: u16("payload_bytes"),
            payload_offset: u8("payload_offset"),
            trailer_kind: u8("trailer_kind"),
            window: u32("window"),
            reorder_tolerance: u32("reorder_tolerance"),
            dead_ms: u16("dead_ms"),
            idle_ms: u16("idle_ms"),
            ranges_max: u16("ranges_max"),
            granularity_bytes: u16("granularity_bytes"),
            time_ns: u64("time_ns"),
            tlvs,
        }
        .emit(&header, u64("total_len") as usize, out),
        PacketType::Refuse => Refuse {
            nonce: u64("nonce"),
            reason: RefuseReason::from_number(u16("reason")),
            versions: u16("versions"),
            retry_ms: u32("retry_ms"),
        }
        .emit(&header, out),
        PacketType::Close => Close {
            reason: CloseReason::from_number(u16("reason")),
            last: Seq(u32("last")),
            source_lost: u64("source_lost"),
        }
        .emit(&header, out),
        PacketType::CloseAck => CloseAck {
            reason: CloseAckReason::from_number(u16("reason")),
            echoed_tag: Tag(u32("echoed_tag")),
            source_lost: u64("source_lost"),
        }
        .emit(&header, out),
    }
}

/// The body's fields as the vectors write them.
fn fields_of(packet: &Packet<'_>) -> Value {
    let wide = |number: u64| format!("0x{number:016x}");
    let tlv_list = |tlvs: &Tlvs<'_>| -> Vec<Value> {
        tlvs.iter()
            .map(|(kind, value)| serde_json::json!({ "kind": kind, "value": hex(value) }))
            .collect()
    };
    match packet {
        Packet::Data(payload) => serde_json::json!({ "payload": hex(payload) }),
        Packet::Mark(mark) => serde_json::json!({
            "oldest": mark.oldest.0, "report": mark.report.0, "echo": mark.echo.0,
            "hold": mark.hold, "source_lost": wide(mark.source_lost),
            "time_ns": wide(mark.time_ns),
        }),
        Packet::Report(Report { fields, ranges }) => serde_json::json!({
            "released": fields.released.0, "limit": fields.limit.0,
            "settled": fields.settled.0, "highest_end": fields.highest_end.0,
            "echo": fields.echo.0, "hold": fields.hold, "received": fields.received,
            "marked": fields.marked, "skipped": fields.skipped, "late": fields.late,
            "ranges": ranges.iter().map(|range| serde_json::json!({
                "first": range.first.0, "count": range.count,
            })).collect::<Vec<_>>(),
        }),
        Packet::Open(open) => serde_json::json!({
            "tag": open.tag.0, "role": open.role as u8, "delivery": open.delivery,
            "stream": open.stream, "nonce": wide(open.nonce), "owner": wide(open.owner),
            "cookie": hex(&open.cookie), "window": open.window,
            "max_packet_bytes": open.max_packet_bytes, "pad": open.pad,
            "trailer_kind": open.trailer_kind, "deadline_us": open.deadline_us,
            "tlvs": tlv_list(&open.tlvs),
        }),
        Packet::Challenge(challenge) => serde_json::json!({
            "nonce": wide(challenge.nonce), "cookie": hex(&challenge.cookie),
        }),
        Packet::Accept(accept) => serde_json::json!({
            "nonce": wide(accept.nonce), "tag": accept.tag.0, "stream": accept.stream,
            "streams": accept.streams, "boot_id": wide(accept.boot_id),
            "rate_numerator": wide(accept.rate_numerator),
            "rate_denominator": accept.rate_denominator, "format": accept.format,
            "channels": accept.channels, "packet_samples": accept.packet_samples,
            "payload_bytes": accept.payload_bytes, "payload_offset": accept.payload_offset,
            "trailer_kind": accept.trailer_kind, "window": accept.window,
            "reorder_tolerance": accept.reorder_tolerance, "dead_ms": accept.dead_ms,
            "idle_ms": accept.idle_ms, "ranges_max": accept.ranges_max,
            "granularity_bytes": accept.granularity_bytes, "time_ns": wide(accept.time_ns),
            "tlvs": tlv_list(&accept.tlvs),
        }),
        Packet::Refuse(refuse) => serde_json::json!({
            "nonce": wide(refuse.nonce), "reason": refuse.reason.number(),
            "versions": refuse.versions, "retry_ms": refuse.retry_ms,
        }),
        Packet::Close(close) => serde_json::json!({
            "reason": close.reason.number(), "last": close.last.0,
            "source_lost": wide(close.source_lost),
        }),
        Packet::CloseAck(ack) => serde_json::json!({
            "reason": ack.reason.number(), "echoed_tag": ack.echoed_tag.0,
            "source_lost": wide(ack.source_lost),
        }),
    }
}

fn header_of(vector: &Value) -> Header {
    let header = &vector["header"];
    Header {
        kind: kind_of(vector),
        flags: Flags(wide(&header["flags"]) as u8),
        tag: Tag(wide(&header["tag"]) as u32),
        index: wide(&header["index"]),
        seq: Seq(wide(&header["seq"]) as u32),
        departure: Departure(wide(&header["departure"]) as u32),
    }
}

fn kind_of(vector: &Value) -> PacketType {
    const NAMES: [&str; 9] =
        ["DATA", "MARK", "REPORT", "OPEN", "CHALLENGE", "ACCEPT", "REFUSE", "CLOSE", "CLOSE_ACK"];
    let name = text(&vector["type"]);
    let number = NAMES.iter().position(|known| *known == name).expect("a known type");
    PacketType::ALL[number]
}

fn cookie(body: &Value) -> [u8; 16] {
    unhex(text(&body["cookie"])).try_into().expect("a cookie has 16 bytes")
}

/// A number of the vectors: a JSON number, or a string of `0x` and hex digits.
fn wide(value: &Value) -> u64 {
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

fn unhex(digits: &str) -> Vec<u8> {
    let digit = |c: u8| char::from(c).to_digit(16).expect("a hex digit") as u8;
    digits.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
