//! What is tried: each setting with its right and its wrong value.

use super::pair::{End, Ends};
use crate::doctor::apply::Changes;
use crate::doctor::fix::{CardParameter, Setting};
use crate::failure::Failure;

/// A setting with two values.
#[derive(Debug)]
pub(super) struct Trial {
    pub(super) check: &'static str,
    /// The setting with both values, in words.
    pub(super) what: String,
    pub(super) right: Change,
    pub(super) wrong: Change,
}

/// A value of a setting.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// As it is.
    None,
    /// A parameter of an end of the own pair.
    Card(End, CardParameter, &'static str),
    /// The MTU of both ends of the own pair.
    Mtu(u16),
    /// Options of the receiver.
    Arguments(&'static [&'static str]),
    /// A setting of the host, by its number: the new value or the old one.
    Host(usize, bool),
}

/// All trials that these ends permit.
pub(super) fn of_ends(ends: &Ends) -> Vec<Trial> {
    let card = |check, what: &str, end, parameter| Trial {
        check,
        what: what.to_owned(),
        right: Change::Card(end, parameter, "on"),
        wrong: Change::Card(end, parameter, "off"),
    };
    let option = |check, what: &str, right| Trial {
        check,
        what: what.to_owned(),
        right: Change::Arguments(right),
        wrong: Change::None,
    };
    let mut trials = Vec::new();
    if ends.has_own_pair() {
        trials.extend([
            card(
                "card.gro",
                "GRO of the receiver: off / on",
                End::Receiver,
                CardParameter::Joining,
            ),
            card(
                "card.gso",
                "UDP segmentation of the sender: off / on",
                End::Sender,
                CardParameter::Segmentation,
            ),
            card(
                "card.rx_checksum",
                "checksums by the receiver's card: off / on",
                End::Receiver,
                CardParameter::RxChecksum,
            ),
            Trial {
                check: "path.mtu",
                what: format!("MTU: {MTU_USUAL} / {MTU_JUMBO}"),
                right: Change::Mtu(MTU_JUMBO),
                wrong: Change::Mtu(MTU_USUAL),
            },
        ]);
    }
    trials.extend([
        option("card.xdp", "link of the receiver: udp / xdp", &["--link", "xdp"]),
        option("rights.rtprio", "priority of the I/O thread: none / 50", &["--priority", "50"]),
        option("memory.huge_pages", "pages of the samples: 4 KiB / huge", &["--huge-pages"]),
    ]);
    trials
}

impl Trial {
    /// A setting of the host that corrects a finding.
    pub(super) fn of_host(check: &'static str, setting: &Setting, number: usize) -> Self {
        Self {
            check,
            what: format!("as it is / {}", setting.command_line()),
            right: Change::Host(number, true),
            wrong: Change::Host(number, false),
        }
    }

    /// Whether one of these names is the check or its group; or there are none.
    pub(super) fn is_chosen(&self, names: &[String]) -> bool {
        let group = self.check.split('.').next();
        names.is_empty() || names.iter().any(|it| it == self.check || Some(&**it) == group)
    }

    /// Whether it changes a setting of the host.
    pub(super) const fn is_of_host(&self) -> bool {
        matches!(self.right, Change::Host(..))
    }

    /// Leaves the setting as the other trials expect it.
    pub(super) fn end(&self, ends: &Ends, changes: &Changes<'_>) -> Result<(), Failure> {
        match self.right {
            Change::Mtu(_) | Change::Host(..) => self.wrong.make(ends, changes),
            _ => self.right.make(ends, changes),
        }
    }
}

impl Change {
    /// Makes the setting.
    pub(super) fn make(self, ends: &Ends, changes: &Changes<'_>) -> Result<(), Failure> {
        match self {
            Self::Card(end, parameter, value) => ends.set(end, parameter, value),
            Self::Mtu(bytes) => ends.set_mtu(bytes),
            Self::Host(number, true) => changes.set(number),
            Self::Host(number, false) => changes.restore(number),
            Self::None | Self::Arguments(_) => Ok(()),
        }
    }

    /// The options of the receiver.
    pub(super) const fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Arguments(words) => words,
            _ => &[],
        }
    }
}

pub(super) const MTU_USUAL: u16 = 1_500;
const MTU_JUMBO: u16 = 9_000;
