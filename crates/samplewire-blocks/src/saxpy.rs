//! A factor and an offset.

use samplewire_circuit::{Flow, InPlace, Quantum, Work};

use crate::{Elementwise, kernels};

/// Replaces each sample `x` by `factor * x + offset`.
#[derive(Clone, Copy, Debug)]
pub struct Saxpy {
    factor: f32,
    offset: f32,
}

impl Saxpy {
    /// With this factor and this offset.
    pub const fn new(factor: f32, offset: f32) -> Self {
        Self { factor, offset }
    }
}

impl InPlace<f32> for Saxpy {
    fn work(&mut self, quantum: &mut Quantum<f32>) -> Work {
        kernels::saxpy(quantum.samples_mut(), self.factor, self.offset);
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(*self)
    }
}

impl Elementwise<f32> for Saxpy {
    #[inline(always)]
    fn map(&self, sample: f32) -> f32 {
        self.factor * sample + self.offset
    }
}
