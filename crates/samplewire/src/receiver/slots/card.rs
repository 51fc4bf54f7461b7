//! Slots in memory that a network card writes to.
//!
//! A card refuses no second WRITE to a slot, and a hostile peer may write at any time. So what a WRITE
//! has filled is copied once, payload and record, and only the copy is checked and delivered.

use samplewire_io::verbs::{CardSlots, VerbsError, Written};
use samplewire_proto::receiver::{Completed, Receiver, RecvSlot};
use samplewire_proto::wire::{RECORD_LEN, SlotRegion, record_at};
use samplewire_proto::{Nanos, Seq};
use samplewire_roce::stream::SlotsError;

use super::super::payload_ring::PayloadRing;

/// What a reader needs of a card. In tests a peer that breaks the rules takes its place.
pub(super) trait WriteQueue: Send {
    /// See [`CardSlots::poll`].
    fn poll(&mut self) -> Result<Option<Written>, VerbsError>;
    /// See [`CardSlots::post`].
    fn post(&mut self) -> Result<(), VerbsError>;
    /// See [`CardSlots::arm`].
    fn arm(&mut self) -> Result<bool, VerbsError>;
    /// See [`CardSlots::copy`].
    fn copy(&self, offset: usize, into: &mut [u8]);
    /// See [`CardSlots::end`].
    fn end(&mut self);
    /// See [`CardSlots::qpn`].
    fn qpn(&self) -> u32;
}

impl WriteQueue for CardSlots {
    fn poll(&mut self) -> Result<Option<Written>, VerbsError> {
        self.poll()
    }

    fn post(&mut self) -> Result<(), VerbsError> {
        self.post()
    }

    fn arm(&mut self) -> Result<bool, VerbsError> {
        self.arm()
    }

    fn copy(&self, offset: usize, into: &mut [u8]) {
        self.copy(offset, into);
    }

    fn end(&mut self) {
        self.end();
    }

    fn qpn(&self) -> u32 {
        self.qpn()
    }
}

/// Takes what a card reports of a stream, in the order in which it does.
pub(crate) struct CardReader {
    queue: Box<dyn WriteQueue>,
    region: SlotRegion,
    record_at: usize,
    write_bytes: u32,
    /// The first seq that is not complete, and the first without a receive request.
    next: Seq,
    posted: Seq,
    has_failed: bool,
}

impl CardReader {
    /// Reads the slots of a connected queue.
    ///
    /// # Errors
    /// A slot is too short.
    pub(super) fn new(
        queue: Box<dyn WriteQueue>,
        region: SlotRegion,
        payload_bytes: u16,
        first_seq: Seq,
    ) -> Result<Self, SlotsError> {
        let slot_bytes = region.slot_bytes;
        let write_bytes = region.write_bytes(payload_bytes);
        let write_bytes = write_bytes.ok_or(SlotsError::Short { slot_bytes, payload_bytes })?;
        Ok(Self {
            queue,
            region,
            record_at: record_at(payload_bytes),
            write_bytes,
            next: first_seq,
            posted: first_seq,
            has_failed: false,
        })
    }

    /// All memory, in bytes, but for the queues, which are the library's.
    pub(super) fn memory_bytes(&self) -> usize {
        self.region.slots as usize * self.region.slot_bytes as usize + size_of::<Self>()
    }

    /// Takes completions, `limit` at most, and hands them to the receiver; returns how many.
    pub(super) fn settle<S>(
        &mut self,
        now: Nanos,
        receiver: &mut Receiver<S>,
        payloads: &mut PayloadRing,
        limit: u32,
    ) -> u32
    where
        S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>,
    {
        let mut count = 0;
        while count < limit && !self.has_failed {
            let completed = match self.queue.poll() {
                Ok(None) => break,
                Ok(Some(Written::Whole { len_bytes, immediate })) => {
                    Completed::Write { immediate, len_bytes }
                }
                Ok(Some(Written::Message)) => Completed::Send,
                Ok(Some(Written::Failed)) | Err(_) => {
                    self.has_failed = true;
                    break;
                }
            };
            count += 1;
            self.complete(now, completed, receiver, payloads);
        }
        if receiver.is_ended() {
            // What is on its way reaches no memory any more.
            self.queue.end();
        } else if self.has_failed {
            receiver.queue_pair_failed();
        }
        count
    }

    /// Copies the slot of the next packet, if that is what was written, and lets the receiver check it.
    fn complete<S>(
        &mut self,
        now: Nanos,
        completed: Completed,
        receiver: &mut Receiver<S>,
        payloads: &mut PayloadRing,
    ) where
        S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>,
    {
        let seq = self.next;
        self.next += 1;
        let expected = Completed::Write { immediate: seq.0, len_bytes: self.write_bytes };
        // A payload has a place while its seq is granted and neither complete nor given up.
        let has_place =
            receiver.takes_packets() && !seq.before(receiver.released()) && seq.before(self.posted);
        let mut record = [0; RECORD_LEN];
        if completed != expected || !has_place {
            // The receiver finds what is wrong before it reads the payload.
            receiver.handle_write(now, completed, &[], &record);
            return;
        }
        let slot_at = self.region.slot_of(seq) as usize * self.region.slot_bytes as usize;
        let payload = payloads.lay(seq);
        self.queue.copy(slot_at, payload);
        self.queue.copy(slot_at + self.record_at, &mut record);
        receiver.handle_write(now, completed, payload, &record);
    }

    /// See [`Slots::grant`](super::Slots::grant).
    pub(super) fn grant<S>(&mut self, receiver: &mut Receiver<S>, limit: Seq)
    where
        S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>,
    {
        while self.posted.before(limit) && !self.has_failed {
            match self.queue.post() {
                Ok(()) => self.posted += 1,
                Err(_) => self.has_failed = true,
            }
        }
        receiver.grant(limit.min(self.posted));
    }

    /// Requests a notice of the next completion; returns whether there is something to do at once.
    pub(super) fn arm(&mut self) -> bool {
        match self.queue.arm() {
            Ok(has_come) => has_come && !self.has_failed,
            Err(_) => !std::mem::replace(&mut self.has_failed, true),
        }
    }

    /// See [`Slots::note_failure`](super::Slots::note_failure).
    pub(super) fn note_failure(&mut self, qpn: Option<u32>) {
        self.has_failed |= qpn.is_none_or(|qpn| qpn == self.queue.qpn());
    }
}

#[cfg(test)]
pub(in crate::receiver) mod tests;
