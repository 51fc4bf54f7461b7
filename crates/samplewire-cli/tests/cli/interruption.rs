//! Signals: the command closes the file, which is valid, and notifies the other side.

use std::fs::{self, File};
use std::io::Read;
use std::net::UdpSocket;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use samplewire_record::sigmf::{Metadata, sha512_of};
use samplewire_testing::{PATIENCE, wait_until};

use crate::harness::{Device, Running, folder, spawn, text, wait};

#[test]
fn interrupted_recording_is_closed_and_valid() {
    for (signal, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143)] {
        let device = Device::start(&["--source", "counter", "--rate", "2M"]);
        let file = folder(&format!("interrupted-{signal}")).join("out.sigmf-data");
        let recorder = Running::start(&["record", &device.address, text(&file)]);
        wait_until("samples are recorded", PATIENCE, || {
            fs::metadata(&file).is_ok_and(|it| it.len() > 400_000)
        });
        recorder.signal(signal);
        let ran = recorder.finish().expect(code);
        assert!(ran.text().contains("interrupted: "), "{}", ran.text());
        let bytes = fs::read(&file).unwrap();
        assert!(bytes.len() > 400_000, "{}", ran.text());
        assert_eq!(samplewire::source::counter_mismatch(0, &bytes), None);
        let meta = fs::read_to_string(file.with_extension("sigmf-meta")).unwrap();
        let metadata = Metadata::parse(&meta).unwrap();
        let hash = sha512_of(&mut File::open(&file).unwrap()).unwrap();
        assert_eq!(metadata.sha512, Some(hash));
        let ran = device.interrupt().expect(0);
        assert!(ran.text().contains("session 1: closed by the receiver"), "{}", ran.text());
    }
}

#[test]
fn interrupted_device_ends_the_session_and_loses_nothing() {
    let device = Device::start(&["--source", "counter", "--rate", "2M"]);
    let recorder = Running::start(&["record", &device.address, "-"]);
    recorder.until_written(400_000);
    let ran = device.interrupt().expect(0);
    assert!(ran.text().contains("session 1: finished"), "{}", ran.text());
    let ran = recorder.finish().expect(0);
    assert!(ran.stdout.len() > 100_000);
    assert_eq!(samplewire::source::counter_mismatch(0, &ran.stdout), None);
}

#[test]
fn opening_can_be_interrupted_at_once() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let recorder = Running::start(&["record", &address, "null", "--timeout", "30s"]);
    silent.recv_from(&mut [0; 9_000]).expect("an opening comes");
    let started = Instant::now();
    // Not SIGINT, which a shell without job control has its background commands ignore.
    recorder.signal(libc::SIGTERM);
    let ran = recorder.finish();
    assert_eq!(ran.status.signal(), Some(libc::SIGTERM), "{ran:?}");
    // Not the time limit of the opening.
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn reader_of_standard_output_may_leave() {
    let device = Device::start(&["--source", "counter", "--rate", "max"]);
    let mut recorder = spawn(&["record", &device.address, "-"]);
    let mut some = [0; 100_000];
    recorder.stdout.take().unwrap().read_exact(&mut some).unwrap();
    assert_eq!(wait(&mut recorder).code(), Some(141));
    assert_eq!(samplewire::source::counter_mismatch(0, &some), None);
    let mut words = String::new();
    recorder.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    assert!(words.contains("the reader of standard output closed it"), "{words}");
    assert!(!words.contains("error"), "{words}");
}
