//! What leaves over RDMA: a WRITE for each packet (`docs/protocol.md#13.4`).

use super::{SendSlot, Sender};
use crate::crc::Zeros;
use crate::number::{Nanos, Seq};
use crate::rate::FRAME_OVERHEAD_BYTES;
use crate::stream::Carriage;
use crate::wire::{Flags, RECORD_LEN, SlotRecord, record_at};

/// A packet of a stream over RDMA: its WRITE is the payload, zeros up to the record, the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteTransmit {
    /// Payload bytes.
    pub len_bytes: u16,
    /// What ends the WRITE. Its seq names the packet.
    pub record: SlotRecord,
    record_at: usize,
}

impl WriteTransmit {
    /// `len_bytes` bytes of the WRITE from `offset` on; `payload` is that of the packet. What does not
    /// lie within the payload is put together in `scratch`, which is as long at least.
    ///
    /// # Panics
    /// When `payload` is shorter than [`WriteTransmit::len_bytes`], `scratch` is too short, or the
    /// WRITE ends before.
    pub fn piece<'b>(
        &self,
        payload: &'b [u8],
        offset: usize,
        len_bytes: usize,
        scratch: &'b mut [u8],
    ) -> &'b [u8] {
        let end = offset + len_bytes;
        assert!(end <= self.record_at + RECORD_LEN, "a WRITE has no byte {end}");
        let payload = &payload[..usize::from(self.len_bytes)];
        if let Some(piece) = payload.get(offset..end) {
            return piece;
        }
        let piece = &mut scratch[..len_bytes];
        piece.fill(0);
        copy_part(payload, 0, offset, piece);
        copy_part(&self.record.to_bytes(), self.record_at, offset, piece);
        piece
    }
}

/// Copies what of `part`, whose first byte is byte `at` of a WRITE, lies in `out`, whose first byte
/// is byte `offset`.
fn copy_part(part: &[u8], at: usize, offset: usize, out: &mut [u8]) {
    let (start, end) = (at.max(offset), (at + part.len()).min(offset + out.len()));
    if start < end {
        out[start - offset..end - offset].copy_from_slice(&part[start - at..end - at]);
    }
}

impl<S: AsRef<[SendSlot]> + AsMut<[SendSlot]>> Sender<S> {
    /// The next packet to post as a WRITE, if one may leave at `now`. It is to be posted.
    pub fn poll_write(&mut self, now: Nanos) -> Option<WriteTransmit> {
        if self.terms.carriage != Carriage::Rdma
            || self.is_ended()
            || now < self.pacer.ready_at(now)
        {
            return None;
        }
        let seq = self.next_new()?;
        self.sent += 1;
        self.stats.packets += 1;
        let slot = *self.slot(seq);
        self.sent_index = slot.index + u64::from(slot.samples);
        let write_bytes = record_at(self.terms.payload_bytes) + RECORD_LEN;
        self.stats.bytes += write_bytes as u64;
        // What its queue pair repeats is outside.
        let frame_bytes = write_bytes as u32 + FRAME_OVERHEAD_BYTES;
        self.pacer.spend(now, frame_bytes);
        if self.reaction.handle_departure(now, frame_bytes, &mut self.stats) {
            self.follow_limit(now);
        }
        let is_spent = self.has_spent_small_window();
        self.marks.data_left(now, self.rtt.get(), is_spent);
        Some(self.write_of(seq))
    }

    /// The WRITE of a packet that has left and is not complete, for its queue pair to send.
    ///
    /// # Panics
    /// When the packet is not held.
    pub fn write(&self, seq: Seq) -> WriteTransmit {
        assert!(seq.within(self.oldest, self.sent), "packet {seq} is not held");
        self.write_of(seq)
    }

    /// The WRITEs of all packets before `end` are complete: their payloads are not read any more.
    ///
    /// # Panics
    /// When one of them has not left.
    pub fn handle_written(&mut self, end: Seq) {
        assert!(!self.sent.before(end), "packet {end} has not left");
        self.written = self.written.max(end);
        self.release();
    }

    fn write_of(&self, seq: Seq) -> WriteTransmit {
        let slot = self.slot(seq);
        let record_at = record_at(self.terms.payload_bytes);
        let payload_crc = if slot.len_bytes == self.terms.payload_bytes {
            self.slot_pad.append(slot.payload_crc)
        } else {
            Zeros::new(record_at - usize::from(slot.len_bytes)).append(slot.payload_crc)
        };
        let has_loss = slot.lost_before > 0;
        let record = SlotRecord {
            index: slot.index,
            lost_before: slot.lost_before,
            samples: slot.samples,
            seq,
            payload_crc,
            flags: if has_loss { slot.flags } else { slot.flags.without(Flags::OVERFLOW) },
        };
        WriteTransmit { len_bytes: slot.len_bytes, record, record_at }
    }
}
