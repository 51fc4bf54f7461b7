//! Stations by which peers are reached over one interface.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::netlink::route;

/// The peers of streams that flow, and how to reach them.
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
        Self {
            interface,
            named,
            mac,
            local,
            peers: Vec::new(),
            last: 0,
            epoch: 0,
            confirmed: Instant::now(),
        }
    }

    /// Replaces the peers; looks for those that are new.
    pub(super) fn set(&mut self, addresses: &[SocketAddr]) {
        let mut addresses = addresses.to_vec();
        addresses.sort_unstable();
        addresses.dedup();
        let mut known = std::mem::take(&mut self.peers).into_iter().peekable();
        for address in addresses {
            while known.next_if(|peer| peer.address < address).is_some() {}
            let peer = known.next_if(|peer| peer.address == address).unwrap_or_else(|| Peer {
                address,
                hop: self.find(address),
                is_due: false,
                epoch: self.epoch,
                asked: Instant::now(),
            });
            self.peers.push(peer);
        }
        self.last = 0;
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

/// Between two packets by which the kernel confirms a station.
const CONFIRM_PAUSE: Duration = Duration::from_secs(5);

/// Between two questions for a station that the kernel does not know.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

const ETHER_TYPE_IPV4: [u8; 2] = [0x08, 0x00];
const ETHER_TYPE_IPV6: [u8; 2] = [0x86, 0xDD];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_those_of_the_streams_and_what_is_known_of_them_stays() {
        let [a, b, c] = [1, 2, 3].map(|host| SocketAddr::from(([192, 0, 2, host], 9_100)));
        let local = SocketAddr::from(([192, 0, 2, 9], 9_100));
        // No interface has this number.
        let mut hops = Hops::new(u32::MAX, [0; 6], local, None);
        hops.set(&[b, a, b]);
        hops.confirm(Instant::now() + CONFIRM_PAUSE);
        hops.set(&[c, b]);
        let peers: Vec<_> = hops.peers.iter().map(|peer| (peer.address, peer.is_due)).collect();
        assert_eq!(peers, [(b, true), (c, false)]);
        assert_eq!(hops.to(a), None);
        hops.set(&[]);
        assert!(hops.peers.is_empty());
    }
}
