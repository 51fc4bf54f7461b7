//! Bad input: the error names the value and says what to do next.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use samplewire_testing::skip;

use crate::harness::{Device, folder, run, text};

/// Checks what `emulate` says with these arguments.
#[track_caller]
fn refused(arguments: &[&str], words: &[&str]) {
    run(&[&["emulate"], arguments].concat()).expect_error(1, words);
}

#[test]
fn values_out_of_range_are_named() {
    refused(&["--window", "0"], &["`0`", "--window", "1 to 2^24"]);
    refused(&["--window", "16777217"], &["`16777217`", "1 to 2^24"]);
    refused(&["--payload", "1404"], &["--payload 1404", "must be a multiple of 8 bytes"]);
    refused(&["--payload", "0"], &["--payload 0"]);
    refused(&["--payload", "9000"], &["--payload 9000", "MTU"]);
    refused(&["--mtu", "100"], &["`100`", "--mtu", "576 to 9000"]);
    refused(&["--mtu", "9001"], &["`9001`", "576 to 9000"]);
    refused(&["--link-rate", "1k"], &["`1k`", "--link-rate", "10k to 10T"]);
    refused(&["--rate", "fast"], &["`fast`", "250M"]);
    refused(&["--rate", "0"], &["rate of 0 Hz"]);
    refused(&["--time-source", "gpsdo"], &["gpsdo", "--time-source", "possible values: system"]);
    let timed = ["--time-source", "system"];
    refused(&[&timed[..], &["--rate", "max"]].concat(), &["--time-source system", "--rate max"]);
    refused(&[&timed[..], &["--slow", "2"]].concat(), &["--time-source system", "--slow"]);
    let rates =
        ["--source", "counter", "--rate", "10M", "--chain", "decimate:10", "--play", "null"];
    // Its index would count one of the two rates, and all times of the other would be wrong.
    let words = ["sends 1 MS/s", "plays 10 MS/s", "one clock", "--chain"];
    refused(&rates, &words);
    refused(&[&timed[..], &rates].concat(), &words);
    refused(&["--loop", "0"], &["`0`", "forever"]);
    refused(&["--source", "tone:11M"], &["11000000 Hz", "half the rate"]);
    refused(&["--source", "tone"], &["tone:1e6"]);
    refused(&["a.sigmf-data"], &["'a.sigmf-data'", "--source a.sigmf-data"]);
    refused(&["--rate", "1M", "x.cf32", "y"], &["--source x.cf32"]);
    refused(&["127.0.0.1:9199"], &["--listen 127.0.0.1:9199"]);
    refused(&["--fault", "data:loss=2"], &["loss=2", "0 to 1"]);
    refused(&["--fault", "data:loss=0.1", "--fault", "data:dup=0.1"], &["data:dup=0.1", "commas"]);
    refused(&["--listen", "127.0.0.1:port"], &["`127.0.0.1:port`", "HOST:PORT"]);
    refused(&["--listen", "192.0.2.1:0"], &["192.0.2.1", "ip address"]);
}

#[test]
fn control_and_rate_that_contradict_each_other_are_named_by_every_verb_that_sends() {
    let bridge = ["bridge", "127.0.0.1:9", "--zmq-sub", "tcp://127.0.0.1:9"];
    let listen = ["bridge", "--listen", "127.0.0.1:0", "--zmq-sub", "tcp://127.0.0.1:9"];
    let verbs: [&[&str]; 5] = [
        &["emulate"],
        &["rate", "127.0.0.1:9", "--way", "both"],
        &["latency", "127.0.0.1:9"],
        &bridge,
        &listen,
    ];
    for verb in verbs {
        for (control, words) in [
            (&["fixed"][..], &["--control fixed needs", "add --control-rate"][..]),
            (
                &["none", "--control-rate", "2G"],
                &["--control none", "leave --control-rate 2000000000"],
            ),
            (
                &["dcqcn", "--control-rate", "9M"],
                &["--control dcqcn", "raise --control-rate 9000000"],
            ),
            (&["cubic"], &["cubic", "--control", "none, fixed, dcqcn"]),
        ] {
            run(&[verb, &["--control"], control].concat()).expect_error(1, words);
        }
    }
    let verbs: [&[&str]; 3] = [
        &["rate", "127.0.0.1:9"],
        &["bridge", "127.0.0.1:9", "--zmq-pub", "tcp://127.0.0.1:0"],
        &["emulate", "--listen", "127.0.0.1:0", "--play", "null"],
    ];
    for verb in verbs {
        for option in [["--control", "none"], ["--line-rate", "1G"]] {
            let ran = run(&[verb, &option].concat());
            ran.expect_error(
                1,
                &["--control limits what is sent", "--control-rate and --line-rate"],
            );
        }
    }
}

