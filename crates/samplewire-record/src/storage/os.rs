//! The files of the operating system.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use rustix::fs::{FallocateFlags, OFlags, fallocate, fcntl_setfl};

use super::replace::{free, replace};
use super::{Entry, OpenMode, Storage, StoredFile, Work};

/// The operating system's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsStorage;

impl Storage for OsStorage {
    fn open(&self, path: &Path, mode: OpenMode, directly: bool) -> io::Result<Box<dyn StoredFile>> {
        let file = open(path, mode, directly)?;
        Ok(Box::new(OsFile { file, path: Some(path.to_owned()), is_direct: directly }))
    }

    fn entry(&self, path: &Path) -> io::Result<Entry> {
        fs::metadata(path).and_then(|metadata| entry_of(&metadata))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn start(&self, name: &str, work: Work) -> io::Result<Work> {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Box::new(move || thread.join().expect("work on files does not panic")))
    }
}

/// Opens standard output, without Rust's line buffer.
pub(crate) fn stdout() -> io::Result<Box<dyn StoredFile>> {
    let fd = io::stdout().as_fd().try_clone_to_owned()?;
    Ok(Box::new(OsFile { file: fd.into(), path: None, is_direct: false }))
}

#[derive(Debug)]
pub(super) struct OsFile {
    file: File,
    /// `None` for a file whose path does not lead to it: it is not replaced.
    path: Option<PathBuf>,
    is_direct: bool,
}

impl OsFile {
    /// A file of an open folder.
    pub(super) const fn in_folder(file: File, is_direct: bool) -> Self {
        Self { file, path: None, is_direct }
    }
}

impl StoredFile for OsFile {
    fn entry(&self) -> io::Result<Entry> {
        self.file.metadata().and_then(|metadata| entry_of(&metadata))
    }

    fn set_len(&mut self, len_bytes: u64) -> io::Result<()> {
        self.file.set_len(len_bytes)
    }

    /// A long file is replaced by a new one.
    fn empty(&mut self) -> io::Result<()> {
        let create = |path: &Path| open(path, OpenMode::CreateNew, self.is_direct);
        let path = self.path.as_deref();
        match path.and_then(|path| replace(&self.file, path, create)) {
            Some(new) => free(std::mem::replace(&mut self.file, new)),
            None => self.file.set_len(0)?,
        }
        Ok(())
    }

    fn allocate(&mut self, start_bytes: u64, len_bytes: u64) -> io::Result<()> {
        Ok(fallocate(&self.file, FallocateFlags::KEEP_SIZE, start_bytes, len_bytes)?)
    }

    fn leave_direct(&mut self) -> io::Result<()> {
        Ok(fcntl_setfl(&self.file, OFlags::empty())?)
    }

    fn try_lock(&self) -> io::Result<bool> {
        try_lock(&self.file)
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }
}

impl Read for OsFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.file.read(out)
    }
}

impl Write for OsFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for OsFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.file.seek(position)
    }
}

fn open(path: &Path, mode: OpenMode, directly: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    match mode {
        OpenMode::Read => options.read(true),
        OpenMode::Write => options.write(true),
        OpenMode::Create => options.write(true).create(true).truncate(false),
        OpenMode::Truncate => options.write(true).create(true).truncate(true),
        OpenMode::CreateNew => options.write(true).create_new(true),
    };
    if directly {
        options.custom_flags(OFlags::DIRECT.bits().cast_signed());
    }
    options.open(path)
}

pub(super) fn entry_of(metadata: &fs::Metadata) -> io::Result<Entry> {
    Ok(Entry {
        is_file: metadata.is_file(),
        is_folder: metadata.is_dir(),
        len_bytes: metadata.len(),
        modified: metadata.modified()?,
    })
}

pub(super) fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
