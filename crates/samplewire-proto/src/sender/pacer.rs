//! Spaces departures to a rate; new packets and repeats pass through the one pacer.

use crate::number::Nanos;

/// A token bucket in time: the instant up to which the wire is in use.
///
/// Fixed point as in hardware: nanoseconds a byte in 1/65536. Rate 0 means no pacing.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    ns_per_byte_q16: u64,
    busy_until: Nanos,
    /// The fraction to add to `busy_until`, in 1/65536 ns.
    fraction_q16: u64,
    burst: Nanos,
}

impl Pacer {
    pub(crate) const fn new(link_bps: u64, burst: Nanos) -> Self {
        let ns_per_byte_q16 =
            if link_bps == 0 { 0 } else { ((8_000_000_000u128 << 16) / link_bps as u128) as u64 };
        Self { ns_per_byte_q16, busy_until: Nanos(0), fraction_q16: 0, burst }
    }

    /// When the next packet may leave; not after `now` means at once.
    pub(crate) const fn ready_at(&self, now: Nanos) -> Nanos {
        if self.ns_per_byte_q16 == 0 { now } else { self.busy_until }
    }

    /// Takes the wire for one packet of `frame_bytes` bytes, all overhead included.
    pub(crate) fn spend(&mut self, now: Nanos, frame_bytes: usize) {
        let earliest = now - self.burst;
        if self.busy_until < earliest {
            self.busy_until = earliest;
            self.fraction_q16 = 0;
        }
        let span_q16 = frame_bytes as u64 * self.ns_per_byte_q16 + self.fraction_q16;
        self.busy_until = self.busy_until + Nanos(span_q16 >> 16);
        self.fraction_q16 = span_q16 & 0xFFFF;
    }
}

/// What a UDP payload costs on the wire besides itself: preamble, gap, Ethernet, CRC, IPv4, UDP.
pub(crate) const FRAME_OVERHEAD_BYTES: usize = 8 + 12 + 14 + 4 + 20 + 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departures_keep_the_rate_after_the_burst() {
        let mut pacer = Pacer::new(1_000_000_000, Nanos(2_000));
        let mut now = Nanos(1_000_000);
        let mut sent = 0;
        let end = Nanos(2_000_000);
        while now < end {
            if pacer.ready_at(now) <= now {
                pacer.spend(now, 125);
                sent += 1;
            } else {
                now = pacer.ready_at(now);
            }
        }
        // 1 ms at 1 us a packet, and the 2 us of burst.
        assert_eq!(sent, 1_000 + 2);
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
        assert!((999_900..=1_000_000).contains(&busy_ns), "3,000 bits a us: {busy_ns}");
    }

    #[test]
    fn rate_zero_never_waits() {
        let mut pacer = Pacer::new(0, Nanos(0));
        pacer.spend(Nanos(5), 1_000_000);
        assert_eq!(pacer.ready_at(Nanos(5)), Nanos(5));
    }
}
