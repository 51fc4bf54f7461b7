//! Streams over RDMA (`docs/protocol.md#13`): what carries the packets of a
//! [`Sender`](samplewire_proto::sender::Sender) into the slots of a
//! [`Receiver`](samplewire_proto::receiver::Receiver).
//!
//! Opening, credit, marks and closing stay with these two, over UDP. Beside the sender stands a
//! [`SlotWriter`], beside the receiver a [`SlotReader`], each with a queue pair of its own. Payloads
//! and slots stay with the caller.

mod reader;
#[cfg(test)]
mod tests;
mod writer;

use samplewire_proto::wire::{QueuePairTerms, SlotRegion};

use crate::number::{PathMtu, Psn, Qpn};
use crate::qp::Peer;
use crate::wire::Route;

pub use reader::SlotReader;
pub use writer::SlotWriter;

/// The queue pairs of a stream, as its opening has settled them (`docs/protocol.md#13.2`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// That of this end.
    pub local: QueuePairTerms,
    /// That of the peer.
    pub peer: QueuePairTerms,
    /// The way of frames to it.
    pub route: Route,
}

/// Terms and storage that make no stream over RDMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlotsError {
    /// A slot is too short.
    #[error("slots of {slot_bytes} bytes do not hold a payload of {payload_bytes} and its record")]
    Short {
        /// From slot to slot.
        slot_bytes: u32,
        /// The payload of a full packet.
        payload_bytes: u16,
    },
    /// A receiver's queue holds fewer requests than it has slots.
    #[error("a queue of {queue} receive requests for {slots} slots")]
    Queue {
        /// Requests that the queue holds.
        queue: usize,
        /// Slots of the receiver.
        slots: u32,
    },
    /// The queue pair cannot be what the connection asks for.
    #[error("the queue pair cannot be connected: {0}")]
    QueuePair(#[from] crate::qp::ReadyToSendError),
}

impl Connection {
    /// The smaller of both path MTUs.
    fn mtu(&self) -> PathMtu {
        let bytes = self.local.path_mtu_bytes.min(self.peer.path_mtu_bytes);
        PathMtu::from_bytes(bytes.into()).expect("the terms have been read")
    }

    fn number(&self) -> Qpn {
        Qpn::new(self.local.qpn)
    }

    fn peer(&self) -> Peer {
        Peer { number: Qpn::new(self.peer.qpn), route: self.route }
    }

    /// The PSNs of the first request of this end and of the peer.
    fn first_psns(&self) -> [Psn; 2] {
        [self.local, self.peer].map(|terms| Psn::new(terms.first_psn))
    }
}

/// The length of every WRITE, where a slot holds it.
fn write_bytes(slots: &SlotRegion, payload_bytes: u16) -> Result<u32, SlotsError> {
    let slot_bytes = slots.slot_bytes;
    slots.write_bytes(payload_bytes).ok_or(SlotsError::Short { slot_bytes, payload_bytes })
}
