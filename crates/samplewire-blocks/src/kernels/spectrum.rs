//! Averaged power spectra.

use std::f64::consts::TAU;
use std::fmt;
use std::sync::Arc;

use multiversion::multiversion;
use num_complex::Complex32;
use rustfft::{Fft, FftPlanner};

/// Power spectra of a stream of complex samples: the mean over so many transforms, which follow
/// each other without overlap.
///
/// The bins stand in the order of their frequency, from minus half the sample rate on: bin
/// `bins / 2` (rounded down) is frequency 0. A tone of amplitude 1 in the middle of a bin has power
/// 1 there, whatever the window: in [`decibels`](super::decibels), 0 dB of full scale.
///
/// ```
/// use num_complex::Complex32;
/// use samplewire_blocks::kernels::{Spectrum, Window};
///
/// let mut spectrum = Spectrum::new(8, Window::Rectangular, 2)?;
/// let samples = [Complex32::ONE; 20];
/// let mut rest = &samples[..];
/// assert_eq!(spectrum.next(&mut rest).unwrap(), [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
/// assert_eq!(rest.len(), 4);
/// assert_eq!(spectrum.next(&mut rest), None);
/// # Ok::<(), samplewire_blocks::kernels::SpectrumError>(())
/// ```
pub struct Spectrum {
    fft: Arc<dyn Fft<f32>>,
    /// Adds up to 1.
    window: Box<[f32]>,
    /// The samples of the next transform, weighted, as many as came.
    samples: Box<[Complex32]>,
    filled: usize,
    scratch: Box<[Complex32]>,
    /// The powers of the transforms that were added, in the order of the transform.
    sums: Box<[f32]>,
    added: u32,
    averages: u32,
    /// The last mean.
    powers: Box<[f32]>,
}

impl Spectrum {
    /// Spectra of 2 to 2^20 `bins`, each the mean over 1 to 65,536 `averages`. All memory is taken
    /// here.
    ///
    /// # Errors
    /// [`SpectrumError`] when one is out of range.
    pub fn new(bins: usize, window: Window, averages: u32) -> Result<Self, SpectrumError> {
        if !(2..=BINS_MAX).contains(&bins) {
            return Err(SpectrumError::Bins { bins });
        }
        if !(1..=AVERAGES_MAX).contains(&averages) {
            return Err(SpectrumError::Averages { averages });
        }
        let fft = FftPlanner::new().plan_fft_forward(bins);
        let nothing = |len| vec![Complex32::ZERO; len].into_boxed_slice();
        Ok(Self {
            window: window.weights(bins),
            samples: nothing(bins),
            filled: 0,
            scratch: nothing(fft.get_inplace_scratch_len()),
            sums: vec![0.0; bins].into_boxed_slice(),
            added: 0,
            averages,
            powers: vec![0.0; bins].into_boxed_slice(),
            fft,
        })
    }

    /// Takes samples from the front of `input` until a spectrum is complete, which it returns, or
    /// until there are no more.
    pub fn next(&mut self, input: &mut &[Complex32]) -> Option<&[f32]> {
        while !input.is_empty() {
            let (taken, rest) = input.split_at(input.len().min(self.bins() - self.filled));
            let place = self.filled..self.filled + taken.len();
            weigh(&mut self.samples[place.clone()], taken, &self.window[place.clone()]);
            (self.filled, *input) = (place.end, rest);
            if self.filled == self.bins() && self.transform() {
                return Some(&self.powers);
            }
        }
        None
    }

    /// Forgets what was taken for the next spectrum, as after a gap.
    pub fn restart(&mut self) {
        self.filled = 0;
        self.added = 0;
        self.sums.fill(0.0);
    }

    /// How many bins there are.
    pub fn bins(&self) -> usize {
        self.samples.len()
    }

    /// Over how many transforms a spectrum is the mean.
    pub fn averages(&self) -> u32 {
        self.averages
    }

