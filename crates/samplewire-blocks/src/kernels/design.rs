//! Filter design: the taps of low-pass and half-band filters.

use std::f64::consts::{PI, TAU};

/// `taps` of a low-pass filter that halves amplitudes at `cutoff` cycles a sample, above 0 and up to 0.5: a sinc
/// under a Hann window. They are symmetric, and add up to 1.
///
/// From half to full amplitude, and from half to less than -44 dB, the frequency goes by some 1.6 /
/// `taps`: before a decimation by 8, 64 taps at a cutoff of 0.4 / 8 keep the inner 80 % of the band free
/// of what folds.
///
/// ```
/// use samplewire_blocks::kernels::low_pass;
///
/// let taps = low_pass(64, 0.4 / 8.0);
/// assert!(taps.iter().eq(taps.iter().rev()));
/// assert!((taps.iter().sum::<f32>() - 1.0).abs() < 1e-6);
/// ```
pub fn low_pass(taps: usize, cutoff: f64) -> Vec<f32> {
    let weigh = |number: usize| {
        let at = number as f64 - (taps as f64 - 1.0) / 2.0;
        sinc(cutoff, at) * (1.0 - (TAU * (number as f64 + 0.5) / taps as f64).cos())
    };
    let weights: Vec<f64> = (0..taps).map(weigh).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| (weight / sum) as f32).collect()
}

/// The taps of a low-pass filter by Kaiser's method, an odd number: frequencies below `cutoff -
/// transition / 2` pass, those above `cutoff + transition / 2` are attenuated by `attenuation_db`,
/// to within 3 dB. Frequencies are in cycles per sample. The taps are symmetric and add up to 1.
///
/// J. F. Kaiser, Nonrecursive digital filter design using the I0-sinh window function, Proc. IEEE
/// ISCAS (1974).
///
/// ```
/// use samplewire_blocks::kernels::kaiser;
///
/// // Before a decimation by 8: the inner 80 % of the new band stays free of aliases by 80 dB.
/// let taps = kaiser(0.5 / 8.0, 0.2 / 8.0, 80.0)?;
/// assert_eq!(taps.len(), 203);
/// # Ok::<(), samplewire_blocks::kernels::DesignError>(())
/// ```
///
/// # Errors
/// [`DesignError`] when `cutoff` with half of `transition` around it is not within 0 to 0.5, when the
/// attenuation is not 21 to 200 dB, or when the filter would have more than 65,535 taps.
pub fn kaiser(cutoff: f64, transition: f64, attenuation_db: f64) -> Result<Vec<f32>, DesignError> {
    let half = transition / 2.0;
    if !(transition > 0.0 && cutoff - half >= 0.0 && cutoff + half <= 0.5) {
        return Err(DesignError::Band { cutoff, transition });
    }
    let half_len = half_len(transition, attenuation_db)?;
    let weights = under_kaiser(half_len, cutoff, beta(attenuation_db));
    let sum: f64 = weights.iter().sum();
    Ok(weights.into_iter().map(|weight| (weight / sum) as f32).collect())
}

/// The taps of a half-band filter by Kaiser's method: it passes what lies below `0.25 - transition /
/// 2` cycles per sample and attenuates what lies above `0.25 + transition / 2` by `attenuation_db`.
/// Their number is 4 n + 3; every second tap is 0, but for the middle one, which is 0.5.
///
/// ```
/// use samplewire_blocks::kernels::half_band;
///
/// let taps = half_band(0.1, 60.0)?;
/// let middle = taps.len() / 2;
/// assert_eq!((taps[middle], taps[middle + 2], taps[middle - 4]), (0.5, 0.0, 0.0));
/// # Ok::<(), samplewire_blocks::kernels::DesignError>(())
/// ```
///
/// # Errors
/// See [`kaiser`].
pub fn half_band(transition: f64, attenuation_db: f64) -> Result<Vec<f32>, DesignError> {
    if !(transition > 0.0 && transition <= 0.5) {
        return Err(DesignError::Band { cutoff: 0.25, transition });
    }
    // The first and the last tap are not 0.
    let half_len = half_len(transition, attenuation_db)? | 1;
    let mut weights = under_kaiser(half_len, 0.25, beta(attenuation_db));
    weights[half_len] = 0.0;
    (0..weights.len()).filter(|at| at.abs_diff(half_len) % 2 == 0).for_each(|at| weights[at] = 0.0);
    let sum: f64 = weights.iter().sum();
    let mut taps: Vec<_> = weights.iter().map(|weight| (weight / (2.0 * sum)) as f32).collect();
    taps[half_len] = 0.5;
    Ok(taps)
}