#[test]
fn options_of_record_out_of_range_are_named() {
    let device = Device::start(&["--source", "null", "--rate", "1M"]);
    let refused = |arguments: &[&str], words: &[&str]| {
        run(&[&["record", &device.address, "null"], arguments].concat()).expect_error(1, words);
    };
    refused(&["--window", "0"], &["`0`", "--window", "1 to 2^24"]);
    refused(&["--mtu", "100"], &["`100`", "--mtu", "576 to 9000"]);
    refused(&["--mtu", "9001"], &["`9001`", "576 to 9000"]);
    refused(&["--nsamps", "1.5"], &["`1.5`", "whole number"]);
    refused(&["--duration", "soon"], &["`soon`", "5ms"]);
    refused(&["--timeout", "2h"], &["`2h`"]);
    refused(&["--delivery", "deadline:31s"], &["31s", "1us to 30s"]);
    refused(&["--delivery", "some"], &["`some`", "best-effort"]);
    refused(&["--format", "sc12"], &["`sc12`", "sc16 (ci16_le, CS16)"]);
    refused(&["--type", "r16"], &["sc16 cannot become r16", "--format"]);
    refused(&["--fail-on", "speed=1"], &["`speed`", "late"]);
    refused(&["--owner", "0"], &["`0`", "--owner", "1 or more"]);
    refused(&["--json", "--json-stream"], &["--json-stream"]);
    refused(&["--capture", "/nowhere/out.pcapng"], &["/nowhere/out.pcapng", "No such file"]);
}

#[test]
fn window_beyond_the_memory_is_refused_before_it_is_taken() {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap();
    let available = meminfo.lines().find(|line| line.starts_with("MemAvailable:")).unwrap();
    let kibibytes: u64 = available.split_whitespace().nth(1).unwrap().parse().unwrap();
    if kibibytes > 140_000_000 {
        return skip(format_args!("{kibibytes} KiB of memory take the largest window"));
    }
    refused(&["--listen", "127.0.0.1:0", "--window", "16777216"], &["--window 16777216", "151 GB"]);
    let device = Device::start(&["--source", "null"]);
    let ran = run(&["record", &device.address, "null", "--window", "16777216"]);
    ran.expect_error(1, &["--window 16777216", "151 GB", "a smaller one"]);
}

#[test]
fn name_that_resolves_to_nothing_is_named() {
    let ran = run(&["record", "no-such-host.invalid", "null"]);
    ran.expect_error(2, &["`no-such-host.invalid`", "lookup", "HOST:PORT"]);
}

#[test]
fn file_that_exists_is_kept_unless_overwritten() {
    let device = Device::start(&["--source", "null", "--rate", "max"]);
    let file = folder("exists").join("out.sigmf-data");
    fs::write(&file, "mine").unwrap();
    let arguments = ["record", &device.address, text(&file), "--nsamps", "1000"];
    run(&arguments).expect_error(1, &["out.sigmf-data exists", "--overwrite"]);
    assert_eq!(fs::read(&file).unwrap(), b"mine");
    // The options fail before any device is queried.
    let of_no_device = ["record", "127.0.0.1:1", text(&file)];
    run(&of_no_device).expect_error(1, &["out.sigmf-data exists", "--overwrite"]);
    let capture = file.with_extension("pcapng");
    fs::write(&capture, "mine").unwrap();
    let captured = ["record", &device.address, "null", "--capture", text(&capture)];
    run(&captured).expect_error(1, &["out.pcapng exists", "--overwrite"]);
    run(&[&arguments[..], &["--overwrite"]].concat()).expect(0);
    assert_eq!(fs::read(&file).unwrap().len(), 4_000);
}

#[test]
fn folder_that_is_not_there_is_named() {
    let device = Device::start(&["--source", "null", "--rate", "max"]);
    let ran = run(&["record", &device.address, "/nowhere/out.raw"]);
    ran.expect_error(1, &["/nowhere/out.raw", "No such file"]);
}

#[test]
fn port_in_use_is_named() {
    let device = Device::start(&["--source", "null"]);
    let port = device.address.rsplit_once(':').unwrap().1;
    let ran = run(&["emulate", "--listen", &device.address]);
    ran.expect_error(1, &[&device.address, "in use", &format!("sport = :{port}"), "--listen"]);
}

#[test]
fn disk_that_is_full_is_reported_with_the_count() {
    let device = Device::start(&["--source", "null", "--rate", "max"]);
    let ran = run(&["record", &device.address, "/dev/full", "--nsamps", "1M"]);
    ran.expect_error(3, &["/dev/full", "no room for more than 0 samples", "make room"]);
}

