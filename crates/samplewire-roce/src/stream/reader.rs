//! The end that receives.

use samplewire_proto::receiver::{Completed, Receiver, RecvSlot};
use samplewire_proto::wire::SlotRegion;
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
    write_bytes: u32,
    /// The first seq without a receive request.
    posted: Seq,
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
        let write_bytes = write_bytes(&slots, payload_bytes, receives.as_ref().len())?;
        let bytes = u64::from(slots.slots) * u64::from(slots.slot_bytes);
        let region = Region::new(slots.rkey, slots.address, bytes, Access::Write)
            .expect("slots that were read or made have an end");
        let (mtu, [_, psn]) = (connection.mtu(), connection.first_psns());
        let mut qp = QueuePair::new(connection.number(), [], receives, [region]);
        qp.init().map_err(ReadyToSendError::from)?;
        qp.ready_to_receive(connection.peer(), ResponderConfig { psn, mtu, ..config })
            .map_err(ReadyToSendError::from)?;
        Ok(Self { qp, slots, write_bytes, posted: first_seq })
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

    /// Takes a frame of the queue pair, and puts its payload into `memory`: all slots.
    ///
    /// # Panics
    /// When `memory` is shorter than the slots.
    pub fn handle(&mut self, now: Nanos, frame: &Frame<'_>, memory: &mut [u8]) {
        let placement = self.qp.handle(now, frame);
        if let (Placement::Region { offset, .. }, Body::Request { payload, .. }) =
            (placement, frame.packet().body)
        {
            memory[offset as usize..][..payload.len()].copy_from_slice(payload);
        }
    }

    /// Hands what is complete to the receiver, and says to it when the queue pair has failed.
    pub fn settle<S>(&mut self, now: Nanos, receiver: &mut Receiver<S>, memory: &[u8])
    where
        S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>,
    {
        while let Some(event) = self.qp.poll_event() {
            let Event::Received(done) = event else { continue };
            let (completed, seq) = match done.status {
                ReceiveStatus::Write { len_bytes, immediate } => {
                    (Completed::Write { immediate, len_bytes }, Seq(immediate))
                }
                ReceiveStatus::Send { .. } => (Completed::Send, Seq(0)),
                ReceiveStatus::Failed | ReceiveStatus::Flushed => continue,
            };
            let start = self.slots.slot_of(seq) as usize * self.slots.slot_bytes as usize;
            let slot = &memory[start..][..self.write_bytes as usize];
            receiver.handle_write(now, completed, slot);
        }
        if receiver.is_ended() && self.qp.state() != State::Error {
            // What is on its way reaches no memory any more.
            self.qp.fail().expect("it is connected");
        }
        if self.qp.state() == State::Error {
            receiver.queue_pair_failed();
        }
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
