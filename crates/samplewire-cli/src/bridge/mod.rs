//! A bridge between streams and ZeroMQ sockets ([`samplewire_zmtp`]).
//!
//! Each direction has a thread of its own: [`serve_outward`] carries received streams to sockets, and
//! [`serve_inward`] what comes from sockets into streams. Both run until their stream or the
//! [`Ending`] ends, and report to a [`Report`]. Counts are read from other threads by a [`Watch`].

mod ending;
mod inward;
mod outward;
mod report;
mod session;
mod shape;
mod wait;
mod watch;

pub(crate) use ending::Ending;
pub(crate) use inward::Inward;
pub(crate) use outward::{GapFill, Outward};
pub(crate) use report::{Counts, Received, Report, Sent, Session};
pub(crate) use session::{BridgeError, Spout, Tap, serve_inward, serve_outward};
pub(crate) use shape::Shape;
pub(crate) use watch::{Carried, Watch};
