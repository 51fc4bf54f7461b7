//! On a terminal: a progress line is taken away before a message, whichever thread prints it.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use samplewire_testing::{PATIENCE, wait_until};

use crate::harness::{folder, run, signal, text, wait};

/// Both ends of a terminal.
fn terminal() -> (File, OwnedFd) {
    let (mut ours, mut theirs) = (-1, -1);
    let none = std::ptr::null_mut();
    // SAFETY: the two numbers may be written, and null is allowed for the rest.
    let answer = unsafe { libc::openpty(&mut ours, &mut theirs, none, none.cast(), none.cast()) };
    assert_eq!(answer, 0, "a terminal can be made");
    // SAFETY: both are open, and this function's own.
    unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) }
}

#[test]
fn progress_line_does_not_run_into_a_message_of_another_thread() {
    let (mut ours, theirs) = terminal();
    let mut child = Command::new(env!("CARGO_BIN_EXE_samplewire"))
        .args(["bridge", "--listen", "127.0.0.1:0", "--zmq-pub", "tcp://127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(theirs.try_clone().unwrap())
        .stderr(theirs)
        .spawn()
        .expect("the binary was built for this test");
    let shown = Arc::new(Mutex::new(String::new()));
    let reader = std::thread::spawn({
        let shown = Arc::clone(&shown);
        move || {
            let mut bytes = [0; 4_096];
            // The end of a terminal whose other end is closed is an error.
            while let Ok(len @ 1..) = ours.read(&mut bytes) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..len]));
            }
        }
    });
    let wait_for = |words: &str| {
        wait_until(words, PATIENCE, || shown.lock().unwrap().contains(words));
    };
    wait_for(PROGRESS);
    let head = shown.lock().unwrap().clone();
    let (_, address) = head.split_once("listening on ").expect("it says where");
    let address = address.lines().next().unwrap().trim();
    let file = folder("terminal").join("in.cf32");
    fs::write(&file, [0; 8_000]).unwrap();
    run(&["replay", text(&file), address, "--format", "cf32"]).expect(0);
    signal(&child, libc::SIGINT);
    wait(&mut child);
    reader.join().unwrap();
    let shown = shown.lock().unwrap();
    assert!(shown.lines().count() > head.lines().count(), "it had something to say: {shown:?}");
    for line in shown.split_terminator('\n') {
        let visible = line.rsplit("\x1b[K").next().unwrap_or_default();
        assert!(!visible.contains(PROGRESS), "{line:?}");
    }
}

/// Of the progress line alone.
const PROGRESS: &str = " s  to ZeroMQ ";
