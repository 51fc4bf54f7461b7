//! Reads the metadata of a recording.

use serde_json::Value;

use super::datatype::{UnknownDatatype, format_of};
use super::entry::{Event, Mark, MarkKind};
use super::field::{Object, Place, excerpt, id_of};
use super::gap::RecordedGap;
use super::notes::Notes;
use samplewire_proto::wire::Format;

/// The metadata of a recording, with each field checked. Annotations are not included;
/// [`crate::verify()`] reads those that describe gaps.
///
/// ```
/// use samplewire::format::Format;
/// use samplewire_record::sigmf::Metadata;
///
/// let metadata = Metadata::parse(
///     r#"{
///         "global": {"core:datatype": "cu8", "core:version": "1.2.5", "core:sample_rate": 2e6},
///         "captures": [{"core:sample_start": 0, "core:frequency": 1.09e9}],
///         "annotations": []
///     }"#,
/// )?;
/// assert_eq!((metadata.format, metadata.channels), (Format::Uc8, 1));
/// assert_eq!(metadata.captures[0].frequency_hz, Some(1.09e9));
/// # Ok::<(), samplewire_record::sigmf::MetadataError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Metadata {
    /// The format of one channel's samples.
    pub format: Format,
    /// How many channels are interleaved, at least 1.
    pub channels: u16,
    /// The sample rate in hertz.
    pub rate_hz: Option<f64>,
    /// The SHA-512 of the data file in lower-case hex.
    pub sha512: Option<String>,
    /// The name of the data file where it is not `NAME.sigmf-data`.
    pub dataset: Option<String>,
    /// The index of the first sample in the file; the captures count from the same zero.
    pub offset: u64,
    /// Whether the data file is compressed as consecutive zstd frames.
    pub is_compressed: bool,
    /// The segments of the recording, ascending.
    pub captures: Vec<Capture>,
    /// What the recorder states about the data, so that the data can be checked against it.
    pub claims: Claims,
    /// All other fields of the global object.
    pub notes: Notes,
}

/// What a recorder states about its whole recording; `None` for fields that it did not write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims {
    /// Whether the recording was finished. If not, it is in progress or its recorder was killed.
    pub is_finished: Option<bool>,
    /// How many samples the data had when the metadata were written.
    pub sample_count: Option<u64>,
    /// The first index that is present or in a gap.
    pub first_index: Option<u64>,
    /// The index after the last that is present or in a gap.
    pub end_index: Option<u64>,
    /// The number of this recording in a series, from 1.
    pub part: Option<u64>,
    /// Whether another part of the series follows.
    pub is_continued: Option<bool>,
}

/// A segment of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Capture {
    /// The segment's first sample in the file.
    pub sample_start: u64,
    /// The index of its first sample in the stream that was recorded.
    pub global_index: Option<u64>,
    /// The device's run. Indexes of one run are comparable.
    pub boot_id: Option<u64>,
    /// The centre frequency in hertz.
    pub frequency_hz: Option<f64>,
    /// When its first sample was taken.
    pub datetime: Option<String>,
    /// The device's time of its first sample in TAI nanoseconds.
    pub tai_ns: Option<u64>,
}

/// A gap and its place in the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedGap {
    /// The first sample in the file after the gap.
    pub sample_start: u64,
    /// The gap.
    pub gap: RecordedGap,
}

impl Metadata {
    /// Reads the text of a `.sigmf-meta` file.
    ///
    /// # Errors
    /// [`MetadataError`] names the field and its value.
    pub fn parse(text: &str) -> Result<Self, MetadataError> {
        Self::of_root(&serde_json::from_str(text)?)
    }

