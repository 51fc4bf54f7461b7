//! The spectrum of received samples, one level per column.

use num_complex::Complex32;
use samplewire_blocks::kernels::{self, Window, convert_le_bytes, decibels};

/// Collects sc16 samples and computes their spectrum, lowest frequency first.
pub(super) struct Spectrum {
    spectrum: kernels::Spectrum,
    /// The power of each column for the next row.
    powers: Option<Vec<f32>>,
}

impl Spectrum {
    pub(super) fn new() -> Self {
        let spectrum = kernels::Spectrum::new(BINS, Window::Hann, AVERAGED);
        Self { spectrum: spectrum.expect("both are in range"), powers: None }
    }

    /// Adds samples (sc16, little-endian), as many as the next row still needs.
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

    /// Returns the level of each column, 0 (noise floor) to 1; `None` until enough samples have
    /// arrived since the last call.
    pub(super) fn levels(&mut self) -> Option<Levels> {
        let powers = self.powers.take()?;
        let peak = |column: usize| {
            let bins = &powers[column * BINS / COLUMNS..(column + 1) * BINS / COLUMNS];
            bins.iter().copied().fold(0.0, f32::max)
        };
        Some(std::array::from_fn(|column| level_of(peak(column))))
    }
}

/// The level of each column, 0 to 1.
pub(super) type Levels = [f32; COLUMNS];

fn level_of(power: f32) -> f32 {
    ((decibels(power) - FLOOR_DB) / (CEILING_DB - FLOOR_DB)).clamp(0.0, 1.0)
}

/// Returns the block character that fills this share of its cell, from below.
pub(super) fn block_of(share: f32) -> char {
    let last = BLOCKS.len() - 1;
    BLOCKS[((share * BLOCKS.len() as f32).max(0.0) as usize).min(last)]
}

/// Columns of the spectrum.
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

    fn levels_of(source: &str) -> Levels {
        let spec: SourceSpec = source.parse().unwrap();
        let mut source = spec.open(&SourceOptions::new().rate_hz(1e6)).unwrap();
        let mut bytes = vec![0; BINS * AVERAGED as usize * 4];
        // The scene begins with a burst.
        source.read(&mut bytes).unwrap();
        source.read(&mut bytes).unwrap();
        let mut spectrum = Spectrum::new();
        spectrum.take(&bytes[..400]);
        assert_eq!(spectrum.levels(), None, "100 samples are too few");
        spectrum.take(&bytes[400..]);
        spectrum.levels().unwrap()
    }

    #[test]
    fn tone_stands_in_its_column() {
        let levels = levels_of("tone:250k");
        assert_eq!(block_of(levels[COLUMNS * 3 / 4]), '█');
        assert_eq!(block_of(levels[COLUMNS / 4]), ' ', "{levels:?}");
    }

    #[test]
    fn scene_shows_its_carriers_above_the_noise() {
        let levels = levels_of("scene");
        let column = |frequency: f32| levels[((frequency + 0.5) * COLUMNS as f32) as usize];
        for frequency in [-0.3125, 0.0625, 0.218_75] {
            assert!(column(frequency) >= 0.66, "{frequency}: {levels:?}");
        }
        assert!(column(0.47) <= 0.34, "{levels:?}");
    }

    #[test]
    fn block_fills_its_cell_from_below() {
        let blocks = [-1.0, 0.0, 0.11, 0.12, 0.5, 0.88, 0.89, 1.0, 2.0].map(block_of);
        assert_eq!(blocks, [' ', ' ', ' ', '▁', '▄', '▇', '█', '█', '█']);
    }
}
