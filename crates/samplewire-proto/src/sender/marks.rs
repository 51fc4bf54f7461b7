//! When to send MARK: the sender's pulse, its credit probe, and the receiver's clock.

use crate::number::Nanos;
use crate::stream::{PAUSE_MAX, WINDOW_SMALL};

/// The schedule of MARKs (`docs/protocol.md#4.8`).
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    /// When the next MARK of a silent or stalled sender is due.
    quiet_due: Nanos,
    /// When the next MARK of a busy sender is due.
    busy_due: Nanos,
    /// The shortest pause between two such MARKs while DATA leave.
    busy_min: Nanos,
    /// How often the silence has been marked; a silence before any DATA starts at 1.
    backoff: u32,
    /// The last DATA, and the smoothed interval between two.
    last_data: Option<Nanos>,
    interval: Nanos,
}

impl Marks {
    /// Of a sender whose window is of so many packets.
    pub(crate) const fn new(now: Nanos, window: u32) -> Self {
        Self {
            quiet_due: now,
            busy_due: now,
            busy_min: if window < WINDOW_SMALL { BUSY_MIN_SMALL } else { BUSY_MIN },
            backoff: 1,
            last_data: None,
            interval: Nanos(0),
        }
    }

    /// DATA left: the silence starts again. `is_spent`: it used the last credit of a small window,
    /// so that a REPORT is due.
    pub(crate) fn data_left(&mut self, now: Nanos, rtt: Nanos, is_spent: bool) {
        if let Some(last) = self.last_data {
            let sample = now.since(last).min(PAUSE_MAX);
            self.interval = Nanos((self.interval.0 * 7 + sample.0) / 8);
        }
        self.last_data = Some(now);
        let least = if is_spent { Nanos(rtt.0 + rtt.0 / 4) } else { Nanos(rtt.0 / 8) };
        self.backoff = u32::from(is_spent);
        self.quiet_due = now + Nanos(4 * self.interval.0).max(least).min(PAUSE_MAX);
    }

    /// A MARK left. `is_waiting`: something is not reported yet or waits for credit.
    pub(crate) fn mark_left(&mut self, now: Nanos, rtt: Nanos, is_waiting: bool, idle: Nanos) {
        let pause = if is_waiting {
            let pause = match self.backoff {
                // The first may have been lost, and the tail of a burst waits for it.
                0 => Nanos(rtt.0 / 4),
                repeats => Nanos(rtt.0 << (repeats - 1).min(20)),
            };
            self.backoff += 1;
            pause.min(PAUSE_MAX)
        } else {
            idle
        };
        self.quiet_due = now + pause;
        let is_silent = self.backoff > SILENT_MARKS;
        let least = if is_silent { BUSY_MIN } else { self.busy_min };
        self.busy_due = now + Nanos(16 * rtt.0).max(least);
    }

    /// A REPORT released all that has departed: a silence has no tail to reveal.
    pub(crate) fn all_released(&mut self, now: Nanos, rtt: Nanos, is_waiting: bool, idle: Nanos) {
        let Some(last_data) = self.last_data.filter(|_| self.backoff <= 1) else { return };
        self.backoff = 1;
        let due =
            if is_waiting { (now + rtt).min(last_data + PAUSE_MAX) } else { last_data + idle };
        self.quiet_due = self.quiet_due.max(due);
    }

    /// What was waited for came, or more began to wait: the schedule is drawn up afresh.
    pub(crate) fn restart(&mut self, now: Nanos, rtt: Nanos) {
        self.backoff = self.backoff.min(1);
        self.quiet_due = self.quiet_due.min(now + rtt);
    }

    /// Whether a MARK is due at `now` that DATA does not stand for.
    pub(crate) fn is_busy_due(&self, now: Nanos) -> bool {
        now >= self.busy_due
    }

    /// When the next MARK is due. An idle sender owes no busy MARK.
    pub(crate) fn due(&self, is_waiting: bool) -> Nanos {
        if is_waiting { self.quiet_due.min(self.busy_due) } else { self.quiet_due }
    }
}

/// The shortest pause between MARKs while data flow.
const BUSY_MIN: Nanos = Nanos::from_millis(10);

/// The same of a small window, whose packets are few for each round trip. It is that of a port with a
/// thousand of them, which come to each in turn.
const BUSY_MIN_SMALL: Nanos = Nanos::from_millis(500);

