//! Recordings of Samplewire streams: write them, read them and verify them.
//!
//! - [`recorder`] records a device's streams into a sink; [`counters`] are its counters.
//! - [`sink`] writes samples and gaps: SigMF, raw bytes, compressed, in parts.
//! - [`source`] reads recordings and generates signals for a device to send.
//! - [`account`] counts every index of a recording; [`mod@verify`] proves a recording from its
//!   files alone.
//! - [`sigmf`] reads and writes metadata; [`storage`] accesses files.
//!
//! The feature `graph`, off by default, adds [`chain`] and a circuit block that writes a recording.
//! [`chain`] processes samples before a sink or after a source.

#![forbid(unsafe_code)]

pub mod account;
#[cfg(feature = "graph")]
pub mod chain;
pub mod counters;
mod existing;
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
