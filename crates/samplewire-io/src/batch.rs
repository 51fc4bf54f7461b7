//! Received packets of one call to [`Link::recv`](crate::Link::recv), in memory that is taken
//! once.
//!
//! A batch is one arena and a list of places in it. A backend whose kernel joins packets
//! (UDP_GRO) lets it write several packets into one buffer and enters each of them. A backend that
//! receives into memory of its own lends frames of that instead, until the batch is cleared.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use crate::link::Ecn;
use crate::xdp::umem::{Frame, Umem};

/// Received packets of one call; memory is taken once and used again.
#[derive(Debug)]
pub struct Batch {
    arena: Box<[u8]>,
    packets_max: usize,
    packet_bytes_max: usize,
    used_bytes: usize,
    entries: Vec<Entry>,
    entries_max: usize,
    borrowed: Borrowed,
}

/// Frames of a link that packets of a batch lie in.
#[derive(Debug, Default)]
struct Borrowed {
    memory: Option<Arc<Umem>>,
    frames: Vec<Frame>,
}

impl Borrowed {
    /// The link gets its frames back.
    #[cold]
    fn clear(&mut self) {
        if let Some(memory) = &self.memory
            && !self.frames.is_empty()
        {
            memory.give_back(&mut self.frames);
        }
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Batch {
    /// Takes memory for `packets_max` packets of `packet_bytes_max` bytes (UDP payload) each.
    ///
    /// A kernel that joins packets needs [`JOINED_BYTES_MAX`] bytes for each receive, so the arena
    /// has that much, and a little, for each of up to [`JOINED_RECEIVES_MAX`] packets: address space, of which
    /// only what is written becomes memory. Because small packets may come joined, a batch can
    /// hold more than `packets_max` of them: see [`Batch::packets_bound`].
    ///
    /// # Panics
    /// When either argument is zero, or for 4 GiB and more.
    pub fn new(packets_max: usize, packet_bytes_max: usize) -> Self {
        assert!(packets_max > 0 && packet_bytes_max > 0, "a batch holds something");
        let receives_max = packets_max.min(JOINED_RECEIVES_MAX);
        let arena_bytes = (packets_max * packet_bytes_max).max(receives_max * JOINED_STRIDE_BYTES);
        assert!(u32::try_from(arena_bytes).is_ok(), "a batch is shorter than 4 GiB");
        let entries_max = packets_max.max(receives_max * JOINED_PACKETS_MAX);
        Self {
            arena: vec![0; arena_bytes].into_boxed_slice(),
            packets_max,
            packet_bytes_max,
            used_bytes: 0,
            entries: Vec::with_capacity(entries_max),
            entries_max,
            borrowed: Borrowed::default(),
        }
    }

    /// How many packets it holds.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it holds no packet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of packets that [`Batch::len`] never exceeds.
    pub fn packets_bound(&self) -> usize {
        self.entries_max
    }

    /// The memory it takes, in bytes, counted as if all of it were in use.
    pub fn memory_bytes(&self) -> usize {
        self.arena.len() + self.entries_max * size_of::<Entry>()
    }

    /// The longest packet it was made for, in bytes of UDP payload.
    pub fn packet_bytes_max(&self) -> usize {
        self.packet_bytes_max
    }

    /// The packets in the order of their arrival.
    pub fn iter(&self) -> Iter<'_> {
        Iter { arena: &self.arena, borrowed: &self.borrowed, entries: self.entries.iter() }
    }

    /// The packet at `index`, if there are that many.
    pub fn get(&self, index: usize) -> Option<(&[u8], &Meta)> {
        self.entries.get(index).map(|entry| (entry.bytes(&self.arena, &self.borrowed), &entry.meta))
    }

    /// Forgets all packets.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.used_bytes = 0;
        if !self.borrowed.frames.is_empty() {
            self.borrowed.clear();
        }
    }

    /// Whether [`Batch::push`] would take a packet of `len_bytes`.
    pub fn has_room(&self, len_bytes: usize) -> bool {
        self.entries.len() < self.entries_max && len_bytes <= self.arena.len() - self.used_bytes
    }

    /// Copies a packet to the end, for backends and middleware that hold packets of their own.
    ///
    /// # Errors
    /// [`BatchFull`] when the list or the arena has no room left; the batch is unchanged.
    pub fn push(&mut self, bytes: &[u8], meta: Meta) -> Result<(), BatchFull> {
        if !self.has_room(bytes.len()) {
            return Err(BatchFull { len_bytes: bytes.len() });
        }
        let offset_bytes = self.used_bytes;
        self.arena[offset_bytes..offset_bytes + bytes.len()].copy_from_slice(bytes);
        let entered = self.enter(Place { offset_bytes, len_bytes: bytes.len() }, meta);
        assert!(entered, "has_room was asked");
        Ok(())
    }

