//! The file operations of a recorder, and its clock.
//!
//! Sinks and [`crate::verify()`] access files only through [`Storage`]. [`OsStorage`] uses the
//! operating system, [`FolderStorage`] one of its folders; tests record into memory. A test can thus
//! stop a recorder after any operation, fill the disk at any write, and inspect the files that remain.

mod folder;
mod os;
mod replace;

use std::fmt;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::Path;
use std::time::{Instant, SystemTime};

pub use folder::FolderStorage;
pub use os::OsStorage;
pub(crate) use os::stdout;

/// A store of files.
///
/// The operations of one thread happen in the order of its calls. An operation that returned
/// survives the end of the process. A write that did not return may have written its first bytes.
pub trait Storage: fmt::Debug + Send + Sync {
    /// Opens a file; with `directly`, its writes bypass the system's cache.
    ///
    /// # Errors
    /// The system's error.
    fn open(&self, path: &Path, mode: OpenMode, directly: bool) -> io::Result<Box<dyn StoredFile>>;

    /// Returns the entry of a path; links are followed.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if it does not exist, or the system's error.
    fn entry(&self, path: &Path) -> io::Result<Entry>;

    /// Renames a file, and replaces an existing file of the new name.
    ///
    /// # Errors
    /// The system's error.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if it does not exist, or the system's error.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Returns the time of a monotonic clock.
    fn now(&self) -> Instant;

    /// Starts `work` in parallel. The returned work waits for its end.
    ///
    /// # Errors
    /// The system cannot start a thread.
    fn start(&self, name: &str, work: Work) -> io::Result<Work>;

    /// Returns whether the path exists.
    fn exists(&self, path: &Path) -> bool {
        self.entry(path).is_ok()
    }

    /// Removes a file if it exists.
    ///
    /// # Errors
    /// The system's error.
    fn remove_if_there(&self, path: &Path) -> io::Result<()> {
        if_there(self.remove(path)).map(drop)
    }
}

/// Returns `None` if the operation reports that its file does not exist.
pub(crate) fn if_there<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        done => done.map(Some),
    }
}

/// Reads a file of at most `len_bytes_max`. Invalid UTF-8 is replaced: the journal of a killed
/// recorder may end within a character.
///
/// # Errors
/// [`ErrorKind::FileTooLarge`] if it is longer, or the system's error.
pub(crate) fn read_text(
    storage: &dyn Storage,
    path: &Path,
    len_bytes_max: u64,
) -> io::Result<String> {
    let file = storage.open(path, OpenMode::Read, false)?;
    let mut bytes = Vec::new();
    // The file may grow while it is read.
    if file.entry()?.len_bytes > len_bytes_max
        || file.take(len_bytes_max + 1).read_to_end(&mut bytes)? as u64 > len_bytes_max
    {
        let why = format!("it has more than {len_bytes_max} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

/// A function to be called once.
pub type Work = Box<dyn FnOnce() + Send>;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// For reading.
    Read,
    /// For writing without changes to its length; it must exist.
    Write,
    /// For writing; created if it does not exist, otherwise its content is kept.
    Create,
    /// For writing; created if it does not exist, otherwise emptied.
    Truncate,
    /// For writing; it must not exist.
    CreateNew,
}

/// The properties of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Whether it is a regular file, not a folder, a pipe or a device.
    pub is_file: bool,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// The length of the file.
    pub len_bytes: u64,
    /// When it was last written.
    pub modified: SystemTime,
}

/// An open file.
pub trait StoredFile: Read + Write + Seek + Send + fmt::Debug {
    /// Returns the properties of the file.
    ///
    /// # Errors
    /// The system's error.
    fn entry(&self) -> io::Result<Entry>;

    /// Truncates the file, or extends it with zeros.
    ///
    /// # Errors
    /// The system's error.
    fn set_len(&mut self, len_bytes: u64) -> io::Result<()>;

    /// Empties the file. It may be replaced by an empty file with the same owner, permissions and
    /// lock.
    ///
    /// # Errors
    /// The system's error.
    fn empty(&mut self) -> io::Result<()>;

    /// Allocates disk space for `len_bytes` from `start_bytes`; the file's length does not change.
    ///
    /// # Errors
    /// The system's error: there is no space, or the file system cannot allocate.
    fn allocate(&mut self, start_bytes: u64, len_bytes: u64) -> io::Result<()>;

    /// Lets later writes use the system's cache.
    ///
    /// # Errors
    /// The system's error.
    fn leave_direct(&mut self) -> io::Result<()>;

    /// Locks the file for this process while it is open; `false` if another process has locked it.
    /// If the system cannot lock files, every process succeeds.
    ///
    /// # Errors
    /// The system's error.
    fn try_lock(&self) -> io::Result<bool>;

    /// Unlocks the file.
    ///
    /// # Errors
    /// The system's error.
    fn unlock(&self) -> io::Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    #[test]
    fn text_is_read_up_to_its_bound_and_not_a_byte_further() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a");
        for (text, is_read) in [("", true), ("four", true), ("fiver", false)] {
            std::fs::write(&path, text).unwrap();
            let read = read_text(&OsStorage, &path, 4).map_err(|error| error.kind());
            let expected = if is_read { Ok(text.into()) } else { Err(ErrorKind::FileTooLarge) };
            assert_eq!(read, expected);
        }
        // A device has no length, and no end.
        let endless = read_text(&OsStorage, "/dev/zero".as_ref(), 4).unwrap_err();
        assert_eq!(endless.to_string(), "it has more than 4 bytes");
        let absent = read_text(&OsStorage, &folder.path().join("b"), 4);
        assert!(if_there(absent).unwrap().is_none());
    }

    #[test]
    fn text_that_ends_within_a_character_keeps_the_rest() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, &"a µ".as_bytes()[..3]).unwrap();
        assert_eq!(read_text(&OsStorage, &path, 4).unwrap(), "a \u{fffd}");
    }
}
