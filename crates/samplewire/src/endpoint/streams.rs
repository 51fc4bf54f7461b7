//! The streams of an endpoint by their places, and how a packet finds its own in one step.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Weak;

use samplewire_proto::session::AcceptInfo;
use samplewire_proto::wire::{CloseAckReason, Header, Packet};
use samplewire_proto::{Nanos, Tag};

use super::opening::Opening;
use super::playing::Playing;
use super::sending::{Sending, Side};
use crate::receiver::ReceiveFlow;

/// Entries by place. The low bits of a tag of this end are its stream's place.
pub(super) struct Streams {
    entries: Box<[Entry]>,
    /// Free places, the one that was free longest first.
    free: VecDeque<u16>,
    /// Places by the device's address and tag, for the one kind of packet that carries no other.
    /// The keys of its hash are drawn: a device cannot choose tags that are slow to find. It is only
    /// looked up, never walked, so an endpoint does the same whatever was drawn.
    by_peer: HashMap<(SocketAddr, Tag), u16>,
}

/// What is at a place.
pub(crate) enum Entry {
    Free,
    Opening(Box<Opening>),
    /// The device has accepted a stream with this tag, and the program takes the memory for it.
    Accepted {
        tag: Tag,
        claim: Weak<()>,
    },
    /// A stream that this end opened to receive it.
    Receiving(Box<Receiving>),
    /// A stream that goes out.
    Sending(Box<Sending>),
    /// The stream that an end which listens takes.
    Playing(Box<Playing>),
}

/// A stream that this end opened to receive it.
pub(crate) struct Receiving {
    pub(crate) flow: ReceiveFlow,
    pub(crate) opened: Opened,
    /// Packets that may be on their way, and the bytes of each.
    pub(crate) room: (u32, usize),
}

/// What names a stream that this end opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    pub(crate) tag: Tag,
    pub(crate) peer_tag: Tag,
    pub(crate) peer: SocketAddr,
}

/// A stream of an end that listens whose peer has spoken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Announced {
    pub(crate) tag: Tag,
    pub(crate) peer: SocketAddr,
}

impl Opened {
    pub(crate) const fn new(peer: SocketAddr, accept: &AcceptInfo) -> Self {
        Self { tag: accept.tag, peer_tag: accept.peer_tag, peer }
    }
}

impl Entry {
    /// What names a stream, where this end opened it.
    const fn opened(&self) -> Option<Opened> {
        match self {
            Self::Receiving(stream) => Some(stream.opened),
            Self::Sending(stream) => match stream.side {
                Side::Opener(opened) => Some(opened),
                Side::Listener(_) => None,
            },
            _ => None,
        }
    }
}

impl Streams {
    /// Free places for streams that are to be opened; their number is a power of two.
    pub(super) fn free(places: usize) -> Self {
        assert!(places.is_power_of_two(), "bits of a tag name one of {places} places");
        Self {
            entries: (0..places).map(|_| Entry::Free).collect(),
            free: (0..places as u16).collect(),
            by_peer: HashMap::with_capacity(places),
        }
    }

    /// The streams of an end that listens, at their numbers.
    pub(super) fn of(entries: Vec<Entry>) -> Self {
        let free = VecDeque::with_capacity(entries.len());
        Self { entries: entries.into(), free, by_peer: HashMap::new() }
    }

    /// The first free place.
    pub(super) fn take_free(&mut self) -> Option<usize> {
        self.free.pop_front().map(usize::from)
    }

    pub(super) fn get(&self, place: usize) -> Option<&Entry> {
        self.entries.get(place)
    }

    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Entry> {
        self.entries.get_mut(place)
    }

    pub(super) fn set(&mut self, place: usize, entry: Entry) {
        self.entries[place] = entry;
    }

    /// Serves a stream at the place that waits for it.
    pub(super) fn begin(&mut self, place: usize, entry: Entry) {
        if let Entry::Accepted { tag, .. } = self.entries[place]
            && let Some(opened) = entry.opened()
            && opened.tag == tag
        {
            self.by_peer.insert((opened.peer, opened.peer_tag), place as u16);
            self.entries[place] = entry;
        }
    }

