//! Recordings of Samplewire streams: what is written, read back, and proven.
//!
//! - [`sink`] writes samples and gaps: SigMF, raw bytes, compressed, in parts.
//! - [`source`] reads recordings and makes signals, for a device to send.
//! - [`account`] adds up every index of a recording; [`mod@verify`] proves a recording from its
//!   files alone.
//! - [`chain`] processes samples on their way into a sink or out of a source.
//! - [`sigmf`] is the metadata, [`storage`] the files, [`graph`] the blocks that read and write in a
//!   circuit.

#![forbid(unsafe_code)]

pub mod account;
pub mod chain;
pub mod graph;
pub mod sigmf;
pub mod sink;
pub mod source;
pub mod storage;
mod sync;
pub mod verify;

pub use verify::verify;
