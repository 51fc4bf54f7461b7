//! How late the host was: times in bins of a fixed number, four to each doubling.

use std::time::Duration;

/// A bounded histogram.
#[derive(Clone, Debug)]
pub(super) struct Lateness {
    bins: [u64; BINS],
    max: Duration,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { bins: [0; BINS], max: Duration::ZERO }
    }
}

impl Lateness {
    pub(super) fn add(&mut self, late: Duration) {
        let ns = late.as_nanos() as u64;
        self.bins[bin(ns)] += 1;
        self.max = self.max.max(late);
    }

    /// The time that this share does not exceed, to a quarter of a doubling.
    pub(super) fn at(&self, share: f64) -> Duration {
        let rank = (share * self.bins.iter().sum::<u64>() as f64).ceil() as u64;
        let mut seen = 0;
        let found = self.bins.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        Duration::from_nanos(end(found.unwrap_or(0))).min(self.max)
    }

    pub(super) const fn max(&self) -> Duration {
        self.max
    }
}

/// The bin of a time: its highest bit, and the two below.
const fn bin(ns: u64) -> usize {
    if ns < 4 {
        return ns as usize;
    }
    let bit = 63 - ns.leading_zeros();
    let below = (ns >> (bit - 2)) & 3;
    (bit * 4 + below as u32 - 4) as usize
}

/// The last time of a bin.
const fn end(bin: usize) -> u64 {
    if bin < 4 {
        return bin as u64;
    }
    let (bit, below) = (bin as u32 / 4 + 1, bin as u64 % 4);
    let width = 1 << (bit - 2);
    (4 + below) * width + (width - 1)
}

/// All times of 64 bits.
const BINS: usize = 63 * 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_follow_each_other_and_hold_what_they_say() {
        for ns in [0, 1, 3, 4, 5, 7, 8, 9, 1_000, 123_456_789, u64::MAX / 2, u64::MAX] {
            let bin = bin(ns);
            assert!(ns <= end(bin), "{ns}");
            assert!(bin == 0 || ns > end(bin - 1), "{ns}");
        }
        assert_eq!(bin(u64::MAX), BINS - 1);
    }

    #[test]
    fn shares_are_within_a_quarter_of_a_doubling() {
        let mut late = Lateness::default();
        assert_eq!((late.at(0.5), late.max()), (Duration::ZERO, Duration::ZERO));
        for us in 1..=1_000 {
            late.add(Duration::from_micros(us));
        }
        let median = late.at(0.5);
        assert!(median >= Duration::from_micros(500) && median < Duration::from_micros(600));
        assert_eq!(late.at(1.0), Duration::from_micros(1_000));
        assert_eq!(late.max(), Duration::from_micros(1_000));
    }
}
