//! Recordings of Samplewire streams: what is written, read back, and proven.
//!
//! - [`recorder`] is the loop from a device's streams into a sink; [`counters`] are its counters.
//! - [`sink`] writes samples and gaps: SigMF, raw bytes, compressed, in parts.
//! - [`source`] reads recordings and makes signals, for a device to send.
//! - [`account`] adds up every index of a recording; [`mod@verify`] proves a recording from its
//!   files alone.
//! - [`sigmf`] is the metadata, [`storage`] the files.
//!
//! The feature `graph`, off by default, adds [`chain`], which processes samples on their way into a
//! sink or out of a source, and the block of a circuit that writes a recording.

#![forbid(unsafe_code)]

pub mod account;
#[cfg(feature = "graph")]
pub mod chain;
pub mod counters;
#[cfg(feature = "graph")]
pub mod graph;
pub mod recorder;
pub mod sigmf;
pub mod sink;
pub mod source;
pub mod storage;
mod sync;
pub mod verify;

pub use verify::verify;
