//! Sinks: the destinations of received samples.
//!
//! A sink writes a SigMF recording ([`SigmfSink`]), a recording in parts ([`SplitSink`]), raw bytes
//! to a file or standard output ([`RawSink`]), or nothing ([`NullSink`]). Samples keep the stream's
//! format or are converted ([`ConvertingSink`]). [`open`] chooses the sink from the user's file
//! name.

mod backlog;
mod body;
mod converting;
mod data_file;
mod gather;
mod hasher;
mod journal_file;
mod meta_file;
mod null;
mod open;
mod raw;
mod resume;
mod sigmf;
mod split;
mod writer;
mod zstd_file;

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use samplewire::TaiClock;
use samplewire::format::ConvertError;
use samplewire_proto::SampleIndex;
use samplewire_proto::stream::TermsError;
use samplewire_proto::wire::Format;

pub use backlog::Backlog;
pub use converting::ConvertingSink;
pub use null::NullSink;
pub use open::{SinkOptions, check_name, named_format, open};
pub use raw::RawSink;
pub use resume::{Resumable, resumable, resumable_in};
pub use sigmf::SigmfSink;
pub use split::SplitSink;
pub(crate) use split::{part_path, parts_of};
pub use writer::{Depth, Writer};
pub(crate) use zstd_file::{Frames, frames_of};

use crate::sigmf::RecordedGap;

/// Accepts samples in the order of their indexes, and the gaps between them. It is to samples what
/// [`std::io::Write`] is to bytes; blocks of a graph have typed sinks instead.
///
/// ```
/// use samplewire::format::Format;
/// use samplewire_record::sink::{self, WriteSamples, SinkOptions};
/// use samplewire::source::StreamInfo;
///
/// let info = StreamInfo::new(Format::Sc16, 1, 1e6)?;
/// let mut sink = sink::open("null".as_ref(), &info, &SinkOptions::new())?;
/// sink.write(0, &[0; 400])?;
/// assert_eq!(sink.finish()?.samples, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait WriteSamples: Send + fmt::Debug {
    /// Writes samples; the first has `index`. Samples that follow neither the previous samples nor
    /// a gap begin a new segment, if the sink's format has segments.
    ///
    /// # Errors
    /// [`SinkError`]; samples written before stay.
    ///
    /// # Blocking
    /// As long as the disk or the pipe blocks.
    fn write(&mut self, index: SampleIndex, bytes: &[u8]) -> Result<(), SinkError>;

    /// Records that samples are missing between those written and the next.
    ///
    /// # Errors
    /// [`SinkError`].
    fn gap(&mut self, gap: &RecordedGap) -> Result<(), SinkError>;

    /// Records a remark about an index of the device's present run, at most the next one. Formats
    /// without metadata ignore it. Default: ignored.
    ///
    /// # Errors
    /// [`SinkError`].
    fn event(&mut self, _index: SampleIndex, _text: &str) -> Result<(), SinkError> {
        Ok(())
    }

    /// Records that the next samples come from a stream that was opened in the device's run
    /// `boot_id`. Indexes of one run are comparable. Formats without metadata ignore it. Default:
    /// ignored.
    ///
    /// # Errors
    /// [`SinkError`].
    fn session(&mut self, _boot_id: u64) -> Result<(), SinkError> {
        Ok(())
    }

    /// Records the centre frequency of the samples that follow; `None` if it is not known. The sink was
    /// opened with that of the first. Formats without metadata ignore it. Default: ignored.
    ///
    /// In SigMF, samples at another frequency than those before begin a capture. A recording has at
    /// most 2^20 captures after its first; then a write is an error.
    ///
    /// # Errors
    /// [`SinkError`].
    fn tune(&mut self, _centre_hz: Option<f64>) -> Result<(), SinkError> {
        Ok(())
    }

    /// Records the device's time of the indexes that follow; `None` if it is not known, as after
    /// [`Self::session`]. Formats without metadata ignore it. Default: ignored.
    ///
    /// In SigMF, each capture states the time of its first sample by the newest clock.
    ///
    /// # Errors
    /// [`SinkError`].
    fn time(&mut self, _clock: Option<TaiClock>) -> Result<(), SinkError> {
        Ok(())
    }

    /// Completes the files, also after an error, and returns what was written. Later writes are an
    /// error. A second call after an error returns the summary.
    ///
    /// # Errors
    /// [`SinkError`].
    ///
    /// # Blocking
    /// Until the hash is complete, if one was requested: 2 s for each GB that it is behind.
    fn finish(&mut self) -> Result<SinkSummary, SinkError>;

    /// Returns the sink as [`Holes`] if it can accept zeros without writing them. Default: it
    /// cannot.
    fn as_holes(&mut self) -> Option<&mut dyn Holes> {
        None
    }

    /// Returns the unfinished work, for a progress display. Default: none.
    fn backlog(&self) -> Backlog {
        Backlog::default()
    }
}

