//! A file of samples that only grows, and ends between samples whatever happens.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write, stdout};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::SinkError;
use super::resume::lock;

/// Samples in a file, a pipe or a device.
///
/// For a file up to 1 MiB is gathered before it is written; pipes and devices get each piece at
/// once.
#[derive(Debug)]
pub(super) struct DataFile {
    file: File,
    path: PathBuf,
    frame_bytes: usize,
    written_bytes: u64,
    chunk: Vec<u8>,
    /// How much is gathered, whole samples; 0 for a pipe or a device.
    chunk_bytes: usize,
}

impl DataFile {
    /// Creates the file, or opens it when `overwrite` allows that, to be [emptied](Self::empty).
    /// Pipes and devices are written as they are.
    pub(super) fn create(
        path: &Path,
        frame_bytes: usize,
        overwrite: bool,
    ) -> Result<Self, SinkError> {
        let special = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
        let mut options = OpenOptions::new();
        options.write(true);
        if !special {
            options.create(true).create_new(!overwrite);
        }
        let failed = |source: io::Error| match source.kind() {
            ErrorKind::AlreadyExists => SinkError::Exists { path: path.to_owned() },
            _ => SinkError::Io { operation: "create", path: path.to_owned(), source },
        };
        let file = options.open(path).map_err(failed)?;
        if !special {
            lock(&file, path)?;
        }
        Ok(Self::new(file, path.to_owned(), frame_bytes))
    }

    /// Empties a file that was there.
    pub(super) fn empty(self) -> Result<Self, SinkError> {
        if self.is_regular() {
            let path = self.path.clone();
            let emptied = self.file.set_len(0);
            emptied.map_err(|source| SinkError::Io { operation: "empty", path, source })?;
        }
        Ok(self)
    }

    /// Opens the file to go on behind its first `written_bytes`; what follows them is cut off. One
    /// that is not there is created.
    pub(super) fn append_to(
        path: &Path,
        frame_bytes: usize,
        written_bytes: u64,
    ) -> Result<Self, SinkError> {
        let io = |operation| {
            let path = path.to_owned();
            move |source| SinkError::Io { operation, path, source }
        };
        let mut options = OpenOptions::new();
        let mut file =
            options.write(true).create(true).truncate(false).open(path).map_err(io("open"))?;
        lock(&file, path)?;
        file.set_len(written_bytes).map_err(io("cut"))?;
        file.seek(SeekFrom::Start(written_bytes)).map_err(io("seek in"))?;
        Ok(Self { written_bytes, ..Self::new(file, path.to_owned(), frame_bytes) })
    }

    /// Standard output, without the buffer that looks for the ends of lines.
    pub(super) fn stdout(frame_bytes: usize) -> Result<Self, SinkError> {
        let path = PathBuf::from("-");
        match stdout().as_fd().try_clone_to_owned() {
            Ok(fd) => Ok(Self::new(File::from(fd), path, frame_bytes)),
            Err(source) => Err(SinkError::Io { operation: "open", path, source }),
        }
    }

    fn new(file: File, path: PathBuf, frame_bytes: usize) -> Self {
        let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
        let chunk_bytes = if is_file { CHUNK_BYTES - CHUNK_BYTES % frame_bytes } else { 0 };
        let chunk = Vec::with_capacity(chunk_bytes);
        Self { file, path, frame_bytes, written_bytes: 0, chunk, chunk_bytes }
    }

    /// Takes whole samples.
    ///
    /// After an error the file ends with the last sample that fitted, and those gathered are gone.
    pub(super) fn append(&mut self, mut bytes: &[u8]) -> Result<(), SinkError> {
        if !self.is_regular() {
            return self.write_out(bytes);
        }
        while !bytes.is_empty() {
            let room_bytes = self.chunk_bytes - self.chunk.len();
            let (piece, rest) = bytes.split_at(bytes.len().min(room_bytes));
            self.chunk.extend_from_slice(piece);
            if self.chunk.len() == self.chunk_bytes {
                self.flush()?;
            }
            bytes = rest;
        }
        Ok(())
    }

    /// Writes what was gathered.
    pub(super) fn flush(&mut self) -> Result<(), SinkError> {
        let mut chunk = std::mem::take(&mut self.chunk);
        let written = self.write_out(&chunk);
        chunk.clear();
        self.chunk = chunk;
        written
    }

    /// Lets others write the file: this recorder does not any more.
    pub(super) fn release(&self) -> io::Result<()> {
        if self.is_regular() { self.file.unlock() } else { Ok(()) }
    }

    /// The size of one sample of all channels in bytes.
    pub(super) const fn frame_bytes(&self) -> usize {
        self.frame_bytes
    }

    /// How many samples were taken, those gathered included.
    pub(super) fn len_samples(&self) -> u64 {
        (self.written_bytes + self.chunk.len() as u64) / self.frame_bytes as u64
    }

    /// How many bytes of whole samples the file holds.
    pub(super) fn written_bytes(&self) -> u64 {
        self.written_bytes - self.written_bytes % self.frame_bytes as u64
    }

    /// How many whole samples the file holds.
    pub(super) fn written_samples(&self) -> u64 {
        self.written_bytes / self.frame_bytes as u64
    }

    /// Whether what was written can be read again: not so for pipes and devices.
    pub(super) fn is_regular(&self) -> bool {
        self.chunk_bytes > 0
    }

    /// The file's name.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn write_out(&mut self, mut bytes: &[u8]) -> Result<(), SinkError> {
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(0) => return Err(self.failed(ErrorKind::WriteZero.into())),
                Ok(len_bytes) => {
                    self.written_bytes += len_bytes as u64;
                    bytes = &bytes[len_bytes..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(())
    }

    /// Cuts a sample that was written in part, and makes the error that ended the file.
    fn failed(&mut self, source: io::Error) -> SinkError {
        let whole_bytes = self.written_bytes();
        if whole_bytes != self.written_bytes && self.file.set_len(whole_bytes).is_ok() {
            self.written_bytes = whole_bytes;
        }
        let path = self.path.clone();
        match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                let len_samples = whole_bytes / self.frame_bytes as u64;
                SinkError::Full { path, len_samples, source }
            }
            _ => SinkError::Io { operation: "write", path, source },
        }
    }
}

/// How much is gathered for a write, before it is rounded down to whole samples, the longest of
/// which (fc32, 65,535 channels) is half as long.
const CHUNK_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    #[test]
    fn sample_written_in_part_is_cut_when_the_disk_is_full() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a");
        let mut data = DataFile::create(&path, 4, false).unwrap();
        data.file.write_all(&[1; 10]).unwrap();
        data.written_bytes = 10;
        let error = data.failed(ErrorKind::StorageFull.into());
        assert!(matches!(error, SinkError::Full { len_samples: 2, .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap().len(), 8);
        assert_eq!((data.written_bytes(), data.len_samples()), (8, 2));
    }

    #[test]
    fn pipe_gets_each_piece_at_once() {
        let mut data = DataFile::create("/dev/null".as_ref(), 4, false).unwrap();
        data.append(&[1; 8]).unwrap();
        assert_eq!((data.is_regular(), data.written_bytes()), (false, 8));
    }
}
