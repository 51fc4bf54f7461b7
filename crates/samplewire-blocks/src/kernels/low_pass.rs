//! The taps of a low-pass filter.

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
        let sinc = if at == 0.0 { 2.0 * cutoff } else { (TAU * cutoff * at).sin() / (PI * at) };
        sinc * (1.0 - (TAU * (number as f64 + 0.5) / taps as f64).cos())
    };
    let weights: Vec<f64> = (0..taps).map(weigh).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| (weight / sum) as f32).collect()
}

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
}
