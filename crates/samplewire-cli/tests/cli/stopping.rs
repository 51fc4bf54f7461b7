//! A signal: every verb begins to stop at once, and prints long remaining work.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samplewire_proto::wire::Flags;
use samplewire_testing::{PATIENCE, wait_until};

use crate::harness::{Device, METRICS, Output, folder, signal, spawn, text, until_metric, wait};

/// A command whose standard error is read as it comes.
struct Watched {
    child: Child,
    stdout: Output,
    lines: Receiver<(String, Instant, Duration)>,
}

impl Watched {
    fn start(arguments: &[&str]) -> Self {
        let mut child = spawn(arguments);
        let stdout = Output::of(child.stdout.take().expect("it is piped"));
        let stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if sender.send((line, Instant::now(), waited("thread-self"))).is_err() {
                    break;
                }
            }
        });
        Self { child, stdout, lines }
    }

    /// The first line that begins with `words`, and when it came.
    fn line(&self, words: &str) -> (String, Instant, Duration) {
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(20)).expect("the line comes");
            if line.0.starts_with(words) {
                return line;
            }
        }
    }

    /// Waits until it has printed these words on standard output: it then has a signal handler.
    fn until(&self, words: &str) {
        wait_until(words, PATIENCE, || self.stdout.has(words));
    }

    /// Waits until this metric fits, of a command with [`METRICS`].
    fn until_metric(&self, name: &str, is_so: impl Fn(f64) -> bool) {
        let (line, ..) = self.line("metrics: http://");
        until_metric(line.rsplit("http://").next().expect("a page"), name, is_so);
    }

    /// Sends SIGINT; returns how long the command takes to stop. This excludes the time for which
    /// it, and the reading thread, waited for a CPU on a busy machine.
    fn stops_after(&self) -> Duration {
        let main_thread = self.child.id().to_string();
        let (sent, before) = (Instant::now(), waited(&main_thread));
        signal(&self.child, libc::SIGINT);
        let (_, came, waited_here) = self.line("stopping: signal 2");
        (came - sent).saturating_sub(waited(&main_thread) - before).saturating_sub(waited_here)
    }

    /// Waits for the end: the exit status, and standard output.
    fn finish(mut self) -> (i32, String) {
        let status = wait(&mut self.child).code().expect("no signal killed it");
        (status, String::from_utf8_lossy(&self.stdout.finish()).into_owned())
    }
}

/// How long the first thread of a process has been ready to run without a CPU; zero if the system
/// does not know.
fn waited(process: &str) -> Duration {
    let text = fs::read_to_string(format!("/proc/{process}/schedstat")).unwrap_or_default();
    let ns = text.split(' ').nth(1).and_then(|number| number.parse().ok());
    Duration::from_nanos(ns.unwrap_or(0))
}

/// Checks a stop, which `stop` causes and times. The kernel may delay one run for reasons other
/// than missing CPUs: then two more runs must be fast enough.
fn check(name: &str, stop: impl Fn() -> Duration) {
    let first = stop();
    if first <= STOP_MAX {
        return;
    }
    let more = [(); 2].map(|()| stop());
    assert!(more.iter().all(|it| *it <= STOP_MAX), "{name}: {first:?}, then {more:?}");
}

#[test]
fn verbs_that_wait_or_receive_begin_to_stop_within_100_ms() {
    let file = folder("stop-receiving").join("a");
    let device = Device::start(&["--source", "counter", "--rate", "1M"]);
    let address = &device.address;
    for (arguments, begun, expected) in [
        (vec!["record", address, text(&file), "--overwrite"], "recording from", 130),
        (vec!["rate", address], "  socket ", 130),
        (vec!["emulate", "--listen", "127.0.0.1:0", "--play", "null"], "waiting for", 0),
    ] {
        check(arguments[0], || {
            let watched = Watched::start(&arguments);
            watched.until(begun);
            let stopped_after = watched.stops_after();
            let (code, words) = watched.finish();
            assert_eq!(code, expected, "{arguments:?}: {words}");
            stopped_after
        });
    }
}

#[test]
fn recorder_whose_device_is_gone_begins_to_stop_within_100_ms() {
    check("record --reconnect", || {
        let mut device = Device::start(&["--source", "counter", "--rate", "1M"]);
        let arguments = ["record", &device.address, "null", "--reconnect", "--timeout", "200ms"];
        let recorder = Watched::start(&arguments);
        recorder.until("recording from");
        device.kill();
        recorder.until("lost: ");
        let stopped_after = recorder.stops_after();
        let (code, words) = recorder.finish();
        assert!(code == 130 && words.contains("lost: "), "{code}: {words}");
        stopped_after
    });
}

