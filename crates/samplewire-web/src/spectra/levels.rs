//! Mean and peak of transforms, as levels of one byte.

use samplewire_blocks::kernels::decibels;

/// Mean and peak levels of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    /// The mean of the powers, a byte for each bin, lowest frequency first.
    pub mean: Vec<u8>,
    /// The highest of the powers, a byte for each bin.
    pub peak: Vec<u8>,
    /// The number of transforms.
    pub transforms: u32,
}

impl Levels {
    /// The level of byte 0, in dBFS.
    pub const OFFSET_DB: f32 = -140.0;
    /// Decibels of one step.
    pub const STEP_DB: f32 = 0.55;

    /// Returns the level of a byte in dBFS.
    pub fn db(byte: u8) -> f32 {
        Self::OFFSET_DB + Self::STEP_DB * f32::from(byte)
    }
}

/// The sums of transforms.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    sums: Vec<f32>,
    peaks: Vec<f32>,
    transforms: u32,
    is_real: bool,
}

impl Rows {
    pub(super) fn new(bins: usize, is_real: bool) -> Self {
        Self { sums: vec![0.0; bins], peaks: vec![0.0; bins], transforms: 0, is_real }
    }

    pub(super) fn clear(&mut self) {
        self.sums.fill(0.0);
        self.peaks.fill(0.0);
        self.transforms = 0;
    }

    /// Adds whole transforms.
    pub(super) fn add(&mut self, powers: &[f32]) {
        for row in powers.chunks_exact(self.sums.len()) {
            for ((sum, peak), &power) in self.sums.iter_mut().zip(&mut self.peaks).zip(row) {
                *sum += power;
                *peak = peak.max(power);
            }
            self.transforms += 1;
        }
    }

    /// Adds the transforms of other rows of this view.
    pub(crate) fn merge(&mut self, other: &Self) {
        let own = self.sums.iter_mut().zip(&mut self.peaks);
        for ((sum, peak), (other_sum, other_peak)) in own.zip(other.sums.iter().zip(&other.peaks)) {
            *sum += other_sum;
            *peak = peak.max(*other_peak);
        }
        self.transforms += other.transforms;
    }

    /// The memory of the sums.
    pub(crate) const fn len_bytes(&self) -> usize {
        (self.sums.len() + self.peaks.len()) * size_of::<f32>()
    }

    /// Whether there is no transform.
    pub(crate) const fn is_empty(&self) -> bool {
        self.transforms == 0
    }

    /// Returns the levels; `None` without a transform.
    pub(crate) fn levels(&self) -> Option<Levels> {
        if self.transforms == 0 {
            return None;
        }
        let mean = 1.0 / self.transforms as f32;
        Some(Levels {
            mean: self.bytes(&self.sums, mean),
            peak: self.bytes(&self.peaks, 1.0),
            transforms: self.transforms,
        })
    }

    /// Of real samples, bins of negative frequency repeat those of positive frequency and are left out.
    fn bytes(&self, powers: &[f32], factor: f32) -> Vec<u8> {
        let byte = |power: f32| {
            let steps = (decibels(power) - Levels::OFFSET_DB) / Levels::STEP_DB;
            // A conversion to an integer saturates.
            steps.round() as u8
        };
        if !self.is_real {
            return powers.iter().map(|&power| byte(power * factor)).collect();
        }
        let half = &powers[powers.len() / 2..];
        let of_bin = |(bin, &power): (usize, &f32)| {
            // The other half of the amplitude is at the negative frequency.
            byte(power * factor * if bin == 0 { 1.0 } else { 4.0 })
        };
        half.iter().enumerate().map(of_bin).collect()
    }
}
