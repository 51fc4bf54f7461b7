//! The files of one folder, which no name and no link leaves.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};
use std::time::Instant;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, fstatvfs, openat, renameat, unlinkat};

use super::os::{OsFile, entry_of};
use super::{Entry, OpenMode, OsStorage, Storage, StoredFile, Work};

/// The files of one folder, which stays open: a rename of the folder, or a link in its place, changes
/// nothing.
///
/// A path is a single name. Links are neither followed nor overwritten, and only regular files are
/// opened.
#[derive(Debug)]
pub struct FolderStorage {
    folder: OwnedFd,
}

impl FolderStorage {
    /// Opens a folder, which must exist; links to it are followed.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { folder: openat(CWD, path, flags, Mode::empty())? })
    }

    /// Returns the space that is free for this user, in bytes.
    ///
    /// # Errors
    /// The system's error.
    pub fn free_bytes(&self) -> io::Result<u64> {
        let disk = fstatvfs(&self.folder)?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    fn file(&self, path: &Path, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file: File = openat(&self.folder, name_of(path)?, flags, MODE)?.into();
        Ok(file)
    }
}

impl Storage for FolderStorage {
    fn open(&self, path: &Path, mode: OpenMode, directly: bool) -> io::Result<Box<dyn StoredFile>> {
        let flags = match mode {
            OpenMode::Read => OFlags::RDONLY,
            OpenMode::Write => OFlags::WRONLY,
            OpenMode::Create => OFlags::WRONLY | OFlags::CREATE,
            OpenMode::Truncate => OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC,
            OpenMode::CreateNew => OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL,
        };
        let direct = if directly { OFlags::DIRECT } else { OFlags::empty() };
        // A pipe without a reader does not hold up the call.
        let file = self.file(path, flags | direct | OFlags::NONBLOCK)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
        }
        Ok(Box::new(OsFile::in_folder(file, directly)))
    }

    /// A link is neither a file nor a folder.
    fn entry(&self, path: &Path) -> io::Result<Entry> {
        entry_of(&self.file(path, OFlags::PATH)?.metadata()?)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Ok(renameat(&self.folder, name_of(from)?, &self.folder, name_of(to)?)?)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Ok(unlinkat(&self.folder, name_of(path)?, AtFlags::empty())?)
    }

    fn now(&self) -> Instant {
        OsStorage.now()
    }

    fn start(&self, name: &str, work: Work) -> io::Result<Work> {
        OsStorage.start(name, work)
    }
}

/// Returns the path if it is a single name.
fn name_of(path: &Path) -> io::Result<&Path> {
    let mut parts = path.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(name)), None) if name == path.as_os_str() => Ok(path),
        _ => Err(io::Error::new(ErrorKind::InvalidInput, "it is not a single file name")),
    }
}

/// The permissions of a new file, less those that the process masks.
const MODE: Mode = Mode::from_raw_mode(0o666);

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use samplewire_proto::wire::Format;
    use tempfile::TempDir;

    use super::*;
    use crate::sink::{SigmfSink, SinkOptions, WriteSamples};
    use crate::verify::verify_in;
    use samplewire::StreamInfo;

    const MODES: [OpenMode; 5] = [
        OpenMode::Read,
        OpenMode::Write,
        OpenMode::Create,
        OpenMode::Truncate,
        OpenMode::CreateNew,
    ];

    #[test]
    fn no_name_leaves_the_folder() {
        let outer = TempDir::new().unwrap();
        let secret = outer.path().join("secret");
        fs::write(&secret, "kept").unwrap();
        let inner = outer.path().join("inner");
        fs::create_dir_all(inner.join("deeper")).unwrap();
        let storage = FolderStorage::open(&inner).unwrap();
        let absolute = secret.to_str().unwrap();
        for name in ["../secret", absolute, "..", ".", "", "/", "./a", "a/", "deeper/a", "a/../b"] {
            let name = Path::new(name);
            for mode in MODES {
                assert!(storage.open(name, mode, false).is_err(), "{name:?} {mode:?}");
            }
            assert!(storage.entry(name).is_err(), "{name:?}");
            assert!(storage.remove(name).is_err(), "{name:?}");
            assert!(storage.rename("a".as_ref(), name).is_err(), "{name:?}");
            assert!(storage.rename(name, "a".as_ref()).is_err(), "{name:?}");
        }
        assert_eq!(fs::read_to_string(&secret).unwrap(), "kept");
        assert_eq!(fs::read_dir(&inner).unwrap().count(), 1);
    }

    #[test]
    fn links_are_not_followed() {
        let outer = TempDir::new().unwrap();
        let secret = outer.path().join("secret");
        fs::write(&secret, "kept").unwrap();
        let inner = outer.path().join("inner");
        fs::create_dir(&inner).unwrap();
        symlink(&secret, inner.join("link")).unwrap();
        symlink(outer.path().join("absent"), inner.join("dangling")).unwrap();
        let storage = FolderStorage::open(&inner).unwrap();
        for name in ["link", "dangling"].map(Path::new) {
            for mode in MODES {
                assert!(storage.open(name, mode, false).is_err(), "{name:?} {mode:?}");
            }
            let entry = storage.entry(name).unwrap();
            assert!(!entry.is_file && !entry.is_folder, "{name:?}: {entry:?}");
        }
        assert_eq!(fs::read_to_string(&secret).unwrap(), "kept");
        assert!(!outer.path().join("absent").exists());
        // The folder that was opened stays the folder.
        fs::rename(&inner, outer.path().join("moved")).unwrap();
        symlink(outer.path(), &inner).unwrap();
        assert!(storage.entry("secret".as_ref()).is_err());
        let mut file = storage.open("new".as_ref(), OpenMode::CreateNew, false).unwrap();
        file.write_all(b"x").unwrap();
        assert!(outer.path().join("moved/new").exists() && !outer.path().join("new").exists());
    }

    #[test]
    fn recording_in_a_folder_verifies() {
        let folder = TempDir::new().unwrap();
        let storage = std::sync::Arc::new(FolderStorage::open(folder.path()).unwrap());
        assert!(storage.free_bytes().unwrap() > 0);
        let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
        let options = SinkOptions::new().storage(storage.clone());
        let mut sink = SigmfSink::open("a".as_ref(), &info, &options).unwrap();
        sink.write(5, &[0; 4_000]).unwrap();
        sink.finish().unwrap();
        let report = verify_in(&*storage, "a".as_ref()).unwrap();
        assert!(report.is_proven() && report.is_finished, "{:?}", report.faults);
        assert_eq!(report.boots[0].indexes, 5..1_005);
        assert!(crate::verify(&folder.path().join("a")).unwrap().is_proven());
    }
}
