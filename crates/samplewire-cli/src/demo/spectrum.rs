//! A spectrum in one line of text.

use num_complex::Complex32;
use samplewire_blocks::kernels::{self, Window, convert_le_bytes, decibels};

/// Gathers samples of sc16 and shows their spectrum as a row of blocks, lowest frequency first.
pub(super) struct Spectrum {
    spectrum: kernels::Spectrum,
    /// For the next line.
    powers: Option<Vec<f32>>,
}

impl Spectrum {
    pub(super) fn new() -> Self {
        let spectrum = kernels::Spectrum::new(BINS, Window::Hann, AVERAGED);
        Self { spectrum: spectrum.expect("both are in range"), powers: None }
    }

    /// Takes as many samples (sc16, little-endian) as are still wanted for the next line.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let (samples, _) = bytes.as_chunks::<4>();
        let mut room = [Complex32::ZERO; 256];
        for piece in samples.chunks(room.len()) {
            if self.powers.is_some() {
                return;
            }
            let room = &mut room[..piece.len()];
            convert_le_bytes::<i16, f32>(piece.as_flattened(), bytemuck::cast_slice_mut(room));
            self.powers = self.spectrum.next(&mut &*room).map(<[f32]>::to_vec);
        }
    }

    /// The spectrum of what was gathered since the last line; `None` when that is too little.
    pub(super) fn line(&mut self) -> Option<String> {
        let powers = self.powers.take()?;
        let columns = powers.chunks_exact(BINS / COLUMNS);
        let peak = |bins: &[f32]| bins.iter().copied().fold(0.0, f32::max);
        Some(columns.map(|bins| block_of(peak(bins))).collect())
    }
}

/// The block for a power relative to full scale.
fn block_of(power: f32) -> char {
    let level = (decibels(power) - FLOOR_DB) / (CEILING_DB - FLOOR_DB) * BLOCKS.len() as f32;
    BLOCKS[(level.max(0.0) as usize).min(BLOCKS.len() - 1)]
}

/// How wide a line is.
pub(super) const COLUMNS: usize = 64;

const BINS: usize = 1_024;
const AVERAGED: u32 = 8;
const FLOOR_DB: f32 = -95.0;
const CEILING_DB: f32 = -15.0;
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[cfg(test)]
mod tests {
    use samplewire_record::source::{SourceOptions, SourceSpec};

    use super::*;

    fn line_of(source: &str) -> Vec<char> {
        let spec: SourceSpec = source.parse().unwrap();
        let mut source = spec.open(&SourceOptions::new().rate_hz(1e6)).unwrap();
        let mut bytes = vec![0; BINS * AVERAGED as usize * 4];
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
