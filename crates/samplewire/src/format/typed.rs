//! Which type of sample a format is in memory.

use num_complex::Complex;
use samplewire_circuit::Sample;
use samplewire_proto::wire::Format;

use crate::source::StreamInfo;

/// A type of sample that is a format on the wire and in files; `[T; N]` is one of `N` channels.
pub trait FormSample: Sample {
    /// The format.
    const FORMAT: Format;
    /// How many channels a stream of it has.
    const CHANNELS: u16 = 1;
}

impl<S: FormSample, const N: usize> FormSample for [S; N] {
    const FORMAT: Format = S::FORMAT;
    const CHANNELS: u16 = {
        let channels = S::CHANNELS as usize * N;
        assert!(1 <= channels && channels <= u16::MAX as usize, "1 to 65,535 channels");
        channels as u16
    };
}

macro_rules! forms {
    ($($sample:ty => $format:ident),*) => {$(
        impl FormSample for $sample {
            const FORMAT: Format = Format::$format;
        }
    )*};
}

forms! {
    Complex<i8> => Sc8, Complex<u8> => Uc8, Complex<i16> => Sc16, Complex<f32> => Fc32,
    i8 => R8, i16 => R16, f32 => Rf32
}

/// Why a stream cannot be one of a type of sample.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormError {
    /// Its format is another.
    #[error(
        "the stream is {found}, and {sample} is {wanted}: use the stream's format and convert it"
    )]
    Format {
        /// The stream's format.
        found: Format,
        /// The type of the block's samples.
        sample: &'static str,
        /// Its format.
        wanted: Format,
    },
    /// It has another number of channels.
    #[error("the stream's channels of {sample} are {found}, not {wanted}: use [T; {found}]")]
    Channels {
        /// How many it has.
        found: u16,
        /// The type of a channel's samples.
        sample: &'static str,
        /// How many the block's samples are of.
        wanted: u16,
    },
    /// This machine is big-endian.
    #[error("samples of {format} are little-endian, and this machine is not")]
    ByteOrder {
        /// The format.
        format: Format,
    },
}

/// Checks that a sample of a stream is a `T`.
///
/// # Errors
/// [`FormError`] names what differs.
pub fn check_form<T: FormSample>(info: &StreamInfo) -> Result<(), FormError> {
    if info.format != T::FORMAT {
        let (found, sample, wanted) = (info.format, T::NAME, T::FORMAT);
        return Err(FormError::Format { found, sample, wanted });
    }
    if info.channels != T::CHANNELS {
        let (found, sample, wanted) = (info.channels, T::NAME, T::CHANNELS);
        return Err(FormError::Channels { found, sample, wanted });
    }
    if cfg!(target_endian = "big") && align_of::<T>() > 1 {
        return Err(FormError::ByteOrder { format: info.format });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_names_both_formats() {
        let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
        assert_eq!(check_form::<Complex<i16>>(&info), Ok(()));
        let error = check_form::<Complex<f32>>(&info).unwrap_err().to_string();
        assert!(error.contains("sc16, and complex f32 is fc32"), "{error}");
        let info = StreamInfo::new(Format::R16, 4, 1e6).unwrap();
        assert_eq!(check_form::<[i16; 4]>(&info), Ok(()));
        assert_eq!(check_form::<[[i16; 2]; 2]>(&info), Ok(()));
        let error = check_form::<i16>(&info).unwrap_err().to_string();
        assert!(error.contains("channels of i16 are 4"), "{error}");
    }

    #[test]
    fn samples_are_as_long_as_their_formats_say() {
        fn len<T: FormSample>() -> (usize, usize) {
            (size_of::<T>(), T::FORMAT.sample_bytes())
        }
        for (len, format_len) in [
            len::<Complex<i8>>(),
            len::<Complex<u8>>(),
            len::<Complex<i16>>(),
            len::<Complex<f32>>(),
            len::<i8>(),
            len::<i16>(),
            len::<f32>(),
        ] {
            assert_eq!(len, format_len);
        }
    }
}
