//! A recording in parts, each of which is a recording of its own.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread::{Builder, JoinHandle};

use samplewire_proto::SampleIndex;

use super::journal_file::remove;
use super::resume::{Found, lock};
use super::{SigmfSink, Sink, SinkError, SinkOptions, SinkSummary, samples_in};
use crate::sigmf::{Paths, RecordedGap};
use crate::source::StreamInfo;

/// Writes SigMF recordings `NAME-0001`, `NAME-0002` and so on, one behind another.
///
/// A part is there before the one ahead of it is finished, which a thread does: at no moment does
/// the series end without saying so. Where the hash is slower than the samples, the next but one
/// part waits for it.
#[derive(Debug)]
pub struct SplitSink {
    base: PathBuf,
    info: StreamInfo,
    options: SinkOptions,
    part: SigmfSink,
    number: u32,
    part_samples: u64,
    /// Samples that the present part still takes.
    left: u64,
    boot_id: Option<u64>,
    /// The part before the present one.
    finishing: Option<JoinHandle<Result<SinkSummary, SinkError>>>,
    summary: SinkSummary,
    is_finished: bool,
}

impl SplitSink {
    /// Opens the series `path`, whose parts have up to `part_bytes` of data, at least one sample.
    ///
    /// # Errors
    /// As [`SigmfSink::open`], and [`SinkError::Part`].
    pub fn open(
        path: &Path,
        info: &StreamInfo,
        options: &SinkOptions,
        part_bytes: u64,
    ) -> Result<Self, SinkError> {
        let frame_bytes = info.frame_bytes();
        if part_bytes < frame_bytes as u64 {
            return Err(SinkError::Part { part_bytes, frame_bytes });
        }
        Self::check_free(path, options)?;
        let base = Paths::base_of(path);
        let parts = parts_of(&base);
        let number = if options.append { parts.max(1) } else { 1 };
        let mut summary = SinkSummary::default();
        if options.append {
            for before in 1..number {
                // A kill may have come between the last one's end and its hash.
                let wants_hash = options.sha512 && before + 1 == number;
                finish_part(&base, before, wants_hash, info, options)?;
            }
        } else {
            (1..=parts).try_for_each(|stale| check_unused(&base, stale))?;
            (1..=parts).try_for_each(|stale| remove_part(&base, stale))?;
        }
        let options = SinkOptions { part: Some(number), ..options.clone() };
        let part = SigmfSink::open(&part_path(&base, number), info, &options)?;
        let part_samples = part_bytes / frame_bytes as u64;
        let left = part_samples.saturating_sub(part.len_samples());
        summary.files =
            (1..number).flat_map(|before| files_of(&base, before, options.compress)).collect();
        Ok(Self {
            base,
            info: info.clone(),
            options,
            part,
            number,
            part_samples,
            left,
            boot_id: None,
            finishing: None,
            summary,
            is_finished: false,
        })
    }

    /// # Errors
    /// [`SinkError::Exists`] as for [`SplitSink::open`].
    pub(super) fn check_free(path: &Path, options: &SinkOptions) -> Result<(), SinkError> {
        if options.overwrite || options.append {
            return Ok(());
        }
        let base = Paths::base_of(path);
        if parts_of(&base) > 0 {
            return Err(SinkError::Exists { path: Paths::of(&part_path(&base, 1)).meta });
        }
        Ok(())
    }

    /// Goes on in the next part.
    fn next_part(&mut self) -> Result<(), SinkError> {
        self.join()?;
        // Everything before anything of the next part: a kill leaves no hole.
        self.part.flush()?;
        let number = self.number + 1;
        self.options = SinkOptions { part: Some(number), append: false, ..self.options.clone() };
        let path = part_path(&self.base, number);
        let mut next = SigmfSink::open(&path, &self.info, &self.options)?;
        next.expect_index(self.part.next_index());
        if let Some(boot_id) = self.boot_id {
            next.session(boot_id)?;
        }
        let mut before = std::mem::replace(&mut self.part, next);
        before.set_continued();
        let path = part_path(&self.base, self.number);
        let thread = Builder::new().name("samplewire-part".to_owned());
        let finishing = thread.spawn(move || before.finish());
        self.finishing = Some(finishing.map_err(|source| SinkError::Io {
            operation: "finish",
            path,
            source,
        })?);
        (self.number, self.left) = (number, self.part_samples);
        Ok(())
    }

