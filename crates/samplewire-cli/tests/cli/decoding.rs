//! `decode` against the shared vectors, and captures of every kind.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::captures::{
    CLIENT, DEVICE, START_NS, ethernet, ipv4, ipv6, packet, packets_of, pcap, vectors,
    write_datagrams, write_payloads,
};
use crate::harness::{Device, Ran, folder, run, spawn, text, wait};

/// Each packet's JSON.
fn decode(path: &Path, options: &[&str]) -> Vec<Value> {
    let ran = run(&[&["decode", text(path), "--json"], options].concat()).expect(0);
    objects(&ran)
}

fn objects(ran: &Ran) -> Vec<Value> {
    ran.text().lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

fn capture_of(test: &str, payloads: &[Vec<u8>]) -> PathBuf {
    let path = folder(test).join("capture.pcapng");
    write_payloads(&path, payloads);
    path
}

#[test]
fn every_vector_is_decoded_to_its_fields() {
    let vectors = vectors("packets.json");
    let path = capture_of("decode-vectors", &packets_of(&vectors));
    let lines = decode(&path, &["--verbose"]);
    assert_eq!(lines.len(), vectors.len());
    for (place, (line, vector)) in lines.iter().zip(&vectors).enumerate() {
        let name = &vector["name"];
        assert_eq!(
            (&line["type"], &line["header"]),
            (&vector["type"], &vector["header"]),
            "{name}"
        );
        for (field, value) in vector["body"].as_object().unwrap() {
            match &field[..] {
                "total_len" => assert_eq!(&line["len_bytes"], value, "{name}"),
                field => assert_eq!(&line["body"][field], value, "{name}: {field}"),
            }
        }
        let hex = vector["hex"].as_str().unwrap();
        assert_eq!(line["len_bytes"], hex.len() / 2, "{name}");
        assert_eq!((&line["crc"], &line["error"]), (&"ok".into(), &Value::Null), "{name}");
        assert_eq!((&line["source"], &line["destination"]), (&DEVICE.into(), &CLIENT.into()));
        assert_eq!((&line["frame"], &line["version"]), (&(place + 1).into(), &1.into()));
        assert_eq!(line["time_ns"], START_NS + 1_000 * place as u64);
    }
}

#[test]
fn every_invalid_vector_is_shown_with_its_error() {
    let vectors = vectors("invalid.json");
    let path = capture_of("decode-invalid", &packets_of(&vectors));
    let lines = decode(&path, &["--port", "9100"]);
    assert_eq!(lines.len(), vectors.len());
    for (line, vector) in lines.iter().zip(&vectors) {
        let (name, error) = (&vector["name"], &vector["error"]);
        assert_eq!(&line["error"]["name"], error, "{name}");
        let is_bad = *error == "Crc" || *error == "TooShort";
        assert_eq!(line["crc"], if is_bad { "bad" } else { "ok" }, "{name}");
        assert_eq!(line["body"], Value::Null, "{name}");
        if !["TooShort", "Version"].contains(&error.as_str().unwrap()) {
            assert_eq!(line["header"]["tag"], 0x5eed_0001, "{name}");
        }
    }
    let ran = run(&["decode", text(&path), "--port", "9100"]).expect(0);
    for words in ["type 9 (unknown)", "crc BAD", "packet type 9 is reserved", "crc mismatch"] {
        assert!(ran.text().contains(words), "no `{words}` in\n{}", ran.text());
    }
    for words in ["34 frames, 34 packets", "4 with a bad crc", "2 of an unknown type", "malformed"]
    {
        assert!(ran.stderr.contains(words), "no `{words}` in\n{}", ran.stderr);
    }
}

#[test]
fn words_have_what_the_header_and_body_say() {
    let names = ["accept", "data_of_1408_bytes_again_and_ask", "report_of_2_ranges", "refuse_busy"];
    let path = capture_of("decode-words", &names.map(packet));
    let ran = run(&["decode", text(&path)]).expect(0);
    let lines: Vec<_> = ran.text().lines().collect();
    let expected: [&[&str]; 4] = [
        &[
            "0.000000000  10.0.0.1:9100 > 10.0.0.2:40000  ACCEPT",
            "245.76 MS/s",
            "1420405750 Hz",
            "name \"adc0/ch0-1\"",
            "clock quality 50 ns",
        ],
        // Two channels of sc16, and 22 bytes up to the payload: the ACCEPT says so.
        &[
            "0.000001000",
            "DATA tag 5eed0001 seq 2 index 352 [RETRANSMISSION ASK] samples 176",
            "bytes 1434 crc ok",
        ],
        &[
            "REPORT",
            "seq 78 index 4095",
            "[ASK FROM_OPENER]",
            "credit 1000",
            "requests 4294967288+4 2 ",
        ],
        &["REFUSE", "busy", "retry after 3000 ms"],
    ];
    for (line, expected) in lines.iter().zip(expected) {
        for words in expected {
            assert!(line.contains(words), "no `{words}` in\n{line}");
        }
    }
    let ran = run(&["decode", text(&path), "--verbose", "--type", "report,ACCEPT"]).expect(0);
    assert!(ran.text().contains("body.highest_end        16\n"), "{}", ran.text());
    assert!(!ran.text().contains("DATA"), "{}", ran.text());
    assert!(ran.stderr.contains("DATA 1, REPORT 1, ACCEPT 1, REFUSE 1"), "{}", ran.stderr);
}

#[test]
fn damaged_packets_show_once_their_ports_are_known() {
    let good = packet("mark");
    let mut bad = good.clone();
    bad[30] ^= 0x10;
    let noise = [0x10; 100];
    let path = folder("decode-noise").join("capture.pcapng");
    write_datagrams(
        &path,
        &[
            (DEVICE, CLIENT, &bad),
            (DEVICE, "10.0.0.9:53", &noise),
            (CLIENT, DEVICE, &good),
            (DEVICE, CLIENT, &bad),
            ("[2001:db8::1]:9100", "[2001:db8::2]:7", &good),
        ],
    );
    let lines = decode(&path, &[]);
    let frames: Vec<_> = lines.iter().map(|line| line["frame"].as_u64().unwrap()).collect();
    assert_eq!(frames, [3, 4, 5]);
    assert_eq!(lines[1]["error"]["name"], "Crc");
    assert_eq!(lines[2]["source"], "[2001:db8::1]:9100");
    assert_eq!(decode(&path, &["--port", "9100"]).len(), 5);
    assert_eq!(decode(&path, &["--port", "53"]).len(), 1);
    assert_eq!(decode(&path, &["--type", "BAD"]).len(), 1);
    let ran = run(&["decode", text(&path)]).expect(0);
    assert!(ran.stderr.contains("not ours   2 datagrams"), "{}", ran.stderr);
}

#[test]
fn joined_datagram_is_split_into_its_packets() {
    let data = packet("data_of_1408_bytes_again_and_ask");
    let mut damaged = data.clone();
    damaged[700] ^= 1;
    let run_of = |packets: &[&[u8]]| packets.concat();
    let path = capture_of(
        "decode-joined",
        &[
            run_of(&[&data, &damaged, &data, &packet("mark")]),
            run_of(&[&damaged, &data]),
            run_of(&[&packet("data_of_8_bytes"), &packet("data_of_8_bytes")]),
        ],
    );
    let lines = decode(&path, &[]);
    let seen: Vec<_> = lines
        .iter()
        .map(|line| (line["frame"].as_u64(), line["segment"].as_u64(), line["crc"].as_str()))
        .collect();
    let expected = [
        (1, 0, "ok"),
        (1, 1, "bad"),
        (1, 2, "ok"),
        (1, 3, "ok"),
        (2, 0, "bad"),
        (2, 1, "ok"),
        (3, 0, "ok"),
        (3, 1, "ok"),
    ];
    assert_eq!(seen, expected.map(|(frame, place, crc)| (Some(frame), Some(place), Some(crc))));
    assert_eq!((&lines[3]["type"], &lines[3]["len_bytes"]), (&"MARK".into(), &58.into()));
    let ran = run(&["decode", text(&path)]).expect(0);
    assert!(ran.stderr.contains("3 datagrams held 8 packets"), "{}", ran.stderr);
}

#[test]
fn frames_of_every_link_type_are_read() {
    let mark = packet("mark");
    let (ip4, ip6) = (ipv4(&mark), ipv6(&mark));
    let behind = |header: &[u8], ip: &[u8]| [header, ip].concat();
    let vlan = |tags: &[u8]| behind(&[&[0; 12], tags].concat(), &ip4);
    let sll = |kind: [u8; 2], ip: &[u8]| behind(&[&[0; 14][..], &kind].concat(), ip);
    let sll2 = |kind: [u8; 2], ip: &[u8]| behind(&[&kind[..], &[0; 18]].concat(), ip);
    let frames = [
        (1, ethernet(&mark)),
        (1, vlan(&[0x81, 0, 0, 5, 8, 0])),
        (1, vlan(&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0])),
        (1, behind(&[&[0; 12][..], &[0x86, 0xdd]].concat(), &ip6)),
        (0, behind(&[2, 0, 0, 0], &ip4)),
        (0, behind(&[30, 0, 0, 0], &ip6)),
        (108, behind(&[0, 0, 0, 2], &ip4)),
        (101, ip4.clone()),
        (101, ip6.clone()),
        (228, ip4.clone()),
        (229, ip6.clone()),
        (113, sll([8, 0], &ip4)),
        (113, sll([0x86, 0xdd], &ip6)),
        (276, sll2([8, 0], &ip4)),
        (276, sll2([0x86, 0xdd], &ip6)),
    ];
    let path = folder("decode-links").join("capture.pcap");
    for (link_type, frame) in &frames {
        // The smallest Ethernet frame, and a cooked one, have padding after the packet.
        let frame = [&frame[..], &[0xee; 6]].concat();
        fs::write(&path, pcap(*link_type, &frame, frame.len())).unwrap();
        let lines = decode(&path, &[]);
        assert_eq!(lines.len(), 1, "link type {link_type}: {frame:02x?}");
        let line = &lines[0];
        assert_eq!((&line["crc"], &line["type"]), (&"ok".into(), &"MARK".into()));
        assert_eq!(line["time_ns"], 1_500_000_000u64);
        let source = line["source"].as_str().unwrap();
        assert!(["127.0.0.1:9100", "[::1]:9100"].contains(&source), "{source}");
    }
    fs::write(&path, pcap(127, &ip4, ip4.len())).unwrap();
    let ran = run(&["decode", text(&path)]).expect(0);
    assert!(ran.stderr.contains("1 frames of link type 127"), "{}", ran.stderr);
}

