//! How much credit a stream may hold (`docs/protocol.md#5.3`).

use crate::number::Nanos;

/// Bounds a stream's outstanding promise by what it uses, so that streams which share a pool leave
/// each other room: at most the floor or four times the measured rate times the round trip.
#[derive(Clone, Debug)]
pub(super) struct Promise {
    floor: u32,
    window: u32,
    bound: u32,
    /// Packets of the fullest recent round trip, an eighth less after each.
    per_rtt_most: u32,
    interval_start: Nanos,
    packets: u32,
}

impl Promise {
    pub(super) fn new(floor: u32, window: u32, now: Nanos) -> Self {
        let floor = floor.min(window);
        Self { floor, window, bound: floor, per_rtt_most: 0, interval_start: now, packets: 0 }
    }

    /// Packets that may be promised at present.
    pub(super) const fn bound(&self) -> u32 {
        self.bound
    }

    /// Packets that came in the fullest recent round trip, except those in which the sender was
    /// stalled.
    pub(super) const fn per_rtt_most(&self) -> u32 {
        self.per_rtt_most
    }

    /// Counts a packet; the bound follows at the end of each round trip.
    pub(super) fn count(&mut self, now: Nanos, rtt: Nanos) {
        self.packets = self.packets.saturating_add(1);
        let elapsed = now.since(self.interval_start);
        if elapsed < rtt {
            return;
        }
        let per_rtt = u64::from(self.packets) * rtt.0 / elapsed.0.max(1);
        let per_rtt = per_rtt.min(u64::from(self.window)) as u32;
        self.per_rtt_most = per_rtt.max(self.per_rtt_most - self.per_rtt_most / 8);
        let used = (4 * u64::from(per_rtt)).min(u64::from(self.window)) as u32;
        self.bound = used.max(self.floor);
        self.interval_start = now;
        self.packets = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_follows_use_between_floor_and_window() {
        let rtt = Nanos::from_millis(1);
        let mut promise = Promise::new(16, 1_000, Nanos(0));
        assert_eq!(promise.bound(), 16);
        let mut now = Nanos(0);
        for _ in 0..200 {
            now = now + Nanos(10_000);
            promise.count(now, rtt);
        }
        assert_eq!((promise.bound(), promise.per_rtt_most()), (400, 100), "packets a round trip");
        for _ in 0..10_000 {
            now = now + Nanos(100);
            promise.count(now, rtt);
        }
        assert_eq!(promise.bound(), 1_000, "the window");
        for _ in 0..3 {
            now = now + Nanos(1_000_000);
            promise.count(now, rtt);
        }
        assert_eq!(promise.bound(), 16, "the floor");
        assert_eq!(promise.per_rtt_most(), 671, "three round trips after 1,000 in one");
    }
}
