//! Which type of sample a format is in memory.

use num_complex::Complex;
use samplewire_circuit::Sample;
use samplewire_proto::wire::Format;

use crate::source::StreamInfo;

/// A type of sample that is a format on the wire and in files.
pub trait FormSample: Sample {
    /// The format.
    const FORMAT: Format;
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
        "the stream is {found}, and the block is for {sample}, which is {wanted}: make the block for \
         the stream's format and convert behind it"
    )]
    Format {
        /// The stream's format.
        found: Format,
        /// The type of the block's samples.
        sample: &'static str,
        /// Its format.
        wanted: Format,
    },
    /// It has several channels.
    #[error("the stream has {channels} channels: a circuit's streams have one each")]
    Channels {
        /// How many.
        channels: u16,
    },
    /// This machine is big-endian.
    #[error("samples of {format} are little-endian, and this machine is not")]
    ByteOrder {
        /// The format.
        format: Format,
    },
}

/// Refuses a stream of which a sample is no `T`.
pub(super) fn check<T: FormSample>(info: &StreamInfo) -> Result<(), FormError> {
    if info.format != T::FORMAT {
        let (found, sample, wanted) = (info.format, T::NAME, T::FORMAT);
        return Err(FormError::Format { found, sample, wanted });
    }
    if info.channels != 1 {
        return Err(FormError::Channels { channels: info.channels });
    }
    if cfg!(target_endian = "big") && size_of::<T>() > 1 {
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
        assert_eq!(check::<Complex<i16>>(&info), Ok(()));
        let error = check::<Complex<f32>>(&info).unwrap_err().to_string();
        assert!(error.contains("sc16") && error.contains("complex f32, which is fc32"), "{error}");
        let info = StreamInfo::new(Format::R16, 4, 1e6).unwrap();
        assert_eq!(check::<i16>(&info), Err(FormError::Channels { channels: 4 }));
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
