//! What leaves: the choice of the next packet, and its bytes.

use super::requests::Walk;
use super::{DataTransmit, Phase, SendSlot, Sender, Transmit};
use crate::crc;
use crate::number::{Departure, Nanos, SampleIndex, Seq};
use crate::rate::FRAME_OVERHEAD_BYTES;
use crate::stream::{End, PAYLOAD_OFFSET_MAX};
use crate::wire::{
    Close, CloseAck, CloseAckReason, Flags, HEADER_LEN, Header, Mark, PacketType, TRAILER_LEN,
};

impl<S: AsRef<[SendSlot]> + AsMut<[SendSlot]>> Sender<S> {
    pub(super) fn next_repeat(&mut self, now: Nanos) -> Option<Seq> {
        if self.requests.is_empty() {
            return None;
        }
        self.budget.refill(now, self.rtt.get());
        if self.budget.is_empty() {
            self.stats.budget_stalls += 1;
            return None;
        }
        let slots = self.slots.as_ref();
        let mask = slots.len() - 1;
        let walk = self.requests.walk(self.oldest, |seq, settled| {
            slots[seq.0 as usize & mask].departure.before(settled)
        });
        match walk {
            Walk::Found(seq) => Some(seq),
            Walk::Empty | Walk::Paused => None,
        }
    }

    pub(super) fn next_new(&self) -> Option<Seq> {
        let has_departure = self.sent != self.next && self.phase != Phase::Opening;
        (has_departure && self.sent.before(self.limit)).then_some(self.sent)
    }

    pub(super) fn depart(&mut self, now: Nanos, seq: Seq) -> DataTransmit {
        let departure = self.clock.stamp(now);
        let is_repeat = seq != self.sent;
        if is_repeat {
            self.budget.spend();
            self.stats.retransmissions += 1;
        } else {
            self.sent += 1;
            self.stats.packets += 1;
        }
        let slot = self.slot_mut(seq);
        slot.departure = departure;
        slot.is_repeat = is_repeat;
        let slot = *slot;
        if !is_repeat {
            self.sent_index = slot.index + u64::from(slot.samples);
        }
        let flags = if is_repeat { slot.flags | Flags::RETRANSMISSION } else { slot.flags };
        let header = self.header(PacketType::Data, flags, slot.index, seq, departure);
        let transmit = self.join(&header, &slot, seq);
        let packet_bytes = transmit.head_len as usize + slot.len_bytes as usize + TRAILER_LEN;
        self.stats.bytes += packet_bytes as u64;
        let frame_bytes = packet_bytes as u32 + FRAME_OVERHEAD_BYTES;
        self.pacer.spend(now, frame_bytes);
        if self.reaction.handle_departure(now, frame_bytes, &mut self.stats) {
            self.follow_limit(now);
        }
        let is_spent = !is_repeat && self.has_spent_small_window();
        self.marks.data_left(now, self.rtt.get(), is_spent);
        if self.breaker.count(now, is_repeat) {
            self.end(End::CircuitBreaker);
        }
        transmit
    }

    /// Writes the head and joins its CRC with the slot's, so that no repeat reads the payload.
    pub(super) fn join(&self, header: &Header, slot: &SendSlot, seq: Seq) -> DataTransmit {
        let head_len = self.terms.payload_offset;
        let mut head = [0; PAYLOAD_OFFSET_MAX as usize];
        head[..HEADER_LEN].copy_from_slice(&header.to_bytes());
        let head_crc = crc::crc32c(&head[..head_len as usize]);
        let crc = if slot.len_bytes as usize == self.full_payload.len_bytes() {
            self.full_payload.join(head_crc, slot.payload_crc)
        } else {
            crc::join(head_crc, slot.payload_crc, slot.len_bytes as usize)
        };
        let trailer = crc.to_be_bytes();
        DataTransmit { seq, len_bytes: slot.len_bytes, head, head_len, trailer }
    }

    pub(super) fn emit_mark_or_close(&mut self, now: Nanos, control: &mut [u8]) -> Transmit {
        let is_waiting = self.is_waiting();
        self.marks.mark_left(now, self.rtt.get(), is_waiting, self.terms.idle_after);
        if is_waiting && self.sent != self.next && !self.sent.before(self.limit) {
            self.stats.credit_stalls += 1;
        }
        self.marks_sent = self.marks_sent.wrapping_add(1);
        let departure = self.clock.stamp(now);
        let len_bytes = match self.phase {
            Phase::Closing(reason) if self.sent == self.next => {
                self.close_departure.get_or_insert(departure);
                let header = self.header(
                    PacketType::Close,
                    Flags::default(),
                    self.next_index,
                    self.next,
                    departure,
                );
                let last = self.last_report.map_or(Seq(0), |last| last.number);
                Close { reason, last, source_lost: self.source_lost }.emit(&header, control)
            }
            _ => {
                let index = if self.sent == self.next {
                    self.next_index
                } else {
                    self.slot(self.sent).index
                };
                let header =
                    self.header(PacketType::Mark, Flags::default(), index, self.sent, departure);
                let (report, echo, hold) = match self.last_report {
                    Some(last) => {
                        (last.number, last.departure, Departure::units(now.since(last.at)))
                    }
                    None => (Seq(0), Departure(0), u32::MAX),
                };
                let (oldest, source_lost) = (self.oldest, self.source_lost);
                let time_ns = self.tai_clock.map_or(0, |clock| clock.tai_ns(index));
                Mark { oldest, report, echo, hold, source_lost, time_ns }.emit(&header, control)
            }
        };
        Transmit::Control { len_bytes }
    }

    pub(super) fn emit_close_ack(&mut self, now: Nanos, control: &mut [u8]) -> Transmit {
        let departure = self.clock.stamp(now);
        let header = self.header(
            PacketType::CloseAck,
            Flags::default(),
            self.next_index,
            self.next,
            departure,
        );
        let ack = CloseAck {
            reason: CloseAckReason::Done,
            echoed_tag: self.terms.local_tag,
            source_lost: self.source_lost,
        };
        Transmit::Control { len_bytes: ack.emit(&header, control) }
    }

    pub(super) fn header(
        &self,
        kind: PacketType,
        flags: Flags,
        index: SampleIndex,
        seq: Seq,
        departure: Departure,
    ) -> Header {
        let flags = if self.terms.is_opener { flags | Flags::FROM_OPENER } else { flags };
        Header { kind, flags, tag: self.terms.peer_tag, index, seq, departure }
    }
}
