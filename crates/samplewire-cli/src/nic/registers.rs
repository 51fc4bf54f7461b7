//! A board's registers, over its console: lines of text that are answered by lines of text.
//!
//! The console is that of the firmware's image `stack`, over TCP, or a simulated board's socket. The last
//! line of an answer is a value, `ok`, or `error: ..`.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::NicError;
use crate::arguments::ConsoleAddress;

/// A connection to a console.
pub(super) struct Registers {
    at: ConsoleAddress,
    stream: BufReader<Stream>,
}

/// A counter as a console lists it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Counter {
    pub(super) name: String,
    pub(super) value: u64,
}

enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Registers {
    pub(super) fn connect(at: &ConsoleAddress) -> Result<Self, NicError> {
        let stream = Stream::connect(at);
        let stream = stream.map_err(|error| NicError::Console { at: at.clone(), error })?;
        Ok(Self { at: at.clone(), stream: BufReader::new(stream) })
    }

    /// Reads a register.
    pub(super) fn read(&mut self, name: &str) -> Result<u32, NicError> {
        let line = format!("read {name}");
        self.ask(&line)?;
        let answer = self.answer(&line)?;
        let digits = answer.strip_prefix("0x").unwrap_or(&answer);
        u32::from_str_radix(digits, 16).map_err(|_| unexpected(&line, &answer))
    }

    /// Writes a register.
    pub(super) fn write(&mut self, name: &str, value: u32) -> Result<(), NicError> {
        let line = format!("write {name} {value:#x}");
        self.ask(&line)?;
        let answer = self.answer(&line)?;
        if answer == OK { Ok(()) } else { Err(unexpected(&line, &answer)) }
    }

    /// Lists all counters.
    pub(super) fn counters(&mut self) -> Result<Vec<Counter>, NicError> {
        let line = "counters";
        self.ask(line)?;
        let mut counters = Vec::new();
        loop {
            let answer = self.answer(line)?;
            if answer == OK {
                return Ok(counters);
            }
            let counter = answer.split_once(' ').and_then(|(name, value)| {
                Some(Counter { name: name.to_owned(), value: value.parse().ok()? })
            });
            let Some(counter) = counter.filter(|_| counters.len() < COUNTERS_MAX) else {
                return Err(unexpected(line, &answer));
            };
            counters.push(counter);
        }
    }

    fn ask(&mut self, line: &str) -> Result<(), NicError> {
        let written = self.stream.get_mut().write_all(format!("{line}\n").as_bytes());
        written.map_err(|error| self.broken(error))
    }

    /// The next line of an answer, or the error that it is.
    fn answer(&mut self, asked: &str) -> Result<String, NicError> {
        let mut bytes = Vec::new();
        let read = self.stream.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes);
        read.map_err(|error| self.broken(error))?;
        if bytes.pop() != Some(b'\n') {
            let words = "the console ended its answer in mid-line";
            return Err(self.broken(io::Error::new(io::ErrorKind::UnexpectedEof, words)));
        }
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end_matches('\r');
        match text.strip_prefix("error: ") {
            Some(words) => Err(NicError::Line {
                line: asked.to_owned(),
                words: crate::plain::plain(words, 200),
            }),
            None => Ok(text.to_owned()),
        }
    }

    fn broken(&self, error: io::Error) -> NicError {
        let error = match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                io::Error::new(io::ErrorKind::TimedOut, "no answer within 10 s")
            }
            _ => error,
        };
        NicError::Console { at: self.at.clone(), error }
    }
}

impl Stream {
    fn connect(at: &ConsoleAddress) -> io::Result<Self> {
        Ok(match at {
            ConsoleAddress::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                Self::Unix(stream)
            }
            ConsoleAddress::Tcp(address) => {
                let first = address.to_socket_addrs()?.next();
                let address = first.ok_or(io::ErrorKind::AddrNotAvailable)?;
                let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                Self::Tcp(stream)
            }
        })
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn unexpected(line: &str, answer: &str) -> NicError {
    let answer = crate::plain::plain(answer, 80);
    NicError::Line { line: line.to_owned(), words: format!("the console answers `{answer}`") }
}

const OK: &str = "ok";
/// A simulated board takes tens of milliseconds to answer.
const PATIENCE: Duration = Duration::from_secs(10);
const LINE_BYTES_MAX: u64 = 256;
const COUNTERS_MAX: usize = 512;
