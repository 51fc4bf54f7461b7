//! The exchange of a connection: lines of JSON over TCP, one from each end before RDMA begins, and one
//! from each after it. A peer without TCP has its first line in a file, and no last one.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::sockopt;
use samplewire_io::ether::EtherError;
use samplewire_roce::{PathMtu, Psn, Qpn};
use serde::{Deserialize, Serialize};

use crate::console::{Console, plain};
use crate::interrupt::Interrupt;

/// What an end of a connection states of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    /// Its IPv4 address.
    pub(super) address: Ipv4Addr,
    /// The number of its queue pair, 2 to 2^24 - 2: the last one stands for multicast.
    pub(super) qpn: u32,
    /// The PSN of its first request, below 2^24.
    pub(super) psn: u32,
    /// Its path MTU in bytes.
    pub(super) mtu: u32,
    /// The key of the region that it opens to writes.
    #[serde(default)]
    pub(super) rkey: u32,
    /// The region's first address.
    #[serde(default)]
    pub(super) region_address: u64,
    /// The region's length; 0 for none.
    #[serde(default)]
    pub(super) region_bytes: u64,
}

/// What an end states after RDMA: what it has sent or kept, or why not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LastLine {
    /// Bytes of all messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<u64>,
    /// Why the connection, or keeping what came, failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// Why a line was not understood, or did not come.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Ether(#[from] EtherError),
    #[error("it did not come within {} s", PATIENCE.as_secs())]
    Late,
    #[error("the peer closed the connection without it")]
    Closed,
    #[error("the peer refuses: {0}")]
    Refused(String),
    #[error("a line of more than {LINE_BYTES_MAX} bytes")]
    TooLong,
    #[error("`{line}`: {words}")]
    Json { line: String, words: String },
    #[error("{field} {value}: {range}")]
    Range { field: &'static str, value: u64, range: &'static str },
    #[error("address {0}: it is no station's")]
    Address(Ipv4Addr),
    #[error("interrupted")]
    Interrupted,
}

/// Where the lines come from and go to.
#[derive(Debug)]
pub(super) struct Exchange {
    /// None where a file has the peer's line: it says no more, and hears nothing.
    stream: Option<TcpStream>,
    text: Vec<u8>,
}

/// What an exchange has brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Nothing,
    Line(String),
    /// The peer will send no more.
    Closed,
}

impl Exchange {
    pub(super) fn connect(address: SocketAddr) -> io::Result<Self> {
        Self::new(TcpStream::connect_timeout(&address, PATIENCE)?)
    }

    /// A peer that is gone without a word is noticed after half a minute.
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, Duration::from_secs(15))?;
        sockopt::set_tcp_keepintvl(&stream, Duration::from_secs(5))?;
        sockopt::set_tcp_keepcnt(&stream, 3)?;
        Ok(Self { stream: Some(stream), text: Vec::new() })
    }

    /// The line of a peer is in a file.
    pub(super) fn of_file(path: &Path) -> io::Result<Self> {
        let mut text = Vec::new();
        File::open(path)?.take(LINE_BYTES_MAX as u64 + 1).read_to_end(&mut text)?;
        // The object may be on several lines.
        text.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        if text.len() <= LINE_BYTES_MAX {
            text.push(b'\n');
        }
        Ok(Self { stream: None, text })
    }

    /// Whether the peer hears what this end says, and says more itself.
    pub(super) const fn is_live(&self) -> bool {
        self.stream.is_some()
    }

    /// Sends a line. It is shorter than any buffer of TCP, so it does not block.
    pub(super) fn say(&mut self, line: &impl Serialize) -> io::Result<()> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        let mut text = serde_json::to_string(line).map_err(io::Error::from)?;
        text.push('\n');
        stream.write_all(text.as_bytes())
    }

    /// The next line, if it is there.
    pub(super) fn hear(&mut self) -> Result<Heard, LineError> {
        let mut bytes = [0; LINE_BYTES_MAX];
        loop {
            if let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                return Ok(Heard::Line(String::from_utf8_lossy(&line).trim().to_owned()));
            }
            if self.text.len() > LINE_BYTES_MAX {
                return Err(LineError::TooLong);
            }
            let Some(stream) = &mut self.stream else { return Ok(Heard::Nothing) };
            match stream.read(&mut bytes) {
                Ok(0) => return Ok(Heard::Closed),
                Ok(len) => self.text.extend_from_slice(&bytes[..len]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Heard::Nothing);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for a line, at most [`PATIENCE`]. Calls `idle` meanwhile, which sleeps for a moment: the
    /// peer may look for this station before it answers.
    pub(super) fn wait(
        &mut self,
        interrupt: &Interrupt,
        mut idle: impl FnMut() -> Result<(), LineError>,
    ) -> Result<String, LineError> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.hear()? {
                Heard::Line(line) => return Ok(line),
                Heard::Closed => return Err(LineError::Closed),
                Heard::Nothing if interrupt.signal().is_some() => {
                    return Err(LineError::Interrupted);
                }
                Heard::Nothing if Instant::now() > until => return Err(LineError::Late),
                Heard::Nothing => idle()?,
            }
        }
    }
}

