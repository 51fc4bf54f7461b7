//! A page of several processes: each is a page of its own behind a socket in a folder.

mod client;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samplewire::source::StreamInfo;
use samplewire_testing::{PATIENCE, wait_for};
use samplewire_web::{About, Page, PageOptions, Process};
use serde_json::Value;
use tungstenite::{Message, WebSocket};

use client::{Answer, VIEW, connect, feed, next_frame, request};

/// A process with a stream of zeros; its program passes connections without reading from them.
struct Program {
    page: Option<Page>,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    socket: PathBuf,
}

impl Program {
    fn start(socket: &Path, name: &str) -> Self {
        let mut page = Page::start(PageOptions::local()).unwrap();
        let tap = page.add(About::new("test", &[StreamInfo::sc16(name, 1e6).unwrap()]), 0);
        let listener = UnixListener::bind(socket).unwrap();
        let is_over = Arc::<AtomicBool>::default();
        let local = page.local().clone();
        let ends = Arc::clone(&is_over);
        let accepting = std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                assert!(local.take(stream, Vec::new()));
            }
        });
        let ends = Arc::clone(&is_over);
        let feeding = std::thread::spawn(move || feed(tap, &ends));
        let threads = vec![accepting, feeding];
        Self { page: Some(page), is_over, threads, socket: socket.to_owned() }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        drop(UnixStream::connect(&self.socket));
        self.threads.drain(..).for_each(|it| it.join().expect("it does not panic"));
        self.page = None;
    }
}

/// A page of the processes in a list.
struct Rig {
    page: Page,
    list: Arc<Mutex<Vec<Process>>>,
    folder: tempfile::TempDir,
}

impl Rig {
    fn new() -> Self {
        let list = Arc::<Mutex<Vec<Process>>>::default();
        let shared = Arc::clone(&list);
        let options = PageOptions::new("127.0.0.1:0".parse().unwrap());
        let options = options.processes(move || shared.lock().unwrap().clone());
        let page = Page::start(options).unwrap();
        Self { page, list, folder: tempfile::tempdir().unwrap() }
    }

    /// Lists a process without starting one.
    fn list(&self, id: u32) -> PathBuf {
        let socket = self.folder.path().join(format!("{id}.sock"));
        let process =
            Process { id, socket: socket.clone(), verb: "test".into(), streams: vec!["a".into()] };
        self.list.lock().unwrap().push(process);
        socket
    }

    fn start(&self, id: u32, name: &str) -> Program {
        Program::start(&self.list(id), name)
    }

    fn get(&self, call: &str) -> Answer {
        let token = self.page.token().as_str();
        let lines =
            format!("GET {call} HTTP/1.1\r\nHost: ADDRESS\r\nAuthorization: Bearer {token}");
        request(self.page.address(), &lines)
    }

    fn json(&self, call: &str) -> Value {
        let answer = self.get(call);
        assert_eq!(answer.status, 200, "{}", answer.text);
        let (_, body) = answer.text.split_once("\r\n\r\n").unwrap();
        // The body of a relayed answer has its length.
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"))
    }

    fn connect(&self, id: u32) -> WebSocket<TcpStream> {
        let (address, token) = (self.page.address(), self.page.token().as_str());
        let path = format!("/api/ws?process={id}");
        let origin = format!("http://{address}");
        connect(address, &path, token, &origin).expect("it is admitted")
    }
}

/// Reads until the end, and returns the reason that came before it.
fn reason(mut socket: WebSocket<TcpStream>) -> String {
    let mut reason = String::new();
    while let Ok(message) = socket.read() {
        if let Message::Text(text) = message {
            let message: Value = serde_json::from_str(&text).unwrap();
            if message["type"] == "refused" {
                reason = message["reason"].as_str().unwrap().to_owned();
            }
        }
    }
    reason
}

