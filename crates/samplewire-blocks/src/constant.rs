//! One value.

use samplewire_circuit::{Flow, Quantum, Sample, Source, Work};

/// The same sample without end.
#[derive(Clone, Copy, Debug)]
pub struct Constant<S> {
    sample: S,
}

impl<S> Constant<S> {
    /// This sample.
    pub const fn new(sample: S) -> Self {
        Self { sample }
    }
}

impl<S: Sample> Source<S> for Constant<S> {
    fn fill(&mut self, quantum: &mut Quantum<S>) -> Work {
        quantum.fill().fill(self.sample);
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(*self)
    }
}
