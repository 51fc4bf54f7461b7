//! Where samples were lost: each that is missing was lost at one hop between converter and file.

use samplewire::receiver::Stalls;
use samplewire::sigmf::{RecordedCause, RecordedGap};
use samplewire_proto::{Cause, SampleIndex};
use serde::Serialize;

use crate::account::Account;
use crate::certainty::Doubts;
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

    /// `socket about 11,072, wire 1,408`, the largest first; empty when nothing is missing.
    pub(crate) fn words(&self, doubts: &Doubts) -> String {
        let mut hops = Hop::ALL.map(|hop| (self.of(hop), hop));
        hops.sort_by_key(|&(samples, _)| std::cmp::Reverse(samples));
        let words = hops.into_iter().filter(|hop| hop.0 > 0).map(|(samples, hop)| {
            format!("{} {}{}", hop.as_str(), doubts.of_hop(hop).prefix(), grouped(samples))
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// The sum over all hops.
    pub(crate) fn total(&self) -> u64 {
        Hop::ALL.into_iter().map(|hop| self.of(hop)).sum()
    }
}

/// Whether the program, or what it writes to, held the stream up before a gap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldUp {
    rate_hz: f64,
    /// Where the stalls began that the last gaps came of, and what these lost.
    stalled_at: SampleIndex,
    lost: u64,
}

impl HeldUp {
    /// Of a stream of this rate, 0 where it is not known.
    pub(crate) const fn new(rate_hz: f64) -> Self {
        Self { rate_hz, stalled_at: 0, lost: 0 }
    }

    /// Whether what the source lost in `gap` came of `stalls`, for the most part and at most: all that
    /// came of them is no longer than they were.
    pub(crate) fn before(&mut self, gap: &RecordedGap, stalls: impl FnOnce() -> Stalls) -> bool {
        if gap.source_lost == 0 {
            return false;
        }
        let stalls = stalls();
        let lost = if stalls.first_index() == self.stalled_at { self.lost } else { 0 };
        let lost = lost.saturating_add(gap.source_lost);
        let is_held_up = stalls.explains(gap.first, lost, self.rate_hz);
        if is_held_up {
            (self.stalled_at, self.lost) = (stalls.first_index(), lost);
        }
        is_held_up
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
    use samplewire::receiver::ReceiverSnapshot;

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
            let mut account = Account::new(0, None);
            account.take_gap(&gap, is_held_up);
            let doubts = Doubts::of(&account, &ReceiverSnapshot::default(), &HostHints::default());
            (account.hops().words(&doubts), Hops::NONE.words(&doubts))
        });
        let [device, application] = ["device at least", "application at most"]
            .map(|word| format!("socket about 11,072, {word} 8"));
        assert_eq!(words, [(device, String::new()), (application, String::new())]);
    }

    #[test]
    fn stall_explains_the_losses_that_it_is_long_enough_for() {
        let gap = |first, source_lost| {
            let cause = RecordedCause::Stream(Cause::SourceOverflow);
            RecordedGap { first, not_repaired: 0, source_lost, cause, stream: None }
        };
        // 1 ms while index 5,000 was to come, of ends that hold 1,000 samples each.
        let mut stalls = Stalls::new(10, 100);
        let mut held_up = HeldUp::new(1e6);
        assert!(!held_up.before(&gap(5_500, 5), || stalls));
        stalls.note(5_000, 1_000_000);
        assert!(!held_up.before(&gap(5_500, 0), || stalls), "the source lost nothing");
        assert!(held_up.before(&gap(5_500, 900), || stalls));
        assert!(held_up.before(&gap(6_500, 900), || stalls));
        assert!(!held_up.before(&gap(6_900, 900), || stalls), "that is more than it lasted");
        assert!(!held_up.before(&gap(90_000, 5), || stalls), "it was long ago and lost nothing");
        stalls.note(95_000, 1_000_000);
        assert!(held_up.before(&gap(95_900, 2_000), || stalls));
        assert!(!held_up.before(&gap(96_000, 500_000), || stalls), "the device stood still");
    }
}
