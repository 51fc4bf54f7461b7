//! A recording in parts, each of which is a complete recording.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};

use samplewire::{StreamInfo, TaiClock};
use samplewire_proto::SampleIndex;

use super::resume::{Found, SeriesEnd, is_finished, lock};
use super::{Backlog, SigmfSink, SinkError, SinkOptions, SinkSummary, WriteSamples, samples_in};
use crate::sigmf::{Paths, RecordedGap, suffixed};
use crate::storage::{OpenMode, Storage, Work};

/// Writes consecutive SigMF recordings `NAME-0001`, `NAME-0002` and so on.
///
/// The next part is created before a thread finishes the previous one, so the metadata always show
/// whether the series is complete. If the hash is slower than the samples, the part after the next
/// waits for it.
#[derive(Debug)]
pub struct SplitSink {
    base: PathBuf,
    info: StreamInfo,
    options: SinkOptions,
    part: SigmfSink,
    number: u32,
    part_samples: u64,
    /// How many more samples the present part accepts.
    left: u64,
    boot_id: Option<u64>,
    tai_clock: Option<TaiClock>,
    /// The previous part.
    finishing: Option<Finishing>,
    summary: SinkSummary,
    is_finished: bool,
}

/// A part that a thread finishes while the next is written.
struct Finishing {
    wait: Work,
    result: Receiver<Finished>,
}

impl fmt::Debug for Finishing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finishing").finish_non_exhaustive()
    }
}

impl SplitSink {
    /// Opens the series `path`. Its parts have up to `part_bytes` of data, at least one sample.
    ///
    /// # Errors
    /// As [`SigmfSink::open`], and [`SinkError::Part`].
    pub fn open(
        path: &Path,
        info: &StreamInfo,
        options: &SinkOptions,
        part_bytes: u64,
    ) -> Result<Self, SinkError> {
        info.check()?;
        let frame_bytes = info.frame_bytes();
        if part_bytes < frame_bytes as u64 {
            return Err(SinkError::Part { part_bytes, frame_bytes });
        }
        Self::check_free(path, options)?;
        let base = Paths::base_of(path);
        let storage = &*options.storage;
        let parts = parts_of(storage, &base);
        let number = if options.append { parts.max(1) } else { 1 };
        let mut summary = SinkSummary::default();
        if options.append {
            // Remains of a killed `--overwrite` are refused here, not when the series reaches them.
            let fresh = SinkOptions { append: false, ..options.clone() };
            SigmfSink::check_free(&Paths::of(&part_path(&base, parts + 1)), &fresh)?;
            for before in 1..number {
                // A kill may have happened between the end of the last part and its hash.
                let wants_hash = options.sha512 && before + 1 == number;
                finish_part(&base, before, wants_hash, info, options)?;
            }
        } else {
            (1..=parts).try_for_each(|stale| check_unused(storage, &base, stale))?;
            // From the last part backwards: after a kill only the first parts remain, without
            // holes.
            (1..=parts).rev().try_for_each(|stale| remove_part(storage, &base, stale))?;
        }
        let paths = Paths::of(&part_path(&base, number));
        let found = if options.append { Found::read(storage, &paths)? } else { None };
        let end = match &found {
            Some(found) => SeriesEnd::read(storage, &base, parts, found)?,
            None => SeriesEnd::default(),
        };
        let options = SinkOptions { part: Some(number), ..options.clone() };
        let mut part = SigmfSink::open_found(paths, info, found.as_ref(), &options)?;
        // A part without samples or gaps continues where the previous part ended.
        part.go_on_from(end.next_index, end.boot_id);
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
            boot_id: end.boot_id,
            tai_clock: None,
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
        if parts_of(&*options.storage, &base) > 0 {
            return Err(SinkError::Exists { path: Paths::of(&part_path(&base, 1)).meta });
        }
        Ok(())
    }

    /// Continues in the next part.
    fn next_part(&mut self) -> Result<(), SinkError> {
        self.join()?;
        // All samples are written before the next part is created: a kill leaves no hole.
        self.part.flush()?;
        let number = self.number + 1;
        self.options = SinkOptions { part: Some(number), append: false, ..self.options.clone() };
        let path = part_path(&self.base, number);
        let mut next = SigmfSink::open(&path, &self.info, &self.options)?;
        next.go_on_from(self.part.next_index(), self.boot_id);
        if let Some(boot_id) = self.boot_id {
            next.session(boot_id)?;
        }
        next.time(self.tai_clock)?;
        let mut before = std::mem::replace(&mut self.part, next);
        before.set_continued();
        let path = part_path(&self.base, self.number);
        let (done, result) = sync_channel(1);
        let work: Work = Box::new(move || drop(done.send(finish(&mut before))));
        let wait = self
            .options
            .storage
            .start("samplewire-part", work)
            .map_err(SinkError::io("finish", &path))?;
        self.finishing = Some(Finishing { wait, result });
        (self.number, self.left) = (number, self.part_samples);
        Ok(())
    }

