//! Filters that raise the rate.

use samplewire_circuit::{Done, Failure, Ratio, Sample, Transform};

use crate::kernels::{FirError, Floats, InterpolatingFir};

/// A filter of real taps that gives `interpolation` outputs for each input: an
/// [`InterpolatingFir`].
///
/// Outputs `n * interpolation` and those up to the next input's stand for input `n`, counted in the
/// streams' indexes; symmetric taps delay a signal by `(taps - 1) / 2` outputs, and the indexes do
/// not make up for that. All outputs of an input are in one quantum: where the length of quanta is set,
/// and is no multiple of the interpolation, their rest stays empty. Behind a gap it begins with zeros.
#[derive(Clone, Debug)]
pub struct Interpolator<S> {
    fir: InterpolatingFir<S>,
}

impl<S: Floats> Interpolator<S> {
    /// With these taps, of the rate of the output, that of the newest input first: a pass band of
    /// gain 1 has taps whose sum is `interpolation`.
    ///
    /// # Errors
    /// See [`InterpolatingFir::new`].
    pub fn new(taps: &[f32], interpolation: usize) -> Result<Self, FirError> {
        Ok(Self { fir: InterpolatingFir::new(taps, interpolation)? })
    }
}

impl<S: Floats + Sample> Transform<S, S> for Interpolator<S> {
    fn ratio(&self) -> Ratio {
        Ratio::interpolate(self.fir.interpolation() as u32)
    }

    fn output_multiple(&self) -> usize {
        self.fir.interpolation()
    }

    fn work(&mut self, input: &[S], output: &mut [S]) -> Result<Done, Failure> {
        let (consumed, produced) = self.fir.process(input, output);
        Ok(Done { consumed, produced })
    }

    fn restart(&mut self, _: u64) {
        self.fir.restart();
    }
}
