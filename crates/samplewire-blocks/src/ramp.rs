//! A ramp.

use samplewire_circuit::{Flow, Quantum, Source, Work};

use crate::kernels::{self, PeriodError};

/// A sawtooth without end, which begins at index 0: a [`kernels::Ramp`].
#[derive(Clone, Copy, Debug)]
pub struct Ramp {
    ramp: kernels::Ramp,
}

impl Ramp {
    /// From -1 up to one step below 1 in `period` samples, 1 to 2^24.
    ///
    /// # Errors
    /// [`PeriodError`] when it is out of range.
    pub fn new(period: u32) -> Result<Self, PeriodError> {
        Ok(Self { ramp: kernels::Ramp::new(period)? })
    }
}

impl Source<f32> for Ramp {
    fn fill(&mut self, quantum: &mut Quantum<f32>) -> Work {
        self.ramp.fill(quantum.index(), quantum.fill());
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(*self)
    }
}
