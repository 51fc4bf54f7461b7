//! A link that records calls, has a filter and may find its peer unreachable, for tests.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use samplewire_io::memory::Memory;
use samplewire_io::{Batch, Capabilities, Favoured, KnownTags, Link, LinkError, Outgoing, Waker};

pub(super) struct Filtering {
    link: Memory,
    seen: Arc<Seen>,
}

/// The calls to the link, and its simulated errors.
#[derive(Default)]
pub(super) struct Seen {
    filter: Mutex<Vec<bool>>,
    pub(super) unreachable: AtomicU64,
    /// Addresses beside its own that it claims to have.
    pub(super) more_addresses: AtomicU64,
    steered: Mutex<Vec<usize>>,
    room: Mutex<Vec<(u32, usize)>>,
}

impl Seen {
    /// Each switch of the filter, on or off.
    pub(super) fn filter(&self) -> Vec<bool> {
        self.filter.lock().unwrap().clone()
    }

    /// How many streams each call has named as those that flow.
    pub(super) fn steered(&self) -> Vec<usize> {
        self.steered.lock().unwrap().clone()
    }

    /// How many packets of how many bytes each call has made room for.
    pub(super) fn room(&self) -> Vec<(u32, usize)> {
        self.room.lock().unwrap().clone()
    }
}

impl Filtering {
    pub(super) fn new(link: Memory) -> (Self, Arc<Seen>) {
        let seen = Arc::new(Seen::default());
        (Self { link, seen: Arc::clone(&seen) }, seen)
    }
}

impl Link for Filtering {
    fn capabilities(&self) -> Capabilities {
        self.link.capabilities()
    }

    fn local_addr(&self) -> SocketAddr {
        self.link.local_addr()
    }

    fn local_addrs(&self) -> Vec<SocketAddr> {
        let more = self.seen.more_addresses.load(Ordering::Relaxed);
        (0..=more).map(|_| self.link.local_addr()).collect()
    }

    fn steer(&mut self, tags: Option<&KnownTags<'_>>) {
        self.seen.steered.lock().unwrap().push(tags.map_or(0, |it| it.peers.len()));
    }

    fn make_room(&mut self, packets: u32, packet_bytes: usize) {
        self.seen.room.lock().unwrap().push((packets, packet_bytes));
    }

    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        self.link.send(packets)
    }

    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        self.link.recv(batch)
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), LinkError> {
        self.link.wait(timeout)
    }

    fn waker(&self) -> Waker {
        self.link.waker()
    }

    fn favour(&mut self, favoured: Option<&Favoured<'_>>) -> bool {
        self.seen.filter.lock().unwrap().push(favoured.is_some());
        true
    }

    fn unreachable_hint(&self) -> u64 {
        self.seen.unreachable.load(Ordering::Relaxed)
    }
}
