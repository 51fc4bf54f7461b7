//! What the checks share: the reader, the stream, the interface, and ways to read a value.

use std::net::SocketAddr;
use std::rc::Rc;
use std::str::FromStr;
use std::time::Duration;

use super::check::NoReading;
use super::demand::Demand;
use super::reader::{ReadError, Reader};
use crate::arguments::DoctorArguments;
use crate::host;

/// The host and the stream of a diagnosis.
#[derive(Debug)]
pub(super) struct Context<'a> {
    pub(super) reader: &'a Reader,
    pub(super) demand: Demand,
    /// The device, if one is named.
    pub(super) peer: Option<SocketAddr>,
    interface: Option<String>,
}

impl<'a> Context<'a> {
    /// Finds the interface, and the demand of the stream.
    pub(super) fn new(
        reader: &'a Reader,
        arguments: &DoctorArguments,
        peer: Option<SocketAddr>,
    ) -> Self {
        let interface = arguments.interface.clone().or_else(|| interface_of(reader, peer));
        let interface = interface.filter(|name| is_interface_name(name));
        let demand = Demand {
            rate_hz: 0.0,
            sample_bytes: 0.0,
            payload_bytes: 0.0,
            stall: arguments.stall,
            window_packets: f64::from(samplewire::options::WINDOW_DEFAULT),
        };
        let mut context = Self { reader, demand, peer, interface };
        let answer = |key: &str| {
            let path = context.device_path().ok()?;
            context
                .field(&path, key)
                .ok()
                .filter(|&number: &f64| number.is_finite() && number > 0.0)
        };
        let mtu = context.mtu_bytes().unwrap_or(MTU_BYTES_DEFAULT);
        let rate = arguments.rate.or_else(|| answer("rate_hz"));
        let sample = arguments.sample_bytes.map(f64::from).or_else(|| answer("sample_bytes"));
        let payload = answer("payload_bytes").unwrap_or_else(|| Demand::payload_of_mtu(mtu));
        let (rate_hz, sample_bytes) =
            (rate.unwrap_or(RATE_HZ_DEFAULT), sample.unwrap_or(SAMPLE_BYTES_DEFAULT));
        context.demand = Demand { rate_hz, sample_bytes, payload_bytes: payload, ..demand };
        context
    }

    /// The interface towards the device, if one is known.
    pub(super) fn interface_name(&self) -> Option<&str> {
        self.interface.as_deref()
    }

    /// The interface towards the device.
    pub(super) fn interface(&self) -> Result<&str, NoReading> {
        self.interface.as_deref().ok_or_else(|| NoReading::NotApplicable("no interface".into()))
    }

    /// The interface, unless it is the loopback, which has no card.
    pub(super) fn card(&self) -> Result<&str, NoReading> {
        match self.interface()? {
            "lo" => Err(NoReading::NotApplicable("the loopback has no card".into())),
            name => Ok(name),
        }
    }

    /// A path of the interface below `/sys/class/net`.
    pub(super) fn card_path(&self, name: &str) -> Result<String, NoReading> {
        Ok(format!("/sys/class/net/{}/{name}", self.card()?))
    }

    /// An answer of the interface's driver.
    pub(super) fn answer_path(&self, name: &str) -> Result<String, NoReading> {
        Ok(format!("/ethtool/{}/{name}", self.card()?))
    }

    /// Counts of the interface from netlink's `netdev`.
    pub(super) fn netdev_path(&self) -> Result<String, NoReading> {
        Ok(format!("/netlink/{}/device", self.card()?))
    }

    /// The NUMA node of the card.
    pub(super) fn card_node(&self) -> Result<u32, NoReading> {
        let path = self.card_path("device/numa_node")?;
        let node = match self.optional(&path)? {
            Some(text) if text.trim() != "-1" => Some(parse(&path, text.trim())?),
            _ => None,
        };
        node.ok_or_else(|| NoReading::NotApplicable("the card belongs to no NUMA node".into()))
    }

