//! RoCEv2 reliable connections (RC): wire formats and state machines.
//!
//! Sources: InfiniBand Architecture Specification Vol. 1 ("IB") and its annex A17. Code that
//! implements a rule of theirs cites the section.
//!
//! Nothing here reads a clock, opens a socket, allocates or prints: time is an argument
//! ([`Nanos`](samplewire_proto::Nanos)), and the caller owns queues, regions and all payload.

#![cfg_attr(not(any(test, feature = "std")), no_std)]
#![forbid(unsafe_code)]

mod counters;
mod number;
pub mod qp;
mod region;
pub mod requester;
pub mod responder;
pub mod wire;

pub use counters::{QpStats, RequesterStats, ResponderStats};
pub use number::{MESSAGE_BYTES_MAX, PathMtu, Psn, Qpn};
pub use region::{Access, Region, RegionError};

#[cfg(test)]
mod tests;
