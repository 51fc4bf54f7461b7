//! The receiving end of a stream over RDMA, under any frames, control packets, grants and times:
//! what a peer writes reaches only slots that are granted, and only what its checksum covers is
//! delivered.

use samplewire_proto::crc::crc32c;
use samplewire_proto::receiver::{Delivered, REPORT_BYTES, Receiver, ReceiverConfig, RecvSlot};
use samplewire_proto::stream::{Carriage, Terms};
use samplewire_proto::wire::{
    Close, CloseReason, Flags, Header, Mark, Packet as Control, PacketType, QueuePairTerms,
    RECORD_LEN, SlotRecord, SlotRegion, record_at,
};
use samplewire_proto::{Departure, Nanos, Seq, Tag};
use samplewire_roce::responder::{ReceiveSlot, ResponderConfig};
use samplewire_roce::stream::{Connection, SlotReader};
use samplewire_roce::wire::{
    Aeth, Body, Bth, FRAME_BYTES_MAX, Frame, Opcode, Operation, Packet, Reth, Route, Syndrome,
};
use samplewire_roce::{Psn, Qpn};

use crate::input::Input;

/// Runs the operations that `bytes` spell.
///
/// # Panics
/// When a promise breaks.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut world = World::new(&mut input);
    while !input.is_empty() {
        world.step(&mut input);
        world.drain();
    }
}

struct World {
    reader: SlotReader<Vec<ReceiveSlot>>,
    receiver: Receiver<Vec<RecvSlot>>,
    region: SlotRegion,
    payload_bytes: u16,
    memory: Vec<u8>,
    now: Nanos,
    next: Seq,
    next_index: u64,
    /// The packet that a right peer writes next, its index, and how much of it is written.
    write_seq: Seq,
    write_index: u64,
    write_at: usize,
    psn: Psn,
}