#[test]
fn packet_that_the_capture_cut_shows_its_header_where_the_port_is_named() {
    let frame = ethernet(&packet("data_of_1408_bytes_again_and_ask"));
    let path = folder("decode-cut").join("capture.pcap");
    fs::write(&path, pcap(1, &frame, 96)).unwrap();
    let ran = run(&["decode", text(&path)]).expect(0);
    assert_eq!(ran.text(), "");
    assert!(ran.stderr.contains("1 of the datagrams are cut off"), "{}", ran.stderr);
    let lines = decode(&path, &["--port", "9100"]);
    assert_eq!((&lines[0]["header"]["seq"], &lines[0]["crc"]), (&2.into(), &Value::Null));
    assert_eq!(lines[0]["error"]["words"], "54 of 1434 bytes were captured");
    fs::write(&path, pcap(1, &frame, 44)).unwrap();
    assert_eq!(decode(&path, &["--port", "9100"])[0]["header"], Value::Null);
}

#[test]
fn file_that_breaks_off_prints_what_was_before() {
    let path = capture_of("decode-broken", &[packet("mark"), packet("close"), packet("mark")]);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    let ran = run(&["decode", text(&path)]).expect(1);
    assert_eq!(ran.text().lines().count(), 2);
    assert!(ran.stderr.contains("2 frames, 2 packets"), "{}", ran.stderr);
    ran.expect_error(1, &["capture.pcapng: after frame 2 the file ends within a block"]);

    let mut lying = whole.clone();
    let at = whole.windows(4).rposition(|word| word == [6, 0, 0, 0]).expect("there is a packet");
    lying[at + 4..at + 8].copy_from_slice(&u32::MAX.to_le_bytes());
    fs::write(&path, &lying).unwrap();
    let ran = run(&["decode", text(&path)]);
    assert_eq!(ran.text().lines().count(), 2);
    ran.expect_error(1, &["says that it has 4294967295 bytes"]);
    lying[at + 4..at + 8].copy_from_slice(&whole[at + 4..at + 8]);
    lying[at + 8] = 7;
    fs::write(&path, &lying).unwrap();
    run(&["decode", text(&path)]).expect_error(1, &["names interface 7, of 1"]);
}

