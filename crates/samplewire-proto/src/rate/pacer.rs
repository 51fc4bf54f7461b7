//! Spaces departures to a rate; new packets and repeats pass through the one pacer.

use super::WireRate;
use crate::number::Nanos;

/// A debt of wire bytes that time pays off (`docs/protocol.md#4.7`).
///
/// A departure owes its bytes. Elapsed time times the rate pays them, and a packet may leave once
/// nothing is owed. Time that passes without a debt is kept up to the burst, and lost beyond. What
/// the last nanosecond of a payment leaves over is kept too, so that the mean rate is exact.
///
/// The RTL's pacer has the same arithmetic with 16 bits of fraction. This one has 44: each
/// [`WireRate`] is exact in them, and the lowest pace of a user is within 10^-7.
#[derive(Clone, Debug)]
pub struct Pacer {
    /// The user's pace and the limit of congestion control, each [`UNPACED`] where there is none.
    pace: u64,
    limit: u64,
    /// The lower of the two, in 2^-44 bytes/ns.
    rate: u64,
    /// When the debt is paid; time since then is kept.
    paid_at: Nanos,
    /// What is paid beyond the debt then, in 2^-44 bytes.
    left_over: u64,
    /// How much time is kept at the user's pace, and at the present rate.
    burst: Nanos,
    kept: Nanos,
}

impl Pacer {
    /// At most `link_bps` bits a second, 0 for no pace.
    pub const fn new(link_bps: u64, burst: Nanos) -> Self {
        let pace = if link_bps == 0 { UNPACED } else { rate_of_bps(link_bps) };
        Self {
            pace,
            limit: UNPACED,
            rate: pace,
            paid_at: Nanos(0),
            left_over: 0,
            burst,
            kept: burst,
        }
    }

    /// When the next packet may leave; not after `now` means at once.
    pub const fn ready_at(&self, now: Nanos) -> Nanos {
        if self.rate == UNPACED { now } else { self.paid_at }
    }

    /// Takes the wire for one packet of `frame_bytes` bytes, all overhead included. It may leave.
    pub fn spend(&mut self, now: Nanos, frame_bytes: u32) {
        if self.rate == UNPACED {
            return;
        }
        self.lose_time(now);
        let owed = (u64::from(frame_bytes.min(FRAME_BYTES_MAX)) << FRACTION_BITS)
            .saturating_sub(self.left_over);
        self.owe(owed);
    }

    /// Changes the limit of congestion control. A `full_frame_bytes` packet is the longest.
    ///
    /// What is owed stays owed. Below the user's pace the burst grows to bridge late wake-ups, such
    /// that what leaves at once is at most two packets or 50 us of the limit.
    pub fn set_limit(&mut self, now: Nanos, limit: Option<WireRate>, full_frame_bytes: u32) {
        let limit = limit.map_or(UNPACED, |limit| u64::from(limit.raw()) << LIMIT_SHIFT);
        if limit == self.limit {
            return;
        }
        self.limit = limit;
        let rate = self.pace.min(limit);
        let before = core::mem::replace(&mut self.rate, rate);
        self.kept = self.burst;
        if rate == UNPACED {
            return;
        }
        if limit < self.pace {
            let frame_ns = (u64::from(full_frame_bytes) << FRACTION_BITS).div_ceil(rate);
            let rest_ns = BURST_AT_LIMIT.0.saturating_sub(frame_ns);
            self.kept = self.burst.max(Nanos(frame_ns.max(rest_ns)));
        }
        if before == UNPACED {
            (self.paid_at, self.left_over) = (now, 0);
        } else if now < self.paid_at {
            // No more than one packet owed, so that this cannot overflow.
            let owed = (self.paid_at.since(now).0 * before).saturating_sub(self.left_over);
            self.paid_at = now;
            self.owe(owed);
        }
    }

    /// Loses the time that is not kept.
    fn lose_time(&mut self, now: Nanos) {
        let earliest = now - self.kept;
        if self.paid_at < earliest {
            (self.paid_at, self.left_over) = (earliest, 0);
        }
    }

    fn owe(&mut self, owed: u64) {
        let span_ns = owed.div_ceil(self.rate);
        self.paid_at = self.paid_at + Nanos(span_ns);
        self.left_over = span_ns * self.rate - owed;
    }
}

/// The nearest rate, in 2^-44 bytes/ns, to at least 10^4 bits a second.
const fn rate_of_bps(bps: u64) -> u64 {
    (((bps as u128) << FRACTION_BITS) / 8_000_000_000) as u64
}

/// What a UDP payload costs on the wire besides itself: preamble, gap, Ethernet, CRC, IPv4, UDP.
pub const FRAME_OVERHEAD_BYTES: u32 = 8 + 12 + 14 + 4 + 20 + 8;

/// What may leave at once where congestion control limits the rate, as a span of it.
const BURST_AT_LIMIT: Nanos = Nanos::from_micros(50);

