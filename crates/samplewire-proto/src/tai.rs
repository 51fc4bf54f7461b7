//! The time of samples, where their device knows it.

use crate::number::SampleIndex;

/// Converts sample indexes to International Atomic Time (TAI), from the known time of one index and a
/// sample rate. With the nominal rate, the error grows with the distance from the known time: the
/// device's converter may run faster or slower.
///
/// Times are nanoseconds since 1970-01-01T00:00:00 TAI. TAI has no leap seconds: since 2017 it is 37 s
/// ahead of UTC.
///
/// ```
/// use samplewire_proto::TaiClock;
///
/// let clock = TaiClock::new(1_000, 1_800_000_000_000_000_000, 2_000_000, 1).expect("a rate");
/// assert_eq!(clock.tai_ns(1_002), 1_800_000_000_000_001_000);
/// assert_eq!(clock.tai_ns(998), 1_799_999_999_999_999_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaiClock {
    /// An index whose time is known.
    pub index: SampleIndex,
    /// The time of `index`.
    pub tai_ns: u64,
    /// The sample rate in hertz as a fraction; not 0.
    pub rate_numerator: u64,
    /// See `rate_numerator`.
    pub rate_denominator: u32,
}

impl TaiClock {
    /// How many seconds TAI is ahead of UTC since 2017.
    pub const AHEAD_OF_UTC_S: u64 = 37;

    /// Creates the clock of a stream whose sample `index` has the time `tai_ns`; `None` if its rate in
    /// hertz is 0, which means that it is not known.
    pub fn new(
        index: SampleIndex,
        tai_ns: u64,
        rate_numerator: u64,
        rate_denominator: u32,
    ) -> Option<Self> {
        let rate_denominator = rate_denominator.max(1);
        (rate_numerator > 0).then_some(Self { index, tai_ns, rate_numerator, rate_denominator })
    }

    /// Returns the time of an index, rounded down to a nanosecond, within 1970 to 2554.
    pub fn tai_ns(&self, index: SampleIndex) -> u64 {
        let samples = i128::from(index) - i128::from(self.index);
        let sample_ns = i128::from(self.rate_denominator) * 1_000_000_000;
        // A product beyond 128 bits is a time beyond the range too.
        let passed_ns =
            samples.saturating_mul(sample_ns).div_euclid(i128::from(self.rate_numerator.max(1)));
        let tai_ns = passed_ns.saturating_add(self.tai_ns.into());
        u64::try_from(tai_ns.max(0)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_keeps_to_the_exact_rate_in_both_directions() {
        let clock = TaiClock::new(1 << 40, 1_000, 30_720_000, 7).unwrap();
        // 30,720,000 samples take 7 s.
        assert_eq!(clock.tai_ns((1 << 40) + 30_720_000), 7_000_001_000);
        assert_eq!(clock.tai_ns((1 << 40) - 1), 1_000 - 228, "227.9 ns, rounded down");
    }

    #[test]
    fn time_out_of_range_is_the_nearest_in_range() {
        let clock = TaiClock::new(1, 5, 1, 1_000).unwrap();
        assert_eq!((clock.tai_ns(0), clock.tai_ns(u64::MAX)), (0, u64::MAX));
        assert_eq!(TaiClock::new(1, 5, 0, 1), None);
        assert_eq!(TaiClock::new(1, 5, 1, 0), TaiClock::new(1, 5, 1, 1));
    }
}
