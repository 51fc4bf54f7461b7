//! The Lua dissector in tshark, against the shared vectors.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use samplewire_proto::Rng;
use samplewire_proto::crc::crc32c;
use serde_json::Value;

use crate::captures::{
    CLIENT, DEVICE, ethernet, packet, packets_of, pcap, pcap_of, vectors, write_datagrams,
    write_payloads,
};
use crate::harness::{Device, folder, has_program, run, text};

/// tshark with the dissector installed in a separate home, or `None` without tshark.
struct Tshark {
    home: PathBuf,
}

impl Tshark {
    fn new(test: &str) -> Option<Self> {
        if !has_program("tshark") {
            return None;
        }
        let home = folder(test);
        let plugins = home.join(".local/lib/wireshark/plugins");
        let ran = run(&["dissector", "--install", "--folder", text(&plugins)]).expect(0);
        assert!(ran.text().starts_with(text(&plugins.join("samplewire.lua"))), "{}", ran.text());
        Some(Self { home })
    }

    fn file(&self) -> PathBuf {
        self.home.join("capture.pcapng")
    }

    fn run(&self, options: &[&str]) -> String {
        let mut command = Command::new("tshark");
        command.env("HOME", &self.home).env_remove("XDG_CONFIG_HOME");
        command.args(["-n", "-r"]).arg(self.file()).args(options);
        let output = command.output().expect("tshark runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !stderr.contains("Lua"), "{stderr}");
        String::from_utf8(output.stdout).expect("its words are UTF-8")
    }

    /// Each frame's fields, as text; values of a field that is there several times have commas.
    fn fields(&self, options: &[&str], names: &[&str]) -> Vec<HashMap<String, String>> {
        let mut all = vec!["-T", "fields", "-E", "separator=/t", "-E", "quote=n"];
        all.extend(options);
        for name in names {
            all.extend(["-e", name]);
        }
        let row = |line: &str| {
            let cells = line.split('\t').map(String::from);
            names.iter().map(|name| (*name).to_owned()).zip(cells).collect()
        };
        self.run(&all).lines().map(row).collect()
    }
}

/// A number as tshark prints it, in decimals or as 0x and hex digits.
fn number(text: &str) -> u64 {
    let hex = text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
    hex.unwrap_or_else(|| text.parse()).unwrap_or_else(|_| panic!("`{text}` is no number"))
}

/// A number of the vectors.
fn wide(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| number(value.as_str().expect("a number")))
}

/// The dissector's name of a body's field.
fn field_name(kind: &str, field: &str) -> String {
    let name = match field {
        "tag" => "chosen_tag".into(),
        "reason" => format!("{}.reason", kind.to_lowercase()),
        field => field.into(),
    };
    format!("samplewire.{name}")
}

#[test]
fn every_field_of_every_vector_is_shown() {
    let Some(tshark) = Tshark::new("dissector-vectors") else { return };
    let vectors = vectors("packets.json");
    write_payloads(&tshark.file(), &packets_of(&vectors));
    let mut names: Vec<String> =
        ["flags", "tag", "index", "seq", "departure", "version", "type", "crc", "crc.status"]
            .map(|name| format!("samplewire.{name}"))
            .into();
    for vector in &vectors {
        let kind = vector["type"].as_str().unwrap();
        for field in vector["body"].as_object().unwrap().keys() {
            names.push(field_name(kind, field));
        }
    }
    let more = ["range.first", "range.count", "tlv.kind", "tlv.value"];
    names.extend(more.map(|name| format!("samplewire.{name}")));
    names.extend(["_ws.expert.message".into(), "_ws.malformed".into(), "udp.length".into()]);
    names.sort();
    names.dedup();
    names.retain(|name| !["samplewire.total_len", "samplewire.tlvs"].contains(&&name[..]));
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    // Without Decode As: the dissector knows the packets by their CRC.
    let frames = tshark.fields(&[], &names);
    assert_eq!(frames.len(), vectors.len());
    for (frame, vector) in frames.iter().zip(&vectors) {
        let name = vector["name"].as_str().unwrap();
        let kind = vector["type"].as_str().unwrap();
        let shown = |field: &str| &frame[field][..];
        let list = |field: &str| -> Vec<String> {
            shown(field).split(',').filter(|cell| !cell.is_empty()).map(String::from).collect()
        };
        for (field, value) in vector["header"].as_object().unwrap() {
            assert_eq!(number(shown(&format!("samplewire.{field}"))), wide(value), "{name}");
        }
        assert_eq!((shown("samplewire.version"), shown("samplewire.crc.status")), ("1", "1"));
        let hex = vector["hex"].as_str().unwrap();
        assert_eq!(
            number(shown("samplewire.crc")),
            number(&format!("0x{}", &hex[hex.len() - 8..]))
        );
        assert_eq!((shown("_ws.expert.message"), shown("_ws.malformed")), ("", ""), "{name}");
        for (field, value) in vector["body"].as_object().unwrap() {
            match (&field[..], value) {
                ("total_len", len) => {
                    assert_eq!(number(shown("udp.length")), wide(len) + 8, "{name}");
                }
                ("payload" | "cookie", bytes) => {
                    assert_eq!(shown(&field_name(kind, field)), bytes, "{name}");
                }
                ("ranges", ranges) => {
                    let ranges = ranges.as_array().unwrap();
                    assert_eq!(number(shown("samplewire.ranges")), ranges.len() as u64, "{name}");
                    for part in ["first", "count"] {
                        let expected: Vec<_> =
                            ranges.iter().map(|range| range[part].to_string()).collect();
                        assert_eq!(list(&format!("samplewire.range.{part}")), expected, "{name}");
                    }
                }
                ("tlvs", tlvs) => {
                    let tlvs = tlvs.as_array().unwrap();
                    let kinds: Vec<_> = tlvs.iter().map(|tlv| tlv["kind"].to_string()).collect();
                    assert_eq!(list("samplewire.tlv.kind"), kinds, "{name}");
                    let values: Vec<_> =
                        tlvs.iter().map(|tlv| tlv["value"].as_str().unwrap()).collect();
                    assert_eq!(list("samplewire.tlv.value"), values, "{name}");
                }
                (field, value) => {
                    let shown = shown(&field_name(kind, field));
                    assert_eq!(number(shown), wide(value), "{name}: {field}");
                }
            }
        }
    }
}

