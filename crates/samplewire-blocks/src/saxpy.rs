//! A factor and an offset.

use samplewire_circuit::{Flow, InPlace, Quantum, Work};

use crate::kernels;

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
