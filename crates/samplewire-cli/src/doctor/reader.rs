//! The one reader of a diagnosis: files of `/proc` and `/sys`, and answers of the system as text, all
//! by path. With a recorded tree, the same paths are read below its folder.
//!
//! Each path is read once and kept, so that all checks see one value, and a record has what they saw.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::live;
use crate::plain::plain;

/// Reads paths of this host, or of a recorded tree.
#[derive(Debug)]
pub(super) struct Reader {
    root: Option<PathBuf>,
    files: RefCell<Files>,
    folders: RefCell<Folders>,
}

/// Texts, or why they cannot be read, by path.
pub(super) type Files = BTreeMap<String, Result<Rc<str>, ReadError>>;

/// Names in folders by path.
pub(super) type Folders = BTreeMap<String, Result<Rc<[String]>, ReadError>>;

/// A path that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadError {
    pub(super) path: String,
    pub(super) why: Why,
}

/// Why a path cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The system's error number.
    System(i32),
    /// The text is longer than [`FILE_BYTES_MAX`].
    TooLong,
    /// A folder has more than [`ENTRIES_MAX`] entries.
    TooMany,
    /// The bytes are not UTF-8.
    NotText,
    /// A recorded tree has a symbolic link there, which could lead out of it.
    SymbolicLink,
    /// A recorded tree has neither a file nor a folder there.
    NotAFile,
    /// The path leads upwards.
    Upwards,
    /// The text has another form than the kernel writes; the value is the part that was read.
    Form(String),
}

impl Reader {
    /// Reads this host, or the tree below `root`.
    pub(super) fn new(root: Option<PathBuf>) -> Self {
        Self { root, files: RefCell::default(), folders: RefCell::default() }
    }

    /// A reader of the same paths that has read none yet.
    pub(super) fn again(&self) -> Self {
        Self::new(self.root.clone())
    }

    /// The text at an absolute path.
    pub(super) fn text(&self, path: &str) -> Result<Rc<str>, ReadError> {
        let known = self.files.borrow().get(path).cloned();
        known.unwrap_or_else(|| {
            let read = self.read(path).map_err(|why| ReadError { path: path.to_owned(), why });
            self.files.borrow_mut().insert(path.to_owned(), read.clone());
            read
        })
    }

    /// The names in a folder, in order.
    pub(super) fn names(&self, path: &str) -> Result<Rc<[String]>, ReadError> {
        let known = self.folders.borrow().get(path).cloned();
        known.unwrap_or_else(|| {
            let read = self.list(path).map_err(|why| ReadError { path: path.to_owned(), why });
            self.folders.borrow_mut().insert(path.to_owned(), read.clone());
            read
        })
    }

    /// All files that were read, with their answers.
    pub(super) fn files(&self) -> Files {
        self.files.borrow().clone()
    }

    /// All folders that were listed.
    pub(super) fn folders(&self) -> Folders {
        self.folders.borrow().clone()
    }

    /// Whether it reads a recorded tree.
    pub(super) const fn is_recorded(&self) -> bool {
        self.root.is_some()
    }

