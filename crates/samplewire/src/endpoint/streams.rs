//! The streams of an endpoint by their places, and how a packet finds its own in one step.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use samplewire_proto::wire::{CloseAckReason, Header, Packet};
use samplewire_proto::{Nanos, Tag};

use super::Stream;
use super::opening::Opening;

/// Entries by place. The low bits of a tag of this end are its stream's place.
pub(super) struct Streams {
    entries: Box<[Entry]>,
    /// Free places, the one that was free longest first.
    free: VecDeque<u16>,
    /// Places by the device's address and tag, for the one kind of packet that carries no other.
    /// The keys of its hash are drawn: a device cannot choose tags that are slow to find.
    by_peer: HashMap<(SocketAddr, Tag), u16>,
}

/// What is at a place.
pub(super) enum Entry {
    Free,
    Opening(Box<Opening>),
    /// The device has accepted, and the program has until then to take the memory for it.
    Accepted(Nanos),
    Open(Box<Stream>),
}

impl Streams {
    pub(super) fn new(places: usize) -> Self {
        Self {
            entries: (0..places).map(|_| Entry::Free).collect(),
            free: (0..places as u16).collect(),
            by_peer: HashMap::with_capacity(places),
        }
    }

    /// The first free place.
    pub(super) fn take_free(&mut self) -> Option<usize> {
        self.free.pop_front().map(usize::from)
    }

    pub(super) fn get(&self, place: usize) -> &Entry {
        &self.entries[place]
    }

    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Entry> {
        self.entries.get_mut(place)
    }

    pub(super) fn set(&mut self, place: usize, entry: Entry) {
        self.entries[place] = entry;
    }

    /// Serves a stream at a place that waited for it; gives it back where that is no longer so.
    pub(super) fn begin(&mut self, place: usize, stream: Box<Stream>) -> Option<Box<Stream>> {
        if !matches!(self.entries[place], Entry::Accepted(_)) {
            return Some(stream);
        }
        self.by_peer.insert((stream.inflow.peer(), stream.tags.1), place as u16);
        self.entries[place] = Entry::Open(stream);
        None
    }

    /// How many there may be.
    pub(super) const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Frees a place.
    pub(super) fn release(&mut self, place: usize) {
        let before = std::mem::replace(&mut self.entries[place], Entry::Free);
        if let Entry::Open(stream) = &before {
            let key = (stream.inflow.peer(), stream.tags.1);
            // A device that gave a tag twice has it found under its last place alone.
            if self.by_peer.get(&key) == Some(&(place as u16)) {
                self.by_peer.remove(&key);
            }
        }
        self.free.push_back(place as u16);
    }

    /// Packets that all streams may have on their way, and the bytes of the largest.
    pub(super) fn room(&self) -> (u32, usize) {
        let open = self.entries.iter().filter_map(|place| match place {
            Entry::Open(stream) => Some(stream.room),
            _ => None,
        });
        open.fold((0, 0), |all, room| (all.0.saturating_add(room.0), all.1.max(room.1)))
    }

    /// Frees the places of streams that no program will begin.
    pub(super) fn forget_accepted(&mut self) {
        for place in 0..self.entries.len() {
            if let Entry::Accepted(_) = self.entries[place] {
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
        match &self.entries[place] {
            Entry::Open(stream) if stream.tags.0 == tag && stream.inflow.peer() == peer => {
                Some(place)
            }
            _ => None,
        }
    }

    /// The open stream at a place.
    pub(super) fn open_at(&mut self, place: usize) -> Option<&mut Stream> {
        match self.entries.get_mut(place)? {
            Entry::Open(stream) => Some(stream),
            _ => None,
        }
    }

    /// The open stream of an endpoint for one stream alone.
    pub(super) fn only(&mut self) -> Option<&mut Stream> {
        if self.entries.len() == 1 { self.open_at(0) } else { None }
    }

    /// The tags of all open streams: this end's and the devices'.
    pub(super) fn tags(&self) -> (Vec<u32>, Vec<u32>) {
        let open = self.entries.iter().filter_map(|place| match place {
            Entry::Open(stream) => Some(stream.tags),
            _ => None,
        });
        open.map(|(local, peer)| (local.0, peer.0)).unzip()
    }
}
