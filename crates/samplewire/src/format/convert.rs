//! Conversion between sample formats.
//!
//! A part of a sample is a fraction of full scale: `i8` are 128ths, `u8` less 127.5 are 128ths,
//! `i16` are 32,768ths. A conversion gives the nearest fraction that the other format holds, the
//! even one at a tie, and the largest or smallest beyond its ends; not-a-number becomes zero. A
//! wider format and back is therefore the identity. Between `u8` and `i8`, whose steps lie half a
//! step apart, each step becomes the one just below it and back, so that none is lost.

use samplewire_proto::wire::Format;

use super::full_scale;

/// Writes the samples of `input` to the front of `output` in another format; says how many bytes
/// that took. Channels may be interleaved: each sample is converted by itself.
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
/// [`ConvertError`] when one format is complex and the other real, when `input` is no whole number
/// of samples, and when `output` is too short; then nothing is written.
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
    convert_parts(Part::of(from), Part::of(to), input, output);
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

/// What one part of a sample is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    I8,
    U8,
    I16,
    F32,
}

impl Part {
    const fn of(format: Format) -> Self {
        match format {
            Format::Sc8 | Format::R8 => Self::I8,
            Format::Uc8 => Self::U8,
            Format::Sc16 | Format::R16 => Self::I16,
            Format::Fc32 | Format::Rf32 => Self::F32,
        }
    }
}

fn convert_parts(from: Part, to: Part, input: &[u8], output: &mut [u8]) {
    use Part::{F32, I8, I16, U8};
    match (from, to) {
        (I8, I8) | (U8, U8) | (I16, I16) | (F32, F32) => output.copy_from_slice(input),
        (I8, U8) | (U8, I8) => each(input, output, |[byte]| [byte ^ 0x80]),
        (I8, I16) => each(input, output, |[byte]| i16_of_i8(byte as i8).to_le_bytes()),
        (U8, I16) => each(input, output, |[byte]| i16_of_u8(byte).to_le_bytes()),
        (I16, I8) => each(input, output, |word| i8_of_i16(i16::from_le_bytes(word)).to_le_bytes()),
        (I16, U8) => each(input, output, |word| [u8_of_i16(i16::from_le_bytes(word))]),
        (I8, F32) => each(input, output, |[byte]| f32_of_i8(byte as i8).to_le_bytes()),
        (U8, F32) => each(input, output, |[byte]| f32_of_u8(byte).to_le_bytes()),
        (I16, F32) => {
            each(input, output, |word| f32_of_i16(i16::from_le_bytes(word)).to_le_bytes())
        }
        (F32, I8) => each(input, output, |word| i8_of_f32(f32::from_le_bytes(word)).to_le_bytes()),
        (F32, U8) => each(input, output, |word| [u8_of_f32(f32::from_le_bytes(word))]),
        (F32, I16) => {
            each(input, output, |word| i16_of_f32(f32::from_le_bytes(word)).to_le_bytes())
        }
    }
}

fn each<const A: usize, const B: usize>(
    input: &[u8],
    output: &mut [u8],
    one: impl Fn([u8; A]) -> [u8; B],
) {
    let (input, _) = input.as_chunks::<A>();
    let (output, _) = output.as_chunks_mut::<B>();
    for (output, input) in output.iter_mut().zip(input) {
        *output = one(*input);
    }
}

fn i16_of_i8(value: i8) -> i16 {
    i16::from(value) << 8
}

fn i16_of_u8(value: u8) -> i16 {
    (i16::from(value) << 8).wrapping_sub(ZERO_OF_U8 as i16)
}

fn i8_of_i16(value: i16) -> i8 {
    nearest_256th(i32::from(value)).min(127) as i8
}

fn u8_of_i16(value: i16) -> u8 {
    nearest_256th(i32::from(value) + ZERO_OF_U8).clamp(0, 255) as u8
}

/// `value / 256` to the nearest integer, the even one at a tie.
fn nearest_256th(value: i32) -> i32 {
    // Half a step less one, and one more where the step below is odd.
    (value + 127 + ((value >> 8) & 1)) >> 8
}

fn f32_of_i8(value: i8) -> f32 {
    f32::from(value) / full_scale(Format::Sc8)
}

fn f32_of_u8(value: u8) -> f32 {
    (f32::from(value) - 127.5) / full_scale(Format::Uc8)
}

fn f32_of_i16(value: i16) -> f32 {
    f32::from(value) / full_scale(Format::Sc16)
}

fn i8_of_f32(fraction: f32) -> i8 {
    nearest(fraction * full_scale(Format::Sc8), 0.0, -128.0, 127.0) as i8
}

fn u8_of_f32(fraction: f32) -> u8 {
    nearest(fraction * full_scale(Format::Uc8), 127.5, 0.0, 255.0) as u8
}

fn i16_of_f32(fraction: f32) -> i16 {
    nearest(fraction * full_scale(Format::Sc16), 0.0, -32_768.0, 32_767.0) as i16
}

/// The integer nearest to `value + zero` within `min` and `max`, which lie within 2^22 of 0.
fn nearest(value: f32, zero: f32, min: f32, max: f32) -> i32 {
    let value = if value.is_nan() { zero } else { value + zero };
    // At this height neighbouring floats are 1 apart: the addition itself rounds, ties to even,
    // and the integer stands in the low bits. `f32::round_ties_even` is a call for each sample on
    // the x86-64 that binaries are built for.
    let shifted = value.clamp(min, max) + INTEGERS_F32;
    shifted.to_bits() as i32 - INTEGERS_F32.to_bits() as i32
}

/// 1.5 * 2^23: adding a number within 2^22 of zero stays where floats are the integers.
const INTEGERS_F32: f32 = 12_582_912.0;

/// 127.5 steps of `u8` in steps of `i16`.
const ZERO_OF_U8: i32 = 255 * 128;

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
    fn floats_round_to_nearest_and_ties_to_even() {
        for step in -70_000..70_000 {
            let value = step as f32 / 65_536.0;
            assert_eq!(i16_of_f32(value), (value * 32_768.0).round_ties_even() as i16, "{value}");
            assert_eq!(i8_of_f32(value), (value * 128.0).round_ties_even() as i8, "{value}");
            assert_eq!(
                u8_of_f32(value),
                (value * 128.0 + 127.5).round_ties_even() as u8,
                "{value}"
            );
        }
    }

    #[test]
    fn narrowing_agrees_with_the_way_over_floats() {
        let floats = converted(Sc16, Fc32, &every_i16());
        assert_eq!(converted(Sc16, Sc8, &every_i16()), converted(Fc32, Sc8, &floats));
        assert_eq!(converted(Sc16, Uc8, &every_i16()), converted(Fc32, Uc8, &floats));
        assert_eq!(i8_of_i16(i16::MAX), 127);
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
