//! A ramp, from any index on.

use multiversion::multiversion;

/// A sawtooth from -1 up to one step below 1, in `period` steps of `2 / period`.
///
/// With a period of 65,536 it becomes every `i16` in turn.
///
/// ```
/// let mut samples = [0.0; 5];
/// samplewire_blocks::kernels::Ramp::new(4)?.fill(1, &mut samples);
/// assert_eq!(samples, [-0.5, 0.0, 0.5, -1.0, -0.5]);
/// # Ok::<(), samplewire_blocks::kernels::PeriodError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Ramp {
    period: u32,
}

impl Ramp {
    /// A ramp of `period` samples, 1 to 2^24: what `f32` can count.
    ///
    /// # Errors
    /// [`PeriodError`] when it is out of range.
    pub fn new(period: u32) -> Result<Self, PeriodError> {
        match period {
            1..=PERIOD_MAX => Ok(Self { period }),
            _ => Err(PeriodError { period }),
        }
    }

    /// Writes the samples from index `first` on; at index 0 the ramp begins.
    pub fn fill(&self, first: u64, samples: &mut [f32]) {
        let mut rest = samples;
        let mut step = (first % u64::from(self.period)) as u32;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at_mut(rest.len().min((self.period - step) as usize));
            rise(piece, step, self.period);
            (rest, step) = (behind, 0);
        }
    }
}

/// The period of a ramp is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a ramp of {period} samples: must be 1 to {PERIOD_MAX}")]
pub struct PeriodError {
    /// The requested period.
    pub period: u32,
}

#[multiversion(targets = "simd")]
fn rise(samples: &mut [f32], first_step: u32, period: u32) {
    let height = 2.0 / period as f32;
    for (step, sample) in (first_step..).zip(samples) {
        *sample = step as f32 * height - 1.0;
    }
}

const PERIOD_MAX: u32 = 1 << 24;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::convert;

    #[test]
    fn every_start_and_length_lies_on_the_sawtooth() {
        for period in [1, 2, 3, 64, 100, PERIOD_MAX] {
            let ramp = Ramp::new(period).unwrap();
            for len in 0..=130 {
                for first in [0, 7, u64::from(period) * 1_000_000_007 - 5] {
                    let mut samples = vec![0.0; len];
                    ramp.fill(first, &mut samples);
                    for (index, sample) in (first..).zip(samples) {
                        let step = (index % u64::from(period)) as f64;
                        let want = 2.0 * step / f64::from(period) - 1.0;
                        assert!((f64::from(sample) - want).abs() < 2e-7, "{sample} for {want}");
                    }
                }
            }
        }
    }

    #[test]
    fn ramp_of_65536_steps_becomes_every_i16() {
        let mut samples = vec![0.0; 1 << 16];
        Ramp::new(1 << 16).unwrap().fill(0, &mut samples);
        let mut words = vec![0_i16; 1 << 16];
        convert(&samples, &mut words);
        assert!(words.into_iter().eq(i16::MIN..=i16::MAX));
    }

    #[test]
    fn periods_out_of_range_are_named() {
        assert_eq!(
            Ramp::new(0).unwrap_err().to_string(),
            "a ramp of 0 samples: must be 1 to 16777216"
        );
        assert!(Ramp::new(PERIOD_MAX + 1).is_err());
    }
}