/// The device plays nothing for 20 s, so the sender finds no free memory.
#[test]
fn verbs_that_send_begin_to_stop_within_100_ms_and_do_not_wait_for_room() {
    let source = folder("stop-sending").join("zeros.sc16");
    File::create(&source).and_then(|file| file.set_len(32 << 20)).expect("a long file");
    for (arguments, address_at) in [
        (vec!["replay", text(&source), "", "--format", "sc16", "--at", "+20s"], 2),
        (vec!["rate", "", "--way", "transmit", "--lead", "20s"], 1),
    ] {
        check(arguments[0], || {
            let device = Device::start(&["--play", "null", "--rate", "1M", "--window", "64"]);
            let mut arguments = [&arguments[..], &["--window", "64"], &METRICS].concat();
            arguments[address_at] = &device.address;
            let watched = Watched::start(&arguments);
            watched.until_metric("samplewire_sender_port_held", |packets| packets >= 64.0);
            let (stopped_after, stopped) = (watched.stops_after(), Instant::now());
            let (code, words) = watched.finish();
            assert_eq!(code, 130, "{words}");
            let lasted = stopped.elapsed();
            assert!(lasted < Duration::from_secs(8), "{lasted:?} of 20 s without room: {words}");
            stopped_after
        });
    }
}

/// `docs/protocol.md#6.10`: into a pipe, so zeros must be written.
#[test]
fn device_that_plays_zeros_for_a_far_jump_begins_to_stop_within_100_ms() {
    check("emulate --play", || {
        let fifo = fifo(&folder("stop-zeros"));
        let (reader, read_bytes) = read_all(&fifo);
        let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let address = free.to_string();
        let play = ["emulate", "--listen", &address, "--play", text(&fifo), "--rate", "max:20M"];
        let device = Watched::start(&[&play[..], &["--play-jump-max", "60min"]].concat());
        device.until("waiting for");
        let mut transmitter = samplewire::send().open(free).unwrap();
        assert!(transmitter.wait_ready(Duration::from_secs(5)).unwrap());
        // 288 GB.
        for (index, flags) in [(0, Flags::START), (71_999_999_000, Flags::OVERFLOW)] {
            let filling = transmitter.quantum(Duration::from_secs(5)).unwrap();
            transmitter
                .submit(filling.expect("there is room"), 400, index, flags)
                .expect("it follows");
        }
        wait_until("zeros", PATIENCE, || read_bytes.load(Ordering::Relaxed) > 1_000_000);
        let stopped_after = device.stops_after();
        let (code, words) = device.finish();
        assert!(code == 0 && words.contains("played into"), "{code}: {words}");
        reader.join().unwrap();
        let read_bytes = read_bytes.load(Ordering::Relaxed);
        assert!((1_000_000..200_000_000_000).contains(&read_bytes), "{read_bytes}");
        stopped_after
    });
}

/// Reads a pipe to its end, and counts the bytes.
fn read_all(fifo: &Path) -> (JoinHandle<()>, Arc<AtomicU64>) {
    let (fifo, read_bytes) = (fifo.to_owned(), Arc::<AtomicU64>::default());
    let counter = Arc::clone(&read_bytes);
    let reader = std::thread::spawn(move || {
        let mut file = File::open(fifo).expect("it is there");
        let mut bytes = vec![0; 64 << 10];
        loop {
            match file.read(&mut bytes).expect("it can be read") {
                0 => return,
                // Relaxed: a count; the thread is joined before the sum is checked.
                len => counter.fetch_add(len as u64, Ordering::Relaxed),
            };
        }
    });
    (reader, read_bytes)
}

#[test]
fn what_is_left_to_write_is_shown_when_it_takes_long() {
    let fifo = fifo(&folder("stop-shown"));
    let (go, wait) = channel::<()>();
    let reader = {
        let fifo = fifo.clone();
        std::thread::spawn(move || {
            let mut file = File::open(fifo).expect("it is there");
            // It stops here until the test lets it continue.
            assert!(wait.recv().is_err(), "nothing is sent");
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).expect("it can be read");
            bytes
        })
    };
    let device = Device::start(&["--source", "counter", "--rate", "max"]);
    let record = ["record", &device.address, text(&fifo)];
    let recorder = Watched::start(&[&record[..], &METRICS].concat());
    // More than the pipe holds.
    recorder.until_metric("samplewire_recording_samples_total", |samples| samples > 500_000.0);
    recorder.stops_after();
    let (line, ..) = recorder.line("writing ");
    assert!(line.ends_with(&format!("B to {}", text(&fifo))), "{line}");
    drop(go);
    let (code, words) = recorder.finish();
    assert_eq!(code, 130, "{words}");
    let bytes = reader.join().unwrap();
    assert!(bytes.len() > 100_000, "what was queued is written: {}", bytes.len());
    assert_eq!(samplewire::source::counter_mismatch(0, &bytes), None);
}

fn fifo(folder: &Path) -> PathBuf {
    let path = folder.join("pipe.raw");
    let name = std::ffi::CString::new(text(&path)).expect("no zero bytes");
    // SAFETY: `name` is a string that ends with a zero byte and outlives the call.
    let made = unsafe { libc::mkfifo(name.as_ptr(), 0o600) };
    assert_eq!(made, 0, "{}", std::io::Error::last_os_error());
    path
}

/// Time limit for the begin of a stop.
const STOP_MAX: Duration = Duration::from_millis(100);
