//! What a process works with in one turn.

use samplewire_proto::session::Peer;
use samplewire_proto::{Nanos, Rng};

use crate::check::Checker;
use crate::net::Net;
use crate::packets::ProcessId;

/// The world as a process sees it during a turn.
pub(crate) struct Turn<'a> {
    pub(crate) net: &'a mut Net,
    pub(crate) checker: &'a mut Checker,
    pub(crate) pool: &'a mut Pool,
    pub(crate) rng: &'a mut Rng,
    pub(crate) me: ProcessId,
    /// By the machine's clock.
    pub(crate) now: Nanos,
}

impl Turn<'_> {
    pub(crate) fn send_control(&mut self, to: ProcessId, bytes: &[u8]) {
        self.net.send(self.me, to, [bytes, &[], &[]], 0, false);
    }
}

/// Where a packet came from, and how.
pub(crate) struct Arrival {
    pub(crate) from: Peer,
    pub(crate) is_marked: bool,
    /// What the socket has dropped since the packet before.
    pub(crate) dropped: u32,
}

/// Places for packets that the streams of a machine share, as quanta of a pool.
#[derive(Debug)]
pub(crate) struct Pool {
    free: u32,
    places: u32,
}

impl Pool {
    pub(crate) const fn new(places: u32) -> Self {
        Self { free: places, places }
    }

    /// Lends up to `wanted` places.
    pub(crate) fn lend(&mut self, wanted: u32) -> u32 {
        let lent = wanted.min(self.free);
        self.free -= lent;
        lent
    }

    /// Takes places back.
    ///
    /// # Panics
    /// When more come back than were lent.
    pub(crate) fn give_back(&mut self, places: u32) {
        self.free += places;
        assert!(self.free <= self.places, "a place was given back twice");
    }

    /// Whether every place is free.
    pub(crate) const fn is_whole(&self) -> bool {
        self.free == self.places
    }
}
