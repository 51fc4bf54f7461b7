//! A received stream over RDMA: its queue pair, and the records of its slots. The payloads lie in
//! the quanta, as those of DATA do.
//!
//! The queue pair is one of software, whose frames go through the endpoint's station, or one of a network
//! card, which writes into registered memory.

mod card;
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

    /// Takes a frame, and stores what it carries; returns whether it carried something. `None` if frames
    /// are not how packets come.
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
            Self::Software(slots) => Some(slots.handle(now, frame, receiver, payloads)),
            Self::Card(_) => None,
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
pub(super) mod tests {
    use samplewire_circuit::{Pool, PoolConfig};
    use samplewire_proto::receiver::ReceiverConfig;
    use samplewire_proto::stream::{Carriage, Terms};
    use samplewire_proto::wire::{Flags, QueuePairTerms, SlotRecord, SlotRegion};
    use samplewire_proto::{Tag, crc};
    use samplewire_roce::stream::Connection;
    use samplewire_roce::wire::{Body, Bth, FRAME_BYTES_MAX, Opcode, Packet, Reth, Route};
    use samplewire_roce::{Psn, Qpn};

    use super::*;

    const PAYLOAD_BYTES: u16 = 64;
    const QUANTUM_PACKETS: u32 = 4;
    const REGION: SlotRegion = SlotRegion { address: 0x1000, rkey: 7, slot_bytes: 128, slots: 4 };

    /// Slots for packets from seq 0 on, of 16 samples and 64 bytes.
    pub(in crate::receiver) fn slots(region: SlotRegion) -> Slots {
        let local = QueuePairTerms { qpn: 16, first_psn: 0, path_mtu_bytes: 1024 };
        let connection = Connection { local, peer: local, route: Route::default() };
        let accepted = AcceptedRdma::Software { connection, region };
        Slots::new(accepted, PAYLOAD_BYTES, Seq(0)).expect("software is always there")
    }

    /// The frame of the WRITE of a full packet.
    pub(in crate::receiver) fn write_of<'b>(
        region: &SlotRegion,
        seq: u32,
        out: &'b mut [u8; FRAME_BYTES_MAX],
    ) -> Frame<'b> {
        let payload = [seq as u8; PAYLOAD_BYTES as usize];
        let record = SlotRecord {
            index: u64::from(seq) * 16,
            lost_before: 0,
            samples: 16,
            seq: Seq(seq),
            payload_crc: crc::crc32c(&payload),
            flags: Flags::NONE,
        };
        let bytes = [&payload[..], &record.to_bytes()].concat();
        let (key, len_bytes) = (region.rkey, bytes.len() as u32);
        let reth = Some(Reth { address: region.address_of(Seq(seq)), key, len_bytes });
        let bth = Bth::new(Opcode::WriteOnlyImmediate, Qpn::new(16), Psn::new(seq));
        let body = Body::Request { reth, immediate: Some(seq), payload: &bytes };
        let len = Packet { bth, body }.emit(&Route::default(), out);
        Frame::new_checked(&out[..len]).expect("it is whole")
    }

    /// The program has let go of the stream, and has taken the quantum that was not full.
    #[test]
    fn writes_that_come_after_the_end_find_no_memory() {
        let now = Nanos::from_millis(1_000);
        let terms = Terms {
            local_tag: Tag(1),
            peer_tag: Tag(2),
            is_opener: true,
            first_seq: Seq(0),
            first_index: 0,
            packet_samples: 16,
            payload_bytes: PAYLOAD_BYTES,
            payload_offset: 22,
            window: REGION.slots,
            reorder_tolerance: 0,
            dead_after: Nanos::from_millis(15_000),
            idle_after: Nanos::from_millis(100),
            ranges_max: 32,
            rtt: Nanos::from_micros(50),
            carriage: Carriage::Rdma,
        };
        let ring = vec![RecvSlot::default(); 4];
        let mut receiver = Receiver::new(terms, ReceiverConfig::new(), ring, now).unwrap();
        let quantum_bytes = QUANTUM_PACKETS as usize * usize::from(PAYLOAD_BYTES);
        let pool = Pool::new(PoolConfig::new(1, quantum_bytes)).unwrap();
        let mut payloads = PayloadRing::new(pool, Seq(0), 4, QUANTUM_PACKETS, PAYLOAD_BYTES.into());
        let mut slots = slots(REGION);
        slots.grant(&mut receiver, payloads.attach(Seq(4)));

        let mut out = [0; FRAME_BYTES_MAX];
        let frame = write_of(&REGION, 0, &mut out);
        assert_eq!(slots.handle(now, &frame, &receiver, &mut payloads), Some(true));
        slots.settle(now, &mut receiver, &mut payloads, 1);
        assert!(receiver.poll_delivery(now).is_some());
        payloads.advance();
        receiver.cancel(now);
        assert!(payloads.take_last().is_some());
        let frame = write_of(&REGION, 1, &mut out);
        assert_eq!(slots.handle(now, &frame, &receiver, &mut payloads), Some(false));
    }
}
