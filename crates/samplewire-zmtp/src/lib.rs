//! The part of ZeroMQ that samples need: ZMTP 3.0 over TCP (RFC 23), six kinds of socket (RFC 28,
//! 29, 30), the mechanism NULL.
//!
//! A [`Socket`] has no thread: its owner calls [`Socket::turn`], and waits with `poll(2)` for the
//! events in [`Socket::wants`]. State machines without a socket parse the input of a peer: [`Decoder`], and
//! [`Control`]. All memory is allocated with a connection, but for its subscriptions or the envelope of its
//! request, which take some 4 KiB at most. There are at most 16 connections. A message is handed on as
//! its bytes come, and is never gathered.

#![forbid(unsafe_code)]

mod connection;
mod control;
mod decoder;
mod endpoint;
mod notice;
mod socket;
mod wire;

pub use control::Control;
pub use decoder::{Decoder, Step};
pub use endpoint::Endpoint;
pub use notice::Notice;
pub use socket::{Config, Counts, Offered, Socket};
pub use wire::{Kind, Violation};
