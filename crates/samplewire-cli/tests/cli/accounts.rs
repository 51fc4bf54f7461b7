//! The account of a run: every index of its range is in one term (`docs/statistics.md#the-account`),
//! and a run that ended too early says so.

use std::thread::JoinHandle;
use std::time::Duration;

use samplewire::{DeviceOptions, Format, SendStream, StreamInfo};
use samplewire_proto::wire::Flags;
use serde_json::Value;

use crate::harness::{Device, METRICS, Ran, Running, folder, run, text, until_long};

const TERMS: [&str; 5] = ["samples", "missing", "left_out", "not_written", "before_first"];

/// The output of `record --json` at its end. Its account must add up, both by its own numbers and
/// by the others.
fn checked(ran: &Ran) -> Value {
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let end = &document["end"];
    let account = &end["account"];
    let of = |key: &str| account[key].as_u64().unwrap_or_else(|| panic!("{key} in {end}"));
    assert_eq!(TERMS.map(of).iter().sum::<u64>(), of("indexes"), "{end}");
    let delivered = end["samples_delivered"].as_u64().unwrap();
    assert_eq!(of("samples") + of("not_written"), delivered, "{end}");
    assert_eq!(account["missing"], end["samples_missing"], "{end}");
    assert_eq!(account["samples"], end["file_samples"], "{end}");
    if end["boots"] == 1 {
        let range = end["end_index"].as_u64().unwrap() - end["first_index"].as_u64().unwrap();
        assert_eq!(of("indexes"), range, "{end}");
    }
    end.clone()
}

fn account(end: &Value) -> [u64; 5] {
    TERMS.map(|term| end["account"][term].as_u64().unwrap())
}

fn send(it: &mut SendStream, index: u64, samples: usize, flags: Flags) {
    let filling = it.quantum(Duration::from_secs(9)).unwrap().expect("a free quantum");
    it.submit(filling, samples * 4, index, flags).expect("it follows");
}

/// A device that starts 500 indexes after its offer, leaves 700 out on purpose, loses 300 at its
/// source, and sends 1,056 samples.
fn late_device() -> (String, JoinHandle<()>) {
    let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
    let options = DeviceOptions::new().sends(info).payload_bytes(1_408);
    let mut device = options.listen("127.0.0.1:0").unwrap();
    let address = device.address.to_string();
    let thread = std::thread::spawn(move || {
        let listener = &mut device.listeners[0];
        let mut stream = listener.accept(Duration::from_secs(20)).unwrap().expect("it comes");
        let first = stream.session().first_index + 500;
        send(&mut stream, first, 352, Flags::START);
        send(&mut stream, first + 352 + 700, 352, Flags::START);
        send(&mut stream, first + 704 + 1_000, 352, Flags::OVERFLOW);
        stream.finish(0).unwrap();
    });
    (address, thread)
}

#[test]
fn indexes_before_the_first_sample_and_left_out_on_purpose_are_in_the_account() {
    for file in ["null".into(), folder("late-start").join("out")] {
        let (address, device) = late_device();
        let ran = run(&["record", &address, text(&file), "--json"]).expect(3);
        device.join().unwrap();
        let end = checked(&ran);
        assert_eq!(account(&end), [1_056, 300, 700, 0, 500], "{end}");
        assert_eq!(end["result"], "missing");
        assert_eq!(end["gap_samples_bounds"]["source_overflow"], "exact");
        assert_eq!(end["lost_at_bounds"]["device"], "exact");
    }
    let (address, device) = late_device();
    let ran = run(&["record", &address, "null", "--delivery", "best-effort"]).expect(3);
    device.join().unwrap();
    let line = "  account    2,556 indexes: 1,056 written, 300 missing, 700 left out by the device, \
                500 before the first sample\n";
    assert!(ran.text().contains(line), "{}", ran.text());
}

#[test]
fn samples_that_the_file_did_not_take_are_in_the_account() {
    let device = Device::start(&["--source", "null", "--rate", "max"]);
    let ran = run(&["record", &device.address, "/dev/full", "--nsamps", "1M", "--json"]).expect(3);
    let end = checked(&ran);
    let [written, missing, _, not_written, _] = account(&end);
    assert_eq!((written, missing), (0, 0), "{end}");
    assert!(not_written > 0, "{end}");
    assert_eq!(end["result"], "incomplete");
    let ran = run(&["record", &device.address, "/dev/full", "--nsamps", "1M"]).expect(3);
    for words in ["incomplete: 0 samples in ", " received but not written\n"] {
        assert!(ran.text().contains(words), "no `{words}` in {}", ran.text());
    }
}