    /// How many there may be.
    pub(super) const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Frees a place.
    pub(super) fn release(&mut self, place: usize) {
        let before = std::mem::replace(&mut self.entries[place], Entry::Free);
        if let Some(opened) = before.opened() {
            let key = (opened.peer, opened.peer_tag);
            // A device that gave a tag twice has it found under its last place alone.
            if self.by_peer.get(&key) == Some(&(place as u16)) {
                self.by_peer.remove(&key);
            }
        }
        self.free.push_back(place as u16);
    }

    /// Frees the places of streams of an end that listens which are over.
    pub(super) fn release_over(&mut self, now: Nanos) {
        for place in 0..self.entries.len() {
            let is_over = match &self.entries[place] {
                Entry::Sending(stream) => stream.is_over(now),
                Entry::Playing(stream) => stream.is_over(now),
                _ => false,
            };
            if is_over {
                self.release(place);
            }
        }
    }

    /// Packets that all streams may have on their way, and the bytes of the largest.
    pub(super) fn room(&self) -> (u32, usize) {
        let open = self.entries.iter().filter_map(|place| match place {
            Entry::Receiving(stream) => Some(stream.room),
            _ => None,
        });
        open.fold((0, 0), |all, room| (all.0.saturating_add(room.0), all.1.max(room.1)))
    }

    /// Frees the places of streams that no program will begin.
    pub(super) fn forget_accepted(&mut self) {
        for place in 0..self.entries.len() {
            if let Entry::Accepted { .. } = self.entries[place] {
                self.release(place);
            }
        }
    }

    /// Whether no place is in use.
    pub(super) fn are_free(&self) -> bool {
        self.free.len() == self.entries.len()
    }

    /// The place that a packet names; that it is of this stream is the stream's to see.
    pub(super) fn find(
        &self,
        peer: SocketAddr,
        header: &Header,
        packet: &Packet<'_>,
    ) -> Option<usize> {
        match packet {
            // It carries no tag of this end (`docs/protocol.md#7.6`).
            Packet::CloseAck(ack) if ack.reason == CloseAckReason::UnknownTag => {
                self.by_peer.get(&(peer, ack.echoed_tag)).map(|&place| place.into())
            }
            _ => self.place_of(header.tag),
        }
    }

    /// The place that a tag names.
    pub(super) fn place_of(&self, tag: Tag) -> Option<usize> {
        (tag != Tag::NONE).then_some(tag.0 as usize & (self.entries.len() - 1))
    }

    /// The place of the open stream with this tag, if it is of this peer.
    pub(super) fn place_with(&self, tag: Tag, peer: SocketAddr) -> Option<usize> {
        let place = self.place_of(tag)?;
        let opened = self.entries[place].opened()?;
        ((opened.tag, opened.peer) == (tag, peer)).then_some(place)
    }

    /// Whether the stream at a place goes out.
    pub(super) fn goes_out(&self, place: usize) -> bool {
        matches!(self.get(place), Some(Entry::Sending(_)))
    }

    /// The stream that is received where the endpoint has place for one alone.
    pub(super) fn only(&mut self) -> Option<&mut Receiving> {
        match &mut *self.entries {
            [Entry::Receiving(stream)] => Some(stream),
            _ => None,
        }
    }

    /// The streams that this end opened.
    pub(super) fn opened(&self) -> impl Iterator<Item = Opened> {
        self.entries.iter().filter_map(Entry::opened)
    }

    /// The tags of all streams that this end opened: its own and the peers'.
    pub(super) fn tags(&self) -> (Vec<u32>, Vec<u32>) {
        self.opened().map(|it| (it.tag.0, it.peer_tag.0)).unzip()
    }

    /// The streams of an end that listens whose peers have spoken.
    pub(super) fn announced(&self) -> impl Iterator<Item = Announced> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Sending(stream) => stream.flow.announced(),
            Entry::Playing(stream) => stream.announced(),
            _ => None,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use samplewire_circuit::{Pool, PoolConfig};
    use samplewire_io::{Clock, Waker};
    use samplewire_proto::Seq;
    use samplewire_proto::receiver::ReceiverConfig;
    use samplewire_proto::stream::{Carriage, Terms};

    use super::*;
    use crate::receiver::FlowParts;
    use crate::wakeups::Wakeups;

    const PEER: &str = "127.0.0.1:9100";

