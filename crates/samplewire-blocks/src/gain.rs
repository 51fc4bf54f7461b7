//! Multiplication by a factor.

use samplewire_circuit::{Flow, InPlace, Quantum, Sample, Work};

use crate::kernels::{self, Floats};

/// Multiplies each sample by a factor.
#[derive(Clone, Copy, Debug)]
pub struct Gain {
    factor: f32,
}

impl Gain {
    /// Multiplies amplitudes by `factor`.
    pub const fn new(factor: f32) -> Self {
        Self { factor }
    }
}

impl<S: Floats + Sample> InPlace<S> for Gain {
    fn work(&mut self, quantum: &mut Quantum<S>) -> Work {
        kernels::gain(quantum.samples_mut(), self.factor);
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(*self)
    }
}
