//! The host's side of a stream behind a small C ABI, for a bench that drives simulated hardware.
//!
//! The machines are those of `samplewire-proto`; time is the bench's. [`host`] holds the stream and
//! checks every delivered byte; [`abi`] is what C++ calls, declared in
//! `include/samplewire_cosim.h`.

pub mod abi;
pub mod host;
pub mod pattern;
