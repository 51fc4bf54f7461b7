//! The receive ring: slots addressed by seq, and the holes among them in three lists.
//!
//! A hole is linked into the list of its stage, so that listing and filling cost the same at any
//! window: nothing scans the ring.

use crate::number::{Departure, SampleIndex, Seq};
use crate::wire::{Flags, SeqRange};

/// One packet's place in the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecvSlot(State);

const _: () = assert!(size_of::<RecvSlot>() <= 24);

#[derive(Clone, Copy, Debug, Default)]
pub(super) enum State {
    /// Not revealed yet.
    #[default]
    Free,
    Received(Received),
    Hole(Hole),
    Delivered,
    GivenUp,
}

/// A packet that is in the window and waits for those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Received {
    pub(super) index: SampleIndex,
    pub(super) samples: u32,
    pub(super) flags: Flags,
}

/// A packet that is missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hole {
    prev: u32,
    next: u32,
    /// Departure of the packet that revealed it.
    pub(super) revealed_by: Departure,
    /// When that packet came, by the local clock in departure units.
    pub(super) revealed_at: Departure,
    /// As `revealed_by`; once listed, the newest departure seen at the last listing.
    pub(super) marker: Departure,
    stage: Stage,
}

impl Hole {
    /// Whether a REPORT has requested the packet.
    pub(super) fn is_listed(&self) -> bool {
        self.stage != Stage::Fresh
    }
}

/// How a hole came to be known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Revealed {
    /// Departure of the packet that shows it.
    pub(super) by: Departure,
    /// The present, by the local clock in departure units.
    pub(super) at: Departure,
}

/// How often a hole has been listed; each stage is a list in order of `marker`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Stage {
    /// Not listed: waits for the packet that revealed it to settle.
    Fresh = 0,
    /// The next REPORT lists it once more, in case the last one is lost.
    Once = 1,
    /// The next two do: a repeat, or the requests for it, were lost before.
    Twice = 2,
    /// Waits for the repeat, and is listed thrice a round trip later.
    Waiting = 3,
}

impl Stage {
    const COUNT: usize = Self::Waiting as usize + 1;

    /// What must be settled before a hole with this marker is listed.
    const fn due(self, marker: Departure, rtt_units: u32) -> Departure {
        match self {
            Self::Fresh | Self::Once | Self::Twice => marker,
            // More than a round trip after its last listing.
            Self::Waiting => marker.plus(rtt_units.wrapping_add(1)),
        }
    }
}

/// Slots and lists; seqs given to it lie within the window.
#[derive(Clone, Debug)]
pub(super) struct Ring<S> {
    slots: S,
    lists: [List; Stage::COUNT],
}

#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

impl<S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>> Ring<S> {
    pub(super) const fn new(slots: S) -> Self {
        Self { slots, lists: [List { head: NIL, tail: NIL }; Stage::COUNT] }
    }

    pub(super) fn len(&self) -> u32 {
        self.slots.as_ref().len() as u32
    }

    pub(super) fn get(&self, seq: Seq) -> State {
        self.slots.as_ref()[self.position(seq) as usize].0
    }

    /// Replaces what is not a hole.
    pub(super) fn set(&mut self, seq: Seq, state: State) {
        let position = self.position(seq);
        self.slots.as_mut()[position as usize].0 = state;
    }

    /// Opens a hole that the packet which departed at `revealed.by` shows.
    pub(super) fn open(&mut self, seq: Seq, revealed: &Revealed) {
        let position = self.position(seq);
        let hole = Hole {
            prev: NIL,
            next: NIL,
            revealed_by: revealed.by,
            revealed_at: revealed.at,
            marker: revealed.by,
            stage: Stage::Fresh,
        };
        self.slots.as_mut()[position as usize].0 = State::Hole(hole);
        self.append(position, Stage::Fresh, revealed.by);
    }

    /// Takes a hole out of its list and leaves `state` in its place.
    pub(super) fn close(&mut self, seq: Seq, state: State) {
        let position = self.position(seq);
        self.unlink(position);
        self.slots.as_mut()[position as usize].0 = state;
    }

    /// Whether a REPORT has something to list.
    pub(super) fn has_listable(&self, settled: Departure, rtt_units: u32) -> bool {
        self.lists[Stage::Once as usize].head != NIL
            || self.lists[Stage::Twice as usize].head != NIL
            || self.is_head_due(Stage::Waiting, settled, rtt_units)
            || self.is_head_due(Stage::Fresh, settled, rtt_units)
    }

