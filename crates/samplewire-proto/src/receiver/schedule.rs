//! When to send REPORT (`docs/protocol.md#4.5`).

use crate::number::{Nanos, Seq};
use crate::stream::{PAUSE_MAX, WINDOW_SMALL};

/// What has happened since the last REPORT.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    sent_at: Option<Nanos>,
    limit_sent: Seq,
    marked_sent: u32,
    /// The sender asked, by MARK or flag.
    is_asked: bool,
    has_data: bool,
    /// Times that holes were revealed: each adds a range.
    reveals: u32,
    /// The last REPORT had no room for more ranges.
    was_full: bool,
}

/// What a schedule looks at besides its own memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Present {
    pub(super) rtt: Nanos,
    pub(super) limit: Seq,
    pub(super) highest_end: Seq,
    pub(super) window: u32,
    /// Packets that come in a round trip.
    pub(super) per_rtt: u32,
    pub(super) marked: u32,
    /// Something can be listed at once.
    pub(super) is_listable: bool,
    /// When the next hole settles if nothing more arrives.
    pub(super) settles_at: Option<Nanos>,
    /// No DATA has come yet.
    pub(super) is_opening: bool,
}

impl Schedule {
    pub(super) const fn new(first_seq: Seq) -> Self {
        Self {
            sent_at: None,
            limit_sent: first_seq,
            marked_sent: 0,
            is_asked: false,
            has_data: false,
            reveals: 0,
            was_full: false,
        }
    }

    pub(super) const fn ask(&mut self) {
        self.is_asked = true;
    }

    pub(super) const fn data_came(&mut self) {
        self.has_data = true;
    }

    pub(super) const fn holes_revealed(&mut self) {
        self.reveals += 1;
    }

    pub(super) const fn report_left(&mut self, now: Nanos, present: &Present, is_full: bool) {
        *self = Self {
            sent_at: Some(now),
            limit_sent: present.limit,
            marked_sent: present.marked,
            is_asked: false,
            has_data: false,
            reveals: 0,
            was_full: is_full,
        };
    }

    /// When the next REPORT is due; a time that has passed means at once.
    #[inline]
    pub(super) fn due(&self, present: &Present) -> Nanos {
        let Some(sent_at) = self.sent_at else { return Nanos(0) };
        let rtt = present.rtt;
        let grown = present.limit.distance(self.limit_sent).max(0) as u32;
        let step = step(present.window);
        if grown >= step {
            return sent_at;
        }
        let waits_for_ranges = self.reveals < REVEALS_MAX;
        if !waits_for_ranges && present.is_listable {
            return sent_at;
        }
        let pause = if present.is_opening {
            Nanos(2 * rtt.0).max(OPENING_PAUSE_MIN).min(PAUSE_MAX)
        } else if self.has_data {
            Nanos(4 * rtt.0).max(BUSY_PAUSE_MIN).min(PAUSE_MAX)
        } else {
            PAUSE_MAX
        };
        let mut due = sent_at + pause;
        let short_pause = Nanos(rtt.0 / PAUSES_PER_RTT).max(ASKED_PAUSE);
        // A sender that is about to run out of credit waits for the next REPORT; by the time that
        // one arrives, what comes in a round trip has departed.
        let unused = self.limit_sent.distance(present.highest_end).max(0) as u32;
        let unused_then = unused.saturating_sub(present.per_rtt);
        if present.window < WINDOW_SMALL {
            // Credit one by one would be used one by one, and never again gather to more.
            if grown > 0 && unused < step {
                due = due.min(sent_at + Nanos(rtt.0 / 2).clamp(ASKED_PAUSE, STEP_PAUSE_MAX));
            }
        } else if grown >= (unused / 8).max(1) {
            due = due.min(sent_at + ASKED_PAUSE);
        } else if grown >= (unused_then / 8).max(1) {
            due = due.min(sent_at + short_pause);
        }
        let hole_pause = if self.was_full { ASKED_PAUSE } else { short_pause };
        if present.is_listable {
            due = due.min(sent_at + hole_pause);
        } else if let Some(settles_at) = present.settles_at {
            let hole_pause = if waits_for_ranges { hole_pause } else { Nanos(0) };
            due = due.min(settles_at.max(sent_at + hole_pause));
        }
        if present.marked != self.marked_sent {
            due = due.min(sent_at + MARKED_PAUSE);
        }
        if self.is_asked {
            due = due.min(sent_at + ASKED_PAUSE);
        }
        due
    }
}

/// By how much credit grows before a REPORT is due at once: an eighth of the window, or half of a
/// small one.
fn step(window: u32) -> u32 {
    (window / 8).max(STEP_MIN.min(window / 2)).max(1)
}

