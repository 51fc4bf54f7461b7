//! A recording or a generator into a circuit.

use std::marker::PhantomData;

use samplewire_circuit::{Failure, Flow, Quantum, Source, Work};

use super::typed::{self, FormError, FormSample};
use crate::source;

/// Fills quanta from a [`source::Source`]: a SigMF recording ([`source::open_recording`]), raw samples,
/// a generator.
///
/// ```
/// use num_complex::Complex;
/// use samplewire::ends::SourceBlock;
/// use samplewire::source::{SourceOptions, SourceSpec};
/// use samplewire_blocks::{ChainExt, chain};
///
/// let counter = "counter".parse::<SourceSpec>()?.open(&SourceOptions::new())?;
/// let source = SourceBlock::<Complex<i16>>::new(counter)?;
/// let report = chain(source).head(10_000).for_each(|_| {}).run()?;
/// assert_eq!(report.block("sink").unwrap().counters.samples, 10_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SourceBlock<T> {
    source: Box<dyn source::Source>,
    rate_hz: f64,
    samples: PhantomData<fn() -> T>,
}

impl<T: FormSample> SourceBlock<T> {
    /// Of `source`, whose samples are to be `T`.
    ///
    /// # Errors
    /// [`FormError`]: the source's format is another, or it has other channels.
    pub fn new(source: Box<dyn source::Source>) -> Result<Self, FormError> {
        typed::check::<T>(source.info())?;
        let rate_hz = source.info().rate_hz();
        Ok(Self { source, rate_hz, samples: PhantomData })
    }
}

impl<T: FormSample> Source<T> for SourceBlock<T> {
    fn fill(&mut self, quantum: &mut Quantum<T>) -> Work {
        quantum.set_rate_hz(self.rate_hz);
        let samples = quantum.fill();
        let read_bytes = match self.source.read(bytemuck::cast_slice_mut(samples)) {
            Ok(read_bytes) => read_bytes,
            Err(error) => return Err(Failure::from(error)),
        };
        quantum.set_len(read_bytes / size_of::<T>());
        Ok(if read_bytes == 0 { Flow::End } else { Flow::Pass })
    }
}
