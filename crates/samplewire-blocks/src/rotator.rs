//! Moves a band by a frequency.

use num_complex::Complex32;
use samplewire_circuit::{Flow, InPlace, Quantum, Work};

use crate::kernels::{FrequencyError, Oscillator};

/// Multiplies by a complex exponential, whose phase follows the index of each sample: also over
/// gaps. An [`Oscillator`].
#[derive(Clone, Debug)]
pub struct Rotator {
    oscillator: Oscillator,
}

impl Rotator {
    /// Moves the band up by `cycles_per_sample`, from -0.5 to 0.5: the frequency over the sample
    /// rate.
    ///
    /// # Errors
    /// [`FrequencyError`] when it is out of range.
    pub fn new(cycles_per_sample: f64) -> Result<Self, FrequencyError> {
        Ok(Self { oscillator: Oscillator::new(cycles_per_sample)? })
    }
}

impl InPlace<Complex32> for Rotator {
    fn work(&mut self, quantum: &mut Quantum<Complex32>) -> Work {
        self.oscillator.rotate(quantum.index(), quantum.samples_mut());
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(self.clone())
    }
}
