//! Conversion to another type of sample.

use samplewire_circuit::{Done, Failure, Sample, Transform};

use crate::kernels::{self, ConvertFrom};

/// Converts samples to those of the circuit that it fills, by the rules of [`kernels::convert`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Convert;

impl<A: Sample, B: Sample + ConvertFrom<A>> Transform<A, B> for Convert {
    fn work(&mut self, input: &[A], output: &mut [B]) -> Result<Done, Failure> {
        let len = input.len().min(output.len());
        kernels::convert(&input[..len], &mut output[..len]);
        Ok(Done { consumed: len, produced: len })
    }
}
