//! A receiver under arbitrary packets, grants and times keeps its promises.

use samplewire_proto::crc::{Zeros, crc32c};
use samplewire_proto::receiver::{
    Completed, Delivered, Delivery, Placement, REPORT_BYTES, Receiver, ReceiverConfig, RecvSlot,
};
use samplewire_proto::stream::{Carriage, Terms};
use samplewire_proto::wire::{
    self, Close, CloseAck, CloseAckReason, CloseReason, Flags, Header, Mark, Packet, PacketType,
    RECORD_LEN, SlotRecord,
};
use samplewire_proto::{Departure, Nanos, Seq, Tag};

use crate::input::Input;

/// Runs the operations that `bytes` spell.
///
/// # Panics
/// When an invariant breaks.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut run = Run::new(&mut input);
    while !input.is_empty() {
        run.step(&mut input);
        run.drain();
    }
    run.now = run.now + Nanos::from_millis(40_000);
    run.receiver.handle_timeout(run.now);
    run.drain();
}

struct Run {
    receiver: Receiver<Slots>,
    now: Nanos,
    departure: Departure,
    /// Which seqs of the ring hold a payload that was not delivered yet.
    stored: [Option<Seq>; WINDOW_MAX],
    ring_len: usize,
    next_index: u64,
    next_seq: Seq,
    limit: Seq,
    carriage: Carriage,
    /// Over RDMA: the next packet to be written, and the index after those before it.
    write_seq: Seq,
    write_index: u64,
}

const TAG: Tag = Tag(7);
const PEER: Tag = Tag(8);
const SAMPLES: u32 = 4;
const PAYLOAD: usize = 16;
const RECORD_AT: usize = 64;
const WRITE_BYTES: usize = RECORD_AT + RECORD_LEN;
const WINDOW_MAX: usize = 32;

/// A ring without an allocation.
struct Slots {
    slots: [RecvSlot; WINDOW_MAX],
    len: usize,
}

impl AsRef<[RecvSlot]> for Slots {
    fn as_ref(&self) -> &[RecvSlot] {
        &self.slots[..self.len]
    }
}

impl AsMut<[RecvSlot]> for Slots {
    fn as_mut(&mut self) -> &mut [RecvSlot] {
        &mut self.slots[..self.len]
    }
}

