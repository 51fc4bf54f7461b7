//! How long a receiver has waited, by the checker's own clockwork: what has settled at most
//! (`docs/protocol.md#4.2`), and how old holes are (`docs/protocol.md#6.8`).

use samplewire_proto::{Departure, Nanos};

/// Departures are counted on beyond their wrap here, in units from the first that came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    newest: Departure,
    newest_at: Nanos,
    newest_units: i64,
    has_heard: bool,
    /// The tolerance of the terms: a receiver waits at least so long.
    tolerance: i64,
    /// A silence counts when it is longer.
    silence_min: Nanos,
    /// The largest that `settled` may be, and that ages may have been measured from.
    settled: i64,
    aged: i64,
}

impl Waiting {
    pub(super) fn new(tolerance_units: u32, deadline: Option<Nanos>) -> Self {
        let silence_min = deadline.unwrap_or(Nanos(0)).max(PAUSE_MAX);
        Self {
            newest: Departure(0),
            newest_at: Nanos(0),
            newest_units: 0,
            has_heard: false,
            tolerance: tolerance_units.into(),
            silence_min,
            settled: i64::MIN,
            aged: i64::MIN,
        }
    }

    /// A packet came that counts.
    pub(super) fn hear(&mut self, now: Nanos, departure: Departure) {
        if !self.has_heard {
            (self.has_heard, self.newest, self.newest_at) = (true, departure, now);
        } else if departure.distance(self.newest) > 0 {
            self.pass(now);
            self.newest_units += i64::from(departure.distance(self.newest));
            (self.newest, self.newest_at) = (departure, now);
        }
        self.pass(now);
    }

    /// Departures and silence go on; what they have once shown stands.
    pub(super) fn pass(&mut self, now: Nanos) {
        if !self.has_heard {
            return;
        }
        let silence = now.since(self.newest_at);
        let units = i64::from(Departure::units(silence));
        let lag = (self.tolerance - units).max(0);
        self.settled = self.settled.max(self.newest_units - lag);
        let counted = if silence > self.silence_min { units } else { 0 };
        self.aged = self.aged.max(self.newest_units + counted);
    }

    /// A departure near the newest as units that do not wrap.
    pub(super) fn units_of(&self, departure: Departure) -> i64 {
        self.newest_units + i64::from(departure.distance(self.newest))
    }

    pub(super) const fn settled(&self) -> i64 {
        self.settled
    }

    /// How long ago, by departures, something left.
    pub(super) fn age_of(&self, units: i64) -> Nanos {
        Nanos((self.aged - units).max(0) as u64 * Departure::UNIT_NS)
    }

    /// The newest departure, once something has come.
    pub(super) fn newest(&self) -> Option<Departure> {
        self.has_heard.then_some(self.newest)
    }
}

/// A sender that lives is silent for no longer (`docs/protocol.md#6.8`).
const PAUSE_MAX: Nanos = Nanos::from_millis(200);
