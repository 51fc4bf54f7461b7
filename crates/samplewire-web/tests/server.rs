//! The server under honest and hostile clients, over loopback.

mod client;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samplewire::source::StreamInfo;
use samplewire_web::frame::Frame;
use samplewire_web::{About, Page, PageOptions};
use tungstenite::{Message, WebSocket};

use client::{Answer, VIEW, connect, feed, next_frame, request};

const HOSTILE_NAME: &str = "<img src=x onerror=alert(1)>";

/// A page with a stream of zeros that a thread feeds as fast as a device of 1 MS/s.
struct Rig {
    page: Page,
    is_over: Arc<AtomicBool>,
    feeding: Option<JoinHandle<()>>,
}

impl Rig {
    fn new() -> Self {
        let mut page = Page::start(PageOptions::new("127.0.0.1:0".parse().unwrap())).unwrap();
        let info = StreamInfo::sc16(HOSTILE_NAME, 1e6).unwrap();
        let tap = page.add(About::new("test", &[info]), 0);
        let is_over = Arc::new(AtomicBool::new(false));
        let feeding = {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || feed(tap, &is_over))
        };
        Self { page, is_over, feeding: Some(feeding) }
    }

    fn address(&self) -> SocketAddr {
        self.page.address()
    }

    fn token(&self) -> &str {
        self.page.token().as_str()
    }

    fn request(&self, lines: &str) -> Answer {
        request(self.address(), lines)
    }

    /// Makes a call over a connection that stays open.
    fn keep(&self, path: &str) -> TcpStream {
        let (address, token) = (self.address(), self.token());
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
        stream
    }

    fn connect_and_view(&self) -> WebSocket<TcpStream> {
        let mut socket = self.connect();
        socket.send(Message::text(VIEW)).unwrap();
        socket
    }

    /// Connects as the page's own script does.
    fn connect(&self) -> WebSocket<TcpStream> {
        let origin = format!("http://{}", self.address());
        connect(self.address(), "/api/ws", self.token(), &origin).expect("it is admitted")
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(feeding) = self.feeding.take() {
            feeding.join().expect("feeding does not panic");
        }
    }
}

fn status_of(error: &tungstenite::Error) -> u16 {
    match error {
        tungstenite::Error::Http(response) => response.status().as_u16(),
        other => panic!("{other}"),
    }
}

#[test]
fn spectra_of_more_samples_than_the_thread_computes_hold_up_neither_frames_nor_calls() {
    let options = PageOptions::new("127.0.0.1:0".parse().unwrap()).every_sample(true);
    let mut page = Page::start(options).unwrap();
    let tap = page.add(About::new("test", &[StreamInfo::sc16("load", 1e6).unwrap()]), 0);
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_over);
    // As fast as it copies.
    let feeding = std::thread::spawn(move || {
        let (mut tap, block) = (tap, vec![0; 4 * 65_536]);
        for at in 0.. {
            if ends.load(Ordering::Relaxed) {
                return;
            }
            tap.samples(at * 65_536, [&block[..]]);
        }
    });
    let rig = Rig { page, is_over, feeding: Some(feeding) };
    let mut socket = rig.connect();
    socket.send(Message::text(r#"{"view": {"bins": 65536, "fps": 60}}"#)).unwrap();
    let last = (0..30).map(|_| next_frame(&mut socket)).last().unwrap();
    // The share states what the thread did not compute.
    assert!(last.seen_samples < last.delivered_samples, "{}", last.seen_samples);
    let call = format!(
        "GET /api/account HTTP/1.1\r\nHost: ADDRESS\r\nAuthorization: Bearer {}",
        rig.token()
    );
    assert_eq!(rig.request(&call).status, 200);
    next_frame(&mut rig.connect_and_view());
}

#[test]
fn token_host_and_origin_decide_who_reads() {
    let rig = Rig::new();
    let token = rig.token();
    let with = |lines: &str| format!("{lines}\r\nAuthorization: Bearer {token}");
    let own = "GET /api/account HTTP/1.1\r\nHost: ADDRESS";
    assert_eq!(rig.request(own).status, 401);
    let right = rig.request(&with(own));
    assert_eq!(right.status, 200, "{}", right.text);
    assert!(right.text.contains("\"missing\":\"0\""), "{}", right.text);
    // A name is text in JSON.
    assert!(right.text.contains(HOSTILE_NAME), "{}", right.text);
    for header in [
        "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; \
         img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'\r\n",
        "x-frame-options: DENY",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cross-origin-resource-policy: same-origin",
        "content-type: application/json",
    ] {
        assert!(right.text.contains(header), "{header}: {}", right.text);
    }
    assert!(!right.text.to_ascii_lowercase().contains("access-control"), "{}", right.text);
    let port = rig.address().port();
    for (host, status) in [
        (format!("localhost:{port}"), 200),
        (format!("evil.example:{port}"), 421),
        ("evil.example".to_owned(), 421),
        (format!("127.0.0.1:{}", port ^ 1), 421),
    ] {
        let lines = format!("GET /api/account HTTP/1.1\r\nHost: {host}");
        assert_eq!(rig.request(&with(&lines)).status, status, "{host}");
    }
    let twice = format!("{own}\r\nHost: evil.example:{port}");
    assert_ne!(rig.request(&with(&twice)).status, 200);
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1", ""] {
        let lines = format!("{own}\r\nOrigin: {origin}");
        assert_eq!(rig.request(&with(&lines)).status, 403, "{origin}");
    }
}

