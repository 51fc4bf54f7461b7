//! Formats numbers for people: `4,000`, `61.44 MS/s`, `2.0 ms`, `1.28 Gb/s`.

use std::ops::Range;
use std::time::Duration;

/// A count with a comma between thousands.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A configured quantity: all its digits, up to six after the point.
pub(crate) fn exact(value: f64, unit: &str) -> String {
    let (scaled, prefix) = scale(value);
    let digits = format!("{scaled:.6}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits} {prefix}{unit}")
}

/// A measured quantity: three digits.
pub(crate) fn measured(value: f64, unit: &str) -> String {
    let (scaled, prefix) = scale(value);
    let decimals = match scaled.abs() {
        size if prefix.is_empty() && size.fract() == 0.0 => 0,
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{scaled:.decimals$} {prefix}{unit}")
}

/// A time span: one digit after the point.
pub(crate) fn span(seconds: f64) -> String {
    match seconds {
        _ if seconds >= 0.999_95 => format!("{seconds:.1} s"),
        _ if seconds >= 0.999_95e-3 => format!("{:.1} ms", seconds * 1e3),
        _ if seconds >= 0.999_95e-6 => format!("{:.1} us", seconds * 1e6),
        _ => format!("{:.1} ns", seconds * 1e9),
    }
}

/// `0..29999999 (30,000,000)`: the last index is the last sample's.
pub(crate) fn indexes_words(range: Range<u64>) -> String {
    match range.end - range.start {
        0 => format!("none from {}", range.start),
        count => format!("{}..{} ({})", range.start, range.end - 1, grouped(count)),
    }
}

/// The bits per second of `bytes` in `elapsed`; 0 if no time has passed.
pub(crate) fn bits_per_second(bytes: u64, elapsed: Duration) -> f64 {
    let seconds = elapsed.as_secs_f64();
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}

fn scale(value: f64) -> (f64, &'static str) {
    match value.abs() {
        size if size >= 1e12 => (value / 1e12, "T"),
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        let cases = [(0, "0"), (999, "999"), (4_000, "4,000"), (81_920_000, "81,920,000")];
        for (count, text) in cases {
            assert_eq!(grouped(count), text);
        }
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn rates_keep_the_digits_that_were_set() {
        assert_eq!(exact(61.44e6, "S/s"), "61.44 MS/s");
        assert_eq!(exact(20e6, "S/s"), "20 MS/s");
        assert_eq!(exact(1.09e9, "Hz"), "1.09 GHz");
        assert_eq!(exact(0.0, "Hz"), "0 Hz");
        assert_eq!(exact(-250e3, "Hz"), "-250 kHz");
    }

    #[test]
    fn measurements_have_three_digits() {
        assert_eq!(measured(1.284e9, "b/s"), "1.28 Gb/s");
        assert_eq!(measured(640.4e6, "b/s"), "640 Mb/s");
        assert_eq!(measured(64.04e6, "b/s"), "64.0 Mb/s");
        assert_eq!(measured(12.0, "B"), "12 B");
        assert_eq!(measured(999.6e6, "B"), "1000 MB");
    }

    #[test]
    fn spans_take_the_unit_that_fits() {
        assert_eq!(span(0.002), "2.0 ms");
        assert_eq!(span(0.001), "1.0 ms");
        assert_eq!(span(12.34), "12.3 s");
        assert_eq!(span(50e-6), "50.0 us");
        assert_eq!(span(40e-9), "40.0 ns");
    }

    #[test]
    fn indexes_end_with_the_last() {
        assert_eq!(indexes_words(5..1_005), "5..1004 (1,000)");
        assert_eq!(indexes_words(7..7), "none from 7");
    }

    #[test]
    fn no_time_is_no_rate() {
        assert_eq!(bits_per_second(1_000, Duration::ZERO), 0.0);
        assert_eq!(bits_per_second(1_000, Duration::from_millis(8)), 1e6);
    }
}
