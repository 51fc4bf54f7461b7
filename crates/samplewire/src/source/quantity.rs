//! Numbers as SDR users write them: `250M`, `2.5e8`, `10MHz`, `4MB`, `1%`, `100us`.

use std::time::Duration;

/// Reads a number with an optional `k`, `M`, `G` or `T` behind it.
///
/// ```
/// use samplewire::source::parse_quantity;
///
/// assert_eq!(parse_quantity("250M"), Ok(2.5e8));
/// assert_eq!(parse_quantity("2.5e8"), Ok(2.5e8));
/// assert!(parse_quantity("250m").is_err());
/// ```
///
/// # Errors
/// [`QuantityError`] with the text when it is no finite number.
pub fn parse_quantity(text: &str) -> Result<f64, QuantityError> {
    scaled(text, &PREFIXES).ok_or_else(|| error(text, "250M, 2.5e8 or 20k"))
}

/// Reads a sample rate or a frequency: a quantity, with `Hz`, `S/s` or `sps` behind it or not.
///
/// ```
/// use samplewire::source::parse_rate;
///
/// assert_eq!(parse_rate("10MHz"), Ok(1e7));
/// assert_eq!(parse_rate("2.5MS/s"), Ok(2.5e6));
/// assert_eq!(parse_rate("20M"), Ok(2e7));
/// ```
///
/// # Errors
/// [`QuantityError`].
pub fn parse_rate(text: &str) -> Result<f64, QuantityError> {
    let digits = without_unit(text, &["hz", "s/s", "sps"]);
    scaled(digits, &PREFIXES).ok_or_else(|| error(text, "250M, 2.5e8, 10MHz or 2.5MS/s"))
}

/// Reads bits a second: a quantity, with `bit/s`, `b/s` or `bps` behind it or not.
///
/// ```
/// use samplewire::source::parse_bit_rate;
///
/// assert_eq!(parse_bit_rate("2.5Gb/s"), Ok(2.5e9));
/// ```
///
/// # Errors
/// [`QuantityError`].
pub fn parse_bit_rate(text: &str) -> Result<f64, QuantityError> {
    // `GB/s` are bytes, and would be read as an eighth.
    let is_bytes = text.ends_with("B/s") || text.ends_with("Bps");
    let digits = if is_bytes { text } else { without_unit(text, &["bit/s", "b/s", "bps"]) };
    scaled(digits, &PREFIXES).ok_or_else(|| error(text, "800M, 2.5e9 or 2.5Gb/s"))
}

/// Reads a size in bytes: a quantity, with `B` behind it or not; `KiB`, `MiB` and `GiB` are powers
/// of 1,024.
///
/// ```
/// use samplewire::source::parse_size;
///
/// assert_eq!(parse_size("4MB"), Ok(4e6));
/// assert_eq!(parse_size("4MiB"), Ok(4_194_304.0));
/// ```
///
/// # Errors
/// [`QuantityError`].
pub fn parse_size(text: &str) -> Result<f64, QuantityError> {
    let digits = text.strip_suffix('B').unwrap_or(text);
    let read = scaled(digits, &BINARY_PREFIXES).or_else(|| scaled(digits, &PREFIXES));
    read.ok_or_else(|| error(text, "4M, 4MB, 4MiB or 4e6"))
}

/// Reads a share: `0.01` or `1%`.
///
/// ```
/// use samplewire::source::parse_share;
///
/// assert_eq!(parse_share("1%"), Ok(0.01));
/// assert_eq!(parse_share("0.5"), Ok(0.5));
/// ```
///
/// # Errors
/// [`QuantityError`].
pub fn parse_share(text: &str) -> Result<f64, QuantityError> {
    let read = match text.strip_suffix('%') {
        Some(digits) => scaled(digits, &[]).map(|percent| percent / 100.0),
        None => scaled(text, &[]),
    };
    read.ok_or_else(|| error(text, "0.01 or 1%"))
}

