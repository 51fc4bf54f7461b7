//! Noise.

use samplewire_circuit::{Flow, Quantum, Sample, Source, Work};

use crate::kernels::{self, Floats};

/// White noise without end, nearly Gaussian, the same for the same seed: a [`kernels::Noise`].
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    noise: kernels::Noise,
}

impl Noise {
    /// Noise whose samples have a mean power of `rms` squared.
    pub fn new(seed: u64, rms: f32) -> Self {
        Self { noise: kernels::Noise::new(seed, rms) }
    }
}

impl<S: Floats + Sample> Source<S> for Noise {
    fn fill(&mut self, quantum: &mut Quantum<S>) -> Work {
        self.noise.fill(quantum.index(), quantum.fill());
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(*self)
    }
}