/// A sink whose work for zeros does not depend on their number: a file stores them as a hole, which
/// takes no disk space.
pub trait Holes {
    /// Accepts `samples` zeros; the first has `index`, as in [`WriteSamples::write`].
    ///
    /// # Errors
    /// [`SinkError`]; samples written before stay.
    ///
    /// # Blocking
    /// As long as the disk needs for previously gathered samples.
    fn hole(&mut self, index: SampleIndex, samples: u64) -> Result<(), SinkError>;
}

/// Lets a [`Player`](samplewire::device::Player) write into a sink.
impl samplewire::device::PlayerOutput for Box<dyn WriteSamples> {
    type Error = SinkError;

    fn write(&mut self, first: SampleIndex, bytes: &[u8]) -> Result<(), SinkError> {
        (**self).write(first, bytes)
    }

    fn has_holes(&mut self) -> bool {
        self.as_holes().is_some()
    }

    fn hole(&mut self, first: SampleIndex, samples: u64) -> Result<(), SinkError> {
        self.as_holes().map_or(Ok(()), |sink| sink.hole(first, samples))
    }
}

/// What a sink has written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SinkSummary {
    /// Samples in the written files; a sample has all channels.
    pub samples: u64,
    /// How many of them existed before, in a recording that was continued.
    pub samples_before: u64,
    /// Bytes of samples in the written format.
    pub bytes: u64,
    /// Gaps.
    pub gaps: u64,
    /// Samples missing in the gaps.
    pub missing_samples: u64,
    /// The written files; may be empty.
    pub files: Vec<PathBuf>,
    /// The SHA-512 of the data in lower-case hex, if it was requested.
    pub sha512: Option<String>,
    /// Samples that the chain before the files accepted, if there is a chain.
    pub taken_samples: Option<u64>,
}

impl SinkSummary {
    /// Returns the samples that this sink wrote, without those that existed before.
    pub const fn written_samples(&self) -> u64 {
        self.samples.saturating_sub(self.samples_before)
    }

    /// Returns the samples that the sink accepted: those that it wrote, or that its chain
    /// processed.
    pub fn taken_samples(&self) -> u64 {
        self.taken_samples.unwrap_or(self.written_samples())
    }

    /// Adds a gap to the counts.
    fn count(&mut self, gap: &RecordedGap) {
        self.gaps += 1;
        self.missing_samples += gap.count();
    }
}

/// Returns the number of samples in `bytes`.
///
/// # Errors
/// [`SinkError::Partial`] if `bytes` ends within a sample.
fn samples_in(bytes: &[u8], frame_bytes: usize) -> Result<u64, SinkError> {
    match bytes.len() % frame_bytes {
        0 => Ok((bytes.len() / frame_bytes) as u64),
        _ => Err(SinkError::Partial { len_bytes: bytes.len(), frame_bytes }),
    }
}

impl SinkError {
    /// Returns the error of an operation on a file, for the system's error.
    fn io(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { operation, path: path.to_owned(), source }
    }

    /// Returns the error of a write to a file of a recording that has `len_samples` samples.
    fn write(path: &Path, len_samples: u64, source: io::Error) -> Self {
        match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                Self::Full { path: path.to_owned(), len_samples, source }
            }
            _ => Self::io("write", path)(source),
        }
    }
}

