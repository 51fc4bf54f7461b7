//! The exchange of a connection: lines of JSON over TCP, one from each end before RDMA begins, and one
//! from each after it. A peer without TCP has its first line in a file, and no last one.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::sockopt;
use samplewire_io::ether::EtherError;
use serde::Serialize;

use super::line::{LINE_BYTES_MAX, Line, ParseError};
use crate::console::Console;
use crate::interrupt::Interrupt;

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
    #[error("a line of more than {LINE_BYTES_MAX} bytes")]
    TooLong,
    #[error(transparent)]
    Content(#[from] ParseError),
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

    /// Shows this end's line to the user, who has to give it to a peer that does not hear it.
    pub(super) fn show(&self, line: &Line, console: &mut Console) {
        if !self.is_live() {
            let text = serde_json::to_string(line).expect("numbers and an address");
            console.note(format_args!("connection line of this end: {text}"));
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

/// How long a peer may take for a line.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roce::line::LastLine;

    #[test]
    fn lines_come_one_by_one_and_a_long_one_is_refused() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut near = Exchange::connect(address).unwrap();
        let mut far = Exchange::new(listener.accept().unwrap().0).unwrap();
        assert_eq!(near.hear().unwrap(), Heard::Nothing);
        far.say(&LastLine::of(7)).unwrap();
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

    const LINE: &str = r#"{"address":"10.0.0.2","qpn":17,"psn":0,"mtu":4096}"#;

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
            Ok::<_, LineError>(Line::parse(&line)?)
        };
        assert_eq!(read(LINE).expect("it is whole").qpn, 17);
        assert_eq!(read(&format!("{LINE}\n\n")).expect("it is whole").qpn, 17);
        let padded = |len: usize| LINE.to_owned() + &" ".repeat(len - LINE.len());
        assert_eq!(read(&padded(LINE_BYTES_MAX)).expect("it fits").qpn, 17);
        assert!(matches!(read(&padded(LINE_BYTES_MAX + 1)), Err(LineError::TooLong)));
        assert!(matches!(read(""), Err(LineError::Content(ParseError::Json { .. }))));
        assert!(Exchange::of_file(folder.path().join("none").as_path()).is_err());
    }
}
