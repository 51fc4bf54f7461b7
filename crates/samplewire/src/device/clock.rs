//! The clock of a device's samples: index is time.

use std::time::{Duration, Instant};

use samplewire_proto::{SampleIndex, TaiClock};

use crate::source::StreamInfo;

/// Says which sample a converter is at: index 0 at its start, and on at its rate, whatever flows.
///
/// ```
/// use std::time::{Duration, Instant};
/// use samplewire::device::SampleClock;
/// use samplewire::format::Format;
/// use samplewire::source::StreamInfo;
///
/// let start = Instant::now();
/// let clock = SampleClock::start(&StreamInfo::new(Format::Sc16, 1, 2e6)?, start);
/// assert_eq!(clock.index_at(start + Duration::from_millis(1)), 2_000);
/// assert_eq!(clock.instant_of(2_000), start + Duration::from_millis(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleClock {
    origin: Instant,
    rate_numerator: u128,
    rate_denominator: u128,
    /// TAI time of index 0, if it is known.
    tai_ns: Option<u64>,
}

impl SampleClock {
    /// Starts at `origin` with the rate of `info`.
    ///
    /// # Panics
    /// When the rate is not known.
    pub fn start(info: &StreamInfo, origin: Instant) -> Self {
        assert_ne!(info.rate_numerator, 0, "a clock has a rate");
        Self {
            origin,
            rate_numerator: info.rate_numerator.into(),
            rate_denominator: info.rate_denominator.max(1).into(),
            tai_ns: None,
        }
    }

    /// Sets the TAI time of index 0 in nanoseconds since 1970. A device states the time of the first
    /// index to each peer. Default: the time is not known.
    #[must_use]
    pub const fn with_tai_ns(self, tai_ns: u64) -> Self {
        Self { tai_ns: Some(tai_ns), ..self }
    }

    /// The same clock in slow motion: it takes `factor` times as long for a sample
    /// ([`RealTime::slow`](crate::RealTime::slow)).
    #[must_use]
    pub fn slowed(self, factor: u32) -> Self {
        Self { rate_denominator: self.rate_denominator * u128::from(factor.max(1)), ..self }
    }

    /// The first index whose time lies after `now`: all before it have been played or sampled.
    pub fn index_at(&self, now: Instant) -> SampleIndex {
        self.samples_in(now.saturating_duration_since(self.origin))
    }

    /// The instant at which `index` is sampled or played, to the next nanosecond; some centuries
    /// ahead at the latest.
    pub fn instant_of(&self, index: SampleIndex) -> Instant {
        let sample_ns = self.rate_denominator * NS_PER_S;
        let samples_ns = u128::from(index).saturating_mul(sample_ns);
        let elapsed_ns = samples_ns.div_ceil(self.rate_numerator).min(ELAPSED_NS_MAX);
        self.origin + Duration::from_nanos(elapsed_ns as u64)
    }

    /// The time of `index` in TAI nanoseconds since 1970, if it is known.
    pub(crate) fn tai_ns(&self, index: SampleIndex) -> Option<u64> {
        let tai_ns = self.tai_ns?;
        let passed = self.instant_of(index).saturating_duration_since(self.origin);
        Some(tai_ns.saturating_add(u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// The time of each index, if that of index 0 is known.
    pub(crate) fn tai_clock(&self) -> Option<TaiClock> {
        let rate = (self.rate_numerator.try_into().ok()?, self.rate_denominator.try_into().ok()?);
        TaiClock::new(0, self.tai_ns?, rate.0, rate.1)
    }

    /// How many samples there are in `span`.
    pub fn samples_in(&self, span: Duration) -> u64 {
        // Nanoseconds that 64 bits hold, times a rate of 64 bits, fit 128.
        let span_ns = span.as_nanos().min(u64::MAX.into());
        let samples = span_ns * self.rate_numerator / (self.rate_denominator * NS_PER_S);
        u64::try_from(samples).unwrap_or(u64::MAX)
    }
}

const NS_PER_S: u128 = 1_000_000_000;

/// A clock's `Instant` overflows beyond.
const ELAPSED_NS_MAX: u128 = i64::MAX as u128;

#[cfg(test)]
mod tests {
    use samplewire_proto::wire::Format;

    use super::*;

    #[test]
    fn slowed_clock_takes_longer_for_a_sample() {
        let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
        let start = Instant::now();
        let clock = SampleClock::start(&info, start).slowed(50);
        assert_eq!(clock.instant_of(20), start + Duration::from_millis(1));
        assert_eq!(clock.index_at(start + Duration::from_millis(1)), 20);
    }

    #[test]
    fn span_has_samples_however_long_it_is() {
        let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
        let clock = SampleClock::start(&info, Instant::now());
        assert_eq!(clock.samples_in(Duration::from_micros(7)), 7);
        assert_eq!(clock.samples_in(Duration::MAX), u64::MAX / 1_000);
        let info = StreamInfo::new(Format::Sc16, 1, 1e12).unwrap();
        let clock = SampleClock::start(&info, Instant::now());
        assert_eq!(clock.samples_in(Duration::MAX), u64::MAX);
    }

    #[test]
    fn time_of_an_index_is_as_far_from_that_of_index_0_as_its_instant() {
        let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
        let clock = SampleClock::start(&info, Instant::now());
        assert_eq!(clock.tai_ns(20), None);
        assert_eq!(clock.with_tai_ns(0).tai_ns(0), Some(0));
        assert_eq!(clock.with_tai_ns(5).tai_ns(20), Some(20_005));
        assert_eq!(clock.with_tai_ns(5).slowed(50).tai_ns(20), Some(1_000_005));
        let slowed = clock.with_tai_ns(5).slowed(50).tai_clock().unwrap();
        assert_eq!((clock.tai_clock(), slowed.tai_ns(20)), (None, 1_000_005));
        assert_eq!(clock.with_tai_ns(u64::MAX - 999).tai_ns(1), Some(u64::MAX));
        assert_eq!(clock.with_tai_ns(u64::MAX).tai_ns(u64::MAX), Some(u64::MAX));
    }

    #[test]
    fn instant_of_an_index_is_the_first_at_which_it_is_counted() {
        let info = StreamInfo::new(Format::Sc16, 1, 30.72e6 / 7.0).unwrap();
        let clock = SampleClock::start(&info, Instant::now());
        for index in [0, 1, 2, 1_000_003, 1 << 40] {
            let at = clock.instant_of(index);
            assert_eq!(clock.index_at(at), index);
            if index > 0 {
                assert_eq!(clock.index_at(at - Duration::from_nanos(1)), index - 1);
            }
        }
        assert!(clock.instant_of(u64::MAX) > clock.instant_of(1 << 50));
    }
}
