//! Captures and annotations of a recording, in its metadata and in its journal.

use samplewire_proto::SampleIndex;
use serde_json::{Value, json};

use super::MetadataError;
use super::field::{Object, excerpt, id_of, id_text};
use super::gap::{HostDrops, RecordedCause, RecordedGap};

/// A run of samples with consecutive indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The run's first sample in the file.
    pub(crate) sample_start: u64,
    /// The index of its first sample.
    pub(crate) index: SampleIndex,
    /// The device's time of its first sample in TAI nanoseconds, if it was known.
    pub(crate) tai_ns: Option<u64>,
}

/// Indexes between two runs. They have no samples in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The first sample in the file after these indexes.
    pub(crate) sample_start: u64,
    pub(crate) kind: MarkKind,
    /// The device's run, if no capture of the session comes before; later the capture states it.
    pub(crate) boot_id: Option<u64>,
}

/// What happened to the indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkKind {
    /// They are missing.
    Gap(RecordedGap),
    /// The device left them out on purpose: no samples belong to them.
    Jump {
        /// The first of the indexes.
        first: SampleIndex,
        /// The number of indexes.
        count: u64,
    },
}

impl Mark {
    /// Returns the first of the indexes.
    pub(crate) const fn first(&self) -> SampleIndex {
        match &self.kind {
            MarkKind::Gap(gap) => gap.first,
            MarkKind::Jump { first, .. } => *first,
        }
    }

    /// Returns the index after the last of them.
    pub(crate) const fn end(&self) -> SampleIndex {
        match &self.kind {
            MarkKind::Gap(gap) => gap.end(),
            MarkKind::Jump { first, count } => first.saturating_add(*count),
        }
    }

    /// Returns the annotation of this mark.
    pub(crate) fn annotation(&self) -> Value {
        let mut annotation = json!({
            "core:sample_start": self.sample_start,
            "core:sample_count": 0,
            "core:generator": RECORDER,
        });
        if let Some(boot_id) = self.boot_id {
            annotation["samplewire:boot_id"] = id_text(boot_id).into();
        }
        match &self.kind {
            MarkKind::Gap(gap) => {
                annotation["core:label"] = "gap".into();
                annotation["core:comment"] = gap_words(gap).into();
                annotation["samplewire:first_index"] = gap.first.into();
                annotation["samplewire:not_repaired"] = gap.not_repaired.into();
                annotation["samplewire:source_lost"] = gap.source_lost.into();
                annotation["samplewire:cause"] = gap.cause.as_str().into();
                if gap.is_estimated() {
                    annotation["samplewire:estimated"] = true.into();
                }
                for (field, samples) in
                    [(NIC_DROPPED, gap.host.nic), (KERNEL_DROPPED, gap.host.kernel)]
                {
                    if samples > 0 {
                        annotation[field] = samples.into();
                    }
                }
                if let Some(stream) = gap.stream {
                    annotation["samplewire:stream"] = stream.into();
                }
            }
            MarkKind::Jump { first, count } => {
                let last = self.end().saturating_sub(1);
                let comment = format!("indexes {first}..{last} ({count}) were left out on purpose");
                annotation["core:label"] = "jump".into();
                annotation["core:comment"] = comment.into();
                annotation["samplewire:first_index"] = (*first).into();
                annotation["samplewire:jumped"] = (*count).into();
            }
        }
        annotation
    }

