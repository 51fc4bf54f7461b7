//! Recordings on disk: SigMF or raw samples.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};

use zstd::stream::read::Decoder;

use samplewire::BoxError;
use samplewire::source::{ReadSamples, StreamInfo, whole_frames};

use super::looped::Looped;
use super::{SourceError, SourceOptions};
use crate::sigmf::{Metadata, MetadataError, Notes, Paths, TEXT_BYTES_MAX, sha512_of};
use crate::sink::{frames_of, named_format};
use crate::storage::{OsStorage, read_text};

/// A recording, played as often as requested.
///
/// Up to 256 MiB are kept in memory and copied from there; longer recordings are read from the
/// disk.
#[derive(Debug)]
pub struct RecordingSource {
    info: StreamInfo,
    notes: Notes,
    body: Body,
}

impl RecordingSource {
    /// Returns the descriptive fields of the metadata; empty for raw samples.
    pub const fn notes(&self) -> &Notes {
        &self.notes
    }
}

impl ReadSamples for RecordingSource {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        let out = whole_frames(out, self.info.frame_bytes());
        match &mut self.body {
            Body::Memory(looped) => Ok(looped.read(out)),
            Body::Disk(rewound) => Ok(rewound.read(out)?),
        }
    }
}

/// Opens a recording. It is SigMF if `path` is `NAME.sigmf-meta`, `NAME.sigmf-data`, or `NAME`
/// where only these two exist. Otherwise it is raw samples.
///
/// All samples of a SigMF recording are played in order, without pauses for the gaps in its
/// metadata. Its centre frequency is that of the first capture. Compressed data are decompressed
/// while they are read. They are also read once before, to find their length.
///
/// # Errors
/// [`SourceError`]: a file cannot be read or is truncated, or the metadata are not valid or do not
/// match the data. Also when an option is missing, or contradicts the metadata.
///
/// # Blocking
/// Until the data are in memory if they fit, and are checked if that was requested.
pub fn open_recording(
    path: &Path,
    options: &SourceOptions,
) -> Result<RecordingSource, SourceError> {
    match Paths::existing(path) {
        Some(paths) => open_sigmf(path, &paths, options),
        None => {
            // The file first: for a wrong name, an error about a missing format would mislead.
            let data = Data::open(path)?;
            let info = raw_info(&path.display().to_string(), options)?;
            data.source(info, options)
        }
    }
}

fn open_sigmf(
    path: &Path,
    paths: &Paths,
    options: &SourceOptions,
) -> Result<RecordingSource, SourceError> {
    let wrong = |source: MetadataError| SourceError::Metadata { path: paths.meta.clone(), source };
    let text = read_text(&OsStorage, &paths.meta, TEXT_BYTES_MAX).map_err(|source| {
        SourceError::Io { operation: "read", path: paths.meta.clone(), source }
    })?;
    let metadata = Metadata::parse(&text).map_err(wrong)?;
    let info = sigmf_info(path, &metadata, options)?;
    let data_path = paths.data_of(&metadata);
    if let (true, Some(expected)) = (options.verify, &metadata.sha512) {
        let io = |source| SourceError::Io { operation: "read", path: data_path.clone(), source };
        let found = File::open(&data_path).and_then(|mut file| sha512_of(&mut file)).map_err(io)?;
        if found != *expected {
            return Err(wrong(MetadataError::Sha512 { expected: expected.clone(), found }));
        }
    }
    let data =
        if metadata.is_compressed { Data::open_zstd(&data_path)? } else { Data::open(&data_path)? };
    let len_samples = data.whole_samples(info.frame_bytes())?;
    metadata.check_length(len_samples).map_err(wrong)?;
    Ok(RecordingSource { notes: metadata.notes, ..data.source(info, options)? })
}

fn sigmf_info(
    path: &Path,
    metadata: &Metadata,
    options: &SourceOptions,
) -> Result<StreamInfo, SourceError> {
    let source_name = || path.display().to_string();
    let contradiction = |option, value: String, actual: String| {
        Err(SourceError::Contradiction { source_name: source_name(), option, value, actual })
    };
    if let Some(format) = options.format.filter(|&format| format != metadata.format) {
        return contradiction("format", format.to_string(), metadata.format.to_string());
    }
    if let Some(channels) = options.channels.filter(|&channels| channels != metadata.channels) {
        return contradiction("channels", channels.to_string(), metadata.channels.to_string());
    }
    let rate_hz = options
        .rate_hz
        .or(metadata.rate_hz)
        .ok_or_else(|| SourceError::Missing { source_name: source_name(), option: "rate" })?;
    let mut info = StreamInfo::new(metadata.format, metadata.channels, rate_hz)?;
    info.centre_frequency_hz = metadata.captures.first().and_then(|capture| capture.frequency_hz);
    info.name = file_stem(path).into();
    Ok(info)
}

/// Describes raw data from the options; without a format there, the name may state it.
pub(super) fn raw_info(name: &str, options: &SourceOptions) -> Result<StreamInfo, SourceError> {
    let missing = |option| SourceError::Missing { source_name: name.to_owned(), option };
    let format = options.format.or_else(|| named_format(Path::new(name)));
    let format = format.ok_or_else(|| missing("format"))?;
    let rate_hz = options.rate_hz.ok_or_else(|| missing("rate"))?;
    let channels = options.channels.unwrap_or(1);
    if channels == 0 {
        return Err(SourceError::Contradiction {
            source_name: name.to_owned(),
            option: "channels",
            value: "0".into(),
            actual: "at least 1".into(),
        });
    }
    let info = StreamInfo::new(format, channels, rate_hz)?;
    Ok(StreamInfo { name: file_stem(Path::new(name)).into(), ..info })
}