#[test]
fn nothing_but_the_listed_files_and_calls_is_served() {
    let rig = Rig::new();
    for path in ["/../Cargo.toml", "/..%2f..%2fetc/passwd", "/api", "/api/", "/style.css/", "//"] {
        let answer = rig.request(&format!("GET {path} HTTP/1.1\r\nHost: ADDRESS"));
        assert_eq!(answer.status, 404, "{path}: {}", answer.text);
    }
    let origin = "\r\nOrigin: http://ADDRESS";
    let token = format!("\r\nAuthorization: Bearer {}", rig.token());
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
        let lines = format!("{method} /api/account HTTP/1.1\r\nHost: ADDRESS");
        assert_eq!(rig.request(&lines).status, 403, "{method} without an origin");
        let lines = format!("{lines}\r\nOrigin: http://evil.example{token}");
        assert_eq!(rig.request(&lines).status, 403, "{method} of another origin");
        let lines = format!("{method} /api/account HTTP/1.1\r\nHost: ADDRESS{origin}{token}");
        assert_eq!(rig.request(&lines).status, 405, "{method}");
    }
    for query in ["source=1", "count=-1", "count=x", "x=1", "source=99999999999999999999"] {
        let lines = format!("GET /api/gaps?{query} HTTP/1.1\r\nHost: ADDRESS{token}");
        assert!((400..500).contains(&rig.request(&lines).status), "{query}");
    }
    let answer = rig.request(&format!("GET /api/gaps.csv HTTP/1.1\r\nHost: ADDRESS{token}"));
    assert!(answer.text.contains("index,length,cause,hop,stream,run\n"), "{}", answer.text);
    assert!(answer.text.ends_with("0\r\n\r\n"), "it is whole: {}", answer.text);
}

