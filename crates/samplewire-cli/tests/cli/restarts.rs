//! `record --reconnect` and `record --append`.

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use samplewire_testing::{PATIENCE, wait_until};
use serde_json::Value;

use crate::harness::{Device, Running, folder, run, text};
use crate::kills::check_samples;

fn verified(file: &Path) -> Value {
    let ran = run(&["verify", text(file), "--json"]).expect(0);
    serde_json::from_slice(&ran.stdout).unwrap()
}

/// Waits until a recorder has written more samples than there are.
fn until_it_records(file: &Path) {
    let len = || fs::metadata(file.with_extension("sigmf-data")).map_or(0, |data| data.len());
    let before = len();
    wait_until("a recorder writes samples", PATIENCE, || len() > before);
}

#[test]
fn stream_is_opened_again_when_the_device_restarts() {
    let mut device = Device::start(&["--source", "counter", "--rate", "2M"]);
    let file = folder("reconnect").join("out");
    let recorder = Running::start(&["record", &device.address, text(&file), "--reconnect"]);
    until_it_records(&file);
    let killed = Instant::now();
    device.kill();
    // The time that the gap's estimate must cover.
    sleep(Duration::from_millis(200));
    let device =
        Device::start(&["--listen", &device.address, "--source", "counter", "--rate", "2M"]);
    until_it_records(&file);
    let away = killed.elapsed();
    recorder.signal(libc::SIGTERM);
    let ran = recorder.finish().expect(128 + libc::SIGTERM);
    let words = ran.text();
    for part in [
        "lost: the device no longer knows the stream",
        "opened again: from index 0, ",
        "cause: device restarted, estimated",
        "of the last of 2 runs of the device",
        "openings   2",
    ] {
        assert!(words.contains(part), "no `{part}` in {words}");
    }
    let document = verified(&file);
    assert_eq!((&document["gaps"], &document["gaps_estimated"]), (&1.into(), &1.into()));
    assert_eq!(document["boots"].as_array().unwrap().len(), 2);
    let missing = document["gap_samples"]["device_restarted"].as_u64().unwrap();
    // 200 ms at 2 MS/s and more; a recorder on a loaded machine may be behind by some samples.
    let missing_max = (away.as_secs_f64() * 2e6) as u64 + 2_000_000;
    assert!((300_000..missing_max).contains(&missing), "{missing} in {away:?}");
    device.interrupt().expect(0);
}

#[test]
fn gap_is_exact_when_the_device_was_away_and_kept_running() {
    let device = Device::start(&["--source", "counter", "--rate", "2M"]);
    let file = folder("away").join("out");
    let arguments = ["record", &device.address, text(&file), "--reconnect", "--timeout", "300ms"];
    let recorder = Running::start(&arguments);
    until_it_records(&file);
    device.signal(libc::SIGSTOP);
    recorder.until("lost: no samples came for 300ms (--timeout)");
    device.signal(libc::SIGCONT);
    until_it_records(&file);
    recorder.signal(libc::SIGTERM);
    let ran = recorder.finish().expect(128 + libc::SIGTERM);
    assert!(ran.text().contains("lost: no samples came for 300ms (--timeout)"), "{ran:?}");
    let document = verified(&file);
    assert_eq!(document["boots"].as_array().unwrap().len(), 1, "{document}");
    check_samples(&file);
    // The gap covers samples that the device had sent and the recorder had not received.
    let missing = document["gap_samples"]["reconnected"].as_u64().unwrap();
    assert_eq!(missing > 0, ran.text().contains("cause: reconnected"));
}

#[test]
fn recorder_waits_for_a_device_that_is_not_there_yet() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let arguments = ["record", &address, "null", "--reconnect", "--nsamps", "1000"];
    let recorder = Running::start(&arguments);
    silent.recv_from(&mut [0; 9_000]).expect("an opening comes");
    drop(silent);
    let _device = Device::start(&["--listen", &address, "--source", "null", "--rate", "max"]);
    recorder.finish().expect(0);
}

#[test]
fn recording_is_gone_on_with_and_the_gap_between_is_exact() {
    let device = Device::start(&["--source", "counter", "--rate", "max"]);
    let file = folder("append").join("out");
    let arguments = ["record", &device.address, text(&file), "--append", "--nsamps", "100k"];
    run(&arguments).expect(0);
    let ran = run(&arguments).expect(3);
    assert!(ran.text().contains("cause: recorder restarted"), "{}", ran.text());
    let document = verified(&file);
    assert_eq!((&document["gaps"], &document["sha512"]), (&1.into(), &"matches".into()));
    let missing = document["gap_samples"]["recorder_restarted"].as_u64().unwrap();
    let samples = document["samples"].as_u64().unwrap();
    assert_eq!(document["boots"][0]["end_index"].as_u64(), Some(samples + missing));
    let other = Device::start(&["--source", "noise", "--format", "sc8"]);
    run(&["record", &other.address, text(&file), "--append"])
        .expect_error(1, &["format sc16, and sc8 of what is to come", "tip: --format converts"]);
    run(&["record", &device.address, "-", "--append"])
        .expect_error(1, &["-: only a SigMF recording can be continued, split or compressed"]);
    run(&["record", &device.address, text(&file), "--append", "--overwrite"])
        .expect_error(1, &["--append", "--overwrite"]);
    let data = file.with_extension("sigmf-data");
    let bytes = fs::read(&data).unwrap();
    fs::write(&data, &bytes[4..]).unwrap();
    run(&arguments).expect_error(1, &["samples: the metadata state", "tip: `samplewire verify`"]);
}

#[test]
fn file_has_one_recorder_at_a_time() {
    let device = Device::start(&["--source", "counter", "--rate", "1M"]);
    let file = folder("busy").join("out");
    let first = Running::start(&["record", &device.address, text(&file), "--append"]);
    until_it_records(&file);
    let other = Device::start(&["--source", "counter", "--rate", "1M"]);
    run(&["record", &other.address, text(&file), "--append"])
        .expect_error(1, &["another recorder writes it"]);
    first.signal(libc::SIGTERM);
    first.finish().expect(128 + libc::SIGTERM);
}

#[test]
fn two_recorders_of_one_owner_do_not_fight_for_ever() {
    let device = Device::start(&["--source", "null", "--rate", "1M"]);
    let arguments = ["record", &device.address, "null", "--reconnect", "--owner", "7"];
    let arguments = [&arguments[..], &["--duration", "6s"]].concat();
    let started = Instant::now();
    let both = [Running::start(&arguments), Running::start(&arguments)];
    let ended = both.map(Running::finish);
    let loser = ended.iter().find(|ran| ran.code() == 2).expect("one gives up");
    assert!(loser.stderr.contains("takes the stream again and again"), "{loser:?}");
    assert!(loser.stderr.contains("--owner of its own"), "{loser:?}");
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn device_that_comes_back_with_other_samples_ends_the_recording() {
    let mut device = Device::start(&["--source", "counter", "--rate", "2M"]);
    let file = folder("changed").join("out");
    let recorder = Running::start(&["record", &device.address, text(&file), "--reconnect"]);
    until_it_records(&file);
    device.kill();
    let _other =
        Device::start(&["--listen", &device.address, "--source", "noise", "--format", "sc8"]);
    recorder.finish().expect_error(2, &["the device came back with another stream", "sc8"]);
    assert_eq!(verified(&file)["finished"], true);
}
