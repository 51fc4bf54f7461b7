//! The connection line: one JSON object in a line that each end gives the other before RDMA begins.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use samplewire_io::ether::EtherError;
use samplewire_roce::{PathMtu, Psn, Qpn};
use serde::{Deserialize, Serialize};

/// What one end of a connection tells the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    /// Its IPv4 address.
    pub(super) address: Ipv4Addr,
    /// The number of its queue pair, 2 to 2^24 - 1.
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

/// Why a connection line was not understood.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Ether(#[from] EtherError),
    #[error("it did not come within {} s", PATIENCE.as_secs())]
    Late,
    #[error("the peer closed the connection without a line")]
    Nothing,
    #[error("a line of more than {LINE_BYTES_MAX} bytes")]
    TooLong,
    #[error("`{line}`: {source}")]
    Json { line: String, source: serde_json::Error },
    #[error("{field} {value}: {range}")]
    Range { field: &'static str, value: u64, range: &'static str },
}

impl Line {
    /// Gives the line to a peer.
    pub(super) fn write(&self, stream: &mut TcpStream) -> io::Result<()> {
        let mut text = serde_json::to_string(self).map_err(io::Error::from)?;
        text.push('\n');
        stream.write_all(text.as_bytes())
    }

    /// Takes the line of a peer, which has [`PATIENCE`] for it. Calls `idle` while nothing comes: the
    /// peer may look for this station before it answers.
    pub(super) fn read(
        stream: &mut TcpStream,
        mut idle: impl FnMut() -> Result<(), EtherError>,
    ) -> Result<Self, LineError> {
        stream.set_read_timeout(Some(IDLE_PERIOD))?;
        let until = Instant::now() + PATIENCE;
        let mut text = [0; LINE_BYTES_MAX];
        let mut len = 0;
        loop {
            match stream.read(&mut text[len..]) {
                Ok(0) if len == LINE_BYTES_MAX => return Err(LineError::TooLong),
                Ok(0) => break,
                Ok(more) => len += more,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => idle()?,
                Err(error) => return Err(error.into()),
            }
            if text[..len].contains(&b'\n') {
                break;
            }
            if Instant::now() > until {
                return Err(LineError::Late);
            }
        }
        let line = text[..len].split(|byte| *byte == b'\n').next().unwrap_or_default();
        Self::parse(String::from_utf8_lossy(line).trim())
    }

    fn parse(text: &str) -> Result<Self, LineError> {
        if text.is_empty() {
            return Err(LineError::Nothing);
        }
        let line: Self = serde_json::from_str(text)
            .map_err(|source| LineError::Json { line: text.chars().take(120).collect(), source })?;
        let refuse = |field, value: u64, range| Err(LineError::Range { field, value, range });
        if !(2..1 << 24).contains(&line.qpn) {
            return refuse("qpn", line.qpn.into(), "must be 2 to 2^24 - 1");
        }
        if line.psn >= 1 << 24 {
            return refuse("psn", line.psn.into(), "must be below 2^24");
        }
        if PathMtu::from_bytes(line.mtu).is_none() {
            return refuse("mtu", line.mtu.into(), "must be 256, 512, 1024, 2048 or 4096");
        }
        if line.region_address.checked_add(line.region_bytes).is_none() {
            return refuse("region_bytes", line.region_bytes, "the region must end below 2^64");
        }
        Ok(line)
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

/// How long a peer may take for its line.
const PATIENCE: Duration = Duration::from_secs(10);

const IDLE_PERIOD: Duration = Duration::from_millis(5);

const LINE_BYTES_MAX: usize = 1_024;

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
    fn impossible_numbers_are_named() {
        for (from, to, words) in [
            ("17", "1", "qpn 1: must be 2"),
            ("17", "16777216", "qpn 16777216: "),
            ("16777215", "16777216", "psn 16777216: must be below 2^24"),
            (":4096,\n", ":1500,\n", "mtu 1500: "),
            (":100", ":18446744073709551615", "region_bytes 18446744073709551615: "),
            ("10.0.0.2", "10.0.0", "invalid IPv4"),
            ("17", "-1", "invalid value"),
            ("rkey", "key", "unknown field `key`"),
            ("}", "", "EOF"),
        ] {
            let error = Line::parse(&LINE.replace(from, to)).expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        }
        assert!(matches!(Line::parse(""), Err(LineError::Nothing)));
    }
}