    /// The CPUs of a NUMA node.
    pub(super) fn node_cpus(&self, node: u32) -> Result<Vec<usize>, NoReading> {
        let path = format!("/sys/devices/system/node/node{node}/cpulist");
        cpu_list(&path, &self.text(&path)?)
    }

    /// The folder of the process's control group, version 2.
    pub(super) fn control_group(&self) -> Result<String, NoReading> {
        let text = self.text("/proc/self/cgroup")?;
        let path = text.lines().find_map(|line| line.strip_prefix("0::"));
        match path.map(|path| path.trim_end_matches('/')) {
            Some("") => {
                Err(NoReading::NotApplicable("the process is in the root control group".into()))
            }
            Some(path) => Ok(format!("/sys/fs/cgroup{path}")),
            None => Err(NoReading::NotApplicable("no control groups of version 2".into())),
        }
    }

    /// The answer of the device to a query.
    pub(super) fn device_path(&self) -> Result<String, NoReading> {
        match self.peer {
            Some(peer) => Ok(format!("/device/{peer}")),
            None => Err(NoReading::NotApplicable("no device is named".into())),
        }
    }

    /// The interface's MTU.
    pub(super) fn mtu_bytes(&self) -> Result<u64, NoReading> {
        self.number(&format!("/sys/class/net/{}/mtu", self.interface()?))
    }

    /// The text at a path.
    pub(super) fn text(&self, path: &str) -> Result<Rc<str>, NoReading> {
        Ok(self.reader.text(path)?)
    }

    /// The text at a path; `None` if nothing is there.
    pub(super) fn optional(&self, path: &str) -> Result<Option<Rc<str>>, NoReading> {
        match self.reader.text(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.why.is_absence() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The number that is the whole text at a path.
    pub(super) fn number<T: FromStr>(&self, path: &str) -> Result<T, NoReading> {
        let text = self.text(path)?;
        parse(path, text.trim())
    }

    /// The same for a number that may be negative.
    pub(super) fn signed_number(&self, path: &str) -> Result<f64, NoReading> {
        parse_signed(path, self.text(path)?.trim())
    }

    /// The number in a column of the first line at a path.
    pub(super) fn column<T: FromStr>(&self, path: &str, column: usize) -> Result<T, NoReading> {
        let text = self.text(path)?;
        let word = text.split_ascii_whitespace().nth(column);
        parse(path, word.unwrap_or_default())
    }

    /// The word after `key` at a path: `KEY VALUE`, `KEY: VALUE kB` or `KEY:VALUE`.
    pub(super) fn word(&self, path: &str, key: &str) -> Result<Rc<str>, NoReading> {
        let text = self.text(path)?;
        let found = text.lines().find_map(|line| {
            let rest = line.trim_start().strip_prefix(key)?;
            let rest =
                rest.strip_prefix(':').or_else(|| rest.starts_with(BLANKS).then_some(rest))?;
            Some(Rc::from(rest.split_ascii_whitespace().next().unwrap_or_default()))
        });
        found.ok_or_else(|| ReadError::form(path, &format!("no {key}")).into())
    }

    /// The number after `key` at a path.
    pub(super) fn field<T: FromStr>(&self, path: &str, key: &str) -> Result<T, NoReading> {
        parse(path, &self.word(path, key)?)
    }

    /// Whether the process has a capability, by its number in `linux/capability.h`.
    pub(super) fn has_capability(&self, number: u32) -> Result<bool, NoReading> {
        let word = self.word(STATUS, "CapEff")?;
        let set = u64::from_str_radix(&word, 16).map_err(|_| ReadError::form(STATUS, &word))?;
        Ok(set >> number & 1 == 1)
    }

    /// The CPUs that the process may use.
    pub(super) fn own_cpus(&self) -> Result<Vec<usize>, NoReading> {
        let word = self.word(STATUS, "Cpus_allowed_list")?;
        cpu_list(STATUS, &word)
    }

    /// Packets that arrive in a time.
    pub(super) fn packets_in(&self, time: Duration) -> f64 {
        self.demand.packets_in(time)
    }
}

/// Reads a number from 0, or names the path and the part that is none.
pub(super) fn parse<T: FromStr>(path: &str, word: &str) -> Result<T, NoReading> {
    // Not `nan`, `inf` or `1e999`, which a float could be.
    let is_number =
        word.len() <= DIGITS_MAX && word.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    let number = is_number.then(|| word.parse().ok()).flatten();
    number.ok_or_else(|| ReadError::form(path, word).into())
}

/// Reads a number that may be negative.
pub(super) fn parse_signed(path: &str, word: &str) -> Result<f64, NoReading> {
    match word.strip_prefix('-') {
        Some(rest) => Ok(-parse::<f64>(path, rest).map_err(|_| ReadError::form(path, word))?),
        None => parse(path, word),
    }
}

/// Reads `0-3,8`.
pub(super) fn cpu_list(path: &str, text: &str) -> Result<Vec<usize>, NoReading> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (parse(path, first)?, parse(path, last)?);
        if last >= CPUS_MAX || first > last {
            return Err(ReadError::form(path, part).into());
        }
        cpus.extend(first..=last);
        if cpus.len() > CPUS_MAX {
            return Err(ReadError::form(path, part).into());
        }
    }
    Ok(cpus)
}

