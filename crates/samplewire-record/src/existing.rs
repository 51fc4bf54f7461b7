//! Reads the files of an existing recording consistently, even while a recorder writes them.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sigmf::{
    Journal, Mark, Metadata, MetadataError, Paths, TEXT_BYTES_MAX, captures, marks,
};
use crate::sink::{Frames, frames_of};
use crate::storage::{OpenMode, Storage, if_there, read_text};

/// The description of a recording, and the length of its data.
pub(crate) struct Existing {
    /// The metadata, with the captures of the journal if the recording is not finished.
    pub(crate) metadata: Metadata,
    pub(crate) marks: Vec<Mark>,
    /// The source of captures and marks: the metadata or the journal.
    pub(crate) path: PathBuf,
    /// The owner ID that the recorder used with the device, if the journal states it.
    pub(crate) owner: Option<u64>,
    pub(crate) data_path: PathBuf,
    /// The length of the data file; `None` if it does not exist.
    pub(crate) len_bytes: Option<u64>,
    /// The whole frames of compressed data; all of plain data.
    pub(crate) frames: Frames,
    /// Whole samples in the frames.
    pub(crate) samples: u64,
}

/// How often the metadata are read again.
const TURNS_MAX: u32 = 16;

impl Existing {
    /// Reads a recording, and the JSON that has its captures and annotations; `None` if there are no
    /// metadata.
    ///
    /// The length of the data is read before the journal. The journal then describes all of these
    /// samples, whatever a recorder writes in the meantime. A recorder that finishes in the
    /// meantime first replaces the metadata, then removes its journal, so the metadata are read
    /// again.
    pub(crate) fn read(
        storage: &dyn Storage,
        paths: &Paths,
    ) -> Result<Option<(Self, Value)>, ReadError> {
        let mut turns = 0;
        let (mut metadata, mut root, data_path, len_bytes, journal) = loop {
            turns += 1;
            let Some(text) = text_of(storage, &paths.meta)? else { return Ok(None) };
            let (metadata, root) = parse(&text).map_err(ReadError::wrong(&paths.meta))?;
            let data_path = paths.data_of(&metadata);
            let len_bytes = len_of(storage, &data_path)?;
            let journal = text_of(storage, &paths.journal)?;
            // What is rewritten again and again is no recorder's.
            let is_last = turns == TURNS_MAX || journal.is_some();
            if is_last || text_of(storage, &paths.meta)?.as_ref() == Some(&text) {
                break (metadata, root, data_path, len_bytes, journal);
            }
        };
        let (mut path, mut owner) = (&paths.meta, None);
        if let Some(text) = journal.filter(|_| !metadata.is_finished()) {
            path = &paths.journal;
            let journal = Journal::parse(&text).map_err(ReadError::wrong(path))?;
            metadata.captures =
                captures(&journal.root, metadata.offset).map_err(ReadError::wrong(path))?;
            (owner, root) = (journal.owner, journal.root);
        }
        let marks = marks(&root).map_err(ReadError::wrong(path))?;
        let frames = match len_bytes {
            Some(len_bytes) if metadata.is_compressed => storage
                .open(&data_path, OpenMode::Read, false)
                .and_then(|file| frames_of(file, len_bytes))
                .map_err(ReadError::wrong(&data_path))?,
            len_bytes => Frames::plain(len_bytes.unwrap_or(0)),
        };
        let samples = frames.content_bytes / metadata.frame_bytes() as u64;
        let path = path.clone();
        let existing = Self { metadata, marks, path, owner, data_path, len_bytes, frames, samples };
        Ok(Some((existing, root)))
    }
}

/// Reads the metadata of a recording; `None` if they do not exist.
pub(crate) fn metadata_of(
    storage: &dyn Storage,
    paths: &Paths,
) -> Result<Option<Metadata>, ReadError> {
    let text = text_of(storage, &paths.meta)?;
    text.map(|text| Metadata::parse(&text)).transpose().map_err(ReadError::wrong(&paths.meta))
}

fn parse(text: &str) -> Result<(Metadata, Value), MetadataError> {
    let root = serde_json::from_str(text)?;
    Ok((Metadata::of_root(&root)?, root))
}

/// Reads a text file; `None` if it does not exist.
fn text_of(storage: &dyn Storage, path: &Path) -> Result<Option<String>, ReadError> {
    if_there(read_text(storage, path, TEXT_BYTES_MAX)).map_err(ReadError::io("read", path))
}

/// Returns the length of a file; `None` if it does not exist.
pub(crate) fn len_of(storage: &dyn Storage, path: &Path) -> Result<Option<u64>, ReadError> {
    let entry = if_there(storage.entry(path)).map_err(ReadError::io("measure", path))?;
    Ok(entry.map(|entry| entry.len_bytes))
}

/// Why a recording cannot be read.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The operating system refused an operation.
    Io { operation: &'static str, path: PathBuf, source: io::Error },
    /// A file is not valid.
    Wrong { path: PathBuf, why: String },
}

impl ReadError {
    fn io(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { operation, path: path.to_owned(), source }
    }

    fn wrong<E: ToString>(path: &Path) -> impl FnOnce(E) -> Self {
        move |error| Self::Wrong { path: path.to_owned(), why: error.to_string() }
    }
}
