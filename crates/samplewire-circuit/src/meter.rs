//! What blocks did, counted where they run and read from anywhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The counters of one block, as of one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Calls of its work.
    pub calls: u64,
    /// Samples that it worked on: those that came, at a source those that left.
    pub samples: u64,
    /// The time in its work: estimated from the first calls and one in [`TIMED_EVERY`] later.
    pub busy: Duration,
    /// How often it was asked and had no input.
    pub starved: u64,
    /// How often it was asked and no quantum of its output's circuit was free.
    pub blocked: u64,
    /// Tags that found no room: more than a quantum holds came between two samples of output.
    pub tags_lost: u64,
    /// Samples that a join did not pass on, of either stream: the other had none of their index.
    pub unpaired: u64,
}

impl Counters {
    /// The part of `elapsed` that its work took, in percent.
    pub fn busy_percent(&self, elapsed: Duration) -> f64 {
        100.0 * self.busy.as_secs_f64() / elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// How many calls share one measurement of time, after the first 16, which have one each.
pub const TIMED_EVERY: u64 = 64;

/// Counters as the block's thread publishes them.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Meter {
    calls: AtomicU64,
    samples: AtomicU64,
    /// The time in its work in those calls that were timed, and how many were.
    timed_ns: AtomicU64,
    timed_calls: AtomicU64,
    starved: AtomicU64,
    blocked: AtomicU64,
    tags_lost: AtomicU64,
    unpaired: AtomicU64,
    /// The bits of the rate.
    rate_hz: AtomicU64,
}

impl Meter {
    /// The rate of what leaves the block, in samples per second as its last quantum says; 0 when it
    /// is not known.
    pub(crate) fn rate_hz(&self) -> f64 {
        f64::from_bits(self.rate_hz.load(Ordering::Relaxed))
    }

    /// The time in its work in those calls that were timed, and how many were.
    pub(crate) fn timed(&self) -> (Duration, u64) {
        let timed = Duration::from_nanos(self.timed_ns.load(Ordering::Relaxed));
        (timed, self.timed_calls.load(Ordering::Relaxed))
    }

    /// The counters as last published.
    pub(crate) fn counters(&self) -> Counters {
        // Relaxed, here and in `publish`: counts, which order nothing.
        let calls = self.calls.load(Ordering::Relaxed);
        let (timed, timed_calls) = self.timed();
        Counters {
            calls,
            samples: self.samples.load(Ordering::Relaxed),
            busy: timed.mul_f64(calls as f64 / timed_calls.max(1) as f64),
            starved: self.starved.load(Ordering::Relaxed),
            blocked: self.blocked.load(Ordering::Relaxed),
            tags_lost: self.tags_lost.load(Ordering::Relaxed),
            unpaired: self.unpaired.load(Ordering::Relaxed),
        }
    }
}

impl Meter {
    /// Publishes the sum of `parts`, as they were published.
    pub(crate) fn set_sum(&self, parts: &[Arc<Self>]) {
        let sum = |of: fn(&Self) -> &AtomicU64| {
            let sum = parts.iter().map(|part| of(part).load(Ordering::Relaxed)).sum();
            of(self).store(sum, Ordering::Relaxed);
        };
        sum(|meter| &meter.calls);
        sum(|meter| &meter.samples);
        sum(|meter| &meter.timed_ns);
        sum(|meter| &meter.timed_calls);
        sum(|meter| &meter.starved);
        sum(|meter| &meter.blocked);
        sum(|meter| &meter.tags_lost);
        sum(|meter| &meter.unpaired);
        let rate_hz = parts.iter().map(|part| part.rate_hz()).find(|rate_hz| *rate_hz > 0.0);
        self.rate_hz.store(rate_hz.unwrap_or(0.0).to_bits(), Ordering::Relaxed);
    }
}

/// Counts for one block on its thread.
#[derive(Debug)]
pub(crate) struct Counting {
    meter: Arc<Meter>,
    counters: Counters,
    timed: Duration,
    timed_calls: u64,
    rate_hz: f64,
}

impl Counting {
    /// Counts on from what `meter` has.
    pub(crate) fn new(meter: Arc<Meter>) -> Self {
        let counters = meter.counters();
        let ((timed, timed_calls), rate_hz) = (meter.timed(), meter.rate_hz());
        Self { meter, counters, timed, timed_calls, rate_hz }
    }

    /// One call of `work` on `samples`.
    #[inline]
    pub(crate) fn call<R>(&mut self, samples: u64, work: impl FnOnce() -> R) -> R {
        self.counters.calls += 1;
        self.counters.samples += samples;
        let calls = self.counters.calls;
        if calls > 16 && !calls.is_multiple_of(TIMED_EVERY) {
            return work();
        }
        let begin = Instant::now();
        let result = work();
        self.timed += begin.elapsed();
        self.timed_calls += 1;
        result
    }

    /// `samples` more than the call was given: what a source made.
    pub(crate) fn made(&mut self, samples: u64) {
        self.counters.samples += samples;
    }

    /// What leaves the block has this rate.
    #[inline]
    pub(crate) fn rate(&mut self, rate_hz: f64) {
        self.rate_hz = rate_hz;
    }

    /// There was no input.
    pub(crate) fn starved(&mut self) {
        self.counters.starved += 1;
    }

    /// There was no free quantum.
    pub(crate) fn blocked(&mut self) {
        self.counters.blocked += 1;
    }

    /// A tag found no room.
    pub(crate) fn lost_tag(&mut self) {
        self.counters.tags_lost += 1;
    }

    /// A join left `samples` out.
    pub(crate) fn unpaired(&mut self, samples: u64) {
        self.counters.unpaired += samples;
    }

    /// Publishes the counters.
    pub(crate) fn publish(&self) {
        let Counters { calls, samples, busy: _, starved, blocked, tags_lost, unpaired } =
            self.counters;
        self.meter.calls.store(calls, Ordering::Relaxed);
        self.meter.samples.store(samples, Ordering::Relaxed);
        self.meter.timed_ns.store(self.timed.as_nanos() as u64, Ordering::Relaxed);
        self.meter.timed_calls.store(self.timed_calls, Ordering::Relaxed);
        self.meter.starved.store(starved, Ordering::Relaxed);
        self.meter.blocked.store(blocked, Ordering::Relaxed);
        self.meter.tags_lost.store(tags_lost, Ordering::Relaxed);
        self.meter.unpaired.store(unpaired, Ordering::Relaxed);
        self.meter.rate_hz.store(self.rate_hz.to_bits(), Ordering::Relaxed);
    }
}