/// A debt has 20 bits before its fraction.
const FRACTION_BITS: u32 = 44;
const LIMIT_SHIFT: u32 = FRACTION_BITS - 16;
/// Longer than any packet; with what a payment leaves over, the debt of one fits 64 bits.
const FRAME_BYTES_MAX: u32 = 1 << 19;
/// Above every rate.
const UNPACED: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends as soon as the pacer allows, and counts what left from 1 ms to `end`.
    fn departures(pacer: &mut Pacer, end: Nanos, frame_bytes: u32) -> u32 {
        let mut now = Nanos(1_000_000);
        let mut sent = 0;
        while now < end {
            if pacer.ready_at(now) <= now {
                pacer.spend(now, frame_bytes);
                sent += 1;
            } else {
                now = pacer.ready_at(now);
            }
        }
        sent
    }

    #[test]
    fn departures_keep_the_rate_after_the_burst() {
        let mut pacer = Pacer::new(1_000_000_000, Nanos(2_000));
        // 1 ms at 1 us a packet, and the 2 us of burst.
        assert_eq!(departures(&mut pacer, Nanos(2_000_000), 125), 1_000 + 2);
    }

    #[test]
    fn pace_holds_on_a_clock_that_counts_from_1970() {
        let start = Nanos(1_800_000_000_000_000_000);
        let mut pacer = Pacer::new(3_000_000_000, Nanos(0));
        for _ in 0..3_000 {
            let ready_at = pacer.ready_at(start).max(start);
            pacer.spend(ready_at, 125);
        }
        let busy_ns = pacer.ready_at(start).since(start).0;
        assert_eq!(busy_ns, 1_000_000, "3,000 bits a us");
    }

    #[test]
    fn lowest_and_highest_pace_are_exact() {
        for (bps, packets, bytes, span_ns) in [
            (10_000, 10, 9_000, 72_000_000_000),
            (10_000_000_000_000, 1_000_000, 9_000, 7_200_000),
            (1_234_567, 1_000, 1_500, 9_720_007_096),
        ] {
            let mut pacer = Pacer::new(bps, Nanos(0));
            let mut now = Nanos(5);
            for _ in 0..packets {
                pacer.spend(now, bytes);
                now = pacer.ready_at(now);
            }
            let error_ns = now.since(Nanos(5)).0.abs_diff(span_ns);
            assert!(error_ns <= 1 + span_ns / 10_000_000, "{bps} b/s: {error_ns} ns");
        }
    }

    #[test]
    fn rate_zero_never_waits() {
        let mut pacer = Pacer::new(0, Nanos(0));
        pacer.spend(Nanos(5), 1_000_000);
        assert_eq!(pacer.ready_at(Nanos(5)), Nanos(5));
    }

    #[test]
    fn each_unit_of_a_limit_is_exact() {
        for raw in [1, 82, 81_920, 0xFF_FFFF] {
            let mut pacer = Pacer::new(0, Nanos(0));
            let rate = WireRate::from_raw(raw);
            pacer.set_limit(Nanos(0), Some(rate), 1_000);
            // So many bytes take so many times 65,536 ns.
            let mut now = Nanos(0);
            for _ in 0..1_000 {
                (0..raw.div_ceil(1 << 16)).for_each(|_| {
                    pacer.spend(now, raw.min(1 << 16));
                    now = pacer.ready_at(now);
                });
            }
            let bytes = 1_000 * u64::from(raw.div_ceil(1 << 16) * raw.min(1 << 16));
            assert_eq!(now.0, (bytes << 16).div_ceil(raw.into()), "{raw}");
        }
    }

    #[test]
    fn lower_of_pace_and_limit_counts() {
        let rate = |pace_bps: u64, limit_bps: u64| {
            let mut pacer = Pacer::new(pace_bps, Nanos(0));
            let limit = WireRate::from_bps(limit_bps);
            pacer.set_limit(Nanos(0), Some(limit), 125);
            departures(&mut pacer, Nanos(101_000_000), 125) / 100
        };
        // A packet a us is 1 Gb/s.
        assert_eq!(rate(1_000_000_000, 10_000_000_000), 1_000);
        assert_eq!(rate(10_000_000_000, 1_000_000_000), 1_000);
        assert_eq!(rate(0, 1_000_000_000), 1_000);
    }

    #[test]
    fn debt_is_paid_at_the_rate_of_each_moment() {
        let gbps = |gbps: u64| Some(WireRate::from_bps(gbps * 1_000_000_000));
        let mut pacer = Pacer::new(0, Nanos(0));
        pacer.set_limit(Nanos(0), gbps(1), 1_250);
        pacer.spend(Nanos(0), 1_250);
        assert_eq!(pacer.ready_at(Nanos(0)), Nanos(10_000));
        // Half of it is paid; the rest takes a quarter of the time.
        pacer.set_limit(Nanos(5_000), gbps(4), 1_250);
        let ready_ns = pacer.ready_at(Nanos(5_000)).0;
        assert!((6_250..=6_251).contains(&ready_ns), "{ready_ns}");
        // A limit that falls makes the rest longer.
        pacer.set_limit(Nanos(5_000), gbps(1), 1_250);
        let ready_ns = pacer.ready_at(Nanos(5_000)).0;
        assert!((9_999..=10_001).contains(&ready_ns), "{ready_ns}");
        pacer.set_limit(Nanos(6_000), None, 1_250);
        assert_eq!(pacer.ready_at(Nanos(6_000)), Nanos(6_000));
    }

    #[test]
    fn burst_at_a_limit_is_two_packets_or_fifty_microseconds() {
        let burst_bytes = |bps: u64, frame_bytes: u32| {
            let mut pacer = Pacer::new(0, Nanos(0));
            pacer.set_limit(Nanos(0), Some(WireRate::from_bps(bps)), frame_bytes);
            let now = Nanos::from_millis(1_000);
            let mut bytes = 0;
            while pacer.ready_at(now) <= now {
                pacer.spend(now, frame_bytes);
                bytes += frame_bytes;
            }
            bytes
        };
        assert_eq!(burst_bytes(10_000_000, 9_000), 2 * 9_000);
        assert_eq!(burst_bytes(1_000_000_000, 9_000), 2 * 9_000);
        // 50 us of 8 Gb/s are 50,000 bytes.
        assert_eq!(burst_bytes(8_000_000_000, 1_000), 50_000);
        assert_eq!(burst_bytes(8_000_000_000, 9_000), 5 * 9_000);
    }
}
