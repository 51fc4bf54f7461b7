//! From host to device: `replay` and `emulate --play`.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::harness::{Device, Ran, Running, folder, real_recording, run, text, until_long};

const BAD_WIRE: [&str; 4] = [
    "--fault",
    "data:loss=0.01,corrupt=0.001,dup=0.001,reorder=0.01,seed=3",
    "--fault",
    "feedback:loss=0.01,corrupt=0.001,dup=0.001,reorder=0.01,seed=4",
];

/// Long enough for a busy machine.
const LEAD: &str = "+1.5s";

/// A raw file of sc16 that counts from 0.
fn counter(folder: &Path, samples: u32) -> PathBuf {
    let path = folder.join("counter.sc16");
    let bytes: Vec<u8> = (0..samples).flat_map(u32::to_le_bytes).collect();
    fs::write(&path, bytes).unwrap();
    path
}

/// The underruns that a device has printed: indexes, and the cause.
fn underruns(ran: &Ran) -> Vec<(Range<u64>, String)> {
    let lines = ran.text().lines().filter_map(|line| line.strip_prefix("underrun  index "));
    lines
        .map(|line| {
            let (range, rest) = line.split_once(' ').unwrap();
            let (first, last) = range.split_once("..").unwrap();
            let (_, cause) = rest.split_once("cause: ").unwrap();
            (first.parse().unwrap()..last.parse::<u64>().unwrap() + 1, cause.to_owned())
        })
        .collect()
}

/// The start index that a replay printed.
fn first_index(ran: &Ran) -> u64 {
    let (_, after) = ran.text().split_once("start      index ").unwrap();
    after.split(',').next().unwrap().parse().unwrap()
}

/// Checks the played samples of a counter: zeros in the underruns, the counter elsewhere.
fn check_played(file: &Path, first: u64, underruns: &[(Range<u64>, String)], samples: u64) {
    let bytes = fs::read(file).unwrap();
    for (at, sample) in (0..).zip(bytes.as_chunks::<4>().0) {
        let is_missing = underruns.iter().any(|(range, _)| range.contains(&(first + at)));
        let expected = if is_missing { 0 } else { at as u32 };
        assert_eq!(u32::from_le_bytes(*sample), expected, "sample {at}, from index {first}");
    }
    assert_eq!(bytes.len() as u64, samples * 4);
}

/// To the device through every fault, and back through every fault.
#[test]
fn real_recording_goes_to_the_device_and_comes_back_as_it_was() {
    let Some(source) = real_recording() else { return };
    let folder = folder("there-and-back");
    let (played, back) = (folder.join("played.sigmf-data"), folder.join("back.sigmf-data"));
    let mut arguments = vec!["--play", text(&played), "--format", "uc8", "--rate", "max:2M"];
    arguments.push("--once");
    let device = Device::start(&arguments);
    let mut arguments = vec!["replay", text(&source), &device.address, "--loop", "30"];
    arguments.extend(["--mtu", "1500"]);
    arguments.extend(BAD_WIRE);
    let ran = run(&arguments).expect(0);
    assert!(ran.text().contains("whole: 10,706,040 samples"), "{}", ran.text());
    assert!(!ran.text().contains(" 0 retransmissions"), "{}", ran.text());
    let ran = device.finish().expect(0);
    assert!(ran.text().contains("play 1: finished: 10,706,040 samples"), "{}", ran.text());
    let original = fs::read(source.with_extension("sigmf-data")).unwrap();
    let bytes = fs::read(&played).unwrap();
    assert_eq!(bytes.len(), original.len() * 30);
    assert!(bytes.chunks(original.len()).all(|round| round == original));
    let mut arguments = vec!["--source", text(&played), "--rate", "max", "--once"];
    arguments.extend(["--payload", "1408"]);
    arguments.extend(BAD_WIRE);
    let device = Device::start(&arguments);
    run(&["record", &device.address, text(&back)]).expect(0);
    device.finish().expect(0);
    assert!(fs::read(&back).unwrap() == bytes);
}

