//! A stream's beginning.

use crate::block::{Flow, InPlace, Work};
use crate::quantum::Quantum;
use crate::sample::Sample;

/// Passes so many samples, and ends the stream.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    left: u64,
}

impl Head {
    /// The first `samples`.
    pub const fn new(samples: u64) -> Self {
        Self { left: samples }
    }
}

impl<T: Sample> InPlace<T> for Head {
    fn work(&mut self, quantum: &mut Quantum<T>) -> Work {
        let len = quantum.len() as u64;
        if len < self.left {
            self.left -= len;
            return Ok(Flow::Pass);
        }
        quantum.trim_back((len - self.left) as usize);
        self.left = 0;
        Ok(Flow::End)
    }
}
