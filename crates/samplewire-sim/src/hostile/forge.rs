//! Packets that carry a right tag, seq and CRC, and say what cannot be: the rules of positions refuse
//! them (`docs/protocol.md#4.6`, `#7.2`, `#7.3`, `#10`).

use samplewire_proto::wire::{
    self, Close, CloseAck, CloseAckReason, CloseReason, Flags, HEADER_LEN, Header, Mark,
    PacketType, ReportFields, SeqRange,
};
use samplewire_proto::{Departure, Rng, SampleIndex, Seq, Tag};

use crate::process::{Facts, Place};

/// Writes a packet that the end must refuse; `false` where its state refuses none for certain.
pub(super) fn refused(facts: &Facts, rng: &mut Rng, bytes: &mut Vec<u8>) -> bool {
    bytes.resize(BYTES_MAX, 0);
    let len = match facts.place {
        Place::Over => None,
        _ if facts.denial_is_early && rng.one_in(8) => Some(denial(facts, bytes)),
        Place::Sender { oldest, sent, next, is_closing } => {
            let window = Window { oldest, sent, next };
            to_sender(facts, rng, window, is_closing, bytes)
        }
        Place::Receiver { highest_end, limit, next_index, is_draining } => {
            to_receiver(facts, rng, (highest_end, limit), next_index, is_draining, bytes)
        }
    };
    bytes.truncate(len.unwrap_or(0));
    len.is_some()
}

#[derive(Clone, Copy)]
struct Window {
    oldest: Seq,
    sent: Seq,
    next: Seq,
}

fn to_sender(
    facts: &Facts,
    rng: &mut Rng,
    window: Window,
    is_closing: bool,
    out: &mut [u8],
) -> Option<usize> {
    let Window { oldest, sent, next } = window;
    let beyond = 1 + rng.spread(1..=1 << 30) as u32;
    let sane = ReportFields {
        released: oldest,
        limit: sent,
        settled: Departure(0),
        highest_end: sent,
        echo: Departure(0),
        hold: u32::MAX,
        received: 0,
        marked: 0,
        skipped: 0,
        late: 0,
    };
    let number = Seq(rng.draw() as u32);
    let report = |fields: ReportFields, ranges: &[SeqRange], out: &mut [u8]| {
        let header = header(facts, PacketType::Report, 0, number);
        fields.emit(&header, ranges, out)
    };
    Some(match rng.below(8) {
        0 | 1 => {
            let released = sent + beyond;
            report(ReportFields { released, limit: released, ..sane }, &[], out)
        }
        2 => report(ReportFields { highest_end: sent + beyond, ..sane }, &[], out),
        3 => report(ReportFields { limit: oldest - beyond, ..sane }, &[], out),
        4 => {
            let limit = oldest + (1 << 24) + beyond;
            report(ReportFields { limit, ..sane }, &[], out)
        }
        5 => {
            let settled = facts.now.plus(rng.within(1 << 20..=1 << 30) as u32);
            let range = SeqRange { first: oldest, count: rng.draw() as u32 };
            report(ReportFields { settled, ..sane }, &[range], out)
        }
        6 if !is_closing => close_ack(facts, CloseAckReason::Done, next, out),
        _ => {
            let seq = if rng.one_in(2) { sent + beyond } else { oldest - beyond };
            close(facts, 0, seq, out)
        }
    })
}

fn to_receiver(
    facts: &Facts,
    rng: &mut Rng,
    (highest_end, limit): (Seq, Seq),
    next_index: SampleIndex,
    is_draining: bool,
    out: &mut [u8],
) -> Option<usize> {
    let any = 1 + rng.spread(1..=1 << 30) as u32;
    // An end that takes what it must refuse walks as far as the packet says. So the first of a kind lie
    // near: the checker sees that they are taken before one comes that never ends.
    let near = 1 + rng.below(NEAR) as u32;
    let beyond_by_mark = if facts.has_refused.mark { any } else { near };
    let beyond_by_close = if facts.has_refused.close { any } else { near };
    Some(match rng.below(8) {
        0 => mark(facts, limit + beyond_by_mark, limit, out),
        1 => mark(facts, highest_end, highest_end + any, out),
        2 => {
            let header = header(facts, PacketType::Data, next_index, limit + (any - 1));
            wire::seal(&header, DATA_BODY, out)
        }
        3 if !is_draining && next_index > 0 => close(facts, next_index - 1, limit, out),
        4 if !is_draining && facts.has_refused.close => {
            close(facts, next_index, highest_end - any, out)
        }
        5 => close_ack(facts, CloseAckReason::Done, limit, out),
        _ => close(facts, next_index, limit + beyond_by_close, out),
    })
}

fn mark(facts: &Facts, seq: Seq, oldest: Seq, out: &mut [u8]) -> usize {
    let mark = Mark {
        oldest,
        report: Seq(1),
        echo: Departure(0),
        hold: 0,
        source_lost: u64::MAX,
        time_ns: 0,
    };
    mark.emit(&header(facts, PacketType::Mark, 0, seq), out)
}

fn close(facts: &Facts, index: SampleIndex, seq: Seq, out: &mut [u8]) -> usize {
    let close = Close { reason: CloseReason::Finished, last: Seq(1), source_lost: u64::MAX };
    close.emit(&header(facts, PacketType::Close, index, seq), out)
}

fn close_ack(facts: &Facts, reason: CloseAckReason, seq: Seq, out: &mut [u8]) -> usize {
    let ack = CloseAck { reason, echoed_tag: facts.peer_tag, source_lost: u64::MAX };
    ack.emit(&header(facts, PacketType::CloseAck, 0, seq), out)
}

/// A peer that lives knows the stream (`docs/protocol.md#7.6`).
fn denial(facts: &Facts, out: &mut [u8]) -> usize {
    let reason = CloseAckReason::UnknownTag;
    let ack = CloseAck { reason, echoed_tag: facts.peer_tag, source_lost: 0 };
    let header = Header { tag: Tag::NONE, ..header(facts, PacketType::CloseAck, 0, Seq(0)) };
    ack.emit(&header, out)
}

fn header(facts: &Facts, kind: PacketType, index: SampleIndex, seq: Seq) -> Header {
    let (tag, departure) = (facts.local_tag, facts.now.plus(DEPARTURE_AHEAD));
    Header { kind, flags: Flags::NONE, tag, index, seq, departure }
}

/// It would count as the newest if it were taken.
const DEPARTURE_AHEAD: u32 = 1 << 27;
const DATA_BODY: usize = 64 - HEADER_LEN + 16;
const BYTES_MAX: usize = 256;
/// How far near is in packets.
const NEAR: u64 = 64;