#[test]
fn account_adds_up_wherever_the_recording_is_stopped() {
    let device = Device::start(&["--source", "counter", "--rate", "2M"]);
    let record = ["record", &device.address, "null", "--json"];
    let ran = run(&[&record[..], &["--duration", "250ms"]].concat()).expect(0);
    let end = checked(&ran);
    assert_eq!((&end["result"], &end["silent_s"]), (&"whole".into(), &Value::Null));
    let ran = run(&[&record[..], &["--nsamps", "100001"]].concat()).expect(0);
    assert_eq!(account(&checked(&ran))[0], 100_001);
    let recorder = Running::start(&[&record[..], &METRICS].concat());
    recorder.until_metric("samplewire_recording_samples_total", |samples| samples > 0.0);
    recorder.signal(libc::SIGINT);
    let ran = recorder.finish().expect(130);
    assert_eq!(checked(&ran)["result"], "interrupted");
}

#[test]
fn account_adds_up_over_gaps_and_two_runs_of_a_device() {
    let lossy = ["--source", "counter", "--rate", "2M", "--fault", "data:loss=0.05,seed=3"];
    let mut device = Device::start(&lossy);
    let file = folder("account-reconnect").join("out");
    let record = ["record", &device.address, text(&file), "--reconnect", "--json"];
    let more = ["--duration", "5s", "--delivery", "best-effort"];
    let recorder = Running::start(&[&record[..], &more].concat());
    until_long(&file.with_extension("sigmf-data"), 4 << 20);
    device.kill();
    let device = Device::start(&[&["--listen", &device.address], &lossy[..]].concat());
    let ran = recorder.finish().expect(3);
    let end = checked(&ran);
    assert_eq!((&end["boots"], &end["openings"]), (&2.into(), &2.into()), "{end}");
    assert!(end["gap_samples"]["never_asked"].as_u64() > Some(0), "{end}");
    assert_eq!(end["result"], "missing");
    device.interrupt();
    run(&["verify", text(&file)]).expect(0);
}

#[test]
fn recording_of_a_device_that_died_before_its_end_is_incomplete() {
    let mut device = Device::start(&["--source", "counter", "--rate", "2M"]);
    let record =
        ["record", &device.address, "null", "--json", "--progress", "--duration", "3500ms"];
    let recorder = Running::start(&[&record[..], &METRICS].concat());
    recorder.until_metric("samplewire_recording_samples_total", |samples| samples > 1e6);
    device.kill();
    let ran = recorder.finish().expect(3);
    let end = checked(&ran);
    assert_eq!((&end["result"], &end["exit_status"]), (&"incomplete".into(), &3.into()));
    assert_eq!(end["samples_missing"], 0, "no gap is known");
    let silent_s = end["silent_s"].as_f64().unwrap();
    assert!((1.5..3.5).contains(&silent_s), "{silent_s}");
    let line = ran.stderr.lines().find(|line| line.contains("  device silent for "));
    let line = line.unwrap_or_else(|| panic!("no word about the silence: {}", ran.stderr));
    let (_, left) = line.split_once(", given up in ").expect("when it is given up");
    let left: f64 = left.trim_end().trim_end_matches(" s").parse().expect("seconds");
    assert!((10.0..15.0).contains(&left), "{line}");
}

#[test]
fn recording_that_ends_without_a_stream_is_incomplete() {
    let mut device = Device::start(&["--source", "counter", "--rate", "2M"]);
    let record = ["record", &device.address, "null", "--reconnect", "--timeout", "300ms"];
    let recorder = Running::start(&[&record[..], &["--duration", "2s"], &METRICS].concat());
    recorder.until_metric("samplewire_recording_samples_total", |samples| samples > 1e6);
    device.kill();
    let ran = recorder.finish().expect(3);
    for words in ["incomplete: ", "  silent     nothing came from the device in the last 1."] {
        assert!(ran.text().contains(words), "no `{words}` in {}", ran.text());
    }
}

#[test]
fn rate_of_a_device_that_died_is_incomplete() {
    let mut device = Device::start(&["--source", "null", "--rate", "2M"]);
    let rate = ["rate", &device.address, "--duration", "2s", "--json"];
    let recorder = Running::start(&[&rate[..], &METRICS].concat());
    recorder.until_metric("samplewire_receiver_samples_delivered_total", |it| it > 1e6);
    device.kill();
    let ran = recorder.finish().expect(3);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let end = &document["end"];
    assert_eq!(end["result"], "incomplete");
    let account = &end["receive"]["account"];
    assert_eq!(account["samples"], account["indexes"], "{end}");
    assert!(end["receive"]["silent_s"].as_f64() > Some(0.5), "{end}");
}
