//! Packets that come as RDMA WRITEs (`docs/protocol.md#13.6`).

use super::ring::{Received, State};
use super::{Phase, Receiver, RecvSlot};
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
    /// Takes a completion; `slot` is the memory of the slot that its immediate names, with room for
    /// a packet and its record.
    ///
    /// # Panics
    /// When `slot` is shorter than a WRITE of this stream.
    pub fn handle_write(&mut self, now: Nanos, completed: Completed, slot: &[u8]) {
        if !matches!(self.phase, Phase::Flowing | Phase::Draining { .. }) || self.ending.is_some() {
            return;
        }
        if self.end_of_data() == Some(self.highest_end) {
            // Given up by a CLOSE that has overtaken it, or after the end.
            self.stats.refused += 1;
            return;
        }
        if let Err(violation) = self.try_write(now, completed, slot) {
            self.ending = Some(End::Violation(violation));
        }
    }

    fn try_write(
        &mut self,
        now: Nanos,
        completed: Completed,
        slot: &[u8],
    ) -> Result<(), Violation> {
        let expected = self.highest_end;
        let Completed::Write { immediate, len_bytes } = completed else {
            return Err(Violation::NoWrite { expected });
        };
        let (seq, limit) = (Seq(immediate), self.limit);
        if seq != expected || !seq.before(limit) {
            return Err(Violation::WriteOrder { seq, expected, limit });
        }
        let record_at = record_at(self.terms.payload_bytes);
        let write_bytes = (record_at + RECORD_LEN) as u32;
        if len_bytes != write_bytes {
            return Err(Violation::WriteLength { seq, len_bytes, expected: write_bytes });
        }
        let (payload, rest) = slot.split_at(record_at);
        let record = rest.first_chunk().expect("a slot holds a record");
        let record = SlotRecord::parse(record, immediate)
            .map_err(|error| Violation::Record { seq, error })?;
        self.check_record(&record)?;

        self.heard_at = now;
        self.stats.received += 1;
        self.schedule.data_came();
        self.promise.count(now, self.rtt.get());
        self.written_index = record.index + u64::from(record.samples);
        let SlotRecord { index, samples, flags, .. } = record;
        if record.holds(payload) {
            self.ring.set(seq, State::Received(Received { index, samples, flags }));
            self.highest_end += 1;
        } else {
            // A completed WRITE is not repeated.
            let newest = self.settled.newest().map_or_else(Default::default, |it| it.departure);
            self.reveal(now, seq + 1, newest);
            self.gone_before = seq + 1;
        }
        Ok(())
    }

    /// Checks what the record says against the packets before it and the terms.
    fn check_record(&self, record: &SlotRecord) -> Result<(), Violation> {
        let SlotRecord { seq, index, samples, flags, lost_before, .. } = *record;
        let expected = self.written_index + lost_before;
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
