//! A complex exponential: the mixer's factor, and the tone of a generator.

use std::f64::consts::TAU;

use multiversion::multiversion;
use num_complex::Complex32;

/// The samples `exp(2 pi j (frequency * n + phase))`, for every index `n` from 0 to 2^64 - 1.
///
/// The phase is an integer, 2^64 to the turn, so that it is exact at every index, after any jump
/// and however long it runs. Each sample is the product of two entries of tables made in `f64`:
/// its error, at most 4e-7, does not grow, and its bits depend on its index alone. A frequency is
/// off by at most 2^-65 of the sample rate (plus what `f64` cannot say of it).
///
/// ```
/// use num_complex::Complex32;
/// use samplewire_blocks::kernels::Oscillator;
///
/// let quarter = Oscillator::new(0.25)?;
/// let mut samples = [Complex32::ONE; 4];
/// quarter.rotate(u64::MAX - 1, &mut samples);
/// assert!((samples[0] + Complex32::ONE).norm() < 4e-7);
/// assert!((samples[3] - Complex32::I).norm() < 4e-7);
/// # Ok::<(), samplewire_blocks::kernels::FrequencyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Oscillator {
    /// The phase at index 0, 2^64ths of a turn.
    phase: u64,
    /// What each sample adds to it.
    step: u64,
    /// The samples of the first block, were its phase 0.
    block: Box<[Complex32]>,
}

impl Oscillator {
    /// One of `cycles_per_sample`, from -0.5 to 0.5: the frequency over the sample rate. Its phase
    /// is 0 at index 0.
    ///
    /// # Errors
    /// [`FrequencyError`] when it is out of range.
    pub fn new(cycles_per_sample: f64) -> Result<Self, FrequencyError> {
        let step = step_of(cycles_per_sample)?;
        let mut oscillator =
            Self { phase: 0, step, block: vec![Complex32::ZERO; BLOCK].into_boxed_slice() };
        oscillator.fill_block();
        Ok(oscillator)
    }

    /// Sets the phase at index 0 in turns.
    #[must_use]
    pub fn with_phase(self, turns: f64) -> Self {
        Self { phase: of_turns(turns.rem_euclid(1.0)), ..self }
    }

    /// Takes another frequency from index `from` on, without a jump of the phase there.
    ///
    /// # Errors
    /// [`FrequencyError`] when it is out of range; then nothing has changed.
    pub fn retune(&mut self, cycles_per_sample: f64, from: u64) -> Result<(), FrequencyError> {
        let step = step_of(cycles_per_sample)?;
        self.phase = self.phase_at(from).wrapping_sub(step.wrapping_mul(from));
        self.step = step;
        self.fill_block();
        Ok(())
    }

    /// The phase at `index` in turns, 0 to 1.
    pub fn phase_turns(&self, index: u64) -> f64 {
        self.phase_at(index) as f64 / TURN
    }

    /// Multiplies `samples` by the oscillator's, where they stand; `first` is the index of the
    /// first.
    pub fn rotate(&self, first: u64, samples: &mut [Complex32]) {
        self.for_blocks(first, samples, rotate);
    }

    /// Writes the oscillator's samples times `amplitude`, from index `first` on.
    pub fn tone(&self, first: u64, amplitude: f32, samples: &mut [Complex32]) {
        self.for_blocks(first, samples, |samples, block, turned| {
            tone(samples, block, turned, amplitude);
        });
    }

    /// Writes the real parts, a cosine, of the oscillator's samples times `amplitude`.
    pub fn cosine(&self, first: u64, amplitude: f32, samples: &mut [f32]) {
        self.for_blocks(first, samples, |samples, block, turned| {
            cosine(samples, block, turned, amplitude);
        });
    }

    /// Calls `kernel` for each piece of `samples` that lies in one block of indices, with the same
    /// piece of the first block and the factor that turns it.
    fn for_blocks<S>(
        &self,
        first: u64,
        mut samples: &mut [S],
        kernel: impl Fn(&mut [S], &[Complex32], Complex32),
    ) {
        let mut index = first;
        while !samples.is_empty() {
            let skipped = (index % BLOCK as u64) as usize;
            let (piece, rest) = samples.split_at_mut(samples.len().min(BLOCK - skipped));
            let turned = unit(self.phase_at(index.wrapping_sub(skipped as u64)));
            kernel(piece, &self.block[skipped..skipped + piece.len()], turned);
            index = index.wrapping_add(piece.len() as u64);
            samples = rest;
        }
    }

    fn phase_at(&self, index: u64) -> u64 {
        self.phase.wrapping_add(self.step.wrapping_mul(index))
    }

    fn fill_block(&mut self) {
        for (index, sample) in (0..).zip(&mut self.block) {
            *sample = unit(self.step.wrapping_mul(index));
        }
    }
}

/// A frequency is out of range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a frequency of {cycles_per_sample} times the sample rate: must be -0.5 to 0.5")]
pub struct FrequencyError {
    /// The requested frequency.
    pub cycles_per_sample: f64,
}

fn step_of(cycles_per_sample: f64) -> Result<u64, FrequencyError> {
    if cycles_per_sample.abs() <= 0.5 {
        Ok(of_turns(cycles_per_sample))
    } else {
        Err(FrequencyError { cycles_per_sample })
    }
}

/// `turns` from -1 to 1 in 2^64ths of a turn.
fn of_turns(turns: f64) -> u64 {
    (turns * TURN).round() as i128 as u64
}

