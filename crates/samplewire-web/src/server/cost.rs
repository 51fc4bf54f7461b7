//! What the page's thread costs: CPU time as a share of a core.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Measures the thread that calls it.
#[derive(Debug, Default)]
pub(super) struct Cost {
    last: Option<(Instant, Duration)>,
    share: Option<f64>,
}

impl Cost {
    /// Returns the share of a core since a second ago or more; `None` in the first second.
    pub(super) fn share(&mut self, now: Instant) -> Option<f64> {
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        let cpu = Duration::new(cpu.tv_sec.unsigned_abs(), cpu.tv_nsec.unsigned_abs() as u32);
        match self.last {
            Some((at, before)) if now.saturating_duration_since(at) >= SPAN => {
                let elapsed = now.saturating_duration_since(at).as_secs_f64();
                self.share = Some(cpu.saturating_sub(before).as_secs_f64() / elapsed);
                self.last = Some((now, cpu));
            }
            Some(_) => {}
            None => self.last = Some((now, cpu)),
        }
        self.share
    }
}

const SPAN: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_is_that_of_this_thread_since_the_last_one() {
        let mut cost = Cost::default();
        let start = Instant::now();
        assert_eq!(cost.share(start), None);
        // At least 10 ms of CPU time, by a clock of which 10 s have passed.
        let cpu = || clock_gettime(ClockId::ThreadCPUTime);
        let before = cpu();
        let spent_ns = |now: rustix::time::Timespec| {
            (now.tv_sec - before.tv_sec) * 1_000_000_000 + now.tv_nsec - before.tv_nsec
        };
        while spent_ns(cpu()) < 10_000_000 {}
        assert_eq!(cost.share(start + SPAN / 2), None);
        let share = cost.share(start + 10 * SPAN).expect("a second has passed");
        assert!((0.001..0.1).contains(&share), "{share}");
        assert_eq!(cost.share(start + 10 * SPAN), Some(share));
    }
}
