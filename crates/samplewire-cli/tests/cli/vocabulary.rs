//! One name for one thing: options, formats and units; and requests that are not met are reported.

use std::fs;

use serde_json::Value;

use crate::bridge::Bridge;
use crate::harness::{Device, folder, run, text};

#[test]
fn formats_durations_and_units_have_the_same_names_in_every_verb() {
    let device = Device::start(&[
        "--source",
        "null",
        "--format",
        "ci16_le",
        "--rate",
        "2MS/s",
        "--fault",
        "data:loss=1%",
    ]);
    let folder = folder("vocabulary");
    for (option, format, bytes) in [
        ("--format", "CF32", 8_000),
        ("--type", "cf32_le", 8_000),
        ("--type", "cs8", 2_000),
        ("--format", "sc16", 4_000),
    ] {
        let file = folder.join(format!("{format}.raw"));
        let arguments = ["record", &device.address, text(&file), "--nsamps", "1k"];
        run(&[&arguments[..], &[option, format]].concat()).expect(0);
        assert_eq!(fs::metadata(&file).unwrap().len(), bytes, "{option} {format}");
    }
    for option in ["--duration", "--seconds"] {
        run(&["record", &device.address, "null", option, "100ms"]).expect(0);
        run(&["rate", &device.address, option, "100ms"]).expect(0);
        run(&["sim", "soak", option, "10ms", "--threads", "1"]).expect(0);
    }
    for option in ["--duration", "--each"] {
        let small = ["--windows", "64", "--damage", "1%", "--mtu", "1500", "--rounds", "1"];
        run(&[&["study", "window", "--no-iperf3", option, "20ms"], &small[..]].concat()).expect(0);
    }
    run(&["demo", "--duration", "0.3s", "--rate", "1MHz"]).expect(0);
    let split = folder.join("split");
    let arguments = ["record", &device.address, text(&split), "--nsamps", "1k"];
    run(&[&arguments[..], &["--split", "2KiB"]].concat()).expect(0);
    assert_eq!(fs::metadata(folder.join("split-0001.sigmf-data")).unwrap().len(), 2_048);
}

#[test]
fn bridge_has_a_format_at_its_sockets_and_one_of_its_streams() {
    let device = Device::start(&["--source", "null", "--rate", "1M"]);
    for option in ["--format", "--type"] {
        let arguments = [device.address.as_str(), "--zmq-pub", "tcp://127.0.0.1:0", option, "CF32"];
        Bridge::start(&arguments).interrupt().expect(130);
    }
    let arguments = ["--listen", "127.0.0.1:0", "--zmq-sub", "tcp://127.0.0.1:9", "--format"];
    let bridge = Bridge::start(&[&arguments[..], &["fc32", "--stream-format", "ci16_le"]].concat());
    let probed = run(&["probe", bridge.address()]).expect(0);
    assert!(probed.text().contains("sc16, 1 channel"), "{}", probed.text());
}

#[test]
fn unknown_format_lists_all_names() {
    let names = ["`sc12`", "sc16 (ci16_le, CS16)", "fc32 (cf32_le, CF32)", "rf32 (rf32_le, F32)"];
    run(&["emulate", "--format", "sc12"]).expect_error(1, &names);
    run(&["emulate", "--rate", "10MB"]).expect_error(1, &["`10MB`", "10MHz", "2.5MS/s"]);
}

#[test]
fn window_that_the_device_does_not_hold_is_a_warning_and_in_the_json() {
    let device = Device::start(&["--source", "null", "--play", "null", "--rate", "1M"]);
    let file = folder("window").join("in.sc16");
    fs::write(&file, [0; 4_000]).unwrap();
    let address = device.address.as_str();
    for verb in [
        vec!["record", address, "null", "--nsamps", "1k"],
        vec!["rate", address, "--duration", "100ms"],
        // A busy machine takes a while for the memory of the window.
        vec!["replay", text(&file), address, "--format", "sc16", "--at", "+1.5s"],
    ] {
        let ran = run(&[&verb[..], &["--window", "8192", "--json"]].concat()).expect(0);
        let words = "warning: --window 8192: the device holds 1024 packets";
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
        let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(document["start"]["window_packets_requested"], 8_192, "{verb:?}");
        assert_eq!(document["start"]["window_packets_granted"], 1_024, "{verb:?}");
        let ran = run(&verb).expect(0);
        assert!(!ran.stderr.contains("--window"), "nothing was asked for: {}", ran.stderr);
    }
}

#[test]
fn file_name_that_states_a_format_converts_or_is_refused() {
    let device = Device::start(&["--source", "null", "--rate", "1M"]);
    let folder = folder("names");
    let record = |name: &str, more: &[&str]| {
        let file = folder.join(name);
        let arguments = ["record", &device.address, text(&file), "--nsamps", "1k"];
        (run(&[&arguments[..], more].concat()), file)
    };
    for (name, bytes) in
        [("x.fc32", 8_000), ("x.cfile", 8_000), ("x.cs8", 2_000), ("x.sc16", 4_000)]
    {
        let (ran, file) = record(name, &[]);
        let ran = ran.expect(0);
        assert_eq!(fs::metadata(&file).unwrap().len(), bytes, "{name}");
        assert_eq!(ran.text().contains("converted  from sc16 to "), bytes != 4_000, "{name}");
    }
    let (ran, _) = record("y.fc32", &["--json"]);
    let document: Value = serde_json::from_slice(&ran.expect(0).stdout).unwrap();
    assert_eq!(document["start"]["file_format"], "fc32");
    for (name, more, words) in [
        (
            "z.cs8",
            &["--format", "fc32"][..],
            "z.cs8: the name states sc8, and the samples are fc32",
        ),
        ("z.r16", &[], "z.r16: the name states r16, and the samples are sc16"),
        ("z.wav", &[], "z.wav: such files are not written: NAME alone is a SigMF recording"),
    ] {
        record(name, more).0.expect_error(1, &[words]);
    }
    assert!(fs::read_dir(&folder).unwrap().all(|it| !text(&it.unwrap().path()).contains("z.")));
}

#[test]
fn unknown_key_of_a_device_string_suggests_the_nearest() {
    for (place, words) in [
        ("adr=127.0.0.1,window=64", "Did you mean `addr=127.0.0.1`?"),
        ("addr=127.0.0.1,widnow=64", "Did you mean `window`?"),
    ] {
        run(&["record", place, "null"]).expect_error(1, &[words]);
    }
}
