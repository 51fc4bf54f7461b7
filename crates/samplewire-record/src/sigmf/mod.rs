//! SigMF: metadata that describe the samples in a file.
//!
//! [`Metadata`] reads the description of a recording, [`RecordedGap`] is one of its gaps, and
//! [`Notes`] keep fields that are passed on unread. The sinks in [`crate::sink`] write recordings.
//! The specification is <https://sigmf.org>, version 1.2. Archives, collections and data files with
//! headers between the samples are refused.

mod datatype;
mod datetime;
mod digest;
mod document;
mod entry;
mod field;
mod gap;
mod journal;
mod metadata;
mod notes;
mod paths;

pub use datatype::{UnknownDatatype, format_of};
pub use datetime::rfc3339;
pub use digest::sha512_of;
pub(crate) use document::{Document, EVENTS_MAX, GAPS_MAX, Progress, TEXT_BYTES_MAX};
pub(crate) use entry::{Event, Mark, MarkKind};
pub use gap::{HostDrops, RecordedCause, RecordedGap};
pub(crate) use journal::Journal;
pub use metadata::{Capture, Claims, Metadata, MetadataError, PlacedGap, gaps};
pub(crate) use metadata::{captures, events, marks};
pub use notes::Notes;
pub use paths::Paths;
pub(crate) use paths::suffixed;
