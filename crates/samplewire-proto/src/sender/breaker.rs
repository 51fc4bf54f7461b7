//! The circuit breaker (RFC 8083, RFC 8084): loss alone never cuts the rate, so loss that persists
//! must end the stream and say so.

use crate::number::Nanos;

/// Counts departures by interval; trips after [`INTERVALS`] bad ones in a row.
#[derive(Clone, Debug)]
pub(crate) struct Breaker {
    interval_end: Nanos,
    departures: u32,
    repeats: u32,
    bad_intervals: u32,
}

impl Breaker {
    pub(crate) fn new(now: Nanos) -> Self {
        Self { interval_end: now + INTERVAL, departures: 0, repeats: 0, bad_intervals: 0 }
    }

    /// Counts one departure; `true` when the breaker trips.
    pub(crate) fn count(&mut self, now: Nanos, is_repeat: bool) -> bool {
        if now >= self.interval_end {
            let is_bad = self.departures >= DEPARTURES_MIN && self.repeats > self.departures / 2;
            self.bad_intervals = if is_bad { self.bad_intervals + 1 } else { 0 };
            self.interval_end = now + INTERVAL;
            self.departures = 0;
            self.repeats = 0;
        }
        self.departures = self.departures.saturating_add(1);
        self.repeats += u32::from(is_repeat);
        self.bad_intervals >= INTERVALS
    }
}

const INTERVAL: Nanos = Nanos::from_millis(1_000);
const INTERVALS: u32 = 10;
/// Fewer departures than these say nothing of the path.
const DEPARTURES_MIN: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    /// Departures 1 ms apart for `seconds`, of which `repeats_of_ten` in ten are repeats.
    fn trips_within(seconds: u64, repeats_of_ten: u64) -> bool {
        let mut breaker = Breaker::new(Nanos(0));
        (0..seconds * 1_000)
            .any(|ms| breaker.count(Nanos::from_millis(ms), ms % 10 < repeats_of_ten))
    }

    #[test]
    fn sixty_percent_of_repeats_trips_after_ten_seconds_and_thirty_never() {
        assert!(!trips_within(9, 6));
        assert!(trips_within(12, 6));
        assert!(!trips_within(100, 3));
        assert!(!trips_within(100, 5), "half is not more than half");
    }

    /// Ten bad seconds but for the fifth, in which `change` counts.
    fn trips_but_for_the_fifth(change: impl Fn(&mut Breaker, Nanos)) -> bool {
        let mut breaker = Breaker::new(Nanos(0));
        let mut trips = false;
        for second in 0..11 {
            let now = Nanos::from_millis(1_000 * second);
            if second == 5 {
                change(&mut breaker, now);
            } else {
                trips |= (0..100).any(|_| breaker.count(now, true));
            }
        }
        trips
    }

    /// `docs/protocol.md#4.10`
    #[test]
    fn seconds_count_from_a_hundred_departures_and_only_in_a_row() {
        let count = |departures: u32| {
            trips_but_for_the_fifth(|breaker, now| {
                (0..departures).for_each(|_| assert!(!breaker.count(now, true)));
            })
        };
        assert!(count(100));
        assert!(!count(99), "a second of too few begins the row again");
    }
}
