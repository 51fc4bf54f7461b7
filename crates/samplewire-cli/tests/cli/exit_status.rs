//! Each exit status, with a cause.

use std::io::Read;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use crate::harness::{Device, Running, folder, run, spawn, text, until_long, wait};

#[test]
fn whole_recording_is_0() {
    let device = Device::start(&["--source", "null", "--rate", "max"]);
    let ran = run(&["record", &device.address, "null", "--nsamps", "1e6", "--fail-on", "gap=0"]);
    assert!(ran.expect(0).text().contains("whole: 1,000,000 samples"));
}

#[test]
fn time_that_is_over_is_0() {
    let device = Device::start(&["--source", "null", "--rate", "1M"]);
    let ran = run(&["record", &device.address, "null", "--duration", "300ms"]).expect(0);
    assert!(ran.text().contains("--duration is over"), "{}", ran.text());
}

#[test]
fn usage_is_1_and_help_0() {
    run::<&str>(&[]).expect_error(1, &["Usage: samplewire [OPTIONS] <COMMAND>"]);
    run(&["play"]).expect_error(1, &["play"]);
    run(&["record", "127.0.0.1"]).expect_error(1, &["<FILE>"]);
    run(&["emulate", "in.raw"]).expect_error(1, &["--source in.raw"]);
    run(&["--help"]).expect(0);
    assert!(run(&["--version"]).expect(0).text().starts_with("samplewire "));
    let ran = run(&["record", "--help"]).expect(0);
    assert!(ran.text().contains("default: complete") && ran.text().contains("default: 1024"));
}

#[test]
fn address_where_nothing_listens_is_2() {
    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for verb in [&["record", &free, "null"][..], &["probe", &free]] {
        let ran = run(&[verb, &["--timeout", "300ms"]].concat());
        ran.expect_error(2, &[&free, "300 ms", "nothing listens there"]);
    }
}

#[test]
fn device_that_is_silent_is_2() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let ran = run(&["record", &address, "null", "--timeout", "300ms"]);
    ran.expect_error(2, &[&address, "no packet came back"]);
}

#[test]
fn device_that_dies_is_2_and_the_file_is_whole_up_to_there() {
    let mut device = Device::start(&["--source", "counter", "--rate", "2M"]);
    let file = folder("dies").join("out.sc16");
    let arguments = ["record", &device.address, text(&file), "--timeout", "700ms"];
    let recorder = Running::start(&arguments);
    until_long(&file, 200_000);
    device.kill();
    let ran = recorder.finish();
    assert!(ran.text().contains("broken off: "), "{}", ran.text());
    ran.expect_error(2, &["no samples came for 700ms"]);
    let bytes = std::fs::read(&file).unwrap();
    assert!(bytes.len() > 100_000);
    assert_eq!(samplewire::source::counter_mismatch(0, &bytes), None);
}

