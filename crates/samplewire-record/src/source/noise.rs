//! Noise that is repeatable by its seed.

use samplewire::BoxError;
use samplewire::format::convert;
use samplewire::source::{ReadSamples, StreamInfo, whole_frames};
use samplewire_blocks::kernels::{noise_pair, scramble};
use samplewire_proto::wire::Format;

use super::SourceError;

/// White noise, nearly Gaussian, 16.8 dB below full scale (rms of each part). Endless.
///
/// Each part is the sum of four uniform bytes, so none exceeds 3.5 times the rms.
#[derive(Debug)]
pub struct NoiseSource {
    info: StreamInfo,
    seed: u64,
    next_part: u64,
}

impl NoiseSource {
    /// Creates noise of one channel in any format. Equal seeds give equal noise.
    ///
    /// # Errors
    /// [`SourceError::Rate`] if the rate is out of range.
    pub fn new(format: Format, rate_hz: f64, seed: u64) -> Result<Self, SourceError> {
        let info = StreamInfo::new(format, 1, rate_hz)?;
        Ok(Self { info: StreamInfo { name: "noise".into(), ..info }, seed, next_part: 0 })
    }

    /// Returns the next `len` parts, generated in `block`, which has room for one more.
    fn fill<'a>(&mut self, block: &'a mut [[[u8; 2]; 2]], len: usize) -> &'a [u8] {
        let skipped = (self.next_part % 2) as usize;
        let pairs = (skipped + len).div_ceil(2);
        for (number, pair) in (self.next_part / 2..).zip(&mut block[..pairs]) {
            let parts = noise_pair(scramble(self.seed.wrapping_add(number)));
            *pair = parts.map(|part| (part * STEP).to_le_bytes());
        }
        self.next_part += len as u64;
        block.as_flattened()[skipped..skipped + len].as_flattened()
    }
}

impl ReadSamples for NoiseSource {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        let format = self.info.format;
        let out = whole_frames(out, self.info.frame_bytes());
        let (native, parts_of_sample) =
            if format.is_complex() { (Format::Sc16, 2) } else { (Format::R16, 1) };
        let mut block = [[[0; 2]; 2]; BLOCK_PARTS / 2 + 1];
        for piece in out.chunks_mut(BLOCK_PARTS / parts_of_sample * format.sample_bytes()) {
            let parts = piece.len() / format.sample_bytes() * parts_of_sample;
            convert(native, format, self.fill(&mut block, parts), piece)
                .expect("both are complex or both real, and the piece holds the block's samples");
        }
        Ok(out.len())
    }
}

/// The size of a step of [`noise_pair`] in sc16 steps: the extremes, 510 steps, stay in range.
const STEP: i16 = 32;

/// Parts generated at a time: 8 KiB, which stay in the first-level cache.
const BLOCK_PARTS: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(format: Format, seed: u64, len_bytes: usize) -> Vec<u8> {
        let mut out = vec![0; len_bytes];
        NoiseSource::new(format, 1e6, seed).unwrap().read(&mut out).unwrap();
        out
    }

    #[test]
    fn seed_repeats_the_noise_in_pieces_of_any_length() {
        let whole = noise(Format::R16, 7, 60_000);
        let mut source = NoiseSource::new(Format::R16, 1e6, 7).unwrap();
        let mut pieces = vec![0; 60_000];
        for piece in pieces.chunks_mut(1_358) {
            source.read(piece).unwrap();
        }
        assert_eq!(pieces, whole);
        assert_ne!(noise(Format::R16, 8, 60_000), whole);
    }

    #[test]
    fn power_is_what_the_doc_says_and_parts_are_unrelated() {
        let bytes = noise(Format::Sc16, 1, 4 << 17);
        let part = |bytes: &[u8; 2]| f64::from(i16::from_le_bytes(*bytes)) / 32_768.0;
        let parts: Vec<f64> = bytes.as_chunks::<2>().0.iter().map(part).collect();
        let mean_of = |product: &dyn Fn(usize) -> f64| {
            (0..parts.len() - 2).map(product).sum::<f64>() / parts.len() as f64
        };
        let power_db = 10.0 * mean_of(&|at| parts[at] * parts[at]).log10();
        assert!((power_db + 16.8).abs() < 0.1, "{power_db} dB");
        for lag in [1, 2] {
            let related = mean_of(&|at| parts[at] * parts[at + lag]);
            assert!(related.abs() < 1e-4, "{related} at {lag}");
        }
    }

    #[test]
    fn other_formats_carry_the_same_noise() {
        let words = noise(Format::Sc16, 3, 40_000);
        let mut floats = vec![0; 80_000];
        convert(Format::Sc16, Format::Fc32, &words, &mut floats).unwrap();
        assert_eq!(noise(Format::Fc32, 3, 80_000), floats);
    }
}
