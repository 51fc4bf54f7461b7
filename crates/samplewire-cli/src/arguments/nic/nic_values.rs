//! Values of the options of `nic`.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use samplewire_io::ether::DgramAddress;
use samplewire_proto::block::MacAddress;
use samplewire_proto::block::wire::is_group;

use crate::arguments::values::{self as general, Threshold};

/// A link by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkName {
    /// An interface of the kernel.
    Interface(String),
    /// The datagram socket of a simulated board.
    Board(PathBuf),
    /// Two sockets: this end's, and the other's.
    Pair(DgramAddress),
}

impl FromStr for LinkName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            None if text.is_empty() => Err("a link has a name".into()),
            None => Ok(Self::Interface(text.to_owned())),
            Some("") => Err("unix: is followed by the path of a socket".into()),
            Some(paths) if paths.contains(',') => {
                let pair: DgramAddress = paths.parse()?;
                match pair {
                    DgramAddress::Unix { .. } => Ok(Self::Pair(pair)),
                    DgramAddress::Inet { .. } => Err(format!("`{text}`: these are no paths")),
                }
            }
            Some(path) => Ok(Self::Board(path.into())),
        }
    }
}

impl std::fmt::Display for LinkName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Interface(name) => f.write_str(name),
            Self::Board(path) => write!(f, "unix:{}", path.display()),
            Self::Pair(pair) => write!(f, "unix:{pair}"),
        }
    }
}

/// A picture: the bytes of a file, or as many as are named.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Picture {
    /// Generated.
    Size(String, u64),
    /// Read.
    File(PathBuf),
}

impl FromStr for Picture {
    type Err = String;

    /// A number with kB or MB, whose k is 1,024 as in the source of the figures, or a path.
    fn from_str(text: &str) -> Result<Self, String> {
        let units = [("kB", 1_024.0), ("MB", 1_048_576.0), ("", 1.0)];
        for (unit, factor) in units {
            let number = text.strip_suffix(unit).and_then(|number| number.parse::<f64>().ok());
            let Some(bytes) = number.map(|number| (number * factor).round()) else { continue };
            if !(1.0..=PICTURE_BYTES_MAX).contains(&bytes) {
                return Err(format!("`{text}`: a picture has 1 byte to 1 GB"));
            }
            return Ok(Self::Size(text.to_owned(), bytes as u64));
        }
        Ok(Self::File(text.into()))
    }
}

/// All of a picture is in memory.
const PICTURE_BYTES_MAX: f64 = 1_073_741_824.0;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NicCount {
    /// Frames that did not come back.
    Lost,
    /// Frames that came back with other bytes.
    Wrong,
    /// Frames that came back after they had been given up.
    Late,
    /// Frames that came more than once.
    Duplicate,
    /// Frames that were sent again.
    Repeated,
    /// Frames that a block transfer had no use for.
    Rejected,
}

impl NicCount {
    /// The name on the command line and in JSON.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Wrong => "wrong",
            Self::Late => "late",
            Self::Duplicate => "duplicate",
            Self::Repeated => "repeated",
            Self::Rejected => "rejected",
        }
    }
}

fn threshold(text: &str, subjects: &[NicCount]) -> Result<Threshold<NicCount>, String> {
    general::threshold_of(text, subjects, NicCount::as_str)
}

pub(super) fn of_trips(text: &str) -> Result<Threshold<NicCount>, String> {
    threshold(text, &[NicCount::Lost, NicCount::Wrong, NicCount::Late])
}

pub(super) fn of_rate(text: &str) -> Result<Threshold<NicCount>, String> {
    threshold(text, &[NicCount::Lost, NicCount::Wrong, NicCount::Duplicate])
}

pub(super) fn of_send(text: &str) -> Result<Threshold<NicCount>, String> {
    threshold(text, &[NicCount::Repeated, NicCount::Rejected])
}

pub(super) fn of_receive(text: &str) -> Result<Threshold<NicCount>, String> {
    threshold(text, &[NicCount::Duplicate, NicCount::Rejected])
}

