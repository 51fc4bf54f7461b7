//! Multiplication by a factor.

use std::ops::Mul;

use samplewire_circuit::{Flow, InPlace, Quantum, Sample, Work};

use crate::Elementwise;
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

impl<S: Floats + Mul<f32, Output = S>> Elementwise<S> for Gain {
    #[inline(always)]
    fn map(&self, sample: S) -> S {
        sample * self.factor
    }
}