    /// Reads an annotation; `None` if it is not one of Samplewire's.
    pub(super) fn read(object: &Object<'_>) -> Result<Option<Self>, MetadataError> {
        let Some(first) = object.count("samplewire:first_index")? else { return Ok(None) };
        let sample_start = object.needed("core:sample_start", Object::count)?;
        let kind = match object.count("samplewire:jumped")? {
            Some(count) => MarkKind::Jump { first, count },
            None => {
                let words = object.needed("samplewire:cause", Object::text)?;
                let cause = RecordedCause::of_words(words).ok_or_else(|| MetadataError::Value {
                    field: object.path("samplewire:cause"),
                    value: excerpt(&words.into()),
                    expected: "a cause of docs/statistics.md",
                })?;
                let number = |value: &Value| value.as_u64()?.try_into().ok();
                let stream = object.read("samplewire:stream", "0 to 65535", number)?;
                let not_repaired = object.needed("samplewire:not_repaired", Object::count)?;
                MarkKind::Gap(RecordedGap {
                    stream,
                    first,
                    not_repaired,
                    source_lost: object.needed("samplewire:source_lost", Object::count)?,
                    cause,
                    host: host_drops(object, not_repaired)?,
                })
            }
        };
        let boot_id = object.read("samplewire:boot_id", "16 digits of hex", id_of)?;
        Ok(Some(Self { sample_start, kind, boot_id }))
    }
}

/// A remark about an index, which does not affect the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The sample at the index, or the first in the file after it.
    pub(crate) sample_start: u64,
    pub(crate) index: SampleIndex,
    pub(crate) text: String,
}

impl Event {
    /// Returns the annotation of this event.
    pub(crate) fn annotation(&self) -> Value {
        json!({
            "core:sample_start": self.sample_start,
            "core:sample_count": 0,
            "core:generator": RECORDER,
            "core:label": "event",
            "core:comment": self.text,
            (EVENT_INDEX): self.index,
        })
    }

    /// Returns an upper bound of the annotation's length in bytes.
    pub(super) const fn len_bytes_max(&self) -> u64 {
        // JSON writes a control character in six bytes.
        EVENT_BYTES_MAX + 6 * self.text.len() as u64
    }

    /// Reads an annotation; `None` if it is not an event.
    pub(super) fn read(object: &Object<'_>) -> Result<Option<Self>, MetadataError> {
        let Some(index) = object.count(EVENT_INDEX)? else { return Ok(None) };
        let sample_start = object.needed("core:sample_start", Object::count)?;
        let text = object.text("core:comment")?.unwrap_or_default().to_owned();
        Ok(Some(Self { sample_start, index, text }))
    }
}

/// Reads what the host dropped of a gap.
fn host_drops(object: &Object<'_>, not_repaired: u64) -> Result<HostDrops, MetadataError> {
    let count = |field| Ok::<_, MetadataError>(object.count(field)?.unwrap_or(0));
    let host = HostDrops { nic: count(NIC_DROPPED)?, kernel: count(KERNEL_DROPPED)? };
    if host.within(not_repaired) == host {
        return Ok(host);
    }
    let field = if host.nic > not_repaired { NIC_DROPPED } else { KERNEL_DROPPED };
    let value = if host.nic > not_repaired { host.nic } else { host.kernel };
    Err(MetadataError::Value {
        field: object.path(field),
        value: value.to_string(),
        expected: "at most samplewire:not_repaired together",
    })
}

fn gap_words(gap: &RecordedGap) -> String {
    let RecordedGap { first, .. } = gap;
    let cause = match gap.stream {
        Some(stream) => format!("{}, stream {stream}", gap.cause),
        None => gap.cause.to_string(),
    };
    if gap.is_estimated() {
        return match gap.count() {
            0 => format!("samples from {first} on are missing: {cause}"),
            count => format!("about {count} samples from {first} on are missing: {cause}"),
        };
    }
    match gap.count() {
        1 => format!("sample {first} is missing: {cause}"),
        count => format!(
            "samples {first}..{} ({count}) are missing: {cause}",
            gap.end().saturating_sub(1)
        ),
    }
}

/// Samples of a gap that this host's card, and its kernel, dropped; absent for none.
const NIC_DROPPED: &str = "samplewire:nic_dropped";
const KERNEL_DROPPED: &str = "samplewire:kernel_dropped";

/// The index of an event.
const EVENT_INDEX: &str = "samplewire:event_index";

/// The maximum length of an event's annotation without its text.
const EVENT_BYTES_MAX: u64 = 320;

/// The program and version that write the metadata.
pub(super) const RECORDER: &str = concat!("samplewire ", env!("CARGO_PKG_VERSION"));