/// Why a filter cannot be designed.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DesignError {
    /// The band around the cutoff is not within 0 to 0.5 cycles per sample.
    #[error(
        "a transition of {transition} around {cutoff} cycles per sample: must lie within 0 to 0.5"
    )]
    Band {
        /// The middle of the transition in cycles per sample.
        cutoff: f64,
        /// Its width in cycles per sample.
        transition: f64,
    },
    /// Kaiser's formulas do not hold there.
    #[error("an attenuation of {attenuation_db} dB: must be 21 to 200")]
    Attenuation {
        /// The attenuation in dB.
        attenuation_db: f64,
    },
    /// The transition is too narrow.
    #[error("a filter of {taps} taps: at most {TAPS_MAX}; widen the transition")]
    Taps {
        /// How many there would be.
        taps: f64,
    },
}

/// Taps on each side of the middle one.
fn half_len(transition: f64, attenuation_db: f64) -> Result<usize, DesignError> {
    if !(21.0..=200.0).contains(&attenuation_db) {
        return Err(DesignError::Attenuation { attenuation_db });
    }
    let taps = (attenuation_db - 7.95) / (14.36 * transition) + 1.0;
    if taps > TAPS_MAX as f64 {
        return Err(DesignError::Taps { taps: taps.ceil() });
    }
    Ok((taps / 2.0).ceil() as usize)
}

/// The shape of the window.
fn beta(attenuation_db: f64) -> f64 {
    if attenuation_db > 50.0 {
        0.110_2 * (attenuation_db - 8.7)
    } else {
        let above = attenuation_db - 21.0;
        0.584_2 * above.powf(0.4) + 0.078_86 * above
    }
}

/// A sinc under a Kaiser window, with so many taps on each side of the middle.
fn under_kaiser(half_len: usize, cutoff: f64, beta: f64) -> Vec<f64> {
    let weigh = |number: usize| {
        let at = number as f64 - half_len as f64;
        let inside = 1.0 - (at / half_len as f64).powi(2);
        sinc(cutoff, at) * bessel_i0(beta * inside.max(0.0).sqrt())
    };
    (0..=2 * half_len).map(weigh).collect()
}

/// The impulse response of an ideal low-pass filter.
fn sinc(cutoff: f64, at: f64) -> f64 {
    if at == 0.0 { 2.0 * cutoff } else { (TAU * cutoff * at).sin() / (PI * at) }
}

/// The modified Bessel function of the first kind and order 0, by its power series: the terms for
/// arguments up to 30 vanish before the 100th.
fn bessel_i0(x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..100 {
        term *= (x / (2.0 * f64::from(k))).powi(2);
        sum += term;
    }
    sum
}

const TAPS_MAX: usize = 65_535;

#[cfg(test)]
mod tests {
    use super::*;

    /// The amplitude with which a filter passes a frequency.
    fn gain(taps: &[f32], frequency: f64) -> f64 {
        let turn = |at: usize| (TAU * frequency * at as f64).sin_cos();
        let terms = taps.iter().enumerate().map(|(at, &tap)| (f64::from(tap), turn(at)));
        let sums = terms.fold((0.0, 0.0), |sums, (tap, (sine, cosine))| {
            (sums.0 + tap * sine, sums.1 + tap * cosine)
        });
        sums.0.hypot(sums.1)
    }

