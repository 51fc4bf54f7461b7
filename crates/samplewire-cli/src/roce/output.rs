//! Where a listener keeps what came: beside the file until a connection is complete, so that a broken one
//! costs no earlier file.

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A file that each complete connection replaces, or a device that takes all.
pub(super) struct Output {
    path: PathBuf,
    /// Of a file: where its next content grows.
    part: Option<PathBuf>,
    file: File,
    len_bytes: u64,
}

impl Output {
    /// Opens it, so that a wrong name is found before a peer comes.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let fail = Failure::of_file(path);
        let is_device = match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => false,
            Ok(metadata) if is_character_device(&metadata) => true,
            Ok(_) => return Err(fail(io::Error::other("neither a file nor a device"))),
            Err(_) => false,
        };
        let mut part = None;
        if !is_device {
            let mut name = path.as_os_str().to_owned();
            name.push(".part");
            part = Some(PathBuf::from(name));
        }
        let file = File::create(part.as_deref().unwrap_or(path)).map_err(fail)?;
        Ok(Self { path: path.to_owned(), part, file, len_bytes: 0 })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.len_bytes += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    /// A connection is complete: what came takes the file's place.
    pub(super) fn keep(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.len_bytes = 0;
        let Some(part) = &self.part else { return Ok(()) };
        fs::rename(part, &self.path)?;
        self.file = File::create(part)?;
        Ok(())
    }

    /// A connection broke: the file with what came of it, if anything did. The next connection that
    /// begins replaces that.
    pub(super) fn broken(&mut self) -> Option<&Path> {
        self.part.as_deref().filter(|_| self.len_bytes > 0)
    }

    /// A connection begins.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        if self.part.is_some() {
            self.file.set_len(0)?;
            self.file.rewind()?;
        }
        self.len_bytes = 0;
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(part) = self.part.as_ref().filter(|_| self.len_bytes == 0) {
            // It is empty; where it cannot be removed it does no harm.
            drop(fs::remove_file(part));
        }
    }
}

fn is_character_device(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_char_device(&metadata.file_type())
}