impl LastLine {
    pub(super) fn parse(text: &str) -> Result<Self, LineError> {
        let last: Self = from_json(text)?;
        Ok(Self { error: last.error.map(|error| plain(&error, LINE_BYTES_MAX)), ..last })
    }
}

impl Line {
    /// Reads a peer's first line.
    pub(super) fn parse(text: &str) -> Result<Self, LineError> {
        if let Ok(LastLine { error: Some(error), .. }) = LastLine::parse(text) {
            return Err(LineError::Refused(error));
        }
        let line: Self = from_json(text)?;
        let refuse = |field, value: u64, range| Err(LineError::Range { field, value, range });
        if !(QPN_MIN..=QPN_MAX).contains(&line.qpn) {
            return refuse("qpn", line.qpn.into(), "must be 2 to 2^24 - 2");
        }
        if line.psn >= 1 << 24 {
            return refuse("psn", line.psn.into(), "must be below 2^24");
        }
        if PathMtu::from_bytes(line.mtu).is_none() {
            return refuse("mtu", line.mtu.into(), "must be 256, 512, 1024, 2048 or 4096");
        }
        let Line { address, .. } = line;
        if address.is_unspecified() || address.is_multicast() || address.is_broadcast() {
            return Err(LineError::Address(address));
        }
        if line.region_address.checked_add(line.region_bytes).is_none() {
            return refuse("region_bytes", line.region_bytes, "the region must end below 2^64");
        }
        Ok(line)
    }

    /// Shows this end's line to the user, who has to give it to a peer that does not hear it.
    pub(super) fn show(&self, exchange: &Exchange, console: &mut Console) {
        if !exchange.is_live() {
            let text = serde_json::to_string(self).expect("numbers and an address");
            console.note(format_args!("connection line of this end: {text}"));
        }
    }

    pub(super) const fn qpn(&self) -> Qpn {
        Qpn::new(self.qpn)
    }

    pub(super) const fn psn(&self) -> Psn {
        Psn::new(self.psn)
    }

    /// The smaller path MTU of both ends.
    pub(super) fn mtu_with(&self, other: PathMtu) -> PathMtu {
        let bytes = self.mtu.min(other.bytes());
        PathMtu::from_bytes(bytes).expect("both are path MTUs")
    }
}

fn from_json<T: for<'a> Deserialize<'a>>(text: &str) -> Result<T, LineError> {
    // The words quote names and values of the line.
    serde_json::from_str(text).map_err(|error| LineError::Json {
        line: plain(text, QUOTED_CHARS_MAX),
        words: plain(&error.to_string(), WORDS_CHARS_MAX),
    })
}

/// 0 and 1 are reserved (A17.5.8), and FFFFFFh stands for multicast (Linux: `IB_MULTICAST_QPN`).
pub(super) const QPN_MIN: u32 = 2;
pub(super) const QPN_MAX: u32 = (1 << 24) - 2;

/// How long a peer may take for a line.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

const LINE_BYTES_MAX: usize = 1_024;