    /// Adds the transform of the samples; says whether a spectrum is complete.
    fn transform(&mut self) -> bool {
        self.fft.process_with_scratch(&mut self.samples, &mut self.scratch);
        add_powers(&mut self.sums, &self.samples);
        self.filled = 0;
        self.added += 1;
        if self.added < self.averages {
            return false;
        }
        super::gain(&mut self.sums, 1.0 / self.averages as f32);
        let (from_zero, negative) = self.sums.split_at(self.bins().div_ceil(2));
        let (below, above) = self.powers.split_at_mut(negative.len());
        below.copy_from_slice(negative);
        above.copy_from_slice(from_zero);
        self.sums.fill(0.0);
        self.added = 0;
        true
    }
}

impl fmt::Debug for Spectrum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { averages, added, filled, .. } = self;
        f.debug_struct("Spectrum")
            .field("bins", &self.bins())
            .field("averages", averages)
            .field("added", added)
            .field("filled", filled)
            .finish_non_exhaustive()
    }
}

/// How the samples of a transform are weighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// All alike: the narrowest bins, side lobes of -13 dB.
    Rectangular,
    /// Hann: bins 1.5 wide (noise bandwidth), side lobes from -31 dB down.
    Hann,
    /// Blackman-Harris of four terms: bins 2.0 wide, side lobes below -92 dB.
    BlackmanHarris,
}

impl Window {
    /// `len` weights that add up to 1.
    fn weights(self, len: usize) -> Box<[f32]> {
        let terms: &[f64] = match self {
            Self::Rectangular => &[1.0],
            Self::Hann => &[0.5, -0.5],
            // F. J. Harris, On the use of windows for harmonic analysis, Proc. IEEE 66 (1978).
            Self::BlackmanHarris => &[0.358_75, -0.488_29, 0.141_28, -0.011_68],
        };
        let weight = |at: usize| {
            let turn = TAU * at as f64 / len as f64;
            terms.iter().zip(0..).map(|(term, times)| term * (turn * f64::from(times)).cos()).sum()
        };
        let weights: Vec<f64> = (0..len).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| (weight / sum) as f32).collect()
    }
}

/// Why spectra cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpectrumError {
    /// Too few or too many bins.
    #[error("a spectrum of {bins} bins: must be 2 to {BINS_MAX}")]
    Bins {
        /// The requested number.
        bins: usize,
    },
    /// Too few or too many averages.
    #[error("a mean over {averages} spectra: must be 1 to {AVERAGES_MAX}")]
    Averages {
        /// The requested number.
        averages: u32,
    },
}

#[multiversion(targets = "simd")]
fn weigh(weighted: &mut [Complex32], samples: &[Complex32], window: &[f32]) {
    for ((weighted, sample), weight) in weighted.iter_mut().zip(samples).zip(window) {
        *weighted = sample * weight;
    }
}

#[multiversion(targets = "simd")]
fn add_powers(sums: &mut [f32], samples: &[Complex32]) {
    for (sum, sample) in sums.iter_mut().zip(samples) {
        *sum += sample.norm_sqr();
    }
}

