//! SigMF recordings that are valid at every moment.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use samplewire::{StreamInfo, TaiClock};
use samplewire_proto::SampleIndex;
use serde_json::Value;

use super::body::Body;
use super::data_file::DataFile;
use super::hasher::{Hasher, Known};
use super::journal_file::JournalFile;
use super::meta_file::MetaFile;
use super::resume::Found;
use super::zstd_file::ZstdFile;
use super::{Backlog, Holes, SinkError, SinkOptions, SinkSummary, WriteSamples, samples_in};
use crate::sigmf::{Document, EVENTS_MAX, GAPS_MAX, Paths, Progress, RecordedGap, rfc3339};
use crate::storage::Storage;

/// Writes `NAME.sigmf-data` and `NAME.sigmf-meta`, and `NAME.sigmf-journal` until it is finished.
///
/// The data file only grows. The metadata are replaced as a whole: when the recording starts, at
/// its first sample, once a second and at the end. Both are therefore valid even if the process is
/// killed. Then gathered samples are lost: up to 1 MiB or a second, or 4 MiB of a direct file. The
/// hash is also missing from the metadata. Gaps of the last second are in the journal, which is
/// always ahead of the data. With the journal, [`crate::verify()`] accounts for every sample of the
/// file.
///
/// Each run of samples without a gap, at one centre frequency, is a capture with
/// `core:global_index`, and the device's time if that is known. Each gap is an annotation with its
/// cause. A separate thread makes the hash at some 0.6 GB/s; a faster recording waits for it at the end.
#[derive(Debug)]
pub struct SigmfSink {
    storage: Arc<dyn Storage>,
    data: Body,
    meta: MetaFile,
    journal: JournalFile,
    document: Document,
    paths: Paths,
    /// The data file, which has one of two names.
    data_path: PathBuf,
    frame_bytes: usize,
    hasher: Option<Hasher>,
    backlog: Backlog,
    /// The next index; `None` if any may follow: at the start, and after the device restarted.
    next: Option<SampleIndex>,
    /// Whether the last input was samples.
    is_within_run: bool,
    boot_id: Option<u64>,
    state: State,
    summary: SinkSummary,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// An error ended the data. The recording can be finished, but takes no more samples.
    Failed,
    Finished,
}

impl SigmfSink {
    /// Opens the recording `path`, which may be `NAME` or the name of either file. Creates its
    /// files, or continues them if `options` permit. Options of the format are ignored.
    ///
    /// # Errors
    /// [`SinkError::Exists`] if one of the files exists and may be neither emptied nor continued,
    /// [`SinkError::Io`] if one cannot be created. To continue a recording, also the errors of
    /// [`resumable`](super::resumable()), and [`SinkError::Other`].
    pub fn open(path: &Path, info: &StreamInfo, options: &SinkOptions) -> Result<Self, SinkError> {
        info.check()?;
        let paths = Paths::of(path);
        let found = if options.append { Found::read(&*options.storage, &paths)? } else { None };
        Self::open_found(paths, info, found.as_ref(), options)
    }

    /// Continues the found recording, or creates the files.
    pub(super) fn open_found(
        paths: Paths,
        info: &StreamInfo,
        found: Option<&Found>,
        options: &SinkOptions,
    ) -> Result<Self, SinkError> {
        match found {
            Some(found) => Self::append(paths, info, found, options),
            None => Self::create(paths, info, options),
        }
    }

    /// # Errors
    /// [`SinkError::Exists`] as for [`SigmfSink::open`].
    pub(super) fn check_free(paths: &Paths, options: &SinkOptions) -> Result<(), SinkError> {
        if options.overwrite || options.append {
            return Ok(());
        }
        let (data_path, _) = data_paths(paths, options.compress);
        let has_data =
            options.storage.entry(&data_path).is_ok_and(|data| data.is_file && data.len_bytes > 0);
        match (options.storage.exists(&paths.meta), has_data) {
            (true, _) => Err(SinkError::Exists { path: paths.meta.clone() }),
            (false, true) => Err(SinkError::Exists { path: data_path }),
            (false, false) => Ok(()),
        }
    }