#[test]
fn page_shows_each_process_until_it_ends() {
    let rig = Rig::new();
    assert_eq!(rig.json("/api/processes")["processes"], serde_json::json!([]));
    let one = rig.start(7, "one");
    let _two = rig.start(8, "two");
    let listed = wait_for("both are listed", PATIENCE, || {
        let answer = rig.json("/api/processes");
        (answer["processes"].as_array()?.len() == 2).then_some(answer)
    });
    assert_eq!(listed["processes"][1]["verb"], "test");
    assert!(listed["processes"][1]["socket"].is_null(), "a path is for this program only");
    for (id, name) in [(7, "one"), (8, "two")] {
        let account = rig.json(&format!("/api/account?process={id}"));
        assert_eq!(account["sources"][0]["streams"][0]["name"], name);
        let gaps = rig.json(&format!("/api/gaps?source=0&process={id}"));
        assert_eq!(gaps["total"], "0");
    }
    assert_eq!(rig.get("/api/gaps?source=1&process=7").status, 404, "its own answer is passed on");
    assert_eq!(rig.get("/api/gaps?folder=x&process=7").status, 400);
    for call in ["/api/account", "/api/account?process=x", "/api/account?process=-1"] {
        assert_eq!(rig.get(call).status, 400, "{call}");
    }
    assert_eq!(rig.get("/api/account?process=9").status, 404);
    let mut socket = rig.connect(7);
    socket.send(Message::text(VIEW)).unwrap();
    let frames: Vec<_> = (0..60).map(|_| next_frame(&mut socket)).collect();
    for pair in frames.windows(2) {
        assert!(pair[1].index >= pair[0].index + pair[0].len_samples);
        assert_eq!(pair[1].number, pair[0].number + 1);
    }
    rig.list.lock().unwrap().retain(|process| process.id != 7);
    drop(one);
    assert_eq!(reason(socket), "", "it is closed without a reason");
    wait_for("the list is a new one", PATIENCE, || {
        (rig.get("/api/account?process=7").status == 404).then_some(())
    });
    assert_eq!(reason(rig.connect(7)), "process 7 has ended, or shows no streams");
    let mut other = rig.connect(8);
    other.send(Message::text(VIEW)).unwrap();
    next_frame(&mut other);
}

#[test]
fn process_that_is_known_is_read_while_a_new_list_is_made() {
    let rig = Rig::new();
    let _one = rig.start(7, "one");
    wait_for("it is listed", PATIENCE, || {
        (rig.get("/api/account?process=7").status == 200).then_some(())
    });
    // A list is not complete until this is dropped.
    let held = rig.list.lock().unwrap();
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(700) {
        assert_eq!(rig.get("/api/account?process=7").status, 200, "also after the list's 500 ms");
    }
    drop(held);
}

#[test]
fn viewer_that_confirms_nothing_gets_seven_frames() {
    let rig = Rig::new();
    let _one = rig.start(7, "one");
    let mut stopped = rig.connect(7);
    stopped.send(Message::text(VIEW)).unwrap();
    let mut reader = rig.connect(7);
    reader.send(Message::text(VIEW)).unwrap();
    let first = next_frame(&mut stopped);
    let read: Vec<_> = (0..60).map(|_| next_frame(&mut reader)).collect();
    let unread: Vec<_> = (0..7).map(|_| next_frame(&mut stopped)).collect();
    let again = (0..30).map(|_| next_frame(&mut stopped)).last().unwrap();
    assert_eq!(unread[0].number, first.number + 1);
    assert!(again.omitted > 0 && again.index > read[59].index, "{}", again.omitted);
}

#[test]
fn pages_are_counted_over_all_processes() {
    let rig = Rig::new();
    let (_one, _two) = (rig.start(7, "one"), rig.start(8, "two"));
    let mut sockets: Vec<_> = (0..16).map(|at| rig.connect(7 + at % 2)).collect();
    for socket in &mut sockets {
        socket.send(Message::text(VIEW)).unwrap();
        next_frame(socket);
    }
    assert!(reason(rig.connect(8)).contains("16 pages are connected"));
    drop(sockets.pop());
    wait_for("a place is free", PATIENCE, || {
        let mut socket = rig.connect(8);
        socket.send(Message::text(VIEW)).ok()?;
        let message = socket.read().ok()?;
        message.to_text().ok()?.contains("terms").then_some(())
    });
}

