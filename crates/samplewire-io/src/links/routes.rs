//! By which of several links the packets to a peer leave.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::favoured::{Favoured, KnownTags};
use crate::links::LINKS_MAX;

/// The routes of peers, at most [`PEERS_MAX`]. At the bound those are forgotten whose stream does
/// not flow: they are learned again from their next packet, or from the kernel's routes.
///
/// A packet with the tag of a stream proves a route only for the peer of that stream, so a client
/// that knows its own tag cannot move the route of another. One that sees the packets of another
/// could.
#[derive(Debug)]
pub(super) struct Routes {
    peers: HashMap<SocketAddr, Route>,
    /// The last that was looked up.
    last: Option<(SocketAddr, usize)>,
    /// Of each link: a peer whose next packet by it changes nothing.
    settled: Vec<Option<SocketAddr>>,
    /// Where the tag of a packet stands, and those of the streams that flow, in ascending order.
    tag_offset_bytes: usize,
    tags: Vec<PeerTag>,
}

/// The tag of a stream, and the peer that sends its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PeerTag {
    tag: u32,
    peer: SocketAddr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Route {
    link: usize,
    basis: Basis,
}

/// Why a route is as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Basis {
    /// Nothing has come: the link was chosen then.
    Guessed(Instant),
    /// A packet came by it, which may be a stranger's.
    Heard,
    /// A packet with this tag of the peer's stream came by it.
    Proven(u32),
}

impl Route {
    const fn is_proven(&self) -> bool {
        matches!(self.basis, Basis::Proven(_))
    }
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

    /// The link of a peer, if it is known, or was guessed within [`GUESS_MAX`].
    #[inline]
    pub(super) fn of(&mut self, peer: SocketAddr, now: impl FnOnce() -> Instant) -> Option<usize> {
        if let Some((last, link)) = self.last
            && last == peer
        {
            return Some(link);
        }
        let route = self.peers.get(&peer)?;
        if let Basis::Guessed(at) = route.basis {
            return (now().duration_since(at) <= GUESS_MAX).then_some(route.link);
        }
        self.last = Some((peer, route.link));
        Some(route.link)
    }

    /// Guesses the route of a peer that is not known.
    pub(super) fn guess(&mut self, peer: SocketAddr, link: usize, now: Instant) {
        self.insert(peer, Route { link, basis: Basis::Guessed(now) });
    }

    /// Forgets the peers of a link that has failed, but for those whose stream flows by it.
    pub(super) fn forget_link(&mut self, link: usize) {
        self.peers.retain(|_, route| route.link != link || route.is_proven());
        self.last = None;
    }

    /// How many peers each link has.
    pub(super) fn peers_by_link(&self) -> [usize; LINKS_MAX] {
        let mut count = [0; LINKS_MAX];
        self.peers.values().for_each(|route| count[route.link] += 1);
        count
    }

    /// A packet of `peer` came by `link`. Returns whether its route was another.
    #[inline]
    pub(super) fn note(&mut self, peer: SocketAddr, link: usize, bytes: &[u8]) -> bool {
        self.settled[link] != Some(peer) && self.learn(peer, link, bytes)
    }

    #[inline(never)]
    fn learn(&mut self, peer: SocketAddr, link: usize, bytes: &[u8]) -> bool {
        let mut has_moved = false;
        let basis = self.stream_tag(peer, bytes).map_or(Basis::Heard, Basis::Proven);
        let next = Route { link, basis };
        match self.peers.get_mut(&peer) {
            // It may be a stranger's.
            Some(route) if route.is_proven() && !next.is_proven() => return false,
            Some(route) => {
                has_moved = route.link != link;
                if has_moved {
                    self.settled[route.link].take_if(|settled| *settled == peer);
                    self.last = None;
                }
                *route = next;
            }
            None => self.insert(peer, next),
        }
        if next.is_proven() {
            self.settled[link] = Some(peer);
        }
        has_moved
    }

    /// The tags of the streams that flow change; routes by a tag that is gone are to be proven
    /// again.
    pub(super) fn set_tags(&mut self, known: Option<&KnownTags<'_>>) {
        self.tags.clear();
        if let Some(KnownTags { word, peers }) = known {
            self.tag_offset_bytes = word.offset_bytes.into();
            let tags = word.values.iter().zip(*peers).take(Favoured::VALUES_MAX);
            self.tags.extend(tags.map(|(&tag, &peer)| PeerTag { tag, peer }));
            self.tags.sort_unstable();
        }
        let Self { peers, tags, settled, .. } = self;
        for (&peer, route) in peers.iter_mut() {
            if let Basis::Proven(tag) = route.basis
                && tags.binary_search(&PeerTag { tag, peer }).is_err()
            {
                route.basis = Basis::Heard;
                settled[route.link].take_if(|settled| *settled == peer);
            }
        }
    }

    fn insert(&mut self, peer: SocketAddr, route: Route) {
        if self.peers.len() >= PEERS_MAX {
            self.peers.retain(|_, route| route.is_proven());
            self.last = None;
            if self.peers.len() >= PEERS_MAX {
                self.peers.clear();
                self.settled.fill(None);
            }
        }
        self.peers.insert(peer, route);
    }

    /// The tag of a packet, if it is of a stream of this peer.
    fn stream_tag(&self, peer: SocketAddr, bytes: &[u8]) -> Option<u32> {
        let tag = bytes.get(self.tag_offset_bytes..).and_then(|rest| rest.first_chunk())?;
        let tag = u32::from_be_bytes(*tag);
        self.tags.binary_search(&PeerTag { tag, peer }).is_ok().then_some(tag)
    }
}