    fn create(paths: Paths, info: &StreamInfo, options: &SinkOptions) -> Result<Self, SinkError> {
        Self::check_free(&paths, options)?;
        let frame_bytes = info.frame_bytes();
        let (data_path, other_path) = data_paths(&paths, options.compress);
        // An empty data file without metadata was left by a recorder that was killed at its start.
        let storage = &*options.storage;
        let is_left_over = storage.entry(&data_path).is_ok_and(|data| data.len_bytes == 0);
        let overwrite = options.overwrite || options.append || is_left_over;
        let (unit_bytes, is_direct) =
            if options.compress { (1, false) } else { (frame_bytes, options.direct) };
        let data = DataFile::create(storage, &data_path, unit_bytes, overwrite, is_direct)?;
        if overwrite {
            // Removed before the data: without metadata the data are not a recording, so never a
            // wrong one.
            for path in [&paths.meta, &other_path] {
                storage.remove_if_there(path).map_err(SinkError::io("remove", path))?;
            }
        }
        let data = body(data.empty()?, frame_bytes, 0, options.compress)?;
        let document = Document::new(info, &options.notes);
        let mut sink = Self::new(options, paths, data_path, data, document, frame_bytes)?;
        if options.sha512 {
            sink.start_hasher(None)?;
        }
        if let Err(error) = sink.replace_meta() {
            sink.remove().map_err(SinkError::io("remove", &sink.paths.meta))?;
            return Err(error);
        }
        Ok(sink)
    }

    /// Removes a recording that could not begin. Its data file is empty and is used again.
    fn remove(&mut self) -> io::Result<()> {
        self.storage.remove_if_there(&self.paths.meta)?;
        self.meta.remove_spare()?;
        self.storage.remove_if_there(&self.paths.journal)
    }

    fn append(
        paths: Paths,
        info: &StreamInfo,
        found: &Found,
        options: &SinkOptions,
    ) -> Result<Self, SinkError> {
        found.check(&paths.meta, info, options)?;
        let (frame_bytes, written_bytes) = (info.frame_bytes(), found.written_bytes());
        let storage = &*options.storage;
        let (data_path, _) = data_paths(&paths, options.compress);
        let (unit_bytes, is_direct) =
            if options.compress { (1, false) } else { (frame_bytes, options.direct) };
        let data = DataFile::append_to(storage, &data_path, unit_bytes, written_bytes, is_direct)?;
        let data = body(data, frame_bytes, found.existing.samples, options.compress)?;
        let document = found.document(info);
        let mut sink = Self::new(options, paths, data_path, data, document, frame_bytes)?;
        (sink.next, sink.boot_id) = (found.next_index(&sink.document), sink.document.boot_id());
        sink.summary.samples_before = found.existing.samples;
        if options.sha512 {
            let sha512 = found.existing.metadata.sha512.clone();
            let known = sha512.map(|sha512| Known { len_bytes: written_bytes, sha512 });
            sink.start_hasher(known)?;
        }
        sink.replace_meta()?;
        Ok(sink)
    }

    /// Creates the journal, before the metadata state that the recording is not finished: from then on
    /// the journal is used.
    fn new(
        options: &SinkOptions,
        paths: Paths,
        data_path: PathBuf,
        data: Body,
        mut document: Document,
        frame_bytes: usize,
    ) -> Result<Self, SinkError> {
        document.set_part(options.part);
        if options.compress {
            let name = data_path.file_name().unwrap_or_default();
            document.set_compressed(&name.to_string_lossy());
        }
        let storage = Arc::clone(&options.storage);
        let journal = JournalFile::create(&*storage, &paths.journal, options.owner, &document)
            .map_err(SinkError::io("create", &paths.journal))?;
        let files = vec![paths.meta.clone(), data_path.clone()];
        Ok(Self {
            meta: MetaFile::new(Arc::clone(&storage), &paths.meta),
            storage,
            frame_bytes,
            data_path,
            data,
            journal,
            document,
            paths,
            hasher: None,
            backlog: options.backlog.clone(),
            next: None,
            is_within_run: false,
            boot_id: None,
            state: State::Open,
            summary: SinkSummary { files, ..SinkSummary::default() },
        })
    }

    fn start_hasher(&mut self, known: Option<Known>) -> Result<(), SinkError> {
        if self.data.is_regular() {
            let backlog = self.backlog.clone();
            let hasher = Hasher::start(&*self.storage, &self.data_path, known, backlog);
            self.hasher =
                Some(hasher.map_err(SinkError::io("start the hashing of", &self.data_path))?);
        }
        Ok(())
    }

    /// Returns how many samples were accepted.
    pub(super) fn len_samples(&self) -> u64 {
        self.data.len_samples()
    }

    /// Writes gathered samples.
    pub(super) fn flush(&mut self) -> Result<(), SinkError> {
        self.check_open()?;
        self.with_data(Body::flush_all)
    }

