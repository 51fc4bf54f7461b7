//! Fractions near a number, by its continued fraction.

/// The fraction with the smallest denominator that is as near to `value` as a float can express, or,
/// where that exceeds `denominator_max`, the last convergent that does not. `None` when `value` is
/// negative, not finite or at least 2^63.
pub fn nearest_ratio(value: f64, denominator_max: u32) -> Option<(u64, u32)> {
    if !(0.0..INTEGERS_MAX).contains(&value) {
        return None;
    }
    let (mut before, mut ratio) = ((1_u64, 0_u64), (value as u64, 1_u64));
    let mut rest = value.fract();
    while (ratio.0 as f64 / ratio.1 as f64 - value).abs() > value * f64::EPSILON / 2.0 {
        rest = rest.recip();
        let Some(next) = next_convergent(before, ratio, rest as u64) else { break };
        if next.1 > u64::from(denominator_max) {
            break;
        }
        (before, ratio) = (ratio, next);
        rest = rest.fract();
    }
    Some((ratio.0, ratio.1 as u32))
}

fn next_convergent(before: (u64, u64), last: (u64, u64), term: u64) -> Option<(u64, u64)> {
    let numerator = term.checked_mul(last.0)?.checked_add(before.0)?;
    let denominator = term.checked_mul(last.1)?.checked_add(before.1)?;
    Some((numerator, denominator))
}

/// 2^63, well within the numerators.
const INTEGERS_MAX: f64 = 9_223_372_036_854_775_808.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_fractions_are_found() {
        let cases =
            [(0.0, (0, 1)), (2e6, (2_000_000, 1)), (0.05, (1, 20)), (4e6 / 3.0, (4_000_000, 3))];
        for (value, ratio) in cases {
            assert_eq!(nearest_ratio(value, u32::MAX), Some(ratio));
        }
    }

    #[test]
    fn denominator_stays_within_its_bound() {
        let (numerator, denominator) = nearest_ratio(std::f64::consts::PI, 200).unwrap();
        assert_eq!((numerator, denominator), (355, 113));
        for step in 1..1000 {
            let value = f64::from(step) / 997.3;
            let (numerator, denominator) = nearest_ratio(value, 65_536).unwrap();
            assert!(denominator <= 65_536);
            let distance = (numerator as f64 / f64::from(denominator) - value).abs();
            assert!(distance <= 1.0 / f64::from(denominator).powi(2), "{value}");
        }
    }

    #[test]
    fn numbers_without_a_fraction_are_refused() {
        for value in [-1.0, f64::NAN, f64::INFINITY, 1e19] {
            assert_eq!(nearest_ratio(value, u32::MAX), None);
        }
    }
}