    /// Reads the JSON of a `.sigmf-meta` file.
    pub(crate) fn of_root(root: &Value) -> Result<Self, MetadataError> {
        let global = Object::new(Place::Global, root.get("global"))?;
        refuse_unsupported(&global)?;
        let datatype = global.needed("core:datatype", Object::text)?;
        let channels = |value: &Value| value.as_u64()?.try_into().ok().filter(|&it: &u16| it > 0);
        let rate = |value: &Value| value.as_f64().filter(|&it| it > 0.0);
        let sha512 =
            |value: &Value| value.as_str().filter(|it| is_sha512(it)).map(str::to_lowercase);
        let dataset =
            |value: &Value| value.as_str().filter(|it| is_file_name(it)).map(str::to_owned);
        let offset = global.count("core:offset")?.unwrap_or(0);
        let claims = Claims {
            is_finished: global.read("samplewire:finished", "true or false", Value::as_bool)?,
            sample_count: global.count("samplewire:sample_count")?,
            first_index: global.count("samplewire:first_index")?,
            end_index: global.count("samplewire:end_index")?,
            part: global.count("samplewire:part")?,
            is_continued: global.read("samplewire:continued", "true or false", Value::as_bool)?,
        };
        Ok(Self {
            format: format_of(datatype)?,
            channels: global.read("core:num_channels", "1 to 65535", channels)?.unwrap_or(1),
            rate_hz: global.read("core:sample_rate", "a number above 0", rate)?,
            sha512: global.read("core:sha512", "128 digits of hex", sha512)?,
            dataset: global.read("core:dataset", "a file name without a folder", dataset)?,
            offset,
            captures: captures(root, offset)?,
            is_compressed: global
                .read("samplewire:compression", "\"zstd\"", |value| {
                    (value == "zstd").then_some(())
                })?
                .is_some(),
            claims,
            notes: Notes::of_global(global.fields()),
        })
    }

    /// Returns the length of a sample of all channels.
    pub(crate) fn frame_bytes(&self) -> usize {
        self.format.sample_bytes() * usize::from(self.channels)
    }

    /// Returns whether the recording is finished, or does not state it.
    pub(crate) fn is_finished(&self) -> bool {
        self.claims.is_finished != Some(false)
    }

    /// Checks that the captures fit data of `len_samples` samples.
    ///
    /// # Errors
    /// [`MetadataError::Beyond`] for the first capture that begins after the end.
    pub fn check_length(&self, len_samples: u64) -> Result<(), MetadataError> {
        let end = self.offset.saturating_add(len_samples);
        let beyond = self.captures.iter().position(|capture| capture.sample_start > end);
        beyond.map_or(Ok(()), |number| {
            Err(MetadataError::Beyond {
                number,
                sample_start: self.captures[number].sample_start,
                end,
            })
        })
    }
}

/// Reads the captures of a recording from its metadata or its journal.
pub(crate) fn captures(root: &Value, offset: u64) -> Result<Vec<Capture>, MetadataError> {
    let list = list(root, "captures")?;
    let mut captures = Vec::with_capacity(list.len());
    let mut least = offset;
    for (number, value) in list.iter().enumerate() {
        let capture = capture(number, value)?;
        if capture.sample_start < least {
            let sample_start = capture.sample_start;
            return Err(MetadataError::Order { number, sample_start, least });
        }
        least = capture.sample_start;
        captures.push(capture);
    }
    Ok(captures)
}

/// Reads the gaps from the text of a `.sigmf-meta` file, in order.
///
/// # Errors
/// [`MetadataError`] names the field and its value.
pub fn gaps(text: &str) -> Result<Vec<PlacedGap>, MetadataError> {
    let root: Value = serde_json::from_str(text)?;
    let gaps = marks(&root)?.into_iter().filter_map(|mark| match mark.kind {
        MarkKind::Gap(gap) => Some(PlacedGap { sample_start: mark.sample_start, gap }),
        MarkKind::Jump { .. } => None,
    });
    Ok(gaps.collect())
}

/// Reads the gaps and jumps from the annotations of a recording, in order.
pub(crate) fn marks(root: &Value) -> Result<Vec<Mark>, MetadataError> {
    let annotations = list(root, "annotations")?.iter().enumerate();
    let read = |(number, value)| Mark::read(&Object::new(Place::Annotation(number), Some(value))?);
    annotations.filter_map(|annotation| read(annotation).transpose()).collect()
}

/// Reads the events from the annotations of a recording, in the order of their samples.
pub(crate) fn events(root: &Value) -> Result<Vec<Event>, MetadataError> {
    let annotations = list(root, "annotations")?.iter().enumerate();
    let read = |(number, value)| Event::read(&Object::new(Place::Annotation(number), Some(value))?);
    let events = annotations.filter_map(|annotation| read(annotation).transpose());
    let mut events: Vec<_> = events.collect::<Result<_, _>>()?;
    // A journal has them in the order of their writing.
    events.sort_by_key(|event| event.sample_start);
    Ok(events)
}

