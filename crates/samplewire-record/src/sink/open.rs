//! Opens sinks by name.

use std::path::Path;
use std::sync::Arc;

use samplewire::{StreamInfo, format};
use samplewire_proto::wire::Format;

use super::resume::check_no_series;
use super::{
    Backlog, ConvertingSink, NullSink, RawSink, SigmfSink, SinkError, SplitSink, WriteSamples,
};
use crate::sigmf::{Notes, Paths};
use crate::storage::{OsStorage, Storage};

/// Opens a sink for samples of `info`.
///
/// `-` is standard output; `null` counts and discards. Raw are pipes, devices, and names that end
/// in `.raw`, `.bin`, `.dat`, `.iq`, `.cfile` or the name of a format. Any other name is a SigMF
/// recording, with or without `.sigmf-meta`, `.sigmf-data` or `.sigmf`. Samples are converted to
/// the format that the name states ([`named_format`]).
///
/// # Errors
/// [`SinkError`]: a file exists or cannot be created, or the samples cannot be converted to the
/// requested format.
pub fn open(
    path: &Path,
    info: &StreamInfo,
    options: &SinkOptions,
) -> Result<Box<dyn WriteSamples>, SinkError> {
    info.check()?;
    // This sink has its own backlog, even if others use the same options.
    let options = &SinkOptions { backlog: Backlog::default(), ..options.clone() };
    let written = check_format(path, options)?.filter(|&format| format != info.format);
    match written {
        None => open_as_is(path, info, options),
        Some(format) => {
            // Checked before a file is created, so that an impossible conversion leaves no file.
            format::convert(info.format, format, &[], &mut []).map_err(|error| {
                match options.format {
                    Some(_) => SinkError::from(error),
                    None => SinkError::Named {
                        path: path.to_owned(),
                        named: format,
                        samples: info.format,
                    },
                }
            })?;
            let inner = open_as_is(path, &StreamInfo { format, ..info.clone() }, options)?;
            Ok(Box::new(ConvertingSink::new(info, format, inner)?))
        }
    }
}

/// Checks a name before there is a stream: whether [`open`] may create the file or can continue it.
/// Creates nothing.
///
/// # Errors
/// [`SinkError::Exists`], [`SinkError::NotSigmf`], [`SinkError::Series`], [`SinkError::Foreign`],
/// [`SinkError::Named`], and [`SinkError::Io`] if the folder does not exist.
pub fn check_name(path: &Path, options: &SinkOptions) -> Result<(), SinkError> {
    let kind = Kind::of(path, options)?;
    check_format(path, options)?;
    if matches!(kind, Kind::Raw | Kind::Sigmf | Kind::Series(_))
        && let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty())
        && let Err(source) = options.storage.entry(&folder.join("."))
    {
        return Err(SinkError::io("create", path)(source));
    }
    match kind {
        Kind::Sigmf if options.append => check_no_series(&*options.storage, path),
        Kind::Raw if !options.overwrite && is_file(&*options.storage, path) => {
            Err(SinkError::Exists { path: path.to_owned() })
        }
        Kind::Sigmf => SigmfSink::check_free(&Paths::of(path), options),
        Kind::Series(_) => SplitSink::check_free(path, options),
        _ => Ok(()),
    }
}

/// Returns the format that the name of a raw file states: `.cs8`, `.fc32` and the like, `.cfile`
/// for fc32.
///
/// ```
/// use samplewire::format::Format;
/// use samplewire_record::sink::named_format;
///
/// assert_eq!(named_format("out.cs8".as_ref()), Some(Format::Sc8));
/// assert_eq!(named_format("out.cfile".as_ref()), Some(Format::Fc32));
/// assert_eq!(named_format("out.raw".as_ref()), None);
/// ```
pub fn named_format(path: &Path) -> Option<Format> {
    match path.extension()?.to_str()? {
        "cfile" => Some(Format::Fc32),
        extension => format::parse(extension).ok(),
    }
}

/// Returns the format of the file, if the options or the name state one.
///
/// # Errors
/// [`SinkError::Named`]: the options and the name contradict each other.
fn check_format(path: &Path, options: &SinkOptions) -> Result<Option<Format>, SinkError> {
    match (options.format, named_format(path)) {
        (Some(samples), Some(named)) if samples != named => {
            Err(SinkError::Named { path: path.to_owned(), named, samples })
        }
        (wanted, named) => Ok(wanted.or(named)),
    }
}

fn open_as_is(
    path: &Path,
    info: &StreamInfo,
    options: &SinkOptions,
) -> Result<Box<dyn WriteSamples>, SinkError> {
    Ok(match Kind::of(path, options)? {
        Kind::Stdout => Box::new(RawSink::stdout(info)?),
        Kind::Null => Box::new(NullSink::new(info)),
        Kind::Raw => Box::new(RawSink::create(path, info, options)?),
        Kind::Series(part_bytes) => Box::new(SplitSink::open(path, info, options, part_bytes)?),
        Kind::Sigmf => {
            if options.append {
                check_no_series(&*options.storage, path)?;
            }
            Box::new(SigmfSink::open(path, info, options)?)
        }
    })
}

/// The kind of sink that a name selects.
enum Kind {
    Stdout,
    Null,
    Raw,
    Sigmf,
    /// A SigMF recording in parts of this many bytes.
    Series(u64),
}

