//! Gives the link of a port the tags of the open streams, so that a flood does not displace their
//! packets.

use std::net::SocketAddr;

use samplewire_io::{Favoured, KnownTags, Link};
use samplewire_proto::Nanos;

use super::streams::Announced;
use crate::port::tag_word;

/// The tags in the link, and when they must be updated.
#[derive(Debug)]
pub(super) struct Favours {
    tags: Vec<u32>,
    /// The peer of each.
    peers: Vec<SocketAddr>,
    updated_at: Option<Nanos>,
    is_expired: bool,
}

impl Favours {
    /// For at most `streams` streams.
    pub(super) fn new(streams: usize) -> Self {
        let (tags, peers) = (Vec::with_capacity(streams), Vec::with_capacity(streams));
        Self { tags, peers, updated_at: None, is_expired: false }
    }

    /// Records that a stream has begun to flow, or has ended.
    pub(super) const fn expire(&mut self) {
        self.is_expired = true;
    }

    /// When the link must be updated.
    pub(super) fn due_at(&self) -> Nanos {
        match self.updated_at {
            _ if !self.is_expired => Nanos(u64::MAX),
            Some(at) => at + PAUSE,
            None => Nanos(0),
        }
    }

    pub(super) fn is_due(&self, now: Nanos) -> bool {
        self.is_expired && now >= self.due_at()
    }

    /// Updates the link with the tags of all open streams.
    pub(super) fn update(
        &mut self,
        now: Nanos,
        streams: impl Iterator<Item = Announced>,
        link: &mut dyn Link,
    ) {
        self.tags.clear();
        self.peers.clear();
        for Announced { tag, peer } in streams {
            self.tags.push(tag.0);
            self.peers.push(peer);
        }
        let word = tag_word(&self.tags);
        let tags = KnownTags { word, peers: &self.peers };
        let favoured = Favoured { alternatives: &[&[word]] };
        let has_tags = !self.tags.is_empty();
        link.favour(has_tags.then_some(&favoured));
        link.steer(has_tags.then_some(&tags));
        (self.updated_at, self.is_expired) = (Some(now), false);
    }
}

/// Minimum time between updates: a list of a thousand streams costs as much as a hundred packets,
/// and openers could otherwise cause an update for each of their packets.
const PAUSE: Nanos = Nanos::from_millis(10);

#[cfg(test)]
mod tests {
    use samplewire_io::memory;
    use samplewire_proto::Tag;

    use super::super::filtering::Filtering;
    use super::*;

    fn announced(tag: u32) -> Announced {
        Announced { tag: Tag(tag), peer: ([127, 0, 0, 1], 2).into() }
    }

    #[test]
    fn link_is_updated_at_once_and_then_after_a_pause() {
        let (mut link, _far) = memory::pair(1, 100, 100).unwrap();
        let mut favours = Favours::new(2);
        let start = Nanos::from_millis(5);
        assert!(!favours.is_due(start));
        favours.expire();
        assert!(favours.is_due(start));
        favours.update(start, [announced(1), announced(2)].into_iter(), &mut link);
        assert_eq!((favours.is_due(start), favours.due_at()), (false, Nanos(u64::MAX)));
        favours.expire();
        assert_eq!((favours.is_due(start), favours.due_at()), (false, start + PAUSE));
        assert!(favours.is_due(start + PAUSE));
    }

    #[test]
    fn filter_is_off_while_nothing_flows() {
        let (link, _far) = memory::pair(1, 100, 100).unwrap();
        let (mut link, seen) = Filtering::new(link);
        let mut favours = Favours::new(2);
        favours.update(Nanos(0), [announced(1)].into_iter(), &mut link);
        favours.update(Nanos(1), [].into_iter(), &mut link);
        assert_eq!(seen.filter(), [true, false]);
    }
}
