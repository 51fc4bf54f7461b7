//! Whether a recording is what its metadata say: every index from the first to the last is in the
//! data or named as missing, and the data are those that were recorded.
//!
//! A recording whose recorder was killed, or that is under way, is read with its journal
//! (`NAME.sigmf-journal`); it has no hash yet.

mod continuity;
mod fault;
mod files;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use samplewire_proto::SampleIndex;

pub use fault::Fault;

use crate::sigmf::{Paths, RecordedCause};
use crate::sink::{part_path, parts_of};
use crate::storage::{OsStorage, Storage};
use continuity::Continuity;
use files::Files;

/// Holds a recording against its metadata; `path` is `NAME` or one of its files. A `NAME` that is not
/// there, but `NAME-0001` is, stands for the series of these, which must go on from part to part.
///
/// What is wrong with the recording is in the report, [`Report::faults`]; what keeps it from being
/// looked at is the error.
///
/// ```
/// use samplewire::format::Format;
/// use samplewire_record::sink::{SigmfSink, Sink, SinkOptions};
/// use samplewire::source::StreamInfo;
///
/// # let folder = std::env::temp_dir().join(format!("samplewire-verify-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("a");
/// let info = StreamInfo::new(Format::Sc16, 1, 1e6)?;
/// let mut sink = SigmfSink::open(&path, &info, &SinkOptions::new().overwrite(true))?;
/// sink.write(100, &[0; 400])?;
/// sink.finish()?;
/// let report = samplewire_record::verify(&path)?;
/// assert!(report.faults.is_empty() && report.is_finished);
/// assert_eq!(report.boots[0].indexes, 100..200);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`VerifyError`]: there is no such recording, or it cannot be read.
///
/// # Blocking
/// Until the data are read and hashed, some 0.6 GB/s.
pub fn verify(path: &Path) -> Result<Report, VerifyError> {
    verify_in(&OsStorage, path)
}

/// As [`verify`], of a recording in `storage`.
///
/// # Errors
/// As [`verify`].
///
/// # Blocking
/// As [`verify`].
pub fn verify_in(storage: &dyn Storage, path: &Path) -> Result<Report, VerifyError> {
    let base = Paths::base_of(path);
    let parts = match storage.exists(&Paths::of(path).meta) {
        true => 0,
        false => parts_of(storage, &base),
    };
    let mut report = Report { is_finished: true, ..Report::default() };
    let mut continuity = Continuity::default();
    let numbers = if parts == 0 { 0..=0 } else { 1..=parts };
    for number in numbers {
        let path = if parts == 0 { path.to_owned() } else { part_path(&base, number) };
        let files = Files::open(storage, Paths::of(&path), &mut report)?;
        if parts > 0 {
            files.check_part(number, number < parts, &base, &mut report);
        }
        let hash = files.check_data(storage, &mut report)?;
        report.hash = if number <= 1 { hash } else { report.hash.max(hash) };
        continuity.take(&files, &mut report);
    }
    continuity.finish(&mut report);
    Ok(report)
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// Whether the recorder finished the recording; else it is under way, or was killed.
    pub is_finished: bool,
    /// Samples in the data.
    pub samples: u64,
    /// Bytes of whole samples in the data.
    pub bytes: u64,
    /// What the hash says.
    pub hash: Hash,
    /// The indexes that are there or named, for each run of the device.
    pub boots: Vec<Boot>,
    /// Gaps.
    pub gaps: u64,
    /// Samples missing, in the order of [`RecordedCause::ALL`]; those of estimated gaps are
    /// estimates.
    pub gap_samples: [u64; RecordedCause::ALL.len()],
    /// Gaps whose length is an estimate.
    pub estimated_gaps: u64,
    /// Indexes that the device left out on purpose.
    pub jumped: u64,
    /// What is wrong: the first [`Report::FAULTS_MAX`]. None: the recording is proven.
    pub faults: Vec<Fault>,
    /// Faults that are not listed.
    pub faults_left_out: u64,
}

impl Report {
    /// How many faults are listed; the others are counted.
    pub const FAULTS_MAX: usize = 100;

    /// Whether every index is there or named, and the data are those of the metadata.
    pub fn is_proven(&self) -> bool {
        self.faults.is_empty()
    }

    /// Samples missing, for every cause.
    pub fn missing(&self) -> u64 {
        self.gap_samples.iter().fold(0, |sum, &samples| sum.saturating_add(samples))
    }

    fn push(&mut self, fault: Fault) {
        if self.faults.len() < Self::FAULTS_MAX {
            self.faults.push(fault);
        } else {
            self.faults_left_out += 1;
        }
    }
}

/// What the hash says of the data; of a series the last of these that holds for a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hash {
    /// The data are those that were recorded.
    Matches,
    /// The recording was finished without one: none was wanted, or an error or a kill came before it
    /// was made.
    Absent,
    /// The recording was not finished: there is no hash to hold the data against.
    #[default]
    Unfinished,
    /// The data are not those that were recorded; the fault says more.
    Differs,
}

/// The part of a recording that is of one run of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boot {
    /// The number of that run; `None` where the metadata do not tell.
    pub boot_id: Option<u64>,
    /// The indexes that are there or named.
    pub indexes: Range<SampleIndex>,
}

/// Why a recording cannot be looked at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// There is no such recording.
    #[error("{path} is not there: it is the metadata that prove a recording", path = path.display())]
    NotThere {
        /// The metadata file.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("read {path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
    /// Metadata or a journal of a length that no recorder writes.
    #[error("{path} has {len_bytes} bytes: at most {TEXT_BYTES_MAX} are read", path = path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Its length.
        len_bytes: u64,
    },
}

/// The longest metadata and journal that are read; 2^20 gaps and as many captures take less.
const TEXT_BYTES_MAX: u64 = 1 << 30;

#[cfg(test)]
mod tests;