    /// Waits until the previous part is finished.
    fn join(&mut self) -> Result<(), SinkError> {
        let Some(Finishing { wait, result }) = self.finishing.take() else { return Ok(()) };
        wait();
        let finished = result.recv().expect("a sink does not panic");
        self.add(finished)
    }

    /// Counts the samples of a part, even if it could not be finished.
    fn add(&mut self, (part, result): Finished) -> Result<(), SinkError> {
        self.summary.samples += part.samples;
        self.summary.samples_before += part.samples_before;
        self.summary.bytes += part.bytes;
        self.summary.gaps += part.gaps;
        self.summary.missing_samples += part.missing_samples;
        self.summary.files.extend(part.files);
        result
    }
}

impl WriteSamples for SplitSink {
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

    fn event(&mut self, index: SampleIndex, text: &str) -> Result<(), SinkError> {
        self.part.event(index, text)
    }

    fn session(&mut self, boot_id: u64) -> Result<(), SinkError> {
        (self.boot_id, self.tai_clock) = (Some(boot_id), None);
        self.part.session(boot_id)
    }

    fn tune(&mut self, centre_hz: Option<f64>) -> Result<(), SinkError> {
        self.info.centre_frequency_hz = centre_hz;
        self.part.tune(centre_hz)
    }

    fn time(&mut self, clock: Option<TaiClock>) -> Result<(), SinkError> {
        self.tai_clock = clock;
        self.part.time(clock)
    }

    fn finish(&mut self) -> Result<SinkSummary, SinkError> {
        if !std::mem::replace(&mut self.is_finished, true) {
            let joined = self.join();
            let last = finish(&mut self.part);
            let added = self.add(last);
            joined.and(added)?;
        }
        Ok(self.summary.clone())
    }

    /// The backlog of all parts, which share it.
    fn backlog(&self) -> Backlog {
        self.part.backlog()
    }
}

/// The summary of a part, and whether it could be finished.
type Finished = (SinkSummary, Result<(), SinkError>);

fn finish(part: &mut SigmfSink) -> Finished {
    match part.finish() {
        Ok(summary) => (summary, Ok(())),
        Err(error) => (part.finish().unwrap_or_default(), Err(error)),
    }
}

/// Returns the name of a part, from 1.
pub(crate) fn part_path(base: &Path, number: u32) -> PathBuf {
    suffixed(base, &format!("-{number:04}"))
}

/// Returns how many consecutive parts exist. An empty data file without metadata is not a part: a
/// recorder that was killed at the start of a part left it.
pub(crate) fn parts_of(storage: &dyn Storage, base: &Path) -> u32 {
    let is_there = |&number: &u32| storage.exists(&Paths::of(&part_path(base, number)).meta);
    (1..).take_while(is_there).last().unwrap_or(0)
}

fn files_of(base: &Path, number: u32, is_compressed: bool) -> [PathBuf; 2] {
    let paths = Paths::of(&part_path(base, number));
    let data = if is_compressed { paths.compressed() } else { paths.data };
    [paths.meta, data]
}

/// Finishes a part whose recorder was killed before it finished the part.
fn finish_part(
    base: &Path,
    number: u32,
    wants_hash: bool,
    info: &StreamInfo,
    options: &SinkOptions,
) -> Result<(), SinkError> {
    let path = part_path(base, number);
    if is_finished(&*options.storage, &Paths::of(&path), wants_hash)? {
        return Ok(());
    }
    let options = SinkOptions { part: Some(number), ..options.clone() };
    let mut part = SigmfSink::open(&path, info, &options)?;
    part.set_continued();
    part.finish().map(drop)
}

/// Checks that no recorder writes a part.
fn check_unused(storage: &dyn Storage, base: &Path, number: u32) -> Result<(), SinkError> {
    let paths = Paths::of(&part_path(base, number));
    for data in [paths.compressed(), paths.data] {
        // A file that cannot be opened does not exist, or its removal reports the error.
        if let Ok(file) = storage.open(&data, OpenMode::Read, false) {
            lock(&*file, &data)?;
        }
    }
    Ok(())
}

/// Removes a part of an overwritten series, its metadata before its data.
fn remove_part(storage: &dyn Storage, base: &Path, number: u32) -> Result<(), SinkError> {
    let paths = Paths::of(&part_path(base, number));
    let compressed = paths.compressed();
    for path in [paths.meta, paths.journal, paths.data, compressed] {
        storage.remove_if_there(&path).map_err(SinkError::io("remove", &path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
