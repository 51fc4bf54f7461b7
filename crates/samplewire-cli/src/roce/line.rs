//! The lines of JSON that both ends of a connection exchange. `fuzz/checks/connection_line.rs` reads this file
//! too.

use std::net::Ipv4Addr;

use samplewire_roce::{PathMtu, Psn, Qpn};
use serde::{Deserialize, Serialize};

use crate::plain::plain;

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

/// Why a line was not understood.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ParseError {
    #[error("the peer refuses: {0}")]
    Refused(String),
    #[error("`{line}`: {words}")]
    Json { line: String, words: String },
    #[error("{field} {value}: {range}")]
    Range { field: &'static str, value: u64, range: &'static str },
    #[error("address {0}: it is no station's")]
    Address(Ipv4Addr),
}

impl LastLine {
    /// A last line that reports the bytes that were sent, or kept.
    pub(super) const fn of(bytes: u64) -> Self {
        Self { bytes: Some(bytes), error: None }
    }

    /// A last line that reports an error, cut to the length of a line.
    pub(super) fn failed(words: &str) -> Self {
        let mut left = LINE_BYTES_MAX - br#"{"error":""}"#.len();
        let words = plain(words, LINE_BYTES_MAX);
        let fits = |letter: &char| {
            // JSON escapes no others: control characters are not there.
            let len = letter.len_utf8() + usize::from(matches!(letter, '"' | '\\'));
            left.checked_sub(len).map(|rest| left = rest).is_some()
        };
        Self { bytes: None, error: Some(words.chars().take_while(fits).collect()) }
    }

    /// Reads a peer's last line.
    pub(super) fn parse(text: &str) -> Result<Self, ParseError> {
        let last: Self = from_json(text)?;
        Ok(Self { error: last.error.map(|error| plain(&error, LINE_BYTES_MAX)), ..last })
    }
}

impl Line {
    /// Reads a peer's first line.
    pub(super) fn parse(text: &str) -> Result<Self, ParseError> {
        if let Ok(LastLine { error: Some(error), .. }) = LastLine::parse(text) {
            return Err(ParseError::Refused(error));
        }
        let line: Self = from_json(text)?;
        let refuse = |field, value: u64, range| Err(ParseError::Range { field, value, range });
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
            return Err(ParseError::Address(address));
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

fn from_json<T: for<'a> Deserialize<'a>>(text: &str) -> Result<T, ParseError> {
    // The words quote names and values of the line.
    serde_json::from_str(text).map_err(|error| ParseError::Json {
        line: plain(text, QUOTED_CHARS_MAX),
        words: plain(&error.to_string(), WORDS_CHARS_MAX),
    })
}

/// 0 and 1 are reserved (A17.5.8), and FFFFFFh stands for multicast (Linux: `IB_MULTICAST_QPN`).
pub(super) const QPN_MIN: u32 = 2;
pub(super) const QPN_MAX: u32 = (1 << 24) - 2;

/// The longest line, without its end.
pub(super) const LINE_BYTES_MAX: usize = 1_024;

/// Of a line in an error, and of what is wrong with it.
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
        assert!(error.len() < LINE_BYTES_MAX / 2, "{error}");
        let refused = Line::parse(r#"{"error":"busy"}"#).expect_err("it is refused").to_string();
        assert_eq!(refused, "the peer refuses: busy");
    }
    #[test]
    fn refusal_fits_a_line_whatever_its_words() {
        let budget = LINE_BYTES_MAX - br#"{"error":""}"#.len();
        for (letter, len) in [('x', 1), ('"', 2), ('\\', 2), ('\u{e9}', 2), ('\u{1f600}', 4)] {
            let words = letter.to_string().repeat(2 * LINE_BYTES_MAX);
            let last = LastLine::failed(&words);
            let text = serde_json::to_string(&last).unwrap();
            assert!(text.len() <= LINE_BYTES_MAX && text.len() + len > LINE_BYTES_MAX, "{text}");
            assert_eq!(LastLine::parse(&text).unwrap(), last);
            let whole = letter.to_string().repeat(budget / len);
            assert_eq!(LastLine::failed(&whole).error, Some(whole));
        }
        assert_eq!(LastLine::failed("a\nb").error.unwrap(), "a?b");
    }
}