#[test]
fn every_invalid_vector_has_an_expert_note_that_names_its_error() {
    let Some(tshark) = Tshark::new("dissector-invalid") else { return };
    // What is empty has no dissector.
    let mut vectors = vectors("invalid.json");
    vectors.retain(|vector| vector["hex"] != "");
    write_payloads(&tshark.file(), &packets_of(&vectors));
    let names = ["_ws.expert.message", "_ws.expert.severity", "samplewire.crc.status"];
    let frames = tshark.fields(&["-d", "udp.port==9100,samplewire"], &names);
    assert_eq!(frames.len(), vectors.len());
    for (frame, vector) in frames.iter().zip(&vectors) {
        let (name, error) = (&vector["name"], vector["error"].as_str().unwrap());
        let expected = if error == "Crc" { "Bad CRC" } else { error };
        assert!(frame["_ws.expert.message"].starts_with(expected), "{name}: {frame:?}");
        let status = &frame["samplewire.crc.status"][..];
        assert_eq!(status == "0", error == "Crc", "{name}: {frame:?}");
    }
}

/// A list of `vectors/block.json`, and a capture of it.
fn block_vectors(tshark: &Tshark, part: &str, keeps: impl Fn(&Value) -> bool) -> Vec<Value> {
    let path = format!("{}/../../vectors/block.json", env!("CARGO_MANIFEST_DIR"));
    let json = fs::read_to_string(path).expect("the vectors lie beside the crates");
    let lists: Value = serde_json::from_str(&json).expect("the vectors are JSON");
    let mut vectors = lists[part].as_array().expect("a list of vectors").clone();
    vectors.retain(keeps);
    let frames = packets_of(&vectors);
    let frames: Vec<_> = frames.iter().map(|frame| (&frame[..], frame.len())).collect();
    fs::write(tshark.file(), pcap_of(1, &frames)).unwrap();
    vectors
}

#[test]
fn every_field_of_every_frame_of_the_block_transfer_is_shown() {
    let Some(tshark) = Tshark::new("dissector-block") else { return };
    let vectors = block_vectors(&tshark, "frames", |_| true);
    let fields = ["transfer", "seq", "packets", "bytes", "crc"];
    let mut names: Vec<_> = fields.map(|field| format!("samplewire_block.{field}")).into();
    names.extend(
        ["payload", "answer", "count", "missing"].map(|it| format!("samplewire_block.{it}")),
    );
    names.push("_ws.expert.message".into());
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let frames = tshark.fields(&["-Y", "samplewire_block"], &names);
    assert_eq!(frames.len(), vectors.len());
    for (frame, vector) in frames.iter().zip(&vectors) {
        let name = &vector["name"];
        let shown = |field: &str| &frame[&format!("samplewire_block.{field}")][..];
        for field in fields {
            match vector.get(field).filter(|value| !value.is_null()) {
                None => assert_eq!(shown(field), "", "{name}: {field}"),
                Some(value) => assert_eq!(number(shown(field)), wide(value), "{name}: {field}"),
            }
        }
        // Behind a short payload there is padding.
        let payload = vector["payload"].as_str().unwrap_or_default();
        assert!(shown("payload").starts_with(payload), "{name}");
        let kind = vector["type"].as_str().unwrap();
        let letters = if ["OK", "CK", "MI"].contains(&kind) { kind } else { "" };
        assert_eq!(shown("answer"), letters, "{name}");
        let seqs: Vec<_> = vector["seqs"].as_array().into_iter().flatten().map(wide).collect();
        let missing = shown("missing").split(',').filter(|cell| !cell.is_empty()).map(number);
        assert!(missing.eq(seqs.iter().copied()), "{name}");
        assert_eq!(shown("count").is_empty(), seqs.is_empty(), "{name}");
        assert_eq!(frame["_ws.expert.message"], "", "{name}");
    }
}

