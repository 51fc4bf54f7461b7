//! The files of a recording.

use std::path::{Path, PathBuf};

use super::Metadata;

/// The paths of a recording's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// `NAME.sigmf-meta`.
    pub meta: PathBuf,
    /// `NAME.sigmf-data`.
    pub data: PathBuf,
    /// `NAME.sigmf-journal`. It exists only while the recording is in progress, or after its
    /// recorder was killed.
    pub journal: PathBuf,
}

impl Paths {
    /// Returns the files of the recording `path`, which may be `NAME`, `NAME.sigmf` or one of the
    /// files.
    ///
    /// ```
    /// use samplewire_record::sigmf::Paths;
    ///
    /// let paths = Paths::of("out/a.b".as_ref());
    /// assert_eq!(paths.meta.to_str(), Some("out/a.b.sigmf-meta"));
    /// assert_eq!(Paths::of(&paths.data), paths);
    /// ```
    pub fn of(path: &Path) -> Self {
        let base = Self::base_of(path);
        Self {
            meta: suffixed(&base, ".sigmf-meta"),
            data: suffixed(&base, ".sigmf-data"),
            journal: suffixed(&base, ".sigmf-journal"),
        }
    }

    /// Returns `NAME.sigmf-data.zst`, the file of compressed data.
    pub(crate) fn compressed(&self) -> PathBuf {
        self.data.with_extension("sigmf-data.zst")
    }

    /// Returns `NAME` of the recording `path`.
    pub(crate) fn base_of(path: &Path) -> PathBuf {
        if is_compressed(path) {
            return path.with_extension("").with_extension("");
        }
        let is_name = !is_sigmf(path) && path.extension().is_none_or(|it| it != "sigmf");
        if is_name { path.to_owned() } else { path.with_extension("") }
    }

    /// Returns the files of `path` if it is a SigMF recording: by its extension, or because no file
    /// has that name and metadata exist beside it.
    pub fn existing(path: &Path) -> Option<Self> {
        let paths = Self::of(path);
        let is_named = is_sigmf(path) || is_compressed(path);
        (is_named || (!path.is_file() && paths.meta.is_file())).then_some(paths)
    }

    /// Returns the data file, for which the metadata may state another name.
    pub fn data_of(&self, metadata: &Metadata) -> PathBuf {
        match &metadata.dataset {
            Some(name) => self.data.with_file_name(name),
            None => self.data.clone(),
        }
    }
}

/// Returns the path with `suffix` at its end.
pub(crate) fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Returns whether the name is that of a recording's compressed data.
fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "zst") && is_sigmf(&path.with_extension(""))
}

/// Returns whether the name is that of a recording's file.
pub(crate) fn is_sigmf(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "sigmf-meta" || it == "sigmf-data")
}
