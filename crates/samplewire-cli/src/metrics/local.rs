//! The sockets through which `top` reads the processes of this user: one for each process, in a
//! folder that no other user can enter.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::client::{self, Endpoint};

/// The socket of this process; its file is removed on drop.
#[derive(Debug)]
pub(crate) struct LocalSocket {
    path: PathBuf,
}

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LocalError {
    /// The folder belongs to another user, or is open to others.
    #[error("{}: not a folder of this user alone (mode 0700)", path.display())]
    Folder { path: PathBuf },
    /// A process of another PID namespace has the same number.
    #[error("{}: another process listens there", path.display())]
    Taken { path: PathBuf },
    /// A system call failed.
    #[error("{}: {source}", path.display())]
    System { path: PathBuf, source: io::Error },
}

impl LocalSocket {
    /// Listens at a socket named after the number of this process.
    ///
    /// # Errors
    /// See [`LocalError`].
    pub(super) fn bind() -> Result<(Self, UnixListener), LocalError> {
        let (own, _) = folders();
        Self::bind_in(&own)
    }

    fn bind_in(folder: &Path) -> Result<(Self, UnixListener), LocalError> {
        make(folder)?;
        let path = folder.join(format!("{}.sock", std::process::id()));
        let failed = |source| LocalError::System { path: path.clone(), source };
        if client::listens(&path).map_err(failed)? {
            return Err(LocalError::Taken { path });
        }
        // The socket listens before it gets its final name: `sweep` takes a silent one for dead.
        let new = path.with_extension("new");
        let bind = || {
            if new.symlink_metadata().is_ok() {
                fs::remove_file(&new)?;
            }
            let listener = UnixListener::bind(&new)?;
            listener.set_nonblocking(true)?;
            fs::rename(&new, &path)?;
            Ok(listener)
        };
        let listener = bind().map_err(failed)?;
        Ok((Self { path }, listener))
    }
}

impl Drop for LocalSocket {
    fn drop(&mut self) {
        // If the file remains, `top` removes it later.
        let _removed = fs::remove_file(&self.path).is_ok();
    }
}

/// The sockets of this user's processes, and errors of those that cannot be checked. Sockets of
/// killed processes are removed.
pub(crate) fn sweep() -> (Vec<Endpoint>, Vec<LocalError>) {
    let (own, other) = folders();
    let (mut endpoints, mut errors) = (Vec::new(), Vec::new());
    for folder in std::iter::once(own).chain(other) {
        match sweep_in(&folder, SystemTime::now()) {
            Ok(found) => endpoints.extend(found),
            Err(error) => errors.push(error),
        }
    }
    (endpoints, errors)
}

fn sweep_in(folder: &Path, now: SystemTime) -> Result<Vec<Endpoint>, LocalError> {
    let failed = |source| LocalError::System { path: folder.to_owned(), source };
    if !folder.try_exists().map_err(failed)? {
        return Ok(Vec::new());
    }
    if !is_ours(folder) {
        return Err(LocalError::Folder { path: folder.to_owned() });
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        match path.extension().and_then(OsStr::to_str) {
            Some("sock") => {
                // If the check fails, fetching the page returns the reason.
                let is_dead = matches!(client::listens(&path), Ok(false));
                if !(is_dead && fs::remove_file(&path).is_ok()) {
                    paths.push(path);
                }
            }
            // The remains of a process that was killed before it listened.
            Some("new") if age(&path, now).is_some_and(|age| age > NEW_MAX) => {
                let _removed = fs::remove_file(&path).is_ok();
            }
            _ => {}
        }
    }
    paths.sort();
    paths.truncate(PROCESSES_MAX);
    Ok(paths.into_iter().map(Endpoint::Local).collect())
}

/// The age of the file; `None` if it is unknown.
fn age(path: &Path, now: SystemTime) -> Option<Duration> {
    now.duration_since(path.symlink_metadata().ok()?.modified().ok()?).ok()
}

/// The folder for this process's socket, and another folder where sockets may be: a process started
/// by a timer has no session.
fn folders() -> (PathBuf, Option<PathBuf>) {
    let user = rustix::process::geteuid().as_raw();
    let shared = Path::new("/tmp").join(format!("samplewire-{user}"));
    let is_usable = |folder: &PathBuf| {
        let is_own = |metadata: fs::Metadata| metadata.is_dir() && metadata.uid() == user;
        folder.is_absolute() && folder.metadata().is_ok_and(is_own)
    };
    match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(is_usable) {
        Some(folder) => (folder.join("samplewire"), Some(shared)),
        None => (shared, None),
    }
}

/// Creates the folder, or checks an existing one.
fn make(folder: &Path) -> Result<(), LocalError> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(LocalError::System { path: folder.to_owned(), source: error })
        }
        _ if is_ours(folder) => Ok(()),
        _ => Err(LocalError::Folder { path: folder.to_owned() }),
    }
}

/// Whether it is a folder, not a link, that belongs to this user and that no other user can enter.
fn is_ours(folder: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    folder.symlink_metadata().is_ok_and(|metadata| {
        metadata.is_dir() && metadata.uid() == user && metadata.mode() & 0o077 == 0
    })
}

/// Maximum number of processes that are checked.
const PROCESSES_MAX: usize = 256;

/// After this time a socket listens under its final name, or never will.
const NEW_MAX: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn socket_is_there_while_it_is_held_and_is_swept_when_it_is_dead() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("samplewire");
        let (socket, listener) = LocalSocket::bind_in(&folder).unwrap();
        let path = socket.path.clone();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        let sweep = || sweep_in(&folder, SystemTime::now()).unwrap();
        assert_eq!(sweep(), [Endpoint::Local(path.clone())]);
        let taken = LocalSocket::bind_in(&folder).unwrap_err();
        assert!(taken.to_string().ends_with(".sock: another process listens there"), "{taken}");
        // Like a killed process.
        std::mem::forget(socket);
        drop(listener);
        assert!(path.exists());
        assert_eq!(sweep(), []);
        assert!(!path.exists());
        drop(LocalSocket::bind_in(&folder).unwrap());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn what_was_left_before_it_listened_is_swept_after_a_while() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("samplewire");
        make(&folder).unwrap();
        let new = folder.join("1.new");
        fs::write(&new, "").unwrap();
        for (seconds, is_there) in [(0, true), (50, true), (70, false)] {
            let now = SystemTime::now() + Duration::from_secs(seconds);
            assert_eq!(sweep_in(&folder, now).unwrap(), []);
            assert_eq!(new.exists(), is_there, "{seconds}");
        }
    }

    #[test]
    fn folder_of_another_or_open_to_others_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let open = root.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o750)).unwrap();
        let link = root.path().join("link");
        let own = root.path().join("own");
        DirBuilder::new().mode(0o700).create(&own).unwrap();
        symlink(&own, &link).unwrap();
        let file = root.path().join("file");
        fs::write(&file, "").unwrap();
        for path in [open, link, file] {
            let error = LocalSocket::bind_in(&path).unwrap_err();
            assert!(matches!(error, LocalError::Folder { .. }), "{error}");
            let error = sweep_in(&path, SystemTime::now()).unwrap_err();
            assert!(matches!(error, LocalError::Folder { .. }), "{error}");
        }
    }
}
