//! The folder for recordings, and the names in it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use samplewire_record::sigmf::{Paths, rfc3339};
use samplewire_record::storage::{FolderStorage, Storage};

use crate::action::Form;

/// A folder into which a page may record.
///
/// A recording is named `[NAME-]TIME-NUMBER`: what the page chose, the UTC time such as
/// `20261129T220700Z`, and the first number whose files do not exist. No file with contents is
/// overwritten, and no link in the folder is followed.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    storage: Arc<FolderStorage>,
}

impl Folder {
    /// Opens a folder, which must exist.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), storage: Arc::new(FolderStorage::open(path)?) })
    }

    /// The path, for people.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn storage(&self) -> Arc<FolderStorage> {
        Arc::clone(&self.storage)
    }

    /// Returns a name none of whose files exist.
    pub(crate) fn free_name(&self, wanted: &str, now: SystemTime) -> Option<String> {
        let separator = if wanted.is_empty() { "" } else { "-" };
        let stem = format!("{wanted}{separator}{}", compact(now));
        let mut names = (1..=NUMBER_MAX).map(|number| format!("{stem}-{number}"));
        names.find(|name| files_of(name).iter().all(|file| self.is_free(file)))
    }

    /// Anything that has the name counts, links too. A name that cannot be checked is not free.
    fn is_free(&self, path: &Path) -> bool {
        matches!(self.storage.entry(path), Err(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

/// The path of a recording's file, for a sink.
pub(crate) fn file_of(name: &str, form: Form) -> PathBuf {
    match form {
        Form::Sigmf => Paths::of(name.as_ref()).meta,
        Form::Raw => format!("{name}.raw").into(),
    }
}

/// All files that a recording of this name may write, of either form.
fn files_of(name: &str) -> Vec<PathBuf> {
    let Paths { meta, data, journal } = Paths::of(name.as_ref());
    let beside = |path: &Path, suffix: &str| {
        let mut path = path.as_os_str().to_owned();
        path.push(suffix);
        PathBuf::from(path)
    };
    let more = [beside(&meta, ".spare"), beside(&journal, ".new"), beside(&data, ".zst")];
    let raw = file_of(name, Form::Raw);
    [meta, data, journal, raw].into_iter().chain(more).collect()
}

/// `20261129T220700Z`.
fn compact(now: SystemTime) -> String {
    let text = rfc3339(now);
    let seconds = text.split('.').next().unwrap_or_default();
    let digits = seconds.chars().filter(|char| !matches!(char, '-' | ':'));
    digits.chain(['Z']).collect()
}

/// Recordings of one name and second.
const NUMBER_MAX: u32 = 999;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn name_has_the_time_and_the_first_free_number() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::open(temporary.path()).unwrap();
        let now = UNIX_EPOCH + Duration::from_millis(951_782_400_999);
        let name = |wanted| folder.free_name(wanted, now).unwrap();
        assert_eq!(name(""), "20000229T000000Z-1");
        assert_eq!(name("run_7"), "run_7-20000229T000000Z-1");
        // Any file of the name counts, whatever it is.
        for (number, suffix) in
            (1..).zip([".sigmf-meta", ".sigmf-data", ".sigmf-journal", ".raw", ".sigmf-meta.spare"])
        {
            let path = temporary.path().join(format!("20000229T000000Z-{number}{suffix}"));
            match number {
                1 => symlink("/nowhere/at/all", &path).unwrap(),
                2 => fs::create_dir(&path).unwrap(),
                _ => fs::write(&path, "kept").unwrap(),
            }
            assert_eq!(name(""), format!("20000229T000000Z-{}", number + 1), "{suffix}");
        }
    }
}
