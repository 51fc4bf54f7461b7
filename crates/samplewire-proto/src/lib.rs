//! The Samplewire stream protocol: wire formats and state machines.
//!
//! Nothing here reads a clock, opens a socket, allocates or prints: time is an argument
//! ([`Nanos`]), randomness is a seed, and the caller provides the storage. So the same code runs on
//! a host, in the simulator and beside the RTL. `docs/protocol.md` is the normative text; code that
//! implements a rule cites its number.

#![cfg_attr(not(any(test, feature = "std")), no_std)]
#![forbid(unsafe_code)]

pub mod block;
pub mod checksum;
mod clock;
mod counters;
pub mod crc;
#[cfg(feature = "search")]
pub mod fingerprint;
pub mod gap;
mod latency;
pub mod number;
mod out_of_range;
pub mod play;
pub mod random;
pub mod rate;
pub mod receiver;
pub mod sender;
pub mod session;
pub mod stream;
mod tai;
mod terms_error;
pub mod wire;

pub use gap::{Cause, Gap};
pub use latency::Latencies;
pub use number::{Departure, Nanos, SampleIndex, Seq, Tag};
pub use out_of_range::{OutOfRange, WINDOW_RANGE};
pub use random::{Odds, Rng};
pub use tai::TaiClock;

#[cfg(test)]
mod tests;