/// How long a guess holds: the kernel's routes may change, or the peer may not answer by this one.
pub(super) const GUESS_MAX: Duration = Duration::from_secs(1);

/// Peers of all links, at most: twice the streams of a port.
const PEERS_MAX: usize = 2_048;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::favoured::Word;

    const TAG: u32 = 0x0102_0304;

    fn peer(number: u16) -> SocketAddr {
        ([192, 0, 2, 1], number).into()
    }

    fn packet(tag: u32) -> Vec<u8> {
        [&[0, 0][..], &tag.to_be_bytes()].concat()
    }

    /// Streams flow with these tags of these peers.
    fn set_tags(routes: &mut Routes, values: &[u32], peers: &[SocketAddr]) {
        routes.set_tags(Some(&KnownTags { word: Word { offset_bytes: 2, values }, peers }));
    }

    fn routes() -> Routes {
        let mut routes = Routes::new(3);
        set_tags(&mut routes, &[9, TAG, 5], &[peer(9), peer(1), peer(5)]);
        routes
    }

    fn of(routes: &mut Routes, peer: SocketAddr) -> Option<usize> {
        routes.of(peer, || unreachable!("it is no guess"))
    }

    #[test]
    fn route_follows_the_peer_until_its_stream_flows_and_then_its_stream() {
        let mut routes = routes();
        assert_eq!(of(&mut routes, peer(1)), None);
        routes.note(peer(1), 2, b"");
        assert_eq!(of(&mut routes, peer(1)), Some(2));
        routes.note(peer(1), 0, &packet(7));
        assert_eq!(of(&mut routes, peer(1)), Some(0));
        for _ in 0..2 {
            routes.note(peer(1), 0, &packet(TAG));
            routes.note(peer(1), 1, &packet(7));
            routes.note(peer(1), 1, &[0, 0, 1]);
            assert_eq!(of(&mut routes, peer(1)), Some(0), "of a stranger");
        }
        assert!(routes.note(peer(1), 1, &packet(TAG)), "it moves");
        assert!(!routes.note(peer(1), 1, &packet(TAG)));
        assert_eq!(of(&mut routes, peer(1)), Some(1));
        assert!(routes.note(peer(1), 0, &packet(TAG)));
        assert_eq!(of(&mut routes, peer(1)), Some(0), "back");
        routes.set_tags(None);
        routes.note(peer(1), 2, &packet(TAG));
        assert_eq!(of(&mut routes, peer(1)), Some(2), "no stream flows");
    }

    #[test]
    fn tag_of_a_client_does_not_move_the_route_of_another() {
        let mut routes = routes();
        routes.note(peer(1), 0, &packet(TAG));
        routes.note(peer(1), 2, &packet(9));
        assert_eq!(of(&mut routes, peer(1)), Some(0));
        routes.note(peer(3), 1, &packet(9));
        routes.note(peer(3), 2, b"");
        assert_eq!(of(&mut routes, peer(3)), Some(2), "it is not proven");
    }

    #[test]
    fn route_stays_proven_while_its_stream_flows_whatever_other_streams_do() {
        let mut routes = routes();
        routes.note(peer(1), 0, &packet(TAG));
        set_tags(&mut routes, &[TAG, 11], &[peer(1), peer(2)]);
        routes.note(peer(1), 2, &packet(7));
        assert_eq!(of(&mut routes, peer(1)), Some(0));
        // The same number may later be the tag of another's stream.
        set_tags(&mut routes, &[TAG, 11], &[peer(3), peer(2)]);
        routes.note(peer(1), 2, &packet(7));
        assert_eq!(of(&mut routes, peer(1)), Some(2));
    }

    #[test]
    fn guess_holds_for_a_while_and_a_heard_route_until_its_link_fails() {
        let (mut routes, start) = (routes(), Instant::now());
        routes.guess(peer(4), 1, start);
        for (at, link) in [(start + GUESS_MAX, Some(1)), (start + 2 * GUESS_MAX, None)] {
            assert_eq!(routes.of(peer(4), || at), link);
        }
        routes.note(peer(4), 1, b"");
        assert_eq!(of(&mut routes, peer(4)), Some(1), "it is no guess any more");
        routes.note(peer(1), 1, &packet(TAG));
        routes.note(peer(5), 0, b"");
        routes.forget_link(1);
        assert_eq!([4, 1, 5].map(|it| of(&mut routes, peer(it))), [None, Some(1), Some(0)]);
    }

    #[test]
    fn flood_of_strangers_forgets_no_peer_whose_stream_flows_and_takes_no_memory() {
        let mut routes = routes();
        routes.note(peer(1), 2, &packet(TAG));
        let capacity = routes.peers.capacity();
        for number in 2..u16::MAX {
            // One that knows the tag of its own stream proves no peer but itself.
            routes.note(peer(number), 1, &packet(9));
            assert!(routes.peers.len() <= PEERS_MAX);
        }
        assert_eq!(of(&mut routes, peer(1)), Some(2));
        assert_eq!(of(&mut routes, peer(2)), None, "it is forgotten");
        // Places that were used count as less; another table would have more.
        assert!(routes.peers.capacity() <= capacity);
        assert_eq!(routes.peers_by_link()[..3], [0, routes.peers.len() - 1, 1]);
    }
}