/// Why a sink cannot be opened or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// The file already exists.
    #[error("{path} exists: choose another name, or allow to overwrite it", path = path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Another recorder writes the file.
    #[error("{path}: another recorder writes it", path = path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be written without the system's cache.
    #[error("{path}: cannot be written directly: {why}", path = path.display())]
    NoDirect {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: &'static str,
    },
    /// The file has no metadata that would state its end or its part number.
    #[error("{path}: only a SigMF recording can be continued, split or compressed", path = path.display())]
    NotSigmf {
        /// The file.
        path: PathBuf,
    },
    /// There is no recording of that name to continue, but a series of its parts.
    #[error("{path}: is a series of parts, which is continued by parts", path = path.display())]
    Series {
        /// The name.
        path: PathBuf,
    },
    /// A part cannot hold even one sample.
    #[error(
        "parts of {part_bytes} bytes are too small: a sample of all channels takes {frame_bytes}"
    )]
    Part {
        /// The requested length of a part.
        part_bytes: u64,
        /// The length of one sample of all channels.
        frame_bytes: usize,
    },
    /// The metadata or the journal of a recording are not valid.
    #[error("{path}: {why}", path = path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The recording has fewer samples than its metadata state.
    #[error("{path} has {found} samples: the metadata state {expected}", path = path.display())]
    Short {
        /// The data file.
        path: PathBuf,
        /// How many samples it has.
        found: u64,
        /// How many samples the metadata state.
        expected: u64,
    },
    /// The recording's samples differ from the next samples in a property.
    #[error("{path}: {what} {expected}, and {found} of what is to come", path = path.display())]
    Other {
        /// The metadata file.
        path: PathBuf,
        /// `format`, `channels`, `streams`, `sample rate` or `compression`.
        what: &'static str,
        /// The value of the next samples.
        found: String,
        /// The value of the recording.
        expected: String,
    },
    /// The operating system refused an operation.
    #[error("{operation} {path}: {source}", path = path.display())]
    Io {
        /// The operation, e.g. `create`.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The disk is full.
    #[error("{path}: no room for more than {len_samples} samples: {source}", path = path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// How many samples the file has.
        len_samples: u64,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Files with this extension cannot be written.
    #[error(
        "{path}: such files are not written: NAME alone is a SigMF recording, NAME.raw raw samples",
        path = path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file name states another format than the samples have.
    #[error(
        "{path}: the name states {named}, and the samples are {samples}: choose another name",
        path = path.display()
    )]
    Named {
        /// The file.
        path: PathBuf,
        /// The format that the name states.
        named: Format,
        /// The format of the samples.
        samples: Format,
    },
    /// The caller's bytes end within a sample.
    #[error("{len_bytes} bytes are no whole number of samples of {frame_bytes} bytes")]
    Partial {
        /// The length of the bytes.
        len_bytes: usize,
        /// The length of one sample of all channels.
        frame_bytes: usize,
    },
    /// The stream's terms contradict each other.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// The samples cannot be converted to the requested format.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// The recording has more captures than its metadata can list: runs between gaps, and of one
    /// centre frequency.
    #[error("{path}: more than {captures_max} captures", path = path.display())]
    TooManyCaptures {
        /// The metadata file.
        path: PathBuf,
        /// The maximum.
        captures_max: usize,
    },
    /// The recording has more gaps than its metadata can list.
    #[error("{path}: more than {gaps_max} gaps", path = path.display())]
    TooManyGaps {
        /// The metadata file.
        path: PathBuf,
        /// The maximum.
        gaps_max: usize,
    },
    /// The recording has more events than its metadata can list.
    #[error("{path}: more than {events_max} events", path = path.display())]
    TooManyEvents {
        /// The metadata file.
        path: PathBuf,
        /// The maximum.
        events_max: usize,
    },
    /// The chain before the sink failed.
    #[error("chain: {why}")]
    Chain {
        /// The failed block, and the reason.
        why: String,
    },
    /// The sink's thread panicked. What it had not written is lost.
    #[error("a defect in writing: {words}")]
    Panicked {
        /// What the panic states.
        words: String,
    },
    /// The sink was finished, or an earlier error ended it.
    #[error("{path}: takes no more samples: it was finished, or an error ended it", path = path.display())]
    Closed {
        /// The file.
        path: PathBuf,
    },
}
