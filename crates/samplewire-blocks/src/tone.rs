//! A tone.

use num_complex::Complex32;
use samplewire_circuit::{Flow, Quantum, Source, Work};

use crate::kernels::{FrequencyError, Oscillator};

/// A tone without end: a complex exponential, or in real samples a cosine. An [`Oscillator`].
#[derive(Clone, Debug)]
pub struct Tone {
    oscillator: Oscillator,
    amplitude: f32,
}

impl Tone {
    /// A tone of `cycles_per_sample`, from -0.5 to 0.5: the frequency over the sample rate. Its
    /// phase is 0 at index 0.
    ///
    /// # Errors
    /// [`FrequencyError`] when it is out of range.
    pub fn new(cycles_per_sample: f64, amplitude: f32) -> Result<Self, FrequencyError> {
        Ok(Self { oscillator: Oscillator::new(cycles_per_sample)?, amplitude })
    }
}

impl Source<Complex32> for Tone {
    fn fill(&mut self, quantum: &mut Quantum<Complex32>) -> Work {
        self.oscillator.tone(quantum.index(), self.amplitude, quantum.fill());
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl Source<f32> for Tone {
    fn fill(&mut self, quantum: &mut Quantum<f32>) -> Work {
        self.oscillator.cosine(quantum.index(), self.amplitude, quantum.fill());
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(self.clone())
    }
}
