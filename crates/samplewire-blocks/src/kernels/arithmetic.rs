//! Element by element: gain, offset, sum and product.
//!
//! Each result is rounded after every operation, so that all machines agree on every bit.

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use multiversion::multiversion;
use num_complex::Complex32;

/// A sample whose parts are `f32`, one or two of them.
pub trait Floats: Pod + sealed::Sealed {
    /// How many: 1 in a real sample, 2 in a complex one.
    const PARTS: usize = size_of::<Self>() / size_of::<f32>();
}

impl Floats for f32 {}
impl Floats for Complex32 {}

/// Multiplies each sample by `factor`, where it stands.
///
/// ```
/// let mut samples = [1.0, -2.0];
/// samplewire_blocks::kernels::gain(&mut samples, 0.5);
/// assert_eq!(samples, [0.5, -1.0]);
/// ```
pub fn gain<S: Floats>(samples: &mut [S], factor: f32) {
    gain_of_parts(cast_slice_mut(samples), factor);
}

#[multiversion(targets = "simd")]
fn gain_of_parts(parts: &mut [f32], factor: f32) {
    for part in parts {
        *part *= factor;
    }
}

/// Replaces each sample `x` by `factor * x + offset`, where it stands.
///
/// ```
/// let mut samples = [1.0, -2.0];
/// samplewire_blocks::kernels::saxpy(&mut samples, 2.0, 0.5);
/// assert_eq!(samples, [2.5, -3.5]);
/// ```
#[multiversion(targets = "simd")]
pub fn saxpy(samples: &mut [f32], factor: f32, offset: f32) {
    for sample in samples {
        *sample = factor * *sample + offset;
    }
}

/// Adds to each sample of `sum` the one of `other` at its place.
///
/// # Panics
/// When the lengths differ.
pub fn add<S: Floats>(sum: &mut [S], other: &[S]) {
    add_parts(cast_slice_mut(sum), cast_slice(other));
}

#[multiversion(targets = "simd")]
fn add_parts(sum: &mut [f32], other: &[f32]) {
    assert_eq!(sum.len(), other.len(), "parts to add");
    for (sum, other) in sum.iter_mut().zip(other) {
        *sum += other;
    }
}

/// Multiplies each sample of `product` by the one of `other` at its place.
///
/// # Panics
/// When the lengths differ.
#[multiversion(targets = "simd")]
pub fn multiply(product: &mut [f32], other: &[f32]) {
    assert_eq!(product.len(), other.len(), "samples to multiply");
    for (product, other) in product.iter_mut().zip(other) {
        *product *= other;
    }
}

/// Multiplies each sample of `product` by the one of `other` at its place, both complex.
///
/// # Panics
/// When the lengths differ.
#[multiversion(targets = "simd")]
pub fn multiply_complex(product: &mut [Complex32], other: &[Complex32]) {
    assert_eq!(product.len(), other.len(), "samples to multiply");
    for (product, other) in product.iter_mut().zip(other) {
        *product *= other;
    }
}

mod sealed {
    /// Keeps [`super::Floats`] to the two types above.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for super::Complex32 {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small integers and a half: their sums and products are exact, so `==` is the right question.
    fn ramp(len: usize) -> Vec<f32> {
        (0..len).map(|at| at as f32 - 31.5).collect()
    }

    fn ramp_complex(len: usize) -> Vec<Complex32> {
        (0..len).map(|at| Complex32::new(at as f32 - 31.5, 7.0 - at as f32)).collect()
    }

    /// Runs `kernel` on every length up to 130 from every one of the first 17 places, and says that
    /// what lies around stays as it was.
    fn everywhere(one: impl Fn(f32) -> f32, kernel: impl Fn(&mut [f32])) {
        let whole = ramp(160);
        for start in 0..17 {
            for len in 0..=130 {
                let mut samples = whole.clone();
                kernel(&mut samples[start..start + len]);
                for (at, (got, was)) in samples.iter().zip(&whole).enumerate() {
                    let inside = (start..start + len).contains(&at);
                    assert_eq!(*got, if inside { one(*was) } else { *was }, "{start} {len} {at}");
                }
            }
        }
    }

    #[test]
    fn kernels_of_one_input_agree_with_a_scalar_at_all_lengths_and_places() {
        everywhere(|x| 0.25 * x, |samples| gain(samples, 0.25));
        everywhere(|x| 0.5 * x + 3.0, |samples| saxpy(samples, 0.5, 3.0));
    }

    #[test]
    fn kernels_of_two_inputs_agree_with_a_scalar_at_all_lengths_and_places() {
        let other = ramp(300);
        for skew in 0..5 {
            everywhere(
                |x| x + x,
                |samples| {
                    let other = samples.to_vec();
                    add(samples, &other);
                },
            );
            for len in 0..=130 {
                let other = &other[skew..skew + len];
                let mut product = ramp(len);
                multiply(&mut product, other);
                let want: Vec<f32> = ramp(len).iter().zip(other).map(|(a, b)| a * b).collect();
                assert_eq!(product, want);
            }
        }
    }

    #[test]
    fn complex_samples_are_added_and_multiplied_as_such() {
        for len in 0..=130 {
            let other: Vec<Complex32> = ramp_complex(len + 3).split_off(3);
            let (mut sum, mut product) = (ramp_complex(len), ramp_complex(len));
            add(&mut sum, &other);
            multiply_complex(&mut product, &other);
            for (at, (a, b)) in ramp_complex(len).into_iter().zip(other).enumerate() {
                assert_eq!(sum[at], a + b);
                let want = Complex32::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
                assert_eq!(product[at], want);
            }
        }
    }

    #[test]
    fn a_product_and_a_sum_are_rounded_one_after_the_other_on_every_machine() {
        // Fused, the square would keep its last bit, 2^-46.
        let near_one = 1.0 + f32::EPSILON;
        let mut samples = [near_one; 67];
        saxpy(&mut samples, near_one, -1.0);
        assert_eq!(samples, [2.0 * f32::EPSILON; 67]);
    }

    #[test]
    fn what_is_no_number_stays_at_its_place() {
        let mut samples = vec![1.0; 37];
        samples[5] = f32::NAN;
        samples[36] = f32::INFINITY;
        saxpy(&mut samples, 2.0, 1.0);
        for (at, sample) in samples.iter().enumerate() {
            match at {
                5 => assert!(sample.is_nan()),
                36 => assert_eq!(*sample, f32::INFINITY),
                _ => assert_eq!(*sample, 3.0),
            }
        }
    }

    #[test]
    #[should_panic(expected = "parts to add")]
    fn inputs_of_different_lengths_are_refused() {
        add(&mut [0.0; 3], &[0.0; 4]);
    }
}
