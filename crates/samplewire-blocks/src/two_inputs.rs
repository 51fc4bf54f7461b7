//! Sums and products of two streams.

use num_complex::Complex32;
use samplewire_circuit::{Failure, Join, Sample};

use crate::kernels::{self, Floats};

/// Adds to each sample of the first stream the second's of the same index.
#[derive(Clone, Copy, Debug, Default)]
pub struct Add;

impl<S: Floats + Sample> Join<S, S> for Add {
    fn work(&mut self, first: &mut [S], second: &[S]) -> Result<(), Failure> {
        kernels::add(first, second);
        Ok(())
    }
}

/// Multiplies each sample of the first stream by the second's of the same index, of which neither
/// is conjugated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Multiply;

impl Join<f32, f32> for Multiply {
    fn work(&mut self, first: &mut [f32], second: &[f32]) -> Result<(), Failure> {
        kernels::multiply(first, second);
        Ok(())
    }
}

impl Join<Complex32, Complex32> for Multiply {
    fn work(&mut self, first: &mut [Complex32], second: &[Complex32]) -> Result<(), Failure> {
        kernels::multiply_complex(first, second);
        Ok(())
    }
}