#[test]
fn every_invalid_frame_of_the_block_transfer_has_a_note_that_names_its_error() {
    let Some(tshark) = Tshark::new("dissector-block-invalid") else { return };
    let is_frame = |vector: &Value| vector["error"] != "EtherType" && vector["hex"] != "";
    let vectors = block_vectors(&tshark, "invalid", is_frame);
    let frames = tshark.fields(&["-Y", "samplewire_block"], &["_ws.expert.message"]);
    assert_eq!(frames.len(), vectors.len());
    for (frame, vector) in frames.iter().zip(&vectors) {
        let shown = &frame["_ws.expert.message"];
        let error = format!("{}: ", vector["error"].as_str().unwrap());
        assert!(shown.contains(&error) && !shown.contains("Lua"), "{}: {shown}", vector["name"]);
    }
}

#[test]
fn fields_filter_and_experts_count() {
    let Some(tshark) = Tshark::new("dissector-filter") else { return };
    let good = packet("mark");
    let mut bad = good.clone();
    bad[30] ^= 0x10;
    let unknown = &packets_of(&vectors("invalid.json"))[4];
    let noise = [0x10; 100];
    write_datagrams(
        &tshark.file(),
        &[
            (CLIENT, DEVICE, &good),
            (DEVICE, CLIENT, &bad),
            (DEVICE, CLIENT, unknown),
            (DEVICE, "10.0.0.9:5555", &noise),
        ],
    );
    let count = |filter: &str| tshark.run(&["-Y", filter]).lines().count();
    assert_eq!(count("samplewire"), 3);
    assert_eq!(count("samplewire.seq == 16"), 2);
    assert_eq!(count("samplewire.crc.bad"), 1);
    assert_eq!(count("samplewire.crc.status == 0"), 1);
    assert_eq!(count("samplewire.type.unknown"), 1);
    assert_eq!(count("samplewire.flags.ask == 1 && samplewire.type == 1"), 2);
    let words = tshark.run(&["-Y", "samplewire"]);
    assert!(words.contains("MARK seq=16 index=4096 [ASK] BAD CRC"), "{words}");
    assert!(words.contains("type 9 seq="), "{words}");
}

#[test]
fn joined_and_cut_datagrams_are_taken_apart() {
    let Some(tshark) = Tshark::new("dissector-joined") else { return };
    let data = packet("data_of_1408_bytes_again_and_ask");
    let mut damaged = data.clone();
    damaged[700] ^= 1;
    let run = |packets: &[&[u8]]| packets.concat();
    let first = run(&[&data, &damaged, &packet("mark")]);
    write_payloads(&tshark.file(), &[first, run(&[&damaged, &data])]);
    let names = ["samplewire.type", "samplewire.crc.status"];
    let frames = tshark.fields(&[], &names);
    let shown = |frame: &HashMap<String, String>| names.map(|name| frame[name].clone());
    assert_eq!(shown(&frames[0]), ["0,0,1", "1,0,1"]);
    assert_eq!(shown(&frames[1]), ["0,0", "0,1"]);
    let words = tshark.run(&["-q", "-z", "expert"]);
    assert!(words.contains("packets in one datagram"), "{words}");

    let frame = ethernet(&data);
    fs::write(tshark.file(), pcap(1, &frame, 96)).unwrap();
    let names = ["samplewire.seq", "_ws.expert.message"];
    let frames = tshark.fields(&["-d", "udp.port==9100,samplewire"], &names);
    assert_eq!(frames[0]["samplewire.seq"], "2");
    assert_eq!(frames[0]["_ws.expert.message"], "54 of 1434 bytes were captured");
}

