//! The clock of a driver, in nanoseconds since it was started; the only place that knows of slow
//! motion.

use std::time::{Duration, Instant};

use samplewire_proto::Nanos;

/// A monotonic clock, which may run slower than the host's by a whole factor.
///
/// What waits for a time of this clock asks it for the [span](Clock::span_until): at a factor of 50, a
/// protocol's time-out of 1 ms is 50 ms of the host. Every integer of what it drives is unchanged.
///
/// ```
/// use std::time::{Duration, Instant};
/// use samplewire_io::Clock;
/// use samplewire_proto::Nanos;
///
/// let start = Instant::now();
/// let clock = Clock::starting_at(start, 50);
/// assert_eq!(clock.time_of(start + Duration::from_micros(50)), Nanos(1_000));
/// assert_eq!(clock.instant_of(Nanos(1_000)), start + Duration::from_micros(50));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: Instant,
    slow: u32,
}

impl Clock {
    /// A clock that starts, and runs slower than the host's by the factor `slow`.
    ///
    /// # Panics
    /// When `slow` is zero.
    pub fn start(slow: u32) -> Self {
        Self::starting_at(Instant::now(), slow)
    }

    /// A clock whose time 0 is `epoch`. It reads no clock of the host but in [`Clock::now`] and
    /// [`Clock::span_until`].
    ///
    /// # Panics
    /// When `slow` is zero.
    pub const fn starting_at(epoch: Instant, slow: u32) -> Self {
        assert!(slow > 0, "a clock runs");
        Self { epoch, slow }
    }

    /// The time.
    pub fn now(&self) -> Nanos {
        self.time_of(Instant::now())
    }

    /// The time at an instant of the host; 0 before the start.
    pub fn time_of(&self, instant: Instant) -> Nanos {
        let elapsed_ns = instant.saturating_duration_since(self.epoch).as_nanos() as u64;
        Nanos(elapsed_ns / u64::from(self.slow))
    }

    /// The first instant of the host at which it is `time`.
    pub fn instant_of(&self, time: Nanos) -> Instant {
        self.epoch + Duration::from_nanos(time.0) * self.slow
    }

    /// How long the host has to wait until it is `time`.
    pub fn span_until(&self, time: Nanos) -> Duration {
        self.instant_of(time).saturating_duration_since(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instant_of_a_time_is_the_first_at_which_it_is_read() {
        let start = Instant::now();
        for slow in [1, 3, 50, 1_000] {
            let clock = Clock::starting_at(start, slow);
            for ns in [0, 1, 999, 1 << 40] {
                let at = clock.instant_of(Nanos(ns));
                assert_eq!(clock.time_of(at), Nanos(ns));
                if ns > 0 {
                    assert_eq!(clock.time_of(at - Duration::from_nanos(1)), Nanos(ns - 1));
                }
            }
        }
    }

    #[test]
    fn waits_are_those_of_the_host() {
        let clock = Clock::start(1_000);
        let span = clock.span_until(Nanos::from_millis(1));
        assert!(span > Duration::from_millis(900) && span <= Duration::from_secs(1), "{span:?}");
        assert_eq!(Clock::start(1).span_until(Nanos(0)), Duration::ZERO);
    }
}
