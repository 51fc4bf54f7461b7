//! The journal of a recording under way, as a file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sigmf::Journal;

/// Lines that are in the file before the samples are that they tell of: [`JournalFile::flush`]
/// stands before each write of samples. They survive the end of the process, not that of the machine.
#[derive(Debug)]
pub(super) struct JournalFile {
    path: PathBuf,
    file: File,
    pending: String,
}

impl JournalFile {
    /// Creates the file, or empties it.
    pub(super) fn create(path: &Path, owner: Option<u64>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).open(path)?;
        let mut journal = Self { path: path.to_owned(), file, pending: Journal::head_line(owner) };
        journal.flush()?;
        Ok(journal)
    }

    /// Takes a capture.
    pub(super) fn push_capture(&mut self, capture: Value) {
        self.pending.push_str(&Journal::line("capture", capture));
    }

    /// Takes an annotation.
    pub(super) fn push_annotation(&mut self, annotation: Value) {
        self.pending.push_str(&Journal::line("annotation", annotation));
    }

    /// Writes what was taken.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if !self.pending.is_empty() {
            self.file.write_all(self.pending.as_bytes())?;
            self.pending.clear();
        }
        Ok(())
    }

    /// Removes the file: the metadata say all.
    pub(super) fn remove(&self) -> io::Result<()> {
        remove_journal(&self.path)
    }
}

/// Removes a journal, if there is one.
pub(super) fn remove_journal(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
