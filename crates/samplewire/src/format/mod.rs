//! Sample formats: their names, and conversion between them.
//!
//! [`Format`] is the protocol's list. In memory and in files all are little-endian; the two parts
//! of a complex sample stand side by side, I first, and so do the samples that several channels
//! took at one index, channel 0 first.

mod convert;
mod typed;

use samplewire_blocks::kernels::Part;

pub use convert::{ConvertError, convert};
pub use samplewire_proto::wire::Format;
pub use typed::{FormError, FormSample, check_form};

/// The format with this name.
///
/// ```
/// use samplewire::format::{self, Format};
///
/// assert_eq!(format::parse("sc16"), Ok(Format::Sc16));
/// assert!(format::parse("sc12").is_err());
/// ```
///
/// # Errors
/// [`UnknownFormat`] with the name.
pub fn parse(name: &str) -> Result<Format, UnknownFormat> {
    let known = Format::ALL.into_iter().find(|format| format.as_str() == name);
    known.ok_or_else(|| UnknownFormat { name: name.to_owned() })
}

/// The distance of a part's value from zero that counts as 1.0: one step more than the largest
/// that an integer format holds.
///
/// ```
/// use samplewire::format::{Format, full_scale};
///
/// assert_eq!(full_scale(Format::Sc16), 32_768.0);
/// assert_eq!(full_scale(Format::Fc32), 1.0);
/// ```
pub const fn full_scale(format: Format) -> f32 {
    let full_scale = match format {
        Format::Sc8 | Format::R8 => i8::FULL_SCALE,
        Format::Uc8 => u8::FULL_SCALE,
        Format::Sc16 | Format::R16 => i16::FULL_SCALE,
        Format::Fc32 | Format::Rf32 => f32::FULL_SCALE,
    };
    full_scale as f32
}

/// No format has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("sample format `{name}` is unknown: one of sc8, sc16, fc32, r8, r16, rf32, uc8")]
pub struct UnknownFormat {
    /// The name.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_finds_its_format_and_is_offered() {
        let offered = parse("sc12").unwrap_err().to_string();
        for format in Format::ALL {
            assert_eq!(parse(format.as_str()), Ok(format));
            assert!(offered.contains(format.as_str()), "{offered}");
        }
    }
}
