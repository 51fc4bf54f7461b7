//! What a sink counts.

use std::time::{Duration, Instant};

/// Samples that came, until the time is over. The count begins with the first look at the clock.
pub(crate) struct Count {
    duration: Duration,
    samples: u64,
    next_look: u64,
    start: Option<Instant>,
    outcome: Option<Outcome>,
}

/// What came to the sink.
#[derive(Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) samples: u64,
    pub(crate) seconds: f64,
}

impl Count {
    pub(crate) fn new(duration: Duration) -> Self {
        Self { duration, samples: 0, next_look: LOOK_SAMPLES, start: None, outcome: None }
    }

    /// Counts samples: whether the time is over.
    pub(crate) fn add(&mut self, samples: usize) -> bool {
        self.samples += samples as u64;
        if self.samples < self.next_look {
            return false;
        }
        let Some(start) = self.start else {
            (self.start, self.samples) = (Some(Instant::now()), 0);
            return false;
        };
        self.next_look = self.samples + LOOK_SAMPLES;
        let elapsed = start.elapsed();
        if elapsed < self.duration {
            return false;
        }
        self.outcome = Some(Outcome { samples: self.samples, seconds: elapsed.as_secs_f64() });
        true
    }

    /// # Panics
    ///
    /// Before the graph has ended.
    pub(crate) fn outcome(&self) -> Outcome {
        self.outcome.expect("the sink ends the graph when it has one")
    }
}

/// Some milliseconds between two looks at the clock, which is slower than a short buffer.
const LOOK_SAMPLES: u64 = 1 << 22;