fn list<'a>(root: &'a Value, field: &'static str) -> Result<&'a Vec<Value>, MetadataError> {
    let value = root.get(field).ok_or_else(|| MetadataError::Missing { field: field.into() })?;
    value.as_array().ok_or_else(|| MetadataError::Value {
        field: field.into(),
        value: excerpt(value),
        expected: "a list",
    })
}

fn capture(number: usize, value: &Value) -> Result<Capture, MetadataError> {
    let object = Object::new(Place::Capture(number), Some(value))?;
    if let Some(bytes) = object.count("core:header_bytes")?.filter(|&bytes| bytes > 0) {
        return Err(MetadataError::Unsupported {
            field: object.path("core:header_bytes"),
            value: bytes.to_string(),
        });
    }
    Ok(Capture {
        sample_start: object.needed("core:sample_start", Object::count)?,
        global_index: object.count("core:global_index")?,
        boot_id: object.read("samplewire:boot_id", "16 digits of hex", id_of)?,
        frequency_hz: object.number("core:frequency")?,
        datetime: object.text("core:datetime")?.map(str::to_owned),
        tai_ns: object.count("samplewire:tai_ns")?,
    })
}

/// Refuses recordings that this reader would misread.
fn refuse_unsupported(global: &Object<'_>) -> Result<(), MetadataError> {
    let unsupported = |field: &str, value: &Value| {
        Err(MetadataError::Unsupported { field: global.path(field), value: excerpt(value) })
    };
    for field in ["core:trailing_bytes", "core:metadata_only"] {
        match global.fields().get(field) {
            None | Some(Value::Bool(false)) => {}
            Some(value) if value.as_u64() == Some(0) => {}
            Some(value) => return unsupported(field, value),
        }
    }
    let extensions = global.read("core:extensions", "a list", Value::as_array)?;
    let required = |extension: &&Value| {
        let is_ours = extension.get("name").is_some_and(|name| name == "samplewire");
        extension.get("optional") == Some(&Value::Bool(false)) && !is_ours
    };
    match extensions.into_iter().flatten().find(required) {
        Some(extension) => unsupported("core:extensions", extension),
        None => Ok(()),
    }
}

fn is_sha512(text: &str) -> bool {
    text.len() == 128 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_file_name(text: &str) -> bool {
    !matches!(text, "" | "." | "..") && !text.contains(['/', '\\'])
}

/// Why the metadata of a recording are not valid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// The text is not JSON.
    #[error("no JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A required field is missing.
    #[error("{field} is missing")]
    Missing {
        /// The field.
        field: String,
    },
    /// A field has an invalid value.
    #[error("{field} is {value}: must be {expected}")]
    Value {
        /// The field.
        field: String,
        /// Its value.
        value: String,
        /// The valid values.
        expected: &'static str,
    },
    /// The format of the samples is not known.
    #[error("global.core:datatype: {0}")]
    Datatype(#[from] UnknownDatatype),
    /// The field requires a feature that this reader does not support.
    #[error("{field} is {value}: not supported")]
    Unsupported {
        /// The field.
        field: String,
        /// Its value.
        value: String,
    },
    /// A capture begins before the previous one, or before the recording.
    #[error("captures[{number}].core:sample_start is {sample_start}: must be at least {least}")]
    Order {
        /// The capture, counted from 0.
        number: usize,
        /// Where it begins.
        sample_start: u64,
        /// The beginning of the previous capture, or of the recording.
        least: u64,
    },
    /// A capture begins after the end of the data.
    #[error("captures[{number}].core:sample_start is {sample_start}: the data end at {end}")]
    Beyond {
        /// The capture, counted from 0.
        number: usize,
        /// Where it begins.
        sample_start: u64,
        /// The length of the data in samples.
        end: u64,
    },
    /// The data do not match the hash in the metadata.
    #[error("global.core:sha512 is {expected}, the data have {found}")]
    Sha512 {
        /// The hash in the metadata.
        expected: String,
        /// The hash of the data.
        found: String,
    },
}

#[cfg(test)]
mod tests;
