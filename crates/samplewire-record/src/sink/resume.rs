//! Continues an existing recording: a finished one, or one whose recorder was killed.

use std::path::Path;
use std::time::SystemTime;

use samplewire::StreamInfo;
use samplewire_proto::SampleIndex;

use super::{SinkError, SinkOptions, part_path, parts_of};
use crate::existing::{Existing, ReadError, len_of, metadata_of};
use crate::sigmf::{Document, Event, Mark, MarkKind, Metadata, Paths, events};
use crate::storage::{OsStorage, Storage, StoredFile};

/// Where an existing recording ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumable {
    /// Samples in its data.
    pub samples: u64,
    /// The index after the last that is present or in a gap. `None` if there is no index, or if the
    /// next index is not comparable with it.
    pub next_index: Option<SampleIndex>,
    /// The device's run of that index.
    pub boot_id: Option<u64>,
    /// The owner ID that the recorder used with the device, if it did not finish the recording.
    pub owner: Option<u64>,
    /// When the data were last written.
    pub written_at: SystemTime,
}

/// Returns the end of a recording that can be continued; with `is_split`, that of the last part of
/// a series. `None` if there is no recording.
///
/// # Errors
/// [`SinkError`]: a file cannot be read or is not valid.
pub fn resumable(path: &Path, is_split: bool) -> Result<Option<Resumable>, SinkError> {
    resumable_in(&OsStorage, path, is_split)
}

/// As [`resumable`], for a recording in `storage`.
///
/// # Errors
/// As [`resumable`].
pub fn resumable_in(
    storage: &dyn Storage,
    path: &Path,
    is_split: bool,
) -> Result<Option<Resumable>, SinkError> {
    let base = Paths::base_of(path);
    let parts = if is_split { parts_of(storage, &base) } else { 0 };
    let paths = match parts {
        0 if is_split => return Ok(None),
        0 => Paths::of(path),
        last => Paths::of(&part_path(&base, last)),
    };
    if !is_split {
        check_no_series(storage, path)?;
    }
    let Some(found) = Found::read(storage, &paths)? else { return Ok(None) };
    let end = match is_split {
        true => SeriesEnd::read(storage, &base, parts, &found)?,
        false => found.end(),
    };
    let Existing { data_path, samples, owner, .. } = found.existing;
    let entry = storage.entry(&data_path).map_err(SinkError::io("measure", &data_path))?;
    Ok(Some(Resumable {
        samples,
        next_index: end.next_index,
        boot_id: end.boot_id,
        owner,
        written_at: entry.modified,
    }))
}

/// Checks that the name is not a series of parts, so that a single recording may use it.
pub(super) fn check_no_series(storage: &dyn Storage, path: &Path) -> Result<(), SinkError> {
    let base = Paths::base_of(path);
    if !storage.exists(&Paths::of(path).meta) && parts_of(storage, &base) > 0 {
        return Err(SinkError::Series { path: base });
    }
    Ok(())
}

/// What a new recorder must know about the indexes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SeriesEnd {
    /// As [`Resumable::next_index`].
    pub(super) next_index: Option<SampleIndex>,
    /// As [`Resumable::boot_id`].
    pub(super) boot_id: Option<u64>,
    /// Whether a sample or a gap states `next_index`.
    is_stated: bool,
}

impl SeriesEnd {
    /// Finds the end of the first `parts` parts, of which `newest` is the last.
    ///
    /// The newest part may be empty: its recorder was killed before the first sample reached the
    /// file. Then the series ends where the previous part ends, and its device's run is that of the
    /// last sample.
    pub(super) fn read(
        storage: &dyn Storage,
        base: &Path,
        parts: u32,
        newest: &Found,
    ) -> Result<Self, SinkError> {
        let mut end = newest.end();
        let mut has_samples = newest.existing.samples > 0;
        for number in (1..parts).rev() {
            if end.is_stated && has_samples {
                break;
            }
            let paths = Paths::of(&part_path(base, number));
            let Some(found) = Found::read(storage, &paths)? else { break };
            let before = found.end();
            if !end.is_stated {
                (end.next_index, end.is_stated) = (before.next_index, before.is_stated);
            }
            end.boot_id = end.boot_id.or(before.boot_id);
            has_samples = found.existing.samples > 0;
        }
        Ok(end)
    }
}

/// Returns whether a part was finished, including its hash if one is required. It does not read the
/// data, which would take a second per GB for compressed data. It checks only their length, if that
/// gives the number of samples.
///
/// # Errors
/// [`SinkError`]: the metadata cannot be read, or state more samples than the file has.
pub(super) fn is_finished(
    storage: &dyn Storage,
    paths: &Paths,
    wants_hash: bool,
) -> Result<bool, SinkError> {
    let Some(metadata) = metadata_of(storage, paths)? else { return Ok(false) };
    if !metadata.is_compressed {
        let len_bytes = len_of(storage, &paths.data_of(&metadata))?.unwrap_or(0);
        check_claim(&metadata, paths, len_bytes / metadata.frame_bytes() as u64)?;
    }
    Ok(metadata.is_finished() && (metadata.sha512.is_some() || !wants_hash))
}

