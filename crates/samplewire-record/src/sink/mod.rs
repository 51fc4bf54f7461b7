//! Sinks: where received samples go.
//!
//! A SigMF recording ([`SigmfSink`]), in parts ([`SplitSink`]), raw bytes in a file or on standard output ([`RawSink`]), or
//! nowhere ([`NullSink`]), in the stream's format or converted on the way ([`ConvertingSink`]).
//! [`open`] chooses by the name that the user gave.

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
#[cfg(test)]
mod speed;
mod split;
mod writer;
mod zstd_file;

use std::fmt;
use std::path::PathBuf;

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

/// Takes samples in the order of their indexes, and word of those that will not come.
///
/// ```
/// use samplewire::format::Format;
/// use samplewire_record::sink::{self, Sink, SinkOptions};
/// use samplewire::source::StreamInfo;
///
/// let info = StreamInfo::new(Format::Sc16, 1, 1e6)?;
/// let mut sink = sink::open("null".as_ref(), &info, &SinkOptions::new())?;
/// sink.write(0, &[0; 400])?;
/// assert_eq!(sink.finish()?.samples, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Sink: Send + fmt::Debug {
    /// Takes samples, the first of which has `index`. Indexes that follow neither the samples
    /// before nor a gap begin a segment of their own where the sink can tell of it.
    ///
    /// # Errors
    /// [`SinkError`]; what was taken before stays.
    ///
    /// # Blocking
    /// As long as the disk or the pipe does.
    fn write(&mut self, index: SampleIndex, bytes: &[u8]) -> Result<(), SinkError>;

    /// Takes note that samples are missing between those written and those to come.
    ///
    /// # Errors
    /// [`SinkError`].
    fn gap(&mut self, gap: &RecordedGap) -> Result<(), SinkError>;

    /// Takes note that what is to come is of a stream opened at a device's run `boot_id`, within
    /// which indexes are comparable.
    ///
    /// # Errors
    /// [`SinkError`].
    fn session(&mut self, boot_id: u64) -> Result<(), SinkError>;

    /// Puts in order what was written, also after an error, and says what that is. Later writes are
    /// an error. A second call after an error says what was written all the same.
    ///
    /// # Errors
    /// [`SinkError`].
    ///
    /// # Blocking
    /// Until the hash is made, where one was asked for: 2 s per GB that it lags behind.
    fn finish(&mut self) -> Result<SinkSummary, SinkError>;

    /// The sink as one that takes zeros without writing them, where it is one. Default: it is not.
    fn as_holes(&mut self) -> Option<&mut dyn Holes> {
        None
    }

    /// What is left to do, for whoever shows how long that takes. Default: nothing.
    fn backlog(&self) -> Backlog {
        Backlog::default()
    }
}

/// A sink whose work for zeros does not depend on how many they are: a file keeps them as a hole,
/// which takes no room on the disk.
pub trait Holes {
    /// Takes `samples` zeros, the first of which has `index`, as [`Sink::write`] takes samples.
    ///
    /// # Errors
    /// [`SinkError`]; what was taken before stays.
    ///
    /// # Blocking
    /// As long as the disk does with what was gathered before.
    fn hole(&mut self, index: SampleIndex, samples: u64) -> Result<(), SinkError>;
}

impl<S: Sink + ?Sized> Sink for Box<S> {
    fn write(&mut self, index: SampleIndex, bytes: &[u8]) -> Result<(), SinkError> {
        (**self).write(index, bytes)
    }

    fn gap(&mut self, gap: &RecordedGap) -> Result<(), SinkError> {
        (**self).gap(gap)
    }

    fn session(&mut self, boot_id: u64) -> Result<(), SinkError> {
        (**self).session(boot_id)
    }

    fn finish(&mut self) -> Result<SinkSummary, SinkError> {
        (**self).finish()
    }

    fn as_holes(&mut self) -> Option<&mut dyn Holes> {
        (**self).as_holes()
    }

    fn backlog(&self) -> Backlog {
        (**self).backlog()
    }
}