#[test]
fn sender_that_is_stopped_makes_underruns_that_are_named_to_the_sample() {
    let folder = folder("stopped");
    let source = counter(&folder, 3_000_000);
    let played = folder.join("played.raw");
    let arguments = ["--play", text(&played), "--rate", "1M", "--window", "64", "--once"];
    let device = Device::start(&arguments);
    let arguments =
        ["replay", text(&source), &device.address, "--format", "sc16", "--window", "64"];
    let replay = Running::start(&arguments);
    replay.until("start      index ");
    // A quarter of a second of samples is a MiB.
    for stopped_at in [1, 4] {
        until_long(&played, stopped_at << 20);
        replay.signal(libc::SIGSTOP);
        until_long(&played, (stopped_at + 2) << 20);
        replay.signal(libc::SIGCONT);
    }
    let sent = replay.finish().expect(3);
    assert!(sent.text().contains("not in time: 3,000,000 samples"), "{}", sent.text());
    let ran = device.finish().expect(3);
    let underruns = underruns(&ran);
    let long = underruns.iter().filter(|(range, _)| range.end - range.start > 100_000);
    assert_eq!(long.count(), 2, "{underruns:?}");
    assert!(underruns.iter().all(|(_, cause)| cause == "sender behind"), "{underruns:?}");
    check_played(&played, first_index(&sent), &underruns, 3_000_000);
    let missing: u64 = underruns.iter().map(|(range, _)| range.end - range.start).sum();
    let missing = grouped(missing);
    assert!(
        sent.text().contains(&format!("underflow  {missing} samples were missing")),
        "{missing}"
    );
}

/// `1,234,567`
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().collect();
    String::from_utf8(groups.join(&b',')).unwrap()
}

#[test]
fn policy_stop_ends_both_sides_with_3_at_the_first_missing_sample() {
    let folder = folder("policy-stop");
    let source = counter(&folder, 4_000_000);
    let played = folder.join("played.raw");
    let arguments = ["--play", text(&played), "--rate", "1M", "--window", "64", "--once"];
    let device = Device::start(&arguments);
    let arguments = ["replay", text(&source), &device.address, "--format", "sc16"];
    let arguments = [&arguments[..], &["--window", "64", "--underflow", "stop"]].concat();
    let replay = Running::start(&arguments);
    until_long(&played, 1 << 20);
    replay.signal(libc::SIGSTOP);
    device.until("stopped at an underrun");
    replay.signal(libc::SIGCONT);
    let sent = replay.finish();
    let first = first_index(&sent);
    sent.expect_error(3, &["the device stopped (--underflow stop)", "--at"]);
    let ran = device.finish().expect(3);
    assert!(ran.text().contains("stopped at an underrun"), "{}", ran.text());
    let underruns = underruns(&ran);
    assert_eq!(underruns.len(), 1, "{underruns:?}");
    check_played(&played, first, &[], underruns[0].0.start - first);
}

#[test]
fn bursts_are_captures_at_their_indexes() {
    let folder = folder("bursts");
    let source = counter(&folder, 50_000);
    let played = folder.join("played.sigmf-data");
    let device = Device::start(&["--play", text(&played), "--rate", "1M", "--once"]);
    let arguments = ["replay", text(&source), &device.address, "--format", "sc16"];
    let arguments = [&arguments[..], &["--burst", "20k", "--pause", "50ms", "--at", LEAD]].concat();
    let sent = run(&arguments).expect(0);
    assert!(sent.text().contains("bursts     3"), "{}", sent.text());
    let first = first_index(&sent);
    device.finish().expect(0);
    let meta = fs::read_to_string(played.with_extension("sigmf-meta")).unwrap();
    let meta: serde_json::Value = serde_json::from_str(&meta).unwrap();
    let captures = meta["captures"].as_array().unwrap();
    let found: Vec<_> = captures.iter().map(|it| it["core:global_index"].as_u64()).collect();
    assert_eq!(found, [first, first + 70_000, first + 140_000].map(Some));
    assert_eq!(samplewire::source::counter_mismatch(0, &fs::read(&played).unwrap()), None);
}

