//! The options of a link over DPDK.

use samplewire_io::ether::Network;

/// A device, its address, and the memory that it gets.
///
/// ```
/// use samplewire_dpdk::DpdkOptions;
/// use samplewire_io::ether::Network;
///
/// let network = "10.0.0.1/24".parse::<Network>()?.by("10.0.0.254".parse()?)?;
/// let options = DpdkOptions::new("net_af_packet0,iface=eth1", network)
///     .eal(["--no-huge", "--no-pci", "--no-shconf"])
///     .udp_port(5_000);
/// options.check()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DpdkOptions {
    pub(crate) device: String,
    pub(crate) network: Network,
    pub(crate) udp_port: u16,
    pub(crate) eal: Vec<String>,
    pub(crate) mtu_bytes: u16,
    pub(crate) queues: u16,
    pub(crate) descriptors: u16,
}

/// An option with which no link can be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// A device or an argument of EAL is empty, or has a zero byte.
    #[error("{0:?} is no device or argument of DPDK")]
    Text(String),
    /// EAL would print something and end the process.
    #[error("with the argument {0} DPDK ends the process")]
    EndsProcess(String),
    /// See [`DpdkOptions::mtu_bytes`].
    #[error("an MTU of {0} bytes is not from 576 to 9,000")]
    Mtu(u16),
    /// See [`DpdkOptions::queues`].
    #[error("{0} queues are not from 1 to 16")]
    Queues(u16),
    /// See [`DpdkOptions::descriptors`].
    #[error("{0} descriptors are not from 64 to 16,384")]
    Descriptors(u16),
}

impl DpdkOptions {
    /// A link by this device, as DPDK names it: the address of a PCI card (`0000:03:00.0`), or a virtual
    /// one with its arguments (`net_af_packet0,iface=eth1`). A device that EAL has not found is probed. It
    /// gets this address, which no kernel may have as well.
    pub fn new(device: &str, network: Network) -> Self {
        Self {
            device: device.to_owned(),
            network,
            udp_port: 0,
            eal: Vec::new(),
            mtu_bytes: 1_500,
            queues: 1,
            descriptors: 1_024,
        }
    }

    /// Arguments of DPDK's environment layer (EAL), which starts once in a process: with the first link.
    /// A later link has the same arguments, or none. Without `-l`, `-c` or `--lcores` EAL gets the first
    /// CPU that the thread may run on; it starts no thread that receives or sends.
    ///
    /// They come from the program, never from a peer: `-d` loads a library.
    #[must_use]
    pub fn eal<A: Into<String>>(self, arguments: impl IntoIterator<Item = A>) -> Self {
        Self { eal: arguments.into_iter().map(Into::into).collect(), ..self }
    }

    /// The UDP port; 0, the default, chooses one of 49,152 to 65,535.
    #[must_use]
    pub fn udp_port(self, port: u16) -> Self {
        Self { udp_port: port, ..self }
    }

    /// The longest IP packet, 576 to 9,000 bytes; 1,500 unless set. The device must take it.
    #[must_use]
    pub fn mtu_bytes(self, bytes: u16) -> Self {
        Self { mtu_bytes: bytes, ..self }
    }

    /// Receive queues, 1 to 16, over which the device spreads flows (RSS); 1 unless set. The link reads
    /// them in turn. Of a virtual device this is the number that its arguments state.
    #[must_use]
    pub fn queues(self, queues: u16) -> Self {
        Self { queues, ..self }
    }

    /// Frames of each ring of the device, 64 to 16,384; 1,024 unless set. They are memory: 2.3 KB each, at
    /// an MTU above 1,982 bytes up to 16.6 KB. A ring holds the frames that come between two calls of the link.
    #[must_use]
    pub fn descriptors(self, frames: u16) -> Self {
        Self { descriptors: frames, ..self }
    }

    /// Whether a link can be opened with these options.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn check(&self) -> Result<(), OptionError> {
        for text in self.eal.iter().chain([&self.device]) {
            if text.is_empty() || text.contains('\0') {
                return Err(OptionError::Text(text.clone()));
            }
        }
        if let Some(text) = ends_process(&self.eal) {
            return Err(OptionError::EndsProcess(text));
        }
        if !(576..=MTU_BYTES_MAX).contains(&self.mtu_bytes) {
            return Err(OptionError::Mtu(self.mtu_bytes));
        }
        if !(1..=16).contains(&self.queues) {
            return Err(OptionError::Queues(self.queues));
        }
        if !(64..=16_384).contains(&self.descriptors) {
            return Err(OptionError::Descriptors(self.descriptors));
        }
        Ok(())
    }

    /// Memory of a frame: a power of two, as the rings of AF_PACKET and AF_XDP have it.
    #[cfg(any(feature = "dpdk", test))]
    pub(crate) fn frame_bytes(&self) -> u32 {
        (u32::from(self.mtu_bytes) + ETHERNET_BYTES_MAX).next_power_of_two().max(2_048)
    }

    /// Whether the arguments of EAL name the CPUs of its threads. Service cores (`-s`, `-S`) are some of
    /// those, and name none.
    #[cfg(any(feature = "dpdk", test))]
    pub(crate) fn names_cpus(eal: &[String]) -> bool {
        let is_short = |word: &str| word.starts_with("-l") || word.starts_with("-c");
        eal.iter().any(|word| is_short(word) || is_long(word, "--lcores", "--lc".len()).is_some())
    }
}

