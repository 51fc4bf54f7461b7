//! Noise that a seed repeats, from any index on.

use bytemuck::cast_slice_mut;
use multiversion::multiversion;

use super::Floats;

/// White noise, nearly Gaussian: each part is the sum of four uniform bytes, so none exceeds 3.5
/// times its rms. A sample depends on the seed and its index alone.
///
/// ```
/// let noise = samplewire_blocks::kernels::Noise::new(1, 0.1);
/// let (mut whole, mut part) = ([0.0_f32; 100], [0.0_f32; 50]);
/// noise.fill(0, &mut whole);
/// noise.fill(50, &mut part);
/// assert_eq!(whole[50..], part);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    /// Where in the sequence of words index 0 lies.
    first: u64,
    rms: f32,
}

impl Noise {
    /// Noise whose samples have a mean power of `rms` squared, full scale being 1.
    pub fn new(seed: u64, rms: f32) -> Self {
        // Seeds that follow each other must not give one noise, one index apart.
        Self { first: scramble(seed), rms }
    }

    /// Writes the samples from index `first` on.
    pub fn fill<S: Floats>(&self, first: u64, samples: &mut [S]) {
        if S::PARTS == 2 {
            let step = self.rms / (2.0_f32.sqrt() * NOISE_RMS as f32);
            pairs(self.first.wrapping_add(first), step, cast_slice_mut(samples));
        } else {
            let step = self.rms / NOISE_RMS as f32;
            singles(self.first.wrapping_add(first), step, cast_slice_mut(samples));
        }
    }
}

#[multiversion(targets = "simd")]
fn pairs(first: u64, step: f32, samples: &mut [[f32; 2]]) {
    for (at, sample) in (0_u64..).zip(samples) {
        let [re, im] = noise_pair(scramble(first.wrapping_add(at)));
        *sample = [f32::from(re) * step, f32::from(im) * step];
    }
}

#[multiversion(targets = "simd")]
fn singles(first: u64, step: f32, samples: &mut [f32]) {
    for (at, sample) in (0_u64..).zip(samples) {
        let [part, _] = noise_pair(scramble(first.wrapping_add(at)));
        *sample = f32::from(part) * step;
    }
}

/// Two parts, each the sum of four of the word's bytes less its mean: rms [`NOISE_RMS`], at most
/// 510 from zero.
#[inline]
pub fn noise_pair(word: u64) -> [i16; 2] {
    let of_two = (word & 0x00FF_00FF_00FF_00FF) + ((word >> 8) & 0x00FF_00FF_00FF_00FF);
    let of_four = of_two + (of_two >> 16);
    [(of_four as u16 & 0x3FF) as i16 - 510, ((of_four >> 32) as u16 & 0x3FF) as i16 - 510]
}

/// A bijection of 64 bits whose output passes for random on consecutive numbers (SplitMix64).
#[inline]
pub fn scramble(number: u64) -> u64 {
    let mut word = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// The root mean square of [`noise_pair`]: the square root of 4 * (256^2 - 1) / 12.
pub const NOISE_RMS: f64 = 147.8;

#[cfg(test)]
mod tests {
    use num_complex::Complex32;

    use super::*;

    #[test]
    fn parts_are_sums_of_four_bytes() {
        let sum = |bytes: &[u8]| bytes.iter().map(|&byte| i16::from(byte)).sum::<i16>() - 510;
        for word in [0, u64::MAX, 0x00FF_00FF_FF00_FF00].into_iter().chain((0..100).map(scramble)) {
            let bytes = word.to_le_bytes();
            assert_eq!(noise_pair(word), [sum(&bytes[..4]), sum(&bytes[4..])]);
        }
    }

    #[test]
    fn every_start_and_length_gives_the_same_samples() {
        let noise = Noise::new(5, 0.25);
        let mut whole = vec![Complex32::ZERO; 300];
        noise.fill(u64::MAX - 100, &mut whole);
        for (len, start) in (0..=130).zip((0..170).cycle()) {
            let mut piece = vec![Complex32::ZERO; len];
            noise.fill((u64::MAX - 100).wrapping_add(start as u64), &mut piece);
            assert_eq!(piece, whole[start..start + len]);
        }
    }

    #[test]
    fn power_is_the_square_of_the_rms_and_samples_are_unrelated() {
        let mut complex = vec![Complex32::ZERO; 1 << 17];
        Noise::new(1, 0.5).fill(0, &mut complex);
        let mut real = vec![0.0_f32; 1 << 17];
        Noise::new(2, 0.5).fill(0, &mut real);
        let mean_of = |product: &dyn Fn(usize) -> f32| {
            (0..(1 << 17) - 2).map(|at| f64::from(product(at))).sum::<f64>() / f64::from(1 << 17)
        };
        let powers = [
            mean_of(&|at| complex[at].norm_sqr()),
            mean_of(&|at| 2.0 * complex[at].im.powi(2)),
            mean_of(&|at| real[at].powi(2)),
        ];
        for power in powers {
            assert!((power / 0.25 - 1.0).abs() < 0.01, "{power}");
        }
        let related = [
            mean_of(&|at| complex[at].re * complex[at].im),
            mean_of(&|at| complex[at].re * complex[at + 1].re),
            mean_of(&|at| complex[at].re * real[at]),
            mean_of(&|at| real[at] * real[at + 1]),
            mean_of(&|at| real[at]),
        ];
        for related in related {
            // Five deviations of the mean itself, the widest of them.
            assert!(related.abs() < 7e-3, "{related}");
        }
    }

    #[test]
    fn neighbouring_seeds_give_unrelated_noise() {
        let (mut one, mut next) = (vec![0.0_f32; 1 << 16], vec![0.0_f32; 1 << 16]);
        Noise::new(1, 1.0).fill(0, &mut one);
        Noise::new(2, 1.0).fill(0, &mut next);
        for (one, next) in [(&one[1..], &next[..]), (&one[..], &next[1..]), (&one[..], &next[..])] {
            let products = one.iter().zip(next).map(|(one, next)| f64::from(one * next));
            let related = products.sum::<f64>() / f64::from(1 << 16);
            assert!(related.abs() < 0.02, "{related}");
        }
    }
}
