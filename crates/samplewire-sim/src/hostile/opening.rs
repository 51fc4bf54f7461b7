//! ACCEPTs that carry the tag of an opening, and OPENs under a cookie that is valid for another
//! (`docs/protocol.md#3.6`, `#3.16`).

use samplewire_proto::session::OpenPhase;
use samplewire_proto::wire::{
    self, Accept, Flags, Header, Open, Packet, PacketType, Role, TRAILER_CRC32C, Tlvs,
};
use samplewire_proto::{Departure, Rng, Seq, Tag};

use super::Intent;
use crate::payload;

/// Writes an ACCEPT that answers `open`, the newest OPEN of an opening in `phase`. Only an attacker
/// on the path may write one that the opener believes.
pub(super) fn accept(
    open: &[u8],
    phase: OpenPhase,
    is_on_path: bool,
    rng: &mut Rng,
    bytes: &mut Vec<u8>,
) -> Option<Intent> {
    let Ok((asked, Packet::Open(open))) = wire::parse(open) else { return None };
    let seq = if open.role == Role::Send { asked.seq } else { Seq(rng.draw() as u32) };
    let mut header = Header {
        kind: PacketType::Accept,
        flags: Flags::NONE,
        tag: open.tag,
        index: rng.pick(&[0, 1 << 32, 1 << 62]),
        seq,
        departure: Departure(rng.draw() as u32),
    };
    let mut accept = valid(&open, rng);
    let mut len = Accept::packet_len_min(&accept.tlvs);
    // Before an OPEN with a cookie has left no ACCEPT is believed.
    let mut intent =
        if phase == OpenPhase::Trying { Intent::Anything } else { Intent::Disbelieved };
    match rng.below(if is_on_path { 8 } else { 4 }) {
        0 => {
            accept.nonce ^= 1 << rng.below(64);
            intent = Intent::Disbelieved;
        }
        1 if open.role != Role::Describe => {
            accept.tag = Tag::NONE;
            intent = Intent::Disbelieved;
        }
        2 if open.role == Role::Send => {
            header.seq += 1 + rng.below(1 << 31) as u32;
            intent = Intent::Disbelieved;
        }
        // Too short to prove that the path carries a full packet.
        3 if open.role == Role::Receive => {
            accept.payload_bytes = 4_096;
            intent = Intent::Disbelieved;
        }
        4 => contradict(&mut accept, rng),
        _ => len += rng.below(64) as usize,
    }
    if intent == Intent::Anything && !is_on_path {
        return None;
    }
    bytes.resize(len, 0);
    accept.emit(&header, len, bytes);
    Some(intent)
}

fn valid(open: &Open<'_>, rng: &mut Rng) -> Accept<'static> {
    Accept {
        nonce: open.nonce,
        tag: Tag(1 + rng.below(u64::from(u32::MAX)) as u32),
        stream: open.stream,
        streams: open.stream.saturating_add(1),
        boot_id: rng.draw(),
        rate_numerator: 1_000_000,
        rate_denominator: 1,
        format: u16::MAX,
        channels: 1,
        // A sender that breaks the rules may keep one less.
        packet_samples: rng.within(2..=100) as u32,
        payload_bytes: payload::BYTES as u16,
        payload_offset: 24,
        trailer_kind: TRAILER_CRC32C,
        window: rng.spread(1..=4_096) as u32,
        reorder_tolerance: rng.spread(1..=62_500_000) as u32,
        dead_ms: rng.pick(&[400, 1_000, 3_000]),
        idle_ms: rng.within(1..=100) as u16,
        ranges_max: rng.spread(1..=128) as u16,
        granularity_bytes: 8,
        time_ns: rng.draw(),
        tlvs: Tlvs::EMPTY,
    }
}

/// Makes one of the terms invalid (`docs/protocol.md#3.12`).
fn contradict(accept: &mut Accept<'_>, rng: &mut Rng) {
    match rng.below(8) {
        0 => accept.channels = 0,
        1 => accept.packet_samples = 0,
        2 => accept.payload_offset = 21,
        3 => accept.rate_denominator = 0,
        4 => accept.dead_ms = 399,
        5 => accept.ranges_max = 0,
        6 => accept.granularity_bytes = 0,
        _ => accept.reorder_tolerance = u32::MAX,
    }
}

/// Writes `bytes`, an OPEN that was sent, with other fields and the same cookie. Only an attacker
/// on the path may write one that has an effect.
pub(super) fn open(
    recorded: &[u8],
    is_on_path: bool,
    rng: &mut Rng,
    bytes: &mut Vec<u8>,
) -> Option<Intent> {
    let Ok((mut header, Packet::Open(mut open))) = wire::parse(recorded) else { return None };
    if open.cookie == [0; 16] {
        return None;
    }
    let mut intent = Intent::Nothing;
    match rng.below(if is_on_path { 16 } else { 3 }) {
        0 => header.tag = Tag(1 + rng.below(u64::from(u32::MAX)) as u32),
        1 => open.tag = Tag::NONE,
        // The cookie covers these bits: a CHALLENGE of another round.
        2 => open.nonce ^= 0x100 << rng.below(56),
        _ => {
            intent = Intent::Anything;
            for _ in 0..=rng.below(3) {
                change(&mut header, &mut open, rng);
            }
        }
    }
    bytes.resize(recorded.len(), 0);
    open.emit(&header, recorded.len(), bytes);
    Some(intent)
}

fn change(header: &mut Header, open: &mut Open<'_>, rng: &mut Rng) {
    let extreme = |rng: &mut Rng| rng.pick(&[0, 1, 1 << 24, (1 << 24) + 1, u32::MAX]);
    match rng.below(14) {
        0 => open.tag = Tag(1 + rng.below(u64::from(u32::MAX)) as u32),
        1..=3 => open.nonce ^= 1 + rng.below(255),
        4 => open.owner = open.owner.wrapping_add(1),
        5 => open.stream = rng.pick(&[0, 1, 2, 3, u16::MAX]),
        6 => open.role = rng.pick(&[Role::Describe, Role::Receive, Role::Send]),
        7 => open.delivery = rng.pick(&[0, 1, 2, 3, u8::MAX]),
        8 => open.window = extreme(rng),
        9 => open.max_packet_bytes = rng.pick(&[0, 1, 28, 576, u16::MAX]),
        10 => open.trailer_kind = 1 + rng.below(255) as u8,
        11 => open.deadline_us = extreme(rng),
        12 => header.seq += rng.draw() as u32,
        _ => header.departure = header.departure.plus(extreme(rng)),
    }
}
