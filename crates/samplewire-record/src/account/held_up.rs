//! Finds out whether a program delayed its stream before a gap.

use samplewire::receiver::Stalls;
use samplewire_proto::SampleIndex;

use crate::sigmf::RecordedGap;

/// Whether the program, or its output, delayed the stream before a gap.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeldUp {
    rate_hz: f64,
    /// Where the stalls began that caused the latest gaps, and the samples lost in those gaps.
    stalled_at: SampleIndex,
    lost: u64,
}

impl HeldUp {
    /// Creates the check for a stream of this rate; 0 means unknown.
    pub const fn new(rate_hz: f64) -> Self {
        Self { rate_hz, stalled_at: 0, lost: 0 }
    }

    /// Returns whether `stalls` explain the source's losses in `gap`, together with the losses that
    /// the same stalls have already explained.
    pub fn before(&mut self, gap: &RecordedGap, stalls: impl FnOnce() -> Stalls) -> bool {
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

#[cfg(test)]
mod tests {
    use samplewire_proto::Cause;

    use super::*;
    use crate::sigmf::RecordedCause;

    #[test]
    fn stall_explains_the_losses_that_it_is_long_enough_for() {
        let gap = |first, source_lost| {
            let cause = RecordedCause::Stream(Cause::SourceOverflow);
            RecordedGap::new(first, 0, source_lost, cause)
        };
        // A stall of 1 ms before index 5,000; each end holds 1,000 samples.
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
