//! Where samples were lost, in words, and whether a program held its stream up.

use samplewire::receiver::Stalls;
use samplewire_proto::SampleIndex;
use samplewire_record::account::{Account, Hop, Hops};
use samplewire_record::sigmf::RecordedGap;

use crate::account::Counts;
use crate::certainty::Doubts;
use crate::console::Console;
use crate::figures::grouped;
use crate::host::HostHints;

/// `socket about 11,072, wire 1,408`, the largest first; empty when nothing is missing.
pub(crate) fn words(hops: &Hops, doubts: &Doubts) -> String {
    let mut hops = Hop::ALL.map(|hop| (hops.of(hop), hop));
    hops.sort_by_key(|&(samples, _)| std::cmp::Reverse(samples));
    let words = hops.into_iter().filter(|hop| hop.0 > 0).map(|(samples, hop)| {
        format!("{} {}{}", hop.as_str(), doubts.of_hop(hop).prefix(), grouped(samples))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Samples missing, by hop, in JSON.
pub(crate) fn counts(hops: &Hops) -> Counts {
    Hop::ALL.into_iter().map(|hop| (hop.as_str(), hops.of(hop))).collect()
}

/// Whether the program, or what it writes to, held the stream up before a gap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldUp {
    rate_hz: f64,
    /// Where the stalls of the last gaps began, and the samples these gaps lost.
    stalled_at: SampleIndex,
    lost: u64,
}

impl HeldUp {
    /// For a stream of this rate, 0 if it is unknown.
    pub(crate) const fn new(rate_hz: f64) -> Self {
        Self { rate_hz, stalled_at: 0, lost: 0 }
    }

    /// Whether `stalls` explain most of the source's losses in `gap`. All losses that they explain
    /// are at most as long as the stalls.
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

/// Prints counts of the host that may explain losses on the wire, if there are such losses.
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
    use samplewire_proto::Cause;
    use samplewire_record::sigmf::RecordedCause;

    use super::*;

    #[test]
    fn what_the_source_lost_is_the_programs_while_that_held_all() {
        let cause = RecordedCause::Stream(Cause::ReceiverBehind);
        let gap =
            RecordedGap { first: 0, not_repaired: 11_072, source_lost: 8, cause, stream: None };
        let words = [false, true].map(|is_held_up| {
            let mut account = Account::new(0, None);
            account.take_gap(&gap, is_held_up);
            let doubts = Doubts::of(&account, &ReceiverSnapshot::default(), &HostHints::default());
            [account.hops(), &Hops::NONE].map(|hops| super::words(hops, &doubts))
        });
        let [device, application] = ["device at least", "application at most"]
            .map(|word| format!("socket about 11,072, {word} 8"));
        assert_eq!(words, [[device, String::new()], [application, String::new()]]);
    }

    #[test]
    fn stall_explains_the_losses_that_it_is_long_enough_for() {
        let gap = |first, source_lost| {
            let cause = RecordedCause::Stream(Cause::SourceOverflow);
            RecordedGap { first, not_repaired: 0, source_lost, cause, stream: None }
        };
        // A stall of 1 ms at index 5,000, where both ends hold 1,000 samples.
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
