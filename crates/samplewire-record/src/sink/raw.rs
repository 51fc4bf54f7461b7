//! Raw samples without metadata.

use std::path::Path;

use samplewire::StreamInfo;
use samplewire_proto::SampleIndex;

use super::data_file::DataFile;
use super::{Holes, SinkError, SinkOptions, SinkSummary, WriteSamples, samples_in};
use crate::sigmf::RecordedGap;

/// Writes consecutive samples to a file or to standard output. Gaps are counted but leave no trace:
/// the samples after a gap follow directly those before it.
///
/// For a file, up to 1 MiB is gathered before a write, and is lost if the process is killed. Pipes
/// and devices get each piece at once.
#[derive(Debug)]
pub struct RawSink {
    data: DataFile,
    frame_bytes: usize,
    summary: SinkSummary,
}

impl RawSink {
    /// Creates a file; an existing pipe or device is opened as it is.
    ///
    /// # Errors
    /// [`SinkError::Exists`] if the file exists and may not be emptied, [`SinkError::Io`] if it
    /// cannot be created.
    pub fn create(
        path: &Path,
        info: &StreamInfo,
        options: &SinkOptions,
    ) -> Result<Self, SinkError> {
        let (overwrite, is_direct) = (options.overwrite, options.direct);
        let data =
            DataFile::create(&*options.storage, path, info.frame_bytes(), overwrite, is_direct)?;
        let data = data.empty()?;
        let summary = SinkSummary { files: vec![path.to_owned()], ..SinkSummary::default() };
        Ok(Self { data, frame_bytes: info.frame_bytes(), summary })
    }

    /// Writes to standard output.
    ///
    /// # Errors
    /// [`SinkError::Io`] if standard output is closed.
    pub fn stdout(info: &StreamInfo) -> Result<Self, SinkError> {
        let data = DataFile::stdout(info.frame_bytes())?;
        Ok(Self { data, frame_bytes: info.frame_bytes(), summary: SinkSummary::default() })
    }
}

impl WriteSamples for RawSink {
    fn write(&mut self, _index: SampleIndex, bytes: &[u8]) -> Result<(), SinkError> {
        samples_in(bytes, self.frame_bytes)?;
        self.data.append(bytes)
    }

    fn gap(&mut self, gap: &RecordedGap) -> Result<(), SinkError> {
        self.summary.count(gap);
        Ok(())
    }

    fn finish(&mut self) -> Result<SinkSummary, SinkError> {
        let flushed = self.data.flush_all();
        self.summary.samples = self.data.len_samples();
        self.summary.bytes = self.data.written_bytes();
        flushed?;
        self.data.release()?;
        Ok(self.summary.clone())
    }

    fn as_holes(&mut self) -> Option<&mut dyn Holes> {
        if self.data.is_regular() { Some(self) } else { None }
    }
}

impl Holes for RawSink {
    fn hole(&mut self, _index: SampleIndex, samples: u64) -> Result<(), SinkError> {
        self.data.hole(samples)
    }
}