/// The sample of amplitude 1 at this phase.
fn unit(phase: u64) -> Complex32 {
    // Signed: half a turn either way keeps the angle's rounding smallest.
    let (sine, cosine) = (phase as i64 as f64 / TURN * TAU).sin_cos();
    Complex32::new(cosine as f32, sine as f32)
}

#[multiversion(targets = "simd")]
fn rotate(samples: &mut [Complex32], block: &[Complex32], turned: Complex32) {
    for (sample, unit) in samples.iter_mut().zip(block) {
        *sample *= unit * turned;
    }
}

#[multiversion(targets = "simd")]
fn tone(samples: &mut [Complex32], block: &[Complex32], turned: Complex32, amplitude: f32) {
    for (sample, unit) in samples.iter_mut().zip(block) {
        *sample = unit * turned * amplitude;
    }
}

#[multiversion(targets = "simd")]
fn cosine(samples: &mut [f32], block: &[Complex32], turned: Complex32, amplitude: f32) {
    for (sample, unit) in samples.iter_mut().zip(block) {
        *sample = (unit.re * turned.re - unit.im * turned.im) * amplitude;
    }
}

/// Samples for which one sine and one cosine are computed.
const BLOCK: usize = 1024;
/// 2^64.
const TURN: f64 = 18_446_744_073_709_551_616.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tests::{complex_noise, cuts};

    /// The definition, with the angle reduced in integers: `cycles` is a multiple of 2^-40.
    fn reference(cycles: f64, index: u64) -> [f64; 2] {
        let steps = (cycles * (1_u64 << 40) as f64) as i128;
        let turns = (steps * i128::from(index)).rem_euclid(1 << 40) as f64 / (1_u64 << 40) as f64;
        let (sine, cosine) = (TAU * turns).sin_cos();
        [cosine, sine]
    }

    fn error(got: Complex32, want: [f64; 2]) -> f64 {
        (f64::from(got.re) - want[0]).hypot(f64::from(got.im) - want[1])
    }

    /// Frequencies that are multiples of 2^-40.
    fn frequencies() -> impl Iterator<Item = f64> {
        let odd =
            [1_u64, 12_345_678_901, 549_755_813_887].map(|odd| odd as f64 / (1_u64 << 40) as f64);
        odd.into_iter().flat_map(|cycles| [cycles, -cycles]).chain([0.0, 0.25, 0.5, -0.5])
    }

    #[test]
    fn error_stays_bounded_at_every_index() {
        for cycles in frequencies() {
            let oscillator = Oscillator::new(cycles).unwrap();
            for first in [0, 1000, 1_000_000_000, 1_000_000_000_000, u64::MAX - 1500] {
                let mut samples = vec![Complex32::ONE; 3000];
                oscillator.rotate(first, &mut samples);
                for (at, sample) in (0..).zip(samples) {
                    let error = error(sample, reference(cycles, first.wrapping_add(at)));
                    assert!(error < 4e-7, "{error} at {first} + {at} with {cycles}");
                }
            }
        }
    }

    #[test]
    fn pieces_and_jumps_give_the_bits_of_the_whole() {
        let oscillator = Oscillator::new(0.123_456_789).unwrap().with_phase(0.3);
        let first = (1 << 50) - 1234;
        let mut whole = complex_noise(5000, 1);
        oscillator.rotate(first, &mut whole);
        for longest in [5, 130, 1500] {
            let mut pieces = complex_noise(5000, 1);
            for cut in cuts(5000, longest, 2).windows(2) {
                oscillator.rotate(first + cut[0] as u64, &mut pieces[cut[0]..cut[1]]);
            }
            assert_eq!(pieces, whole);
        }
    }

    #[test]
    fn rotation_multiplies_and_tones_are_the_factors() {
        let oscillator = Oscillator::new(-0.2).unwrap();
        for len in 0..=130 {
            let mut tone = vec![Complex32::ZERO; len];
            oscillator.tone(77, 0.5, &mut tone);
            let mut rotated = complex_noise(len, 3);
            oscillator.rotate(77, &mut rotated);
            let mut cosine = vec![0.0; len];
            oscillator.cosine(77, 0.5, &mut cosine);
            for (at, input) in complex_noise(len, 3).into_iter().enumerate() {
                assert!((rotated[at] - input * tone[at] * 2.0).norm() < 1e-6);
                assert_eq!(cosine[at], tone[at].re);
            }
        }
    }

    #[test]
    fn retuning_keeps_the_phase_where_it_happens() {
        let mut oscillator = Oscillator::new(0.1).unwrap().with_phase(-0.25);
        assert!((oscillator.phase_turns(0) - 0.75).abs() < 1e-15);
        let before = oscillator.phase_turns(1_000_003);
        oscillator.retune(-0.3, 1_000_003).unwrap();
        assert!((oscillator.phase_turns(1_000_003) - before).abs() < 1e-15);
        let after = (before - 0.3).rem_euclid(1.0);
        assert!((oscillator.phase_turns(1_000_004) - after).abs() < 1e-12);
        let mut sample = [Complex32::ZERO];
        oscillator.tone(1_000_003, 1.0, &mut sample);
        let (sine, cosine) = (TAU * before).sin_cos();
        assert!(error(sample[0], [cosine, sine]) < 4e-7);
    }

    #[test]
    fn frequencies_beyond_half_the_rate_are_named() {
        let error = Oscillator::new(0.51).unwrap_err().to_string();
        assert_eq!(error, "a frequency of 0.51 times the sample rate: must be -0.5 to 0.5");
        let mut oscillator = Oscillator::new(0.5).unwrap();
        assert!(oscillator.retune(f64::NAN, 0).is_err());
        assert_eq!(oscillator.phase_turns(1), 0.5);
    }
}