/// Of a line in an error, and of what is wrong with it: the refusal is a line too.
const QUOTED_CHARS_MAX: usize = 120;
const WORDS_CHARS_MAX: usize = 240;

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"address":"10.0.0.2","qpn":17,"psn":16777215,"mtu":4096,
        "rkey":7,"region_address":4096,"region_bytes":100}"#;

    #[test]
    fn line_is_read_and_its_region_may_be_absent() {
        let line = Line::parse(LINE).expect("it is whole");
        assert_eq!((line.qpn, line.psn, line.rkey, line.region_bytes), (17, 0xFF_FFFF, 7, 100));
        assert_eq!(line.mtu_with(PathMtu::Bytes1024), PathMtu::Bytes1024);
        let text = serde_json::to_string(&line).unwrap();
        assert_eq!(Line::parse(&text).expect("it was written so"), line);
        let short = r#"{"address":"10.0.0.2","qpn":2,"psn":0,"mtu":256}"#;
        assert_eq!(Line::parse(short).expect("it is whole").region_bytes, 0);
    }

    #[test]
    fn lines_come_one_by_one_and_a_long_one_is_refused() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut near = Exchange::connect(address).unwrap();
        let mut far = Exchange::new(listener.accept().unwrap().0).unwrap();
        assert_eq!(near.hear().unwrap(), Heard::Nothing);
        far.say(&LastLine { bytes: Some(7), error: None }).unwrap();
        far.say(&LastLine::default()).unwrap();
        let interrupt = Interrupt::of(&[]).unwrap();
        let wait = |exchange: &mut Exchange| exchange.wait(&interrupt, || Ok(()));
        let first = wait(&mut near).unwrap();
        assert_eq!(LastLine::parse(&first).unwrap().bytes, Some(7));
        assert_eq!(wait(&mut near).unwrap(), "{}");
        far.stream.as_mut().unwrap().write_all(&[b'x'; 2 * LINE_BYTES_MAX]).unwrap();
        assert!(matches!(wait(&mut near), Err(LineError::TooLong)));
        drop(near);
        assert!(matches!(wait(&mut far), Err(LineError::Closed | LineError::Io(_))));
    }

    #[test]
    fn file_holds_one_line_and_a_long_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("peer.json");
        let interrupt = Interrupt::of(&[]).unwrap();
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let mut exchange = Exchange::of_file(&path).unwrap();
            let line = exchange.wait(&interrupt, || Ok(()))?;
            assert_eq!(exchange.hear()?, Heard::Nothing);
            exchange.say(&LastLine::default())?;
            Line::parse(&line)
        };
        assert_eq!(read(LINE).expect("it is whole").qpn, 17);
        assert_eq!(read(&format!("{LINE}\n\n")).expect("it is whole").qpn, 17);
        let padded = |len: usize| LINE.to_owned() + &" ".repeat(len - LINE.len());
        assert_eq!(read(&padded(LINE_BYTES_MAX)).expect("it fits").qpn, 17);
        assert!(matches!(read(&padded(LINE_BYTES_MAX + 1)), Err(LineError::TooLong)));
        assert!(matches!(read(""), Err(LineError::Json { .. })));
        assert!(Exchange::of_file(folder.path().join("none").as_path()).is_err());
    }

    #[test]
    fn impossible_numbers_are_named_and_nothing_steers_a_terminal() {
        for (from, to, words) in [
            ("17", "1", "qpn 1: must be 2"),
            ("17", "16777215", "qpn 16777215: must be 2 to 2^24 - 2"),
            ("17", "16777216", "qpn 16777216: "),
            ("17", "4294967296", "`4294967296`, expected u32"),
            ("16777215", "16777216", "psn 16777216: must be below 2^24"),
            (":4096,\n", ":1500,\n", "mtu 1500: "),
            (":100", ":18446744073709551615", "region_bytes 18446744073709551615: "),
            ("10.0.0.2", "10.0.0", "invalid IPv4"),
            ("10.0.0.2", "224.0.0.1", "address 224.0.0.1: it is no station's"),
            ("10.0.0.2", "255.255.255.255", "address 255.255.255.255: "),
            ("10.0.0.2", "0.0.0.0", "address 0.0.0.0: "),
            ("17", "-1", "invalid value"),
            ("rkey", "key", "unknown field `key`"),
            ("}", "", "EOF"),
        ] {
            let error = Line::parse(&LINE.replace(from, to)).expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        }
        for line in ["\u{1b}]0;x\u{7}", r#"{"\u001b[2J":1}"#, r#"{"error":"\u001b[2J\u009b"}"#] {
            let error = Line::parse(line).expect_err("it is none").to_string();
            assert!(!error.chars().any(char::is_control), "{error:?} steers a terminal");
        }
        let long = format!("{{\"{}\":1}}", "x".repeat(1_000));
        let error = Line::parse(&long).expect_err("an unknown field").to_string();
        assert!(error.len() < LINE_BYTES_MAX / 2, "it fits a line, with all that JSON escapes");
        let refused = Line::parse(r#"{"error":"busy"}"#).expect_err("it is refused").to_string();
        assert_eq!(refused, "the peer refuses: busy");
    }
}