/// Packets that are worth a REPORT.
const STEP_MIN: u32 = 8;
/// How long less than a step waits for more, at most.
const STEP_PAUSE_MAX: Nanos = Nanos::from_millis(10);
/// New ranges that are reported without waiting for the pause.
const REVEALS_MAX: u32 = 32;
/// The pause adds to each round trip of a repair, and to each wait for credit.
const PAUSES_PER_RTT: u64 = 128;
const ASKED_PAUSE: Nanos = Nanos::from_micros(20);
const MARKED_PAUSE: Nanos = Nanos::from_micros(50);
const BUSY_PAUSE_MIN: Nanos = Nanos::from_millis(1);
const OPENING_PAUSE_MIN: Nanos = Nanos::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    const START: Nanos = Nanos::from_millis(500);

    /// The pause in microseconds until the next REPORT under `change`.
    fn pause_us(change: impl FnOnce(&mut Schedule, &mut Present)) -> u64 {
        let mut schedule = Schedule::new(Seq(0));
        let mut present = Present {
            rtt: Nanos::from_millis(8),
            limit: Seq(800),
            highest_end: Seq(0),
            window: 800,
            per_rtt: 0,
            marked: 0,
            is_listable: false,
            settles_at: None,
            is_opening: false,
        };
        schedule.report_left(START, &present, false);
        change(&mut schedule, &mut present);
        schedule.due(&present).since(START).0 / 1_000
    }

    #[test]
    fn each_rule_sets_its_own_pause() {
        assert_eq!(pause_us(|_, _| {}), 100_000, "idle");
        assert_eq!(pause_us(|s, _| s.data_came()), 32_000, "data flow");
        assert_eq!(pause_us(|_, p| p.is_opening = true), 20_000, "no data yet");
        let pause_at_rtt_ms = |ms: u64, is_opening: bool| {
            pause_us(|s, p| {
                (p.rtt, p.is_opening) = (Nanos::from_millis(ms), is_opening);
                s.data_came();
            })
        };
        assert_eq!(pause_at_rtt_ms(30, true), 60_000, "no data yet, two round trips");
        assert_eq!(pause_at_rtt_ms(60, true), 100_000, "no data yet, at most");
        assert_eq!(pause_at_rtt_ms(0, false), 1_000, "data flow, at least");
        assert_eq!(pause_at_rtt_ms(60, false), 100_000, "data flow, at most");
        assert_eq!(pause_us(|s, _| s.ask()), 20, "asked");
        assert_eq!(pause_us(|_, p| p.marked = 1), 50, "congestion");
        assert_eq!(pause_us(|_, p| p.limit = Seq(899)), 100_000, "little credit");
        assert_eq!(pause_us(|_, p| p.limit = Seq(900)), 0, "an eighth of the window");
        assert_eq!(
            pause_us(|_, p| {
                p.limit = Seq(850);
                p.highest_end = Seq(400);
            }),
            20,
            "an eighth of what is left"
        );
        assert_eq!(
            pause_us(|_, p| {
                p.limit = Seq(801);
                p.highest_end = Seq(400);
                p.per_rtt = 400;
            }),
            62,
            "what is left departs before a REPORT arrives"
        );
        for (limit, pause) in [(824, 100_000), (825, 62)] {
            let growth = pause_us(|_, p| {
                p.limit = Seq(limit);
                p.highest_end = Seq(400);
                p.per_rtt = 200;
            });
            assert_eq!(growth, pause, "an eighth of what will be left: {limit}");
        }
        assert_eq!(pause_us(|_, p| p.is_listable = true), 62, "a hole");
        assert_eq!(
            pause_us(|s, p| {
                p.is_listable = true;
                (0..32).for_each(|_| s.holes_revealed());
            }),
            0,
            "many holes"
        );
        assert_eq!(
            pause_us(|s, p| {
                p.is_listable = true;
                (0..31).for_each(|_| s.holes_revealed());
            }),
            62,
            "fewer"
        );
        assert_eq!(
            pause_us(|s, p| {
                p.is_listable = true;
                s.was_full = true;
            }),
            20,
            "more holes than the last REPORT had room for"
        );
        for (holes, pause) in [(31, 62), (32, 30)] {
            let settles_soon = pause_us(|schedule, present| {
                present.settles_at = Some(START + Nanos::from_micros(30));
                (0..holes).for_each(|_| schedule.holes_revealed());
            });
            assert_eq!(settles_soon, pause, "{holes} holes that settle within the pause");
        }
    }

    /// `docs/protocol.md#4.5`
    #[test]
    fn credit_of_a_small_window_is_reported_by_the_half() {
        let pause_us_of = |window: u32, used: u32, grown: u32, rtt: Nanos| {
            pause_us(|schedule, present| {
                schedule.limit_sent = Seq(window);
                (present.window, present.rtt) = (window, rtt);
                (present.limit, present.highest_end) = (Seq(window + grown), Seq(used));
            })
        };
        let rtt = Nanos::from_millis(8);
        assert_eq!(pause_us_of(8, 8, 4, rtt), 0, "the half");
        assert_eq!(pause_us_of(8, 8, 3, rtt), 4_000, "the sender has no credit");
        assert_eq!(pause_us_of(8, 4, 3, rtt), 100_000, "it has the half");
        assert_eq!(pause_us_of(8, 5, 3, Nanos::from_micros(10)), 20, "at least");
        assert_eq!(pause_us_of(8, 5, 3, Nanos::from_millis(50)), 10_000, "at most");
        assert_eq!(pause_us_of(1, 1, 1, rtt), 0, "all there is");
        assert_eq!(pause_us_of(63, 63, 8, rtt), 0, "eight packets");
        assert_eq!(pause_us_of(64, 64, 1, rtt), 20, "from 64 on as any");
    }

    #[test]
    fn hole_that_settles_later_is_reported_then() {
        let settles_at = Some(START + Nanos::from_millis(3));
        assert_eq!(pause_us(|_, p| p.settles_at = settles_at), 3_000);
        let settles_at = Some(START + Nanos::from_micros(3));
        assert_eq!(pause_us(|_, p| p.settles_at = settles_at), 62, "after the pause at least");
    }

    #[test]
    fn first_report_is_due_at_once() {
        let schedule = Schedule::new(Seq(0));
        let present = Present {
            rtt: Nanos(0),
            limit: Seq(0),
            highest_end: Seq(0),
            window: 8,
            per_rtt: 0,
            marked: 0,
            is_listable: false,
            settles_at: None,
            is_opening: true,
        };
        assert_eq!(schedule.due(&present), Nanos(0));
    }
}
