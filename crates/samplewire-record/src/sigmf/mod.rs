//! SigMF: metadata that say what the samples in a file are.
//!
//! [`Metadata`] reads what a recording says of itself, [`RecordedGap`] is what it lacks, [`Notes`] keep what is passed on unread, and
//! the recorder in [`crate::sink`] writes. The specification is <https://sigmf.org>, version 1.2.
//! Archives, collections and data files with headers between the samples are refused.

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

pub use datatype::{UnknownDatatype, datatype_of, format_of};
pub(crate) use datetime::rfc3339;
pub use digest::sha512_of;
pub(crate) use digest::{Sha512Hex, new_sha512};
pub(crate) use document::{Document, GAPS_MAX, Progress};
pub(crate) use entry::{Mark, MarkKind, Run};
pub use gap::{RecordedCause, RecordedGap};
pub(crate) use journal::Journal;
pub use metadata::{Capture, Claims, Metadata, MetadataError};
pub(crate) use metadata::{captures, marks};
pub use notes::Notes;
pub use paths::Paths;
