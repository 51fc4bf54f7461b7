//! A received stream over RDMA: its queue pair, and the records of its slots. The payloads lie in
//! the quanta, as those of DATA do.

use samplewire_io::LinkError;
use samplewire_io::ether::EtherStation;
use samplewire_proto::receiver::{Receiver, ReceiverStats, RecvSlot};
use samplewire_proto::wire::{RECORD_LEN, SlotRegion, record_at};
use samplewire_proto::{Nanos, Seq};
use samplewire_roce::Qpn;
use samplewire_roce::responder::{ReceiveSlot, ResponderConfig};
use samplewire_roce::stream::{Connection, SlotReader, SlotsError};
use samplewire_roce::wire::{Frame, Route};

use super::payload_ring::PayloadRing;
use crate::endpoint::Station;

/// What a stream over RDMA has besides a receiver.
pub(crate) struct Slots {
    reader: SlotReader<Box<[ReceiveSlot]>>,
    /// By seq modulo their number.
    records: Box<[[u8; RECORD_LEN]]>,
    record_at: usize,
    /// The way to the peer, until its station is looked for.
    looks_for: Option<Route>,
    /// When more frames may leave, if they may.
    more_at: Option<Nanos>,
}

impl Slots {
    pub(crate) fn new(
        connection: &Connection,
        region: SlotRegion,
        payload_bytes: u16,
        first_seq: Seq,
    ) -> Result<Self, SlotsError> {
        let len = region.slots as usize;
        let receives = vec![ReceiveSlot::default(); len].into_boxed_slice();
        let config = ResponderConfig::default();
        let reader =
            SlotReader::new(connection, region, payload_bytes, first_seq, config, receives)?;
        let records = vec![[0; RECORD_LEN]; len].into();
        Ok(Self {
            reader,
            records,
            record_at: record_at(payload_bytes),
            looks_for: Some(connection.route),
            more_at: None,
        })
    }

    /// The number of the queue pair.
    pub(super) const fn number(&self) -> Qpn {
        self.reader.queue_pair().number()
    }

    /// All memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.records.len() * (RECORD_LEN + size_of::<ReceiveSlot>()) + size_of::<Self>()
    }

    /// Adds what the queue pair counts to the counters of its stream.
    pub(super) fn add_to(&self, stats: &mut ReceiverStats) {
        let (_, _, responder) = self.reader.queue_pair().stats();
        stats.duplicates += responder.duplicates;
        stats.ranges += responder.sequence_naks;
        stats.refused += self.reader.strays();
    }

    /// Takes a frame, and stores what it carries; returns whether it carried something.
    pub(super) fn handle<S>(
        &mut self,
        now: Nanos,
        frame: &Frame<'_>,
        receiver: &Receiver<S>,
        payloads: &mut PayloadRing,
    ) -> bool
    where
        S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>,
    {
        let Self { reader, records, record_at, .. } = self;
        let mask = records.len() - 1;
        let mut has_stored = false;
        reader.handle(now, frame, receiver, |seq, offset, bytes| {
            has_stored = true;
            payloads.store_part(seq, offset, bytes);
            // What of it lies in the record.
            let (start, end) = (offset.max(*record_at), offset + bytes.len());
            let end = end.min(*record_at + RECORD_LEN);
            if start < end {
                let record = &mut records[seq.0 as usize & mask];
                record[start - *record_at..end - *record_at]
                    .copy_from_slice(&bytes[start - offset..end - offset]);
            }
        });
        has_stored
    }

    /// Hands complete packets to the receiver.
    pub(super) fn settle<S>(
        &mut self,
        now: Nanos,
        receiver: &mut Receiver<S>,
        payloads: &PayloadRing,
    ) where
        S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>,
    {
        let records = &self.records;
        self.reader.settle(now, receiver, |seq| {
            let record = &records[seq.0 as usize & (records.len() - 1)];
            (payloads.payload(seq).unwrap_or(&[]), record)
        });
    }

    /// See [`SlotReader::grant`].
    pub(super) fn grant<S>(&mut self, receiver: &mut Receiver<S>, limit: Seq)
    where
        S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>,
    {
        self.reader.grant(receiver, limit);
    }

    /// Sends what is due.
    pub(super) fn transmit(&mut self, now: Nanos, station: &mut Station) -> Result<(), LinkError> {
        if let Some(route) = self.looks_for.take() {
            station.look_for(now, &route)?;
        }
        loop {
            if !station.has_room(now)? {
                self.more_at = Some(now + EtherStation::FULL_PAUSE);
                return Ok(());
            }
            let Some(len) = self.reader.poll_transmit(now, station.out()) else {
                self.more_at = None;
                return Ok(());
            };
            station.send(now, len)?;
        }
    }

    /// When there is something to send again.
    pub(super) fn poll_timeout(&self) -> Option<Nanos> {
        self.more_at.into_iter().chain(self.reader.poll_timeout()).min()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use samplewire_circuit::{Pool, PoolConfig};
    use samplewire_proto::receiver::ReceiverConfig;
    use samplewire_proto::stream::{Carriage, Terms};
    use samplewire_proto::wire::{Flags, QueuePairTerms, SlotRecord};
    use samplewire_proto::{Tag, crc};
    use samplewire_roce::Psn;
    use samplewire_roce::wire::{Body, Bth, FRAME_BYTES_MAX, Opcode, Packet, Reth};

    use super::*;

    const PAYLOAD_BYTES: u16 = 64;
    const QUANTUM_PACKETS: u32 = 4;
    const REGION: SlotRegion = SlotRegion { address: 0x1000, rkey: 7, slot_bytes: 128, slots: 4 };

    /// Slots for packets from seq 0 on, of 16 samples and 64 bytes.
    pub(in crate::receiver) fn slots(region: SlotRegion) -> Slots {
        let local = QueuePairTerms { qpn: 16, first_psn: 0, path_mtu_bytes: 1024 };
        let connection = Connection { local, peer: local, route: Route::default() };
        Slots::new(&connection, region, PAYLOAD_BYTES, Seq(0)).expect("they fit")
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
        assert!(slots.handle(now, &write_of(&REGION, 0, &mut out), &receiver, &mut payloads));
        slots.settle(now, &mut receiver, &payloads);
        assert!(receiver.poll_delivery(now).is_some());
        payloads.advance();
        receiver.cancel(now);
        assert!(payloads.take_last().is_some());
        assert!(!slots.handle(now, &write_of(&REGION, 1, &mut out), &receiver, &mut payloads));
    }
}
