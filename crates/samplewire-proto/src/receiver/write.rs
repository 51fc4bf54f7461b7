//! Packets that come as RDMA WRITEs (`docs/protocol.md#13.6`).

use super::ring::{Received, State};
use super::{Receiver, RecvSlot};
use crate::crc::crc32c;
use crate::number::{Nanos, Seq};
use crate::stream::{End, Violation};
use crate::wire::{Flags, RECORD_LEN, RdmaError, RdmaField, SlotRecord, record_at};

/// A receive request that a queue pair has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completed {
    /// A WRITE.
    Write {
        /// Its immediate.
        immediate: u32,
        /// Its length.
        len_bytes: u32,
    },
    /// A SEND.
    Send,
}

impl<S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>> Receiver<S> {
    /// Takes a completion: `payload` is what a full payload takes of the slot that its immediate
    /// names, `record` what ends it.
    /// A shorter one is not what the sender wrote.
    pub fn handle_write(
        &mut self,
        now: Nanos,
        completed: Completed,
        payload: &[u8],
        record: &[u8; RECORD_LEN],
    ) {
        if !self.takes_packets() || self.ending.is_some() {
            return;
        }
        if self.end_of_data() == Some(self.highest_end) {
            // Given up by a CLOSE that has overtaken it, or after the end.
            self.stats.refused += 1;
            return;
        }
        if let Err(violation) = self.try_write(now, completed, payload, record) {
            self.ending = Some(End::Violation(violation));
        }
    }

    fn try_write(
        &mut self,
        now: Nanos,
        completed: Completed,
        payload: &[u8],
        record: &[u8; RECORD_LEN],
    ) -> Result<(), Violation> {
        let expected = self.highest_end;
        let Completed::Write { immediate, len_bytes } = completed else {
            return Err(Violation::NoWrite { expected });
        };
        let (seq, limit) = (Seq(immediate), self.limit);
        if seq != expected || !seq.before(limit) {
            return Err(Violation::WriteOrder { seq, expected, limit });
        }
        let expected = (record_at(self.terms.payload_bytes) + RECORD_LEN) as u32;
        if len_bytes != expected {
            return Err(Violation::WriteLength { seq, len_bytes, expected });
        }
        let record = SlotRecord::parse(record, immediate)
            .map_err(|error| Violation::Record { seq, error })?;
        self.check_record(&record)?;

        self.heard_at = now;
        self.stats.received += 1;
        self.schedule.data_came();
        self.promise.count(now, self.rtt.get());
        self.written_index = record.index + u64::from(record.samples);
        let SlotRecord { index, samples, flags, payload_crc, .. } = record;
        let payload = payload.get(..self.terms.payload_bytes.into());
        if payload.is_some_and(|it| self.slot_pad.append(crc32c(it)) == payload_crc) {
            self.ring.set(seq, State::Received(Received { index, samples, flags }));
            self.highest_end += 1;
        } else {
            // A completed WRITE is not repeated.
            self.reveal_gone(now, seq + 1);
        }
        Ok(())
    }

    /// Checks what the record says against the packets before it and the terms.
    fn check_record(&self, record: &SlotRecord) -> Result<(), Violation> {
        let SlotRecord { seq, index, samples, flags, lost_before, .. } = *record;
        // What exceeds 64 bits is past any index.
        let expected = self.written_index.saturating_add(lost_before);
        if index < expected {
            return Err(Violation::IndexRetreats { seq, index, expected });
        }
        if index > expected && !flags.contains(Flags::START) {
            return Err(Violation::IndexJumps { seq, index, expected });
        }
        if flags.contains(Flags::META) {
            return Ok(());
        }
        let full = self.terms.packet_samples;
        if flags.contains(Flags::END_OF_BURST) {
            // Beside them the payload has their count (6.5).
            let room_bytes = u64::from(self.terms.payload_bytes - 8);
            let needed = u64::from(samples) * u64::from(self.terms.payload_bytes);
            if needed > room_bytes * u64::from(full) {
                return Err(Violation::BurstLength { seq, samples: samples.into() });
            }
        } else if samples != full {
            let error = RdmaError { field: RdmaField::Samples, value: samples.into() };
            return Err(Violation::Record { seq, error });
        }
        Ok(())
    }
}
