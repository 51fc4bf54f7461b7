//! The part of ZeroMQ that samples need: ZMTP 3.0 over TCP (RFC 23), six kinds of socket (RFC 28,
//! 29, 30), the mechanism NULL.
//!
//! A [`Socket`] has no thread: its owner calls [`Socket::turn`], and waits with `poll(2)` for the
//! events in [`Socket::wants`]. A state machine without a socket ([`decoder`]) parses the input of
//! a peer. All memory is allocated with a connection, and there are at most 16 connections. A
//! message is handed on as its bytes come, and is never gathered.

mod connection;
mod control;
mod decoder;
mod endpoint;
mod notice;
mod socket;
mod wire;

pub(crate) use endpoint::Endpoint;
pub(crate) use notice::Notice;
pub(crate) use socket::{Config, Counts, Offered, Socket};
pub(crate) use wire::Kind;