pub(super) fn of_image(text: &str) -> Result<Threshold<NicCount>, String> {
    let of_block = NicCount::Repeated;
    threshold(text, &[NicCount::Lost, NicCount::Wrong, NicCount::Duplicate, of_block])
}

/// Reads the Ethernet address of one station: `02:53:57:00:00:01`.
pub(super) fn station(text: &str) -> Result<MacAddress, String> {
    let byte = |text: &str| {
        let is_hex = text.len() == 2 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        u8::from_str_radix(text, 16).ok().filter(|_| is_hex)
    };
    let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
    let address = bytes.and_then(|bytes| MacAddress::try_from(bytes).ok());
    let address = address.filter(|address| !is_group(*address));
    address.ok_or_else(|| {
        format!("`{text}` is no Ethernet address of one station, such as 02:53:57:00:00:01")
    })
}

/// Reads a time to wait, 0 included.
pub(super) fn delay(text: &str) -> Result<Duration, String> {
    if text == "0" { Ok(Duration::ZERO) } else { general::time(text) }
}

/// Where a board's registers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConsoleAddress {
    /// The socket of a simulated board.
    Unix(PathBuf),
    /// Host and port.
    Tcp(String),
}

impl FromStr for ConsoleAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some("") => Err("unix: is followed by the path of a socket".into()),
            Some(path) => Ok(Self::Unix(path.into())),
            None if text.is_empty() => Err("a host has a name".into()),
            None if text.contains(':') => Ok(Self::Tcp(text.to_owned())),
            None => Ok(Self::Tcp(format!("{text}:{TELNET_PORT}"))),
        }
    }
}

impl std::fmt::Display for ConsoleAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => f.write_str(address),
        }
    }
}

/// An access to a register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) name: String,
    /// What is written; none: it is read.
    pub(crate) value: Option<u32>,
}

impl FromStr for Access {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(word(value)?)),
            None => (text, None),
        };
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"._".contains(&byte);
        if name.is_empty() || name.len() > REGISTER_BYTES_MAX || !name.bytes().all(is_word) {
            return Err(format!(
                "a name has 1 to {REGISTER_BYTES_MAX} letters, digits, `_` and `.`"
            ));
        }
        Ok(Self { name: name.to_owned(), value })
    }
}

fn word(text: &str) -> Result<u32, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|_| "a value is a number from 0 to 0xffffffff".into())
}

const TELNET_PORT: u16 = 23;
const REGISTER_BYTES_MAX: usize = 31;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_back_as_they_are_written() {
        for text in ["eth0", "unix:/tmp/board", "unix:board", "unix:/a,/b"] {
            assert_eq!(text.parse::<LinkName>().expect(text).to_string(), text);
        }
        for text in ["", "unix:", "unix:a,b", "unix:127.0.0.1:1,127.0.0.1:2"] {
            text.parse::<LinkName>().expect_err(text);
        }
    }

    #[test]
    fn pictures_are_sizes_or_files() {
        let size =
            |text: &str, bytes| assert_eq!(text.parse(), Ok(Picture::Size(text.into(), bytes)));
        size("347.5kB", 355_840);
        size("15.9MB", 16_672_358);
        size("1", 1);
        assert_eq!("a.jpg".parse(), Ok(Picture::File("a.jpg".into())));
        for text in ["0", "2000MB", "-1kB"] {
            text.parse::<Picture>().expect_err(text);
        }
    }

    #[test]
    fn stations_and_thresholds_are_checked() {
        assert_eq!(station("02:53:57:00:00:fE"), Ok([2, 0x53, 0x57, 0, 0, 0xFE]));
        for text in ["", "02:53:57:00:00", "ff:ff:ff:ff:ff:ff", "+2:53:57:00:00:01", "2:0:0:0:0:1"]
        {
            assert!(station(text).unwrap_err().contains(&format!("`{text}`")));
        }
        let lost = Threshold { subject: NicCount::Lost, count_max: 0 };
        assert_eq!(of_rate("lost=0"), Ok(lost));
        assert!(of_rate("late=0").unwrap_err().contains("known are lost, wrong, duplicate"));
        assert_eq!(delay("0"), Ok(Duration::ZERO));
    }
}
