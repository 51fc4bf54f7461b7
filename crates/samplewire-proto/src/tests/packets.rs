//! Packets of either end, as bytes, for tests of one machine alone.

use super::pair::{RECEIVER_TAG, SENDER_TAG};
use crate::number::{Departure, Seq, Tag};
use crate::wire::{
    Close, CloseAck, CloseAckReason, CloseReason, Flags, HEADER_LEN, Header, Mark, PacketType,
    ReportFields, SeqRange, TRAILER_LEN, seal,
};

/// A header without flags, index and departure.
pub(super) fn header(kind: PacketType, tag: Tag, seq: Seq) -> Header {
    Header { kind, flags: Flags::NONE, tag, index: 0, seq, departure: Departure(0) }
}

/// DATA of any header; its body is padding of 2 bytes and the payload.
pub(super) fn data(header: &Header, payload: &[u8]) -> Vec<u8> {
    let body_len = 2 + payload.len();
    let mut bytes = vec![0; HEADER_LEN + body_len + TRAILER_LEN];
    bytes[HEADER_LEN + 2..][..payload.len()].copy_from_slice(payload);
    seal(header, body_len, &mut bytes);
    bytes
}

/// A REPORT to the sender.
pub(super) fn report(number: u32, fields: &ReportFields, ranges: &[SeqRange]) -> Vec<u8> {
    let mut bytes = vec![0; ReportFields::packet_len(ranges.len())];
    fields.emit(&header(PacketType::Report, SENDER_TAG, Seq(number)), ranges, &mut bytes);
    bytes
}

/// A MARK to the receiver.
pub(super) fn mark(seq: u32, departure: Departure, mark: &Mark) -> Vec<u8> {
    let header = Header { departure, ..header(PacketType::Mark, RECEIVER_TAG, Seq(seq)) };
    let mut bytes = vec![0; 64];
    let len = mark.emit(&header, &mut bytes);
    bytes.truncate(len);
    bytes
}

/// A CLOSE of reason "finished".
pub(super) fn close(tag: Tag, seq: u32, index: u64) -> Vec<u8> {
    close_for(tag, seq, index, CloseReason::Finished)
}

pub(super) fn close_for(tag: Tag, seq: u32, index: u64, reason: CloseReason) -> Vec<u8> {
    let header = Header { index, ..header(PacketType::Close, tag, Seq(seq)) };
    let mut bytes = vec![0; 64];
    let close = Close { reason, last: Seq(0), source_lost: 0 };
    let len = close.emit(&header, &mut bytes);
    bytes.truncate(len);
    bytes
}

pub(super) fn close_ack(tag: Tag, seq: u32, reason: CloseAckReason, echoed_tag: Tag) -> Vec<u8> {
    let header = header(PacketType::CloseAck, tag, Seq(seq));
    let mut bytes = vec![0; CloseAck::PACKET_LEN];
    CloseAck { reason, echoed_tag, source_lost: 0 }.emit(&header, &mut bytes);
    bytes
}
