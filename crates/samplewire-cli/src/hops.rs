//! Where samples were lost: each that is missing was lost at one hop between converter and file.

use std::fmt;

use samplewire::sigmf::{RecordedCause, RecordedGap};
use samplewire_proto::Cause;
use serde::Serialize;

use crate::account::Account;
use crate::console::Console;
use crate::figures::grouped;
use crate::host::HostHints;

/// A place on the way of a sample. The host's interface is none of these: what it drops is of all
/// programs, and cannot be told from the wire ([`crate::host`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hop {
    /// The source, or the device's own memory.
    Device,
    /// Everything between the device's socket and this host's; also what cannot be decided.
    Wire,
    /// This host's socket.
    Socket,
    /// The program took too slowly what its receiver held, so the device lost it.
    Application,
    /// The file took it too slowly, so the device lost it.
    Disk,
}

impl Hop {
    /// Every hop, from the source to the file.
    pub(crate) const ALL: [Self; 5] =
        [Self::Device, Self::Wire, Self::Socket, Self::Application, Self::Disk];

    /// The word for it, for people, in JSON and as a label.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Wire => "wire",
            Self::Socket => "socket",
            Self::Application => "application",
            Self::Disk => "disk",
        }
    }

    /// Where the samples were lost that a gap of `cause` counts.
    pub(crate) const fn of(cause: RecordedCause) -> Self {
        match cause {
            RecordedCause::Stream(Cause::SourceOverflow) | RecordedCause::DeviceRestarted => {
                Self::Device
            }
            RecordedCause::Stream(Cause::Deadline | Cause::GoneAtSender | Cause::NeverAsked)
            | RecordedCause::Reconnected => Self::Wire,
            RecordedCause::Stream(Cause::ReceiverBehind) => Self::Socket,
            RecordedCause::RecorderRestarted => Self::Application,
            RecordedCause::DiskBehind => Self::Disk,
        }
    }
}

/// Samples missing, by hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Hops {
    device: u64,
    wire: u64,
    socket: u64,
    application: u64,
    disk: u64,
}

impl Hops {
    /// Nothing is missing.
    pub(crate) const NONE: Self = Self { device: 0, wire: 0, socket: 0, application: 0, disk: 0 };

    /// What gaps of these causes count, where it is not known whether the program held the stream up.
    pub(crate) fn of_causes(samples: impl IntoIterator<Item = (RecordedCause, u64)>) -> Self {
        let mut hops = Self::NONE;
        for (cause, samples) in samples {
            *hops.of_mut(Hop::of(cause)) += samples;
        }
        hops
    }

    /// Adds a gap. What the source lost while the program held all that its receiver has,
    /// `is_held_up`, was lost by the program.
    pub(crate) fn add(&mut self, gap: &RecordedGap, is_held_up: bool) {
        for (cause, samples) in gap.by_cause() {
            let hop = match Hop::of(cause) {
                Hop::Device if is_held_up && !gap.is_estimated() => Hop::Application,
                hop => hop,
            };
            *self.of_mut(hop) += samples;
        }
    }

    /// Samples lost at `hop`.
    pub(crate) const fn of(&self, hop: Hop) -> u64 {
        match hop {
            Hop::Device => self.device,
            Hop::Wire => self.wire,
            Hop::Socket => self.socket,
            Hop::Application => self.application,
            Hop::Disk => self.disk,
        }
    }

    const fn of_mut(&mut self, hop: Hop) -> &mut u64 {
        match hop {
            Hop::Device => &mut self.device,
            Hop::Wire => &mut self.wire,
            Hop::Socket => &mut self.socket,
            Hop::Application => &mut self.application,
            Hop::Disk => &mut self.disk,
        }
    }

    /// The sum over all hops.
    pub(crate) fn total(&self) -> u64 {
        Hop::ALL.into_iter().map(|hop| self.of(hop)).sum()
    }
}

/// `socket 11,072, wire 1,408`, the largest first; empty when nothing is missing.
impl fmt::Display for Hops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hops = Hop::ALL.map(|hop| (self.of(hop), hop.as_str()));
        hops.sort_by_key(|&(samples, _)| std::cmp::Reverse(samples));
        for (at, (samples, word)) in hops.into_iter().filter(|hop| hop.0 > 0).enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{word} {}", grouped(samples))?;
        }
        Ok(())
    }
}

/// Whether the program, or what it writes to, held the stream up before a gap.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeldUp {
    /// How often it had when the source's last loss was told.
    told: u64,
}

impl HeldUp {
    /// Whether it has since the source's last loss, where `gap` tells of another; `count` is how
    /// often it has since the opening.
    pub(crate) fn before(&mut self, gap: &RecordedGap, count: impl FnOnce() -> u64) -> bool {
        if gap.source_lost == 0 {
            return false;
        }
        let count = count();
        std::mem::replace(&mut self.told, count) < count
    }
}

/// Says what of the host may explain losses on the wire, where there are any.
pub(crate) fn print_hints(console: &mut Console, account: &Account, host: &HostHints) {
    if account.hops().of(Hop::Wire) == 0 {
        return;
    }
    if let Some(words) = host.words() {
        console.line(format_args!("  hint       this host, of all programs: {words}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_of_a_gap_is_lost_at_one_hop() {
        for is_held_up in [false, true] {
            let mut hops = Hops::NONE;
            let mut samples = 0;
            for (cause, count) in RecordedCause::ALL.into_iter().zip(1..) {
                let (not_repaired, source_lost) = (10 * count, count);
                let gap = RecordedGap { first: 0, not_repaired, source_lost, cause, stream: None };
                hops.add(&gap, is_held_up);
                samples += gap.count();
                assert_eq!(hops.total(), samples, "{cause}");
            }
        }
    }

    #[test]
    fn what_the_source_lost_is_the_programs_while_that_held_all() {
        let cause = RecordedCause::Stream(Cause::ReceiverBehind);
        let gap =
            RecordedGap { first: 0, not_repaired: 11_072, source_lost: 8, cause, stream: None };
        let words = [false, true].map(|is_held_up| {
            let mut hops = Hops::NONE;
            hops.add(&gap, is_held_up);
            hops.to_string()
        });
        assert_eq!(words, ["socket 11,072, device 8", "socket 11,072, application 8"]);
        assert_eq!(Hops::NONE.to_string(), "");
    }

    #[test]
    fn stall_explains_the_next_loss_of_the_source_and_no_later_one() {
        let gap = |source_lost| {
            let cause = RecordedCause::Stream(Cause::SourceOverflow);
            RecordedGap { first: 0, not_repaired: 0, source_lost, cause, stream: None }
        };
        let mut held_up = HeldUp::default();
        assert!(!held_up.before(&gap(5), || 0));
        assert!(!held_up.before(&gap(0), || 3), "the source lost nothing");
        assert!(held_up.before(&gap(5), || 3));
        assert!(!held_up.before(&gap(5), || 3));
    }
}
