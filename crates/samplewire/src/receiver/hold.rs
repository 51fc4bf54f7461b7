//! How long samples wait for their quantum to fill, so that a program is not woken for each packet.
//!
//! It works like interrupt moderation. Samples are held if the recent packet rate suggests that the
//! quantum will fill in time. Otherwise they are handed over as soon as no other packet has come. A
//! peer that waits for an answer before it sends more never fills a quantum, however fast it is
//! answered. So after a hold that expires, the next holds are skipped.

use samplewire_proto::Nanos;

/// The recent rate of a stream, and the results of its holds.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    max: Nanos,
    came_at: Nanos,
    /// Smoothed over arrivals: the time between two arrivals, and [`PACKET`] times the packets in
    /// one.
    pause_ns: u64,
    packets: u64,
    is_holding: bool,
    /// Consecutive holds that expired before the quantum was full.
    failed: u32,
    /// Packets for which nothing is held.
    unheld: u32,
}

impl Hold {
    /// Holds for at most `max`; not at all if it is zero.
    pub(super) const fn new(max: Nanos) -> Self {
        let pause_ns = PAUSES_MAX * max.0;
        Self {
            max,
            came_at: Nanos(0),
            pause_ns,
            packets: PACKET,
            is_holding: false,
            failed: 0,
            unheld: 0,
        }
    }

    /// The longest hold.
    pub(super) const fn max(&self) -> Nanos {
        self.max
    }

    /// Records the arrival of packets that did not fill their quantum.
    pub(super) fn came(&mut self, now: Nanos, packets: u32) {
        let pause_ns = now.since(self.came_at).0.min(PAUSES_MAX * self.max.0);
        self.came_at = now;
        self.pause_ns = smoothed(self.pause_ns, pause_ns);
        self.packets = smoothed(self.packets, PACKET * u64::from(packets));
        self.unheld = self.unheld.saturating_sub(packets);
    }

    /// How long to wait for the last `missing` packets of a quantum.
    pub(super) fn begin(&mut self, missing: u32) -> Nanos {
        let is_likely = PACKET * u64::from(missing) * self.pause_ns <= self.packets * self.max.0;
        self.is_holding = is_likely && self.unheld == 0;
        if self.is_holding { self.max } else { Nanos(0) }
    }

    /// Records that the quantum was filled.
    pub(super) const fn filled(&mut self) {
        if self.is_holding {
            self.is_holding = false;
            self.failed = 0;
        }
    }

    /// Ends the hold without counting it.
    pub(super) const fn let_go(&mut self) {
        self.is_holding = false;
    }

    /// Records that the quantum was handed over before it was full.
    pub(super) fn expired(&mut self) {
        if self.is_holding {
            self.is_holding = false;
            self.unheld = UNHELD_MIN << self.failed;
            self.failed = (self.failed + 1).min(FAILED_MAX);
        }
    }
}

/// Moves the mean an eighth of the way towards a sample.
fn smoothed(mean: u64, sample: u64) -> u64 {
    mean - mean / 8 + sample / 8
}

/// One packet in the fixed-point mean of their number.
const PACKET: u64 = 256;

/// The longest pause that counts, as a multiple of the longest hold.
const PAUSES_MAX: u64 = 4;

/// Packets without a hold after the first hold that expired; twice as many after each further one.
const UNHELD_MIN: u32 = 16;

/// The count doubles up to this many times: then each 16,384th packet is held.
const FAILED_MAX: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Nanos = Nanos::from_millis(1);

    /// Packets come `packets` at a time, `pause_us` apart, to quanta of eight. Returns how many of
    /// the last 1,000 arrivals are held.
    fn held(hold: &mut Hold, packets: u32, pause_us: u64) -> usize {
        let (mut now, mut stored, mut held) = (Nanos::from_millis(10_000), 0, 0);
        for round in 0..2_000 {
            now = now + Nanos::from_micros(pause_us);
            hold.came(now, packets);
            stored += packets;
            if stored >= 8 {
                hold.filled();
                stored -= 8;
            }
            held += usize::from(hold.begin(8 - stored) > Nanos(0) && round >= 1_000);
        }
        held
    }

    #[test]
    fn fast_stream_is_held_and_a_slow_one_is_not() {
        assert_eq!(held(&mut Hold::new(MAX), 1, 10), 1_000, "eight in 80 us");
        assert_eq!(held(&mut Hold::new(MAX), 5, 500), 1_000, "eight in 800 us");
        assert_eq!(held(&mut Hold::new(MAX), 1, 2_000), 0, "eight in 16 ms");
    }

    #[test]
    fn only_the_end_of_a_quantum_is_held_of_a_stream_between() {
        // With 300 us between packets, three fit into 1 ms.
        let held = held(&mut Hold::new(MAX), 1, 300);
        assert!((360..=390).contains(&held), "{held} of 1000");
    }

    #[test]
    fn one_that_waits_for_answers_is_held_less_and_less() {
        let mut hold = Hold::new(MAX);
        let (mut now, mut failed) = (Nanos::from_millis(10_000), 0);
        for _ in 0..20_000 {
            now = now + Nanos::from_micros(50);
            hold.came(now, 1);
            if hold.begin(7) > Nanos(0) {
                hold.expired();
                now = now + MAX;
                failed += 1;
            }
        }
        assert!((5..=12).contains(&failed), "{failed} of 20000");
    }

    #[test]
    fn stream_that_was_slow_is_held_again_once_it_is_fast() {
        let mut hold = Hold::new(MAX);
        for _ in 0..4 {
            (hold.is_holding, hold.unheld) = (true, 0);
            hold.expired();
        }
        assert_eq!((hold.failed, hold.unheld), (4, 128));
        assert_eq!(held(&mut hold, 4, 10), 1_000);
    }

    #[test]
    fn pause_of_a_fast_stream_counts_as_four_of_the_longest_hold_at_most() {
        for (pause_ms, missing_max) in [(1, 7), (2, 3), (4, 1), (10_000, 1)] {
            let mut hold = Hold::new(MAX);
            held(&mut hold, 1, 10);
            hold.came(hold.came_at + Nanos::from_millis(pause_ms), 1);
            let held = (1..8).take_while(|&missing| hold.begin(missing) > Nanos(0)).count();
            assert_eq!(held, missing_max, "after {pause_ms} ms");
        }
    }

    #[test]
    fn nothing_is_held_where_no_thread_sleeps() {
        assert_eq!(held(&mut Hold::new(Nanos(0)), 1, 10), 0);
    }
}
