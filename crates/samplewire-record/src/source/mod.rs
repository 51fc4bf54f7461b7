//! Sources: where the samples come from that a device sends.
//!
//! A recording ([`open_recording`]), a stream of bytes ([`ReaderSource`]) or a generator. The
//! command's `--source` is a [`SourceSpec`], which [`SourceSpec::open`] turns into any of them.
//! Reading allocates nothing.
//!
//! ```
//! use samplewire::source::Source;
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
#[cfg(test)]
mod speed;

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
        /// What was tried, e.g. `open`.
        operation: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// The metadata of a recording are wrong, or do not fit its data.
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
    /// The data file became shorter while it was read.
    #[error("{path}: ended at byte {at_bytes} of {len_bytes}", path = path.display())]
    Shrunk {
        /// The data file.
        path: PathBuf,
        /// Where it ended.
        at_bytes: u64,
        /// How long it was when it was opened.
        len_bytes: u64,
    },
    /// There are no samples.
    #[error("{path}: holds no samples", path = path.display())]
    Empty {
        /// The data file.
        path: PathBuf,
    },
    /// What the source needs to know was not said.
    #[error("{source_name}: its {option} is not known and must be given")]
    Missing {
        /// The source as the user wrote it.
        source_name: String,
        /// What must be given: `rate` or `format`.
        option: &'static str,
    },
    /// An option contradicts what the source is.
    #[error("{source_name}: {option} {value} was asked for, but it is {actual}")]
    Contradiction {
        /// The source as the user wrote it.
        source_name: String,
        /// The option.
        option: &'static str,
        /// What was asked for.
        value: String,
        /// What the source has.
        actual: String,
    },
    /// A generator does not make this format.
    #[error("{source_name}: cannot be {format}: {reason}")]
    Format {
        /// The source as the user wrote it.
        source_name: String,
        /// What was asked for.
        format: Format,
        /// Why not.
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

/// The metadata file of the real recording among the test data; says so and is `None` without it.
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
    eprintln!("skipped: no {} (set SAMPLEWIRE_TEST_DATA)", path.display());
    None
}
