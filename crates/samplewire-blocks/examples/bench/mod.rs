//! What the measuring examples share: chains written by hand, which have no runtime at all, the
//! clock that both sides are measured by, and the command line.

#![expect(dead_code, reason = "each example uses a part of it")]

pub(crate) mod arguments;
pub(crate) mod by_hand;

use std::time::{Duration, Instant};

/// `y = A x + B`: what stands in a buffer comes to 1, the fixed point, and stays there.
pub(crate) const A: f32 = 0.75;
/// See [`A`].
pub(crate) const B: f32 = 0.25;

/// Counts buffers, and says when the time is over. Its first look at the clock begins the count;
/// between two looks some milliseconds pass, for a look takes as long as a short buffer.
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
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    /// Buffers a second.
    pub(crate) buffers_per_s: f64,
    /// Floats a second.
    pub(crate) samples_per_s: f64,
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

const LOOK_FLOATS: u64 = 1 << 22;

/// Short buffers are about overhead: fewer samples take as long.
const LOOK_BUFFERS_MAX: u64 = 1 << 14;
