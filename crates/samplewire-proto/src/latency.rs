//! Latencies, counted in buckets whose bounds are a factor of √2 apart.

use crate::number::Departure;

/// How many latencies lay between two bounds; the bounds are the same everywhere.
///
/// Latencies are whole units of 16 ns below 2^32, 68.7 s. Bucket `k` counts those of at most
/// 2^(8 + (k + 1) / 2) units that are above the bound of the bucket before: the first bound is
/// 5.8 µs, and the last is 68.7 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latencies {
    counts: [u64; Self::BUCKETS],
    /// Bit `k` is set where bucket `k` has counted something, so that few buckets cost little.
    used: u64,
}

impl Latencies {
    /// Number of buckets.
    pub const BUCKETS: usize = 48;

    /// Latencies that were counted elsewhere.
    pub fn new(counts: [u64; Self::BUCKETS]) -> Self {
        let used = (0..).zip(counts).filter(|&(_, count)| count > 0);
        Self { counts, used: used.fold(0, |bits, (bucket, _)| bits | 1 << bucket) }
    }

    /// Counts a latency in units of 16 ns.
    pub(crate) const fn count(&mut self, units: u32) {
        let bucket = Self::bucket_of(units);
        self.counts[bucket] += 1;
        self.used |= 1 << bucket;
    }

    /// Adds what `other` has counted.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.used |= other.used;
    }

    /// The count of each bucket.
    pub const fn counts(&self) -> &[u64; Self::BUCKETS] {
        &self.counts
    }

    /// The buckets that have counted something, one bit each.
    pub const fn used(&self) -> u64 {
        self.used
    }

    /// How many latencies were counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The largest latency in nanoseconds that the bucket counts.
    ///
    /// # Panics
    /// There is no such bucket.
    pub const fn bound_ns(bucket: usize) -> u64 {
        assert!(bucket < Self::BUCKETS, "there are 48 buckets");
        // The square of the bound is a power of 2 for each bucket.
        let square_log2 = 2 * (FIRST_LOG2 + UNIT_LOG2) + bucket as u32 + 1;
        (1_u128 << square_log2).isqrt() as u64
    }

    /// The bound in nanoseconds of the bucket below which, or in which, `percent` of 100 latencies
    /// lie; `None` while nothing is counted.
    pub fn quantile_ns(&self, percent: u8) -> Option<u64> {
        let rank = (u128::from(self.total()) * u128::from(percent)).div_ceil(100).max(1);
        let mut sum = 0;
        let bucket = self.counts.iter().position(|&count| {
            sum += u128::from(count);
            sum >= rank
        });
        bucket.map(Self::bound_ns)
    }

    const fn bucket_of(units: u32) -> usize {
        // A bound belongs to the bucket below it.
        let below = units.saturating_sub(1);
        if below >> FIRST_LOG2 == 0 {
            return 0;
        }
        let log2 = below.ilog2();
        // The upper half of an octave begins at √2 times its start; 2^63 is the largest square.
        let is_upper = (units as u64).pow(2) > 1 << (2 * log2 + 1);
        2 * (log2 - FIRST_LOG2) as usize + is_upper as usize
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Self { counts: [0; Self::BUCKETS], used: 0 }
    }
}

/// The first bucket ends half an octave above 2^8 units, and the last at 2^32.
const FIRST_LOG2: u32 = 8;

/// A unit is 2^4 ns.
const UNIT_LOG2: u32 = Departure::UNIT_NS.ilog2();

#[cfg(test)]
mod tests {
    use super::*;

    /// Units up to which the bucket counts, by a way of its own: the largest whose square is not
    /// above that of the bound.
    fn last_units(bucket: usize) -> u32 {
        let square = 1_u128 << (17 + bucket);
        let is_within = |units: u32| u128::from(units).pow(2) <= square;
        let (mut within, mut beyond) = (0, 1_u64 << 32);
        while beyond - within > 1 {
            let middle = within.midpoint(beyond);
            if is_within(middle as u32) { within = middle } else { beyond = middle }
        }
        within as u32
    }

    #[test]
    fn each_bound_belongs_to_its_bucket_and_one_unit_more_to_the_next() {
        for bucket in 0..Latencies::BUCKETS {
            let last = last_units(bucket);
            assert_eq!(Latencies::bucket_of(last), bucket, "{last}");
            match last.checked_add(1) {
                Some(more) => assert_eq!(Latencies::bucket_of(more), bucket + 1, "{more}"),
                None => assert_eq!(bucket, Latencies::BUCKETS - 1),
            }
        }
        assert_eq!([0, 1, 256, 257].map(Latencies::bucket_of), [0; 4]);
        let edges = [362, 363, 512, 513, 724, 725, 1_024, 1_025].map(Latencies::bucket_of);
        assert_eq!(edges, [0, 1, 1, 2, 2, 3, 3, 4]);
        let edges = [1 << 31, (1 << 31) + 1, 3_037_000_499, 3_037_000_500, u32::MAX];
        assert_eq!(edges.map(Latencies::bucket_of), [45, 46, 46, 47, 47]);
    }

    #[test]
    fn bound_in_nanoseconds_is_the_largest_latency_of_the_bucket() {
        assert_eq!([0, 1, 2, 3].map(Latencies::bound_ns), [5_792, 8_192, 11_585, 16_384]);
        assert_eq!(Latencies::bound_ns(47), 1 << 36);
        for bucket in 0..Latencies::BUCKETS {
            let (bound, last) = (Latencies::bound_ns(bucket), u64::from(last_units(bucket)));
            assert!(last * Departure::UNIT_NS <= bound, "{bucket}");
            assert!((last + 1) * Departure::UNIT_NS >= bound, "{bucket}");
            let is_last = bucket == Latencies::BUCKETS - 1;
            assert!(is_last || (last + 1) * Departure::UNIT_NS > bound, "{bucket}");
        }
    }

    #[test]
    fn quantile_is_the_bound_of_the_bucket_with_that_rank() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.quantile_ns(50), None);
        latencies.count(1_000);
        assert_eq!([0, 50, 100].map(|it| latencies.quantile_ns(it)), [Some(16_384); 3]);
        latencies.count(100);
        latencies.count(2_000);
        // Ranks are rounded up: the second of three, and the third.
        assert_eq!(
            [33, 34, 66, 67].map(|it| latencies.quantile_ns(it)),
            [5_792, 16_384, 16_384, 32_768].map(Some)
        );
        let mut latencies = Latencies::default();
        latencies.count(1_000);
        (0..98).for_each(|_| latencies.count(500));
        latencies.count(u32::MAX);
        assert_eq!(latencies.total(), 100);
        let of = |percent| latencies.quantile_ns(percent);
        assert_eq!([50, 98, 99, 100].map(of), [8_192, 8_192, 16_384, 1 << 36].map(Some));
    }

    #[test]
    fn sums_are_of_each_bucket() {
        let mut latencies = Latencies::new(core::array::from_fn(|bucket| bucket as u64));
        assert_eq!(latencies.used(), (1 << 48) - 2);
        latencies.add(&latencies.clone());
        assert_eq!((latencies.counts()[47], latencies.total()), (94, 47 * 48));
        let mut one = Latencies::default();
        one.count(512);
        assert_eq!(one.used(), 0b10);
        one.add(&latencies);
        assert_eq!(one, Latencies::new(*one.counts()));
    }
}