#[test]
fn replay_reports_in_json_and_fails_above_a_threshold() {
    let folder = folder("replay-json");
    let source = counter(&folder, 200_000);
    let device = Device::start(&["--play", "null", "--rate", "1M"]);
    let arguments = ["replay", text(&source), &device.address, "--format", "sc16", "--json"];
    let ran = run(&[&arguments[..], &["--at", LEAD, "--fail-on", "late=0,underflow=0"]].concat())
        .expect(0);
    let document: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let end = &document["end"];
    assert_eq!((&end["result"], &end["samples_sent"]), (&"whole".into(), &200_000.into()));
    assert_eq!((&end["samples_underflow"], &end["packets_late"]), (&0.into(), &0.into()));
    assert_eq!(document["start"]["device"]["rate_hz"], 1e6);
    let sent: u64 = document["intervals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|interval| interval["samples_sent"].as_u64().unwrap())
        .sum();
    assert_eq!(sent, 200_000);
    // Without a lead the first samples are late.
    let late = ["--at", "+0", "--fail-on", "underflow=0"];
    let ran = run(&[&arguments[..], &late[..]].concat()).expect(4);
    let document: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(document["end"]["thresholds_crossed"][0], "underflow=0");
    device.interrupt().expect(0);
}

#[test]
fn samples_are_converted_to_what_the_device_plays() {
    let folder = folder("converted");
    let source = folder.join("in.sc8");
    fs::write(&source, (0..40_000).map(|at| (at % 200) as u8).collect::<Vec<_>>()).unwrap();
    let played = folder.join("played.sc16");
    let device = Device::start(&["--play", text(&played), "--rate", "max:1M", "--once"]);
    let ran = run(&["replay", text(&source), &device.address, "--format", "sc8"]).expect(0);
    assert!(ran.text().contains("converted  from sc8 to sc16"), "{}", ran.text());
    device.finish().expect(0);
    let bytes = fs::read(&played).unwrap();
    let values = bytes.as_chunks::<2>().0.iter().map(|value| i16::from_le_bytes(*value));
    assert!(values.eq((0..40_000).map(|at| i16::from((at % 200) as u8 as i8) * 256)));
}

#[test]
fn interrupted_replay_is_130_and_what_was_played_is_whole() {
    let folder = folder("replay-interrupted");
    let source = counter(&folder, 1_000_000);
    let played = folder.join("played.raw");
    let device = Device::start(&["--play", text(&played), "--rate", "1M", "--once"]);
    let arguments = ["replay", text(&source), &device.address, "--format", "sc16"];
    let replay = Running::start(&[&arguments[..], &["--loop", "forever", "--at", LEAD]].concat());
    // More than a round of the loop.
    until_long(&played, 5 << 20);
    replay.signal(libc::SIGINT);
    let ran = replay.finish().expect(130);
    assert!(ran.text().contains("signal 2 came"), "{}", ran.text());
    let ran = device.finish().expect(0);
    assert!(ran.text().contains("underruns  0,"), "{}", ran.text());
    let bytes = fs::read(&played).unwrap();
    assert!(bytes.len() > 4_000_000, "{}", bytes.len());
    for round in bytes.chunks(4_000_000) {
        assert_eq!(samplewire::source::counter_mismatch(0, round), None);
    }
}

#[test]
fn index_that_has_passed_is_refused_with_what_to_do() {
    let folder = folder("passed");
    let source = counter(&folder, 100);
    let device = Device::start(&["--play", "null", "--rate", "1M"]);
    // Its clock began before it printed where it listens, and reaches 7 in 7 us.
    let arguments = ["replay", text(&source), &device.address, "--format", "sc16", "--at", "7"];
    run(&arguments).expect_error(2, &["refused: StartIndex", "--at +TIME"]);
}

/// `docs/protocol.md#6.10`
#[test]
fn index_too_far_ahead_is_refused_or_ends_the_stream_and_the_next_replay_plays() {
    let folder = folder("far-ahead");
    let source = counter(&folder, 1_000);
    let device = Device::start(&["--play", "null", "--rate", "1M", "--play-jump-max", "10s"]);
    let arguments = ["replay", text(&source), &device.address, "--format", "sc16"];
    let with = |more: &[&str]| run(&[&arguments[..], more].concat());
    with(&["--at", "4000000000000000000"]).expect_error(2, &["refused: StartIndex", "too far"]);
    with(&["--at", "+5min"]).expect_error(2, &["jumped further ahead", "--play-jump-max"]);
    let sent = with(&["--at", LEAD]).expect(0);
    assert!(sent.text().contains("whole: 1,000 samples"), "{}", sent.text());
    let ran = device.interrupt().expect(0);
    assert!(ran.text().contains("the index jumps from "), "{}", ran.text());
}

#[test]
fn device_ends_at_once_while_it_waits_for_an_index_far_ahead() {
    let folder = folder("far-wait");
    let source = counter(&folder, 1_000);
    let device = Device::start(&["--play", "null", "--rate", "1M", "--play-jump-max", "120min"]);
    let arguments = ["replay", text(&source), &device.address, "--format", "sc16"];
    let replay = Running::start(&[&arguments[..], &["--at", "+60min"]].concat());
    device.until("opened at index");
    replay.until("start      index ");
    let started = std::time::Instant::now();
    device.interrupt().expect(0);
    // The device checks every 20 ms; the machine may be busy.
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    replay.signal(libc::SIGINT);
    replay.finish();
}

#[test]
fn replay_names_what_is_wrong() {
    let folder = folder("replay-wrong");
    let source = counter(&folder, 100);
    let device = Device::start(&["--play", "null", "--rate", "1M"]);
    let address = &device.address;
    run(&["replay", "absent.sc16", address, "--format", "sc16"])
        .expect_error(1, &["absent.sc16", "No such file"]);
    let raw = source.with_extension("raw");
    fs::copy(&source, &raw).unwrap();
    run(&["replay", text(&raw), address]).expect_error(1, &["format is not known"]);
    let channels = ["replay", text(&source), address, "--format", "sc16", "--channels", "2"];
    run(&channels).expect_error(1, &["2 channels", "takes 1"]);
    let real = ["replay", text(&source), address, "--format", "r16"];
    run(&real).expect_error(1, &["does not fit"]);
    run(&["replay", text(&source), address, "--at", "soon"]).expect_error(1, &["`soon`"]);
    run(&["replay", text(&source), address, "--fail-on", "gap=0"])
        .expect_error(1, &["known are late, underflow"]);
    let sender = Device::start(&["--source", "null", "--rate", "1M"]);
    run(&["replay", text(&source), &sender.address, "--format", "sc16"])
        .expect_error(2, &["refused: Role", "emulate --play"]);
    run(&["record", address, "null"]).expect_error(2, &["refused: Role"]);
    let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let absent = ["replay", text(&source), &free, "--format", "sc16", "--timeout", "300ms"];
    run(&absent).expect_error(2, &[&free, "nothing listens there"]);
    let taken = folder.join("taken.raw");
    fs::write(&taken, [0]).unwrap();
    let device = run(&["emulate", "--play", text(&taken), "--listen", "127.0.0.1:0"]);
    device.expect_error(1, &["taken.raw", "--overwrite"]);
}

#[test]
fn device_sends_and_plays_at_once() {
    let folder = folder("duplex");
    let source = counter(&folder, 1_000_000);
    let (played, recorded) = (folder.join("played.raw"), folder.join("recorded.raw"));
    let arguments = ["--source", "counter", "--play", text(&played), "--rate", "1M", "--once"];
    let device = Device::start(&arguments);
    let record =
        Running::start(&["record", &device.address, text(&recorded), "--nsamps", "2500000"]);
    let arguments = ["replay", text(&source), &device.address, "--format", "sc16", "--at", LEAD];
    let sent = run(&arguments).expect(0);
    let ran = record.finish().expect(0);
    let (_, after) = ran.text().split_once("from index ").unwrap();
    let first: u64 = after.lines().next().unwrap().parse().unwrap();
    let ran = device.finish().expect(0);
    assert!(ran.text().contains("session 1: closed by the receiver"), "{}", ran.text());
    check_played(&played, first_index(&sent), &[], 1_000_000);
    let bytes = fs::read(&recorded).unwrap();
    let base = u64::from(u32::from_le_bytes(bytes[..4].try_into().unwrap()));
    assert_eq!(samplewire::source::counter_mismatch(base, &bytes), None);
    assert_eq!(bytes.len(), 10_000_000);
    assert!(first.abs_diff(first_index(&sent)) < 3_000_000, "one clock");
}

#[test]
fn recording_of_another_rate_is_played_with_a_warning() {
    let Some(source) = real_recording() else { return };
    let folder = folder("another-rate");
    let played = folder.join("played.uc8");
    let options = ["--format", "uc8", "--rate", "max:1M", "--once"];
    let device = Device::start(&[&["--play", text(&played)], &options[..]].concat());
    let ran = run(&["replay", text(&source), &device.address]).expect(0);
    assert!(ran.stderr.contains("was taken at 2 MS/s and is played at 1 MS/s"), "{}", ran.stderr);
    device.finish().expect(0);
}
