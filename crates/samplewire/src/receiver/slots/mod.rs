//! A received stream over RDMA: its queue pair, and the records of its slots. The payloads lie in
//! the quanta, as those of DATA do.
//!
//! The queue pair is one of software, whose frames go through the endpoint's station, or one of a network
//! card, which writes into registered memory.

pub(super) mod card;
mod software;

use samplewire_io::LinkError;
use samplewire_io::verbs::VerbsError;
use samplewire_proto::Nanos;
use samplewire_proto::Seq;
use samplewire_proto::receiver::{Receiver, ReceiverStats, RecvSlot};
use samplewire_roce::stream::SlotsError;
use samplewire_roce::wire::Frame;

use super::payload_ring::PayloadRing;
use crate::endpoint::{AcceptedRdma, Station};

use card::CardReader;
use software::SoftwareSlots;

/// What a stream over RDMA has besides a receiver.
pub(crate) enum Slots {
    Software(Box<SoftwareSlots>),
    Card(Box<CardReader>),
}

impl Slots {
    /// The slots that an opening has settled, ready for the peer's first WRITE.
    ///
    /// # Errors
    /// A card cannot be connected.
    ///
    /// # Panics
    /// The slots do not hold the payload, which the opening has checked.
    ///
    /// # Blocking
    /// Those of a card until the system knows the peer's Ethernet address: since ACCEPT, it does.
    pub(crate) fn new(
        accepted: AcceptedRdma,
        payload_bytes: u16,
        first_seq: Seq,
    ) -> Result<Self, VerbsError> {
        match accepted {
            AcceptedRdma::Software { connection, region } => {
                let slots = SoftwareSlots::new(&connection, region, payload_bytes, first_seq);
                Ok(Self::Software(Box::new(expect_room(slots))))
            }
            AcceptedRdma::Card { mut slots, region, peer } => {
                slots.connect(&peer)?;
                let reader = CardReader::new(slots, region, payload_bytes, first_seq);
                Ok(Self::Card(Box::new(expect_room(reader))))
            }
        }
    }

    /// All memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Self::Software(slots) => slots.memory_bytes(),
            Self::Card(reader) => reader.memory_bytes(),
        }
    }

    /// Adds what the queue pair counts to the counters of its stream. What a card counts is not that of
    /// one stream.
    pub(super) fn add_to(&self, stats: &mut ReceiverStats) {
        if let Self::Software(slots) = self {
            slots.add_to(stats);
        }
    }

    /// Takes a frame, and stores what it carries; returns whether it carried something. `None` if it is
    /// of another queue pair, or frames are not how packets come.
    pub(super) fn handle<S>(
        &mut self,
        now: Nanos,
        frame: &Frame<'_>,
        receiver: &Receiver<S>,
        payloads: &mut PayloadRing,
    ) -> Option<bool>
    where
        S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>,
    {
        match self {
            Self::Software(slots) if slots.number() == frame.packet().bth.destination => {
                Some(slots.handle(now, frame, receiver, payloads))
            }
            Self::Software(_) | Self::Card(_) => None,
        }
    }

    /// Hands complete packets to the receiver; returns how many it has stored for that, `limit` at most.
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
        match self {
            Self::Software(slots) => {
                slots.settle(now, receiver, payloads);
                0
            }
            Self::Card(reader) => reader.settle(now, receiver, payloads, limit),
        }
    }

    /// Posts a receive request for each slot up to `limit`, and promises those that have one to the
    /// sender.
    pub(super) fn grant<S>(&mut self, receiver: &mut Receiver<S>, limit: Seq)
    where
        S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>,
    {
        match self {
            Self::Software(slots) => slots.grant(receiver, limit),
            Self::Card(reader) => reader.grant(receiver, limit),
        }
    }

    /// Sends what is due.
    pub(super) fn transmit(
        &mut self,
        now: Nanos,
        station: Option<&mut Station>,
    ) -> Result<(), LinkError> {
        match (self, station) {
            (Self::Software(slots), Some(station)) => slots.transmit(now, station),
            _ => Ok(()),
        }
    }

    /// When there is something to send again.
    pub(super) fn poll_timeout(&self) -> Option<Nanos> {
        match self {
            Self::Software(slots) => slots.poll_timeout(),
            Self::Card(_) => None,
        }
    }

    /// Whether packets come by a card, without a frame that says so.
    pub(super) const fn is_card(&self) -> bool {
        matches!(self, Self::Card(_))
    }

    /// Requests a notice of the next packet of a card; returns whether one has come already.
    pub(super) fn arm(&mut self) -> bool {
        match self {
            Self::Software(_) => false,
            Self::Card(reader) => reader.arm(),
        }
    }

    /// The card has reported a failure, of the queue pair of this number or of all.
    pub(super) fn note_failure(&mut self, qpn: Option<u32>) {
        if let Self::Card(reader) = self {
            reader.note_failure(qpn);
        }
    }
}

fn expect_room<T>(slots: Result<T, SlotsError>) -> T {
    slots.expect("the slots were checked when the stream was opened")
}

#[cfg(test)]
pub(super) mod tests;