#[test]
fn recording_on_a_full_disk_is_valid_as_far_as_it_goes() {
    let (disk, folder) = (folder("full-disk"), folder("full"));
    let device = Device::start(&["--source", "counter", "--rate", "max"]);
    let ran = Command::new("unshare")
        .args(["--mount", "sh", "-c", ON_A_TINY_DISK, env!("CARGO_BIN_EXE_samplewire")])
        .args([text(&disk), &device.address, text(&folder)])
        .output();
    let Ok(ran) = ran else { return skip("unshare is not installed") };
    let words = String::from_utf8(ran.stderr).unwrap();
    if ran.status.code() == Some(77) || words.contains("unshare: ") {
        return skip(format_args!("a file system cannot be mounted here (needs root): {words}"));
    }
    assert_eq!(ran.status.code(), Some(3), "{words}");
    for part in ["out.sigmf-data", "no room for more than", "No space left", "make room"] {
        assert!(words.contains(part), "no `{part}` in {words}");
    }
    let file = folder.join("out.sigmf-data");
    let bytes = fs::read(&file).unwrap();
    assert!(bytes.len() > 1_000_000 && bytes.len().is_multiple_of(4));
    assert_eq!(samplewire::source::counter_mismatch(0, &bytes), None);
    let meta = fs::read_to_string(file.with_extension("sigmf-meta")).unwrap();
    let metadata = samplewire_record::sigmf::Metadata::parse(&meta).unwrap();
    metadata.check_length(bytes.len() as u64 / 4).unwrap();
}

#[test]
fn recordings_that_cannot_be_played_are_named() {
    let folder = folder("sources");
    let source = |name: &str, meta: &str, data: &[u8]| -> PathBuf {
        fs::write(folder.join(format!("{name}.sigmf-meta")), meta).unwrap();
        fs::write(folder.join(format!("{name}.sigmf-data")), data).unwrap();
        folder.join(format!("{name}.sigmf-meta"))
    };
    let meta = |datatype: &str, more: &str| {
        format!(
            r#"{{"global": {{"core:datatype": "{datatype}", "core:version": "1.2.5",
                "core:sample_rate": 1e6{more}}}, "captures": [], "annotations": []}}"#
        )
    };
    let path = source("format", &meta("ci16_be", ""), &[0; 8]);
    refused(&["--source", text(&path)], &["format.sigmf-meta", "`ci16_be`", "ci16_le"]);
    let path = source("truncated", &meta("ci16_le", ""), &[0; 10]);
    refused(&["--source", text(&path)], &["truncated.sigmf-data", "10 bytes"]);
    let path = source("empty", &meta("ci16_le", ""), &[]);
    refused(&["--source", text(&path)], &["empty.sigmf-data", "no samples"]);
    let path = source("broken", "{", &[0; 8]);
    refused(&["--source", text(&path)], &["broken.sigmf-meta", "no JSON"]);
    let folder = path.parent().expect("it is in a folder");
    refused(&["--source", text(folder)], &["open", text(folder), "is a directory"]);
    let beyond = r#"{"global": {"core:datatype": "ci16_le", "core:version": "1.2.5",
        "core:sample_rate": 1e6}, "captures": [{"core:sample_start": 99}], "annotations": []}"#;
    let path = source("beyond", beyond, &[0; 8]);
    refused(&["--source", text(&path)], &["sample_start is 99", "end at 2"]);
    let hash = format!(r#", "core:sha512": "{}""#, "0".repeat(128));
    let path = source("hash", &meta("ci16_le", &hash), &[0; 8]);
    refused(&["--source", text(&path), "--verify"], &["hash.sigmf-meta", "core:sha512"]);
    let path = source("other", &meta("ci16_le", ""), &[0; 8]);
    refused(&["--source", text(&path), "--format", "sc8"], &["format sc8", "sc16"]);
    let raw = folder.join("samples.raw");
    fs::write(&raw, [0; 8]).unwrap();
    refused(&["--source", text(&raw), "--rate", "1M"], &["format", "--format"]);
    refused(&["--source", text(&raw), "--format", "sc16"], &["rate", "--rate 2M"]);
    refused(&["--source", "tune:1M"], &["tune:1M", "No such file", "tone:FREQ"]);
}

/// Mounts a small file system in a private mount namespace, so that it always disappears with the
/// process. Records there and copies the files out.
const ON_A_TINY_DISK: &str = "\
    mount -t tmpfs -o size=4m tmpfs \"$1\" || exit 77
    \"$0\" record \"$2\" \"$1/out.sigmf-data\" --nsamps 10M
    code=$?
    cp \"$1\"/out.* \"$3\"
    exit $code";

/// Before any packet is sent.
#[test]
fn card_of_a_stream_that_is_not_over_rdma_is_an_error_of_usage() {
    let publish = ["--zmq-pub", "tcp://127.0.0.1:0"];
    let bridge = [&["bridge", "127.0.0.1:9"][..], &publish].concat();
    for verb in [&["record", "127.0.0.1:9", "null"][..], &["rate", "127.0.0.1:9"], &bridge] {
        let ran = run(&[verb, &["--verbs", "rxe0"]].concat());
        ran.expect_error(1, &["--verbs rxe0 needs --carriage rdma"]);
    }
    let device = ["bridge", "--listen", "127.0.0.1:0", "--carriage", "rdma", "--verbs", "rxe0"];
    run(&[&device[..], &publish].concat()).expect_error(1, &["--verbs rxe0 contradicts --listen"]);
}
