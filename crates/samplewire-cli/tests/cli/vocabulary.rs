//! One name for one thing: options, formats and units; and requests that are not met are reported.

use std::fs;

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
