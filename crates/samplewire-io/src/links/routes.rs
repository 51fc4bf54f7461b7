//! By which of several links the packets to a peer leave.

use std::collections::HashMap;
use std::net::SocketAddr;

use crate::favoured::{Favoured, Word};
use crate::links::LINKS_MAX;

/// The routes of peers, at most [`PEERS_MAX`]. At the bound those are forgotten whose stream does not
/// flow: their next packet, or the kernel, has them again.
#[derive(Debug)]
pub(super) struct Routes {
    peers: HashMap<SocketAddr, Route>,
    /// The last that was looked up.
    last: Option<(SocketAddr, usize)>,
    /// Of each link: a peer whose next packet by it changes nothing.
    settled: Vec<Option<SocketAddr>>,
    /// Where the tag of a packet stands, and those of the streams that flow, in ascending order.
    tag_offset_bytes: usize,
    tags: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Route {
    link: usize,
    /// A packet of a stream that flows came by it.
    is_proven: bool,
}

impl Routes {
    /// Over so many links.
    pub(super) fn new(links: usize) -> Self {
        Self {
            // Twice the bound: a table that is half full is put in order without an allocation.
            peers: HashMap::with_capacity(2 * PEERS_MAX),
            last: None,
            settled: vec![None; links],
            tag_offset_bytes: 0,
            tags: Vec::with_capacity(Favoured::VALUES_MAX),
        }
    }

    /// The link of a peer, if it is known.
    #[inline]
    pub(super) fn of(&mut self, peer: SocketAddr) -> Option<usize> {
        if let Some((last, link)) = self.last
            && last == peer
        {
            return Some(link);
        }
        let link = self.peers.get(&peer)?.link;
        self.last = Some((peer, link));
        Some(link)
    }

    /// Takes the route of a peer that is not known from elsewhere.
    pub(super) fn set(&mut self, peer: SocketAddr, link: usize) {
        self.insert(peer, Route { link, is_proven: false });
    }

    /// How many peers each link has.
    pub(super) fn peers_by_link(&self) -> [usize; LINKS_MAX] {
        let mut count = [0; LINKS_MAX];
        self.peers.values().for_each(|route| count[route.link] += 1);
        count
    }

    /// A packet of `peer` came by `link`.
    #[inline]
    pub(super) fn note(&mut self, peer: SocketAddr, link: usize, bytes: &[u8]) {
        if self.settled[link] != Some(peer) {
            self.learn(peer, link, bytes);
        }
    }

    #[inline(never)]
    fn learn(&mut self, peer: SocketAddr, link: usize, bytes: &[u8]) {
        let is_proven = self.is_of_stream(bytes);
        match self.peers.get_mut(&peer) {
            Some(route) if route.link == link => route.is_proven |= is_proven,
            // It may be a stranger's.
            Some(route) if route.is_proven && !is_proven => return,
            Some(route) => {
                self.settled[route.link].take_if(|settled| *settled == peer);
                *route = Route { link, is_proven };
                self.last = None;
            }
            None => self.insert(peer, Route { link, is_proven }),
        }
        if is_proven {
            self.settled[link] = Some(peer);
        }
    }

    /// The tags of the streams that flow change; each route is to be proven again.
    pub(super) fn set_tags(&mut self, word: Option<&Word<'_>>) {
        self.tags.clear();
        if let Some(word) = word {
            self.tag_offset_bytes = word.offset_bytes.into();
            self.tags.extend(word.values.iter().take(Favoured::VALUES_MAX));
            self.tags.sort_unstable();
        }
        self.peers.values_mut().for_each(|route| route.is_proven = false);
        self.settled.fill(None);
    }

    fn insert(&mut self, peer: SocketAddr, route: Route) {
        if self.peers.len() >= PEERS_MAX {
            self.peers.retain(|_, route| route.is_proven);
            self.last = None;
            if self.peers.len() >= PEERS_MAX {
                self.peers.clear();
                self.settled.fill(None);
            }
        }
        self.peers.insert(peer, route);
    }

    fn is_of_stream(&self, bytes: &[u8]) -> bool {
        let tag = bytes.get(self.tag_offset_bytes..).and_then(|rest| rest.first_chunk());
        tag.is_some_and(|tag| self.tags.binary_search(&u32::from_be_bytes(*tag)).is_ok())
    }
}

/// Peers of all links, at most: twice the streams of a port.
const PEERS_MAX: usize = 2_048;

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: u32 = 0x0102_0304;

    fn peer(number: u16) -> SocketAddr {
        ([192, 0, 2, 1], number).into()
    }

    fn packet(tag: u32) -> Vec<u8> {
        [&[0, 0][..], &tag.to_be_bytes()].concat()
    }

    fn routes() -> Routes {
        let mut routes = Routes::new(3);
        routes.set_tags(Some(&Word { offset_bytes: 2, values: &[9, TAG, 5] }));
        routes
    }

    #[test]
    fn route_follows_the_peer_until_its_stream_flows_and_then_its_stream() {
        let mut routes = routes();
        assert_eq!(routes.of(peer(1)), None);
        routes.note(peer(1), 2, b"");
        assert_eq!(routes.of(peer(1)), Some(2));
        routes.note(peer(1), 0, &packet(7));
        assert_eq!(routes.of(peer(1)), Some(0));
        for _ in 0..2 {
            routes.note(peer(1), 0, &packet(TAG));
            routes.note(peer(1), 1, &packet(7));
            routes.note(peer(1), 1, &[0, 0, 1]);
            assert_eq!(routes.of(peer(1)), Some(0), "of a stranger");
        }
        routes.note(peer(1), 1, &packet(TAG));
        assert_eq!(routes.of(peer(1)), Some(1));
        routes.note(peer(1), 0, &packet(TAG));
        assert_eq!(routes.of(peer(1)), Some(0), "back");
        routes.set_tags(None);
        routes.note(peer(1), 2, &packet(TAG));
        assert_eq!(routes.of(peer(1)), Some(2), "no stream flows");
    }

    #[test]
    fn flood_of_strangers_forgets_no_peer_whose_stream_flows_and_takes_no_memory() {
        let mut routes = routes();
        routes.note(peer(1), 2, &packet(TAG));
        let capacity = routes.peers.capacity();
        for number in 2..u16::MAX {
            routes.note(peer(number), 1, &packet(7));
            assert!(routes.peers.len() <= PEERS_MAX);
        }
        assert_eq!(routes.of(peer(1)), Some(2));
        assert_eq!(routes.of(peer(2)), None, "it is forgotten");
        assert_eq!(routes.peers.capacity(), capacity);
        assert_eq!(routes.peers_by_link()[..3], [0, routes.peers.len() - 1, 1]);
    }
}
