//! Some of the packets that were sent, as an eavesdropper on the wire records them to send them
//! again.

use samplewire_proto::wire::{HEADER_LEN, PacketType};
use samplewire_proto::{Nanos, Rng, Tag};

use crate::packets::ProcessId;

/// Packets by the process that they were sent to.
#[derive(Debug)]
pub(crate) struct Tape {
    reels: Vec<Reel>,
    /// DATA, REPORTs and frames so far: one in [`SAMPLED`] is kept.
    frequent: u32,
}

/// A packet as it was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) from: ProcessId,
    pub(crate) at: Nanos,
    pub(crate) bytes: Vec<u8>,
}

/// The newest packets to one process, and some older ones.
#[derive(Clone, Debug, Default)]
struct Reel {
    streams: Ring,
    openings: Ring,
    former: Ring,
    frames: Ring,
}

#[derive(Clone, Debug, Default)]
struct Ring {
    kept: Vec<Recorded>,
    next: usize,
}

impl Tape {
    pub(crate) fn new(processes: usize) -> Self {
        Self { reels: vec![Reel::default(); processes], frequent: 0 }
    }

    /// Notes a packet of `parts` that is sent.
    pub(crate) fn note(&mut self, now: Nanos, from: ProcessId, to: ProcessId, parts: [&[u8]; 3]) {
        let kind = parts[0][0] & 0x0F;
        if kind == PacketType::Data as u8 || kind == PacketType::Report as u8 {
            self.frequent = self.frequent.wrapping_add(1);
            if !self.frequent.is_multiple_of(SAMPLED) {
                return;
            }
        }
        let reel = &mut self.reels[usize::from(to)];
        let is_opening = (PacketType::Open as u8..=PacketType::Refuse as u8).contains(&kind);
        if is_opening {
            reel.openings.keep(now, from, parts, OPENINGS_KEPT);
        } else if reel.streams.next.is_multiple_of(STREAMS_KEPT) {
            reel.former.keep(now, from, parts, STREAMS_KEPT);
            reel.streams.next += 1;
        } else {
            reel.streams.keep(now, from, parts, STREAMS_KEPT);
        }
    }

    /// Notes a frame that is sent.
    pub(crate) fn note_frame(&mut self, now: Nanos, from: ProcessId, to: ProcessId, frame: &[u8]) {
        self.frequent = self.frequent.wrapping_add(1);
        if self.frequent.is_multiple_of(SAMPLED) {
            let frames = &mut self.reels[usize::from(to)].frames;
            frames.keep(now, from, [frame, &[], &[]], FRAMES_KEPT);
        }
    }

    /// One of the frames to `to`.
    pub(crate) fn pick_frame(&self, rng: &mut Rng, to: ProcessId) -> Option<&Recorded> {
        self.reels[usize::from(to)].frames.pick(rng)
    }

    /// One of the packets to `to`.
    pub(crate) fn pick(&self, rng: &mut Rng, to: ProcessId) -> Option<&Recorded> {
        let reel = &self.reels[usize::from(to)];
        let ring = match rng.below(8) {
            0 | 1 => &reel.openings,
            2 | 3 => &reel.former,
            _ => &reel.streams,
        };
        ring.pick(rng)
    }

    /// The newest OPEN from one process to another that names `tag` as the opener's.
    pub(crate) fn newest_open(
        &self,
        from: ProcessId,
        to: ProcessId,
        tag: Tag,
    ) -> Option<&Recorded> {
        let openings = self.reels[usize::from(to)].openings.kept.iter();
        // What was sent is whole: its fields are read where they stand.
        let is_of_tag = |it: &&Recorded| {
            let is_open = it.bytes[0] & 0x0F == PacketType::Open as u8;
            it.from == from && is_open && it.bytes[OPENER_TAG..].starts_with(&tag.0.to_be_bytes())
        };
        openings.filter(is_of_tag).max_by_key(|it| it.at)
    }

    /// One of the OPENs and answers to `to`.
    pub(crate) fn pick_opening(&self, rng: &mut Rng, to: ProcessId) -> Option<&Recorded> {
        self.reels[usize::from(to)].openings.pick(rng)
    }
}

impl Ring {
    fn keep(&mut self, now: Nanos, from: ProcessId, parts: [&[u8]; 3], kept_max: usize) {
        let mut place = self.next % kept_max;
        if self.kept.len() < kept_max {
            place = self.kept.len();
            self.kept.push(Recorded::default());
        }
        let recorded = &mut self.kept[place];
        (recorded.from, recorded.at) = (from, now);
        recorded.bytes.clear();
        parts.iter().for_each(|part| recorded.bytes.extend_from_slice(part));
        self.next += 1;
    }

    fn pick(&self, rng: &mut Rng) -> Option<&Recorded> {
        if self.kept.is_empty() {
            return None;
        }
        Some(&self.kept[rng.below(self.kept.len() as u64) as usize])
    }
}

/// Where an OPEN names the tag of packets to its opener.
const OPENER_TAG: usize = HEADER_LEN;

const SAMPLED: u32 = 8;
const STREAMS_KEPT: usize = 32;
const OPENINGS_KEPT: usize = 16;
const FRAMES_KEPT: usize = 64;
