//! A counter: every sample says its own index.

use samplewire_proto::SampleIndex;
use samplewire_proto::wire::Format;

use super::{RateError, ReadSamples, StreamInfo, whole_frames};
use crate::error::BoxError;

/// Sample `i` is the low 32 bits of `i`, little-endian: as sc16, I holds the low half and Q the
/// high one. Where there are several channels, each counts from a start of its own
/// ([`counter_sample`]). [`counter_mismatch`] checks what arrived. Endless.
#[derive(Debug)]
pub struct CounterSource {
    info: StreamInfo,
    next: SampleIndex,
}

impl CounterSource {
    /// A counter whose first sample says `first`.
    ///
    /// # Errors
    /// [`RateError`] when the rate is out of range.
    pub fn new(rate_hz: f64, first: SampleIndex) -> Result<Self, RateError> {
        let info = StreamInfo::new(Format::Sc16, 1, rate_hz)?;
        Ok(Self { info: StreamInfo { name: "counter".into(), ..info }, next: first })
    }

    /// The same on so many channels, at least 1.
    #[must_use]
    pub fn with_channels(mut self, channels: u16) -> Self {
        self.info.channels = channels.max(1);
        self
    }
}

impl ReadSamples for CounterSource {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        let out = whole_frames(out, self.info.frame_bytes());
        let first = self.next as u32;
        let channels = usize::from(self.info.channels);
        let samples = out.as_chunks_mut::<COUNTER_BYTES>().0;
        // One by one is many times as fast as by steps of one.
        match channels {
            1 => count(first, samples.iter_mut()),
            _ => {
                for channel in 0..self.info.channels {
                    let first = first.wrapping_add(channel_start(channel));
                    count(first, samples.iter_mut().skip(channel.into()).step_by(channels));
                }
            }
        }
        self.next = self.next.wrapping_add((out.len() / self.info.frame_bytes()) as u64);
        Ok(out.len())
    }

    fn start_at(&mut self, first: SampleIndex) {
        self.next = first;
    }
}

/// The sample of a counter at `index` on `channel`: no two channels have the same at one index.
///
/// ```
/// use samplewire::source::counter_sample;
///
/// assert_eq!(counter_sample(7, 0), [7, 0, 0, 0]);
/// assert_ne!(counter_sample(7, 1), counter_sample(7, 2));
/// ```
pub fn counter_sample(index: SampleIndex, channel: u16) -> [u8; 4] {
    (index as u32).wrapping_add(channel_start(channel)).to_le_bytes()
}

fn count<'a>(first: u32, samples: impl Iterator<Item = &'a mut [u8; COUNTER_BYTES]>) {
    for (offset, sample) in (0..).zip(samples) {
        *sample = first.wrapping_add(offset).to_le_bytes();
    }
}

/// What a channel says at index 0: the multiples of an odd number differ, and those of the golden
/// ratio lie far apart, so that no channel looks like another that is late.
const fn channel_start(channel: u16) -> u32 {
    (channel as u32).wrapping_mul(0x9E37_79B9)
}

/// The index of the first sample in `bytes`, which begin with sample `first`, that is not what a
/// [`CounterSource`] of one channel gives; `None` when all are. A sample cut off at the end is not looked at.
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
    fn channels_count_from_starts_of_their_own() {
        let mut counter = CounterSource::new(1e6, 0).unwrap().with_channels(3);
        counter.start_at(1 << 33);
        let mut out = [0; 30];
        assert_eq!(counter.read(&mut out).unwrap(), 24, "whole samples of all channels");
        assert_eq!(counter.read(&mut out[..12]).unwrap(), 12);
        for (first, frames) in [(2, &out[..12]), (1, &out[12..24])] {
            for (channel, sample) in (0..).zip(frames.as_chunks::<COUNTER_BYTES>().0) {
                assert_eq!(*sample, counter_sample((1 << 33) + first, channel));
            }
        }
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