    /// Whether a hole is open.
    pub(super) fn has_holes(&self) -> bool {
        self.lists.iter().any(|list| list.head != NIL)
    }

    /// The departures that must be settled before the first unlisted hole can be listed, and before
    /// the one that was listed longest ago can be listed again.
    pub(super) fn markers(&self, rtt_units: u32) -> [Option<Departure>; 2] {
        [Stage::Fresh, Stage::Waiting].map(|stage| {
            let head = self.lists[stage as usize].head;
            (head != NIL).then(|| stage.due(self.hole(head).marker, rtt_units))
        })
    }

    /// Writes the ranges of one REPORT to `ranges` and says how many; `base` is the lowest seq of
    /// the window. Order: what the last REPORT listed first, what was listed a round trip ago,
    /// what has settled since (`docs/protocol.md#4.4`).
    pub(super) fn list(
        &mut self,
        base: Seq,
        settled: Departure,
        newest: Departure,
        rtt_units: u32,
        ranges: &mut [SeqRange],
    ) -> usize {
        let mut n = 0;
        for (from, to) in [
            (Stage::Once, Stage::Waiting),
            (Stage::Twice, Stage::Once),
            (Stage::Waiting, Stage::Twice),
            (Stage::Fresh, Stage::Once),
        ] {
            while self.is_head_due(from, settled, rtt_units) {
                let position = self.lists[from as usize].head;
                if !extend(ranges, &mut n, self.seq_at(position, base)) {
                    return n;
                }
                self.unlink(position);
                self.append(position, to, newest);
            }
        }
        n
    }

    fn is_head_due(&self, stage: Stage, settled: Departure, rtt_units: u32) -> bool {
        let head = self.lists[stage as usize].head;
        if head == NIL {
            return false;
        }
        match stage {
            Stage::Once | Stage::Twice => true,
            Stage::Fresh | Stage::Waiting => {
                !settled.before(stage.due(self.hole(head).marker, rtt_units))
            }
        }
    }

    fn append(&mut self, position: u32, stage: Stage, marker: Departure) {
        let tail = self.lists[stage as usize].tail;
        let hole = self.hole_mut(position);
        (hole.prev, hole.next) = (tail, NIL);
        (hole.stage, hole.marker) = (stage, marker);
        self.lists[stage as usize].tail = position;
        match tail {
            NIL => self.lists[stage as usize].head = position,
            tail => self.hole_mut(tail).next = position,
        }
    }

    fn unlink(&mut self, position: u32) {
        let Hole { prev, next, stage, .. } = *self.hole(position);
        match prev {
            NIL => self.lists[stage as usize].head = next,
            prev => self.hole_mut(prev).next = next,
        }
        match next {
            NIL => self.lists[stage as usize].tail = prev,
            next => self.hole_mut(next).prev = prev,
        }
    }

    fn hole(&self, position: u32) -> &Hole {
        match &self.slots.as_ref()[position as usize].0 {
            State::Hole(hole) => hole,
            other => unreachable!("the lists link holes, not {other:?}"),
        }
    }

    fn hole_mut(&mut self, position: u32) -> &mut Hole {
        match &mut self.slots.as_mut()[position as usize].0 {
            State::Hole(hole) => hole,
            other => unreachable!("the lists link holes, not {other:?}"),
        }
    }

    fn position(&self, seq: Seq) -> u32 {
        seq.0 & (self.len() - 1)
    }

    fn seq_at(&self, position: u32, base: Seq) -> Seq {
        base + (position.wrapping_sub(base.0) & (self.len() - 1))
    }
}

/// Appends `seq` to the last range or starts one; `false` when there is no room.
fn extend(ranges: &mut [SeqRange], n: &mut usize, seq: Seq) -> bool {
    if let Some(last) = ranges[..*n].last_mut()
        && last.first + last.count == seq
    {
        last.count += 1;
        return true;
    }
    match ranges.get_mut(*n) {
        Some(range) => {
            *range = SeqRange { first: seq, count: 1 };
            *n += 1;
            true
        }
        None => false,
    }
}

