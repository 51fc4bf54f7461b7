//! `decode` of the block transfer against the shared vectors.

use std::fs;

use serde_json::Value;

use crate::captures::{capture, decode, pcap, unhex, vectors_in};
use crate::harness::{folder, run, text};

#[test]
fn every_vector_is_decoded_to_its_fields() {
    let vectors = vectors("frames");
    let path = capture("decode-block", &vectors);
    let lines = decode(&path, &["--verbose"]);
    assert_eq!(lines.len(), vectors.len());
    for (place, (line, vector)) in lines.iter().zip(&vectors).enumerate() {
        let name = &vector["name"];
        for field in ["type", "transfer", "seq", "packets", "bytes", "crc", "seqs"] {
            let expected = vector.get(field).unwrap_or(&Value::Null);
            assert_eq!(&line[field], expected, "{name}: {field}");
        }
        let (shown, expected) = (line["payload"].as_str(), vector["payload"].as_str());
        assert_eq!(shown.is_some(), expected.is_some(), "{name}");
        // Behind a short payload there is padding.
        let len_bytes = vector["hex"].as_str().unwrap().len() / 2;
        if let (Some(shown), Some(expected)) = (shown, expected) {
            let (payload, padding) = shown.split_at(expected.len());
            assert_eq!(payload, expected, "{name}");
            assert!(padding.is_empty() || len_bytes == 60, "{name}: {padding}");
        }
        assert_eq!((&line["len_bytes"], &line["error"]), (&len_bytes.into(), &Value::Null));
        assert_eq!((&line["frame"], &line["protocol"]), (&(place + 1).into(), &"block".into()));
        let addresses = (&line["source"], &line["destination"]);
        assert_eq!(addresses, (&"02:00:00:00:00:01".into(), &"02:00:00:00:00:02".into()));
    }
}

#[test]
fn every_invalid_vector_of_the_ether_type_is_shown_with_its_error() {
    let is_frame = |vector: &Value| vector["error"] != "EtherType" && vector["hex"] != "";
    let vectors: Vec<_> = vectors("invalid").into_iter().filter(is_frame).collect();
    assert!(vectors.len() > 15);
    let path = capture("decode-block-invalid", &vectors);
    let lines = decode(&path, &["--type", "BAD"]);
    assert_eq!(lines.len(), vectors.len());
    for (line, vector) in lines.iter().zip(&vectors) {
        assert_eq!(line["error"]["name"], vector["error"], "{}", vector["name"]);
        assert_eq!((&line["type"], &line["protocol"]), (&Value::Null, &"block".into()));
    }
    let ran = run(&["decode", text(&path)]).expect(0);
    assert!(ran.text().contains("BLOCK bytes 123; type 0x04 does not exist"), "{}", ran.text());
    assert!(ran.stderr.contains(" of the block transfer;"), "{}", ran.stderr);
}

#[test]
fn words_have_what_the_frames_say() {
    let path = capture("decode-block-words", &vectors("frames"));
    let ran = run(&["decode", text(&path), "--type", "block"]).expect(0);
    for words in [
        "02:00:00:00:00:01 > 02:00:00:00:00:02  BLOCK_DATA seq 0 payload 1481 bytes 1500",
        "BLOCK_DATA id 01020304 seq 4294967294 payload 100 bytes 123",
        "BLOCK_SUMMARY packets 2 payload 1,482 bytes 60",
        "BLOCK_SUMMARY id 01020304 packets 0 payload 0 crc-32c 00000000 bytes 60",
        "BLOCK_OK id 01020304 bytes 60",
        "BLOCK_CK id 01020304 bytes 60",
        "BLOCK_MI id 01020304 missing 1: 0 bytes 60",
        "BLOCK_MI missing 370: 4294966187 4294966190 4294966193 4294966196 4294966199 4294966202 \
         4294966205 4294966208 .. bytes 1499",
    ] {
        assert!(ran.text().contains(words), "no `{words}` in\n{}", ran.text());
    }
    for words in ["31 frames, 31 packets", "block      CK 1, DATA 13, MI 8, OK 3, SUMMARY 6"] {
        assert!(ran.stderr.contains(words), "no `{words}` in\n{}", ran.stderr);
    }
    let ran = run(&["decode", text(&path), "--verbose"]).expect(0);
    assert!(ran.text().contains("\n    bytes                   0x00000000000005ca\n"));
    assert_eq!(decode(&path, &["--type", "DATA"]).len(), 0);
    assert_eq!(decode(&path, &["--port", "9100"]).len(), 0);
}

#[test]
fn frame_that_the_capture_cut_is_an_error() {
    let frame = unhex(vectors("frames")[2]["hex"].as_str().unwrap());
    let path = folder("decode-block-cut").join("capture.pcap");
    fs::write(&path, pcap(1, &frame, 96)).unwrap();
    let lines = decode(&path, &[]);
    let words = format!("96 of {} bytes were captured", frame.len());
    assert_eq!(
        (&lines[0]["error"]["name"], &lines[0]["error"]["words"]),
        (&"Cut".into(), &words.into())
    );
    assert_eq!((&lines[0]["len_bytes"], &lines[0]["seq"]), (&frame.len().into(), &Value::Null));
    // Another link type has no Ethernet header.
    fs::write(&path, pcap(113, &frame, frame.len())).unwrap();
    assert_eq!(decode(&path, &[]).len(), 0);
}

/// A list of `vectors/block.json`.
fn vectors(part: &str) -> Vec<Value> {
    vectors_in("block.json", part)
}
