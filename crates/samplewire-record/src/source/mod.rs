//! Sources: the samples that a device sends.
//!
//! A source is a recording ([`open_recording`]), a stream of bytes ([`ReaderSource`]) or a
//! generator. [`SourceSpec::open`] opens any of them from a [`SourceSpec`], the command's
//! `--source`. Reading does not allocate memory.
//!
//! ```
//! use samplewire::source::ReadSamples;
//! use samplewire_record::source::{SourceOptions, SourceSpec};
//!
//! let mut source = "counter".parse::<SourceSpec>()?.open(&SourceOptions::new())?;
//! let mut out = [0xFF; 10];
//! assert_eq!(source.read(&mut out)?, 8, "two samples of sc16 fit");
//! assert_eq!(out, [0, 0, 0, 0, 1, 0, 0, 0, 0xFF, 0xFF]);
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```

mod converting;
mod looped;
mod noise;
mod options;
mod reader;
mod recording;
mod signal;
mod spec;

use std::path::PathBuf;

use samplewire::source::RateError;
use samplewire_proto::wire::Format;

pub use converting::ConvertingSource;
pub use noise::NoiseSource;
pub use options::{ParseRepeatError, Repeat, SourceOptions};
pub use reader::ReaderSource;
pub use recording::{RecordingSource, open_recording};
pub use signal::{SignalSource, chirp, scene, tone};
pub use spec::{SourceSpec, SpecError};

use crate::sigmf::MetadataError;

/// Why a source cannot be opened or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The operating system refused an operation.
    #[error("{operation} {path}: {source}", path = path.display())]
    Io {
        /// The operation, e.g. `open`.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// The metadata of a recording are not valid, or do not match its data.
    #[error("{path}: {source}", path = path.display())]
    Metadata {
        /// The metadata file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        source: MetadataError,
    },
    /// The data end within a sample.
    #[error(
        "{path}: truncated recording: {len_bytes} bytes are no whole number of samples of \
         {frame_bytes} bytes",
        path = path.display()
    )]
    Truncated {
        /// The data file.
        path: PathBuf,
        /// Its length.
        len_bytes: u64,
        /// The length of one sample of all channels.
        frame_bytes: usize,
    },
    /// The data file became shorter during reading.
    #[error("{path}: ended at byte {at_bytes} of {len_bytes}", path = path.display())]
    Shrunk {
        /// The data file.
        path: PathBuf,
        /// The end of the file.
        at_bytes: u64,
        /// The length of the file when it was opened.
        len_bytes: u64,
    },
    /// There are no samples.
    #[error("{path}: holds no samples", path = path.display())]
    Empty {
        /// The data file.
        path: PathBuf,
    },
    /// A required property of the source is not known.
    #[error("{source_name}: its {option} is not known and must be given")]
    Missing {
        /// The source as the user wrote it.
        source_name: String,
        /// The property to state: `rate` or `format`.
        option: &'static str,
    },
    /// An option contradicts the source.
    #[error("{source_name}: {option} {value} was requested, but it is {actual}")]
    Contradiction {
        /// The source as the user wrote it.
        source_name: String,
        /// The option.
        option: &'static str,
        /// The requested value.
        value: String,
        /// The value of the source.
        actual: String,
    },
    /// A generator does not support this format.
    #[error("{source_name}: cannot be {format}: {reason}")]
    Format {
        /// The source as the user wrote it.
        source_name: String,
        /// The requested format.
        format: Format,
        /// The reason.
        reason: &'static str,
    },
    /// A sample rate is out of range.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// The signal's frequency does not fit the sample rate.
    #[error("a frequency of {frequency_hz} Hz at {rate_hz} samples/s: at most half the rate fits")]
    Frequency {
        /// The signal's frequency.
        frequency_hz: f64,
        /// The sample rate.
        rate_hz: f64,
    },
}

/// Returns the metadata file of the real recording among the test data; prints a note and returns
/// `None` if it does not exist.
#[cfg(test)]
pub(crate) fn test_recording() -> Option<PathBuf> {
    let folder = std::env::var_os("SAMPLEWIRE_TEST_DATA").map_or_else(
        || [env!("CARGO_MANIFEST_DIR"), "../../../shared/data"].iter().collect(),
        PathBuf::from,
    );
    let path = folder.join("modes1.sigmf-meta");
    if path.is_file() {
        return Some(path);
    }
    samplewire_testing::skip(format_args!("no {} (SAMPLEWIRE_TEST_DATA)", path.display()));
    None
}
