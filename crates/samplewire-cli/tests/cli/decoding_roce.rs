//! `decode` of RoCEv2 against the shared vectors.

use std::fs;

use serde_json::Value;

use crate::captures::{capture, decode, pcap, unhex, vectors_in};
use crate::harness::{folder, run, text};

#[test]
fn every_vector_is_decoded_to_its_fields() {
    let vectors = vectors("frames");
    let path = capture("decode-roce", &vectors);
    let lines = decode(&path, &["--verbose"]);
    assert_eq!(lines.len(), vectors.len());
    for (place, (line, vector)) in lines.iter().zip(&vectors).enumerate() {
        let name = &vector["name"];
        for field in ["opcode", "bth", "reth", "immediate", "aeth"] {
            let expected = vector.get(field).unwrap_or(&Value::Null);
            assert_eq!(&line[field], expected, "{name}: {field}");
        }
        assert_eq!(line.get("payload"), vector.get("payload"), "{name}");
        assert_eq!((&line["icrc"], &line["error"]), (&"ok".into(), &Value::Null), "{name}");
        assert_eq!((&line["frame"], &line["protocol"]), (&(place + 1).into(), &"roce".into()));
        let hex = vector["hex"].as_str().unwrap();
        assert_eq!(line["len_bytes"], hex.len() / 2 - 42, "{name}");
        assert_eq!(line["destination"], "192.0.2.2:4791");
    }
}

#[test]
fn every_invalid_vector_to_the_port_is_shown_with_its_error() {
    // The others are no datagram to port 4791.
    let others = ["TooShort", "EtherType", "IpHeader", "IpLength", "Fragment", "Protocol", "Port"];
    let is_datagram = |vector: &Value| !others.contains(&vector["error"].as_str().unwrap());
    let vectors: Vec<_> = vectors("invalid").into_iter().filter(is_datagram).collect();
    assert!(vectors.len() > 15);
    let path = capture("decode-roce-invalid", &vectors);
    let lines = decode(&path, &["--type", "BAD"]);
    assert_eq!(lines.len(), vectors.len());
    for (line, vector) in lines.iter().zip(&vectors) {
        let (name, error) = (&vector["name"], &vector["error"]);
        assert_eq!(&line["error"]["name"], error, "{name}");
        let icrc = match error.as_str().unwrap() {
            "Opcode" | "Length" => "ok".into(),
            "Icrc" => "bad".into(),
            _ => Value::Null,
        };
        assert_eq!(line["icrc"], icrc, "{name}");
        assert_eq!(line["bth"].is_null(), error == "Opcode", "{name}");
    }
    let ran = run(&["decode", text(&path)]).expect(0);
    assert!(ran.text().contains("icrc BAD; wrong ICRC"), "{}", ran.text());
    assert!(ran.stderr.contains("3 with a bad icrc"), "{}", ran.stderr);
    assert!(ran.stderr.contains("of malformed RoCE"), "{}", ran.stderr);
}

#[test]
fn words_have_what_the_headers_say() {
    let path = capture("decode-roce-words", &vectors("frames"));
    let ran = run(&["decode", text(&path), "--type", "roce"]).expect(0);
    for words in [
        "192.0.2.1:49152 > 192.0.2.2:4791  SEND_FIRST qp 0x000011 psn 16777213 payload 256",
        "SEND_LAST qp 0x000011 psn 16777215 [ACK_REQUEST] payload 3 bytes 20 icrc ok",
        "RDMA_WRITE_FIRST qp 0x000011 psn 8388607 2,147,483,648 bytes to 0x7f0012345678 key \
         0xdeadbeef payload 256",
        "SEND_ONLY_WITH_IMMEDIATE qp 0x000011 psn 6 [SOLICITED] immediate 0x1020304 payload 10",
        "ACKNOWLEDGE qp 0x000011 psn 0 ack msn 1",
        "receiver not ready, wait 655,360 us msn 2",
        "nak sequence error msn 3",
        "syndrome 0x65 (reserved)",
        "CNP qp 0x000011 psn 0 [BECN] bytes 32 icrc ok",
    ] {
        assert!(ran.text().contains(words), "no `{words}` in\n{}", ran.text());
    }
    for words in ["44 frames, 44 packets", "roce       SEND_FIRST 1, ", "ACKNOWLEDGE 9, ", "CNP 1"]
    {
        assert!(ran.stderr.contains(words), "no `{words}` in\n{}", ran.stderr);
    }
    let ran = run(&["decode", text(&path), "--verbose"]).expect(0);
    assert!(
        ran.text().contains("\n    reth.address            0x00007f0012345678\n"),
        "{}",
        ran.text()
    );
    assert!(ran.text().contains("\n    payload                 060d141b"), "{}", ran.text());
    assert_eq!(decode(&path, &["--type", "DATA"]).len(), 0);
    assert_eq!(decode(&path, &["--port", "4792"]).len(), 0);
}

/// The ICRC covers the IP header alone of what stands below UDP.
#[test]
fn other_link_types_and_vlan_tags_are_read() {
    let frame = unhex(vectors("frames")[2]["hex"].as_str().unwrap());
    let (addresses, rest) = frame.split_at(12);
    let tagged = [addresses, &[0x81, 0, 0, 5], rest].concat();
    let path = folder("decode-roce-links").join("capture.pcap");
    for (link_type, bytes) in [(1, &tagged[..]), (101, &frame[14..]), (228, &frame[14..])] {
        fs::write(&path, pcap(link_type, bytes, bytes.len())).unwrap();
        let lines = decode(&path, &[]);
        assert_eq!((&lines[0]["icrc"], &lines[0]["type"]), (&"ok".into(), &"SEND_LAST".into()));
    }
}

#[test]
fn packet_that_the_capture_cut_shows_its_header() {
    let frame = unhex(vectors("frames")[0]["hex"].as_str().unwrap());
    let path = folder("decode-roce-cut").join("capture.pcap");
    fs::write(&path, pcap(1, &frame, 96)).unwrap();
    let lines = decode(&path, &[]);
    assert_eq!((&lines[0]["bth"]["psn"], &lines[0]["icrc"]), (&16_777_213.into(), &Value::Null));
    assert_eq!(lines[0]["error"]["name"], "IpLength");
}

#[test]
fn frames_that_others_made_are_read() {
    let path = capture("decode-roce-foreign", &vectors("foreign"));
    let lines = decode(&path, &[]);
    assert_eq!((&lines[0]["type"], &lines[0]["bth"]["destination"]), (&"CNP".into(), &280.into()));
    assert_eq!((&lines[0]["icrc"], &lines[1]["icrc"]), (&"ok".into(), &"ok".into()));
    assert_eq!(lines[1]["error"]["words"], "opcode 0x24 is not supported");
}

/// A list of `vectors/roce.json`.
fn vectors(part: &str) -> Vec<Value> {
    vectors_in("roce.json", part)
}
