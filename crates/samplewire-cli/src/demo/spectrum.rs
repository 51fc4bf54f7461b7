//! A spectrum in one line of text.

use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

/// Gathers samples of sc16 and shows their spectrum as a row of blocks, lowest frequency first.
pub(super) struct Spectrum {
    fft: Arc<dyn Fft<f32>>,
    window: Vec<f32>,
    samples: Vec<Complex<f32>>,
    power: Vec<f32>,
}

impl Spectrum {
    pub(super) fn new() -> Self {
        let hann = |at: usize| {
            let turn = std::f32::consts::TAU * at as f32 / BINS as f32;
            0.5 - 0.5 * turn.cos()
        };
        Self {
            fft: FftPlanner::new().plan_fft_forward(BINS),
            window: (0..BINS).map(hann).collect(),
            samples: Vec::with_capacity(BINS * AVERAGED),
            power: vec![0.0; BINS],
        }
    }

    /// Takes as many samples (sc16, little-endian) as are still wanted for the next line.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let wanted = BINS * AVERAGED - self.samples.len();
        let part = |low, high| f32::from(i16::from_le_bytes([low, high])) / 32_768.0;
        let (samples, _) = bytes.as_chunks::<4>();
        let samples = samples.iter().map(|&[a, b, c, d]| Complex::new(part(a, b), part(c, d)));
        self.samples.extend(samples.take(wanted));
    }

    /// The spectrum of what was gathered since the last line; `None` when that is too little.
    pub(super) fn line(&mut self) -> Option<String> {
        if self.samples.len() < BINS * AVERAGED {
            return None;
        }
        self.power.fill(0.0);
        for block in self.samples.chunks_exact_mut(BINS) {
            for (sample, weight) in block.iter_mut().zip(&self.window) {
                *sample *= weight;
            }
            self.fft.process(block);
            for (power, bin) in self.power.iter_mut().zip(block.iter()) {
                *power += bin.norm_sqr();
            }
        }
        self.samples.clear();
        self.power.rotate_left(BINS / 2);
        // A tone of full scale is 0 dB: the window adds up to half of the bins.
        let full_scale = (BINS as f32 / 2.0).powi(2) * AVERAGED as f32;
        let columns = self.power.chunks_exact(BINS / COLUMNS);
        let peak = |bins: &[f32]| bins.iter().copied().fold(0.0, f32::max);
        Some(columns.map(|bins| block_of(peak(bins) / full_scale)).collect())
    }
}

/// The block for a power relative to full scale.
fn block_of(power: f32) -> char {
    let db = 10.0 * power.max(1e-20).log10();
    let level = (db - FLOOR_DB) / (CEILING_DB - FLOOR_DB) * BLOCKS.len() as f32;
    BLOCKS[(level.max(0.0) as usize).min(BLOCKS.len() - 1)]
}

/// How wide a line is.
pub(super) const COLUMNS: usize = 64;

const BINS: usize = 1_024;
const AVERAGED: usize = 8;
const FLOOR_DB: f32 = -95.0;
const CEILING_DB: f32 = -15.0;
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[cfg(test)]
mod tests {
    use samplewire::source::{SourceOptions, SourceSpec};

    use super::*;

    fn line_of(source: &str) -> Vec<char> {
        let spec: SourceSpec = source.parse().unwrap();
        let mut source = spec.open(&SourceOptions::new().rate_hz(1e6)).unwrap();
        let mut bytes = vec![0; BINS * AVERAGED * 4];
        // The scene begins with a burst.
        source.read(&mut bytes).unwrap();
        source.read(&mut bytes).unwrap();
        let mut spectrum = Spectrum::new();
        spectrum.take(&bytes[..400]);
        assert_eq!(spectrum.line(), None, "100 samples are too few");
        spectrum.take(&bytes[400..]);
        let line: Vec<_> = spectrum.line().unwrap().chars().collect();
        assert_eq!(line.len(), COLUMNS);
        line
    }

    #[test]
    fn tone_stands_in_its_column() {
        let line = line_of("tone:250k");
        assert_eq!(line[COLUMNS * 3 / 4], '█');
        assert_eq!(line[COLUMNS / 4], ' ', "{line:?}");
    }

    #[test]
    fn scene_shows_its_carriers_above_the_noise() {
        let line = line_of("scene");
        let column = |frequency: f32| line[((frequency + 0.5) * COLUMNS as f32) as usize];
        for frequency in [-0.3125, 0.0625, 0.218_75] {
            assert!(column(frequency) >= '▆', "{frequency}: {line:?}");
        }
        assert!(column(0.47) <= '▂', "{line:?}");
    }
}