impl Run {
    fn new(input: &mut Input<'_>) -> Self {
        let choices = input.byte();
        let first_seq = Seq(if choices & 1 == 0 { 0 } else { u32::MAX - 20 });
        let carriage = if choices & 0x80 == 0 { Carriage::Data } else { Carriage::Rdma };
        let window = 1 + u32::from(input.byte()) % WINDOW_MAX as u32;
        let delivery = match input.byte() % 3 {
            _ if carriage == Carriage::Rdma => Delivery::Complete,
            0 => Delivery::Complete,
            1 => Delivery::Deadline(Nanos(1_000 + 1_000 * u64::from(input.byte()))),
            _ => Delivery::BestEffort,
        };
        let terms = Terms {
            local_tag: TAG,
            peer_tag: PEER,
            is_opener: true,
            first_seq,
            first_index: 100,
            packet_samples: SAMPLES,
            payload_bytes: PAYLOAD as u16,
            payload_offset: 22,
            window,
            reorder_tolerance: u32::from(input.byte()),
            dead_after: Nanos::from_millis(1_000),
            idle_after: Nanos::from_millis(100),
            ranges_max: 1 + u16::from(input.byte() % 8),
            rtt: Nanos::from_micros(100),
            carriage,
        };
        let config = ReceiverConfig::new().with_delivery(delivery).expect("in range");
        let config = config.with_credit_floor(1 + u32::from(input.byte() % 8)).expect("above 0");
        let len = (window as usize).next_power_of_two();
        let slots = Slots { slots: [RecvSlot::default(); WINDOW_MAX], len };
        let now = Nanos(u64::from(input.word()) << 8);
        let receiver = Receiver::new(terms, config, slots, now).expect("the terms hold");
        Self {
            receiver,
            now,
            departure: Departure(input.word()),
            stored: [None; WINDOW_MAX],
            ring_len: len,
            next_index: 100,
            next_seq: first_seq,
            limit: first_seq,
            carriage,
            write_seq: first_seq,
            write_index: 100,
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.byte() % 16 {
            0..=7 if self.carriage == Carriage::Rdma => self.write(input),
            0..=7 => self.data(input),
            8 | 9 => self.mark(input),
            10 => self.close(input),
            11 => self.close_ack(input),
            12 => self.now = self.now + Nanos(u64::from(input.word())),
            13 => self.receiver.note_local_drops(u32::from(input.byte())),
            14 => match input.byte() {
                0 => self.receiver.cancel(self.now),
                1 if self.carriage == Carriage::Rdma => self.receiver.queue_pair_failed(),
                _ => {}
            },
            _ => {
                self.limit = self.limit.max(self.receiver.promise_end());
                self.receiver.grant(self.limit);
            }
        }
        self.now = self.now + Nanos(u64::from(input.byte()) * 64);
    }

    fn header(&mut self, input: &mut Input<'_>, kind: PacketType) -> Header {
        let flags = Flags(input.byte() & 0x3F);
        let seq = Seq(input.near(self.next_seq.0));
        let ahead = u64::from(seq.0.wrapping_sub(self.next_seq.0) & 0xFF);
        let regular = self.next_index + u64::from(SAMPLES) * ahead;
        let index = match input.byte() {
            0xFF => u64::from(input.word()) << 32 | u64::from(input.word()),
            0xF0..=0xFE => regular + u64::from(input.byte()),
            _ => regular,
        };
        self.departure = Departure(input.near(self.departure.0.wrapping_add(64)));
        let tag = if input.byte() == 0xFF { Tag(input.word()) } else { TAG };
        Header { kind, flags, tag, index, seq, departure: self.departure }
    }

    fn data(&mut self, input: &mut Input<'_>) {
        let header = self.header(input, PacketType::Data);
        let mut body = [0; 2 * PAYLOAD];
        body[..PAYLOAD].fill(header.seq.0 as u8);
        body[15] = input.byte() % 8;
        let len = if input.byte() == 0xFF { usize::from(input.byte() % 33) } else { PAYLOAD };
        let placement = self.receiver.handle_data(self.now, &header, &body[..len], false);
        if let Placement::Store { seq, payload_at } = placement {
            assert_eq!((seq, payload_at), (header.seq, 0));
            assert!(seq.within(self.next_seq, self.limit), "only granted seqs are stored");
            let position = seq.0 as usize % self.ring_len;
            assert_eq!(self.stored[position], None, "a place is granted once");
            self.stored[position] = Some(seq);
        }
    }

    /// A WRITE is complete, now and then a wrong one.
    fn write(&mut self, input: &mut Input<'_>) {
        let mut record = SlotRecord {
            index: self.write_index,
            lost_before: 0,
            samples: SAMPLES,
            seq: self.write_seq,
            payload_crc: 0,
            flags: Flags::NONE,
        };
        let (mut immediate, mut len_bytes) = (self.write_seq.0, WRITE_BYTES as u32);
        match input.byte() {
            0xF0 => immediate = input.near(immediate),
            0xF1 => len_bytes = input.near(len_bytes),
            0xF2 => record.index = input.long(),
            0xF3 => record.samples = input.near(SAMPLES),
            0xF4 => record.payload_crc ^= 1,
            0xF5 => record.flags = Flags(input.byte()),
            0xF6 => {
                record.lost_before = u64::from(input.byte());
                record.index += record.lost_before;
                record.flags = Flags::OVERFLOW;
            }
            0xF7 => (record.flags, record.samples) = (Flags::END_OF_BURST, input.byte().into()),
            0xF8 => (record.flags, record.samples) = (Flags::META, 0),
            0xF9 => record.seq = Seq(input.near(record.seq.0)),
            _ => {}
        }
        let payload = [0xA5; PAYLOAD];
        let crc = Zeros::new(RECORD_AT - PAYLOAD).append(crc32c(&payload));
        let is_right = record.payload_crc == 0;
        record.payload_crc ^= crc;
        let completed = if input.byte() == 0xFF {
            Completed::Send
        } else {
            Completed::Write { immediate, len_bytes }
        };
        let received = self.receiver.stats().received;
        self.receiver.handle_write(self.now, completed, &payload, &record.to_bytes());
        if self.receiver.stats().received == received {
            return;
        }
        assert_eq!(Seq(immediate), self.write_seq, "the next packet is taken, and no other");
        assert!(self.write_seq.before(self.limit), "only granted seqs are taken");
        if is_right {
            self.stored[immediate as usize % self.ring_len] = Some(self.write_seq);
        }
        self.write_seq += 1;
        self.write_index = record.index + u64::from(record.samples);
    }

    fn mark(&mut self, input: &mut Input<'_>) {
        let header = self.header(input, PacketType::Mark);
        let mark = Mark {
            oldest: Seq(input.near(self.next_seq.0)),
            report: Seq(input.word()),
            echo: Departure(input.near(Departure::at(self.now).0)),
            hold: u32::from(input.byte()),
            source_lost: u64::from(input.word()),
            time_ns: 0,
        };
        self.receiver.handle(self.now, &header, &Packet::Mark(mark));
    }

    fn close(&mut self, input: &mut Input<'_>) {
        let header = self.header(input, PacketType::Close);
        let reason = CloseReason::from_number(
            u16::from(self.carriage == Carriage::Rdma && input.byte() & 1 == 1) * 8,
        );
        let close = Close { reason, last: Seq(0), source_lost: 0 };
        self.receiver.handle(self.now, &header, &Packet::Close(close));
    }

    fn close_ack(&mut self, input: &mut Input<'_>) {
        let mut header = self.header(input, PacketType::CloseAck);
        let is_unknown = input.byte() == 0xFF;
        if is_unknown {
            header.tag = Tag::NONE;
        }
        let reason = if is_unknown { CloseAckReason::UnknownTag } else { CloseAckReason::Done };
        let echoed_tag = Tag(input.near(PEER.0));
        let ack = CloseAck { reason, echoed_tag, source_lost: 0 };
        self.receiver.handle(self.now, &header, &Packet::CloseAck(ack));
    }

    fn drain(&mut self) {
        self.receiver.handle_timeout(self.now);
        while let Some(delivered) = self.receiver.poll_delivery(self.now) {
            self.account(delivered);
        }
        assert_eq!(self.receiver.released(), self.next_seq);
        let mut out = [0; REPORT_BYTES];
        let mut packets = 0;
        while let Some(len) = self.receiver.poll_transmit(self.now, &mut out) {
            packets += 1;
            assert!(packets <= 4, "one moment has few packets to send");
            self.check_sent(&out[..len]);
        }
        self.receiver.poll_event();
        if let Some(at) = self.receiver.poll_timeout(self.now) {
            assert!(at <= self.now + Nanos::from_millis(60_000));
        }
    }

    fn account(&mut self, delivered: Delivered) {
        match delivered {
            Delivered::Packet { seq, index, samples, flags } => {
                assert_eq!(seq, self.next_seq);
                let position = seq.0 as usize % self.ring_len;
                assert_eq!(self.stored[position].take(), Some(seq), "what is delivered was stored");
                if flags.contains(Flags::START) {
                    assert!(index >= self.next_index);
                } else {
                    assert_eq!(index, self.next_index);
                }
                self.next_index = index + u64::from(samples);
                self.next_seq += 1;
            }
            Delivered::Skipped { seq } => {
                assert_eq!(seq, self.next_seq);
                self.next_seq += 1;
            }
            Delivered::Gap(gap) => {
                assert!(gap.first >= self.next_index && gap.count() > 0);
                self.next_index = gap.end();
            }
        }
    }

    fn check_sent(&self, bytes: &[u8]) {
        let (header, packet) = wire::parse(bytes).expect("what is sent can be parsed");
        assert_eq!(header.tag, PEER);
        if let Packet::Report(report) = packet {
            let fields = report.fields;
            assert!(
                fields.limit.distance(fields.released) <= WINDOW_MAX as i32,
                "the window bounds the promise"
            );
            assert!(!fields.highest_end.before(fields.released));
            assert!(self.carriage == Carriage::Data || report.ranges.is_empty());
            for range in report.ranges.iter() {
                assert!(range.count > 0);
                assert!(!range.first.before(self.next_seq), "nothing released is requested");
                assert!(!fields.highest_end.before(range.first + range.count));
            }
        }
    }
}