/// Checks that a data file of `samples` samples has all that its metadata state.
fn check_claim(metadata: &Metadata, paths: &Paths, samples: u64) -> Result<(), SinkError> {
    match metadata.claims.sample_count {
        Some(expected) if expected > samples => {
            let path = paths.data_of(metadata);
            Err(SinkError::Short { path, found: samples, expected })
        }
        _ => Ok(()),
    }
}

/// An existing recording that can be continued.
pub(super) struct Found {
    pub(super) existing: Existing,
    events: Vec<Event>,
}

impl Found {
    /// Reads an existing recording. A data file without metadata is not a recording; an empty one
    /// counts as absent.
    pub(super) fn read(storage: &dyn Storage, paths: &Paths) -> Result<Option<Self>, SinkError> {
        let Some((existing, root)) = Existing::read(storage, paths)? else {
            for path in [paths.data.clone(), paths.compressed()] {
                if len_of(storage, &path)? > Some(0) {
                    return Err(SinkError::Exists { path });
                }
            }
            return Ok(None);
        };
        let events = events(&root).map_err(|error| SinkError::Wrong {
            path: existing.path.clone(),
            why: error.to_string(),
        })?;
        check_claim(&existing.metadata, paths, existing.samples)?;
        Ok(Some(Self { existing, events }))
    }

    /// Returns the length of the whole samples, or of the whole frames, in the file.
    pub(super) fn written_bytes(&self) -> u64 {
        let Existing { metadata, frames, samples, .. } = &self.existing;
        match metadata.is_compressed {
            true => frames.frames_bytes,
            false => samples * metadata.frame_bytes() as u64,
        }
    }

    /// Checks that samples of `info` may follow.
    pub(super) fn check(
        &self,
        path: &Path,
        info: &StreamInfo,
        options: &SinkOptions,
    ) -> Result<(), SinkError> {
        let other = |what, found: String, expected: String| {
            Err(SinkError::Other { path: path.to_owned(), what, found, expected })
        };
        let Metadata { format, channels, rate_hz, is_compressed, notes, .. } =
            &self.existing.metadata;
        if *is_compressed != options.compress {
            let words = |is_compressed| if is_compressed { "zstd" } else { "none" }.to_owned();
            return other("compression", words(options.compress), words(*is_compressed));
        }
        if *format != info.format {
            return other("format", info.format.to_string(), format.to_string());
        }
        if *channels != info.channels {
            return other("channels", info.channels.to_string(), channels.to_string());
        }
        if let (Some(before), Some(streams)) = (notes.streams(), options.notes.streams())
            && before != streams
        {
            let words = |streams: Vec<u16>| {
                let numbers: Vec<_> = streams.iter().map(u16::to_string).collect();
                numbers.join(",")
            };
            return other("streams", words(streams), words(before));
        }
        match rate_hz {
            Some(rate_hz) if (info.rate_hz() / rate_hz - 1.0).abs() > RATE_TOLERANCE => {
                other("sample rate", info.rate_hz().to_string(), rate_hz.to_string())
            }
            _ => Ok(()),
        }
    }

    /// Restores the document, so that it can be continued.
    pub(super) fn document(&self, info: &StreamInfo) -> Document {
        let Existing { metadata, marks, samples, .. } = &self.existing;
        let mut document = Document::restored(info, metadata, marks, &self.events);
        document.truncate(*samples);
        document
    }

    /// Returns the next index.
    pub(super) fn next_index(&self, document: &Document) -> Option<SampleIndex> {
        let Existing { marks, samples, .. } = &self.existing;
        let is_open = match marks.iter().rfind(|mark| mark.sample_start == *samples) {
            Some(Mark { kind: MarkKind::Gap(gap), .. }) => gap.is_estimated(),
            _ => false,
        };
        (!document.is_empty() && !is_open).then(|| document.end(*samples))
    }

    /// Returns where the recording ends.
    fn end(&self) -> SeriesEnd {
        let Metadata { format, channels, .. } = self.existing.metadata;
        let info = StreamInfo::new(format, channels, 1.0).expect("1 Hz is a rate");
        let document = self.document(&info);
        SeriesEnd {
            next_index: self.next_index(&document),
            boot_id: document.boot_id(),
            is_stated: !document.is_empty(),
        }
    }
}

impl From<ReadError> for SinkError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io { operation, path, source } => Self::Io { operation, path, source },
            ReadError::Wrong { path, why } => Self::Wrong { path, why },
        }
    }
}

/// Locks the data file for this recorder until its process ends.
pub(super) fn lock(file: &dyn StoredFile, path: &Path) -> Result<(), SinkError> {
    match file.try_lock() {
        Ok(true) => Ok(()),
        Ok(false) => Err(SinkError::Busy { path: path.to_owned() }),
        Err(source) => Err(SinkError::io("lock", path)(source)),
    }
}

/// Rates are stored as decimal fractions.
const RATE_TOLERANCE: f64 = 1e-9;
