//! The journal file of a recording in progress.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::Value;

use crate::sigmf::{Document, Journal, suffixed};
use crate::storage::{OpenMode, Storage, StoredFile};

/// Each line must be in the file before the samples that it describes, so [`JournalFile::flush`]
/// precedes each write of samples. The lines survive the end of the process, not of the machine.
#[derive(Debug)]
pub(super) struct JournalFile {
    file: Box<dyn StoredFile>,
    pending: String,
}

impl JournalFile {
    /// Creates the file with the present content of `document`. It takes its final name when it is
    /// complete; until then an existing journal stays valid.
    pub(super) fn create(
        storage: &dyn Storage,
        path: &Path,
        owner: Option<u64>,
        document: &Document,
    ) -> io::Result<Self> {
        let new_path = suffixed(path, ".new");
        let mut out = BufWriter::new(storage.open(&new_path, OpenMode::Truncate, false)?);
        out.write_all(Journal::head_line(owner).as_bytes())?;
        for (list, entry) in document.entries() {
            out.write_all(Journal::line(list, entry).as_bytes())?;
        }
        let file = out.into_inner()?;
        storage.rename(&new_path, path)?;
        Ok(Self { file, pending: String::new() })
    }

    /// Adds a capture.
    pub(super) fn push_capture(&mut self, capture: Value) {
        self.pending.push_str(&Journal::line("capture", capture));
    }

    /// Adds an annotation.
    pub(super) fn push_annotation(&mut self, annotation: Value) {
        self.pending.push_str(&Journal::line("annotation", annotation));
    }

    /// Writes the added lines.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if !self.pending.is_empty() {
            self.file.write_all(self.pending.as_bytes())?;
            self.pending.clear();
        }
        Ok(())
    }
}
