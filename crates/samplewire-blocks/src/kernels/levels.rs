//! How strong samples are.

use bytemuck::cast_slice;
use multiversion::multiversion;

use super::Floats;

/// Power and extremes of all samples that were added. Full scale is 1; the power of a complex
/// sample is its squared magnitude.
///
/// Powers are summed in `f32` over blocks, these in `f64`: how samples are split over calls shows
/// in the last bits of the mean.
///
/// ```
/// let mut levels = samplewire_blocks::kernels::Levels::default();
/// levels.add(&[0.5, -1.0, 0.5, 0.0]);
/// assert_eq!(levels.mean_power(), Some(0.375));
/// assert_eq!((levels.peak_power(), levels.min(), levels.max()), (1.0, -1.0, 0.5));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Levels {
    samples: u64,
    energy: f64,
    peak_power: f32,
    min: f32,
    max: f32,
}

impl Levels {
    /// Adds samples.
    pub fn add<S: Floats>(&mut self, samples: &[S]) {
        self.samples += samples.len() as u64;
        for block in samples.chunks(BLOCK) {
            let of_block = if S::PARTS == 2 {
                levels_of::<2>(cast_slice(block))
            } else {
                levels_of::<1>(cast_slice(block))
            };
            self.energy += f64::from(of_block.energy);
            self.peak_power = self.peak_power.max(of_block.peak_power);
            self.min = self.min.min(of_block.min);
            self.max = self.max.max(of_block.max);
        }
    }

    /// How many samples were added.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Their mean power; `None` of none. Not a number where one of them was none.
    pub fn mean_power(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.energy / self.samples as f64)
    }

    /// The largest power of a sample, 0 of none. What is not a number is left out, here and below.
    pub fn peak_power(&self) -> f32 {
        self.peak_power
    }

    /// The smallest part; infinite of none.
    pub fn min(&self) -> f32 {
        self.min
    }

    /// The largest part; infinite, and negative, of none.
    pub fn max(&self) -> f32 {
        self.max
    }
}

impl Default for Levels {
    fn default() -> Self {
        Self {
            samples: 0,
            energy: 0.0,
            peak_power: 0.0,
            min: f32::INFINITY,
            max: f32::NEG_INFINITY,
        }
    }
}

/// A power in decibels: 0 dB is full scale, minus infinity is nothing.
pub fn decibels(power: f32) -> f32 {
    10.0 * power.log10()
}

struct OfBlock {
    energy: f32,
    peak_power: f32,
    min: f32,
    max: f32,
}

#[multiversion(targets = "simd")]
fn levels_of<const PARTS: usize>(samples: &[[f32; PARTS]]) -> OfBlock {
    let mut energy = [0.0; LANES];
    let mut peak_power = [0.0_f32; LANES];
    let mut min = [[f32::INFINITY; PARTS]; LANES];
    let mut max = [[f32::NEG_INFINITY; PARTS]; LANES];
    let (blocks, rest) = samples.as_chunks::<LANES>();
    let mut add = |lane: usize, sample: &[f32; PARTS]| {
        let mut power = 0.0;
        for part in 0..PARTS {
            power += sample[part] * sample[part];
            min[lane][part] = min[lane][part].min(sample[part]);
            max[lane][part] = max[lane][part].max(sample[part]);
        }
        energy[lane] += power;
        peak_power[lane] = peak_power[lane].max(power);
    };
    for block in blocks {
        for (lane, sample) in block.iter().enumerate() {
            add(lane, sample);
        }
    }
    for (lane, sample) in rest.iter().enumerate() {
        add(lane, sample);
    }
    OfBlock {
        energy: energy.iter().sum(),
        peak_power: peak_power.into_iter().fold(0.0, f32::max),
        min: min.as_flattened().iter().copied().fold(f32::INFINITY, f32::min),
        max: max.as_flattened().iter().copied().fold(f32::NEG_INFINITY, f32::max),
    }
}

/// Samples whose powers are summed side by side.
const LANES: usize = 16;
/// Samples whose powers are summed in `f32`.
const BLOCK: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tests::{complex_noise, cuts};

    #[test]
    fn levels_are_those_of_a_scalar_at_all_lengths() {
        for len in (0..=130).chain([4096, 10_000]) {
            let complex = &complex_noise(len + 3, 1)[3..];
            let real: Vec<f32> = complex.iter().map(|sample| sample.re).collect();
            let (mut of_complex, mut of_real) = (Levels::default(), Levels::default());
            for cut in cuts(len, 5000, 2).windows(2) {
                of_complex.add(&complex[cut[0]..cut[1]]);
                of_real.add(&real[cut[0]..cut[1]]);
            }
            assert_eq!((of_complex.samples(), of_real.samples()), (len as u64, len as u64));
            let parts: &[f32] = cast_slice(complex);
            agree(&of_complex, parts, &complex.iter().map(|s| s.norm_sqr()).collect::<Vec<_>>());
            agree(&of_real, &real, &real.iter().map(|re| re * re).collect::<Vec<_>>());
        }
    }

    fn agree(levels: &Levels, parts: &[f32], powers: &[f32]) {
        assert_eq!(levels.min(), parts.iter().copied().fold(f32::INFINITY, f32::min));
        assert_eq!(levels.max(), parts.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        assert_eq!(levels.peak_power(), powers.iter().copied().fold(0.0, f32::max));
        let energy: f64 = powers.iter().copied().map(f64::from).sum();
        match levels.mean_power() {
            Some(mean) => assert!((mean * powers.len() as f64 / energy - 1.0).abs() < 1e-5),
            None => assert!(powers.is_empty()),
        }
    }

    #[test]
    fn what_is_no_number_shows_in_the_mean_alone() {
        let mut levels = Levels::default();
        levels.add(&[1.0, f32::NAN, -2.0]);
        assert!(levels.mean_power().unwrap().is_nan());
        assert_eq!((levels.peak_power(), levels.min(), levels.max()), (4.0, -2.0, 1.0));
    }

    #[test]
    fn decibels_are_those_of_a_power() {
        assert_eq!(decibels(1.0), 0.0);
        assert!((decibels(0.5) + 3.0103).abs() < 1e-4);
        assert_eq!(decibels(0.0), f32::NEG_INFINITY);
    }
}