fn file_stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// An open data file.
#[derive(Debug)]
struct Data {
    content: Content,
    path: PathBuf,
    len_bytes: u64,
}

/// The content of a data file.
enum Content {
    Plain(File),
    /// Consecutive zstd frames.
    Zstd(Decoder<'static, BufReader<File>>),
}

impl Content {
    /// Continues at the beginning.
    fn rewind(&mut self, path: &Path) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.rewind()?,
            Self::Zstd(_) => *self = Self::Zstd(Decoder::new(File::open(path)?)?),
        }
        Ok(())
    }
}

impl Read for Content {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(out),
            Self::Zstd(decoder) => decoder.read(out),
        }
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain(_) => "Plain",
            Self::Zstd(_) => "Zstd",
        })
    }
}

impl Data {
    fn open(path: &Path) -> Result<Self, SourceError> {
        let io = |operation, source| SourceError::Io { operation, path: path.to_owned(), source };
        let file = File::open(path).map_err(|error| io("open", error))?;
        let about = file.metadata().map_err(|error| io("measure", error))?;
        if about.is_dir() {
            return Err(io("open", io::ErrorKind::IsADirectory.into()));
        }
        let len_bytes = about.len();
        Ok(Self { content: Content::Plain(file), path: path.to_owned(), len_bytes })
    }

    /// Opens the whole frames of a compressed file. An incomplete frame, left by a killed recorder,
    /// is left out.
    fn open_zstd(path: &Path) -> Result<Self, SourceError> {
        let io = |operation, source| SourceError::Io { operation, path: path.to_owned(), source };
        let frames = File::open(path)
            .and_then(|file| frames_of(file, u64::MAX))
            .map_err(|error| io("decompress", error))?;
        let decoder = File::open(path).and_then(Decoder::new).map_err(|error| io("open", error))?;
        let (content, path) = (Content::Zstd(decoder), path.to_owned());
        Ok(Self { content, path, len_bytes: frames.content_bytes })
    }

    fn whole_samples(&self, frame_bytes: usize) -> Result<u64, SourceError> {
        let Self { path, len_bytes, .. } = self;
        if *len_bytes == 0 {
            return Err(SourceError::Empty { path: path.clone() });
        }
        if !len_bytes.is_multiple_of(frame_bytes as u64) {
            let (path, len_bytes) = (path.clone(), *len_bytes);
            return Err(SourceError::Truncated { path, len_bytes, frame_bytes });
        }
        Ok(len_bytes / frame_bytes as u64)
    }

    fn source(
        self,
        info: StreamInfo,
        options: &SourceOptions,
    ) -> Result<RecordingSource, SourceError> {
        let len_samples = options.repeat.total(self.whole_samples(info.frame_bytes())?);
        let total_bytes = options.repeat.total(self.len_bytes);
        let body = if self.len_bytes <= MEMORY_BYTES_MAX {
            Body::Memory(Looped::new(self.into_memory()?, total_bytes))
        } else {
            Body::Disk(Rewound { data: self, position_bytes: 0, left_bytes: total_bytes })
        };
        let info = StreamInfo { len_samples, ..info };
        Ok(RecordingSource { info, notes: Notes::default(), body })
    }

    fn into_memory(mut self) -> Result<Vec<u8>, SourceError> {
        let mut bytes = vec![0; self.len_bytes as usize];
        match self.content.read_exact(&mut bytes) {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(self.shrunk(0)),
            Err(error) => Err(self.io("read", error)),
        }
    }

    fn io(&self, operation: &'static str, source: std::io::Error) -> SourceError {
        SourceError::Io { operation, path: self.path.clone(), source }
    }

    fn shrunk(&self, at_bytes: u64) -> SourceError {
        SourceError::Shrunk { path: self.path.clone(), at_bytes, len_bytes: self.len_bytes }
    }
}

#[derive(Debug)]
enum Body {
    Memory(Looped),
    Disk(Rewound),
}

/// A file that is read again from its beginning after its end.
#[derive(Debug)]
struct Rewound {
    data: Data,
    position_bytes: u64,
    /// How many bytes are left; `None` for an endless file.
    left_bytes: Option<u64>,
}

impl Rewound {
    fn read(&mut self, out: &mut [u8]) -> Result<usize, SourceError> {
        let wanted_bytes =
            self.left_bytes.map_or(out.len() as u64, |left| left.min(out.len() as u64));
        let mut rest = &mut out[..wanted_bytes as usize];
        while !rest.is_empty() {
            if self.position_bytes == self.data.len_bytes {
                let Data { content, path, .. } = &mut self.data;
                content.rewind(path).map_err(|error| self.data.io("rewind", error))?;
                self.position_bytes = 0;
            }
            let ahead_bytes = self.data.len_bytes - self.position_bytes;
            let piece_bytes = ahead_bytes.min(rest.len() as u64) as usize;
            match self.data.content.read(&mut rest[..piece_bytes]) {
                Ok(0) => return Err(self.data.shrunk(self.position_bytes)),
                Ok(len_bytes) => {
                    self.position_bytes += len_bytes as u64;
                    rest = &mut rest[len_bytes..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.data.io("read", error)),
            }
        }
        self.left_bytes = self.left_bytes.map(|left| left - wanted_bytes);
        Ok(wanted_bytes as usize)
    }
}

/// The longest recording that is kept in memory.
const MEMORY_BYTES_MAX: u64 = 256 << 20;

#[cfg(test)]
mod tests;
