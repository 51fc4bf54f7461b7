//! Causes against planted faults, one after another in one recording.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{Device, Running, folder, text};

/// Reads a pipe for so long, so fast that its writer never waits.
fn read_for(pipe: &mut File, time: Duration) {
    let until = Instant::now() + time;
    let mut bytes = vec![0; 1 << 20];
    while Instant::now() < until {
        // Not blocking: nothing may be there, which is no reason to stay longer.
        let _len = pipe.read(&mut bytes).unwrap_or(0);
        // Samples of 1 ms: a pipe has room for eight times as many.
        sleep(Duration::from_millis(1));
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A pipe replaces a disk whose speed the test chooses. Both ends hold 90 ms of samples. The first
/// stall uses the sender's credit and loses nothing; the second loses samples for most of its time.
#[test]
fn stalls_of_the_file_and_of_the_device_in_turn_each_have_their_own_cause() {
    let holds = ["--payload", "1408", "--window", "512"];
    let device = Device::start(&[&["--source", "counter", "--rate", "2M"], &holds[..]].concat());
    let file = folder("causes-in-turn").join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
    let record = ["record", &device.address, text(&file), "--json", "--duration", "6s"];
    let recorder = Running::start(&record);
    let mut pipe = File::open(&file).unwrap();
    // SAFETY: fcntl with these arguments takes no pointers.
    assert_eq!(unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) }, 0);
    let stop_device = |pipe: &mut File| {
        device.signal(libc::SIGSTOP);
        read_for(pipe, ms(1_000));
        device.signal(libc::SIGCONT);
        read_for(pipe, ms(500));
    };
    read_for(&mut pipe, ms(400));
    // Both stalls are faults of a length that the test is about.
    sleep(ms(130));
    read_for(&mut pipe, ms(500));
    stop_device(&mut pipe);
    sleep(ms(1_200));
    read_for(&mut pipe, ms(500));
    stop_device(&mut pipe);
    let drained = std::thread::spawn(move || read_for(&mut pipe, Duration::from_secs(3)));
    let ran = recorder.finish().expect(3);
    drained.join().unwrap();
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let gaps = document["gaps"].as_array().unwrap();
    // A busy machine may cut one stall into several gaps.
    let large = gaps.iter().filter(|gap| gap["samples"].as_u64() > Some(100_000));
    let mut causes: Vec<_> = large.map(|gap| gap["cause"].as_str().unwrap()).collect();
    // A device that catches up may have room for a quantum in between.
    causes.dedup();
    assert_eq!(causes, ["source_overflow", "disk_behind", "source_overflow"], "{document}");
    let bounds = &document["end"]["gap_samples_bounds"];
    let bounds = [&bounds["source_overflow"], &bounds["disk_behind"]];
    assert_eq!(bounds, ["at least", "at most"], "{document}");
    assert!(document["end"]["credit_stalls"].as_u64() >= Some(2), "{document}");
}
