//! Whether the program held the stream up before a loss of the source.

use samplewire_proto::SampleIndex;

use crate::published::words;

/// The last times that the program held all memory of a stream, so that its sender had no credit.
///
/// A stall can explain a loss of the source only if both are near each other: a sender without
/// credit first fills its own memory, and then loses samples. The loss must also last about as long
/// as the stall. A stall without such a loss lost nothing. Stalls near each other count as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Maximum distance in samples between a stall and a loss that it explains.
    reach_samples: u64,
    first_index: SampleIndex,
    end_index: SampleIndex,
    lasted_ns: u64,
}

words!(Stalls { reach_samples, first_index, end_index, lasted_ns });

impl Stalls {
    /// No stall yet; each end of the stream holds at most `window` packets.
    pub fn new(window: u32, packet_samples: u32) -> Self {
        let reach_samples = REACH_WINDOWS * u64::from(window) * u64::from(packet_samples);
        Self { reach_samples, ..Self::default() }
    }

    /// Adds a stall, or a part of one, of this duration; the sample at `index` was next.
    pub fn note(&mut self, index: SampleIndex, lasted_ns: u64) {
        let is_near = index.saturating_sub(self.end_index) <= self.reach_samples;
        if self.lasted_ns == 0 || !is_near || index < self.end_index {
            (self.first_index, self.lasted_ns) = (index, 0);
        }
        self.end_index = index;
        self.lasted_ns += lasted_ns;
    }

    /// Whether these stalls may explain most of a loss of `samples` in all, whose last part begins
    /// at `first`. At a rate of 0 the duration is not compared.
    pub fn explains(&self, first: SampleIndex, samples: u64, rate_hz: f64) -> bool {
        let reach_end = self.end_index.saturating_add(self.reach_samples);
        let is_near = self.lasted_ns > 0 && (self.first_index..=reach_end).contains(&first);
        let stalled_samples = self.lasted_ns as f64 * 1e-9 * rate_hz;
        is_near && (rate_hz <= 0.0 || samples as f64 <= 2.0 * stalled_samples)
    }

    /// The index at which they began; it distinguishes them from earlier stalls.
    pub const fn first_index(&self) -> SampleIndex {
        self.first_index
    }
}

/// The window of the sender, and as much again for packets on their way to the program.
const REACH_WINDOWS: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    const RATE_HZ: f64 = 1e6;

    #[test]
    fn stall_explains_a_loss_near_it_that_is_no_longer() {
        let mut stalls = Stalls::new(10, 100);
        assert!(!stalls.explains(0, 1, RATE_HZ), "there was none");
        stalls.note(5_000, 1_000_000);
        let near = [4_999, 5_000, 7_000, 7_001].map(|first| stalls.explains(first, 1_000, RATE_HZ));
        assert_eq!(near, [false, true, true, false]);
        let long = [2_000, 2_001].map(|samples| stalls.explains(6_000, samples, RATE_HZ));
        assert_eq!(long, [true, false], "1 ms at 1 MS/s, and as much again");
        assert!(stalls.explains(6_000, u64::MAX, 0.0), "nothing is known of the time");
    }

    #[test]
    fn stalls_near_each_other_are_one_and_a_far_one_begins_again() {
        let mut stalls = Stalls::new(10, 100);
        stalls.note(5_000, 1_000_000);
        stalls.note(7_000, 2_000_000);
        assert!(stalls.explains(9_000, 6_000, RATE_HZ) && stalls.explains(5_000, 6_000, RATE_HZ));
        stalls.note(9_001, 500_000);
        assert_eq!(stalls.first_index(), 9_001);
        assert!(!stalls.explains(7_000, 1, RATE_HZ));
        assert!(stalls.explains(9_100, 1_000, RATE_HZ) && !stalls.explains(9_100, 1_001, RATE_HZ));
    }
}