    /// Copies a packet in parts, `len_bytes` in all, to the end.
    pub(crate) fn push_parts<'b>(
        &mut self,
        parts: impl Iterator<Item = &'b [u8]>,
        len_bytes: usize,
        meta: Meta,
    ) -> Result<(), BatchFull> {
        if !self.has_room(len_bytes) {
            return Err(BatchFull { len_bytes });
        }
        let offset_bytes = self.used_bytes;
        let mut into = &mut self.arena[offset_bytes..offset_bytes + len_bytes];
        for part in parts {
            let (head, rest) = into.split_at_mut(part.len());
            head.copy_from_slice(part);
            into = rest;
        }
        assert!(into.is_empty(), "the parts have the length stated");
        let entered = self.enter(Place { offset_bytes, len_bytes }, meta);
        assert!(entered, "has_room was asked");
        Ok(())
    }

    /// The drops of the socket by the last packet.
    pub(crate) fn last_dropped(&self) -> Option<u32> {
        self.entries.last().and_then(|entry| entry.meta.dropped)
    }

    /// Changes what is known of each packet.
    pub(crate) fn update(&mut self, mut change: impl FnMut(&mut Meta)) {
        self.entries.iter_mut().for_each(|entry| change(&mut entry.meta));
    }

    /// How many packets it was made for.
    pub fn packets_max(&self) -> usize {
        self.packets_max
    }

    /// All memory, for a backend that lets the kernel write into it and then calls `enter`.
    pub(crate) fn arena_mut(&mut self) -> &mut [u8] {
        &mut self.arena
    }

    /// Enters a packet that already lies in the arena, inside of which its place must be; false
    /// when [`Batch::packets_bound`] is reached.
    pub(crate) fn enter(&mut self, place: Place, meta: Meta) -> bool {
        let end_bytes = place.offset_bytes + place.len_bytes;
        assert!(end_bytes <= self.arena.len(), "an entry lies inside the arena");
        if self.entries.len() == self.entries_max {
            return false;
        }
        self.used_bytes = self.used_bytes.max(end_bytes);
        self.entries.push(Entry::new(place, ARENA, meta));
        true
    }

    /// Whether [`Batch::lend`] would take a frame of this memory: a batch shows frames of one.
    pub(crate) fn can_borrow(&mut self, memory: &Arc<Umem>) -> bool {
        if self.borrowed.frames.is_empty() {
            let is_other =
                self.borrowed.memory.as_ref().is_none_or(|own| !Arc::ptr_eq(own, memory));
            if is_other {
                self.borrowed.memory = Some(Arc::clone(memory));
                self.borrowed.frames.reserve(self.entries_max);
            }
        }
        let is_same = self.borrowed.memory.as_ref().is_some_and(|own| Arc::ptr_eq(own, memory));
        is_same && self.entries.len() < self.entries_max
    }

    /// Enters the packet that lies in a frame, which comes back when the batch is cleared.
    ///
    /// # Panics
    /// When [`Batch::can_borrow`] has not returned `true` for its memory, or the place is outside.
    pub(crate) fn lend(&mut self, frame: Frame, place: Place, meta: Meta) {
        let memory = self.borrowed.memory.as_ref().expect("it can borrow");
        let end_bytes = place.offset_bytes + place.len_bytes;
        assert!(end_bytes <= memory.bytes(&frame).len(), "an entry lies inside its frame");
        assert!(self.entries.len() < self.entries_max, "it can borrow");
        let number = self.borrowed.frames.len() as u32;
        self.borrowed.frames.push(frame);
        self.entries.push(Entry::new(place, number, meta));
    }
}

impl<'a> IntoIterator for &'a Batch {
    type Item = (&'a [u8], &'a Meta);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The packets of a [`Batch`] in the order of their arrival.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    arena: &'a [u8],
    borrowed: &'a Borrowed,
    entries: std::slice::Iter<'a, Entry>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a [u8], &'a Meta);

    fn next(&mut self) -> Option<Self::Item> {
        self.entries.next().map(|entry| (entry.bytes(self.arena, self.borrowed), &entry.meta))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

impl ExactSizeIterator for Iter<'_> {}

/// What is known of a received packet besides its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Where it came from.
    pub peer: SocketAddr,
    /// The ECN bits it arrived with.
    pub ecn: Ecn,
    /// Packets that this host's socket has dropped so far because it had no room, as counted when
    /// this one was queued (wraps), at least: joined packets may count as one, and drops that may
    /// have been of damaged packets are left out. `None` where the backend does not know.
    pub dropped: Option<u32>,
    /// How many packets one of `dropped` stands for at most: as many as one message has joined so
    /// far, or 1 if none were joined.
    pub packets_per_drop: u32,
}

