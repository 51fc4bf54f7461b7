//! ZeroMQ as far as samples need it: ZMTP 3.0 over TCP (RFC 23), six kinds of socket (RFC 28, 29, 30),
//! the mechanism NULL.
//!
//! A [`Socket`] has no thread and no queue of its own kind: its owner calls [`Socket::turn`] and waits
//! with `poll(2)` on what [`Socket::wants`] names. What a peer sends is parsed by one state machine
//! without a socket ([`decoder`]); all memory is taken with a connection, of which there are at most
//! 16; a message is handed on as its bytes come and is never gathered.

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
