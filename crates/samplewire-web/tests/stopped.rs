//! Pages that stop reading: what waits for them, and what they cost. Alone in its process, whose memory
//! it measures.

#[expect(dead_code, reason = "other tests feed a stream without gaps")]
mod client;

use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use samplewire::Cause;
use samplewire::source::StreamInfo;
use samplewire_record::sigmf::{RecordedCause, RecordedGap};
use samplewire_testing::memory_bytes;
use samplewire_web::frame::Frame;
use samplewire_web::{About, Page, PageOptions, Tap};
use tungstenite::{Message, WebSocket};

use client::{connect, next_frame, request};

/// The largest frames, as often as they can be had.
const VIEW: &str = r#"{"view": {"bins": 65536, "fps": 60}}"#;

/// Pages that stop reading; another reads on.
const STOPPED: usize = 15;

/// Frames that the other reads, of which at most seven may wait for each page.
const FRAMES: usize = 30;

const MIB: u64 = 1 << 20;

#[test]
fn page_that_stops_reading_costs_one_mebibyte_at_most() {
    for is_every_sample in [false, true] {
        let options = PageOptions::new("127.0.0.1:0".parse().unwrap());
        let mut page = Page::start(options.every_sample(is_every_sample)).unwrap();
        let tap = page.add(About::new("test", &[StreamInfo::sc16("", 4e6).unwrap()]), 0);
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| feed(tap, &is_over));
            let _ending = Ending(&is_over);
            check(&page, is_every_sample);
        });
    }
}

fn check(page: &Page, is_every_sample: bool) {
    let (origin, token) = (format!("http://{}", page.address()), page.token().as_str());
    let view = || {
        let mut socket = connect(page.address(), "/api/ws", token, &origin).unwrap();
        socket.send(Message::text(VIEW)).unwrap();
        next_frame(&mut socket);
        socket
    };
    let mut reader = view();
    // What all pages share is there then.
    (0..FRAMES).for_each(|_| drop(next_frame(&mut reader)));
    let before = memory_bytes();
    let mut stopped: Vec<_> = (0..STOPPED).map(|_| view()).collect();
    (0..FRAMES).for_each(|_| drop(next_frame(&mut reader)));
    let grown = memory_bytes().saturating_sub(before) / STOPPED as u64;
    assert!(grown <= MIB, "{grown} bytes each, every sample: {is_every_sample}");
    let call = "GET /api/account HTTP/1.1\r\nHost: ADDRESS\r\nAuthorization: Bearer";
    let answer = request(page.address(), &format!("{call} {token}"));
    assert_eq!(answer.status, 200, "{}", answer.text);
    for socket in &mut stopped {
        let waiting = waiting_bytes(socket);
        assert!(waiting <= MIB, "{waiting} bytes wait, every sample: {is_every_sample}");
    }
}

/// Reads what waits in the program and in the system: all before a frame that states omitted ones.
fn waiting_bytes(socket: &mut WebSocket<TcpStream>) -> u64 {
    let mut waiting = 0;
    loop {
        let message = socket.read().unwrap();
        if let Message::Binary(bytes) = &message {
            let frame = Frame::decode(bytes).unwrap();
            if frame.omitted > 0 {
                return waiting;
            }
            let seen = format!(r#"{{"seen": {}}}"#, frame.number);
            socket.send(Message::text(seen)).unwrap();
        }
        waiting += message.len() as u64;
    }
}

/// Feeds 4 MS/s, with a gap behind each run of a frame: as many pieces wait for a page as may.
fn feed(mut tap: Tap, is_over: &AtomicBool) {
    const RUN: u64 = 66_000;
    let block = vec![0; 4 * RUN as usize];
    let (mut next, started) = (0, Instant::now());
    while !is_over.load(Ordering::Relaxed) {
        let due = (started.elapsed().as_secs_f64() * 4e6) as u64;
        while next + RUN < due {
            tap.samples(next, [&block[..]]);
            let gap = RecordedGap::new(next + RUN, 1, 0, RecordedCause::Stream(Cause::Deadline));
            tap.gap(&gap, false);
            next = gap.end();
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Ends the stream, also when the test fails.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
