//! A metadata file that is complete at every moment.

use std::io::{self, BufWriter, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sigmf::{Document, Progress, suffixed};
use crate::storage::{OpenMode, Storage, StoredFile};

/// The metadata file and a spare file beside it.
///
/// Each version is written to the spare, which then takes the file's name. Readers see the old
/// version or the new one. The spare's disk space is allocated in advance, so the gaps can be
/// written even if the data have filled the disk. There is no sync to the medium: the file survives
/// the end of the process, not of the machine.
#[derive(Debug)]
pub(super) struct MetaFile {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    spare_path: PathBuf,
    spare: Option<Box<dyn StoredFile>>,
    /// The allocated length of the spare.
    spare_bytes: u64,
    replaced: Instant,
    replacing: Duration,
}

impl MetaFile {
    /// Prepares the file `path`; nothing is written yet.
    pub(super) fn new(storage: Arc<dyn Storage>, path: &Path) -> Self {
        Self {
            replaced: storage.now(),
            storage,
            path: path.to_owned(),
            spare_path: suffixed(path, ".spare"),
            spare: None,
            spare_bytes: 0,
            replacing: Duration::ZERO,
        }
    }

    /// Returns whether to write a changed document: a second after the last write. If that write
    /// was slow, the pause is longer, so that writes take at most a tenth of the time. It is due
    /// earlier if the document fills more than half of the spare.
    pub(super) fn is_due(&self, document: &Document) -> bool {
        self.storage.now() - self.replaced >= (self.replacing * 10).max(REPLACE_INTERVAL)
            || document.len_bytes_max() > self.spare_bytes / 2
    }

    /// Replaces the file.
    pub(super) fn replace(
        &mut self,
        document: &Document,
        progress: &Progress<'_>,
    ) -> io::Result<()> {
        let started = self.storage.now();
        let mut spare = match self.spare.take() {
            Some(spare) => spare,
            None => self.create_spare()?,
        };
        spare.rewind()?;
        let mut out = BufWriter::new(spare);
        document.write(&mut out, progress)?;
        let mut spare = out.into_inner()?;
        let len_bytes = spare.stream_position()?;
        spare.set_len(len_bytes)?;
        self.storage.rename(&self.spare_path, &self.path)?;
        self.replaced = self.storage.now();
        self.replacing = self.replaced - started;
        Ok(())
    }

    /// Allocates space for the next version, which may be four times as long as `document`.
    pub(super) fn reserve(&mut self, document: &Document) -> io::Result<()> {
        let mut spare = self.create_spare()?;
        self.spare_bytes = SPARE_BYTES_MIN + 4 * document.len_bytes_max();
        io::copy(&mut io::repeat(b' ').take(self.spare_bytes), &mut spare)?;
        self.spare = Some(spare);
        Ok(())
    }

    /// Removes the spare, if it exists.
    pub(super) fn remove_spare(&mut self) -> io::Result<()> {
        self.spare = None;
        self.storage.remove_if_there(&self.spare_path)
    }

    fn create_spare(&self) -> io::Result<Box<dyn StoredFile>> {
        self.storage.open(&self.spare_path, OpenMode::Truncate, false)
    }
}

const REPLACE_INTERVAL: Duration = Duration::from_secs(1);

/// Space for some 100 gaps.
const SPARE_BYTES_MIN: u64 = 128 << 10;
