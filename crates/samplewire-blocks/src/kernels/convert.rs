//! Conversion between the numbers that samples are made of, by the rules of [`convert()`].

use std::any::TypeId;

use bytemuck::{Pod, cast, cast_slice, cast_slice_mut};
use multiversion::multiversion;
use num_complex::Complex;

/// A number that a sample is made of: `i8`, `u8`, `i16`, `i32`, `f32` or `f64`.
pub trait Part: Pod + sealed::Arithmetic {
    /// The distance from zero that counts as 1.0: in an integer, one step more than the largest.
    const FULL_SCALE: f64;
}

/// A sample that another kind of sample can become: a real one of a real, a complex of a complex.
pub trait ConvertFrom<A>: Pod {
    /// Writes each sample of `input` to its place in `output`, in the other type.
    ///
    /// # Panics
    /// When the lengths differ.
    fn convert_slice(input: &[A], output: &mut [Self]);

    /// Does [`convert_in_place`].
    ///
    /// # Panics
    /// When `bytes` is shorter than the samples of either type.
    fn convert_front(bytes: &mut [u8], samples: usize);
}

impl<A: Part, B: Part> ConvertFrom<A> for B {
    fn convert_slice(input: &[A], output: &mut [B]) {
        convert_parts(input, output);
    }

    fn convert_front(bytes: &mut [u8], samples: usize) {
        convert_parts_in_place::<A, B>(bytes, samples);
    }
}

impl<A: Part, B: Part> ConvertFrom<Complex<A>> for Complex<B> {
    fn convert_slice(input: &[Complex<A>], output: &mut [Complex<B>]) {
        convert_parts::<A, B>(cast_slice(input), cast_slice_mut(output));
    }

    fn convert_front(bytes: &mut [u8], samples: usize) {
        convert_parts_in_place::<A, B>(bytes, 2 * samples);
    }
}

/// Writes each sample of `input` to its place in `output`, in the other type.
///
/// A part of a sample is a fraction of full scale: `i8` are 128ths, `u8` less 127.5 are 128ths,
/// `i16` are 32,768ths, `i32` are 2^31sts, floats are the fraction itself. A conversion gives the
/// nearest fraction that the other type holds, the even one at a tie, and the largest or smallest
/// beyond its ends; not-a-number becomes zero in an integer. A wider type and back is therefore
/// the identity. Between `u8` and `i8`, whose steps lie half a step apart, each step becomes the
/// one just below it and back, so that none is lost.
///
/// ```
/// use num_complex::Complex;
///
/// let mut output = [Complex::new(0.0_f32, 0.0)];
/// samplewire_blocks::kernels::convert(&[Complex::new(16_384_i16, -32_768)], &mut output);
/// assert_eq!(output, [Complex::new(0.5, -1.0)]);
/// ```
///
/// # Panics
/// When the lengths differ.
pub fn convert<A, B: ConvertFrom<A>>(input: &[A], output: &mut [B]) {
    B::convert_slice(input, output);
}

/// Converts the `samples` at the front of `bytes` where they stand: in the other type they begin
/// at the front as well, and may take more or less room.
///
/// # Panics
/// When `bytes` is shorter than the samples of either type.
pub fn convert_in_place<A, B: ConvertFrom<A>>(bytes: &mut [u8], samples: usize) {
    B::convert_front(bytes, samples);
}

/// Converts parts of little-endian bytes at any address, as the wire and the files have them.
///
/// # Panics
/// When `input` is no whole number of parts, or `output` not of that many.
pub fn convert_le_bytes<A: Part, B: Part>(input: &[u8], output: &mut [u8]) {
    convert_le_parts::<A, B>(cast_slice(input), cast_slice_mut(output));
}

#[multiversion(targets = "simd")]
fn convert_parts<A: Part, B: Part>(input: &[A], output: &mut [B]) {
    assert_eq!(input.len(), output.len(), "parts to convert");
    if TypeId::of::<A>() == TypeId::of::<B>() {
        return output.copy_from_slice(cast_slice(input));
    }
    for (output, input) in output.iter_mut().zip(input) {
        *output = convert_part(*input);
    }
}

#[multiversion(targets = "simd")]
fn convert_parts_in_place<A: Part, B: Part>(bytes: &mut [u8], parts: usize) {
    let (blocks, rest) = (0..parts / BLOCK, parts - parts % BLOCK..parts);
    // What is written must not reach what is read later.
    if size_of::<B>() > size_of::<A>() {
        rest.rev().for_each(|at| convert_block::<A, B, 1>(bytes, at));
        blocks.rev().for_each(|block| convert_block::<A, B, BLOCK>(bytes, block * BLOCK));
    } else {
        blocks.for_each(|block| convert_block::<A, B, BLOCK>(bytes, block * BLOCK));
        rest.for_each(|at| convert_block::<A, B, 1>(bytes, at));
    }
}

/// Converts `LEN` parts from the one at `first` on: all are read before any is written.
#[inline(always)]
fn convert_block<A: Part, B: Part, const LEN: usize>(bytes: &mut [u8], first: usize) {
    let from = &bytes[first * size_of::<A>()..][..LEN * size_of::<A>()];
    let mut read = [A::zeroed(); LEN];
    cast_slice_mut(&mut read).copy_from_slice(from);
    let written = read.map(convert_part::<A, B>);
    let to = &mut bytes[first * size_of::<B>()..][..LEN * size_of::<B>()];
    to.copy_from_slice(cast_slice(&written));
}

