//! What each end measures of time: its own departures and the round trip.

use crate::number::{Departure, Nanos};

/// Stamps departures: strictly rising, so that each transmission has a stamp of its own
/// (`docs/protocol.md#2.6`).
#[derive(Clone, Debug, Default)]
pub(crate) struct DepartureClock {
    last: Option<(Departure, Nanos)>,
}

impl DepartureClock {
    /// The stamp of a packet that leaves at `now`.
    pub(crate) fn stamp(&mut self, now: Nanos) -> Departure {
        let at = Departure::at(now);
        let stamp = match self.last {
            // After a quarter of the wrap the last stamp can no longer be ahead.
            Some((last, when)) if !last.before(at) && now.since(when) < QUARTER_WRAP => {
                last.plus(1)
            }
            _ => at,
        };
        self.last = Some((stamp, now));
        stamp
    }

    /// The newest stamp.
    pub(crate) fn last(&self) -> Option<Departure> {
        self.last.map(|(stamp, _)| stamp)
    }
}

/// Smoothed round-trip time. It falls fast (gain 1/2) and rises slowly (gain 1/8, a sample counts
/// for at most twice the estimate): a host that paused says nothing of the path, and asking too
/// early does no harm.
#[derive(Clone, Debug)]
pub(crate) struct Rtt {
    smoothed: Nanos,
    measured: bool,
}

impl Rtt {
    /// Starts from what the opening measured.
    pub(crate) const fn new(initial: Nanos) -> Self {
        Self { smoothed: initial, measured: false }
    }

    /// The present estimate, never below [`RTT_MIN`].
    pub(crate) fn get(&self) -> Nanos {
        self.smoothed.max(RTT_MIN)
    }

    /// The present estimate, once it is measured.
    pub(crate) fn measured(&self) -> Option<Nanos> {
        self.measured.then(|| self.get())
    }

    /// Takes an echo: `echo` is our own stamp, `hold` how long the peer kept it, in units.
    pub(crate) fn take_echo(&mut self, now: Nanos, echo: Departure, hold: u32) {
        let elapsed = Departure::at(now).distance(echo);
        if elapsed < 0 || hold > elapsed as u32 {
            return;
        }
        let sample = Departure::span_ns(elapsed as u32 - hold);
        if sample > RTT_MAX {
            return;
        }
        self.smoothed = if !self.measured {
            sample
        } else if sample < self.smoothed {
            Nanos((self.smoothed.0 + sample.0) / 2)
        } else {
            let sample = sample.min(Nanos(2 * self.get().0));
            Nanos((self.smoothed.0 * 7 + sample.0) / 8)
        };
        self.measured = true;
    }
}

const QUARTER_WRAP: Nanos = Nanos((1 << 30) * Departure::UNIT_NS);

/// Keeps timers that scale with the round trip from spinning on a link without delay.
const RTT_MIN: Nanos = Nanos::from_micros(10);

/// Samples above are refused: a forged echo must not stretch timers without bound.
const RTT_MAX: Nanos = Nanos::from_millis(10_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_departures_at_one_instant_differ() {
        let mut clock = DepartureClock::default();
        let first = clock.stamp(Nanos(1600));
        let second = clock.stamp(Nanos(1600));
        assert_eq!((first, second), (Departure(100), Departure(101)));
        assert_eq!(clock.stamp(Nanos(3200)), Departure(200));
    }

    #[test]
    fn departures_rise_across_the_wrap() {
        let mut clock = DepartureClock::default();
        let before = clock.stamp(Nanos(u32::MAX as u64 * 16));
        let after = clock.stamp(Nanos((u32::MAX as u64 + 1) * 16));
        assert_eq!(after, Departure(0));
        assert!(before.before(after));
    }

    #[test]
    fn stamp_after_a_long_silence_is_the_present() {
        let mut clock = DepartureClock::default();
        clock.stamp(Nanos::from_millis(1_000));
        let now = Nanos::from_millis(41_000);
        assert_eq!(clock.stamp(now), Departure::at(now));
    }

    #[test]
    fn stamps_that_ran_ahead_rise_for_a_quarter_of_the_wrap() {
        let ahead = Departure(1 << 27);
        let mut clock = DepartureClock { last: Some((ahead, Nanos(0))) };
        assert_eq!(clock.stamp(Nanos::from_millis(2_000)), ahead.plus(1));
        let ahead = Departure((1 << 30) + 5);
        let mut clock = DepartureClock { last: Some((ahead, Nanos(0))) };
        assert_eq!(clock.stamp(QUARTER_WRAP), Departure(1 << 30), "and no longer");
    }

    #[test]
    fn echo_of_no_time_and_of_the_longest_count_and_longer_ones_do_not() {
        let at = Nanos::from_millis(20_000);
        let rtt_of = |elapsed: Nanos, hold: u32| {
            let mut rtt = Rtt::new(Nanos::from_millis(1));
            rtt.take_echo(at + elapsed, Departure::at(at), hold);
            rtt.get()
        };
        assert_eq!(rtt_of(Nanos(0), 0), RTT_MIN);
        assert_eq!(rtt_of(Nanos(1_600), 100), RTT_MIN, "held for all of it");
        assert_eq!(rtt_of(Nanos(1_600), 101), Nanos::from_millis(1));
        assert_eq!(rtt_of(RTT_MAX, 0), RTT_MAX);
        let longer = RTT_MAX + Nanos(Departure::UNIT_NS);
        assert_eq!(rtt_of(longer, 0), Nanos::from_millis(1));
    }

    #[test]
    fn echo_from_the_future_is_refused() {
        let mut rtt = Rtt::new(Nanos::from_millis(1));
        rtt.take_echo(Nanos::from_millis(5), Departure::at(Nanos::from_millis(6)), 0);
        assert_eq!(rtt.get(), Nanos::from_millis(1));
        rtt.take_echo(Nanos::from_millis(9), Departure::at(Nanos::from_millis(5)), 62_500);
        assert_eq!(rtt.get(), Nanos::from_millis(3));
    }

    #[test]
    fn one_pause_hardly_moves_the_estimate_and_a_longer_path_does() {
        let mut rtt = Rtt::new(Nanos::from_millis(1));
        let mut take_ms = |ms: u64| {
            let start = Nanos::from_millis(1_000);
            rtt.take_echo(start + Nanos::from_millis(ms), Departure::at(start), 0);
            rtt.get().0 / 1_000
        };
        assert_eq!(take_ms(1), 1_000);
        assert_eq!(take_ms(500), 1_125, "a pause of 500 ms");
        assert_eq!(take_ms(1), 1_062);
        let last = (0..40).map(|_| take_ms(10)).last();
        assert!(last.is_some_and(|us| us > 9_000), "a path of 10 ms: {last:?}");
    }
}
