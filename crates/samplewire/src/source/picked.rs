//! Some channels of a source that has more.

use std::ops::Range;

use samplewire_proto::SampleIndex;

use super::{ReadSamples, StreamInfo, whole_frames};
use crate::error::BoxError;

/// Reads a source of several channels and gives some of them, in pieces of up to 256 KiB.
///
/// ```
/// use samplewire::source::{CounterSource, PickedSource, ReadSamples, counter_sample};
///
/// let counter = CounterSource::new(1e6, 0)?.with_channels(4);
/// let mut picked = PickedSource::new(Box::new(counter), 2..3);
/// let mut out = [0; 4];
/// picked.read(&mut out)?;
/// assert_eq!(out, counter_sample(0, 2));
/// # Ok::<(), samplewire::BoxError>(())
/// ```
pub struct PickedSource {
    inner: Box<dyn ReadSamples>,
    info: StreamInfo,
    /// Where they lie in a sample of all channels.
    bytes: Range<usize>,
    piece: Vec<u8>,
}

impl PickedSource {
    /// The channels of `inner` with these numbers, from 0.
    ///
    /// # Panics
    /// When it has no such channels, or the range is empty.
    pub fn new(inner: Box<dyn ReadSamples>, channels: Range<u16>) -> Self {
        let all = inner.info();
        let is_there = !channels.is_empty() && channels.end <= all.channels;
        assert!(is_there, "channels {channels:?} of {}", all.channels);
        let frame_bytes = all.frame_bytes();
        let at = |channel: u16| usize::from(channel) * all.format.sample_bytes();
        let bytes = at(channels.start)..at(channels.end);
        let channels = channels.end - channels.start;
        let info = StreamInfo { channels, ..all.clone() };
        let piece = vec![0; (PIECE_BYTES / frame_bytes).max(1) * frame_bytes];
        Self { inner, info, bytes, piece }
    }
}

impl ReadSamples for PickedSource {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        let out = whole_frames(out, self.bytes.len());
        let frame_bytes = self.inner.info().frame_bytes();
        let mut len_bytes = 0;
        while len_bytes < out.len() {
            let samples = (out.len() - len_bytes) / self.bytes.len();
            let wanted_bytes = (samples * frame_bytes).min(self.piece.len());
            let read_bytes = self.inner.read(&mut self.piece[..wanted_bytes])?;
            if read_bytes == 0 {
                break;
            }
            let frames = self.piece[..read_bytes].chunks_exact(frame_bytes);
            for (picked, frame) in out[len_bytes..].chunks_exact_mut(self.bytes.len()).zip(frames) {
                picked.copy_from_slice(&frame[self.bytes.clone()]);
            }
            len_bytes += read_bytes / frame_bytes * self.bytes.len();
        }
        Ok(len_bytes)
    }

    fn start_at(&mut self, first: SampleIndex) {
        self.inner.start_at(first);
    }
}

impl std::fmt::Debug for PickedSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PickedSource").field("info", &self.info).finish_non_exhaustive()
    }
}

/// Small enough to stay in the second cache between reading and picking.
const PIECE_BYTES: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;

    /// Ends.
    struct Bytes {
        info: StreamInfo,
        left: Vec<u8>,
    }

    impl ReadSamples for Bytes {
        fn info(&self) -> &StreamInfo {
            &self.info
        }

        fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
            let out = whole_frames(out, self.info.frame_bytes());
            let len_bytes = out.len().min(self.left.len());
            out[..len_bytes].copy_from_slice(&self.left[..len_bytes]);
            self.left.drain(..len_bytes);
            Ok(len_bytes)
        }
    }

    #[test]
    fn channels_that_are_picked_come_out_all_of_them() {
        let samples = 100_001;
        let bytes: Vec<u8> = (0..samples * 6).map(|at| (at % 251) as u8).collect();
        let info = StreamInfo::new(Format::R16, 3, 1e6).unwrap();
        let inner = Bytes { info, left: bytes.clone() };
        let mut source = PickedSource::new(Box::new(inner), 1..3);
        assert_eq!((source.info().channels, source.info().frame_bytes()), (2, 4));
        let mut out = vec![0; samples * 4 + 7];
        assert_eq!(source.read(&mut out).unwrap(), samples * 4, "the end");
        for (at, sample) in out[..samples * 4].chunks(4).enumerate() {
            assert_eq!(sample, &bytes[at * 6 + 2..at * 6 + 6], "{at}");
        }
        assert_eq!(source.read(&mut out).unwrap(), 0);
    }

    #[test]
    #[should_panic(expected = "channels 1..3 of 2")]
    fn channel_that_is_not_there_is_refused() {
        let null = crate::source::NullSource::new(Format::R16, 2, 1e6).unwrap();
        PickedSource::new(Box::new(null), 1..3);
    }
}
