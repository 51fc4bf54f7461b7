//! What both forms of slots share, and the form of software.

use samplewire_circuit::{Pool, PoolConfig};
use samplewire_proto::receiver::ReceiverConfig;
use samplewire_proto::stream::{Carriage, Terms};
use samplewire_proto::wire::{Flags, QueuePairTerms, SlotRecord, SlotRegion};
use samplewire_proto::{Tag, crc};
use samplewire_roce::stream::Connection;
use samplewire_roce::wire::{Body, Bth, FRAME_BYTES_MAX, Opcode, Packet, Reth, Route};
use samplewire_roce::{Psn, Qpn};

use super::*;

pub(super) const PAYLOAD_BYTES: u16 = 64;
pub(super) const QUANTUM_PACKETS: u32 = 4;
pub(super) const REGION: SlotRegion =
    SlotRegion { address: 0x1000, rkey: 7, slot_bytes: 192, slots: 4 };

/// Slots for packets from seq 0 on, of 16 samples and 64 bytes.
pub(in crate::receiver) fn slots(region: SlotRegion) -> Slots {
    let local = QueuePairTerms { qpn: 16, first_psn: 0, path_mtu_bytes: 1024 };
    let connection = Connection { local, peer: local, route: Route::default() };
    let accepted = AcceptedRdma::Software { connection, region };
    Slots::new(accepted, PAYLOAD_BYTES, Seq(0)).expect("software is always there")
}

/// What the WRITE of a full packet puts into its slot.
pub(in crate::receiver) fn bytes_of(seq: u32) -> Vec<u8> {
    let payload = [seq as u8; PAYLOAD_BYTES as usize];
    let record = SlotRecord {
        index: u64::from(seq) * 16,
        lost_before: 0,
        samples: 16,
        seq: Seq(seq),
        payload_crc: crc::crc32c(&payload),
        flags: Flags::NONE,
    };
    [&payload[..], &record.to_bytes()].concat()
}

/// The frame of the WRITE of a full packet.
pub(in crate::receiver) fn write_of<'b>(
    region: &SlotRegion,
    seq: u32,
    out: &'b mut [u8; FRAME_BYTES_MAX],
) -> Frame<'b> {
    let bytes = bytes_of(seq);
    let (key, len_bytes) = (region.rkey, bytes.len() as u32);
    let reth = Some(Reth { address: region.address_of(Seq(seq)), key, len_bytes });
    let bth = Bth::new(Opcode::WriteOnlyImmediate, Qpn::new(16), Psn::new(seq));
    let body = Body::Request { reth, immediate: Some(seq), payload: &bytes };
    let len = Packet { bth, body }.emit(&Route::default(), out);
    Frame::new_checked(&out[..len]).expect("it is whole")
}

/// A stream over RDMA with a window of four packets.
pub(super) const fn terms() -> Terms {
    Terms {
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
    }
}

/// The quanta for it.
pub(super) fn pool() -> Pool {
    let quantum_bytes = QUANTUM_PACKETS as usize * usize::from(PAYLOAD_BYTES);
    Pool::new(PoolConfig::new(3, quantum_bytes)).unwrap()
}

/// Its receiver, and the places of its payloads.
pub(super) fn receiver(now: Nanos) -> (Receiver<Vec<RecvSlot>>, PayloadRing) {
    let ring = vec![RecvSlot::default(); 4];
    let receiver = Receiver::new(terms(), ReceiverConfig::new(), ring, now).unwrap();
    let payloads = PayloadRing::new(pool(), Seq(0), 4, QUANTUM_PACKETS, PAYLOAD_BYTES.into());
    (receiver, payloads)
}

/// The program has let go of the stream, and has taken the quantum that was not full.
#[test]
fn writes_that_come_after_the_end_find_no_memory() {
    let now = Nanos::from_millis(1_000);
    let (mut receiver, mut payloads) = receiver(now);
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