    /// Waits for the part before to be finished.
    fn join(&mut self) -> Result<(), SinkError> {
        let Some(finishing) = self.finishing.take() else { return Ok(()) };
        let summary = finishing.join().expect("a sink does not panic")?;
        self.add(summary);
        Ok(())
    }

    fn add(&mut self, part: SinkSummary) {
        self.summary.samples += part.samples;
        self.summary.bytes += part.bytes;
        self.summary.gaps += part.gaps;
        self.summary.missing_samples += part.missing_samples;
        self.summary.files.extend(part.files);
    }
}

impl Sink for SplitSink {
    fn write(&mut self, index: SampleIndex, mut bytes: &[u8]) -> Result<(), SinkError> {
        let frame_bytes = self.info.frame_bytes();
        let mut index = index;
        samples_in(bytes, frame_bytes)?;
        while !bytes.is_empty() {
            if self.left == 0 {
                self.next_part()?;
            }
            let samples = self.left.min((bytes.len() / frame_bytes) as u64);
            let (piece, rest) = bytes.split_at(samples as usize * frame_bytes);
            self.part.write(index, piece)?;
            self.left -= samples;
            index += samples;
            bytes = rest;
        }
        Ok(())
    }

    fn gap(&mut self, gap: &RecordedGap) -> Result<(), SinkError> {
        self.part.gap(gap)
    }

    fn session(&mut self, boot_id: u64) -> Result<(), SinkError> {
        self.boot_id = Some(boot_id);
        self.part.session(boot_id)
    }

    fn finish(&mut self) -> Result<SinkSummary, SinkError> {
        if !std::mem::replace(&mut self.is_finished, true) {
            let joined = self.join();
            let last = self.part.finish();
            joined?;
            self.add(last?);
        }
        Ok(self.summary.clone())
    }
}

/// The name of a part, from 1.
pub(crate) fn part_path(base: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(base);
    name.push(format!("-{number:04}"));
    name.into()
}

/// How many parts there are, one behind another. An empty data file without metadata, which a
/// recorder left that was killed as it began a part, is none.
pub(crate) fn parts_of(base: &Path) -> u32 {
    let is_there = |&number: &u32| Paths::of(&part_path(base, number)).meta.exists();
    (1..).take_while(is_there).last().unwrap_or(0)
}

fn files_of(base: &Path, number: u32, is_compressed: bool) -> [PathBuf; 2] {
    let paths = Paths::of(&part_path(base, number));
    let data = if is_compressed { paths.compressed() } else { paths.data };
    [paths.meta, data]
}

/// Finishes a part whose recorder was killed before it came to that.
fn finish_part(
    base: &Path,
    number: u32,
    wants_hash: bool,
    info: &StreamInfo,
    options: &SinkOptions,
) -> Result<(), SinkError> {
    let path = part_path(base, number);
    let is_done =
        |found: Found| found.is_finished() && (found.metadata.sha512.is_some() || !wants_hash);
    if Found::read(&Paths::of(&path))?.is_some_and(is_done) {
        return Ok(());
    }
    let options = SinkOptions { part: Some(number), ..options.clone() };
    let mut part = SigmfSink::open(&path, info, &options)?;
    part.set_continued();
    part.finish().map(drop)
}

/// Checks that nobody writes a part.
fn check_unused(base: &Path, number: u32) -> Result<(), SinkError> {
    let paths = Paths::of(&part_path(base, number));
    for data in [paths.compressed(), paths.data] {
        // What cannot be opened is not there, or is told of by whoever removes it.
        if let Ok(file) = File::open(&data) {
            lock(&file, &data)?;
        }
    }
    Ok(())
}

/// Removes a part of a series that is overwritten; what tells of the data first.
fn remove_part(base: &Path, number: u32) -> Result<(), SinkError> {
    let paths = Paths::of(&part_path(base, number));
    let compressed = paths.compressed();
    for path in [paths.meta, paths.journal, paths.data, compressed] {
        remove(&path).map_err(|source| SinkError::Io { operation: "remove", path, source })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
