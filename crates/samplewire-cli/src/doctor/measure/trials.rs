//! What is tried: each setting with its right and its wrong value.

use std::ops::Range;

use super::pair::{End, Ends};
use crate::doctor::apply::Changes;
use crate::doctor::check::Checked;
use crate::doctor::fix::{CardParameter, Fix, Place};
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
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// As it is.
    None,
    /// A parameter of an end of the own pair.
    Card(End, CardParameter, &'static str),
    /// The MTU of both ends of the own pair.
    Mtu(u16),
    /// Options of the receiver.
    Arguments(&'static [&'static str]),
    /// Settings of the host, by their numbers: as they were.
    Old(Range<usize>),
    /// The same as the fix makes them.
    Fixed(Range<usize>),
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

/// The settings of each finding. Over an own pair only those that both ends have in common with the
/// host: the card is another, and so is all that belongs to a network namespace.
pub(super) fn of_findings(
    checked: &[Checked],
    ends: &Ends,
    changes: &mut Changes<'_>,
) -> Result<Vec<Trial>, Failure> {
    let mut trials = Vec::new();
    for item in checked {
        let Some(fix) = item.finding().and_then(|found| found.fix.as_ref()) else { continue };
        let is_tried = |place: &Place| !ends.has_own_pair() || is_of_all_namespaces(place);
        if fix.settings.is_empty() || !fix.settings.iter().all(|it| is_tried(&it.place)) {
            continue;
        }
        let first = changes.len();
        fix.settings.iter().try_for_each(|setting| changes.add(setting))?;
        trials.push(Trial::of_fix(item.check.id, fix, first..changes.len()));
    }
    Ok(trials)
}

fn is_of_all_namespaces(place: &Place) -> bool {
    let folders =
        ["/sys/devices/system/cpu/", "/sys/kernel/mm/", "/proc/sys/kernel/", "/proc/sys/vm/"];
    matches!(place, Place::File(path) if folders.iter().any(|it| path.starts_with(it)))
}

impl Trial {
    /// The settings that correct a finding.
    fn of_fix(check: &'static str, fix: &Fix, numbers: Range<usize>) -> Self {
        let what = match &fix.settings[..] {
            [one] => format!("as it is / {}", one.command_line()),
            [one, rest @ ..] => {
                format!("as it is / {} and {} more", one.command_line(), rest.len())
            }
            [] => String::new(),
        };
        Self { check, what, right: Change::Fixed(numbers.clone()), wrong: Change::Old(numbers) }
    }

    /// Whether one of these names is the check or its group; or there are none.
    pub(super) fn is_chosen(&self, names: &[String]) -> bool {
        let group = self.check.split('.').next();
        names.is_empty() || names.iter().any(|it| it == self.check || Some(&**it) == group)
    }

    /// Whether it changes a setting of the host.
    pub(super) const fn is_of_host(&self) -> bool {
        matches!(self.right, Change::Fixed(_))
    }

    /// Leaves the setting as the other trials expect it.
    pub(super) fn end(&self, ends: &Ends, changes: &Changes<'_>) -> Result<(), Failure> {
        match &self.right {
            Change::Mtu(_) | Change::Fixed(_) => self.wrong.make(ends, changes),
            right => right.make(ends, changes),
        }
    }
}

impl Change {
    /// Makes the setting.
    pub(super) fn make(&self, ends: &Ends, changes: &Changes<'_>) -> Result<(), Failure> {
        match self {
            Self::Card(end, parameter, value) => ends.set(*end, *parameter, value),
            Self::Mtu(bytes) => ends.set_mtu(*bytes),
            Self::Fixed(numbers) => numbers.clone().try_for_each(|number| changes.set(number)),
            Self::Old(numbers) => changes.restore(numbers.clone()),
            Self::None | Self::Arguments(_) => Ok(()),
        }
    }

    /// The options of the receiver.
    pub(super) const fn arguments(&self) -> &'static [&'static str] {
        match self {
            Self::Arguments(words) => words,
            _ => &[],
        }
    }
}

pub(super) const MTU_USUAL: u16 = 1_500;
const MTU_JUMBO: u16 = 9_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_pair_shares_with_the_host_what_is_of_no_network() {
        let file = |path: &str| is_of_all_namespaces(&Place::File(path.to_owned()));
        assert!(file("/proc/sys/kernel/sched_rt_runtime_us"));
        assert!(file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
        assert!(!file("/proc/sys/net/core/rmem_max"));
        assert!(!file("/proc/irq/24/smp_affinity_list"));
        assert!(!is_of_all_namespaces(&Place::Card("eth0".into(), CardParameter::RxRing)));
    }
}