/// The argument of EAL with which it prints a text and calls `exit`, if there is one.
fn ends_process(eal: &[String]) -> Option<String> {
    for (at, word) in eal.iter().enumerate() {
        // `-v` takes no value, so that others may follow in the same word.
        let is_short = !word.starts_with("--")
            && word.strip_prefix('-').is_some_and(|it| it.trim_start_matches('v').starts_with('h'));
        if is_short || is_long(word, "--help", "--he".len()).is_some() {
            return Some(word.clone());
        }
        if let Some(value) = is_long(word, "--log-level", "--lo".len()) {
            let next = eal.get(at + 1).map(String::as_str);
            if value.or(next) == Some("help") {
                return Some(format!("{word}{}", if value.is_none() { " help" } else { "" }));
            }
        }
    }
    None
}

/// The value behind `=`, if there is one, of a word that is the long option `name`, or the beginning of it
/// from `unique_bytes` on: EAL takes each beginning that no other option has.
fn is_long<'a>(word: &'a str, name: &str, unique_bytes: usize) -> Option<Option<&'a str>> {
    let (start, value) = word.split_once('=').map_or((word, None), |(it, value)| (it, Some(value)));
    (start.len() >= unique_bytes && name.starts_with(start)).then_some(value)
}

const MTU_BYTES_MAX: u16 = 9_000;

/// The header of Ethernet with two VLAN tags, the FCS and a reserve.
#[cfg(any(feature = "dpdk", test))]
const ETHERNET_BYTES_MAX: u32 = 66;

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> DpdkOptions {
        DpdkOptions::new("net_af_packet0,iface=eth1", "10.0.0.1/24".parse().unwrap())
    }

    #[test]
    fn options_out_of_range_are_named() {
        assert_eq!(options().check(), Ok(()));
        let harmless = ["--huge-dir=/h", "--huge-unlink", "--log-level", "*:error", "-v"];
        assert_eq!(options().eal(harmless).check(), Ok(()));
        assert_eq!(options().mtu_bytes(9_000).queues(16).descriptors(64).check(), Ok(()));
        for (wrong, words) in [
            (options().mtu_bytes(575), "an MTU of 575 bytes is not from 576 to 9,000"),
            (options().mtu_bytes(9_001), "an MTU of 9001 bytes is not from 576 to 9,000"),
            (options().queues(0), "0 queues are not from 1 to 16"),
            (options().descriptors(63), "63 descriptors are not from 64 to 16,384"),
            (options().eal(["--help"]), "with the argument --help DPDK ends the process"),
            (
                options().eal(["--log-level=help"]),
                "with the argument --log-level=help DPDK ends the process",
            ),
            (options().eal(["--lo", "help"]), "with the argument --lo help DPDK ends the process"),
            (options().eal(["-vh"]), "with the argument -vh DPDK ends the process"),
            (options().eal(["--he"]), "with the argument --he DPDK ends the process"),
            (options().eal(["-l", "0\0"]), "\"0\\0\" is no device or argument of DPDK"),
            (options().eal([""]), "\"\" is no device or argument of DPDK"),
        ] {
            assert_eq!(wrong.check().unwrap_err().to_string(), words);
        }
        let network = "10.0.0.1/24".parse().unwrap();
        assert!(matches!(DpdkOptions::new("", network).check(), Err(OptionError::Text(_))));
    }

    #[test]
    fn frames_hold_the_mtu_and_are_powers_of_two() {
        let of = |bytes| options().mtu_bytes(bytes).frame_bytes();
        assert_eq!([of(1_500), of(1_982), of(1_983), of(9_000)], [2_048, 2_048, 4_096, 16_384]);
    }

    #[test]
    fn arguments_that_name_cpus_are_known() {
        for word in ["-l", "-l0-1", "-c", "-c3", "--lcores", "--lcores=0@1", "--lc=0"] {
            assert!(DpdkOptions::names_cpus(&["-m".into(), word.into()]), "{word}");
        }
        for word in [
            "--no-huge",
            "--log-level=lib.eal:error",
            "-m",
            "--single-file-segments",
            "--legacy-mem",
            "-s",
            "-S1",
        ] {
            assert!(!DpdkOptions::names_cpus(&[word.into()]), "{word}");
        }
    }
}
