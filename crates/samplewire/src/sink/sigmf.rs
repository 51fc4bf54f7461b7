//! SigMF recordings, valid at every moment.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::SystemTime;

use samplewire_proto::{Gap, SampleIndex};

use super::data_file::DataFile;
use super::hasher::Hasher;
use super::meta_file::MetaFile;
use super::{Sink, SinkError, SinkSummary, samples_in};
use crate::sigmf::{Document, GAPS_MAX, Paths, rfc3339};
use crate::source::StreamInfo;

/// Writes `NAME.sigmf-data` and `NAME.sigmf-meta`.
///
/// The data file only grows; the metadata are replaced as a whole: when the recording starts, at
/// its first sample, after gaps (at most once a second) and at the end. So both are valid also
/// when the process is killed: then up to 1 MiB of samples that were still gathered is not in the
/// file, the hash is not in the metadata, and gaps of the last second may be missing there.
///
/// Each run of samples without a gap is a capture with `core:global_index`; each gap is an
/// annotation with its cause. 1 MiB of samples is gathered for each write. The hash is made beside
/// that by a thread of its own, some 0.6 GB/s; a faster recording waits for it at the end.
#[derive(Debug)]
pub struct SigmfSink {
    data: DataFile,
    meta: MetaFile,
    document: Document,
    paths: Paths,
    frame_bytes: usize,
    hasher: Option<Hasher>,
    /// The index that would continue the run; `None` before the first.
    next: Option<SampleIndex>,
    /// Whether the document says more than the metadata file.
    unwritten: bool,
    state: State,
    summary: SinkSummary,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// An error ended the data: they can be finished, not continued.
    Failed,
    Finished,
}

impl SigmfSink {
    /// Creates the files of the recording `path`, which may be `NAME` or either file's name.
    /// `sha512` asks for the hash.
    ///
    /// # Errors
    /// [`SinkError::Exists`] when one of them is there and `overwrite` is false, [`SinkError::Io`]
    /// when one cannot be created.
    pub fn create(
        path: &Path,
        info: &StreamInfo,
        overwrite: bool,
        sha512: bool,
    ) -> Result<Self, SinkError> {
        let paths = Paths::of(path);
        if !overwrite && paths.meta.exists() {
            return Err(SinkError::Exists { path: paths.meta });
        }
        let frame_bytes = info.frame_bytes();
        let data = DataFile::create(&paths.data, frame_bytes, overwrite)?;
        let hasher = (sha512 && data.is_regular()).then(|| Hasher::start(&paths.data)).transpose();
        let files = vec![paths.meta.clone(), paths.data.clone()];
        let mut sink = Self {
            data,
            meta: MetaFile::new(&paths.meta),
            document: Document::new(info),
            frame_bytes,
            hasher: hasher.map_err(|source| SinkError::Io {
                operation: "start the hashing of",
                path: paths.data.clone(),
                source,
            })?,
            paths,
            next: None,
            unwritten: true,
            state: State::Open,
            summary: SinkSummary { files, ..SinkSummary::default() },
        };
        sink.replace_meta()?;
        Ok(sink)
    }

    fn begin_run(&mut self, index: SampleIndex) -> Result<(), SinkError> {
        let sample_start = self.data.len_samples();
        if sample_start == 0 {
            self.document.set_datetime(rfc3339(SystemTime::now()));
        }
        if !self.document.begin_run(sample_start, index) {
            return Err(self.too_many_gaps());
        }
        self.unwritten = true;
        Ok(())
    }

    /// Runs a write to the data file, and lets the hash follow it.
    fn with_data(
        &mut self,
        write: impl FnOnce(&mut DataFile) -> Result<(), SinkError>,
    ) -> Result<(), SinkError> {
        let before_bytes = self.data.written_bytes();
        let written = write(&mut self.data);
        if written.is_err() {
            self.state = State::Failed;
            self.hasher = None;
            self.document.truncate(self.data.len_samples());
        }
        if let Some(hasher) = &self.hasher
            && self.data.written_bytes() != before_bytes
        {
            hasher.wake();
        }
        written
    }

    /// Writes the metadata as they stand, and takes room for the next version.
    fn replace_meta(&mut self) -> Result<(), SinkError> {
        let replaced = self.meta.replace(&self.document, None);
        if replaced.is_ok() {
            self.unwritten = false;
        }
        let reserved = replaced.and_then(|()| self.meta.reserve(&self.document));
        reserved.map_err(|source| {
            self.state = State::Failed;
            self.meta_failed(source)
        })
    }

    fn meta_failed(&self, source: io::Error) -> SinkError {
        let path = self.paths.meta.clone();
        match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                SinkError::Full { path, len_samples: self.data.len_samples(), source }
            }
            _ => SinkError::Io { operation: "write", path, source },
        }
    }

    fn too_many_gaps(&self) -> SinkError {
        SinkError::TooManyGaps { path: self.paths.meta.clone(), gaps_max: GAPS_MAX }
    }

    fn check_open(&self) -> Result<(), SinkError> {
        match self.state {
            State::Open => Ok(()),
            State::Failed | State::Finished => {
                Err(SinkError::Closed { path: self.data.path().to_owned() })
            }
        }
    }
}

impl Sink for SigmfSink {
    fn write(&mut self, index: SampleIndex, bytes: &[u8]) -> Result<(), SinkError> {
        self.check_open()?;
        let samples = samples_in(bytes, self.frame_bytes)?;
        if samples == 0 {
            return Ok(());
        }
        let is_first = self.data.len_samples() == 0;
        if self.next != Some(index) {
            self.begin_run(index)?;
        }
        self.with_data(|data| data.append(bytes))?;
        self.next = index.checked_add(samples);
        if self.unwritten && (is_first || self.meta.is_due(&self.document)) {
            // The data first: metadata must not tell of samples that are not in the file.
            self.with_data(DataFile::flush)?;
            self.replace_meta()?;
        }
        Ok(())
    }

    fn gap(&mut self, gap: &Gap) -> Result<(), SinkError> {
        self.check_open()?;
        if !self.document.add_gap(self.data.len_samples(), gap) {
            return Err(self.too_many_gaps());
        }
        self.summary.count(gap);
        self.unwritten = true;
        Ok(())
    }

    fn finish(&mut self) -> Result<SinkSummary, SinkError> {
        if self.state == State::Finished {
            return Ok(self.summary.clone());
        }
        let flushed = match self.state {
            State::Open => self.with_data(DataFile::flush),
            State::Failed | State::Finished => Ok(()),
        };
        self.state = State::Finished;
        self.summary.samples = self.data.len_samples();
        self.summary.bytes = self.data.written_bytes();
        // Before the hash, which may take long: whoever ends the process then has all else.
        let mut written = match self.unwritten {
            true => self.meta.replace(&self.document, None),
            false => Ok(()),
        };
        let hashed = self.hasher.take().map(Hasher::finish).transpose();
        if let (Ok(()), Ok(Some(sha512))) = (&written, &hashed) {
            written = self.meta.replace(&self.document, Some(sha512));
            self.summary.sha512 = Some(sha512.clone());
        }
        let written = written.and(self.meta.remove_spare());
        flushed?;
        written.map_err(|source| self.meta_failed(source))?;
        hashed.map_err(|source| SinkError::Io {
            operation: "hash",
            path: self.paths.data.clone(),
            source,
        })?;
        Ok(self.summary.clone())
    }
}

#[cfg(test)]
mod tests;
