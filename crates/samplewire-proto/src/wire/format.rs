//! Sample formats: what the bytes of a payload are.

use core::fmt;

/// A sample format; numbers of more than a byte are little-endian in payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Format {
    /// Complex, signed 8 bits each.
    Sc8 = 1,
    /// Complex, signed 16 bits each.
    Sc16 = 2,
    /// Complex, 32-bit floats.
    Fc32 = 3,
    /// Real, signed 8 bits.
    R8 = 4,
    /// Real, signed 16 bits.
    R16 = 5,
    /// Real, 32-bit floats.
    Rf32 = 6,
    /// Complex, unsigned 8 bits each with the zero at 127.5, as of RTL-SDR receivers.
    Uc8 = 7,
}

impl Format {
    /// Every format, in the order of their numbers.
    pub const ALL: [Self; 7] =
        [Self::Sc8, Self::Sc16, Self::Fc32, Self::R8, Self::R16, Self::Rf32, Self::Uc8];

    /// The format's number.
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// The format of a number, `None` for one of a later version.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.number() == number)
    }

    /// The length in bytes of one sample of one channel.
    pub const fn sample_bytes(self) -> usize {
        match self {
            Self::R8 => 1,
            Self::Sc8 | Self::Uc8 | Self::R16 => 2,
            Self::Sc16 | Self::Rf32 => 4,
            Self::Fc32 => 8,
        }
    }

    /// Whether a sample has two parts.
    pub const fn is_complex(self) -> bool {
        matches!(self, Self::Sc8 | Self::Sc16 | Self::Fc32 | Self::Uc8)
    }

    /// The format's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sc8 => "sc8",
            Self::Sc16 => "sc16",
            Self::Fc32 => "fc32",
            Self::R8 => "r8",
            Self::R16 => "r16",
            Self::Rf32 => "rf32",
            Self::Uc8 => "uc8",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_the_numbers_of_the_specification() {
        for (number, format) in (1..).zip(Format::ALL) {
            assert_eq!(format.number(), number);
            assert_eq!(Format::from_number(number), Some(format));
        }
        let names = Format::ALL.map(|format| format.to_string());
        assert_eq!(names, ["sc8", "sc16", "fc32", "r8", "r16", "rf32", "uc8"]);
        assert_eq!(Format::from_number(0), None);
        assert_eq!(Format::from_number(8), None);
    }

    #[test]
    fn complex_sample_has_two_parts_of_whole_bytes() {
        for format in Format::ALL {
            let parts = if format.is_complex() { 2 } else { 1 };
            assert_eq!(format.sample_bytes() % parts, 0, "{format}");
        }
        assert_eq!(Format::Sc16.sample_bytes(), 4);
    }
}
