//! Bounds how much of the link repeats may take.

use crate::number::Nanos;

/// A bucket of a quarter of the window that refills once a round trip.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    level: u32,
    capacity: u32,
    refilled_at: Nanos,
}

impl Budget {
    pub(crate) fn new(window: u32, now: Nanos) -> Self {
        let capacity = (window / 4).max(CAPACITY_MIN);
        Self { level: capacity, capacity, refilled_at: now }
    }

    /// Takes what has come in since the last call.
    pub(crate) fn refill(&mut self, now: Nanos, rtt: Nanos) {
        if self.level >= self.capacity {
            self.refilled_at = now;
            return;
        }
        let elapsed_ns = now.since(self.refilled_at).0.min(rtt.0);
        let tokens = elapsed_ns * self.capacity as u64 / rtt.0;
        if tokens > 0 {
            self.level = (self.level + tokens as u32).min(self.capacity);
            self.refilled_at = now;
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.level == 0
    }

    /// When the next token comes.
    pub(crate) fn ready_at(&self, rtt: Nanos) -> Nanos {
        self.refilled_at + Nanos(rtt.0 / self.capacity as u64 + 1)
    }

    pub(crate) fn spend(&mut self) {
        self.level = self.level.checked_sub(1).expect("the caller checked that tokens are left");
    }
}

/// Small windows must still be able to repeat all they hold.
const CAPACITY_MIN: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_bucket_refills_within_one_round_trip() {
        let rtt = Nanos::from_micros(100);
        let mut budget = Budget::new(400, Nanos(0));
        for _ in 0..100 {
            budget.spend();
        }
        assert!(budget.is_empty());
        assert_eq!(budget.ready_at(rtt), Nanos(1_001));
        let mut now = Nanos(0);
        let mut taken = 0;
        while now <= rtt {
            budget.refill(now, rtt);
            while !budget.is_empty() {
                budget.spend();
                taken += 1;
            }
            now = now + Nanos(1_000);
        }
        assert_eq!(taken, 100);
        assert_eq!(budget.ready_at(rtt), Nanos(101_001), "counted from the last token");
    }

    #[test]
    fn tokens_add_up_to_the_capacity_and_a_full_bucket_gathers_none() {
        let rtt = Nanos::from_micros(100);
        let mut budget = Budget::new(4, Nanos(0));
        let drain = |budget: &mut Budget, tokens: u32| (0..tokens).for_each(|_| budget.spend());
        drain(&mut budget, 20);
        assert_eq!(budget.level, 12, "32 for a small window");
        budget.refill(Nanos(3_124), rtt);
        assert_eq!((budget.level, budget.refilled_at), (12, Nanos(0)), "not a whole token");
        budget.refill(Nanos(31_250), rtt);
        assert_eq!((budget.level, budget.refilled_at), (22, Nanos(31_250)));
        budget.refill(Nanos(10_000_000), rtt);
        assert_eq!(budget.level, 32);
        budget.refill(Nanos(20_000_000), rtt);
        drain(&mut budget, 32);
        budget.refill(Nanos(20_003_124), rtt);
        assert!(budget.is_empty(), "the time while it was full does not count");
    }
}
