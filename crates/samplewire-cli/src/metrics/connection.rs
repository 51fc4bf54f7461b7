//! One client connection: a request of bounded length, one answer, and a time limit for both.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::Api;

/// A non-blocking byte stream.
pub(super) trait Wire: Read + Write + AsFd + Send {
    /// Another handle to it, if it is of this user.
    fn local(&self) -> Option<UnixStream>;
}

impl Wire for TcpStream {
    fn local(&self) -> Option<UnixStream> {
        None
    }
}

impl Wire for UnixStream {
    fn local(&self) -> Option<UnixStream> {
        // Without a file descriptor, the connection gets the answer of one over TCP.
        self.try_clone().ok()
    }
}

/// An open connection.
pub(super) struct Connection {
    wire: Box<dyn Wire>,
    /// When it is closed unfinished.
    until: Instant,
    state: State,
}

enum State {
    /// The received part of the request.
    Asked(Vec<u8>),
    /// The answer, and how much of it was sent.
    Answered(Vec<u8>, usize),
}

impl Connection {
    /// A connection that began at `now`.
    pub(super) fn new(wire: Box<dyn Wire>, now: Instant) -> Self {
        Self { wire, until: now + TIME_MAX, state: State::Asked(Vec::new()) }
    }

    /// The events that it waits for.
    pub(super) const fn wants(&self) -> PollFlags {
        match self.state {
            State::Asked(_) => PollFlags::IN,
            State::Answered(..) => PollFlags::OUT,
        }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.wire.as_fd()
    }

    pub(super) const fn until(&self) -> Instant {
        self.until
    }

    /// Proceeds as far as possible without waiting; returns whether there is more to do. `api` takes over
    /// a connection of this user whose request is for it.
    pub(super) fn advance(&mut self, page: impl FnOnce() -> String, api: Option<&Api>) -> bool {
        let moved = match &mut self.state {
            State::Asked(request) => read(&mut self.wire, request),
            State::Answered(..) => Ok(true),
        };
        match moved {
            Ok(false) => return true,
            Ok(true) => {}
            Err(_) => return false,
        }
        if let State::Asked(request) = &mut self.state {
            if let (Some(Api(take)), true) = (api, is_for_api(request))
                && let Some(wire) = self.wire.local()
            {
                take(wire, std::mem::take(request));
                return false;
            }
            self.state = State::Answered(answer(request, page), 0);
        }
        match &mut self.state {
            State::Answered(answer, sent) => {
                matches!(write(&mut self.wire, answer, sent), Ok(false))
            }
            State::Asked(_) => true,
        }
    }
}

/// Continues to read; returns whether the head of the request is complete, or has its maximum
/// length.
fn read(wire: &mut Box<dyn Wire>, request: &mut Vec<u8>) -> io::Result<bool> {
    let mut some = [0; 1_024];
    loop {
        match wire.read(&mut some) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(len) => request.extend_from_slice(&some[..len]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        let is_complete = request.windows(4).any(|end| end == b"\r\n\r\n");
        if is_complete || request.len() > REQUEST_BYTES_MAX {
            return Ok(true);
        }
    }
}

/// Continues to write; returns whether everything was sent.
fn write(wire: &mut Box<dyn Wire>, answer: &[u8], sent: &mut usize) -> io::Result<bool> {
    while *sent < answer.len() {
        match wire.write(&answer[*sent..]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(len) => *sent += len,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Whether a request is complete and for the page.
fn is_for_api(request: &[u8]) -> bool {
    request.len() <= REQUEST_BYTES_MAX && request.starts_with(b"GET /api/")
}

/// The whole answer, head and body (RFC 9112).
fn answer(request: &[u8], page: impl FnOnce() -> String) -> Vec<u8> {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let is_http = version.is_some_and(|version| version.starts_with(b"HTTP/1."));
    let path = target.and_then(|target| target.split(|byte| *byte == b'?').next());
    let (status, body) = match (method, path) {
        _ if request.len() > REQUEST_BYTES_MAX => {
            ("431 Request Header Fields Too Large", "the request is too long\n".to_owned())
        }
        (Some(b"GET"), Some(b"/metrics")) if is_http => ("200 OK", page()),
        (Some(b"GET"), _) if is_http => ("404 Not Found", "there is /metrics\n".to_owned()),
        _ if is_http => ("405 Method Not Allowed\r\nAllow: GET", "GET /metrics\n".to_owned()),
        _ => ("400 Bad Request", "this is no request of HTTP\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

/// Prometheus sends some 300 bytes.
const REQUEST_BYTES_MAX: usize = 8 << 10;

/// Time limit for request and answer together; a slower client gets no answer.
const TIME_MAX: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn head_of(request: &str) -> String {
        let answer = answer(request.as_bytes(), || "page\n".into());
        String::from_utf8(answer).unwrap()
    }

    #[test]
    fn page_is_answered_with_its_length_and_form() {
        for target in ["/metrics", "/metrics?x=1"] {
            let answer = head_of(&format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert!(answer.contains("Content-Type: text/plain; version=0.0.4"), "{answer}");
            assert!(answer.ends_with("Content-Length: 5\r\nConnection: close\r\n\r\npage\n"));
        }
    }

    #[test]
    fn everything_else_is_refused_by_its_status() {
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "404"),
            ("GET /metrics/x HTTP/1.0\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", "405"),
            ("GET /metrics\r\n\r\n", "400"),
            ("GET /metrics HTTP/2\r\n\r\n", "400"),
            ("\0\u{1}\r\n\r\n", "400"),
            ("\r\n\r\n", "400"),
        ] {
            let answer = head_of(request);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {answer}");
        }
        let long = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(REQUEST_BYTES_MAX));
        assert!(head_of(&long).starts_with("HTTP/1.1 431 "));
        assert!(head_of("PUT / HTTP/1.1\r\n\r\n").contains("\r\nAllow: GET\r\n"));
    }
}
