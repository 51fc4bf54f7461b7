//! The samples of a recording: as they are, or compressed.

use std::io;

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
    /// Takes whole samples.
    ///
    /// After an error the file ends with the last sample that fitted, and those gathered are gone.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), SinkError> {
        match self {
            Self::Plain(file) => file.append(bytes),
            Self::Zstd(file) => file.append(bytes),
        }
    }

    /// Writes what was gathered, as far as the file takes it yet.
    pub(super) fn flush(&mut self) -> Result<(), SinkError> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Zstd(file) => file.flush(),
        }
    }

    /// Writes everything.
    pub(super) fn flush_all(&mut self) -> Result<(), SinkError> {
        match self {
            Self::Plain(file) => file.flush_all(),
            Self::Zstd(file) => file.flush(),
        }
    }

    /// How many samples were taken, those gathered included.
    pub(super) fn len_samples(&self) -> u64 {
        match self {
            Self::Plain(file) => file.len_samples(),
            Self::Zstd(file) => file.len_samples(),
        }
    }

    /// How many whole samples the file holds.
    pub(super) fn written_samples(&self) -> u64 {
        match self {
            Self::Plain(file) => file.written_samples(),
            Self::Zstd(file) => file.written_samples(),
        }
    }

    /// How long the file is, as far as it holds whole samples or frames.
    pub(super) fn written_bytes(&self) -> u64 {
        self.file().written_bytes()
    }

    /// Whether what was written can be read again: not so for pipes and devices.
    pub(super) fn is_regular(&self) -> bool {
        self.file().is_regular()
    }

    /// Lets others write the file: this recorder does not any more.
    pub(super) fn release(&self) -> io::Result<()> {
        self.file().release()
    }

    fn file(&self) -> &DataFile {
        match self {
            Self::Plain(file) => file,
            Self::Zstd(file) => file.file(),
        }
    }
}
