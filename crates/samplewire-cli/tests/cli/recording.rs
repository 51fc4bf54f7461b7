//! A recording equals what was sent.

use std::fs::{self, File};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use samplewire_record::sigmf::{Metadata, sha512_of};
use samplewire_testing::skip;

use crate::harness::{Device, folder, has_program, real_recording, run, text};

/// The faults of a bad wire, in each direction.
const BAD_WIRE: [&str; 4] = [
    "--fault",
    "data:loss=0.01,corrupt=0.001,dup=0.001,reorder=0.01,seed=3",
    "--fault",
    "feedback:loss=0.01,corrupt=0.001,dup=0.001,reorder=0.01,seed=4",
];

#[test]
fn real_recording_crosses_a_bad_wire_whole() {
    let Some(source) = real_recording() else { return };
    let mut arguments = vec!["--source", text(&source), "--rate", "max", "--loop", "60"];
    arguments.extend(["--payload", "1408"]);
    arguments.extend(BAD_WIRE);
    let device = Device::start(&arguments);
    let folder = folder("whole");
    let file = folder.join("out.sigmf-data");
    let ran = run(&["record", &device.address, text(&file)]).expect(0);
    assert!(ran.text().contains("whole: 21,412,080 samples"), "{}", ran.text());
    let original = fs::read(source.with_extension("sigmf-data")).unwrap();
    let received = fs::read(&file).unwrap();
    assert_eq!(received.len(), original.len() * 60);
    assert!(received.chunks(original.len()).all(|round| round == original));
    let meta = fs::read_to_string(folder.join("out.sigmf-meta")).unwrap();
    let metadata = Metadata::parse(&meta).unwrap();
    let hash = sha512_of(&mut File::open(&file).unwrap()).unwrap();
    assert_eq!(metadata.sha512, Some(hash));
    assert_eq!((metadata.rate_hz, metadata.captures.len()), (Some(2e6), 1));
    assert_eq!(metadata.captures[0].frequency_hz, Some(1.09e9));
    let ran = device.interrupt().expect(0);
    let words = ran.text();
    assert!(words.contains("session 1: finished: 21,412,080 samples"), "{words}");
    assert!(!words.contains(" 0 retransmissions"), "{words}");
    assert!(words.contains("\n  data       "), "{words}");
}

