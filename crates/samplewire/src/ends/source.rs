//! A recording or a generator into a circuit.

use std::marker::PhantomData;

use samplewire_circuit::{Flow, Quantum, Source, Work};

use crate::format::{FormError, FormSample, check_form};
use crate::source;

/// Fills quanta from [`source::ReadSamples`]: a generator, or a recording as `samplewire-record`
/// opens it.
///
/// ```
/// use num_complex::Complex;
/// use samplewire::ends::SourceBlock;
/// use samplewire::source::CounterSource;
/// use samplewire_blocks::{ChainExt, chain};
///
/// let counter = CounterSource::new(20e6, 0)?;
/// let source = SourceBlock::<Complex<i16>>::new(Box::new(counter))?;
/// let report = chain(source).head(10_000).for_each(|_| {}).run()?;
/// assert_eq!(report.block("sink").unwrap().counters.samples, 10_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SourceBlock<T> {
    source: Box<dyn source::ReadSamples>,
    rate_hz: f64,
    samples: PhantomData<fn() -> T>,
}

impl<T: FormSample> SourceBlock<T> {
    /// Of `source`, whose samples are to be `T`.
    ///
    /// # Errors
    /// [`FormError`]: the source's format is another, or it has other channels.
    pub fn new(source: Box<dyn source::ReadSamples>) -> Result<Self, FormError> {
        check_form::<T>(source.info())?;
        let rate_hz = source.info().rate_hz();
        Ok(Self { source, rate_hz, samples: PhantomData })
    }
}

impl<T: FormSample> Source<T> for SourceBlock<T> {
    fn fill(&mut self, quantum: &mut Quantum<T>) -> Work {
        quantum.set_rate_hz(self.rate_hz);
        let samples = quantum.fill();
        let read_bytes = self.source.read(bytemuck::cast_slice_mut(samples))?;
        quantum.set_len(read_bytes / size_of::<T>());
        Ok(if read_bytes == 0 { Flow::End } else { Flow::Pass })
    }
}