#[multiversion(targets = "simd")]
fn convert_le_parts<A: Part, B: Part>(input: &[A::Bytes], output: &mut [B::Bytes]) {
    assert_eq!(input.len(), output.len(), "parts to convert");
    if TypeId::of::<A>() == TypeId::of::<B>() {
        return output.copy_from_slice(cast_slice(input));
    }
    for (output, input) in output.iter_mut().zip(input) {
        *output = convert_part::<A, B>(A::of_le(*input)).to_le();
    }
}

#[inline(always)]
fn convert_part<A: Part, B: Part>(value: A) -> B {
    if A::ZERO != B::ZERO && size_of::<A>() == size_of::<B>() {
        // The two formats of bytes.
        cast(cast::<A, [u8; 1]>(value).map(|byte| byte ^ 0x80))
    } else if A::FITS_F32 && B::FITS_F32 {
        B::of_f32(value.to_f32())
    } else {
        B::of_f64(value.to_f64())
    }
}

/// Parts that [`convert_in_place`] takes at a time, through registers.
const BLOCK: usize = 64;

mod sealed {
    use bytemuck::Pod;

    /// What only the conversion needs to know of a part.
    pub trait Arithmetic: Sized {
        /// The value that stands for zero.
        const ZERO: f64;
        /// Whether `f32` holds all its fractions.
        const FITS_F32: bool;
        /// An array of its bytes.
        type Bytes: Pod;

        fn to_f32(self) -> f32;
        fn of_f32(fraction: f32) -> Self;
        fn to_f64(self) -> f64;
        fn of_f64(fraction: f64) -> Self;
        fn of_le(bytes: Self::Bytes) -> Self;
        fn to_le(self) -> Self::Bytes;
    }
}

macro_rules! bytes {
    ($part:ident) => {
        #[inline(always)]
        fn of_le(bytes: Self::Bytes) -> $part {
            $part::from_le_bytes(bytes)
        }

        #[inline(always)]
        fn to_le(self) -> Self::Bytes {
            self.to_le_bytes()
        }
    };
}

macro_rules! integers {
    ($($integer:ident zero $zero:literal fits_f32 $fits_f32:literal;)*) => {$(
        impl Part for $integer {
            const FULL_SCALE: f64 = (1_u64 << ($integer::BITS - 1)) as f64;
        }

        impl sealed::Arithmetic for $integer {
            const ZERO: f64 = $zero;
            const FITS_F32: bool = $fits_f32;
            type Bytes = [u8; size_of::<$integer>()];

            #[inline(always)]
            fn to_f32(self) -> f32 {
                (self as f32 - $zero) / $integer::FULL_SCALE as f32
            }

            #[inline(always)]
            fn of_f32(fraction: f32) -> $integer {
                let value = fraction * $integer::FULL_SCALE as f32 + $zero;
                let value = if value.is_nan() { $zero } else { value };
                let shifted = value.clamp($integer::MIN as f32, $integer::MAX as f32) + INTEGERS_F32;
                (shifted.to_bits() as i32 - INTEGERS_F32.to_bits() as i32) as $integer
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                (self as f64 - $zero) / $integer::FULL_SCALE
            }

            #[inline(always)]
            fn of_f64(fraction: f64) -> $integer {
                let value = fraction * $integer::FULL_SCALE + $zero;
                let value = if value.is_nan() { $zero } else { value };
                let shifted = value.clamp($integer::MIN as f64, $integer::MAX as f64) + INTEGERS_F64;
                (shifted.to_bits() as i64 - INTEGERS_F64.to_bits() as i64) as $integer
            }

            bytes!($integer);
        }
    )*};
}

macro_rules! floats {
    ($($float:ident fits_f32 $fits_f32:literal;)*) => {$(
        impl Part for $float {
            const FULL_SCALE: f64 = 1.0;
        }

        impl sealed::Arithmetic for $float {
            const ZERO: f64 = 0.0;
            const FITS_F32: bool = $fits_f32;
            type Bytes = [u8; size_of::<$float>()];

            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }

            #[inline(always)]
            fn of_f32(fraction: f32) -> $float {
                fraction as $float
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn of_f64(fraction: f64) -> $float {
                fraction as $float
            }

            bytes!($float);
        }
    )*};
}

integers! {
    i8 zero 0.0 fits_f32 true;
    u8 zero 127.5 fits_f32 true;
    i16 zero 0.0 fits_f32 true;
    i32 zero 0.0 fits_f32 false;
}

floats! {
    f32 fits_f32 true;
    f64 fits_f32 false;
}

/// 1.5 * 2^23: at this height neighbouring floats are 1 apart, so that adding a number within 2^22
/// of zero rounds it, ties to even, and leaves the integer in the low bits. `round_ties_even` is a
/// call for each part in the instructions that every x86-64 has.
const INTEGERS_F32: f32 = 12_582_912.0;
/// The same for numbers within 2^51 of zero.
const INTEGERS_F64: f64 = 6_755_399_441_055_744.0;

#[cfg(test)]
mod tests;
