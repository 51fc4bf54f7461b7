//! A function of each sample.

use samplewire_circuit::{Done, Failure, Sample, Transform};

/// Replaces each sample by what a function makes of it, of another type perhaps. Where the type stays,
/// [`Fused`](crate::Fused) does it in place.
///
/// ```
/// use num_complex::Complex32;
/// use samplewire_blocks::{Constant, Map, chain};
/// use samplewire_circuit::blocks::Head;
///
/// chain(Constant::new(Complex32::new(3.0, 4.0)))
///     .in_place(Head::new(100))
///     .transform(Map::new(|sample: Complex32| sample.norm()))
///     .for_each(|quantum| assert_eq!(quantum.samples(), [5.0; 100]))
///     .run()?;
/// # Ok::<(), samplewire_circuit::RunError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Map<F> {
    function: F,
}

impl<F> Map<F> {
    /// A block of `function`.
    pub const fn new(function: F) -> Self {
        Self { function }
    }
}

impl<A: Sample, B: Sample, F: FnMut(A) -> B + Send> Transform<A, B> for Map<F> {
    fn work(&mut self, input: &[A], output: &mut [B]) -> Result<Done, Failure> {
        let len = input.len().min(output.len());
        let pairs = output[..len].iter_mut().zip(input);
        pairs.for_each(|(made, &sample)| *made = (self.function)(sample));
        Ok(Done { consumed: len, produced: len })
    }
}