#[test]
fn what_is_no_process_is_an_answer_in_words() {
    let rig = Rig::new();
    let listener = UnixListener::bind(rig.list(7)).unwrap();
    let mailing = std::thread::spawn(move || {
        for stream in listener.incoming().take(3) {
            let mut stream = stream.unwrap();
            let _is_read = stream.read(&mut [0; 4 << 10]).is_ok();
            let _is_sent = stream.write_all(b"220 mail.example ESMTP\r\n").is_ok();
        }
    });
    let answer = rig.get("/api/account?process=7");
    assert_eq!(answer.status, 502, "{}", answer.text);
    assert!(answer.text.contains("process 7 does not answer"), "{}", answer.text);
    assert!(reason(rig.connect(7)).contains("process 7 does not answer"));
    drop(UnixStream::connect(&rig.list.lock().unwrap()[0].socket));
    mailing.join().unwrap();
    // The file of a process that was killed.
    let answer = rig.get("/api/account?process=7");
    assert_eq!(answer.status, 502, "{}", answer.text);
}

#[test]
fn token_host_and_origin_hold_for_processes_too() {
    let rig = Rig::new();
    let _one = rig.start(7, "one");
    let (address, token) = (rig.page.address(), rig.page.token().as_str());
    for call in ["/api/processes", "/api/account?process=7"] {
        let bare = format!("GET {call} HTTP/1.1\r\nHost: ADDRESS");
        assert_eq!(request(address, &bare).status, 401, "{call}");
        let foreign =
            format!("{bare}\r\nAuthorization: Bearer {token}\r\nOrigin: http://evil.example");
        assert_eq!(request(address, &foreign).status, 403, "{call}");
        let rebound =
            format!("GET {call} HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer {token}");
        assert_eq!(request(address, &rebound).status, 421, "{call}");
    }
    for (token, origin) in [(token, "http://evil.example"), ("0", &*format!("http://{address}"))] {
        assert!(connect(address, "/api/ws?process=7", token, origin).is_err(), "{origin}");
    }
}

#[test]
fn connection_of_this_user_is_bounded_as_that_of_a_browser() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.sock");
    let _program = Program::start(&path, "one");
    let answer = |bytes: &[u8]| {
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // It may be closed before all is written.
        let _is_written = stream.write_all(bytes).is_ok();
        let mut answer = Vec::new();
        let _is_whole = stream.read_to_end(&mut answer).is_ok();
        String::from_utf8_lossy(&answer).into_owned()
    };
    let close = "Connection: close\r\n\r\n";
    let right = answer(format!("GET /api/account HTTP/1.1\r\nHost: x\r\n{close}").as_bytes());
    assert!(right.starts_with("HTTP/1.1 200 ") && right.contains("\"sources\""), "{right}");
    for (request, status) in [
        (format!("GET / HTTP/1.1\r\nHost: x\r\n{close}"), "404"),
        (format!("GET /api/processes HTTP/1.1\r\nHost: x\r\n{close}"), "404"),
        (format!("POST /api/account HTTP/1.1\r\nHost: x\r\n{close}"), "405"),
        (format!("GET /api/timeline HTTP/1.1\r\nHost: x\r\n{close}"), "400"),
        (format!("GET /api/ws HTTP/1.1\r\nHost: x\r\n{close}"), "4"),
        ("not HTTP\r\n\r\n".to_owned(), "400"),
        (format!("GET /api/account HTTP/1.1\r\nX: {}", "x".repeat(20_000)), "431"),
    ] {
        let answer = answer(request.as_bytes());
        let found = answer.strip_prefix("HTTP/1.1 ").unwrap_or_default();
        assert!(found.starts_with(status), "{status}: {answer}");
    }
    // A silent client holds up no other.
    let mut silent = UnixStream::connect(&path).unwrap();
    silent.write_all(b"GET /api/acc").unwrap();
    let again = answer(format!("GET /api/account HTTP/1.1\r\nHost: x\r\n{close}").as_bytes());
    assert!(again.starts_with("HTTP/1.1 200 "), "{again}");
}