#[test]
fn faults_may_be_put_on_the_receiving_side() {
    let device = Device::start(&["--source", "counter", "--rate", "max", "--payload", "1408"]);
    let file = folder("receiving-side").join("out.sc16");
    let arguments = ["record", &device.address, text(&file), "--nsamps", "4M", "--fault"];
    let ran = run(&[&arguments[..], &["data:loss=0.05,seed=3"]].concat()).expect(0);
    assert!(!ran.text().contains(" 0 repaired"), "{}", ran.text());
    let lost = |side: &str| {
        let line = ran.text().lines().find(|line| line.trim_start().starts_with(side));
        line.unwrap().split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_ne!(lost("data "), "0");
    assert_eq!(lost("feedback "), "0");
    let bytes = fs::read(&file).unwrap();
    assert_eq!(bytes.len(), 16_000_000);
    assert_eq!(samplewire::source::counter_mismatch(0, &bytes), None);
}

#[test]
fn index_goes_on_from_session_to_session() {
    let device = Device::start(&["--source", "counter", "--rate", "max"]);
    let folder = folder("sessions");
    let mut next = 0;
    for session in 1..=3 {
        let file = folder.join(format!("{session}.raw"));
        let ran = run(&["record", &device.address, text(&file), "--nsamps", "100000"]).expect(0);
        let (_, after) = ran.text().split_once("from index ").unwrap();
        let first: u64 = after.lines().next().unwrap().parse().unwrap();
        assert!(first >= next, "session {session} starts at {first}");
        next = first + 100_000;
        let bytes = fs::read(&file).unwrap();
        assert_eq!(samplewire::source::counter_mismatch(first, &bytes), None);
    }
    let ran = device.interrupt().expect(0);
    assert!(ran.text().contains("session 3: closed by the receiver"), "{}", ran.text());
}

#[test]
fn standard_output_carries_samples_and_nothing_else() {
    let Some(source) = real_recording() else { return };
    let device = Device::start(&["--source", text(&source), "--rate", "max", "--once"]);
    let ran = run(&["record", &device.address, "-"]).expect(0);
    assert!(ran.stdout == fs::read(source.with_extension("sigmf-data")).unwrap());
    assert!(ran.stderr.contains("whole: 356,868 samples"), "{}", ran.stderr);
    device.finish().expect(0);
}

#[test]
fn standard_input_is_a_source() {
    let samples: Vec<u8> = (0..1_000_000_u32).map(|at| (at ^ (at >> 8)) as u8).collect();
    let arguments = ["--source", "-", "--format", "sc16", "--rate", "max:2M"];
    let device = Device::fed(&arguments, samples.clone());
    let ran = run(&["record", &device.address, "-"]).expect(0);
    assert!(ran.stdout == samples);
    device.finish().expect(0);
}

#[test]
fn standard_input_that_ends_within_a_sample_is_reported() {
    let arguments = ["--source", "-", "--format", "sc16", "--rate", "max:2M"];
    let device = Device::fed(&arguments, vec![0; 1_000_002]);
    let ran = run(&["record", &device.address, "null"]).expect(2);
    assert!(ran.stderr.contains("the device's source failed"), "{}", ran.stderr);
    let words = String::from_utf8_lossy(&ran.stdout);
    assert!(words.contains("250,000 samples"), "what came before is there: {words}");
    device.finish().expect_error(3, &["truncated recording", "1000002 bytes"]);
}

#[test]
fn samples_are_converted_to_the_type_asked_for() {
    let device = Device::start(&["--source", "counter", "--rate", "max"]);
    let file = folder("type").join("out.sigmf-data");
    let arguments = ["record", &device.address, text(&file), "--nsamps", "1000", "--type", "fc32"];
    run(&arguments).expect(0);
    let bytes = fs::read(&file).unwrap();
    assert_eq!(bytes.len(), 8_000);
    let second = f32::from_le_bytes(bytes[8..12].try_into().unwrap());
    assert_eq!(second, 1.0 / 32_768.0);
    let meta = fs::read_to_string(file.with_extension("sigmf-meta")).unwrap();
    assert!(meta.contains("cf32_le"), "{meta}");
}

#[test]
fn every_index_is_in_the_file_or_in_a_gap() {
    let faults = "data:loss=0.1,reorder=0.02,seed=5";
    let arguments =
        ["--source", "counter", "--rate", "max", "--payload", "1408", "--fault", faults];
    let device = Device::start(&arguments);
    let file = folder("gaps").join("out.raw");
    let arguments = ["record", &device.address, text(&file), "--nsamps", "1M", "--json"];
    let ran = run(&[&arguments[..], &["--delivery", "best-effort"]].concat()).expect(3);
    let document: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let bytes = fs::read(&file).unwrap();
    let mut samples = bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
    let mut next = 0;
    for gap in document["gaps"].as_array().unwrap() {
        let first = gap["first_index"].as_u64().unwrap();
        for index in next..first {
            assert_eq!(samples.next(), Some(index as u32));
        }
        next = first + gap["samples"].as_u64().unwrap();
    }
    for index in next..1_000_000 {
        assert_eq!(samples.next(), Some(index as u32));
    }
    assert_eq!(samples.next(), None);
}

#[test]
fn gaps_are_in_the_metadata_where_the_samples_break_off() {
    let arguments = ["--source", "counter", "--rate", "max", "--fault", "data:loss=0.05,seed=6"];
    let device = Device::start(&arguments);
    let file = folder("captures").join("out.sigmf-data");
    let arguments = ["record", &device.address, text(&file), "--nsamps", "1M", "--json"];
    let ran = run(&[&arguments[..], &["--delivery", "best-effort"]].concat()).expect(3);
    let document: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let meta = fs::read_to_string(file.with_extension("sigmf-meta")).unwrap();
    let meta: serde_json::Value = serde_json::from_str(&meta).unwrap();
    let gaps = meta["annotations"].as_array().unwrap();
    assert_eq!(gaps.len() as u64, document["end"]["gaps"]);
    for (noted, gap) in gaps.iter().zip(document["gaps"].as_array().unwrap()) {
        assert_eq!(noted["samplewire:first_index"], gap["first_index"]);
        assert_eq!(noted["samplewire:not_repaired"], gap["samples"]);
    }
    let bytes = fs::read(&file).unwrap();
    let samples = bytes.as_chunks::<4>().0;
    let captures = meta["captures"].as_array().unwrap();
    assert!(captures.len() >= gaps.len());
    for capture in captures {
        let start = capture["core:sample_start"].as_u64().unwrap() as usize;
        let index = u32::from_le_bytes(samples[start]);
        assert_eq!(capture["core:global_index"], index);
    }
}

#[test]
fn times_of_the_device_are_in_the_captures() {
    let arguments = ["--source", "counter", "--rate", "1M", "--time-source", "system"];
    let faults = ["--fault", "data:loss=0.2,seed=6", "--payload", "1408"];
    let device = Device::start(&[&arguments[..], &faults].concat());
    let folder = folder("times");
    let zero = |name: &str, options: &[&str], sample_ns: u64| {
        let file = folder.join(name);
        let arguments = ["record", &device.address, text(&file), "--delivery", "best-effort"];
        let ran = run(&[&arguments[..], options].concat()).expect(3);
        let meta = fs::read_to_string(file.with_extension("sigmf-meta")).unwrap();
        let meta: serde_json::Value = serde_json::from_str(&meta).unwrap();
        let captures = meta["captures"].as_array().unwrap();
        assert!(captures.len() > 3, "{}: there are gaps", ran.text());
        let of_zero = |capture: &serde_json::Value| {
            let index = capture["core:global_index"].as_u64().unwrap();
            assert!(capture["core:datetime"].as_str().unwrap().starts_with("20"), "{capture}");
            capture["samplewire:tai_ns"].as_u64().unwrap() - index * sample_ns
        };
        let global = &meta["global"];
        let timed = global["samplewire:timed_index"].as_u64().unwrap();
        let last = global["samplewire:timed_index_tai_ns"].as_u64().unwrap() - timed * sample_ns;
        let first = of_zero(&captures[0]);
        assert!(captures.iter().all(|it| of_zero(it) == first) && last == first, "{meta:#}");
        first
    };
    let plain = zero("plain", &["--nsamps", "100k"], 1_000);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    assert!(plain.abs_diff(now) < 600_000_000_000, "{plain} is some seconds before {now}");
    let slower = zero("slower", &["--nsamps", "100k", "--chain", "decimate:8"], 8_000);
    assert_eq!(slower, plain, "index 0 keeps its time behind a chain");
    device.interrupt().expect(0);
}

#[test]
fn tshark_reads_the_capture() {
    let device = Device::start(&["--source", "noise", "--rate", "max"]);
    let capture = folder("capture").join("out.pcapng");
    let arguments =
        ["record", &device.address, "null", "--nsamps", "200k", "--capture", text(&capture)];
    let ran = run(&arguments).expect(0);
    let (_, after) = ran.text().split_once("out.pcapng: ").unwrap();
    let (count, _) = after.split_once(" packets").unwrap();
    let count: usize = count.replace(',', "").parse().unwrap();
    if !has_program("tshark") {
        return;
    }
    let shown = Command::new("tshark").arg("-r").arg(&capture).output().unwrap();
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    assert_eq!(String::from_utf8(shown.stdout).unwrap().lines().count(), count);
}

#[test]
fn probe_describes_the_stream_without_opening_it() {
    let Some(source) = real_recording() else { return };
    let device = Device::start(&["--source", text(&source), "--payload", "1408"]);
    let ran = run(&["probe", &device.address]).expect(0);
    for words in ["modes1", "uc8, 1 channel, 2 MS/s at 1.09 GHz", "1,408 bytes", "protocol 1"] {
        assert!(ran.text().contains(words), "no `{words}` in {}", ran.text());
    }
    let ran = run(&["probe", &device.address, "--json"]).expect(0);
    let info: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((&info["format"], &info["rate_hz"]), (&"uc8".into(), &2e6.into()));
    assert_eq!(info["path_mtu_bytes"], 9_000);
    let ran = device.interrupt().expect(0);
    assert!(!ran.text().contains("session 1"), "{}", ran.text());
}

#[test]
fn parts_of_a_split_recording_are_proven_as_one() {
    let device = Device::start(&["--source", "counter", "--rate", "max"]);
    let file = folder("split").join("out");
    let arguments = ["record", &device.address, text(&file), "--nsamps", "1M", "--split", "1500k"];
    let ran = run(&arguments).expect(0);
    assert!(ran.text().contains("out-0003.sigmf-data: 1,000,000 samples"), "{}", ran.text());
    let part = |number: u32| file.with_file_name(format!("out-000{number}.sigmf-data"));
    let bytes: Vec<u8> = (1..=3).flat_map(|number| fs::read(part(number)).unwrap()).collect();
    assert_eq!(bytes.len(), 4_000_000);
    assert_eq!(fs::metadata(part(1)).unwrap().len(), 1_500_000);
    let ran = run(&["verify", text(&file)]).expect(0);
    assert!(ran.text().contains("(1,000,000)"), "{}", ran.text());
    run(&arguments).expect_error(1, &["out-0001.sigmf-meta exists"]);
    fs::remove_file(part(3).with_extension("sigmf-meta")).unwrap();
    fs::remove_file(part(3)).unwrap();
    run(&["verify", text(&file)])
        .expect_error(3, &["it continues in ", "out-0003, which is not there"]);
    let raw = ["record", &device.address, "null", "--split", "1M"];
    run(&raw).expect_error(1, &["null: only a SigMF recording"]);
}

#[test]
fn direct_recording_is_proven() {
    let device = Device::start(&["--source", "counter", "--rate", "max"]);
    let file = folder("direct").join("out");
    let arguments = ["record", &device.address, text(&file), "--nsamps", "3M", "--direct"];
    let ran = run(&arguments);
    if ran.stderr.contains("cannot be written directly: the file system") {
        assert!(ran.stderr.contains("tip: leave --direct out"), "{ran:?}");
        return skip("no direct files here");
    }
    ran.expect(0);
    let ran = run(&["verify", text(&file)]).expect(0);
    assert!(ran.text().contains("data       3,000,000 samples, 12,000,000 bytes"), "{ran:?}");
    let bytes = fs::read(file.with_extension("sigmf-data")).unwrap();
    assert_eq!(samplewire::source::counter_mismatch(0, &bytes), None);
}

#[test]
fn compressed_recording_is_proven_and_decompressed_by_zstd() {
    let device = Device::start(&["--source", "counter", "--rate", "max"]);
    let file = folder("compress").join("out");
    let record = ["record", &device.address, text(&file), "--nsamps", "3M", "--compress", "zstd"];
    run(&[&record[..], &["--split", "8M"]].concat()).expect(0);
    let ran = run(&["verify", text(&file)]).expect(0);
    assert!(ran.text().contains("data       3,000,000 samples, 12,000,000 bytes"), "{ran:?}");
    let part = file.with_file_name("out-0001.sigmf-data.zst");
    let again = Device::start(&["--source", text(&part), "--rate", "max"]);
    let back = file.with_file_name("back.sc16");
    run(&["record", &again.address, text(&back), "--nsamps", "1M"]).expect(0);
    assert_eq!(samplewire::source::counter_mismatch(0, &fs::read(&back).unwrap()), None);
    run(&[&record[..], &["--direct"]].concat()).expect_error(1, &["--compress", "--direct"]);
    if has_program("zstd") {
        let ran = Command::new("zstd").args(["-dcq", text(&part)]).output().unwrap();
        assert!(ran.status.success());
        assert_eq!(ran.stdout.len(), 8_000_000);
        let mismatch = samplewire::source::counter_mismatch(0, &ran.stdout);
        assert_eq!(mismatch, None);
    }
}
