//! Numbers as SDR users write them: `250M`, `2.5e8`, `-1k`.

/// Reads a number with an optional `k`, `M` or `G` behind it.
///
/// ```
/// use samplewire_record::source::parse_quantity;
///
/// assert_eq!(parse_quantity("250M"), Ok(2.5e8));
/// assert_eq!(parse_quantity("2.5e8"), Ok(2.5e8));
/// assert!(parse_quantity("250m").is_err());
/// ```
///
/// # Errors
/// [`QuantityError`] with the text when it is no finite number.
pub fn parse_quantity(text: &str) -> Result<f64, QuantityError> {
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'k') => (&text[..text.len() - 1], 1e3),
        Some(b'M') => (&text[..text.len() - 1], 1e6),
        Some(b'G') => (&text[..text.len() - 1], 1e9),
        _ => (text, 1.0),
    };
    let number = digits.parse::<f64>().ok().map(|number| number * factor);
    number
        .filter(|number| number.is_finite())
        .ok_or_else(|| QuantityError { text: text.to_owned() })
}

/// The text is no number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no number such as 250M, 2.5e8 or 20k")]
pub struct QuantityError {
    /// The text.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_multiply() {
        assert_eq!(parse_quantity("-1k"), Ok(-1e3));
        assert_eq!(parse_quantity("0.5G"), Ok(5e8));
    }

    #[test]
    fn text_that_is_no_finite_number_is_named() {
        for text in ["", "k", "fast", "1e400", "inf", "nan", "1 M", "1Mk", "1é"] {
            assert_eq!(parse_quantity(text), Err(QuantityError { text: text.to_owned() }));
        }
    }
}
