//! What corrects a finding: settings with their commands, and advice.

use std::fmt::Write as _;

/// Corrects a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fix {
    /// Settings that `--fix --yes` makes, in this order.
    pub(super) settings: Vec<Setting>,
    /// What people must do.
    pub(super) advice: Option<String>,
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) place: Place,
    pub(super) value: String,
}

/// Where a value is set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// A file of `/proc/sys` or `/sys`.
    File(String),
    /// A parameter of a network card.
    Card(String, CardParameter),
}

/// A parameter that `ethtool` sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CardParameter {
    RxRing,
    TxRing,
    RxCoalescing,
    Joining,
    Segmentation,
    RxChecksum,
    TxPause,
    FlowHash,
}

impl CardParameter {
    /// All parameters.
    pub(super) const ALL: [Self; 8] = [
        Self::RxRing,
        Self::TxRing,
        Self::RxCoalescing,
        Self::Joining,
        Self::Segmentation,
        Self::RxChecksum,
        Self::TxPause,
        Self::FlowHash,
    ];

    /// The words of `ethtool` before the value, without the interface, which comes after the first.
    const fn words(self) -> &'static [&'static str] {
        match self {
            Self::RxRing => &["-G", "rx"],
            Self::TxRing => &["-G", "tx"],
            Self::RxCoalescing => &["-C", "rx-usecs"],
            Self::Joining => &["-K", "gro"],
            Self::Segmentation => &["-K", "tx-udp-segmentation"],
            Self::RxChecksum => &["-K", "rx"],
            Self::TxPause => &["-A", "tx"],
            Self::FlowHash => &["-N", "rx-flow-hash", "udp4"],
        }
    }

    /// The word of `ethtool` for a value of the answer.
    fn word(self, value: &str) -> &str {
        match (self, value) {
            (Self::FlowHash, "3") => "sdfn",
            (Self::FlowHash, _) => "sd",
            _ => value,
        }
    }

    /// The answer that has the value, and its key there.
    pub(super) const fn answer(self) -> [&'static str; 2] {
        match self {
            Self::RxRing => ["rings", "rx"],
            Self::TxRing => ["rings", "tx"],
            Self::RxCoalescing => ["coalescing", "rx_usecs"],
            Self::Joining => ["features", "rx-gro"],
            Self::Segmentation => ["features", "tx-udp-segmentation"],
            Self::RxChecksum => ["features", "rx-checksum"],
            Self::TxPause => ["pause", "tx"],
            Self::FlowHash => ["flow_hash", "ports"],
        }
    }
}

impl Fix {
    /// Sets one value.
    pub(super) fn set(place: Place, value: impl Into<String>) -> Self {
        Self::default().and(place, value)
    }

    /// Sets one more value.
    pub(super) fn and(mut self, place: Place, value: impl Into<String>) -> Self {
        self.settings.push(Setting { place, value: value.into() });
        self
    }

    /// Sets a file of `/proc/sys`.
    pub(super) fn sysctl(path: &str, value: impl ToString) -> Self {
        Self::set(Place::File(path.to_owned()), value.to_string())
    }

    /// What people must do.
    pub(super) fn advice(words: impl Into<String>) -> Self {
        Self { settings: Vec::new(), advice: Some(words.into()) }
    }
}

impl Setting {
    /// The command, as words. None of them goes through a shell.
    pub(super) fn command(&self) -> Vec<String> {
        let words: Vec<&str> = match &self.place {
            Place::File(path) => match sysctl_key(path) {
                Some(key) => return vec!["sysctl".into(), "-w".into(), self.assignment(&key)],
                None => vec!["tee", path],
            },
            Place::Card(interface, parameter) => {
                let (first, rest) = parameter.words().split_first().expect("there is a word");
                let words = ["ethtool", first, interface].into_iter();
                let value = parameter.word(&self.value);
                words.chain(rest.iter().copied()).chain([value]).collect()
            }
        };
        words.into_iter().map(str::to_owned).collect()
    }

    /// The command as a line to print, quoted where a shell would need it.
    pub(super) fn command_line(&self) -> String {
        let words: Vec<_> = self.command().iter().map(|word| quoted(word)).collect();
        match &self.place {
            Place::File(path) if sysctl_key(path).is_none() => {
                format!("echo {} | {}", quoted(&self.value), words.join(" "))
            }
            _ => words.join(" "),
        }
    }

    /// The file and the line that keep the value after a restart.
    pub(super) fn persistence(&self) -> [String; 2] {
        match &self.place {
            Place::File(path) => match sysctl_key(path) {
                Some(key) => ["/etc/sysctl.d/90-samplewire.conf".into(), self.assignment(&key)],
                None => {
                    let line = format!("w {path} - - - - {}", self.value);
                    ["/etc/tmpfiles.d/90-samplewire.conf".into(), line]
                }
            },
            Place::Card(interface, _) => {
                let mut line = format!(
                    "ACTION==\"add\", SUBSYSTEM==\"net\", NAME==\"{interface}\", RUN+=\"/usr/sbin/"
                );
                let _ = write!(line, "{}\"", self.command().join(" "));
                ["/etc/udev/rules.d/90-samplewire.rules".into(), line]
            }
        }
    }

    fn assignment(&self, key: &str) -> String {
        format!("{key}={}", self.value)
    }
}

impl Place {
    /// The path that has the value, and the key there if it has several.
    pub(super) fn path(&self) -> (String, Option<&'static str>) {
        match self {
            Self::File(path) => (path.clone(), None),
            Self::Card(interface, parameter) => {
                let [answer, key] = parameter.answer();
                (format!("/ethtool/{interface}/{answer}"), Some(key))
            }
        }
    }
}

/// `net.core.rmem_max`; a dot within a name becomes a slash, as sysctl(8) has it.
fn sysctl_key(path: &str) -> Option<String> {
    let swapped = path.strip_prefix("/proc/sys/")?.chars().map(|letter| match letter {
        '/' => '.',
        '.' => '/',
        letter => letter,
    });
    Some(swapped.collect())
}

fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=./:,+@".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_words_and_are_quoted_where_they_are_printed() {
        let sysctl = Setting {
            place: Place::File("/proc/sys/net/ipv4/conf/eth0.7/rp_filter".into()),
            value: "2".into(),
        };
        assert_eq!(sysctl.command_line(), "sysctl -w net.ipv4.conf.eth0/7.rp_filter=2");
        let memory = Setting {
            place: Place::File("/proc/sys/net/ipv4/udp_mem".into()),
            value: "1 2 3".into(),
        };
        assert_eq!(memory.command_line(), "sysctl -w 'net.ipv4.udp_mem=1 2 3'");
        let ring = Setting {
            place: Place::Card("eth0".into(), CardParameter::RxRing),
            value: "4096".into(),
        };
        assert_eq!(ring.command(), ["ethtool", "-G", "eth0", "rx", "4096"]);
        assert!(ring.persistence()[1].ends_with("RUN+=\"/usr/sbin/ethtool -G eth0 rx 4096\""));
        let page = Setting {
            place: Place::File("/sys/kernel/mm/transparent_hugepage/enabled".into()),
            value: "madvise".into(),
        };
        let line = "echo madvise | tee /sys/kernel/mm/transparent_hugepage/enabled";
        assert_eq!(page.command_line(), line);
        assert_eq!(quoted("a'b;c"), "'a'\\''b;c'");
    }
}