#[test]
fn device_that_restarts_is_found_at_once() {
    let mut device = Device::start(&["--source", "counter", "--rate", "2M"]);
    let recorder = Running::start(&["record", &device.address, "null"]);
    recorder.until("recording from");
    device.kill();
    let again = Device::start(&["--listen", &device.address, "--source", "counter"]);
    assert_eq!(again.address, device.address);
    let started = Instant::now();
    recorder.finish().expect_error(2, &["it restarted"]);
    // Before a silence of the device would show it.
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn stream_that_another_has_is_refused_but_not_its_owner() {
    let device = Device::start(&["--source", "null", "--rate", "1M"]);
    let first = Running::start(&["record", &device.address, "null", "--owner", "7"]);
    first.until("recording from");
    let other = run(&["record", &device.address, "null", "--duration", "100ms"]);
    other.expect_error(2, &["refused: Busy", "--owner"]);
    run(&["probe", &device.address]).expect(0);
    let owner = ["record", &device.address, "null", "--owner", "7", "--duration", "100ms"];
    run(&owner).expect(0);
    first.finish().expect_error(2, &["took the stream over"]);
}

#[test]
fn payload_that_the_path_does_not_carry_is_refused() {
    let device = Device::start(&["--source", "null", "--payload", "8000"]);
    let ran = run(&["record", &device.address, "null", "--mtu", "1500"]);
    ran.expect_error(2, &["refused: PacketSize", "--mtu", "--payload"]);
}

#[test]
fn missing_samples_are_3_and_a_gap_names_each() {
    let arguments = ["--source", "null", "--rate", "max", "--fault", "data:loss=0.05,seed=1"];
    let device = Device::start(&arguments);
    let arguments = ["record", &device.address, "null", "--nsamps", "2M", "--window", "256"];
    let ran = run(&[&arguments[..], &["--delivery", "best-effort"]].concat()).expect(3);
    assert!(ran.text().contains("not whole: "), "{}", ran.text());
    let (_, gap) = ran.text().split_once("gap  index ").unwrap();
    assert!(gap.lines().next().unwrap().ends_with("cause: never asked"), "{gap}");
    let lines = ran.text().lines().filter(|line| line.starts_with("gap ")).count();
    assert!(lines >= 10 && ran.text().contains(".. and "), "{}", ran.text());
}

#[test]
fn stream_shorter_than_nsamps_is_3() {
    let file = folder("short").join("in.raw");
    std::fs::write(&file, [0; 4_000]).unwrap();
    let source = ["--source", text(&file), "--format", "sc16", "--rate", "max:1M"];
    let device = Device::start(&source);
    let ran = run(&["record", &device.address, "null", "--nsamps", "1500"]).expect(3);
    assert!(ran.text().contains("ended 500 before --nsamps"), "{}", ran.text());
}

#[test]
fn converter_without_room_loses_samples_on_both_accounts() {
    let device = Device::start(&["--source", "counter", "--rate", "20M", "--once"]);
    let mut recorder = spawn(&["record", &device.address, "-", "--nsamps", "30M"]);
    let mut stdout = recorder.stdout.take().unwrap();
    // The stall is the fault: longer than both ends hold samples.
    std::thread::sleep(Duration::from_millis(700));
    let mut samples = Vec::new();
    stdout.read_to_end(&mut samples).unwrap();
    assert_eq!(wait(&mut recorder).code(), Some(3));
    let mut words = String::new();
    recorder.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    assert!(words.contains("cause: source overflow"), "{words}");
    let lost = words.lines().find(|line| line.starts_with("  lost at    ")).expect("a line of it");
    assert!(lost.contains(" application "), "the reader of standard output was slow: {words}");
    let ran = device.finish().expect(3);
    assert!(!ran.text().contains("overflow   0 samples"), "{}", ran.text());
}

#[test]
fn disk_that_is_too_slow_is_named() {
    let device = Device::start(&["--source", "counter", "--rate", "20M", "--once"]);
    // A pipe replaces a disk whose speed the test chooses.
    let file = folder("disk-behind").join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    let recorder = Running::start(&["record", &device.address, text(&file), "--nsamps", "30M"]);
    let mut disk = std::fs::File::open(&file).unwrap();
    // The stall is the fault: longer than both ends hold samples.
    std::thread::sleep(Duration::from_millis(700));
    std::io::copy(&mut disk, &mut std::io::sink()).unwrap();
    let ran = recorder.finish().expect(3);
    for words in [
        "cause: disk behind",
        "limit      the disk: ",
        " disk behind\n",
        "  lost at    disk ",
        " of 512 quanta",
    ] {
        assert!(ran.text().contains(words), "no `{words}` in {}", ran.text());
    }
}

#[test]
fn threshold_that_is_crossed_is_4() {
    let arguments = ["--source", "null", "--rate", "max", "--fault", "data:loss=0.05,seed=1"];
    let device = Device::start(&arguments);
    let arguments = ["record", &device.address, "null", "--nsamps", "2M"];
    let list = ["--fail-on", "gap=0,repaired=1"];
    let ran = run(&[&arguments[..], &list[..]].concat()).expect(4);
    assert!(ran.text().contains("threshold  repaired: "), "{}", ran.text());
    assert!(!ran.text().contains("threshold  gap"), "{}", ran.text());
    run(&[&arguments[..], &["--fail-on", "repaired=100k"]].concat()).expect(0);
}