/// Reads a time above zero: `5ms`, `1.5s`, `2min`; a bare number is in seconds.
///
/// ```
/// use std::time::Duration;
/// use samplewire::source::parse_time;
///
/// assert_eq!(parse_time("100us"), Ok(Duration::from_micros(100)));
/// assert_eq!(parse_time("3"), Ok(Duration::from_secs(3)));
/// ```
///
/// # Errors
/// [`TimeError`] with the text when it is no time above zero.
pub fn parse_time(text: &str) -> Result<Duration, TimeError> {
    let (digits, seconds) = TIME_UNITS
        .iter()
        .find_map(|&(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)))
        .unwrap_or((text, 1.0));
    let span = digits.parse::<f64>().ok().map(|count| count * seconds);
    span.filter(|&span| span > 0.0)
        .and_then(|span| Duration::try_from_secs_f64(span).ok())
        .filter(|span| !span.is_zero())
        .ok_or_else(|| TimeError { text: text.to_owned() })
}

/// The text without one of `units`, which are in lower case, at its end.
fn without_unit<'a>(text: &'a str, units: &[&str]) -> &'a str {
    let stripped = units.iter().find_map(|unit| {
        let (digits, end) = text.split_at_checked(text.len().checked_sub(unit.len())?)?;
        end.eq_ignore_ascii_case(unit).then_some(digits)
    });
    stripped.unwrap_or(text)
}

/// The finite number in `text`, times the factor of its prefix.
fn scaled(text: &str, prefixes: &[(&str, f64)]) -> Option<f64> {
    let (digits, factor) = prefixes
        .iter()
        .find_map(|&(prefix, factor)| Some((text.strip_suffix(prefix)?, factor)))
        .unwrap_or((text, 1.0));
    let number = digits.parse::<f64>().ok()? * factor;
    number.is_finite().then_some(number)
}

fn error(text: &str, examples: &'static str) -> QuantityError {
    QuantityError { text: text.to_owned(), examples }
}

/// The text is no number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no number such as {examples}")]
pub struct QuantityError {
    /// The text.
    pub text: String,
    /// What it may look like.
    pub examples: &'static str,
}

/// The text is no time above zero.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no time above 0 such as 5ms, 1.5s or 2min (ns, us, ms, s, min)")]
pub struct TimeError {
    /// The text.
    pub text: String,
}

const PREFIXES: [(&str, f64); 4] = [("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];

const BINARY_PREFIXES: [(&str, f64); 5] = [
    ("Ki", 1024.0),
    ("ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
];

/// Longer suffixes before those that they end in.
const TIME_UNITS: [(&str, f64); 5] =
    [("min", 60.0), ("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_multiply() {
        assert_eq!(parse_quantity("-1k"), Ok(-1e3));
        assert_eq!(parse_quantity("0.5G"), Ok(5e8));
        assert_eq!(parse_quantity("10T"), Ok(1e13));
    }

    #[test]
    fn text_that_is_no_finite_number_is_named() {
        for text in ["", "k", "fast", "1e400", "inf", "nan", "1 M", "1Mk", "1é", "1MHz", "é"] {
            assert_eq!(parse_quantity(text).unwrap_err().text, text);
        }
        for text in ["Hz", "10MB", "1%", "é", "MS/s"] {
            assert_eq!(parse_rate(text).unwrap_err().text, text);
        }
    }

    #[test]
    fn units_are_those_of_the_kind() {
        for (text, rate_hz) in [("-250kHz", -250e3), ("1e6", 1e6), ("1Msps", 1e6), ("5 ", 0.0)] {
            assert_eq!(parse_rate(text).unwrap_or(0.0), rate_hz, "{text}");
        }
        for text in ["2.5G", "2.5Gbps", "2.5Gbit/s", "2.5Gb/s"] {
            assert_eq!(parse_bit_rate(text), Ok(2.5e9), "{text}");
        }
        assert!(parse_bit_rate("2.5GB/s").is_err(), "bytes are not bits");
        assert!(parse_bit_rate("2.5GHz").is_err());
        assert_eq!((parse_size("512B"), parse_size("4G")), (Ok(512.0), Ok(4e9)));
        assert_eq!(parse_size("1KiB"), Ok(1_024.0));
        assert!(parse_size("4Mb").is_err(), "bits are not bytes");
        assert!(parse_share("1k").is_err());
        assert_eq!(parse_share("0.1%"), Ok(0.001));
    }

    #[test]
    fn times_have_units_or_are_seconds() {
        assert_eq!(parse_time("0.5min"), Ok(Duration::from_secs(30)));
        for text in ["0", "-1s", "5m", "soon", "1e-12", "nan", "1e300", ""] {
            assert_eq!(parse_time(text), Err(TimeError { text: text.to_owned() }));
        }
    }
}
