//! Samples: the numbers that the bytes of a quantum can be seen as, and those of several channels.

use bytemuck::{Pod, PodCastError};
use num_complex::Complex;

/// A number, real or complex, whose every bit pattern is valid, in this machine's byte order; or `N`
/// of them, `[T; N]`: what the channels of a stream have at one index, in their order.
///
/// Sealed: the wire and the files know these and no others.
pub trait Sample: Pod + Send + Sync + sealed::Sealed {
    /// The type's name for error texts.
    const NAME: &'static str;
    /// The type's name for several.
    const PLURAL: &'static str = "samples";
}

macro_rules! samples {
    ($($real:ident $plural:literal),*) => {$(
        impl sealed::Sealed for $real {}
        impl sealed::Sealed for Complex<$real> {}
        impl Sample for $real {
            const NAME: &'static str = stringify!($real);
            const PLURAL: &'static str = $plural;
        }
        impl Sample for Complex<$real> {
            const NAME: &'static str = concat!("complex ", stringify!($real));
        }
    )*};
}

samples!(i8 "i8", u8 "bytes", i16 "i16", i32 "i32", f32 "f32", f64 "f64");

impl<S: Sample, const N: usize> sealed::Sealed for [S; N] {}

impl<S: Sample, const N: usize> Sample for [S; N] {
    /// That of one channel.
    const NAME: &'static str = S::NAME;
}

/// How long a sample of some type is, for those that see bytes alone.
///
/// Most are as long as a power of two, and a shift takes a part of what a division takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleSize {
    shift: u32,
    odd: usize,
}

impl SampleSize {
    pub(crate) const fn of<T: Sample>() -> Self {
        const { assert!(size_of::<T>() > 0, "a stream has at least one channel") };
        let shift = size_of::<T>().trailing_zeros();
        Self { shift, odd: size_of::<T>() >> shift }
    }

    /// How many whole samples `len_bytes` are.
    #[inline]
    pub(crate) const fn samples(self, len_bytes: usize) -> usize {
        let units = len_bytes >> self.shift;
        if self.odd == 1 { units } else { units / self.odd }
    }

    /// How many bytes `samples` are.
    #[inline]
    pub(crate) const fn bytes(self, samples: usize) -> usize {
        (samples * self.odd) << self.shift
    }
}

/// One bit of a stream of bits, in a byte of its own: 0 or 1. Of another byte it is the lowest bit.
///
/// ```
/// use samplewire_circuit::{Bit, view};
///
/// let bits: &[Bit] = view(&[0, 1, 2, 255])?;
/// assert_eq!(bits, [false, true, false, true].map(Bit::new));
/// assert!(bits[3].is_set());
/// # Ok::<(), samplewire_circuit::ViewError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Bit(u8);

impl Bit {
    /// 1 when it `is_set`.
    pub const fn new(is_set: bool) -> Self {
        Self(is_set as u8)
    }

    /// Whether it is 1.
    pub const fn is_set(self) -> bool {
        self.0 & 1 == 1
    }
}

impl PartialEq for Bit {
    fn eq(&self, other: &Self) -> bool {
        self.is_set() == other.is_set()
    }
}

impl Eq for Bit {}

impl From<bool> for Bit {
    fn from(is_set: bool) -> Self {
        Self::new(is_set)
    }
}

impl sealed::Sealed for Bit {}

impl Sample for Bit {
    const NAME: &'static str = "bit";
    const PLURAL: &'static str = "bits";
}

/// Sees `bytes` as samples in this machine's byte order.
///
/// # Errors
/// The bytes are no whole number of samples, or not aligned for them.
pub fn view<T: Sample>(bytes: &[u8]) -> Result<&[T], ViewError> {
    bytemuck::try_cast_slice(bytes).map_err(|error| ViewError::new::<T>(error, bytes))
}

/// Sees `bytes` as samples that can be written.
pub(crate) fn view_mut<T: Sample>(bytes: &mut [u8]) -> Result<&mut [T], ViewError> {
    // Checked first on the shared slice: the error needs the bytes that the cast keeps borrowed.
    view::<T>(bytes)?;
    Ok(bytemuck::cast_slice_mut(bytes))
}

/// Why bytes cannot be seen as samples of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// The bytes are not a whole number of samples.
    #[error("{len_bytes} bytes are not a whole number of {sample} ({sample_bytes} bytes each)")]
    Length {
        /// How many bytes there are.
        len_bytes: usize,
        /// The sample's type.
        sample: &'static str,
        /// The sample's size.
        sample_bytes: usize,
    },
    /// The bytes begin where no sample of the type can: their front was moved by an odd length.
    #[error("the data begin at an address that is not a multiple of {align_bytes} ({sample})")]
    Alignment {
        /// What the address must be a multiple of.
        align_bytes: usize,
        /// The sample's type.
        sample: &'static str,
    },
}

impl ViewError {
    fn new<T: Sample>(error: PodCastError, bytes: &[u8]) -> Self {
        match error {
            PodCastError::TargetAlignmentGreaterAndInputNotAligned => {
                Self::Alignment { align_bytes: align_of::<T>(), sample: T::NAME }
            }
            _ => Self::Length {
                len_bytes: bytes.len(),
                sample: T::NAME,
                sample_bytes: size_of::<T>(),
            },
        }
    }
}

mod sealed {
    /// Keeps [`super::Sample`] to the types above.
    pub trait Sealed {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_lie_side_by_side() {
        let words = [1_i32, 2, 3, 4];
        let frames: &[[i32; 2]] = view(bytemuck::cast_slice(&words)).unwrap();
        assert_eq!(frames, [[1, 2], [3, 4]]);
        let error = view::<[i32; 3]>(bytemuck::cast_slice(&words)).unwrap_err().to_string();
        assert_eq!(error, "16 bytes are not a whole number of i32 (12 bytes each)");
    }

    #[test]
    fn sizes_count_whole_samples() {
        for size in [SampleSize::of::<[f32; 3]>(), SampleSize::of::<[f32; 6]>()] {
            assert_eq!(
                (size.samples(239), size.samples(240)),
                (239 / size.bytes(1), size.samples(241))
            );
            assert_eq!(size.samples(size.bytes(77)), 77);
        }
        assert_eq!(SampleSize::of::<[f32; 3]>().bytes(5), 60);
        assert_eq!(SampleSize::of::<u8>().samples(5), 5);
    }

    #[test]
    fn half_a_sample_is_refused_with_the_lengths() {
        let words = [0_u32; 2];
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        assert_eq!(view::<Complex<i16>>(bytes).unwrap().len(), 2);
        assert_eq!(
            view::<Complex<i16>>(&bytes[..6]),
            Err(ViewError::Length { len_bytes: 6, sample: "complex i16", sample_bytes: 4 })
        );
    }

    #[test]
    fn odd_address_is_refused_for_wide_samples_only() {
        let words = [0_u32; 2];
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        assert_eq!(
            view::<i16>(&bytes[1..5]),
            Err(ViewError::Alignment { align_bytes: 2, sample: "i16" })
        );
        assert_eq!(view::<Complex<i8>>(&bytes[1..5]).unwrap().len(), 2);
    }
}
