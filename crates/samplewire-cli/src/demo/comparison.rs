//! Compares received samples with those that were sent.

use samplewire::BoxError;
use samplewire::source::ReadSamples;
use samplewire_proto::SampleIndex;

/// Plays the source once more and compares each byte.
pub(super) struct Comparison {
    source: Box<dyn ReadSamples>,
    expected: Vec<u8>,
    /// The first sample that differs from the sent one.
    mismatch: Option<SampleIndex>,
}

impl Comparison {
    pub(super) fn new(source: Box<dyn ReadSamples>) -> Self {
        Self { source, expected: Vec::new(), mismatch: None }
    }

    /// Returns the first sample that differs from the sent one.
    pub(super) const fn mismatch(&self) -> Option<SampleIndex> {
        self.mismatch
    }

    /// Skips missing samples.
    pub(super) fn skip(&mut self, samples: u64) -> Result<(), BoxError> {
        let mut left = samples;
        while left > 0 {
            let piece = left.min(PIECE_SAMPLES);
            self.read(piece as usize * self.source.info().frame_bytes())?;
            left -= piece;
        }
        Ok(())
    }

    /// Compares the samples from `index` on.
    pub(super) fn take(&mut self, index: SampleIndex, bytes: &[u8]) -> Result<(), BoxError> {
        self.read(bytes.len())?;
        if self.mismatch.is_none()
            && let Some(at) = bytes.iter().zip(&self.expected).position(|(a, b)| a != b)
        {
            self.mismatch = Some(index + (at / self.source.info().frame_bytes()) as u64);
        }
        Ok(())
    }

    fn read(&mut self, len_bytes: usize) -> Result<(), BoxError> {
        self.expected.resize(len_bytes, 0);
        if len_bytes > 0 {
            self.source.read(&mut self.expected)?;
        }
        Ok(())
    }
}

const PIECE_SAMPLES: u64 = 65_536;

#[cfg(test)]
mod tests {
    use samplewire_record::source::{SourceOptions, SourceSpec};

    use super::*;

    fn comparison() -> Comparison {
        Comparison::new(SourceSpec::Counter.open(&SourceOptions::new()).unwrap())
    }

    fn counted(first: u32, len: u32) -> Vec<u8> {
        (first..first + len).flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn what_was_sent_agrees_across_a_gap() {
        let mut comparison = comparison();
        comparison.take(0, &counted(0, 1_000)).unwrap();
        comparison.skip(200_000).unwrap();
        comparison.take(201_000, &counted(201_000, 10)).unwrap();
        assert_eq!(comparison.mismatch(), None);
    }

    #[test]
    fn first_wrong_sample_is_named() {
        let mut comparison = comparison();
        let mut bytes = counted(0, 100);
        bytes[402 - 100] ^= 1;
        comparison.take(0, &bytes).unwrap();
        comparison.take(100, &counted(0, 100)).unwrap();
        assert_eq!(comparison.mismatch(), Some(75));
    }
}
