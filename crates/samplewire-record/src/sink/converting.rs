//! A sink that converts the sample format.

use samplewire::format::{ConvertError, convert};
use samplewire::{StreamInfo, TaiClock};
use samplewire_proto::SampleIndex;
use samplewire_proto::wire::Format;

use super::{Backlog, SinkError, SinkSummary, WriteSamples, samples_in};
use crate::sigmf::RecordedGap;

/// Converts samples and writes them to another sink, in pieces of up to 256 KiB.
#[derive(Debug)]
pub struct ConvertingSink {
    inner: Box<dyn WriteSamples>,
    from: Format,
    to: Format,
    channels: usize,
    piece: Vec<u8>,
}

impl ConvertingSink {
    /// Converts samples of `info` to `format` and writes them to `inner`, which must accept
    /// `format`.
    ///
    /// # Errors
    /// [`ConvertError`] if one format is complex and the other real.
    pub fn new(
        info: &StreamInfo,
        format: Format,
        inner: Box<dyn WriteSamples>,
    ) -> Result<Self, ConvertError> {
        convert(info.format, format, &[], &mut [])?;
        let channels = usize::from(info.channels);
        let frame_bytes = format.sample_bytes() * channels;
        let piece = vec![0; (PIECE_BYTES / frame_bytes).max(1) * frame_bytes];
        Ok(Self { inner, from: info.format, to: format, channels, piece })
    }
}

impl WriteSamples for ConvertingSink {
    fn write(&mut self, index: SampleIndex, bytes: &[u8]) -> Result<(), SinkError> {
        let frame_bytes = self.from.sample_bytes() * self.channels;
        samples_in(bytes, frame_bytes)?;
        let piece_samples = self.piece.len() / (self.to.sample_bytes() * self.channels);
        let pieces = bytes.chunks(piece_samples * frame_bytes);
        for (index, input) in (index..).step_by(piece_samples).zip(pieces) {
            let len_bytes = convert(self.from, self.to, input, &mut self.piece)?;
            self.inner.write(index, &self.piece[..len_bytes])?;
        }
        Ok(())
    }

    fn gap(&mut self, gap: &RecordedGap) -> Result<(), SinkError> {
        self.inner.gap(gap)
    }

    fn event(&mut self, index: SampleIndex, text: &str) -> Result<(), SinkError> {
        self.inner.event(index, text)
    }

    fn session(&mut self, boot_id: u64) -> Result<(), SinkError> {
        self.inner.session(boot_id)
    }

    fn tune(&mut self, centre_hz: Option<f64>) -> Result<(), SinkError> {
        self.inner.tune(centre_hz)
    }

    fn time(&mut self, clock: Option<TaiClock>) -> Result<(), SinkError> {
        self.inner.time(clock)
    }

    fn finish(&mut self) -> Result<SinkSummary, SinkError> {
        self.inner.finish()
    }

    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }
}

/// Small enough to stay in the second-level cache between conversion and writing.
const PIECE_BYTES: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sigmf::RecordedCause;
    use samplewire_proto::Cause;
    use std::sync::{Arc, Mutex};

    /// Keeps everything that it is given.
    #[derive(Clone, Debug, Default)]
    struct Kept(Arc<Mutex<Pieces>>);

    type Pieces = Vec<(SampleIndex, Vec<u8>)>;

    impl WriteSamples for Kept {
        fn write(&mut self, index: SampleIndex, bytes: &[u8]) -> Result<(), SinkError> {
            self.0.lock().unwrap().push((index, bytes.to_owned()));
            Ok(())
        }

        fn gap(&mut self, gap: &RecordedGap) -> Result<(), SinkError> {
            self.0.lock().unwrap().push((gap.first, Vec::new()));
            Ok(())
        }

        fn finish(&mut self) -> Result<SinkSummary, SinkError> {
            Ok(SinkSummary::default())
        }
    }

    #[test]
    fn long_writes_arrive_in_pieces_with_their_indexes() {
        let info = StreamInfo::new(Format::Sc8, 3, 1e6).unwrap();
        let kept = Kept::default();
        let mut sink = ConvertingSink::new(&info, Format::Fc32, Box::new(kept.clone())).unwrap();
        let input: Vec<u8> = (0..120_000_u32).map(|at| at as u8).collect();
        sink.write(1_000, &input).unwrap();
        let cause = RecordedCause::Stream(Cause::Deadline);
        let gap = RecordedGap::new(21_000, 1, 0, cause);
        sink.gap(&gap).unwrap();
        let kept = kept.0.lock().unwrap();
        let (starts, pieces): (Vec<_>, Vec<_>) = kept.iter().cloned().unzip();
        assert_eq!(starts, [1_000, 1_000 + PIECE_BYTES as u64 / 24, 21_000]);
        let mut expected = vec![0; 480_000];
        convert(Format::Sc8, Format::Fc32, &input, &mut expected).unwrap();
        assert_eq!(pieces.concat(), expected);
    }

    #[test]
    fn complex_to_real_is_refused_at_the_start() {
        let info = StreamInfo::new(Format::Sc8, 1, 1e6).unwrap();
        assert!(ConvertingSink::new(&info, Format::R8, Box::new(Kept::default())).is_err());
    }
}
