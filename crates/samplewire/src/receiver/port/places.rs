//! The streams of a port by their places, and how a packet finds its own in one step.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use samplewire_proto::wire::{CloseAckReason, Header, Packet};
use samplewire_proto::{Nanos, Tag};

use super::super::inflow::Inflow;
use super::opening::Opening;

/// What is at each place. The low bits of a tag of this end are its stream's place.
pub(super) struct Places {
    places: Box<[Place]>,
    /// Free places, the one that was free longest first.
    free: VecDeque<u16>,
    /// Places by the device's address and tag, for the one kind of packet that carries no other.
    /// The keys of its hash are drawn: a device cannot choose tags that are slow to find.
    by_peer: HashMap<(SocketAddr, Tag), u16>,
}

/// A place.
pub(super) enum Place {
    Free,
    Opening(Box<Opening>),
    /// The device has accepted, and the program has until then to take the memory for it.
    Accepted(Nanos),
    Open(Box<Stream>),
}

/// A stream under way, and the tags of this end and of the device's.
pub(super) struct Stream {
    pub(super) inflow: Inflow,
    tags: (Tag, Tag),
    /// Packets that may be on their way, and the bytes of each.
    room: (u32, usize),
}

impl Stream {
    pub(super) const fn new(inflow: Inflow, tags: (Tag, Tag), room: (u32, usize)) -> Self {
        Self { inflow, tags, room }
    }
}

impl Places {
    pub(super) fn new(places: usize) -> Self {
        Self {
            places: (0..places).map(|_| Place::Free).collect(),
            free: (0..places as u16).collect(),
            by_peer: HashMap::with_capacity(places),
        }
    }

    /// The first free place.
    pub(super) fn take_free(&mut self) -> Option<usize> {
        self.free.pop_front().map(usize::from)
    }

    pub(super) fn get(&self, place: usize) -> &Place {
        &self.places[place]
    }

    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Place> {
        self.places.get_mut(place)
    }

    pub(super) fn set(&mut self, place: usize, holder: Place) {
        self.places[place] = holder;
    }

    /// Serves a stream at a place that waited for it; gives it back where that is no longer so.
    pub(super) fn begin(&mut self, place: usize, stream: Box<Stream>) -> Option<Box<Stream>> {
        if !matches!(self.places[place], Place::Accepted(_)) {
            return Some(stream);
        }
        self.by_peer.insert((stream.inflow.peer(), stream.tags.1), place as u16);
        self.places[place] = Place::Open(stream);
        None
    }

    /// Frees a place.
    pub(super) fn release(&mut self, place: usize) {
        let before = std::mem::replace(&mut self.places[place], Place::Free);
        if let Place::Open(stream) = &before {
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
        let open = self.places.iter().filter_map(|place| match place {
            Place::Open(stream) => Some(stream.room),
            _ => None,
        });
        open.fold((0, 0), |all, room| (all.0.saturating_add(room.0), all.1.max(room.1)))
    }

    /// Frees the places of streams that no program will begin.
    pub(super) fn forget_accepted(&mut self) {
        for place in 0..self.places.len() {
            if let Place::Accepted(_) = self.places[place] {
                self.release(place);
            }
        }
    }

    /// Whether no place is in use.
    pub(super) fn are_free(&self) -> bool {
        self.free.len() == self.places.len()
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
        (tag != Tag::NONE).then_some(tag.0 as usize & (self.places.len() - 1))
    }

    /// The open stream at a place, if it is of this peer.
    pub(super) fn stream(&mut self, place: usize, peer: SocketAddr) -> Option<&mut Stream> {
        match self.places.get_mut(place)? {
            Place::Open(stream) if stream.inflow.peer() == peer => Some(stream),
            _ => None,
        }
    }

    pub(super) fn streams(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.places.iter_mut().filter_map(|place| match place {
            Place::Open(stream) => Some(&mut **stream),
            _ => None,
        })
    }

    /// The tags of all open streams: this end's and the devices'.
    pub(super) fn tags(&self) -> (Vec<u32>, Vec<u32>) {
        let open = self.places.iter().filter_map(|place| match place {
            Place::Open(stream) => Some(stream.tags),
            _ => None,
        });
        open.map(|(local, peer)| (local.0, peer.0)).unzip()
    }
}