/// A [`Player`](samplewire::device::Player) plays into a sink.
impl samplewire::device::PlayerOutput for Box<dyn Sink> {
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

/// What a sink took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SinkSummary {
    /// Samples (of all channels each) in the files that were written to.
    pub samples: u64,
    /// How many of them were there before, in a recording that was gone on with.
    pub samples_before: u64,
    /// Bytes of samples, as they were written.
    pub bytes: u64,
    /// Gaps.
    pub gaps: u64,
    /// Samples that the gaps cover.
    pub missing_samples: u64,
    /// The files, possibly none.
    pub files: Vec<PathBuf>,
    /// The SHA-512 of the data in lower-case hex, where it was asked for.
    pub sha512: Option<String>,
    /// Samples that a chain took in, where one stands before the files.
    pub taken_samples: Option<u64>,
}

impl SinkSummary {
    /// Samples that this sink wrote: those that were there before are not among them.
    pub const fn written_samples(&self) -> u64 {
        self.samples.saturating_sub(self.samples_before)
    }

    /// Samples that the sink took: those that it wrote, or that its chain made others of.
    pub fn taken_samples(&self) -> u64 {
        self.taken_samples.unwrap_or(self.written_samples())
    }

    /// Counts a gap.
    fn count(&mut self, gap: &RecordedGap) {
        self.gaps += 1;
        self.missing_samples += gap.count();
    }
}

/// The number of samples in `bytes`.
///
/// # Errors
/// [`SinkError::Partial`] when that is not whole.
fn samples_in(bytes: &[u8], frame_bytes: usize) -> Result<u64, SinkError> {
    match bytes.len() % frame_bytes {
        0 => Ok((bytes.len() / frame_bytes) as u64),
        _ => Err(SinkError::Partial { len_bytes: bytes.len(), frame_bytes }),
    }
}

/// Why a sink cannot be opened or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// The file is there already.
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
    /// The file cannot be written past the system's cache.
    #[error("{path}: cannot be written directly: {why}", path = path.display())]
    NoDirect {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: &'static str,
    },
    /// Nothing tells where the file ends, or that it is one of several.
    #[error("{path}: only a SigMF recording can be gone on with, split or compressed", path = path.display())]
    NotSigmf {
        /// The file.
        path: PathBuf,
    },
    /// Nothing of that name can be gone on with, but a series of parts of it.
    #[error("{path}: is a series of parts, which is gone on with by parts", path = path.display())]
    Series {
        /// The name.
        path: PathBuf,
    },
    /// A part would not hold a sample.
    #[error(
        "parts of {part_bytes} bytes are too small: a sample of all channels takes {frame_bytes}"
    )]
    Part {
        /// The length of a part that was asked for.
        part_bytes: u64,
        /// The length of one sample of all channels.
        frame_bytes: usize,
    },
    /// The metadata or the journal of a recording cannot be understood.
    #[error("{path}: {why}", path = path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A recording has lost samples since it was made.
    #[error("{path} has {found} samples: the metadata tell of {expected}", path = path.display())]
    Short {
        /// The data file.
        path: PathBuf,
        /// How many samples it has.
        found: u64,
        /// How many it had.
        expected: u64,
    },
    /// The recording holds other samples than those that are to come.
    #[error("{path}: {what} {expected}, and {found} of what is to come", path = path.display())]
    Other {
        /// The metadata file.
        path: PathBuf,
        /// `format`, `channels`, `streams`, `sample rate` or `compression`.
        what: &'static str,
        /// That of the samples to come.
        found: String,
        /// That of the recording.
        expected: String,
    },
    /// The operating system refused an operation.
    #[error("{operation} {path}: {source}", path = path.display())]
    Io {
        /// What was tried, e.g. `create`.
        operation: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// There is no room on the disk.
    #[error("{path}: no room for more than {len_samples} samples: {source}", path = path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// How many samples it holds.
        len_samples: u64,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// Files of that kind are not written.
    #[error(
        "{path}: such files are not written: NAME alone is a SigMF recording, NAME.raw raw samples",
        path = path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The name of the file states another format than that of the samples.
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
    /// The samples cannot become what was asked for.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// The recording has more gaps than its metadata can tell of.
    #[error("{path}: more than {gaps_max} gaps", path = path.display())]
    TooManyGaps {
        /// The metadata file.
        path: PathBuf,
        /// The bound.
        gaps_max: usize,
    },
    /// The chain before the sink failed.
    #[error("chain: {why}")]
    Chain {
        /// Which block, and why.
        why: String,
    },
    /// The sink was finished, or an error ended it.
    #[error("{path}: takes no more samples: it was finished, or an error ended it", path = path.display())]
    Closed {
        /// The file.
        path: PathBuf,
    },
}