    /// Returns the next index; `None` if any may follow.
    pub(super) const fn next_index(&self) -> Option<SampleIndex> {
        self.next
    }

    /// Continues after another part. `next` is the next index, of the device's run `boot_id`.
    pub(super) fn go_on_from(&mut self, next: Option<SampleIndex>, boot_id: Option<u64>) {
        (self.next, self.boot_id) = (next, boot_id);
    }

    /// Notes that another part follows.
    pub(super) fn set_continued(&mut self) {
        self.document.set_continued();
    }

    fn begin_run(&mut self, index: SampleIndex) -> Result<(), SinkError> {
        self.step_to(index)?;
        let (start, arrival) = (self.data.len_samples(), || rfc3339(SystemTime::now()));
        let capture = self.document.begin_run(start, index, arrival);
        let capture = capture.ok_or_else(|| SinkError::TooManyCaptures {
            path: self.paths.meta.clone(),
            captures_max: GAPS_MAX + 1,
        })?;
        self.journal.push_capture(capture);
        self.is_within_run = true;
        Ok(())
    }

    /// Records the indexes before `index` that the device left out on purpose.
    fn step_to(&mut self, index: SampleIndex) -> Result<(), SinkError> {
        match self.next {
            Some(next) if next < index => {
                let jump = self.document.add_jump(self.data.len_samples(), next, index - next);
                self.push_annotation(jump)
            }
            _ => Ok(()),
        }
    }

    fn push_annotation(&mut self, annotation: Option<Value>) -> Result<(), SinkError> {
        let annotation = annotation.ok_or_else(|| SinkError::TooManyGaps {
            path: self.paths.meta.clone(),
            gaps_max: GAPS_MAX,
        })?;
        self.journal.push_annotation(annotation);
        self.is_within_run = false;
        Ok(())
    }

    /// Accepts samples of consecutive indexes, which `write` writes.
    fn take(
        &mut self,
        index: SampleIndex,
        samples: u64,
        write: impl FnOnce(&mut Body) -> Result<(), SinkError>,
    ) -> Result<(), SinkError> {
        if samples == 0 {
            return Ok(());
        }
        let is_first = self.data.len_samples() == 0;
        if !self.is_within_run || self.next != Some(index) || self.document.is_retuned() {
            self.begin_run(index)?;
        }
        self.with_data(write)?;
        self.next = index.checked_add(samples);
        if is_first || self.meta.is_due(&self.document) {
            self.with_data(Body::flush)?;
            self.replace_meta()?;
        }
        Ok(())
    }

    /// Writes to the journal, then to the data file, and notifies the hash thread.
    fn with_data(
        &mut self,
        write: impl FnOnce(&mut Body) -> Result<(), SinkError>,
    ) -> Result<(), SinkError> {
        let before_bytes = self.data.written_bytes();
        let journalled =
            self.journal.flush().map_err(|source| self.failed(&self.paths.journal, source));
        let written = journalled.and_then(|()| write(&mut self.data));
        if written.is_err() {
            self.hasher = None;
            self.fail();
        }
        let grown_bytes = self.data.written_bytes().saturating_sub(before_bytes);
        if let Some(hasher) = &self.hasher
            && grown_bytes > 0
        {
            hasher.grow(grown_bytes);
        }
        written
    }

    /// Writes the current metadata, and allocates space for the next version.
    fn replace_meta(&mut self) -> Result<(), SinkError> {
        let progress = Progress { samples: self.data.written_samples(), ..Progress::default() };
        let replaced = self.meta.replace(&self.document, &progress);
        let reserved = replaced.and_then(|()| self.meta.reserve(&self.document));
        reserved.map_err(|source| {
            self.fail();
            self.failed(&self.paths.meta, source)
        })
    }

    /// Ends the recording with the samples in the file; gathered samples are lost.
    fn fail(&mut self) {
        self.state = State::Failed;
        self.document.truncate(self.data.written_samples());
    }

    fn failed(&self, path: &Path, source: io::Error) -> SinkError {
        SinkError::write(path, self.data.written_samples(), source)
    }

    fn check_open(&self) -> Result<(), SinkError> {
        match self.state {
            State::Open => Ok(()),
            State::Failed | State::Finished => {
                Err(SinkError::Closed { path: self.data_path.clone() })
            }
        }
    }
}