/// A silence that has been marked more often is no pause between DATA.
const SILENT_MARKS: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Nanos = Nanos::from_millis(8);

    #[test]
    fn silence_is_marked_after_an_eighth_and_a_quarter_then_at_doubling_pauses_up_to_the_bound() {
        let mut marks = Marks::new(Nanos(0), 64);
        marks.data_left(Nanos(0), RTT, false);
        assert_eq!(marks.due(true), Nanos(0), "busy MARK at the start");
        marks.mark_left(Nanos(0), RTT, true, Nanos(0));
        marks.data_left(Nanos(0), RTT, false);
        let mut pauses_ms = vec![];
        let mut now = Nanos(0);
        for _ in 0..7 {
            let due = marks.due(true);
            pauses_ms.push(due.since(now).0 / 1_000_000);
            now = due;
            marks.mark_left(now, RTT, true, Nanos(0));
        }
        assert_eq!(pauses_ms, [1, 2, 8, 16, 32, 64, 100]);
    }

    /// A sender that has marked at 0 and sent DATA `interval` apart often enough.
    fn flowing(interval: Nanos) -> (Marks, Nanos) {
        let mut marks = Marks::new(Nanos(0), 64);
        let mut now = Nanos(0);
        for _ in 0..100 {
            now = now + interval;
            marks.data_left(now, RTT, false);
        }
        marks.mark_left(now, RTT, true, Nanos(0));
        marks.data_left(now, RTT, false);
        (marks, now)
    }

    /// `docs/protocol.md#4.8`
    #[test]
    fn sender_of_rare_packets_waits_four_of_its_intervals() {
        for (interval_ms, pause_ms) in [(1, 3..=4), (5, 17..=20), (60, 100..=100)] {
            let (marks, now) = flowing(Nanos::from_millis(interval_ms));
            let pause = marks.quiet_due.since(now).0.div_ceil(1_000_000);
            assert!(pause_ms.contains(&pause), "{interval_ms} ms apart: {pause} ms");
        }
    }

    #[test]
    fn reports_do_not_put_a_mark_off_beyond_the_longest_pause() {
        let rtt = Nanos::from_millis(120);
        let mut marks = Marks::new(Nanos(0), 64);
        marks.mark_left(Nanos(0), rtt, true, Nanos(0));
        marks.data_left(Nanos(0), rtt, true);
        for report_ms in [20, 90, 95] {
            marks.all_released(Nanos::from_millis(report_ms), rtt, true, Nanos(0));
            assert_eq!(marks.due(true), Nanos::from_millis(100), "REPORT at {report_ms} ms");
        }
    }

    #[test]
    fn busy_sender_marks_every_sixteen_round_trips_and_an_idle_one_as_agreed() {
        let (mut marks, now) = flowing(Nanos(10));
        assert_eq!(marks.busy_due.since(now), Nanos(16 * RTT.0));
        let later = now + Nanos::from_millis(500);
        marks.data_left(later, RTT, false);
        assert_eq!(marks.due(true), marks.busy_due);
        assert_eq!(marks.due(false), marks.quiet_due, "it owes no busy MARK");
        let idle = Nanos::from_millis(700);
        marks.mark_left(later, RTT, false, idle);
        assert_eq!(marks.due(false), later + idle);
        marks.mark_left(later, Nanos(1_000), true, idle);
        assert_eq!(marks.busy_due, later + Nanos::from_millis(10), "at least");
    }

    /// `docs/protocol.md#4.8`
    #[test]
    fn busy_sender_of_a_small_window_marks_every_half_second() {
        let busy_ms = |window: u32, rtt: Nanos| {
            let mut marks = Marks::new(Nanos(0), window);
            marks.mark_left(Nanos(0), rtt, true, Nanos(0));
            marks.busy_due.0 / 1_000_000
        };
        assert_eq!(busy_ms(8, RTT), 500);
        assert_eq!(busy_ms(63, Nanos::from_millis(50)), 800, "sixteen round trips are longer");
        assert_eq!(busy_ms(64, RTT), 128);
        let mut marks = Marks::new(Nanos(0), 8);
        let pauses_ms = [1, 2, 3].map(|_| {
            marks.mark_left(Nanos(0), Nanos(1_000), true, Nanos(0));
            marks.busy_due.0 / 1_000_000
        });
        assert_eq!(pauses_ms, [500, 10, 10], "a sender that waits for credit has the usual pause");
    }

    #[test]
    fn schedule_that_starts_afresh_marks_within_a_round_trip_and_doubles_from_there() {
        let (mut marks, _) = flowing(Nanos(10));
        let mut now = Nanos::from_millis(1_000);
        (0..6).for_each(|_| marks.mark_left(now, RTT, true, Nanos(0)));
        assert_eq!(marks.due(true), now + Nanos::from_millis(100));
        marks.restart(now, RTT);
        for pause in [RTT, RTT, Nanos(2 * RTT.0)] {
            assert_eq!(marks.due(true), now + pause);
            now = marks.due(true);
            marks.mark_left(now, RTT, true, Nanos(0));
        }
    }
}