const NIL: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: u32 = 1_000;

    fn open(ring: &mut Ring<Vec<RecvSlot>>, seq: Seq, by: u32) {
        let by = Departure(by);
        ring.open(seq, &Revealed { by, at: by });
    }

    fn ring() -> Ring<Vec<RecvSlot>> {
        Ring::new(vec![RecvSlot::default(); 16])
    }

    fn listed(ring: &mut Ring<Vec<RecvSlot>>, at: u32, max: usize) -> Vec<(u32, u32)> {
        let mut ranges = vec![SeqRange { first: Seq(0), count: 0 }; max];
        let at = Departure(at);
        let n = ring.list(Seq(0), at, at, RTT, &mut ranges);
        ranges[..n].iter().map(|range| (range.first.0, range.count)).collect()
    }

    #[test]
    fn hole_is_listed_twice_and_thrice_a_round_trip_later() {
        let mut ring = ring();
        open(&mut ring, Seq(3), 100);
        open(&mut ring, Seq(4), 100);
        assert_eq!(listed(&mut ring, 99, 8), [], "not settled");
        assert_eq!(listed(&mut ring, 100, 8), [(3, 2)]);
        assert_eq!(listed(&mut ring, 110, 8), [(3, 2)]);
        assert_eq!(listed(&mut ring, 120, 8), []);
        assert_eq!(listed(&mut ring, 110 + RTT, 8), []);
        for later in 111..=113 {
            assert_eq!(listed(&mut ring, later + RTT, 8), [(3, 2)]);
        }
        assert_eq!(listed(&mut ring, 114 + RTT, 8), []);
        assert!(!ring.has_listable(Departure(113 + 2 * RTT), RTT));
        assert!(ring.has_listable(Departure(114 + 2 * RTT), RTT));
    }

    #[test]
    fn hole_can_be_listed_whenever_a_report_would_list_it() {
        let mut ring = ring();
        let can = |ring: &Ring<Vec<RecvSlot>>, at| ring.has_listable(Departure(at), RTT);
        assert!(!can(&ring, 100), "no hole");
        open(&mut ring, Seq(3), 100);
        assert!(!can(&ring, 99) && can(&ring, 100), "fresh");
        listed(&mut ring, 100, 8);
        assert!(can(&ring, 100), "once");
        listed(&mut ring, 110, 8);
        assert!(!can(&ring, 110 + RTT) && can(&ring, 111 + RTT), "waiting");
        listed(&mut ring, 111 + RTT, 8);
        assert!(can(&ring, 111), "twice");
        ring.close(Seq(3), State::Delivered);
        assert!(!can(&ring, 111 + 2 * RTT), "filled");
    }

    #[test]
    fn filled_hole_leaves_every_list() {
        let mut ring = ring();
        for seq in 0..6 {
            open(&mut ring, Seq(seq), 10 + seq);
        }
        assert_eq!(listed(&mut ring, 12, 8), [(0, 3)]);
        ring.close(Seq(1), State::Delivered);
        ring.close(Seq(4), State::Delivered);
        assert_eq!(listed(&mut ring, 20, 8), [(0, 1), (2, 2), (5, 1)]);
        for seq in [0, 2, 3, 5] {
            ring.close(Seq(seq), State::Delivered);
        }
        assert_eq!(ring.lists.map(|list| (list.head, list.tail)), [(NIL, NIL); Stage::COUNT]);
    }

    #[test]
    fn ranges_beyond_the_limit_of_one_report_come_in_the_next() {
        let mut ring = ring();
        for seq in [0, 2, 4, 6] {
            open(&mut ring, Seq(seq), 10);
        }
        assert_eq!(listed(&mut ring, 20, 2), [(0, 1), (2, 1)]);
        assert_eq!(listed(&mut ring, 21, 4), [(0, 1), (2, 1), (4, 1), (6, 1)]);
    }

    #[test]
    fn range_across_the_seq_wrap_is_one() {
        let mut ring = ring();
        let base = Seq(u32::MAX - 1);
        for i in 0..4 {
            open(&mut ring, base + i, 10);
        }
        let mut ranges = [SeqRange { first: Seq(0), count: 0 }; 4];
        let n = ring.list(base, Departure(10), Departure(10), RTT, &mut ranges);
        assert_eq!(ranges[..n], [SeqRange { first: base, count: 4 }]);
    }
}