impl Kind {
    /// # Errors
    /// [`SinkError::NotSigmf`]: the options require a SigMF recording, and the name is not one.
    /// [`SinkError::Foreign`]: the name belongs to another kind of file.
    fn of(path: &Path, options: &SinkOptions) -> Result<Self, SinkError> {
        if let Some(extension) = path.extension().and_then(|it| it.to_str())
            && FOREIGN_EXTENSIONS.iter().any(|foreign| extension.eq_ignore_ascii_case(foreign))
        {
            return Err(SinkError::Foreign { path: path.to_owned() });
        }
        let kind = match (path.to_str(), options.split_bytes) {
            (Some("-"), _) => Self::Stdout,
            (Some("null"), _) => Self::Null,
            _ if is_raw(&*options.storage, path) => Self::Raw,
            (_, Some(part_bytes)) => return Ok(Self::Series(part_bytes)),
            (_, None) => return Ok(Self::Sigmf),
        };
        if options.append || options.compress || options.split_bytes.is_some() {
            return Err(SinkError::NotSigmf { path: path.to_owned() });
        }
        Ok(kind)
    }
}

fn is_file(storage: &dyn Storage, path: &Path) -> bool {
    storage.entry(path).is_ok_and(|entry| entry.is_file)
}

fn is_raw(storage: &dyn Storage, path: &Path) -> bool {
    let extension = path.extension().and_then(|it| it.to_str());
    let by_name = named_format(path).is_some()
        || extension.is_some_and(|extension| RAW_EXTENSIONS.contains(&extension));
    by_name || storage.entry(path).is_ok_and(|entry| !entry.is_file && !entry.is_folder)
}

/// Options of a sink.
#[derive(Clone, Debug)]
pub struct SinkOptions {
    pub(super) format: Option<Format>,
    pub(super) overwrite: bool,
    pub(super) append: bool,
    pub(super) owner: Option<u64>,
    pub(super) sha512: bool,
    pub(super) direct: bool,
    pub(super) compress: bool,
    pub(super) split_bytes: Option<u64>,
    /// The number of this part in a series, from 1.
    pub(super) part: Option<u32>,
    /// Shared by the parts of a series.
    pub(super) backlog: Backlog,
    pub(super) notes: Notes,
    pub(super) storage: Arc<dyn Storage>,
}

impl SinkOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        Self {
            format: None,
            overwrite: false,
            append: false,
            owner: None,
            sha512: true,
            direct: false,
            compress: false,
            split_bytes: None,
            part: None,
            backlog: Backlog::default(),
            notes: Notes::default(),
            storage: Arc::new(OsStorage),
        }
    }

    /// Sets the format of the samples in the file. Default: the format that the name states, else
    /// the stream's. Complex samples stay complex.
    #[must_use]
    pub fn format(self, format: Format) -> Self {
        Self { format: Some(format), ..self }
    }

    /// Sets whether existing files are emptied. Default: no; an existing file is then an error.
    #[must_use]
    pub fn overwrite(self, overwrite: bool) -> Self {
        Self { overwrite, ..self }
    }

    /// Sets whether to continue an existing SigMF recording; a missing one is created. Default: no.
    /// The recording must have the same format, channels and rate. See
    /// [`resumable`](super::resumable()).
    #[must_use]
    pub fn append(self, append: bool) -> Self {
        Self { append, ..self }
    }

    /// Sets the owner ID that the recorder uses with the device. The journal stores it, so that a
    /// new recorder can take over if this one is killed. Default: none.
    #[must_use]
    pub fn owner(self, owner: u64) -> Self {
        Self { owner: Some(owner), ..self }
    }

    /// Sets whether the metadata of a SigMF recording include the hash of the data. Default: yes.
    /// The hash uses a core at some 0.6 GB/s while recording; a faster recording waits for it at
    /// the end.
    #[must_use]
    pub fn sha512(self, sha512: bool) -> Self {
        Self { sha512, ..self }
    }

    /// Sets the maximum length of a SigMF recording's part in bytes of data, rounded down to whole
    /// samples. Parts are named `NAME-0001` and so on. Default: one part.
    #[must_use]
    pub fn split(self, part_bytes: u64) -> Self {
        Self { split_bytes: Some(part_bytes), ..self }
    }

    /// Sets whether a separate thread compresses the data of a SigMF recording (zstd), in
    /// `NAME.sigmf-data.zst`. Default: no. If set, [`Self::direct`] has no effect.
    #[must_use]
    pub fn compress(self, compress: bool) -> Self {
        Self { compress, ..self }
    }

    /// Sets whether writes bypass the system's cache (O_DIRECT), in pieces of 4 MiB, with disk
    /// space allocated 256 MiB in advance. Default: no. A hash then reads the file again from the
    /// disk.
    #[must_use]
    pub fn direct(self, direct: bool) -> Self {
        Self { direct, ..self }
    }

    /// Sets further fields for the metadata of a SigMF recording. Default: none. A continued
    /// recording keeps its own fields.
    #[must_use]
    pub fn notes(self, notes: Notes) -> Self {
        Self { notes, ..self }
    }

    /// Sets where the files are stored. Default: [`OsStorage`].
    #[must_use]
    pub fn storage(self, storage: Arc<dyn Storage>) -> Self {
        Self { storage, ..self }
    }
}

impl Default for SinkOptions {
    fn default() -> Self {
        Self::new()
    }
}

const RAW_EXTENSIONS: [&str; 5] = ["raw", "bin", "dat", "iq", "cfile"];

/// Extensions of files that cannot be written here. A SigMF recording with such a name would be
/// mistaken for one.
const FOREIGN_EXTENSIONS: [&str; 12] =
    ["wav", "w64", "rf64", "flac", "npy", "npz", "mat", "h5", "hdf5", "csv", "pcap", "pcapng"];

#[cfg(test)]
mod tests;
