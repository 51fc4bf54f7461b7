//! The operations on files that a recorder needs, and its clock.
//!
//! Sinks and [`crate::verify()`] reach files through [`Storage`] alone: [`OsStorage`] is the
//! operating system's, and tests record into memory. So a test can stop a recorder after any of its
//! operations, fill the disk at any write, and look at what is left.

mod os;
mod replace;

use std::fmt;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::Path;
use std::time::{Instant, SystemTime};

pub use os::OsStorage;
pub(crate) use os::stdout;

/// A place where files are.
///
/// The operations of one thread happen in the order of its calls. One that returned survives the end
/// of the process; a write that did not return may have happened for its first bytes.
pub trait Storage: fmt::Debug + Send + Sync {
    /// Opens a file. One that is written `directly` goes past the system's cache.
    ///
    /// # Errors
    /// The system's.
    fn open(&self, path: &Path, mode: OpenMode, directly: bool) -> io::Result<Box<dyn StoredFile>>;

    /// What stands under a name; links are followed.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] where there is nothing, and the system's.
    fn entry(&self, path: &Path) -> io::Result<Entry>;

    /// Gives a file another name, in the place of the file of that name.
    ///
    /// # Errors
    /// The system's.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] where there is none, and the system's.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// The time by a clock that is never set.
    fn now(&self) -> Instant;

    /// Starts `work` beside the caller. The call that it returns waits for its end.
    ///
    /// # Errors
    /// The system refuses a thread.
    fn start(&self, name: &str, work: Work) -> io::Result<Work>;

    /// Whether anything has this name.
    fn exists(&self, path: &Path) -> bool {
        self.entry(path).is_ok()
    }

    /// Removes a file, if it is there.
    ///
    /// # Errors
    /// The system's.
    fn remove_if_there(&self, path: &Path) -> io::Result<()> {
        match self.remove(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

/// Something to be called once.
pub type Work = Box<dyn FnOnce() + Send>;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// To be read.
    Read,
    /// To be written as it is; it must be there.
    Write,
    /// To be written; it is created if it is not there, and keeps what it holds if it is.
    Create,
    /// To be written; it is created if it is not there, and emptied if it is.
    Truncate,
    /// To be written; it must not be there.
    CreateNew,
}

/// What stands under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Whether it is an ordinary file, not a folder, a pipe or a device.
    pub is_file: bool,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Its length.
    pub len_bytes: u64,
    /// When it was written last.
    pub modified: SystemTime,
}

/// An open file.
pub trait StoredFile: Read + Write + Seek + Send + fmt::Debug {
    /// What it is.
    ///
    /// # Errors
    /// The system's.
    fn entry(&self) -> io::Result<Entry>;

    /// Cuts it, or lengthens it by zeros.
    ///
    /// # Errors
    /// The system's.
    fn set_len(&mut self, len_bytes: u64) -> io::Result<()>;

    /// Empties it. An empty file in its place, with its owner, permissions and lock, does as well.
    ///
    /// # Errors
    /// The system's.
    fn empty(&mut self) -> io::Result<()>;

    /// Takes room on the disk for `len_bytes` from `start_bytes` on; its length stays.
    ///
    /// # Errors
    /// The system's: there is no room, or none can be taken in advance.
    fn allocate(&mut self, start_bytes: u64, len_bytes: u64) -> io::Result<()>;

    /// Writes through the system's cache from now on.
    ///
    /// # Errors
    /// The system's.
    fn leave_direct(&mut self) -> io::Result<()>;

    /// Takes the file for this process alone, as long as it is open; `false` when another has it.
    /// Where files cannot be locked, each has it.
    ///
    /// # Errors
    /// The system's.
    fn try_lock(&self) -> io::Result<bool>;

    /// Lets others lock it.
    ///
    /// # Errors
    /// The system's.
    fn unlock(&self) -> io::Result<()>;
}