#[test]
fn socket_needs_token_and_origin_and_sends_frames() {
    let rig = Rig::new();
    let own = format!("http://{}", rig.address());
    let wrong = "0".repeat(32);
    for (token, origin, status) in [
        (rig.token(), "", 403),
        (rig.token(), "http://evil.example", 403),
        (&*wrong, &*own, 401),
        ("", &*own, 401),
    ] {
        let refused = connect(rig.address(), "/api/ws", token, origin).expect_err("it is refused");
        assert_eq!(status_of(&refused), status, "{token} {origin}");
    }
    let mut socket = rig.connect();
    let terms = socket.read().unwrap().into_text().unwrap();
    assert!(terms.contains(r#""type":"terms""#), "{terms}");
    socket.send(Message::text(VIEW)).unwrap();
    let frames: Vec<Frame> = (0..120).map(|_| next_frame(&mut socket)).collect();
    assert!(frames.iter().zip(1..).all(|(frame, number)| frame.number == number));
    assert!(frames.is_sorted_by(|one, next| one.index + one.len_samples <= next.index));
    assert!(frames.iter().all(|frame| frame.mean.len() == 2_048));
    assert!(frames[119].seen_samples <= frames[119].delivered_samples + 8_192);
}

#[test]
fn reader_gets_60_frames_a_second() {
    let rig = Rig::new();
    let mut socket = rig.connect();
    socket.send(Message::text(VIEW)).unwrap();
    let first = next_frame(&mut socket);
    let frames: Vec<Frame> = (0..180).map(|_| next_frame(&mut socket)).collect();
    let last = frames.last().unwrap();
    // By the stream's own clock, so that a busy machine does not count.
    let seconds = (last.index - first.index) as f64 / 1e6;
    let rate = f64::from(last.number - first.number) / seconds;
    assert!(rate > 50.0 && rate < 61.0, "{rate} frames/s, {} omitted", last.omitted);
}

#[test]
fn seventeenth_page_gets_the_reason_and_the_stream_goes_on() {
    let rig = Rig::new();
    let mut sockets: Vec<_> = (0..16).map(|_| rig.connect()).collect();
    for socket in &mut sockets {
        // The terms come when it has joined.
        socket.read().unwrap();
    }
    // With a connection of each page for its calls, there is no room left.
    let calls: Vec<_> = (0..16).map(|_| rig.keep("/api/account")).collect();
    let mut refused = rig.connect();
    let text = refused.read().unwrap().into_text().unwrap();
    assert!(text.contains("16 pages are connected"), "{text}");
    assert!(refused.read().unwrap().is_close());
    sockets[3].send(Message::text(VIEW)).unwrap();
    next_frame(&mut sockets[3]);
    drop((sockets.remove(0), calls));
    let admitted = (0..100).any(|_| {
        let mut socket = rig.connect();
        socket.read().unwrap().into_text().unwrap().contains("terms")
    });
    assert!(admitted, "a place became free");
}

#[test]
fn malformed_message_closes_its_own_connection_alone() {
    let rig = Rig::new();
    let mut honest = rig.connect();
    honest.send(Message::text(VIEW)).unwrap();
    for message in [
        Message::text("{}"),
        Message::text("x".repeat(4 << 10)),
        Message::text("x".repeat(5 << 10)),
        Message::binary(vec![0; 10]),
        Message::text(r#"{"view": {"bins": 2048, "fps": 1e9}}"#),
    ] {
        let mut socket = rig.connect();
        socket.send(message.clone()).unwrap();
        let ended = (0..100).any(|_| match socket.read() {
            Ok(message) => message.is_close(),
            Err(_) => true,
        });
        assert!(ended, "{message:?}");
        next_frame(&mut honest);
    }
    // Bytes that are no WebSocket frame at all.
    let mut broken = rig.connect();
    broken.get_mut().write_all(&[0xFF; 64]).unwrap();
    assert!((0..100).any(|_| broken.read().is_err()));
    next_frame(&mut honest);
}

#[test]
fn page_that_stops_reading_gets_the_latest_frame_when_it_reads_again() {
    let rig = Rig::new();
    let mut reader = rig.connect();
    reader.send(Message::text(VIEW)).unwrap();
    let mut stopped = rig.connect();
    stopped.send(Message::text(VIEW)).unwrap();
    let first = next_frame(&mut stopped);
    // The other page reads on, whatever this one does.
    let frames: Vec<Frame> = (0..120).map(|_| next_frame(&mut reader)).collect();
    let unread: Vec<Frame> = (0..7).map(|_| next_frame(&mut stopped)).collect();
    let again = (0..60).map(|_| next_frame(&mut stopped)).last().unwrap();
    assert!(unread.iter().all(|frame| frame.index < first.index + 400_000), "few were queued");
    assert!(again.omitted > 60, "{} omitted", again.omitted);
    assert!(again.index > frames[119].index, "and it is up to date");
}

#[test]
fn heads_are_limited_in_bytes_and_time() {
    let rig = Rig::new();
    let long = format!("GET / HTTP/1.1\r\nHost: ADDRESS\r\nX: {}", "x".repeat(9 << 10));
    assert_ne!(rig.request(&long).status, 200);
    let started = Instant::now();
    let mut slow = TcpStream::connect(rig.address()).unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    let mut silent = TcpStream::connect(rig.address()).unwrap();
    // A program of this user, of whose first request only a part was read.
    let (mut local, handed) = UnixStream::pair().unwrap();
    assert!(rig.page.local().take(handed, b"GET /api/acc".to_vec()));
    for stream in [&slow, &silent] {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    }
    local.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for stream in [&mut slow as &mut dyn Read, &mut silent, &mut local] {
        let mut bytes = Vec::new();
        match stream.read_to_end(&mut bytes) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    }
    let waited = started.elapsed();
    assert!(waited > Duration::from_secs(4) && waited < Duration::from_secs(15), "{waited:?}");
}

#[test]
fn strangers_who_hold_connections_or_guess_do_not_keep_the_user_out() {
    let rig = Rig::new();
    let mut user = rig.connect();
    user.send(Message::text(VIEW)).unwrap();
    next_frame(&mut user);
    let idle: Vec<_> = (0..60).map(|_| TcpStream::connect(rig.address()).unwrap()).collect();
    let guess = format!(
        "GET /api/account HTTP/1.1\r\nHost: ADDRESS\r\nAuthorization: Bearer {}",
        "0".repeat(32)
    );
    let started = Instant::now();
    assert_eq!(rig.request(&guess).status, 401);
    assert!(started.elapsed() >= Duration::from_millis(400), "a guess takes time");
    let own = "GET /api/account HTTP/1.1\r\nHost: ADDRESS";
    let answer = rig.request(&format!("{own}\r\nAuthorization: Bearer {}", rig.token()));
    assert_eq!(answer.status, 200);
    next_frame(&mut user);
    drop(idle);
}

#[test]
fn two_pages_have_two_tokens() {
    let (one, other) = (Rig::new(), Rig::new());
    let origin = format!("http://{}", other.address());
    let refused =
        connect(other.address(), "/api/ws", one.token(), &origin).expect_err("another's token");
    assert_eq!(status_of(&refused), 401);
    let origin = format!("http://{}", one.address());
    let refused =
        connect(other.address(), "/api/ws", other.token(), &origin).expect_err("another's origin");
    assert_eq!(status_of(&refused), 403);
}

#[test]
fn first_picture_takes_less_than_a_second() {
    let rig = Rig::new();
    let started = Instant::now();
    let mut socket = rig.connect();
    socket.send(Message::text(VIEW)).unwrap();
    next_frame(&mut socket);
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
}

#[test]
fn page_ends_while_pages_are_connected() {
    let rig = Rig::new();
    let mut socket = rig.connect();
    socket.read().unwrap();
    let started = Instant::now();
    drop(rig);
    assert!(started.elapsed() < Duration::from_secs(5));
    assert!((0..100).any(|_| socket.read().is_err()));
}