/// The interface of the route to the device, or of the default route, or the first that is up.
fn interface_of(reader: &Reader, peer: Option<SocketAddr>) -> Option<String> {
    let text = |name: &str| reader.text(&format!("/proc/net/{name}")).unwrap_or_default();
    match peer {
        Some(peer) if peer.ip().is_loopback() => return Some("lo".into()),
        Some(SocketAddr::V4(peer)) => return host::route(&text("route"), *peer.ip()),
        Some(SocketAddr::V6(peer)) => return host::route6(&text("ipv6_route"), *peer.ip()),
        None => {}
    }
    let by_default = || {
        let route = text("route");
        let line = route.lines().find(|line| line.split_whitespace().nth(1) == Some("00000000"))?;
        line.split_whitespace().next().map(str::to_owned)
    };
    let first_up = || {
        let names = reader.names("/sys/class/net").ok()?;
        let is_up = |name: &&String| {
            let state = format!("/sys/class/net/{name}/operstate");
            is_interface_name(name) && reader.text(&state).is_ok_and(|state| state.trim() == "up")
        };
        names.iter().find(is_up).cloned()
    };
    by_default().or_else(first_up)
}

/// Whether a name may be part of paths and commands.
pub(super) fn is_interface_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte);
    (1..=15).contains(&name.len()) && name.bytes().all(is_plain) && !name.starts_with(['-', '.'])
}

/// The process that diagnoses: the rights of its user are those of a recorder.
pub(super) const STATUS: &str = "/proc/self/status";

const BLANKS: [char; 2] = [' ', '\t'];
/// More than any number of 64 bits has.
const DIGITS_MAX: usize = 24;
const CPUS_MAX: usize = 8_192;
const MTU_BYTES_DEFAULT: u64 = 1_500;
const RATE_HZ_DEFAULT: f64 = 250e6;
const SAMPLE_BYTES_DEFAULT: f64 = 4.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_bounded() {
        assert_eq!(cpu_list("/p", "0-2,5\n").unwrap(), [0, 1, 2, 5]);
        for text in ["0-99999999999", "3-1", "x", "0-8192"] {
            assert!(matches!(cpu_list("/p", text), Err(NoReading::Unread(_))), "{text}");
        }
    }

    #[test]
    fn names_with_other_letters_are_no_interface() {
        for name in ["eth0", "enp3s0f1", "br-lan", "eth0.7"] {
            assert!(is_interface_name(name), "{name}");
        }
        for name in ["", "..", "-eth", "a/b", "a;b", "a b", "0123456789abcdef", "é"] {
            assert!(!is_interface_name(name), "{name}");
        }
    }
}
