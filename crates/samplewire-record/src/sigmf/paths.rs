//! The files of a recording.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Metadata;

/// Where a recording's metadata and data are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// `NAME.sigmf-meta`.
    pub meta: PathBuf,
    /// `NAME.sigmf-data`.
    pub data: PathBuf,
    /// `NAME.sigmf-journal`, there only while the recording is under way, or when its recorder was
    /// killed.
    pub journal: PathBuf,
}

impl Paths {
    /// The files of the recording `path`, which may be `NAME`, `NAME.sigmf` or one of the files.
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
        let with = |suffix: &str| {
            let mut name = OsString::from(&base);
            name.push(suffix);
            PathBuf::from(name)
        };
        Self {
            meta: with(".sigmf-meta"),
            data: with(".sigmf-data"),
            journal: with(".sigmf-journal"),
        }
    }

    /// `NAME.sigmf-data.zst`, which holds the data where they are compressed.
    pub(crate) fn compressed(&self) -> PathBuf {
        self.data.with_extension("sigmf-data.zst")
    }

    /// `NAME` of the recording `path`.
    pub(crate) fn base_of(path: &Path) -> PathBuf {
        if is_compressed(path) {
            return path.with_extension("").with_extension("");
        }
        let is_name = !is_sigmf(path) && path.extension().is_none_or(|it| it != "sigmf");
        if is_name { path.to_owned() } else { path.with_extension("") }
    }

    /// The files of `path` if it names a SigMF recording: by its extension, or because it names no
    /// file itself and metadata stand beside it.
    pub fn existing(path: &Path) -> Option<Self> {
        let paths = Self::of(path);
        let is_named = is_sigmf(path) || is_compressed(path);
        (is_named || (!path.is_file() && paths.meta.is_file())).then_some(paths)
    }

    /// The data file, which metadata may call otherwise.
    pub(crate) fn data_of(&self, metadata: &Metadata) -> PathBuf {
        match &metadata.dataset {
            Some(name) => self.data.with_file_name(name),
            None => self.data.clone(),
        }
    }
}

/// Whether the name says that a file holds the compressed data of a recording.
fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "zst") && is_sigmf(&path.with_extension(""))
}

/// Whether the name says that a file belongs to a recording.
pub(crate) fn is_sigmf(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "sigmf-meta" || it == "sigmf-data")
}
