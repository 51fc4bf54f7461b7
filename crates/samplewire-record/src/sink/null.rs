//! A sink that writes nothing.

use samplewire::StreamInfo;
use samplewire_proto::SampleIndex;

use super::{Holes, SinkError, SinkSummary, WriteSamples, samples_in};
use crate::sigmf::RecordedGap;

/// Counts samples and discards them.
#[derive(Debug)]
pub struct NullSink {
    frame_bytes: usize,
    summary: SinkSummary,
}

impl NullSink {
    /// Creates a sink for samples of `info`.
    pub fn new(info: &StreamInfo) -> Self {
        Self { frame_bytes: info.frame_bytes(), summary: SinkSummary::default() }
    }
}

impl WriteSamples for NullSink {
    fn write(&mut self, _index: SampleIndex, bytes: &[u8]) -> Result<(), SinkError> {
        self.summary.samples += samples_in(bytes, self.frame_bytes)?;
        self.summary.bytes += bytes.len() as u64;
        Ok(())
    }

    fn gap(&mut self, gap: &RecordedGap) -> Result<(), SinkError> {
        self.summary.count(gap);
        Ok(())
    }

    fn finish(&mut self) -> Result<SinkSummary, SinkError> {
        Ok(self.summary.clone())
    }

    fn as_holes(&mut self) -> Option<&mut dyn Holes> {
        Some(self)
    }
}

impl Holes for NullSink {
    fn hole(&mut self, _index: SampleIndex, samples: u64) -> Result<(), SinkError> {
        let bytes = samples.saturating_mul(self.frame_bytes as u64);
        self.summary.samples = self.summary.samples.saturating_add(samples);
        self.summary.bytes = self.summary.bytes.saturating_add(bytes);
        Ok(())
    }
}