    /// Where a path lies on this host's disks.
    ///
    /// # Errors
    /// The path leads upwards, or a recorded tree has a symbolic link on the way.
    pub(super) fn place(&self, path: &str) -> Result<PathBuf, Why> {
        let parts = path.strip_prefix('/').ok_or(Why::Upwards)?;
        if parts.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(Why::Upwards);
        }
        let Some(root) = &self.root else { return Ok(PathBuf::from(path)) };
        let mut place = root.clone();
        for part in parts.split('/') {
            place.push(part);
            if fs::symlink_metadata(&place).is_ok_and(|it| it.is_symlink()) {
                return Err(Why::SymbolicLink);
            }
        }
        Ok(place)
    }

    fn read(&self, path: &str) -> Result<Rc<str>, Why> {
        let place = self.place(path)?;
        if self.root.is_none()
            && let Some(answer) = live::answer(path)
        {
            return answer.map(Rc::from).map_err(|error| Why::of(&error));
        }
        if self.root.is_some() {
            // Without the file, the read may have failed when the tree was recorded.
            let kind = fs::symlink_metadata(&place)
                .map_err(|error| recorded_error(&place).unwrap_or_else(|| Why::of(&error)))?;
            if !kind.is_file() {
                // A FIFO or a device could block.
                return Err(Why::NotAFile);
            }
        }
        let bytes = read_bounded(&place).map_err(|error| Why::of(&error))?;
        if bytes.len() > FILE_BYTES_MAX {
            return Err(Why::TooLong);
        }
        String::from_utf8(bytes).map(Rc::from).map_err(|_| Why::NotText)
    }

    fn list(&self, path: &str) -> Result<Rc<[String]>, Why> {
        let place = self.place(path)?;
        let entries = fs::read_dir(place).map_err(|error| Why::of(&error))?;
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(|error| Why::of(&error))?.file_name();
            let name = name.into_string().map_err(|_| Why::NotText)?;
            if self.root.is_some() && name.ends_with(ERROR_SUFFIX) {
                continue;
            }
            if names.len() == ENTRIES_MAX {
                return Err(Why::TooMany);
            }
            names.push(name);
        }
        names.sort_unstable();
        Ok(names.into())
    }
}

impl Why {
    /// The system's error number; an error without one counts as EIO.
    pub(super) fn of(error: &io::Error) -> Self {
        Self::System(error.raw_os_error().unwrap_or(EIO))
    }

    /// Whether nothing is there.
    pub(super) fn is_absence(&self) -> bool {
        *self == Self::System(ENOENT)
    }
}

impl ReadError {
    /// The text at `path` has another form than it should.
    pub(super) fn form(path: &str, part: &str) -> Self {
        Self { path: path.to_owned(), why: Why::Form(plain(part, FORM_CHARS_MAX)) }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = plain(&self.path, PATH_CHARS_MAX);
        match &self.why {
            Why::System(number) => {
                let words = io::Error::from_raw_os_error(*number).to_string();
                let words = words.split(" (os error").next().unwrap_or_default();
                write!(f, "{path}: {words}")
            }
            Why::TooLong => write!(f, "{path}: longer than {FILE_BYTES_MAX} bytes"),
            Why::TooMany => write!(f, "{path}: more than {ENTRIES_MAX} entries"),
            Why::NotText => write!(f, "{path}: not UTF-8"),
            Why::SymbolicLink => write!(f, "{path}: a recorded tree has no symbolic links"),
            Why::NotAFile => write!(f, "{path}: not a regular file"),
            Why::Upwards => write!(f, "{path}: not an absolute path without `..`"),
            Why::Form(part) => write!(f, "{path}: unexpected value `{part}`"),
        }
    }
}

/// The error that a recorded tree has for a path.
fn recorded_error(place: &Path) -> Option<Why> {
    let mut name = place.file_name()?.to_owned();
    name.push(ERROR_SUFFIX);
    let place = place.with_file_name(name);
    let is_file = fs::symlink_metadata(&place).is_ok_and(|it| it.is_file());
    let bytes = is_file.then(|| read_bounded(&place).ok())??;
    Some(Why::System(std::str::from_utf8(&bytes).ok()?.trim().parse().ok()?))
}

fn read_bounded(place: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(place)?.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// In a recorded tree, `NAME.error` has the error number of a read that failed.
pub(super) const ERROR_SUFFIX: &str = ".error";

/// The longest text that is read: `/proc/interrupts` of 512 CPUs fits.
pub(super) const FILE_BYTES_MAX: usize = 8 << 20;

/// The most names of a folder: one for each CPU, interrupt or queue.
const ENTRIES_MAX: usize = 65_536;

const FORM_CHARS_MAX: usize = 40;
const PATH_CHARS_MAX: usize = 200;
const ENOENT: i32 = 2;
const EIO: i32 = 5;
