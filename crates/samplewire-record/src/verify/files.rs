//! Reads the files of one recording consistently, even while a recorder writes them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Fault, Hash, Report, VerifyError};
use crate::sigmf::{
    Capture, Claims, Journal, Mark, Metadata, MetadataError, Paths, TEXT_BYTES_MAX, captures,
    marks, sha512_of,
};
use crate::sink::{frames_of, part_path};
use crate::storage::{OpenMode, Storage, if_there, read_text};

/// The files of a recording, as far as they are valid.
pub(super) struct Files {
    pub(super) paths: Paths,
    data_path: PathBuf,
    /// `None` if the metadata are not SigMF: nothing else can be checked then.
    pub(super) account: Option<Account>,
}

/// The description of the data.
pub(super) struct Account {
    pub(super) claims: Claims,
    pub(super) captures: Vec<Capture>,
    pub(super) marks: Vec<Mark>,
    /// The source of the description: the metadata or the journal.
    pub(super) path: PathBuf,
    /// Whether entries about samples after the end of the data are permitted.
    pub(super) may_lead: bool,
    /// Samples in the data.
    pub(super) samples: u64,
    sha512: Option<String>,
    frame_bytes: usize,
    /// The length of the data file; `None` if it does not exist.
    len_bytes: Option<u64>,
    /// The length of the data; of compressed data, their uncompressed length.
    content_bytes: u64,
}

impl Files {
    /// Reads everything except the data.
    ///
    /// The length of the data is read before the journal. The journal then describes all of these
    /// samples, whatever a recorder writes in the meantime. A recorder that finishes in the
    /// meantime first replaces the metadata, then removes its journal, so the metadata are read
    /// again.
    pub(super) fn open(
        storage: &dyn Storage,
        paths: Paths,
        report: &mut Report,
    ) -> Result<Self, VerifyError> {
        let (text, len_bytes, journal) = loop {
            let text = text_of(storage, &paths.meta)?
                .ok_or_else(|| VerifyError::NotThere { path: paths.meta.clone() })?;
            let data_path = match Metadata::parse(&text) {
                Ok(metadata) => paths.data_of(&metadata),
                Err(_) => paths.data.clone(),
            };
            let len_bytes = len_of(storage, &data_path)?;
            let journal = text_of(storage, &paths.journal)?;
            if journal.is_some() || text_of(storage, &paths.meta)?.as_ref() == Some(&text) {
                break (text, len_bytes, journal);
            }
        };
        report.files.push(paths.meta.clone());
        let mut files = Self { data_path: paths.data.clone(), paths, account: None };
        match files.understand(storage, &text, len_bytes, journal.as_deref()) {
            Ok(account) => {
                report.is_finished &= account.claims.is_finished == Some(true);
                if account.path == files.paths.journal {
                    report.files.push(account.path.clone());
                }
                files.account = Some(account);
            }
            Err(fault) => {
                report.is_finished = false;
                report.push(fault);
            }
        }
        Ok(files)
    }

    fn understand(
        &mut self,
        storage: &dyn Storage,
        text: &str,
        len_bytes: Option<u64>,
        journal: Option<&str>,
    ) -> Result<Account, Fault> {
        let metadata = Metadata::parse(text).map_err(|error| wrong(&self.paths.meta, &error))?;
        self.data_path = self.paths.data_of(&metadata);
        let is_finished = metadata.claims.is_finished.unwrap_or(true);
        let (path, root) = match journal.filter(|_| !is_finished) {
            Some(journal) => {
                let journal = Journal::parse(journal);
                (
                    &self.paths.journal,
                    journal.map_err(|error| wrong(&self.paths.journal, &error))?.root,
                )
            }
            None => {
                let root: Value = serde_json::from_str(text).expect("it was parsed before");
                (&self.paths.meta, root)
            }
        };
        let content_bytes = match len_bytes {
            Some(len_bytes @ 1..) if metadata.is_compressed => {
                let file = storage.open(&self.data_path, OpenMode::Read, false);
                let frames = file.and_then(|file| frames_of(file, len_bytes));
                let frames = frames.map_err(|error| wrong(&self.data_path, &error))?;
                if frames.frames_bytes < len_bytes && is_finished {
                    let why =
                        format!("the last {} bytes are no frame", len_bytes - frames.frames_bytes);
                    return Err(wrong(&self.data_path, &why));
                }
                frames.content_bytes
            }
            len_bytes => len_bytes.unwrap_or(0),
        };
        let of_entries = |error: MetadataError| wrong(path, &error);
        let frame_bytes = metadata.format.sample_bytes() * usize::from(metadata.channels);
        Ok(Account {
            captures: captures(&root, metadata.offset).map_err(of_entries)?,
            marks: marks(&root).map_err(of_entries)?,
            path: path.clone(),
            may_lead: !is_finished,
            samples: content_bytes / frame_bytes as u64,
            content_bytes,
            claims: metadata.claims,
            sha512: metadata.sha512,
            frame_bytes,
            len_bytes,
        })
    }

