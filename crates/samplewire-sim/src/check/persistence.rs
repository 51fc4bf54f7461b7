//! Loss that persists, as the checker counts it (`docs/protocol.md#4.10`).

use samplewire_proto::Nanos;

/// Departures of one sender by intervals; which of them are repeats is known from the records, not
/// from the sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Persistence {
    interval_end: Nanos,
    departures: u64,
    repeats: u64,
    bad_in_a_row: u32,
}

impl Persistence {
    /// Counts from `now` on, by the sender's clock.
    pub(super) const fn new(now: Nanos) -> Self {
        let interval_end = Nanos(now.0 + INTERVAL.0);
        Self { interval_end, departures: 0, repeats: 0, bad_in_a_row: 0 }
    }

    pub(super) fn count(&mut self, now: Nanos, is_first: bool) {
        if now >= self.interval_end {
            let is_bad = self.departures >= DEPARTURES_MIN && 2 * self.repeats > self.departures;
            self.bad_in_a_row = if is_bad { self.bad_in_a_row + 1 } else { 0 };
            *self = Self { bad_in_a_row: self.bad_in_a_row, ..Self::new(now) };
        }
        self.departures += 1;
        self.repeats += u64::from(!is_first);
    }

    /// Whether the stream must have ended.
    pub(super) const fn is_lasting(&self) -> bool {
        self.bad_in_a_row >= INTERVALS
    }
}

const INTERVAL: Nanos = Nanos::from_millis(1_000);
const INTERVALS: u32 = 10;
const DEPARTURES_MIN: u64 = 100;
