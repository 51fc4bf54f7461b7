//! Continues an existing recording: a finished one, or one whose recorder was killed.

use std::path::Path;
use std::time::SystemTime;

use samplewire::StreamInfo;
use samplewire_proto::SampleIndex;

use super::{Frames, SinkError, SinkOptions, frames_of, part_path, parts_of};
use crate::sigmf::{
    Capture, Document, Event, Journal, Mark, MarkKind, Metadata, Paths, TEXT_BYTES_MAX, captures,
    events, marks,
};
use crate::storage::{OpenMode, OsStorage, Storage, StoredFile, if_there, read_text};

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
    let data_path = paths.data_of(&found.metadata);
    let written_at =
        storage.entry(&data_path).map_err(SinkError::io("measure", &data_path))?.modified;
    Ok(Some(Resumable {
        samples: found.samples,
        next_index: end.next_index,
        boot_id: end.boot_id,
        owner: found.owner,
        written_at,
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
        let mut has_samples = newest.samples > 0;
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
            has_samples = found.samples > 0;
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
    let Some((metadata, _)) = metadata_of(storage, paths)? else { return Ok(false) };
    if !metadata.is_compressed {
        let bytes = len_of(storage, &paths.data_of(&metadata))?;
        check_claim(&metadata, paths, bytes / frame_bytes_of(&metadata))?;
    }
    let claims = &metadata.claims;
    Ok(claims.is_finished != Some(false) && (metadata.sha512.is_some() || !wants_hash))
}

/// Reads the metadata of a recording, and their text; `None` if they do not exist.
fn metadata_of(
    storage: &dyn Storage,
    paths: &Paths,
) -> Result<Option<(Metadata, String)>, SinkError> {
    let Some(text) = text_of(storage, &paths.meta)? else { return Ok(None) };
    match Metadata::parse(&text) {
        Ok(metadata) => Ok(Some((metadata, text))),
        Err(error) => Err(SinkError::Wrong { path: paths.meta.clone(), why: error.to_string() }),
    }
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

fn frame_bytes_of(metadata: &Metadata) -> u64 {
    (metadata.format.sample_bytes() * usize::from(metadata.channels)) as u64
}

/// The metadata, the journal and the length of an existing recording.
pub(super) struct Found {
    pub(super) metadata: Metadata,
    captures: Vec<Capture>,
    marks: Vec<Mark>,
    events: Vec<Event>,
    /// Whole samples in the data, or in its whole frames.
    pub(super) samples: u64,
    /// The length of these samples or frames in the file.
    pub(super) written_bytes: u64,
    owner: Option<u64>,
}

impl Found {
    /// Reads an existing recording. A data file without metadata is not a recording; an empty one
    /// counts as absent.
    pub(super) fn read(storage: &dyn Storage, paths: &Paths) -> Result<Option<Self>, SinkError> {
        let Some((metadata, text)) = metadata_of(storage, paths)? else {
            for path in [paths.data.clone(), paths.compressed()] {
                if len_of(storage, &path)? > 0 {
                    return Err(SinkError::Exists { path });
                }
            }
            return Ok(None);
        };
        let wrong = |path: &Path, error: &dyn ToString| SinkError::Wrong {
            path: path.to_owned(),
            why: error.to_string(),
        };
        let is_finished = metadata.claims.is_finished != Some(false);
        let mut owner = None;
        let (path, root) = match text_of(storage, &paths.journal)?.filter(|_| !is_finished) {
            Some(journal) => {
                let journal =
                    Journal::parse(&journal).map_err(|error| wrong(&paths.journal, &error))?;
                owner = journal.owner;
                (&paths.journal, journal.root)
            }
            None => (&paths.meta, serde_json::from_str(&text).expect("it was parsed before")),
        };
        let captures = captures(&root, metadata.offset).map_err(|error| wrong(path, &error))?;
        let marks = marks(&root).map_err(|error| wrong(path, &error))?;
        let events = events(&root).map_err(|error| wrong(path, &error))?;
        let data_path = paths.data_of(&metadata);
        let mut written_bytes = len_of(storage, &data_path)?;
        let content_bytes = match metadata.is_compressed && written_bytes > 0 {
            true => {
                let Frames { frames_bytes, content_bytes } = storage
                    .open(&data_path, OpenMode::Read, false)
                    .and_then(|file| frames_of(file, written_bytes))
                    .map_err(|error| wrong(&data_path, &error))?;
                written_bytes = frames_bytes;
                content_bytes
            }
            false => {
                written_bytes -= written_bytes % frame_bytes_of(&metadata);
                written_bytes
            }
        };
        let samples = content_bytes / frame_bytes_of(&metadata);
        check_claim(&metadata, paths, samples)?;
        Ok(Some(Self { metadata, captures, marks, events, samples, written_bytes, owner }))
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
        let Metadata { format, channels, rate_hz, .. } = &self.metadata;
        let is_compressed = options.compress;
        if self.metadata.is_compressed != is_compressed {
            let words = |is_compressed| if is_compressed { "zstd" } else { "none" }.to_owned();
            return other("compression", words(is_compressed), words(self.metadata.is_compressed));
        }
        if *format != info.format {
            return other("format", info.format.to_string(), format.to_string());
        }
        if *channels != info.channels {
            return other("channels", info.channels.to_string(), channels.to_string());
        }
        if let (Some(before), Some(streams)) =
            (self.metadata.notes.streams(), options.notes.streams())
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
        let notes = &self.metadata.notes;
        let mut document =
            Document::restored(info, notes, &self.captures, &self.marks, &self.events);
        document.truncate(self.samples);
        document
    }

    /// Returns the next index.
    pub(super) fn next_index(&self, document: &Document) -> Option<SampleIndex> {
        let is_open = match self.marks.iter().rfind(|mark| mark.sample_start == self.samples) {
            Some(Mark { kind: MarkKind::Gap(gap), .. }) => gap.is_estimated(),
            _ => false,
        };
        (!document.is_empty() && !is_open).then(|| document.end(self.samples))
    }

    /// Returns where the recording ends.
    fn end(&self) -> SeriesEnd {
        let document = self.document(&self.info());
        SeriesEnd {
            next_index: self.next_index(&document),
            boot_id: document.boot_id(),
            is_stated: !document.is_empty(),
        }
    }

    fn info(&self) -> StreamInfo {
        let Metadata { format, channels, .. } = self.metadata;
        StreamInfo::new(format, channels, 1.0).expect("1 Hz is a rate")
    }
}

/// Reads a text file; `None` if it does not exist.
fn text_of(storage: &dyn Storage, path: &Path) -> Result<Option<String>, SinkError> {
    if_there(read_text(storage, path, TEXT_BYTES_MAX)).map_err(SinkError::io("read", path))
}

/// Returns the length of a file; 0 if it does not exist.
fn len_of(storage: &dyn Storage, path: &Path) -> Result<u64, SinkError> {
    let entry = if_there(storage.entry(path)).map_err(SinkError::io("measure", path))?;
    Ok(entry.map_or(0, |entry| entry.len_bytes))
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
