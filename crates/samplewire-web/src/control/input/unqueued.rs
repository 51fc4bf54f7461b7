//! Samples that were copied, and are not in the file's queue yet.

use samplewire::SampleIndex;
use samplewire_record::sigmf::RecordedGap;
use samplewire_record::sink::{SinkError, Writer};

use crate::control::RecordingProgress;

/// What is not queued yet.
#[derive(Debug, Default)]
pub(crate) struct UnqueuedSamples {
    /// Consecutive samples; the first has `index`.
    pub(super) bytes: Vec<u8>,
    pub(super) index: SampleIndex,
    /// The index after the last.
    pub(super) end: SampleIndex,
    /// Samples after them that were left out.
    pub(super) behind: Option<RecordedGap>,
}

impl UnqueuedSamples {
    /// Queues the rest.
    ///
    /// # Blocking
    /// Until the file has room.
    pub(crate) fn write(
        mut self,
        writer: &mut Writer,
        progress: &RecordingProgress,
    ) -> Result<(), SinkError> {
        self.flush(writer)?;
        self.name_left_out(writer, progress)
    }

    /// Queues the samples.
    pub(super) fn flush(&mut self, writer: &mut Writer) -> Result<(), SinkError> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let spare = writer.spare().unwrap_or_else(|| Vec::with_capacity(self.bytes.capacity()));
        writer.copied(self.index, std::mem::replace(&mut self.bytes, spare))
    }

    /// Queues the gap of what was left out.
    pub(super) fn name_left_out(
        &mut self,
        writer: &mut Writer,
        progress: &RecordingProgress,
    ) -> Result<(), SinkError> {
        let Some(gap) = self.behind.take() else { return Ok(()) };
        progress.add_gap(&gap);
        writer.gap(&gap)
    }
}