const BINS_MAX: usize = 1 << 20;
/// `f32` sums as many powers to 0.4 % at worst.
const AVERAGES_MAX: u32 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tests::{complex_noise, cuts};
    use crate::kernels::{Noise, Oscillator, decibels};

    const WINDOWS: [Window; 3] = [Window::Rectangular, Window::Hann, Window::BlackmanHarris];

    fn spectrum_of(samples: &[Complex32], bins: usize, window: Window, averages: u32) -> Vec<f32> {
        let mut spectrum = Spectrum::new(bins, window, averages).unwrap();
        spectrum.next(&mut &samples[..]).expect("there are enough samples").to_vec()
    }

    /// The definition, with `cos^2` written as such.
    fn reference(samples: &[Complex32], window: Window) -> Vec<f64> {
        let len = samples.len();
        let weight = |at: usize| {
            let turn = TAU * at as f64 / len as f64;
            match window {
                Window::Rectangular => 1.0,
                Window::Hann => (turn / 2.0).sin().powi(2),
                Window::BlackmanHarris => {
                    0.358_75 - 0.488_29 * turn.cos() + 0.141_28 * (2.0 * turn).cos()
                        - 0.011_68 * (3.0 * turn).cos()
                }
            }
        };
        let full_scale: f64 = (0..len).map(weight).sum();
        let bin = |number: usize| {
            let frequency = number as f64 - (len / 2) as f64;
            let mut sum = [0.0; 2];
            for (at, sample) in samples.iter().enumerate() {
                let (sine, cosine) = (-TAU * frequency * at as f64 / len as f64).sin_cos();
                let (re, im) = (f64::from(sample.re), f64::from(sample.im));
                sum[0] += weight(at) * (re * cosine - im * sine);
                sum[1] += weight(at) * (re * sine + im * cosine);
            }
            (sum[0].powi(2) + sum[1].powi(2)) / full_scale.powi(2)
        };
        (0..len).map(bin).collect()
    }

    #[test]
    fn bins_are_those_of_the_definition() {
        for bins in (2..=34).chain([63, 64, 65, 127, 128, 130]) {
            let samples = complex_noise(bins, bins as u64);
            for window in WINDOWS {
                let got = spectrum_of(&samples, bins, window, 1);
                for (got, want) in got.into_iter().zip(reference(&samples, window)) {
                    assert!((f64::from(got) - want).abs() < 1e-6, "{got} for {want}: {bins}");
                }
            }
        }
    }

    #[test]
    fn tone_of_full_scale_is_0_db_in_its_bin() {
        for window in WINDOWS {
            for bin in [-2048, -1000, 0, 1, 2047] {
                let mut samples = vec![Complex32::ZERO; 4096];
                let tone = Oscillator::new(f64::from(bin) / 4096.0).unwrap();
                tone.tone(0, 1.0, &mut samples);
                let powers = spectrum_of(&samples, 4096, window, 1);
                let at = (bin + 2048) as usize;
                assert!(decibels(powers[at]).abs() < 1e-4, "{window:?} {bin}");
                let floor = (6..4091).map(|distance| powers[(at + distance) % 4096]);
                assert!(decibels(floor.fold(0.0, f32::max)) < -120.0, "{window:?} {bin}");
            }
        }
    }

    #[test]
    fn noise_has_its_power_in_the_bins_by_their_noise_bandwidth() {
        let mut samples = vec![Complex32::ZERO; 1024 * 100];
        Noise::new(1, 0.1).fill(0, &mut samples);
        for (window, noise_bandwidth) in WINDOWS.into_iter().zip([1.0, 1.5, 2.0044]) {
            let powers = spectrum_of(&samples, 1024, window, 100);
            let power = powers.iter().sum::<f32>() / noise_bandwidth;
            assert!((power / 0.01 - 1.0).abs() < 0.02, "{window:?}: {power}");
        }
    }

    #[test]
    fn pieces_of_any_length_give_the_bits_of_the_whole() {
        let samples = complex_noise(10_000, 5);
        let spectra = |cuts: &[usize]| {
            let mut spectrum = Spectrum::new(100, Window::Hann, 3).unwrap();
            let mut all = Vec::new();
            for cut in cuts.windows(2) {
                let mut rest = &samples[cut[0]..cut[1]];
                while let Some(powers) = spectrum.next(&mut rest) {
                    all.extend_from_slice(powers);
                }
            }
            all
        };
        let whole = spectra(&[0, 10_000]);
        assert_eq!(whole.len(), 33 * 100);
        for longest in [20, 1000] {
            assert_eq!(spectra(&cuts(10_000, longest, 6)), whole);
        }
    }

    #[test]
    fn restart_forgets_what_was_taken() {
        let samples = complex_noise(64, 7);
        let mut spectrum = Spectrum::new(16, Window::Hann, 2).unwrap();
        assert_eq!(spectrum.next(&mut &samples[..25]), None);
        spectrum.restart();
        let powers = spectrum.next(&mut &samples[32..]).unwrap().to_vec();
        assert_eq!(powers, spectrum_of(&samples[32..], 16, Window::Hann, 2));
    }

    #[test]
    fn sizes_out_of_range_are_named() {
        let error =
            |bins, averages| Spectrum::new(bins, Window::Hann, averages).unwrap_err().to_string();
        assert_eq!(error(1, 1), "a spectrum of 1 bins: must be 2 to 1048576");
        assert_eq!(error(2, 0), "a mean over 0 spectra: must be 1 to 65536");
    }
}
