//! Stations by which peers are reached over one interface.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::netlink::route;

/// Peers whose packets have come, and how to reach them.
#[derive(Debug)]
pub(super) struct Hops {
    interface: u32,
    /// The same where it was named; `None` where routes decide.
    named: Option<u32>,
    mac: [u8; 6],
    local: SocketAddr,
    /// In the order of their addresses.
    peers: Vec<Peer>,
    /// The place of the last one that was looked for.
    last: usize,
    /// Counts changes of the network: what was found before the last one is looked up again.
    epoch: u32,
    confirmed: Instant,
}

#[derive(Debug)]
struct Peer {
    address: SocketAddr,
    hop: Option<Hop>,
    /// The next packet goes by UDP, so that the kernel confirms the station.
    is_due: bool,
    epoch: u32,
    asked: Instant,
}

/// What stands before the packets to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hop {
    pub(super) ethernet: [u8; 14],
    pub(super) source: SocketAddr,
}

impl Hops {
    pub(super) fn new(interface: u32, mac: [u8; 6], local: SocketAddr, named: Option<u32>) -> Self {
        let peers = Vec::with_capacity(PEERS_MAX);
        Self { interface, named, mac, local, peers, last: 0, epoch: 0, confirmed: Instant::now() }
    }

    /// Enters a peer that has proven to know a stream.
    pub(super) fn enter(&mut self, address: SocketAddr) {
        if self.peers.get(self.last).is_some_and(|peer| peer.address == address) {
            return;
        }
        match self.place_of(address) {
            Ok(place) => self.last = place,
            // Those that still send are entered again.
            Err(_) if self.peers.len() == PEERS_MAX => self.peers.clear(),
            Err(place) => {
                let (hop, asked) = (self.find(address), Instant::now());
                let peer = Peer { address, hop, is_due: false, epoch: self.epoch, asked };
                self.peers.insert(place, peer);
                self.last = place;
            }
        }
    }

    /// How to reach a peer; `None` where packets to it go by UDP, through which the kernel finds its
    /// station.
    #[inline]
    pub(super) fn to(&mut self, address: SocketAddr) -> Option<Hop> {
        if self.peers.get(self.last).is_none_or(|peer| peer.address != address) {
            self.last = self.place_of(address).ok()?;
        }
        let peer = &self.peers[self.last];
        if peer.hop.is_none() || peer.epoch != self.epoch {
            self.refresh();
        }
        self.peers[self.last].hop
    }

    /// Whether the next packet to a peer goes by the interface. A packet goes by UDP every few seconds:
    /// the kernel asks for stations that it sends to, and sees packets of none of ours.
    pub(super) fn take(&mut self, address: SocketAddr) -> bool {
        if self.to(address).is_none() {
            return false;
        }
        !std::mem::take(&mut self.peers[self.last].is_due)
    }

    /// Now and then has the kernel confirm each station.
    pub(super) fn confirm(&mut self, now: Instant) {
        if now.duration_since(self.confirmed) >= CONFIRM_PAUSE {
            self.confirmed = now;
            self.peers.iter_mut().for_each(|peer| peer.is_due = true);
        }
    }

    /// Something in the network has changed.
    pub(super) fn expire(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// Looks the last peer up again, where that is due.
    #[cold]
    fn refresh(&mut self) {
        let peer = &self.peers[self.last];
        let now = Instant::now();
        if peer.epoch == self.epoch && now.duration_since(peer.asked) < RETRY_PAUSE {
            return;
        }
        let hop = self.find(peer.address);
        let (epoch, peer) = (self.epoch, &mut self.peers[self.last]);
        (peer.hop, peer.epoch, peer.asked) = (hop, epoch, now);
    }

    fn place_of(&self, address: SocketAddr) -> Result<usize, usize> {
        self.peers.binary_search_by_key(&address, |peer| peer.address)
    }

    /// The way that the kernel would take, if it is by this interface and it knows the station.
    fn find(&self, address: SocketAddr) -> Option<Hop> {
        let source = Some(self.local.ip()).filter(|ip| !ip.is_unspecified());
        let route = route::route(address.ip(), source, self.named).ok()?;
        if route.interface != self.interface {
            return None;
        }
        let mac = route::neighbour(self.interface, route.next_hop).ok()??;
        let source = SocketAddr::new(source.or(route.source)?, self.local.port());
        let kind = if address.is_ipv4() { ETHER_TYPE_IPV4 } else { ETHER_TYPE_IPV6 };
        let mut ethernet = [0; 14];
        ethernet[..6].copy_from_slice(&mac);
        ethernet[6..12].copy_from_slice(&self.mac);
        ethernet[12..].copy_from_slice(&kind);
        Some(Hop { ethernet, source })
    }
}

/// As many as streams.
const PEERS_MAX: usize = super::TAGS_MAX;

/// Between two packets by which the kernel confirms a station.
const CONFIRM_PAUSE: Duration = Duration::from_secs(5);

/// Between two questions for a station that the kernel does not know.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

const ETHER_TYPE_IPV4: [u8; 2] = [0x08, 0x00];
const ETHER_TYPE_IPV6: [u8; 2] = [0x86, 0xDD];
