//! What has settled: which departures can no longer arrive (`docs/protocol.md#4.2`).

use super::tolerance::Tolerance;
use crate::number::{Departure, Nanos};

/// The newest departure, and how far behind it lies what has settled.
#[derive(Clone, Debug)]
pub(super) struct Settled {
    newest: Option<Newest>,
    tolerance: Tolerance,
}

/// The newest departure seen, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newest {
    pub(super) departure: Departure,
    pub(super) at: Nanos,
    /// How far `settled` lies behind it at most: what was settled once stays so, though the
    /// tolerance grows or a silence ends.
    lag_max: u32,
}

impl Settled {
    pub(super) const fn new(tolerance: Tolerance) -> Self {
        Self { newest: None, tolerance }
    }

    pub(super) const fn newest(&self) -> Option<Newest> {
        self.newest
    }

    /// The present reordering tolerance in departure units.
    pub(super) fn tolerance(&self) -> u32 {
        self.tolerance.get()
    }

    /// Everything that departed before this has arrived or is lost.
    pub(super) fn at(&self, now: Nanos) -> Departure {
        self.newest.map_or(Departure(0), |newest| newest.departure.minus(self.lag(now, &newest)))
    }

    /// When `departure` is settled if nothing more arrives; `None` when no silence settles it: a
    /// peer that lies about its clock may let it lie ahead of the newest.
    pub(super) fn time_of(&self, departure: Departure) -> Option<Nanos> {
        let newest = self.newest?;
        let ahead = u32::try_from(newest.departure.distance(departure)).ok()?;
        let is_settled = newest.lag_max <= ahead;
        let wait = if is_settled { 0 } else { self.tolerance.get().saturating_sub(ahead) };
        Some(newest.at + Departure::span_ns(wait) + Nanos(Departure::UNIT_NS))
    }

    /// Takes the departure of a packet that came.
    pub(super) fn hear(&mut self, now: Nanos, departure: Departure) {
        let lag_max = match &self.newest {
            None => u32::MAX,
            Some(newest) if !newest.departure.before(departure) => return,
            Some(newest) => {
                let advance = departure.distance(newest.departure) as u32;
                self.lag(now, newest).saturating_add(advance)
            }
        };
        self.newest = Some(Newest { departure, at: now, lag_max });
    }

    /// Whether a packet has come that departed after this time.
    pub(super) fn is_newer_than(&self, departure: Departure) -> bool {
        self.newest.is_some_and(|newest| departure.before(newest.departure))
    }

    /// How much later than in order a packet has come, in departure units: what departed after it
    /// and came before it, and the silence since where `counts_silence`.
    pub(super) fn extent(&self, now: Nanos, departure: Departure, counts_silence: bool) -> u32 {
        let Some(newest) = self.newest else { return 0 };
        let ahead = newest.departure.distance(departure).max(0) as u32;
        let silence = if counts_silence { Departure::units(now.since(newest.at)) } else { 0 };
        if ahead == 0 { 0 } else { ahead.saturating_add(silence) }
    }

    /// Changes the tolerance; what is settled stays so.
    pub(super) fn change(&mut self, now: Nanos, change: impl FnOnce(&mut Tolerance)) {
        if let Some(newest) = self.newest {
            let lag_max = self.lag(now, &newest);
            self.newest = Some(Newest { lag_max, ..newest });
        }
        change(&mut self.tolerance);
    }

