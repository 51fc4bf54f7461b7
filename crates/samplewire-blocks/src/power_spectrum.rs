//! Averaged power spectra.

use num_complex::Complex32;
use samplewire_circuit::{Done, Failure, Ratio, Transform};

use crate::kernels::{Spectrum, SpectrumError, Window};

/// Replaces the samples of so many transforms by the mean of their powers, bin after bin: a
/// [`Spectrum`].
///
/// In quanta whose length is a multiple of the bins, as it is unless set, each quantum begins with the
/// first bin, also behind a gap; what was taken for a spectrum before the gap is forgotten.
#[derive(Debug)]
pub struct PowerSpectrum {
    spectrum: Spectrum,
}

impl PowerSpectrum {
    /// Spectra of `bins`, each the mean over `averages`.
    ///
    /// # Errors
    /// See [`Spectrum::new`].
    pub fn new(bins: usize, window: Window, averages: u32) -> Result<Self, SpectrumError> {
        Ok(Self { spectrum: Spectrum::new(bins, window, averages)? })
    }
}

impl Transform<Complex32, f32> for PowerSpectrum {
    fn ratio(&self) -> Ratio {
        Ratio::decimate(self.spectrum.averages())
    }

    fn output_multiple(&self) -> usize {
        self.spectrum.bins()
    }

    fn work(&mut self, input: &[Complex32], output: &mut [f32]) -> Result<Done, Failure> {
        let mut rest = input;
        let mut produced = 0;
        for room in output.chunks_exact_mut(self.spectrum.bins()) {
            let Some(powers) = self.spectrum.next(&mut rest) else { break };
            room.copy_from_slice(powers);
            produced += room.len();
        }
        Ok(Done { consumed: input.len() - rest.len(), produced })
    }

    fn restart(&mut self, _: u64) {
        self.spectrum.restart();
    }
}
