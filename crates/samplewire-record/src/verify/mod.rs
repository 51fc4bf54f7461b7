//! Verifies that a recording matches its metadata. Every index from the first to the last must be
//! in the data or in a gap, and the data must match their hash.
//!
//! A recording that is in progress, or whose recorder was killed, is read with its journal
//! (`NAME.sigmf-journal`). It has no hash yet.

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

/// Compares a recording with its metadata; `path` is `NAME` or one of its files. If `NAME` does not
/// exist but `NAME-0001` does, it verifies that series; each part must continue the previous one.
///
/// Faults of the recording are in the report, in [`Report::faults`]. An error means that the
/// recording could not be checked.
///
/// ```
/// use samplewire::format::Format;
/// use samplewire_record::sink::{SigmfSink, WriteSamples, SinkOptions};
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
/// [`VerifyError`]: the recording does not exist, or cannot be read.
///
/// # Blocking
/// Until the data are read and hashed, at some 0.6 GB/s.
pub fn verify(path: &Path) -> Result<Report, VerifyError> {
    verify_in(&OsStorage, path)
}

/// As [`verify`], for a recording in `storage`.
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

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// Whether the recorder finished the recording. If not, it is in progress or was killed.
    pub is_finished: bool,
    /// Samples in the data.
    pub samples: u64,
    /// Bytes of whole samples in the data.
    pub bytes: u64,
    /// The result of the hash.
    pub hash: Hash,
    /// The indexes that are present or in a gap, for each run of the device.
    pub boots: Vec<Boot>,
    /// Gaps.
    pub gaps: u64,
    /// Samples missing, in the order of [`RecordedCause::ALL`]. Counts of estimated gaps are
    /// estimates.
    pub gap_samples: [u64; RecordedCause::ALL.len()],
    /// Gaps whose length is an estimate.
    pub estimated_gaps: u64,
    /// Indexes that the device left out on purpose.
    pub jumped: u64,
    /// The first [`Report::FAULTS_MAX`] faults. If there are none, the recording is proven.
    pub faults: Vec<Fault>,
    /// The number of faults that are not listed.
    pub faults_left_out: u64,
}

impl Report {
    /// How many faults are listed; further ones are counted.
    pub const FAULTS_MAX: usize = 100;

    /// Returns whether every index is present or in a gap, and the data match the metadata.
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

/// The result of comparing the data with their hash; for a series, the last of these that applies
/// to a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hash {
    /// The data match the hash.
    Matches,
    /// The recording was finished without a hash: it was not requested, or an error or a kill came
    /// before it was complete.
    Absent,
    /// The recording was not finished, so there is no hash to compare.
    #[default]
    Unfinished,
    /// The data do not match the hash; the fault has details.
    Differs,
}

/// The part of a recording from one run of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boot {
    /// The number of that run; `None` if the metadata do not state it.
    pub boot_id: Option<u64>,
    /// The indexes that are present or in a gap.
    pub indexes: Range<SampleIndex>,
}

/// Why a recording cannot be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The recording does not exist.
    #[error("{path} is not there: it is the metadata that prove a recording", path = path.display())]
    NotThere {
        /// The metadata file.
        path: PathBuf,
    },
    /// A file cannot be read, or it is longer than any that a recorder writes.
    #[error("read {path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

#[cfg(test)]
mod tests;
