//! A counter: every sample says its own index.

use samplewire_proto::SampleIndex;
use samplewire_proto::wire::Format;

use super::{Source, SourceError, StreamInfo, whole_frames};

/// Sample `i` is the low 32 bits of `i`, little-endian: as sc16, I holds the low half and Q the
/// high one. [`counter_mismatch`] checks what arrived. Endless.
#[derive(Debug)]
pub struct CounterSource {
    info: StreamInfo,
    next: SampleIndex,
}

impl CounterSource {
    /// A counter whose first sample says `first`.
    ///
    /// # Errors
    /// [`SourceError::Rate`] when the rate is out of range.
    pub fn new(rate_hz: f64, first: SampleIndex) -> Result<Self, SourceError> {
        let info = StreamInfo::new(Format::Sc16, 1, rate_hz)?;
        Ok(Self { info: StreamInfo { name: "counter".into(), ..info }, next: first })
    }
}

impl Source for CounterSource {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, SourceError> {
        let out = whole_frames(out, COUNTER_BYTES);
        let first = self.next as u32;
        for (offset, sample) in (0..).zip(out.as_chunks_mut::<COUNTER_BYTES>().0) {
            *sample = first.wrapping_add(offset).to_le_bytes();
        }
        self.next = self.next.wrapping_add((out.len() / COUNTER_BYTES) as u64);
        Ok(out.len())
    }
}

/// The index of the first sample in `bytes`, which begin with sample `first`, that is not what a
/// [`CounterSource`] gives; `None` when all are. A sample cut off at the end is not looked at.
///
/// ```
/// use samplewire::source::counter_mismatch;
///
/// assert_eq!(counter_mismatch(7, &[7, 0, 0, 0, 8, 0, 0, 0]), None);
/// assert_eq!(counter_mismatch(7, &[7, 0, 0, 0, 9, 0, 0, 0]), Some(8));
/// ```
pub fn counter_mismatch(first: SampleIndex, bytes: &[u8]) -> Option<SampleIndex> {
    let samples = bytes.as_chunks::<COUNTER_BYTES>().0;
    let wrong = |(offset, sample): (u64, &[u8; COUNTER_BYTES])| {
        let index = first.wrapping_add(offset);
        (u32::from_le_bytes(*sample) != index as u32).then_some(index)
    };
    (0..).zip(samples).find_map(wrong)
}

const COUNTER_BYTES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_goes_on_across_reads_and_past_32_bits() {
        let first = (1 << 32) - 3;
        let mut counter = CounterSource::new(1e6, first).unwrap();
        let mut out = [0; 20];
        assert_eq!(counter.read(&mut out[..11]).unwrap(), 8);
        assert_eq!(counter.read(&mut out[8..]).unwrap(), 12);
        assert_eq!(counter_mismatch(first, &out), None);
        assert_eq!(out[12..], [0, 0, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn one_wrong_bit_is_found() {
        let mut counter = CounterSource::new(1e6, 0).unwrap();
        let mut out = vec![0; 4_000];
        counter.read(&mut out).unwrap();
        out[2_003] ^= 0x80;
        assert_eq!(counter_mismatch(0, &out), Some(500));
    }

    #[test]
    #[should_panic(expected = "3 bytes for samples of 4")]
    fn room_for_less_than_a_sample_is_refused() {
        CounterSource::new(1e6, 0).unwrap().read(&mut [0; 3]).ok();
    }
}
