//! Conversion between sample formats.

use samplewire_blocks::kernels::{Part, convert_le_bytes};
use samplewire_proto::wire::Format;

/// Converts the samples of `input` to another format at the start of `output`; returns the number
/// of bytes written. Channels may be interleaved: each sample is converted separately, by the rules
/// of [`samplewire_blocks::kernels::convert`].
///
/// ```
/// use samplewire::format::{Format, convert};
///
/// let mut out = [0; 4];
/// let written = convert(Format::Sc8, Format::Sc16, &[1, 0xFF], &mut out)?;
/// assert_eq!(written, 4);
/// assert_eq!(out, [0, 1, 0, 0xFF]);
/// # Ok::<(), samplewire::format::ConvertError>(())
/// ```
///
/// # Errors
/// [`ConvertError`] if one format is complex and the other real, if the length of `input` is not a
/// multiple of a sample, or if `output` is too short; then nothing is written.
pub fn convert(
    from: Format,
    to: Format,
    input: &[u8],
    output: &mut [u8],
) -> Result<usize, ConvertError> {
    if from.is_complex() != to.is_complex() {
        return Err(ConvertError::Parts { from, to });
    }
    if !input.len().is_multiple_of(from.sample_bytes()) {
        return Err(ConvertError::Length { len_bytes: input.len(), from });
    }
    let needed_bytes = input.len() / from.sample_bytes() * to.sample_bytes();
    let room_bytes = output.len();
    let output =
        output.get_mut(..needed_bytes).ok_or(ConvertError::Room { needed_bytes, room_bytes })?;
    convert_parts(from, to, input, output);
    Ok(needed_bytes)
}

/// Why samples cannot be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// One format is complex, the other real.
    #[error("{from} cannot become {to}: one is complex, the other real")]
    Parts {
        /// The format of the input.
        from: Format,
        /// The format of the output.
        to: Format,
    },
    /// The input ends within a sample.
    #[error("{len_bytes} bytes are no whole number of {from} samples of {} bytes", from.sample_bytes())]
    Length {
        /// The length of the input.
        len_bytes: usize,
        /// Its format.
        from: Format,
    },
    /// The output has too little room.
    #[error("the samples take {needed_bytes} bytes, the output has {room_bytes}")]
    Room {
        /// The length of the result.
        needed_bytes: usize,
        /// The length of the output.
        room_bytes: usize,
    },
}

fn convert_parts(from: Format, to: Format, input: &[u8], output: &mut [u8]) {
    match from {
        Format::Sc8 | Format::R8 => convert_from::<i8>(to, input, output),
        Format::Uc8 => convert_from::<u8>(to, input, output),
        Format::Sc16 | Format::R16 => convert_from::<i16>(to, input, output),
        Format::Fc32 | Format::Rf32 => convert_from::<f32>(to, input, output),
    }
}

fn convert_from<A: Part>(to: Format, input: &[u8], output: &mut [u8]) {
    match to {
        Format::Sc8 | Format::R8 => convert_le_bytes::<A, i8>(input, output),
        Format::Uc8 => convert_le_bytes::<A, u8>(input, output),
        Format::Sc16 | Format::R16 => convert_le_bytes::<A, i16>(input, output),
        Format::Fc32 | Format::Rf32 => convert_le_bytes::<A, f32>(input, output),
    }
}

#[cfg(test)]
mod tests {
    use super::Format::{Fc32, R8, R16, Rf32, Sc8, Sc16, Uc8};
    use super::*;

    fn converted(from: Format, to: Format, input: &[u8]) -> Vec<u8> {
        let mut output = vec![0xEE; input.len() / from.sample_bytes() * to.sample_bytes()];
        assert_eq!(convert(from, to, input, &mut output), Ok(output.len()));
        output
    }

    fn f32_bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn every_i16() -> Vec<u8> {
        (i16::MIN..=i16::MAX).flat_map(i16::to_le_bytes).collect()
    }

    #[test]
    fn every_value_survives_wider_formats_and_back() {
        let every_u8: Vec<u8> = (0..=255).collect();
        for narrow in [Sc8, Uc8] {
            for wide in [Sc8, Uc8, Sc16, Fc32] {
                let there = converted(narrow, wide, &every_u8);
                assert_eq!(converted(wide, narrow, &there), every_u8, "{narrow} {wide}");
            }
        }
        let there = converted(R16, Rf32, &every_i16());
        assert_eq!(converted(Rf32, R16, &there), every_i16());
    }

    #[test]
    fn floats_beyond_full_scale_saturate() {
        let extremes =
            f32_bytes(&[1.0, -1.0, 1e30, -1e30, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -0.0]);
        assert_eq!(converted(Rf32, R8, &extremes), [127, 128, 127, 128, 127, 128, 0, 0]);
        assert_eq!(converted(Fc32, Uc8, &extremes), [255, 0, 255, 0, 255, 0, 128, 128]);
        let words = converted(Rf32, R16, &extremes);
        assert_eq!(words[..4], [0xFF, 0x7F, 0x00, 0x80]);
        assert_eq!(words[12..], [0, 0, 0, 0]);
    }

    #[test]
    fn not_a_number_with_any_payload_is_zero() {
        for bits in [0x7FC0_0001_u32, 0xFFFF_FFFF, 0x7F80_0001] {
            assert_eq!(converted(Rf32, R16, &bits.to_le_bytes()), [0, 0], "{bits:#x}");
        }
    }

    #[test]
    fn narrowing_agrees_with_the_way_over_floats() {
        let floats = converted(Sc16, Fc32, &every_i16());
        assert_eq!(converted(Sc16, Sc8, &every_i16()), converted(Fc32, Sc8, &floats));
        assert_eq!(converted(Sc16, Uc8, &every_i16()), converted(Fc32, Uc8, &floats));
    }

    #[test]
    fn unsigned_bytes_are_symmetric_about_their_zero() {
        assert_eq!(converted(Uc8, Fc32, &[64, 191]), f32_bytes(&[-63.5 / 128.0, 63.5 / 128.0]));
        let words = converted(Uc8, Sc16, &[0, 255]);
        assert_eq!(words, [(-32_640_i16).to_le_bytes(), 32_640_i16.to_le_bytes()].concat());
        assert_eq!(converted(Uc8, Sc8, &[0, 127, 128, 255]), [0x80, 0xFF, 0x00, 0x7F]);
    }

    #[test]
    fn complex_and_real_do_not_mix() {
        let error = convert(Sc16, R16, &[], &mut []).unwrap_err();
        assert_eq!(error.to_string(), "sc16 cannot become r16: one is complex, the other real");
    }

    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        let mut output = [1; 3];
        let error = convert(Sc8, Sc16, &[0; 3], &mut output).unwrap_err();
        assert_eq!(error.to_string(), "3 bytes are no whole number of sc8 samples of 2 bytes");
        let error = convert(Sc8, Sc16, &[0; 2], &mut output).unwrap_err();
        assert_eq!(error, ConvertError::Room { needed_bytes: 4, room_bytes: 3 });
        assert_eq!(output, [1; 3]);
    }
}
