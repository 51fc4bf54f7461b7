//! The data of a recording, plain or compressed.

use super::SinkError;
use super::data_file::DataFile;
use super::zstd_file::ZstdFile;

/// A data file.
#[derive(Debug)]
pub(super) enum Body {
    Plain(DataFile),
    Zstd(Box<ZstdFile>),
}

impl Body {
    /// Appends whole samples.
    ///
    /// After an error the file ends with the last sample that fitted. Gathered samples are lost.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), SinkError> {
        match self {
            Self::Plain(file) => file.append(bytes),
            Self::Zstd(file) => file.append(bytes),
        }
    }

    /// Writes gathered samples, as far as the file can take them now.
    pub(super) fn flush(&mut self) -> Result<(), SinkError> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Zstd(file) => file.flush(),
        }
    }

    /// Writes all gathered samples.
    pub(super) fn flush_all(&mut self) -> Result<(), SinkError> {
        match self {
            Self::Plain(file) => file.flush_all(),
            Self::Zstd(file) => file.flush(),
        }
    }

    /// Returns how many samples were appended, including gathered ones.
    pub(super) fn len_samples(&self) -> u64 {
        match self {
            Self::Plain(file) => file.len_samples(),
            Self::Zstd(file) => file.len_samples(),
        }
    }

    /// Returns how many whole samples the file has.
    pub(super) fn written_samples(&self) -> u64 {
        match self {
            Self::Plain(file) => file.written_samples(),
            Self::Zstd(file) => file.written_samples(),
        }
    }

    /// Returns the length of the whole samples or frames in the file.
    pub(super) fn written_bytes(&self) -> u64 {
        self.file().written_bytes()
    }

    /// Returns whether the file can be read again; pipes and devices cannot.
    pub(super) fn is_regular(&self) -> bool {
        self.file().is_regular()
    }

    /// Unlocks the file: this recorder does not write it any more.
    pub(super) fn release(&self) -> Result<(), SinkError> {
        self.file().release()
    }

    fn file(&self) -> &DataFile {
        match self {
            Self::Plain(file) => file,
            Self::Zstd(file) => file.file(),
        }
    }
}