impl WriteSamples for SigmfSink {
    fn write(&mut self, index: SampleIndex, bytes: &[u8]) -> Result<(), SinkError> {
        self.check_open()?;
        let samples = samples_in(bytes, self.frame_bytes)?;
        self.take(index, samples, |data| data.append(bytes))
    }

    fn gap(&mut self, gap: &RecordedGap) -> Result<(), SinkError> {
        self.check_open()?;
        self.step_to(gap.first)?;
        let annotation = self.document.add_gap(self.data.len_samples(), gap);
        self.push_annotation(annotation)?;
        self.next = (!gap.is_estimated()).then(|| gap.end());
        self.summary.count(gap);
        Ok(())
    }

    fn event(&mut self, index: SampleIndex, text: &str) -> Result<(), SinkError> {
        self.check_open()?;
        let annotation = self.document.add_event(self.data.len_samples(), index, text);
        let annotation = annotation.ok_or_else(|| SinkError::TooManyEvents {
            path: self.paths.meta.clone(),
            events_max: EVENTS_MAX,
        })?;
        self.journal.push_annotation(annotation);
        Ok(())
    }

    fn session(&mut self, boot_id: u64) -> Result<(), SinkError> {
        self.check_open()?;
        if self.boot_id.replace(boot_id).is_some_and(|before| before != boot_id) {
            self.next = None;
        }
        self.document.begin_session(boot_id);
        self.is_within_run = false;
        Ok(())
    }

    fn tune(&mut self, centre_hz: Option<f64>) -> Result<(), SinkError> {
        self.check_open()?;
        self.document.tune(centre_hz);
        Ok(())
    }

    fn time(&mut self, clock: Option<TaiClock>) -> Result<(), SinkError> {
        self.check_open()?;
        self.document.set_tai_clock(clock);
        Ok(())
    }

    fn finish(&mut self) -> Result<SinkSummary, SinkError> {
        if self.state == State::Finished {
            return Ok(self.summary.clone());
        }
        let flushed = match self.state {
            State::Open => self.with_data(Body::flush_all),
            State::Failed | State::Finished => Ok(()),
        };
        self.state = State::Finished;
        self.summary.samples = self.data.written_samples();
        self.summary.bytes = self.data.written_bytes();
        let finished = Progress { samples: self.summary.samples, is_finished: true, sha512: None };
        // Before the hash, which may take long: if the process is ended then, all else is complete.
        let mut written = self.meta.replace(&self.document, &finished);
        let hashed = self.hasher.take().map(Hasher::finish).transpose();
        if let (Ok(()), Ok(Some(sha512))) = (&written, &hashed) {
            let with_hash = Progress { sha512: Some(sha512), ..finished };
            written = self.meta.replace(&self.document, &with_hash);
            self.summary.sha512 = Some(sha512.clone());
        }
        let written = written.and(self.meta.remove_spare());
        flushed?;
        written.map_err(|source| self.failed(&self.paths.meta, source))?;
        let removed = self.storage.remove_if_there(&self.paths.journal);
        removed.map_err(|source| self.failed(&self.paths.journal, source))?;
        self.data.release()?;
        hashed.map_err(SinkError::io("hash", &self.data_path))?;
        Ok(self.summary.clone())
    }

    fn as_holes(&mut self) -> Option<&mut dyn Holes> {
        match &self.data {
            Body::Plain(file) if file.is_regular() => Some(self),
            Body::Plain(_) | Body::Zstd(_) => None,
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog.clone()
    }
}

impl Holes for SigmfSink {
    fn hole(&mut self, index: SampleIndex, samples: u64) -> Result<(), SinkError> {
        self.check_open()?;
        self.take(index, samples, |data| match data {
            Body::Plain(file) => file.hole(samples),
            Body::Zstd(_) => unreachable!("see `as_holes`"),
        })
    }
}

/// Returns the name of the data file, and the other name, which it does not have.
fn data_paths(paths: &Paths, is_compressed: bool) -> (PathBuf, PathBuf) {
    match is_compressed {
        true => (paths.compressed(), paths.data.clone()),
        false => (paths.data.clone(), paths.compressed()),
    }
}

/// Wraps a data file of `written_samples` samples as plain or compressed.
fn body(
    file: DataFile,
    frame_bytes: usize,
    written_samples: u64,
    is_compressed: bool,
) -> Result<Body, SinkError> {
    match is_compressed {
        true => Ok(Body::Zstd(Box::new(ZstdFile::start(file, frame_bytes, written_samples)?))),
        false => Ok(Body::Plain(file)),
    }
}

#[cfg(test)]
mod tests;