impl World {
    fn new(input: &mut Input<'_>) -> Self {
        let slots = 1 << (input.byte() % 4);
        let payload_bytes = input.choose(&[8, 64, 72, 512]);
        let write_bytes = record_at(payload_bytes) + RECORD_LEN;
        let slot_bytes = (write_bytes + 64 * usize::from(input.byte() % 2)) as u32;
        let region = SlotRegion { address: ADDRESS, rkey: KEY, slot_bytes, slots };
        let first_seq = Seq(0u32.wrapping_sub(u32::from(input.byte())));
        let psn = Psn::new(0u32.wrapping_sub(u32::from(input.byte())));
        let window = 1 + u32::from(input.byte()) % slots;
        let terms = Terms {
            local_tag: TAG,
            peer_tag: Tag(8),
            is_opener: true,
            first_seq,
            first_index: 100,
            packet_samples: SAMPLES,
            payload_bytes,
            payload_offset: 22,
            window,
            reorder_tolerance: 0,
            dead_after: Nanos::from_millis(1_000),
            idle_after: Nanos::from_millis(100),
            ranges_max: 1,
            rtt: Nanos::from_micros(100),
            carriage: Carriage::Rdma,
        };
        let now = Nanos::from_millis(1_000);
        let ring = vec![RecvSlot::default(); window.next_power_of_two() as usize];
        let receiver = Receiver::new(terms, ReceiverConfig::new(), ring, now);
        let qp = QueuePairTerms { qpn: QPN, first_psn: psn.get(), path_mtu_bytes: MTU as u16 };
        let connection = Connection { local: qp, peer: qp, route: Route::default() };
        let receives = vec![ReceiveSlot::default(); slots as usize];
        let config = ResponderConfig::default();
        let reader =
            SlotReader::new(&connection, region, payload_bytes, first_seq, config, receives);
        Self {
            reader: reader.expect("the slots fit"),
            receiver: receiver.expect("the terms hold"),
            region,
            payload_bytes,
            memory: vec![0; (slots * slot_bytes) as usize],
            now,
            next: first_seq,
            next_index: 100,
            write_seq: first_seq,
            write_index: 100,
            write_at: 0,
            psn,
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.byte() % 16 {
            0..=8 => self.write(input),
            9 => self.wild(input),
            10 => self.mark(input),
            11 if input.byte() < 0x20 => self.close(input),
            12 if input.byte() == 0 => self.receiver.cancel(self.now),
            13 => self.now = self.now + Nanos(u64::from(input.word()) / 64),
            _ => self.grant(),
        }
        self.now = self.now + Nanos(u64::from(input.byte()) * 64);
    }

    /// The next frame of a right peer, now and then with a wrong record.
    fn write(&mut self, input: &mut Input<'_>) {
        let mut record = SlotRecord {
            index: self.write_index,
            lost_before: 0,
            samples: SAMPLES,
            seq: self.write_seq,
            payload_crc: 0,
            flags: Flags::NONE,
        };
        let record_at = record_at(self.payload_bytes);
        let mut bytes = vec![0; record_at];
        bytes[..self.payload_bytes.into()].fill(self.write_seq.0 as u8);
        record.payload_crc = crc32c(&bytes);
        match input.byte() {
            0xF0 => (record.index, record.flags) = (INDEX_MAX, Flags::START),
            0xF1 => {
                record.index = input.choose(&[record.index, INDEX_MAX]);
                (record.lost_before, record.flags) = (record.index, Flags::OVERFLOW);
            }
            0xF2 => (record.index, record.flags) = (input.long(), Flags(input.byte())),
            0xF3 => record.samples = input.word(),
            0xF4 => record.payload_crc ^= 1,
            0xF5 => record.seq = Seq(input.near(record.seq.0)),
            _ => {}
        }
        bytes.extend_from_slice(&record.to_bytes());
        let end = bytes.len().min(self.write_at + MTU);
        let (is_first, is_last) = (self.write_at == 0, end == bytes.len());
        let reth = Reth {
            address: self.region.address_of(self.write_seq),
            key: KEY,
            len_bytes: bytes.len() as u32,
        };
        let bth =
            Bth::new(Opcode::of_packet(true, is_first, is_last, is_last), Qpn::new(QPN), self.psn);
        let body = Body::Request {
            reth: is_first.then_some(reth),
            immediate: is_last.then_some(self.write_seq.0),
            payload: &bytes[self.write_at..end],
        };
        let expected = self.reader.queue_pair().responder().expected();
        self.hand(&Packet { bth, body });
        if self.reader.queue_pair().responder().expected() == expected {
            return;
        }
        self.psn = self.psn + 1;
        self.write_at = if is_last { 0 } else { end };
        if is_last {
            self.write_seq += 1;
            self.write_index = record.index.wrapping_add(u64::from(record.samples));
        }
    }

    /// A frame of any kind, most often a WRITE to anywhere in the region that completes nothing.
    fn wild(&mut self, input: &mut Input<'_>) {
        let mut is_right = || input.byte() < 0xF8;
        let (opcode_is_right, key_is_right) = (is_right(), is_right());
        let (len_is_right, psn_is_right) = (is_right(), is_right());
        if self.write_at > 0 && opcode_is_right {
            // A message within another ends the connection.
            return;
        }
        let opcode = if opcode_is_right { Opcode::WriteOnly } else { input.choose(&Opcode::ALL) };
        let payload = &PAYLOAD[..usize::from(input.half()) % (MTU + 2)];
        let len_bytes = if len_is_right { payload.len() as u32 } else { input.word() };
        let region_bytes = self.memory.len() as u32;
        let address = ADDRESS + u64::from(input.word() % region_bytes);
        let key = if key_is_right { KEY } else { input.word() };
        let psn = if psn_is_right { self.psn } else { Psn::new(input.near(self.psn.get())) };
        let reth = Reth { address, key, len_bytes };
        let body = match opcode.operation() {
            Operation::Send | Operation::Write => Body::Request {
                reth: opcode.has_reth().then_some(reth),
                immediate: opcode.has_immediate().then(|| input.near(self.write_seq.0)),
                payload,
            },
            Operation::Acknowledge => {
                Body::Acknowledge(Aeth { syndrome: Syndrome::Ack(0), msn: input.word() & 0xFF })
            }
            Operation::Cnp => Body::Cnp,
            Operation::Unsupported => return,
        };
        let bth = Bth::new(opcode, Qpn::new(QPN), psn);
        let expected = self.reader.queue_pair().responder().expected();
        self.hand(&Packet { bth, body });
        if self.reader.queue_pair().responder().expected() != expected {
            // It was taken: what is right next is another message.
            self.psn = self.psn + 1;
            self.write_at = 0;
        }
    }

    fn hand(&mut self, packet: &Packet<'_>) {
        let mut out = [0; FRAME_BYTES_MAX];
        let len = packet.emit(&Route::default(), &mut out);
        let frame = Frame::new_checked(&out[..len]).expect("it is whole");
        let Self { reader, receiver, region, memory, now, .. } = self;
        let is_open = receiver.takes_packets();
        reader.handle(*now, &frame, receiver, |seq, offset, bytes| {
            assert!(is_open, "nothing is written after the end");
            assert!(seq.within(receiver.released(), receiver.limit()), "{seq} is not waited for");
            let slot_bytes = region.slot_bytes as usize;
            assert!(offset + bytes.len() <= slot_bytes, "it reaches into another slot");
            let at = region.slot_of(seq) as usize * slot_bytes + offset;
            memory[at..at + bytes.len()].copy_from_slice(bytes);
        });
    }

    fn header(&self, input: &mut Input<'_>, kind: PacketType) -> Header {
        Header {
            kind,
            flags: Flags::NONE,
            tag: TAG,
            index: input.near(self.write_index as u32).into(),
            seq: Seq(input.near(self.write_seq.0)),
            departure: Departure::at(self.now),
        }
    }

    fn mark(&mut self, input: &mut Input<'_>) {
        let header = self.header(input, PacketType::Mark);
        let mark = Mark {
            oldest: self.next,
            report: Seq(1),
            echo: Departure::at(self.now),
            hold: 0,
            source_lost: 0,
            time_ns: 0,
        };
        self.receiver.handle(self.now, &header, &Control::Mark(mark));
    }

    fn close(&mut self, input: &mut Input<'_>) {
        let header = self.header(input, PacketType::Close);
        let reason = CloseReason::from_number(input.choose(&[0, 1, 8]));
        let close = Close { reason, last: Seq(0), source_lost: 0 };
        self.receiver.handle(self.now, &header, &Control::Close(close));
    }

    fn grant(&mut self) {
        let limit = self.receiver.promise_end();
        self.reader.grant(&mut self.receiver, limit);
    }

    fn drain(&mut self) {
        let Self { reader, receiver, region, memory, .. } = self;
        let (payload_bytes, slot_bytes) = (self.payload_bytes, region.slot_bytes as usize);
        let slot_of = |seq: Seq| &memory[region.slot_of(seq) as usize * slot_bytes..][..slot_bytes];
        reader.settle(self.now, receiver, |seq| {
            let (payload, rest) = slot_of(seq).split_at(record_at(payload_bytes));
            (&payload[..payload_bytes.into()], rest.first_chunk().expect("it has a record"))
        });
        receiver.handle_timeout(self.now);
        while let Some(delivered) = receiver.poll_delivery(self.now) {
            match delivered {
                Delivered::Packet { seq, index, samples, .. } => {
                    assert_eq!(seq, self.next);
                    assert!(index >= self.next_index, "an index is delivered twice");
                    let (payload, rest) = slot_of(seq).split_at(record_at(payload_bytes));
                    let record = rest.first_chunk().expect("it has a record");
                    let record = SlotRecord::parse(record, seq.0).expect("it was read");
                    let mut covered = payload.to_vec();
                    covered[payload_bytes.into()..].fill(0);
                    assert_eq!(
                        record.payload_crc,
                        crc32c(&covered),
                        "{seq} is not what was written"
                    );
                    (self.next, self.next_index) = (seq + 1, index + u64::from(samples));
                }
                Delivered::Skipped { seq } => {
                    assert_eq!(seq, self.next);
                    self.next += 1;
                }
                Delivered::Gap(gap) => {
                    assert!(gap.first >= self.next_index && gap.count() > 0);
                    self.next_index = gap.end();
                }
            }
        }
        let mut out = [0; FRAME_BYTES_MAX];
        let mut frames = 0;
        while reader.poll_transmit(self.now, &mut out).is_some() {
            frames += 1;
            assert!(frames <= 2, "one frame is answered by few");
        }
        let mut report = [0; REPORT_BYTES];
        while receiver.poll_transmit(self.now, &mut report).is_some() {}
        receiver.poll_event();
    }
}

const TAG: Tag = Tag(7);
const SAMPLES: u32 = 2;
const ADDRESS: u64 = 0x1_0000;
const KEY: u32 = 5;
const QPN: u32 = 17;
const MTU: usize = 256;
const INDEX_MAX: u64 = 1 << 63;
static PAYLOAD: [u8; MTU + 1] = [0x5A; MTU + 1];