    /// Compares the position in a series with the metadata.
    pub(super) fn check_part(&self, number: u32, has_next: bool, base: &Path, report: &mut Report) {
        let Some(Account { claims, .. }) = &self.account else { return };
        let path = || self.paths.meta.clone();
        if claims.part != Some(number.into()) {
            report.push(Fault::Part { path: path(), found: claims.part, expected: number });
        }
        match (claims.is_continued, claims.is_finished) {
            (Some(true), _) if !has_next => {
                let next = part_path(base, number + 1);
                report.push(Fault::Continued { path: path(), next });
            }
            (Some(false), Some(true)) if has_next => report.push(Fault::Last { path: path() }),
            _ => {}
        }
    }

    /// Compares the length and the hash of the data with the metadata; returns the result of the
    /// hash.
    pub(super) fn check_data(
        &self,
        storage: &dyn Storage,
        report: &mut Report,
    ) -> Result<Hash, VerifyError> {
        let Some(account) = &self.account else { return Ok(Hash::default()) };
        let path = || self.data_path.clone();
        let claimed = account.claims.sample_count;
        if account.len_bytes.is_none() {
            // A recorder that was killed at its start has not created the file.
            if !account.may_lead || claimed != Some(0) {
                report.push(Fault::NoData { path: path(), expected: claimed.unwrap_or(0) });
            }
            return Ok(Hash::default());
        }
        report.files.push(path());
        let len_bytes = account.content_bytes;
        let (samples, frame_bytes) = (account.samples, account.frame_bytes);
        report.samples += samples;
        report.bytes += samples * frame_bytes as u64;
        if !account.may_lead && !len_bytes.is_multiple_of(frame_bytes as u64) {
            report.push(Fault::Partial { path: path(), len_bytes, frame_bytes });
        }
        if let Some(expected) = claimed
            && (samples < expected || (samples > expected && !account.may_lead))
        {
            report.push(Fault::Length { path: path(), found: samples, expected });
        }
        match &account.sha512 {
            Some(expected) => self.check_hash(storage, expected, report),
            None if account.may_lead => Ok(Hash::Unfinished),
            None => Ok(Hash::Absent),
        }
    }

    fn check_hash(
        &self,
        storage: &dyn Storage,
        expected: &str,
        report: &mut Report,
    ) -> Result<Hash, VerifyError> {
        let path = &self.data_path;
        let io = |source| VerifyError::Io { path: path.clone(), source };
        let mut file = storage.open(path, OpenMode::Read, false).map_err(io)?;
        let found = sha512_of(&mut file).map_err(io)?;
        if found == expected {
            return Ok(Hash::Matches);
        }
        report.push(Fault::Sha512 { path: path.clone(), found, expected: expected.to_owned() });
        Ok(Hash::Differs)
    }
}

fn wrong(path: &Path, error: &impl ToString) -> Fault {
    Fault::Text { path: path.to_owned(), why: error.to_string() }
}

/// Reads a text file; `None` if it does not exist.
fn text_of(storage: &dyn Storage, path: &Path) -> Result<Option<String>, VerifyError> {
    if_there(read_text(storage, path, TEXT_BYTES_MAX))
        .map_err(|source| VerifyError::Io { path: path.to_owned(), source })
}

/// Returns the length of a file; `None` if it does not exist.
fn len_of(storage: &dyn Storage, path: &Path) -> Result<Option<u64>, VerifyError> {
    if_there(storage.entry(path))
        .map(|entry| entry.map(|entry| entry.len_bytes))
        .map_err(|source| VerifyError::Io { path: path.to_owned(), source })
}