impl Meta {
    /// The content of an unused place: no packet.
    pub(crate) const NONE: Self = Self {
        peer: SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
        ecn: Ecn::NotEct,
        dropped: None,
        packets_per_drop: 1,
    };
}

/// The batch has no room for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no room in the batch for a packet of {len_bytes} bytes")]
pub struct BatchFull {
    /// The packet's length.
    pub len_bytes: usize,
}

/// The frame of packets that are in the arena.
const ARENA: u32 = u32::MAX;

/// Where a packet lies in the arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) offset_bytes: usize,
    pub(crate) len_bytes: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    offset_bytes: u32,
    len_bytes: u32,
    /// The number of the borrowed frame that has the packet, or [`ARENA`].
    frame: u32,
    meta: Meta,
}

impl Entry {
    fn new(place: Place, frame: u32, meta: Meta) -> Self {
        // An arena and a frame are shorter than 4 GiB.
        let (offset_bytes, len_bytes) = (place.offset_bytes as u32, place.len_bytes as u32);
        Self { offset_bytes, len_bytes, frame, meta }
    }

    fn bytes<'a>(&self, arena: &'a [u8], borrowed: &'a Borrowed) -> &'a [u8] {
        let bytes = match &borrowed.memory {
            Some(memory) if self.frame != ARENA => {
                memory.bytes(&borrowed.frames[self.frame as usize])
            }
            _ => arena,
        };
        &bytes[self.offset_bytes as usize..][..self.len_bytes as usize]
    }
}

/// The most bytes that the kernel joins into one receive: the length field of IP and UDP.
pub const JOINED_BYTES_MAX: usize = 65_536;

/// From one joined receive's place to the next's: an odd number of cache lines, so that short
/// receives do not share sets of a cache.
pub(crate) const JOINED_STRIDE_BYTES: usize = JOINED_BYTES_MAX + 37 * 64;

/// The most joined receives for which a batch has memory.
pub const JOINED_RECEIVES_MAX: usize = 64;

/// The most packets that the kernel joins into one receive (UDP_MAX_SEGMENTS of Linux 6.x; 64
/// before).
pub(crate) const JOINED_PACKETS_MAX: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pushed_packets_come_back_in_order_with_their_meta() {
        let mut batch = Batch::new(2, 10);
        let marked = Meta { ecn: Ecn::Ce, dropped: Some(3), ..Meta::NONE };
        batch.push(b"first", Meta::NONE).unwrap();
        batch.push(b"", marked).unwrap();
        let seen: Vec<_> = batch.iter().map(|(bytes, meta)| (bytes.to_vec(), *meta)).collect();
        assert_eq!(seen, [(b"first".to_vec(), Meta::NONE), (vec![], marked)]);
        batch.clear();
        assert!(batch.is_empty());
        assert!(batch.get(0).is_none());
    }

    #[test]
    fn push_stops_at_the_end_of_the_arena_and_changes_nothing() {
        let mut batch = Batch::new(1, JOINED_BYTES_MAX);
        batch.push(&[1; JOINED_STRIDE_BYTES - 1], Meta::NONE).unwrap();
        assert_eq!(batch.push(&[2; 2], Meta::NONE), Err(BatchFull { len_bytes: 2 }));
        batch.push(&[3; 1], Meta::NONE).unwrap();
        assert_eq!(batch.len(), 2);
        assert_eq!(batch.get(1).unwrap().0, [3]);
    }

    #[test]
    fn push_stops_at_the_bound_of_packets() {
        let mut batch = Batch::new(3, 8);
        for _ in 0..batch.packets_bound() {
            batch.push(b"x", Meta::NONE).unwrap();
        }
        assert!(batch.push(b"", Meta::NONE).is_err());
        assert_eq!(batch.len(), batch.packets_bound());
    }

    #[test]
    fn places_of_a_joined_receive_are_entered_one_by_one() {
        let mut batch = Batch::new(1, 100);
        batch.arena_mut()[..5].copy_from_slice(b"aabbc");
        for (offset_bytes, len_bytes) in [(0, 2), (2, 2), (4, 1)] {
            assert!(batch.enter(Place { offset_bytes, len_bytes }, Meta::NONE));
        }
        let seen: Vec<_> = batch.iter().map(|(bytes, _)| bytes).collect();
        assert_eq!(seen, [&b"aa"[..], b"bb", b"c"]);
        batch.push(b"dd", Meta::NONE).unwrap();
        assert_eq!(batch.get(2).unwrap().0, b"c");
        assert_eq!(batch.get(3).unwrap().0, b"dd");
    }
}