    /// A received stream that this end opened, with this tag.
    pub(in crate::endpoint) fn receiving(tag: Tag) -> Entry {
        let peer = PEER.parse().unwrap();
        let terms = Terms {
            local_tag: tag,
            peer_tag: Tag(77),
            is_opener: true,
            first_seq: Seq(0),
            first_index: 0,
            packet_samples: 16,
            payload_bytes: 64,
            payload_offset: 22,
            window: 64,
            reorder_tolerance: 0,
            dead_after: Nanos::from_millis(15_000),
            idle_after: Nanos::from_millis(100),
            ranges_max: 32,
            rtt: Nanos::from_micros(50),
            carriage: Carriage::Data,
        };
        let pool = Pool::new(PoolConfig::new(16, 512)).unwrap();
        let wake_handle = Wakeups::new(1, Waker::new().unwrap(), Duration::ZERO).wake_handle(0);
        let parts = FlowParts {
            peer,
            clock: Clock::start(1),
            terms,
            config: ReceiverConfig::new(),
            pool,
            quantum_packets: 8,
            frame_bytes: 4,
            hold_max: Nanos(0),
            wake_handle,
        };
        let (flow, _outlet) = parts.build(Nanos(0)).unwrap();
        let opened = Opened { tag, peer_tag: Tag(77), peer };
        Entry::Receiving(Box::new(Receiving { flow, opened, room: (64, 86) }))
    }

    fn accepted(tag: Tag) -> Entry {
        Entry::Accepted { tag, claim: Weak::new() }
    }

    #[test]
    fn program_that_comes_too_late_does_not_take_the_place_of_the_next_stream() {
        let (late, next) = (Tag(0x10), Tag(0x20));
        let mut streams = Streams::free(4);
        let place = streams.take_free().unwrap();
        streams.set(place, accepted(next));
        streams.begin(place, receiving(late));
        assert!(matches!(streams.entries[place], Entry::Accepted { .. }), "it still waits");
        streams.begin(place, receiving(next));
        assert_eq!(streams.entries[place].opened().map(|it| it.tag), Some(next));
        streams.begin(place, receiving(late));
        assert_eq!(streams.entries[place].opened().map(|it| it.tag), Some(next));
    }

    #[test]
    fn only_stream_is_the_one_of_an_endpoint_that_has_place_for_one() {
        let tag = Tag(0x10);
        for (places, has_only) in [(1, true), (2, false)] {
            let mut streams = Streams::free(places);
            assert!(streams.only().is_none());
            streams.set(0, accepted(tag));
            streams.begin(0, receiving(tag));
            assert_eq!(streams.only().is_some(), has_only, "{places} places");
        }
    }

    #[test]
    fn tags_are_those_of_the_streams_that_are_open() {
        let mut streams = Streams::free(4);
        for tag in [Tag(0x10), Tag(0x20)] {
            let place = streams.take_free().unwrap();
            streams.set(place, accepted(tag));
            assert_eq!(streams.place_with(tag, PEER.parse().unwrap()), None, "it has not begun");
            streams.begin(place, receiving(tag));
        }
        assert_eq!(streams.tags(), (vec![0x10, 0x20], vec![77, 77]));
    }

    #[test]
    fn damaged_packet_is_of_the_stream_whose_tag_and_peer_it_has() {
        let (peer, other) = (PEER.parse().unwrap(), "127.0.0.1:9101".parse().unwrap());
        let mut streams = Streams::free(4);
        let tag = Tag(0x12);
        streams.set(2, accepted(tag));
        streams.begin(2, receiving(tag));
        assert_eq!(streams.place_with(tag, peer), Some(2));
        assert_eq!(streams.place_with(tag, other), None);
        assert_eq!(streams.place_with(Tag(0x22), peer), None);
        assert_eq!(streams.place_with(Tag::NONE, peer), None);
    }

    #[test]
    fn places_whose_programs_will_not_come_are_free_and_the_others_are_not() {
        let mut streams = Streams::free(2);
        assert!(streams.are_free());
        for tag in [Tag(0x10), Tag(0x21)] {
            let place = streams.take_free().unwrap();
            streams.set(place, accepted(tag));
        }
        streams.begin(1, receiving(Tag(0x21)));
        streams.forget_accepted();
        assert!(!streams.are_free());
        streams.release(1);
        assert!(streams.are_free());
    }
}
