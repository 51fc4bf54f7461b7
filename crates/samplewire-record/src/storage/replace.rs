//! Replaces a long file by a new one. The system takes a third of a second to free 2 GB, which is
//! too long for a running recording.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::Path;

use rustix::fs::fstatvfs;

use super::os::try_lock;

/// Replaces `old`, whose name is `path`, by an empty, locked file from `create` with the same owner
/// and permissions. The caller then [frees](free) `old`. `None` if `old` should be emptied in
/// place: it is short, it has other names, its disk has no space for another file of its length, or
/// its folder accepts no new file.
pub(super) fn replace(
    old: &File,
    path: &Path,
    create: impl FnOnce(&Path) -> io::Result<File>,
) -> Option<File> {
    let metadata = old.metadata().ok()?;
    let disk = fstatvfs(old).ok()?;
    let free_bytes = disk.f_bavail.saturating_mul(disk.f_frsize);
    if metadata.len() < LONG_BYTES || metadata.nlink() != 1 || free_bytes < metadata.len() {
        return None;
    }
    // A link stays a link.
    let path = fs::canonicalize(path).ok()?;
    let mut new_path = path.clone().into_os_string();
    new_path.push(format!(".{}.new", std::process::id()));
    let new = create(new_path.as_ref()).ok()?;
    let place = || {
        // Locked before other processes can open it.
        try_lock(&new).ok().filter(|&is_ours| is_ours)?;
        fchown(&new, Some(metadata.uid()), Some(metadata.gid())).ok()?;
        new.set_permissions(metadata.permissions()).ok()?;
        let named = fs::metadata(&path).ok()?;
        let is_old = (named.dev(), named.ino()) == (metadata.dev(), metadata.ino());
        if is_old { fs::rename(&new_path, &path).ok() } else { None }
    };
    if place().is_none() {
        // If it cannot be removed, it stays: it is empty, and named after the recording.
        let _ = fs::remove_file(&new_path);
        return None;
    }
    Some(new)
}

/// Closes a file without a name in a separate thread, or here if no thread can be started.
pub(super) fn free(file: File) {
    let _ = std::thread::Builder::new().spawn(move || drop(file));
}

/// A shorter file is emptied in less than 10 ms.
const LONG_BYTES: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use tempfile::TempDir;

    fn long_file(path: &Path) -> File {
        let file = File::create(path).unwrap();
        file.set_len(LONG_BYTES).unwrap();
        file
    }

    #[test]
    fn long_file_gives_way_to_a_new_one_with_its_permissions() {
        let folder = TempDir::new().unwrap();
        let (path, link) = (folder.path().join("a.data"), folder.path().join("link"));
        let old = long_file(&path);
        old.set_permissions(fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        let new = replace(&old, &link, |path| File::create_new(path)).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let (is, was) = (fs::metadata(&path).unwrap(), old.metadata().unwrap());
        assert_eq!((is.ino(), is.len()), (new.metadata().unwrap().ino(), 0));
        assert_ne!(is.ino(), was.ino());
        assert_eq!(is.permissions().mode() & 0o777, 0o640);
        assert_eq!(was.len(), LONG_BYTES, "the old file is not touched");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn file_that_is_short_or_has_two_names_stays() {
        let folder = TempDir::new().unwrap();
        let (path, other) = (folder.path().join("a"), folder.path().join("b"));
        let old = long_file(&path);
        fs::hard_link(&path, &other).unwrap();
        assert!(replace(&old, &path, |path| File::create_new(path)).is_none());
        fs::remove_file(&other).unwrap();
        old.set_len(LONG_BYTES - 1).unwrap();
        assert!(replace(&old, &path, |path| File::create_new(path)).is_none());
        assert_eq!(fs::metadata(&path).unwrap().ino(), old.metadata().unwrap().ino());
    }

    #[test]
    fn file_stays_where_no_other_can_be_made() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a");
        let old = long_file(&path);
        assert!(replace(&old, &path, |_| Err(io::ErrorKind::PermissionDenied.into())).is_none());
        assert_eq!(fs::metadata(&path).unwrap().ino(), old.metadata().unwrap().ino());
    }
}