#[test]
fn what_is_no_capture_is_named() {
    let path = folder("decode-foreign").join("x");
    let refused = |bytes: &[u8], words: &[&str]| {
        fs::write(&path, bytes).unwrap();
        run(&["decode", text(&path)]).expect_error(1, words);
    };
    refused(b"", &["the file is empty"]);
    refused(
        b"\x1f\x8b\x08\x00 and so on, more than a head",
        &["begins with [1f, 8b, 08, 00]", "tshark"],
    );
    refused(b"ab", &["neither pcapng nor pcap"]);
    refused(b"\xd4\xc3\xb2\xa1 short", &["ends within a block that begins at byte 0"]);
    refused(b"\n\r\r\n\x1c\0\0\0MAGI and then some more", &["the block at byte 0 is malformed"]);
    run(&["decode", "/nowhere/x"]).expect_error(1, &["/nowhere/x", "No such file"]);
    run(&["decode", text(&path), "--type", "PING"]).expect_error(1, &["PING", "CLOSE_ACK", "BAD"]);
    run(&["decode", text(&path), "--port", "0"]).expect_error(1, &["'0'"]);
}

#[test]
fn standard_input_is_read_and_a_reader_that_leaves_is_no_error() {
    let path = capture_of("decode-stdin", &[packet("mark"), packet("close")]);
    let mut child = spawn(&["decode", "-"]);
    drop(child.stdout.take());
    child.stdin.take().unwrap().write_all(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(wait(&mut child).code(), Some(0));
}

#[test]
fn session_that_record_captured_is_decoded_whole() {
    let device = Device::start(&["--source", "counter", "--rate", "max"]);
    let path = folder("decode-session").join("out.pcapng");
    let fault = ["--fault", "data:loss=0.02,corrupt=0.02"];
    let arguments =
        ["record", &device.address, "null", "--nsamps", "300k", "--capture", text(&path)];
    run(&[&arguments[..], &fault].concat()).expect(0);
    let lines = decode(&path, &[]);
    let of = |kind: &'static str| {
        lines.iter().filter(move |line| line["type"] == kind && line["crc"] == "ok")
    };
    for kind in ["OPEN", "CHALLENGE", "ACCEPT", "DATA", "REPORT", "CLOSE"] {
        assert!(of(kind).count() > 0, "no {kind}");
    }
    let full = of("ACCEPT").next_back().unwrap()["body"]["packet_samples"].clone();
    assert!(of("DATA").filter(|line| line["samples"] == full).count() > 50);
    assert!(lines.iter().any(|line| line["error"]["name"] == "Crc"));
    let repeats = of("DATA")
        .filter(|line| line["flags"].as_array().unwrap().contains(&"RETRANSMISSION".into()));
    assert!(repeats.count() > 0);
}