    fn lag(&self, now: Nanos, newest: &Newest) -> u32 {
        let silence = Departure::units(now.since(newest.at));
        newest.lag_max.min(self.tolerance.get().saturating_sub(silence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOR: u32 = 100;

    fn settled() -> Settled {
        Settled::new(Tolerance::new(FLOOR, 100_000))
    }

    /// The instant `units` of 16 ns after the start.
    fn at(units: u64) -> Nanos {
        Nanos(units * Departure::UNIT_NS)
    }

    #[test]
    fn silence_settles_what_the_tolerance_keeps_open() {
        let mut settled = settled();
        settled.hear(at(0), Departure(1_000));
        assert_eq!(settled.at(at(0)), Departure(900));
        assert_eq!(settled.at(at(60)), Departure(960));
        assert_eq!(settled.at(at(500)), Departure(1_000));
    }

    #[test]
    fn tolerance_that_grows_unsettles_nothing() {
        let mut settled = settled();
        settled.hear(at(0), Departure(1_000));
        settled.change(at(40), |tolerance| tolerance.came_late_by(4_000));
        assert_eq!(settled.tolerance(), 5_000);
        assert_eq!(settled.at(at(40)), Departure(940));
        settled.hear(at(50), Departure(5_000));
        assert_eq!(settled.at(at(50)), Departure(940), "less than the tolerance has passed");
        settled.hear(at(60), Departure(6_000));
        assert_eq!(settled.at(at(60)), Departure(1_000));
    }

    #[test]
    fn packet_after_a_silence_unsettles_nothing() {
        let mut settled = settled();
        settled.hear(at(0), Departure(1_000));
        settled.hear(at(200), Departure(1_010));
        assert_eq!(settled.at(at(200)), Departure(1_000));
    }

    #[test]
    fn settled_never_retreats_whatever_comes() {
        let mut rng = crate::Rng::new(3);
        let mut below = |end: u64| rng.below(end);
        for start in [0, u32::MAX - 5_000, i32::MAX as u32 - 5_000] {
            let (mut settled, mut departure, mut now) = (settled(), Departure(start), 0);
            settled.hear(at(0), departure);
            let mut last = settled.at(at(0));
            for _ in 0..100_000 {
                now += below(400);
                match below(4) {
                    0 => {
                        departure = departure.plus(below(300) as u32);
                        settled.hear(at(now), departure);
                    }
                    1 => settled.hear(at(now), departure.minus(below(10_000) as u32)),
                    2 => {
                        let extent = below(20_000) as u32;
                        settled.change(at(now), |tolerance| tolerance.came_late_by(extent));
                    }
                    _ => settled.change(at(now), Tolerance::lost),
                }
                let present = settled.at(at(now));
                assert!(!present.before(last), "{present:?} after {last:?}");
                assert!(!departure.before(present), "{present:?} is ahead of {departure:?}");
                last = present;
            }
        }
    }

    #[test]
    fn time_of_a_departure_is_when_it_settles() {
        for grows in [false, true] {
            let mut settled = settled();
            settled.hear(at(0), Departure(1_000));
            if grows {
                settled.change(at(30), |tolerance| tolerance.came_late_by(4_000));
                settled.hear(at(40), Departure(1_500));
            }
            let newest = if grows { 1_400 } else { 1_000 };
            for departure in (850..=newest).step_by(50).map(Departure) {
                let time = settled.time_of(departure).expect("something came");
                assert!(!settled.at(time).before(departure), "{departure:?}");
                let before = time - at(2);
                let is_first = before < at(40) || settled.at(before).before(departure);
                assert!(is_first, "{departure:?} settles before {time:?}");
            }
        }
    }

    #[test]
    fn departure_ahead_of_the_newest_is_settled_by_no_silence() {
        let mut settled = settled();
        settled.hear(at(0), Departure(1_000));
        // What was in the past has come to lie ahead, over half of the wrap.
        for step in [1 << 30, 1 << 31, 3 << 30].map(|step: u32| Departure(1_000).plus(step)) {
            settled.hear(at(1), step);
        }
        let past = Departure(1_000);
        assert!(settled.at(at(1_000_000)).before(past));
        assert_eq!(settled.time_of(past), None, "a timer that has passed would spin");
    }

    #[test]
    fn departure_of_the_far_future_settles_no_more_than_the_tolerance_allows() {
        let mut settled = settled();
        settled.hear(at(0), Departure(1_000));
        let forged = Departure(1_000 + i32::MAX as u32);
        settled.hear(at(1), forged);
        assert_eq!(settled.at(at(1)), forged.minus(FLOOR));
        assert!(settled.extent(at(2), Departure(1_050), false) > 2_000_000_000);
    }
}
