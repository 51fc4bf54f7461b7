//! When periodic work is due.

use std::time::{Duration, Instant};

/// A periodic beat that does not drift.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cadence {
    period: Duration,
    next: Instant,
}

impl Cadence {
    /// Creates a beat; the first is one period after `now`.
    pub(crate) fn new(period: Duration, now: Instant) -> Self {
        Self { period, next: now + period }
    }

    /// Whether a beat has passed since the last call; several missed beats count as one.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        if now < self.next {
            return false;
        }
        self.next += self.period;
        if self.next <= now {
            self.next = now + self.period;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_beats_count_as_one() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut cadence = Cadence::new(Duration::from_millis(100), start);
        assert!(!cadence.is_due(at(99)));
        assert!(cadence.is_due(at(110)));
        assert!(!cadence.is_due(at(199)));
        assert!(cadence.is_due(at(200)), "the beat did not drift");
        assert!(cadence.is_due(at(1_000)));
        assert!(!cadence.is_due(at(1_050)));
    }
}
