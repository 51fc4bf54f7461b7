//! Filters of finite impulse response.

use num_complex::Complex32;
use samplewire_circuit::{
    Context, Done, Failure, Flow, InPlace, Quantum, Ratio, Sample, Transform, Work,
};

use crate::kernels::{Fir, FirError, Floats};

/// A filter of real or complex taps, with or without decimation: a [`Fir`].
///
/// As a [`Transform`] its output `n` stands for input `n * decimation`, counted in the stream's
/// indexes; without decimation it also works in place. Symmetric taps delay a signal by
/// `(taps - 1) / 2` inputs, and the indexes do not make up for that. Behind a gap it begins with
/// zeros.
#[derive(Clone, Debug)]
pub struct Filter<S> {
    fir: Fir<S>,
    /// Where the next quantum begins if nothing is missing.
    next: u64,
}

impl<S: Floats> Filter<S> {
    /// With these taps, that of the newest input first, one output for `decimation` inputs.
    ///
    /// # Errors
    /// See [`Fir::new`].
    pub fn new(taps: &[f32], decimation: usize) -> Result<Self, FirError> {
        Ok(Self { fir: Fir::new(taps, decimation)?, next: 0 })
    }
}

impl Filter<Complex32> {
    /// With these complex taps, that of the newest input first, one output for `decimation` inputs.
    ///
    /// # Errors
    /// See [`Fir::new`].
    pub fn with_complex_taps(taps: &[Complex32], decimation: usize) -> Result<Self, FirError> {
        Ok(Self { fir: Fir::with_complex_taps(taps, decimation)?, next: 0 })
    }
}

impl<S: Floats + Sample> Transform<S, S> for Filter<S> {
    fn ratio(&self) -> Ratio {
        Ratio::decimate(self.fir.decimation() as u32)
    }

    fn work(&mut self, input: &[S], output: &mut [S]) -> Result<Done, Failure> {
        let (consumed, produced) = self.fir.process(input, output);
        Ok(Done { consumed, produced })
    }

    fn restart(&mut self, index: u64) {
        let decimation = self.fir.decimation() as u64;
        let beyond = index % decimation;
        self.fir.restart(if beyond == 0 { 0 } else { (decimation - beyond) as usize });
    }
}

impl<S: Floats + Sample> InPlace<S> for Filter<S> {
    fn start(&mut self, _: &Context<'_>) -> Result<(), Failure> {
        match self.fir.decimation() {
            1 => Ok(()),
            decimation => Err(format!(
                "decimates by {decimation}, which is not done in place: add it as a transform"
            )
            .into()),
        }
    }

    fn work(&mut self, quantum: &mut Quantum<S>) -> Work {
        if quantum.index() != self.next {
            self.fir.restart(0);
        }
        self.next = quantum.end_index();
        self.fir.process_in_place(quantum.samples_mut());
        Ok(Flow::Pass)
    }
}
