//! A rate by the clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use samplewire_circuit::{Context, Failure, Flow, InPlace, Quantum, Sample, Work};

/// Passes samples at a rate by this machine's clock: for graphs neither end of which has a clock.
///
/// A quantum passes when those before it have had their time, counted from the first one's passage:
/// the mean rate is exact, and behind a delay what is late follows at once. Samples that are missing
/// take no time. In between the block sleeps, and a thread of its own wakes it.
///
/// ```
/// use samplewire_blocks::{ChainExt, Constant, chain};
///
/// let report = chain(Constant::new(0.0_f32))
///     .samples_max(1_000)
///     .throttle(1e6)
///     .head(20_000)
///     .for_each(|_| {})
///     .run()?;
/// assert!(report.elapsed.as_millis() >= 19, "the last of 20 quanta waits for 19");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Throttle {
    pace: Pace,
    alarm: Option<Alarm>,
}

impl Throttle {
    /// At `rate_hz` samples per second, more than 0.
    ///
    /// # Errors
    /// [`RateError`] when it is out of range.
    pub fn new(rate_hz: f64) -> Result<Self, RateError> {
        if !(rate_hz > 0.0 && rate_hz.is_finite()) {
            return Err(RateError { rate_hz });
        }
        Ok(Self { pace: Pace { rate_hz, begin: None, passed: 0 }, alarm: None })
    }
}

impl<S: Sample> InPlace<S> for Throttle {
    fn work(&mut self, quantum: &mut Quantum<S>) -> Work {
        let now = Instant::now();
        if let Some(due) = self.pace.due_after(now)
            && let Some(alarm) = &self.alarm
        {
            alarm.set(now + due);
            return Ok(Flow::Sleep);
        }
        self.pace.pass(now, quantum.len());
        Ok(Flow::Pass)
    }

    fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        (self.pace.begin, self.pace.passed) = (None, 0);
        self.alarm = Some(Alarm::new(context.waker.clone())?);
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Failure> {
        self.alarm = None;
        Ok(())
    }
}

/// When samples are due.
#[derive(Debug)]
struct Pace {
    rate_hz: f64,
    /// When the first passed.
    begin: Option<Instant>,
    /// Samples since.
    passed: u64,
}

impl Pace {
    /// How long the next must wait; `None` when it may pass.
    fn due_after(&self, now: Instant) -> Option<Duration> {
        let due = Duration::try_from_secs_f64(self.passed as f64 / self.rate_hz);
        // A wait of more than a century is computed again after a century.
        let due = due.unwrap_or(CENTURY).min(CENTURY);
        due.checked_sub(now.duration_since(self.begin?)).filter(|left| !left.is_zero())
    }

    fn pass(&mut self, now: Instant, samples: usize) {
        self.begin.get_or_insert(now);
        self.passed += samples as u64;
    }
}

/// A thread that wakes at a time.
#[derive(Debug)]
struct Alarm {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    /// Times count from here.
    epoch: Instant,
    /// In nanoseconds, or [`UNSET`], or [`OVER`].
    at_ns: AtomicU64,
}

impl Alarm {
    fn new(waker: Waker) -> Result<Self, Failure> {
        let shared = Arc::new(Shared { epoch: Instant::now(), at_ns: AtomicU64::new(UNSET) });
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("throttle".to_owned())
            .spawn(move || own.run(&waker))
            .map_err(|error| format!("cannot start the thread that wakes it: {error}"))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Wakes at `at`, and not at the time that was set before.
    fn set(&self, at: Instant) {
        let ns = at.duration_since(self.shared.epoch).as_nanos();
        let at_ns = u64::try_from(ns).unwrap_or(LAST_NS).min(LAST_NS);
        // Relaxed, here and in the thread: the number says all, and the unpark is seen with it.
        if self.shared.at_ns.swap(at_ns, Ordering::Relaxed) != at_ns {
            self.unpark();
        }
    }

    fn unpark(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.shared.at_ns.store(OVER, Ordering::Relaxed);
        self.unpark();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it calls a waker alone");
        }
    }
}

impl Shared {
    fn run(&self, waker: &Waker) {
        let relaxed = Ordering::Relaxed;
        loop {
            match self.at_ns.load(relaxed) {
                OVER => return,
                UNSET => thread::park(),
                at_ns => {
                    let left = Duration::from_nanos(at_ns).saturating_sub(self.epoch.elapsed());
                    if !left.is_zero() {
                        thread::park_timeout(left);
                    } else if self.at_ns.compare_exchange(at_ns, UNSET, relaxed, relaxed).is_ok() {
                        waker.wake_by_ref();
                    }
                }
            }
        }
    }
}

/// A rate is not above 0.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{rate_hz} samples per second: must be above 0")]
pub struct RateError {
    /// The rate.
    pub rate_hz: f64,
}

/// No time is set.
const UNSET: u64 = u64::MAX;
/// The thread is to end.
const OVER: u64 = u64::MAX - 1;
/// The last time that can be set, in nanoseconds.
const LAST_NS: u64 = u64::MAX - 2;
/// What an [`Instant`] can be moved by.
const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_due_when_those_before_had_their_time() {
        let begin = Instant::now();
        let mut pace = Pace { rate_hz: 3e6, begin: None, passed: 0 };
        assert_eq!(pace.due_after(begin), None);
        for quanta in 1..=1_000_000_u64 {
            pace.pass(begin, 4_096);
            if quanta % 1_000 == 0 {
                let due = pace.due_after(begin).unwrap();
                let want = Duration::from_nanos((u128::from(quanta) * 4_096_000 / 3) as u64);
                assert!(due.abs_diff(want) <= Duration::from_nanos(1), "{due:?} {want:?}");
                assert_eq!(pace.due_after(begin + due), None);
                assert!(pace.due_after(begin + due - Duration::from_nanos(1)).is_some());
            }
        }
        assert_eq!(pace.begin, Some(begin), "what is late shifts nothing behind it");
    }

    #[test]
    fn rate_that_never_comes_waits_a_century_at_a_time() {
        let begin = Instant::now();
        let pace = Pace { rate_hz: f64::MIN_POSITIVE, begin: Some(begin), passed: u64::MAX };
        assert_eq!(pace.due_after(begin), Some(CENTURY));
    }

    #[test]
    fn rates_out_of_range_are_named() {
        for rate_hz in [0.0, -1.0, f64::INFINITY] {
            assert_eq!(Throttle::new(rate_hz).unwrap_err(), RateError { rate_hz });
        }
        let text = "NaN samples per second: must be above 0";
        assert_eq!(Throttle::new(f64::NAN).unwrap_err().to_string(), text);
    }
}