    #[test]
    fn frequencies_below_the_cutoff_pass_and_those_above_do_not() {
        for (taps, cutoff) in [(64, 0.05), (63, 0.05), (64, 0.2), (255, 0.1), (33, 0.4)] {
            let filter = low_pass(taps, cutoff);
            let transition = 1.6 / taps as f64;
            for step in 0..=500 {
                let frequency = f64::from(step) / 1_000.0;
                let gain = gain(&filter, frequency);
                let is_passed = frequency <= cutoff - transition;
                let is_stopped = frequency >= cutoff + transition;
                assert!(!is_passed || (gain - 1.0).abs() < 0.02, "{taps} {frequency}: {gain}");
                assert!(!is_stopped || gain < 0.0064, "{taps} {frequency}: {gain}");
            }
            assert!((gain(&filter, cutoff) - 0.5).abs() < 0.01, "{taps} {cutoff}");
        }
    }

    /// The largest deviation from `wanted` of the gains from one frequency to another.
    fn ripple(taps: &[f32], from: f64, to: f64, wanted: f64) -> f64 {
        let steps = (0..=400).map(|step| from + (to - from) * f64::from(step) / 400.0);
        steps.map(|frequency| (gain(taps, frequency) - wanted).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn kaiser_keeps_the_attenuation_outside_the_transition() {
        for (cutoff, transition, attenuation_db) in
            [(0.05, 0.02, 60.0), (0.2, 0.1, 80.0), (0.4, 0.05, 40.0), (0.05, 0.1, 21.0)]
        {
            let taps = kaiser(cutoff, transition, attenuation_db).unwrap();
            let (pass, stop) = (cutoff - transition / 2.0, cutoff + transition / 2.0);
            // Kaiser's formula for the length is a fit.
            let bound = 10_f64.powf(-(attenuation_db - 3.0) / 20.0);
            assert!(ripple(&taps, 0.0, pass, 1.0) < bound, "{cutoff} {transition}");
            assert!(ripple(&taps, stop, 0.5, 0.0) < bound, "{cutoff} {transition}");
            assert!(ripple(&taps, stop, 0.5, 0.0) > bound / 20.0, "longer than it need be");
            assert!((taps.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn half_band_has_zeros_and_both_bands() {
        for (transition, attenuation_db) in [(0.1, 60.0), (0.3, 40.0), (0.02, 90.0)] {
            let taps = half_band(transition, attenuation_db).unwrap();
            let middle = taps.len() / 2;
            assert_eq!(taps.len() % 4, 3);
            assert!(taps[0] != 0.0, "the ends are not taps of 0");
            for (at, &tap) in taps.iter().enumerate().filter(|(at, _)| at.abs_diff(middle) % 2 == 0)
            {
                assert_eq!(tap, if at == middle { 0.5 } else { 0.0 });
            }
            let bound = 10_f64.powf(-(attenuation_db - 3.0) / 20.0);
            assert!(ripple(&taps, 0.0, 0.25 - transition / 2.0, 1.0) < bound);
            assert!(ripple(&taps, 0.25 + transition / 2.0, 0.5, 0.0) < bound);
        }
    }

    #[test]
    fn what_cannot_be_designed_is_an_error_that_names_the_value() {
        let words = |design: Result<Vec<f32>, DesignError>| design.unwrap_err().to_string();
        assert!(words(kaiser(0.05, 0.2, 60.0)).contains("0.2 around 0.05"));
        assert!(words(kaiser(0.45, 0.11, 60.0)).contains("0.11 around 0.45"));
        assert!(words(kaiser(0.2, 0.0, 60.0)).contains("0 around 0.2"));
        assert!(words(kaiser(f64::NAN, 0.1, 60.0)).contains("NaN"));
        assert!(words(half_band(0.51, 60.0)).contains("0.51 around 0.25"));
        for attenuation_db in [20.9, 200.1, f64::NAN] {
            assert!(words(kaiser(0.2, 0.1, attenuation_db)).contains(" dB: must be 21 to 200"));
        }
        assert!(words(kaiser(0.2, 1e-5, 60.0)).contains("at most 65535"));
        assert!(kaiser(0.25, 0.5, 21.0).is_ok() && kaiser(0.25, 0.5, 200.0).is_ok());
    }
}
