//! Fetches a process's page, with bounds on time and length.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::text::{self, Sample, TextError};

/// Where a process listens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Endpoint {
    /// A process of this user.
    Local(PathBuf),
    /// The `--metrics` address of another process.
    Tcp(SocketAddr),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(path) => path.display().fmt(f),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    /// The process is gone, or does not answer in time.
    #[error("{endpoint}: {source}")]
    System { endpoint: Endpoint, source: io::Error },
    /// The answer is not a page.
    #[error("{endpoint}: {words}")]
    Answer { endpoint: Endpoint, words: String },
    /// The page is malformed.
    #[error("{endpoint}: {source}")]
    Text { endpoint: Endpoint, source: TextError },
}

/// Fetches the page of a process.
///
/// # Errors
/// See [`FetchError`].
///
/// # Blocking
/// At most for [`TIME_MAX`].
pub(crate) fn fetch(endpoint: &Endpoint) -> Result<Vec<Sample>, FetchError> {
    let failed = |source| FetchError::System { endpoint: endpoint.clone(), source };
    let wrong =
        |words: &str| FetchError::Answer { endpoint: endpoint.clone(), words: words.into() };
    let until = Instant::now() + TIME_MAX;
    let bytes = match endpoint {
        Endpoint::Local(path) => connect_local(path).and_then(|mut wire| {
            wire.set_read_timeout(Some(TIME_MAX))?;
            wire.set_write_timeout(Some(TIME_MAX))?;
            ask(&mut wire, until)
        }),
        Endpoint::Tcp(address) => {
            TcpStream::connect_timeout(address, TIME_MAX).and_then(|mut wire| {
                wire.set_read_timeout(Some(TIME_MAX))?;
                wire.set_write_timeout(Some(TIME_MAX))?;
                ask(&mut wire, until)
            })
        }
    };
    let bytes = bytes.map_err(failed)?;
    let answer = std::str::from_utf8(&bytes).map_err(|_| wrong("its answer is no text"))?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| wrong("it speaks no HTTP"))?;
    let status = head.split(' ').nth(1);
    if status != Some("200") {
        let line = head.lines().next().unwrap_or_default();
        let line: String = line.escape_debug().take(LINE_CHARS_MAX).collect();
        return Err(wrong(&format!("it answers `{line}`")));
    }
    // A number that is cut off would parse as another number.
    if content_length(head).is_some_and(|length| length != body.len()) {
        return Err(wrong("its answer breaks off"));
    }
    text::parse(body).map_err(|source| FetchError::Text { endpoint: endpoint.clone(), source })
}

/// Whether a process listens there.
///
/// # Errors
/// The check failed, for example because there are no free file descriptors.
pub(super) fn listens(path: &Path) -> io::Result<bool> {
    match connect_local(path) {
        Ok(_) => Ok(true),
        Err(error) => match error.kind() {
            // The process is alive, but does not accept: it may be stopped.
            io::ErrorKind::WouldBlock => Ok(true),
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Ok(false),
            _ => Err(error),
        },
    }
}

/// Connects at once or not at all: a process that does not accept must not block the caller.
fn connect_local(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?).map_err(|error| match error {
        Errno::AGAIN => io::Error::from(io::ErrorKind::WouldBlock),
        other => other.into(),
    })?;
    let wire = UnixStream::from(socket);
    wire.set_nonblocking(false)?;
    Ok(wire)
}

fn ask(wire: &mut (impl Read + Write), until: Instant) -> io::Result<Vec<u8>> {
    wire.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut bytes = Vec::new();
    let mut some = vec![0; 16 << 10];
    loop {
        match wire.read(&mut some) {
            Ok(0) => return Ok(bytes),
            Ok(len) => bytes.extend_from_slice(&some[..len]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(slow()),
            Err(error) => return Err(error),
        }
        if bytes.len() > PAGE_BYTES_MAX {
            return Err(io::Error::other(format!("its page exceeds {PAGE_BYTES_MAX} bytes")));
        }
        if Instant::now() > until {
            return Err(slow());
        }
    }
}

/// The length of the body; `None` if the head does not state it.
fn content_length(head: &str) -> Option<usize> {
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    let mut lengths = fields.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    // An invalid number matches no length.
    lengths.next().map(|(_, length)| length.trim().parse().unwrap_or(usize::MAX))
}

fn slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("it does not answer within {TIME_MAX:?}"))
}

/// Limit for connecting, and again for the answer.
const TIME_MAX: Duration = Duration::from_millis(500);

/// Enough for several hundred streams.
const PAGE_BYTES_MAX: usize = 4 << 20;

/// How much of an answer an error shows.
const LINE_CHARS_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// The error text for an unexpected answer.
    fn error_for(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut wire, _) = listener.accept().unwrap();
            // Reads all of the request: otherwise a reset may discard the answer.
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut some = [0; 256];
                let len = wire.read(&mut some).unwrap();
                request.extend_from_slice(&some[..len]);
            }
            wire.write_all(answer.as_bytes()).unwrap();
        });
        let error = fetch(&Endpoint::Tcp(address)).unwrap_err().to_string();
        server.join().unwrap();
        error.strip_prefix(&format!("{address}: ")).unwrap().to_owned()
    }

    #[test]
    fn answers_of_others_are_named_and_steer_no_terminal() {
        for (answer, words) in [
            ("HTTP/1.1 302 \u{1b}]0;x\u{7}\u{9b}2J\r\n\r\n", "302 \\u{1b}]0;x\\u{7}\\u{9b}2J`"),
            ("HTTP/1.1 200 OK\r\n\r\na \u{1b}[2J\n", "line 1 is not of Prometheus"),
            ("220 mail.example ESMTP\r\n", "it speaks no HTTP"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\na 12", "its answer breaks off"),
            ("HTTP/1.1 200 OK\r\ncontent-length:x\r\n\r\na 12", "its answer breaks off"),
        ] {
            let error = error_for(answer);
            assert!(error.contains(words), "{error}");
            assert!(!error.chars().any(char::is_control), "{error:?}");
        }
    }
}
