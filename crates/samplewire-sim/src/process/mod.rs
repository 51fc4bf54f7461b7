//! Processes that run the endpoint of `samplewire`, unchanged, on virtual time. The checker sees what
//! each sends and takes, what its programs are handed, and its machines from outside.

mod breach;
mod client;
mod device;
mod endpoint;
mod facts;
mod judge;
mod known;
mod link;
mod sending;
mod taking;

use samplewire_proto::session::Peer;
use samplewire_proto::{Nanos, Rng};

use crate::check::Checker;
use crate::net::Net;
use crate::packets::ProcessId;

pub(crate) use breach::shifted;
pub(crate) use client::{Client, ClientSpec};
pub(crate) use device::{Device, DeviceSpec};
pub(crate) use endpoint::Endpoint;
pub(crate) use facts::{Facts, Observed, Place};
pub(crate) use link::{Departed, Frames, MailLink, Mailbox, lock};
pub(crate) use taking::ConsumerSpec;

/// The world as a process sees it during a turn.
pub(crate) struct Turn<'a> {
    pub(crate) net: &'a mut Net,
    pub(crate) checker: &'a mut Checker,
    pub(crate) rng: &'a mut Rng,
    pub(crate) me: ProcessId,
    /// By the machine's clock.
    pub(crate) now: Nanos,
}

/// Where a packet came from, and how.
pub(crate) struct Arrival {
    pub(crate) from: Peer,
    pub(crate) is_marked: bool,
    /// What the socket has dropped since the packet before.
    pub(crate) dropped: u32,
}
