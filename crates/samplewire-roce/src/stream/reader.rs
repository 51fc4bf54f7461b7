//! The end that receives.

use samplewire_proto::receiver::{Completed, Phase, Receiver, RecvSlot};
use samplewire_proto::wire::{RECORD_LEN, SlotRegion};
use samplewire_proto::{Nanos, Seq};

use super::{Connection, SlotsError, write_bytes};
use crate::qp::{Event, QueuePair, ReadyToSendError, State};
use crate::region::{Access, Region};
use crate::requester::SendSlot;
use crate::responder::{Placement, ReceiveRequest, ReceiveSlot, ReceiveStatus, ResponderConfig};
use crate::wire::{Body, Frame};

/// Takes what a peer writes into the slots of a receiver.
///
/// Drain order: after a batch of [`SlotReader::handle`] call [`SlotReader::settle`],
/// [`SlotReader::poll_transmit`] until it is `None`, then drain the receiver, with
/// [`SlotReader::grant`] in place of [`Receiver::grant`].
#[derive(Clone, Debug)]
pub struct SlotReader<Q> {
    qp: ReaderPair<Q>,
    slots: SlotRegion,
    /// The first seq that is not complete, and the first without a receive request.
    next: Seq,
    posted: Seq,
    strays: u64,
}

/// A queue pair that sends no requests, with one region.
type ReaderPair<Q> = QueuePair<[SendSlot; 0], Q, [Region; 1]>;

impl<Q: AsRef<[ReceiveSlot]> + AsMut<[ReceiveSlot]>> SlotReader<Q> {
    /// Makes a queue pair ready to receive, with a queue of `receives`, one for each slot at least.
    /// PSN and MTU of `config` are those of the connection.
    ///
    /// # Errors
    /// A slot or the queue is too short.
    pub fn new(
        connection: &Connection,
        slots: SlotRegion,
        payload_bytes: u16,
        first_seq: Seq,
        config: ResponderConfig,
        receives: Q,
    ) -> Result<Self, SlotsError> {
        write_bytes(&slots, payload_bytes)?;
        let queue = receives.as_ref().len();
        if queue < slots.slots as usize {
            return Err(SlotsError::Queue { queue, slots: slots.slots });
        }
        let bytes = u64::from(slots.slots) * u64::from(slots.slot_bytes);
        let region = Region::new(slots.rkey, slots.address, bytes, Access::Write)
            .expect("slots that were read or made have an end");
        let (mtu, [_, psn]) = (connection.mtu(), connection.first_psns());
        let mut qp = QueuePair::new(connection.number(), [], receives, [region]);
        qp.init().map_err(ReadyToSendError::from)?;
        qp.ready_to_receive(connection.peer(), ResponderConfig { psn, mtu, ..config })
            .map_err(ReadyToSendError::from)?;
        Ok(Self { qp, slots, next: first_seq, posted: first_seq, strays: 0 })
    }

    /// The queue pair: for its counters.
    pub const fn queue_pair(&self) -> &ReaderPair<Q> {
        &self.qp
    }

    /// Posts a receive request for each slot up to `limit`, and promises those that have one to the
    /// sender.
    ///
    /// # Panics
    /// As [`Receiver::grant`].
    pub fn grant<S>(&mut self, receiver: &mut Receiver<S>, limit: Seq)
    where
        S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>,
    {
        while self.posted.before(limit) {
            let request = ReceiveRequest { id: self.posted.0.into(), len_bytes: 0 };
            // Packets that are given up leave their requests in the queue.
            if self.qp.post_receive(request).is_err() {
                break;
            }
            self.posted += 1;
        }
        receiver.grant(limit.min(self.posted));
    }

    /// Takes a frame of the queue pair. `store` puts bytes into the slot of a packet, from an offset
    /// on. Only slots that `receiver` waits for are written: those that are granted, and neither
    /// complete nor given up, of a stream that has not ended. What a peer writes elsewhere in its region is dropped and counted.
    pub fn handle<S>(
        &mut self,
        now: Nanos,
        frame: &Frame<'_>,
        receiver: &Receiver<S>,
        store: impl FnOnce(Seq, usize, &[u8]),
    ) where
        S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>,
    {
        let placement = self.qp.handle(now, frame);
        if let (Placement::Region { offset, .. }, Body::Request { payload, .. }) =
            (placement, frame.packet().body)
        {
            // The memory of a stream that has ended may be its program's, or gone.
            let takes_more = matches!(receiver.phase(), Phase::Flowing | Phase::Draining { .. });
            match self.place_of(offset, payload.len()).filter(|_| takes_more) {
                Some((seq, offset)) if !seq.before(receiver.released()) => {
                    store(seq, offset, payload);
                }
                _ => self.strays += 1,
            }
        }
    }

    /// Packets whose bytes did not belong into a slot that the receiver waited for.
    pub const fn strays(&self) -> u64 {
        self.strays
    }

    /// Hands what is complete to the receiver, and says to it when the queue pair has failed.
    /// `slot_of` gives what a full payload takes of a packet's slot, and its record.
    pub fn settle<'m, S>(
        &mut self,
        now: Nanos,
        receiver: &mut Receiver<S>,
        slot_of: impl Fn(Seq) -> (&'m [u8], &'m [u8; RECORD_LEN]),
    ) where
        S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>,
    {
        while let Some(event) = self.qp.poll_event() {
            let Event::Received(done) = event else { continue };
            let completed = match done.status {
                ReceiveStatus::Write { len_bytes, immediate } => {
                    Completed::Write { immediate, len_bytes }
                }
                ReceiveStatus::Send { .. } => Completed::Send,
                ReceiveStatus::Failed | ReceiveStatus::Flushed => continue,
            };
            // One with another immediate is a breach, which no slot is read for.
            let (payload, record) = slot_of(self.next);
            receiver.handle_write(now, completed, payload, record);
            self.next += 1;
        }
        if receiver.is_ended() && self.qp.state() != State::Error {
            // What is on its way reaches no memory any more.
            self.qp.fail().expect("it is connected");
        }
        if self.qp.state() == State::Error {
            receiver.queue_pair_failed();
        }
    }

    /// The packet whose slot has `len_bytes` bytes at an offset of the region, and the offset in it.
    fn place_of(&self, offset: u64, len_bytes: usize) -> Option<(Seq, usize)> {
        // The region has at most 2^24 slots.
        let slot = (offset / u64::from(self.slots.slot_bytes)) as u32;
        let offset = (offset % u64::from(self.slots.slot_bytes)) as usize;
        let ahead = slot.wrapping_sub(self.slots.slot_of(self.next)) & (self.slots.slots - 1);
        let seq = self.next + ahead;
        let fits = offset + len_bytes <= self.slots.slot_bytes as usize;
        (fits && seq.before(self.posted)).then_some((seq, offset))
    }

    /// Writes the next frame to `out` (at least [`FRAME_BYTES_MAX`](crate::wire::FRAME_BYTES_MAX))
    /// and says its length.
    pub fn poll_transmit(&mut self, now: Nanos, out: &mut [u8]) -> Option<usize> {
        let transmit = self.qp.poll_transmit(now)?;
        Some(transmit.emit(self.qp.route(), &[], out))
    }

    /// When to call [`SlotReader::poll_transmit`] again at the latest.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.qp.poll_timeout()
    }
}