/// A packet of the vectors with some bytes changed, added or removed, usually with a valid CRC:
/// this reaches the code behind the CRC check too.
fn mutated(packets: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = packets[rng.index(packets.len())].clone();
    bytes.truncate(bytes.len() - 4);
    for _ in 0..rng.index(4) {
        match rng.index(8) {
            0 => bytes.truncate(1 + rng.index(bytes.len())),
            1 => bytes.extend_from_slice(&rng.draw().to_be_bytes()[..1 + rng.index(8)]),
            2 => bytes[0] = 0x10 | rng.index(16) as u8,
            3 if bytes.len() > 1 => bytes[1] = rng.draw() as u8,
            4 if bytes.len() > ROLE => bytes[ROLE] = rng.draw() as u8,
            _ => {
                let at = rng.index(bytes.len().min(100));
                bytes[at] = [0, 1, 2, 8, 0x7f, 0xff][rng.index(6)];
            }
        }
    }
    let crc = if rng.index(8) == 0 { 0 } else { crc32c(&bytes) };
    bytes.extend(crc.to_be_bytes());
    bytes
}

/// The position of the role in an OPEN: one byte of a hundred, with an error of its own.
const ROLE: usize = 26;

#[test]
fn mutated_packets_have_the_error_that_decode_names() {
    let Some(tshark) = Tshark::new("dissector-mutated") else { return };
    let packets = packets_of(&vectors("packets.json"));
    let mut rng = Rng::new(6);
    let mutated: Vec<_> = (0..3_000).map(|_| mutated(&packets, &mut rng)).collect();
    write_payloads(&tshark.file(), &mutated);
    let file = tshark.file();
    let ran = run(&["decode", text(&file), "--json", "--port", "9100"]).expect(0);
    let options = ["-d", "udp.port==9100,samplewire"];
    let frames = tshark.fields(&options, &["_ws.expert.message"]);
    let lines: Vec<Value> =
        ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), frames.len()), (mutated.len(), mutated.len()));
    let mut seen = BTreeSet::new();
    for ((line, frame), bytes) in lines.iter().zip(&frames).zip(&mutated) {
        let shown = &frame["_ws.expert.message"];
        assert!(!shown.contains("Lua"), "{shown} {bytes:02x?}");
        let error = line["error"]["name"].as_str().unwrap_or("");
        let expected = if error == "Crc" { "Bad CRC" } else { error };
        assert!(shown.starts_with(expected), "{error}, {shown}: {bytes:02x?}");
        assert_eq!(error.is_empty(), shown.is_empty(), "{shown}: {bytes:02x?}");
        seen.insert(error.to_owned());
    }
    assert_eq!(seen.len(), 11, "every error, and none: {seen:?}");
}

#[test]
fn session_is_shown_as_decode_prints_it() {
    let Some(tshark) = Tshark::new("dissector-session") else { return };
    let device = Device::start(&["--source", "counter", "--rate", "max"]);
    let file = tshark.file();
    let arguments =
        ["record", &device.address, "null", "--nsamps", "100k", "--capture", text(&file)];
    run(&[&arguments[..], &["--fault", "data:loss=0.02,corrupt=0.02"]].concat()).expect(0);
    let names = ["frame.number", "samplewire.type", "samplewire.seq", "samplewire.crc.status"];
    let frames = tshark.fields(&["-Y", "samplewire"], &names);
    let shown: Vec<[u64; 4]> =
        frames.iter().map(|frame| names.map(|name| number(&frame[name]))).collect();
    let ran = run(&["decode", text(&file), "--json"]).expect(0);
    let decoded: Vec<[u64; 4]> = ran
        .text()
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let crc = u64::from(line["crc"] == "ok");
            let number = |value: &Value| value.as_u64().unwrap();
            [
                number(&line["frame"]),
                number(&line["type_number"]),
                number(&line["header"]["seq"]),
                crc,
            ]
        })
        .collect();
    assert!(decoded.len() > 40 && decoded.iter().any(|packet| packet[3] == 0));
    assert_eq!(shown, decoded);
}

#[test]
fn dissector_is_printed_or_installed_below_home() {
    let home = folder("dissector-home");
    let printed = run(&["dissector"]).expect(0);
    assert!(printed.text().contains("Proto(\"samplewire\""));
    let install = |home: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_samplewire"));
        command.args(["dissector", "--install"]).env("HOME", home).output().unwrap()
    };
    assert!(install(&home).status.success());
    let path = home.join(".local/lib/wireshark/plugins/samplewire.lua");
    assert_eq!(fs::read(&path).unwrap(), printed.stdout);
    let output = install(Path::new(""));
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--folder"));
    run(&["dissector", "--install", "--folder", "/proc/nowhere"])
        .expect_error(1, &["/proc/nowhere/samplewire.lua"]);
}
