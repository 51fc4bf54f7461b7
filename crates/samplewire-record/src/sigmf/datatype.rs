//! SigMF's names for the sample formats.

use samplewire_proto::wire::Format;

/// Returns the datatype of a format.
pub(super) const fn datatype_of(format: Format) -> &'static str {
    match format {
        Format::Sc8 => "ci8",
        Format::Sc16 => "ci16_le",
        Format::Fc32 => "cf32_le",
        Format::R8 => "ri8",
        Format::R16 => "ri16_le",
        Format::Rf32 => "rf32_le",
        Format::Uc8 => "cu8",
    }
}

/// Returns the format of a datatype.
///
/// ```
/// use samplewire::format::Format;
/// use samplewire_record::sigmf;
///
/// assert_eq!(sigmf::format_of("cu8"), Ok(Format::Uc8));
/// assert!(sigmf::format_of("ci16_be").is_err(), "the other byte order");
/// ```
///
/// # Errors
/// [`UnknownDatatype`] with the datatype.
pub fn format_of(datatype: &str) -> Result<Format, UnknownDatatype> {
    let known = Format::ALL.into_iter().find(|&format| datatype_of(format) == datatype);
    known.ok_or_else(|| UnknownDatatype { datatype: datatype.to_owned() })
}

/// The datatype of no known format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "datatype `{datatype}` is unknown: one of cu8, ci8, ci16_le, cf32_le, ri8, ri16_le, rf32_le"
)]
pub struct UnknownDatatype {
    /// The datatype.
    pub datatype: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_datatype_finds_its_format_and_is_offered() {
        let offered = format_of("ci16_be").unwrap_err().to_string();
        for format in Format::ALL {
            assert_eq!(samplewire::format::parse(datatype_of(format)), Ok(format));
            assert_eq!(format_of(datatype_of(format)), Ok(format));
            assert!(offered.contains(datatype_of(format)), "{offered}");
        }
    }
}
