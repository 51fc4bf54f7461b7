//! What the measuring examples share: chains written by hand, which have no runtime at all, the
//! clock that both sides are measured by, and the command line.

#![expect(dead_code, reason = "each example uses a part of it")]

pub(crate) mod arguments;
pub(crate) mod by_hand;

use std::error::Error;
use std::iter::Sum;
use std::time::{Duration, Instant};

/// `y = A x + B`: what stands in a buffer comes to 1, the fixed point, and stays there.
pub(crate) const A: f32 = 0.75;
/// See [`A`].
pub(crate) const B: f32 = 0.25;

/// Counts buffers, and says when the time is over. Its first look at the clock begins the count;
/// between two looks some milliseconds pass, for a look takes as long as a short buffer.
#[derive(Clone)]
pub(crate) struct Count {
    duration: Duration,
    floats: usize,
    look_buffers: u64,
    /// Until the next look.
    left: u64,
    looks: u64,
    start: Option<Instant>,
}

impl Count {
    /// Of buffers of so many floats.
    pub(crate) fn new(floats: usize, duration: Duration) -> Self {
        let look_buffers = (LOOK_FLOATS / floats as u64).clamp(1, LOOK_BUFFERS_MAX);
        Self { duration, floats, look_buffers, left: look_buffers, looks: 0, start: None }
    }

    /// Counts a buffer: the rate, once the time is over.
    #[inline]
    pub(crate) fn one(&mut self) -> Option<Rate> {
        self.left -= 1;
        if self.left > 0 { None } else { self.look() }
    }

    #[cold]
    fn look(&mut self) -> Option<Rate> {
        self.left = self.look_buffers;
        let Some(start) = self.start else {
            self.start = Some(Instant::now());
            return None;
        };
        self.looks += 1;
        let elapsed = start.elapsed();
        (elapsed >= self.duration).then(|| {
            let buffers_per_s = (self.looks * self.look_buffers) as f64 / elapsed.as_secs_f64();
            Rate { buffers_per_s, samples_per_s: buffers_per_s * self.floats as f64 }
        })
    }
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rate {
    /// Buffers a second.
    pub(crate) buffers_per_s: f64,
    /// Floats a second.
    pub(crate) samples_per_s: f64,
}

impl Sum for Rate {
    fn sum<I: Iterator<Item = Self>>(rates: I) -> Self {
        rates.fold(Self::default(), |sum, rate| Self {
            buffers_per_s: sum.buffers_per_s + rate.buffers_per_s,
            samples_per_s: sum.samples_per_s + rate.samples_per_s,
        })
    }
}

/// The medians of slices of either, which take turns: a machine whose speed drifts moves both.
pub(crate) struct Compared {
    pub(crate) ours: Rate,
    pub(crate) by_hand: Rate,
    /// Ours by that of the slice by hand just before it.
    pub(crate) ratio: f64,
}

impl Compared {
    /// Has both run for `duration`, each slice for the time that it is given.
    ///
    /// # Errors
    /// Those of ours.
    pub(crate) fn new(
        duration: Duration,
        mut ours: impl FnMut(Duration) -> Result<Rate, Box<dyn Error>>,
        mut by_hand: impl FnMut(Duration) -> Rate,
    ) -> Result<Self, Box<dyn Error>> {
        let slices = (0..SLICES)
            .map(|_| Ok((by_hand(duration / SLICES), ours(duration / SLICES)?)))
            .collect::<Result<Vec<_>, Box<dyn Error>>>()?;
        let of = |value: fn(&Rate) -> f64, pick: fn(&(Rate, Rate)) -> &Rate| {
            median(slices.iter().map(|slice| value(pick(slice))).collect())
        };
        let rate = |pick| Rate {
            buffers_per_s: of(|rate| rate.buffers_per_s, pick),
            samples_per_s: of(|rate| rate.samples_per_s, pick),
        };
        let ratio = |(by_hand, ours): &(Rate, Rate)| ours.buffers_per_s / by_hand.buffers_per_s;
        Ok(Self {
            ours: rate(|slice| &slice.1),
            by_hand: rate(|slice| &slice.0),
            ratio: median(slices.iter().map(ratio).collect()),
        })
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Makes sure that kernels have run, on a buffer that nothing else has written to.
///
/// # Panics
/// When they have not.
pub(crate) fn check(floats: &[f32]) {
    assert!(floats.iter().all(|x| (x - 1.0).abs() < 1e-5), "the kernels have not run");
}

/// Keeps the calling thread on one CPU.
pub(crate) fn pin(cpu: usize) -> rustix::io::Result<()> {
    let mut cpus = rustix::thread::CpuSet::new();
    cpus.set(cpu);
    rustix::thread::sched_setaffinity(None, &cpus)
}

const SLICES: u32 = 5;

const LOOK_FLOATS: u64 = 1 << 22;

/// Short buffers are about overhead: fewer samples take as long.
const LOOK_BUFFERS_MAX: u64 = 1 << 14;
