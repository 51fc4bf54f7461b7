//! Sample formats: their names, and conversion between them.
//!
//! [`Format`] is the protocol's list. In memory and in files all are little-endian; the two parts
//! of a complex sample stand side by side, I first, and so do the samples that several channels
//! took at one index, channel 0 first.

mod convert;

use samplewire_blocks::kernels::Part;

pub use convert::{ConvertError, convert};
pub use samplewire_proto::wire::Format;

/// The format with this name: its own, or one of its [`aliases`], in any case.
///
/// ```
/// use samplewire::format::{self, Format};
///
/// assert_eq!(format::parse("sc16"), Ok(Format::Sc16));
/// assert_eq!(format::parse("ci16_le"), Ok(Format::Sc16));
/// assert_eq!(format::parse("CS16"), Ok(Format::Sc16));
/// assert!(format::parse("sc12").is_err());
/// ```
///
/// # Errors
/// [`UnknownFormat`] with the name.
pub fn parse(name: &str) -> Result<Format, UnknownFormat> {
    let is_meant = |known: &str| known.eq_ignore_ascii_case(name);
    let known = Format::ALL.into_iter().find(|&format| {
        is_meant(format.as_str()) || aliases(format).iter().any(|alias| is_meant(alias))
    });
    known.ok_or_else(|| UnknownFormat { name: name.to_owned() })
}

/// Other names of a format: SigMF's, then SoapySDR's, which GNU Radio uses too.
pub const fn aliases(format: Format) -> [&'static str; 2] {
    match format {
        Format::Sc8 => ["ci8", "CS8"],
        Format::Sc16 => ["ci16_le", "CS16"],
        Format::Fc32 => ["cf32_le", "CF32"],
        Format::R8 => ["ri8", "S8"],
        Format::R16 => ["ri16_le", "S16"],
        Format::Rf32 => ["rf32_le", "F32"],
        Format::Uc8 => ["cu8", "CU8"],
    }
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
#[error("sample format `{name}` is unknown: one of {}", known_names())]
pub struct UnknownFormat {
    /// The name.
    pub name: String,
}

/// All names, the aliases of each format in parentheses.
fn known_names() -> String {
    let names = Format::ALL.map(|format| format!("{format} ({})", aliases(format).join(", ")));
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alias_finds_its_format_in_any_case_and_is_offered() {
        let offered = parse("CS12").unwrap_err().to_string();
        assert!(offered.starts_with("sample format `CS12` is unknown: one of sc8 (ci8, CS8), "));
        for format in Format::ALL {
            for alias in aliases(format) {
                assert_eq!(parse(alias), Ok(format));
                assert_eq!(parse(&alias.to_lowercase()), Ok(format));
                assert!(offered.contains(alias), "{offered}");
            }
            assert_eq!(aliases(format)[0], crate::sigmf::datatype_of(format));
        }
    }

    #[test]
    fn every_name_finds_its_format_and_is_offered() {
        let offered = parse("sc12").unwrap_err().to_string();
        for format in Format::ALL {
            assert_eq!(parse(format.as_str()), Ok(format));
            assert!(offered.contains(format.as_str()), "{offered}");
        }
    }
}
