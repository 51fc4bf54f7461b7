//! A sender under arbitrary REPORTs, CLOSEs and times sends nothing beyond its credit.

use samplewire_proto::crc::crc32c;
use samplewire_proto::sender::{
    CONTROL_BYTES, NewPacket, PushError, SendSlot, Sender, SenderConfig, Transmit,
};
use samplewire_proto::stream::{Carriage, Terms};
use samplewire_proto::wire::{
    self, Close, CloseAck, CloseAckReason, CloseReason, Flags, Header, Packet, PacketType,
    ReportFields, SeqRange,
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
}

struct Run {
    sender: Sender<Slots>,
    now: Nanos,
    window: u32,
    /// The largest promise that a REPORT made which the sender took.
    limit: Seq,
    released: Seq,
    sent: Seq,
    pushed: Seq,
    last_departure: Option<(Departure, Nanos)>,
    carriage: Carriage,
    /// Over RDMA: the first packet that is not complete.
    written: Seq,
}

const TAG: Tag = Tag(7);
const PEER: Tag = Tag(8);
const PAYLOAD: [u8; 16] = [0xA5; 16];
const WINDOW_MAX: usize = 32;
const RANGES_MAX: usize = 4;
/// Pad bytes up to 64, the payload, the CRC.
const DATA_BYTES_MAX: usize = 64 + 16 + 4;

/// A ring without an allocation.
struct Slots {
    slots: [SendSlot; WINDOW_MAX],
    len: usize,
}

impl AsRef<[SendSlot]> for Slots {
    fn as_ref(&self) -> &[SendSlot] {
        &self.slots[..self.len]
    }
}

impl AsMut<[SendSlot]> for Slots {
    fn as_mut(&mut self) -> &mut [SendSlot] {
        &mut self.slots[..self.len]
    }
}

impl Run {
    fn new(input: &mut Input<'_>) -> Self {
        let choices = input.byte();
        let first_seq = Seq(if choices & 1 == 0 { 0 } else { u32::MAX - 20 });
        let carriage = if choices & 0x80 == 0 { Carriage::Data } else { Carriage::Rdma };
        let window = 1 + u32::from(input.byte()) % WINDOW_MAX as u32;
        let terms = Terms {
            local_tag: TAG,
            peer_tag: PEER,
            is_opener: false,
            first_seq,
            first_index: 100,
            packet_samples: 4,
            payload_bytes: 16,
            payload_offset: 22 + input.byte() % 43,
            window,
            reorder_tolerance: 0,
            dead_after: Nanos::from_millis(1_000),
            idle_after: Nanos::from_millis(100),
            ranges_max: 32,
            rtt: Nanos::from_micros(100),
            carriage,
        };
        let link_bps = if input.byte() & 1 == 0 { 0 } else { 1_000_000_000 };
        let config = SenderConfig::default().with_link_bps(link_bps).expect("in range");
        let slots = Slots {
            slots: [SendSlot::default(); WINDOW_MAX],
            len: (window as usize).next_power_of_two(),
        };
        let now = Nanos(u64::from(input.word()) << 8);
        let sender = Sender::new(terms, config, slots, now).expect("the terms hold");
        Self {
            sender,
            now,
            window,
            limit: first_seq,
            released: first_seq,
            sent: first_seq,
            pushed: first_seq,
            last_departure: None,
            carriage,
            written: first_seq,
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.byte() % 8 {
            0..=2 => self.push(input),
            3 | 4 => self.report(input),
            5 => self.now = self.now + Nanos(u64::from(input.word())),
            6 => self.close(input),
            _ => match input.byte() {
                0 => self.sender.close(self.now),
                1 => self.sender.cancel(self.now),
                2 if self.carriage == Carriage::Rdma => self.sender.queue_pair_failed(self.now),
                _ => self.complete(input),
            },
        }
        self.now = self.now + Nanos(u64::from(input.byte()) * 256);
    }

    fn push(&mut self, input: &mut Input<'_>) {
        let flags = Flags(input.byte() & 0x17);
        let index = self.sender.next_index() + u64::from(input.byte() / 250);
        let is_full = self.sender.free_slots() == 0;
        let packet = NewPacket {
            index,
            flags,
            burst_samples: 2,
            len_bytes: 16,
            payload_crc: crc32c(&PAYLOAD),
        };
        match self.sender.push(packet) {
            Ok(seq) => {
                assert_eq!(seq, self.pushed);
                self.pushed += 1;
            }
            Err(PushError::Full(window)) => assert!(is_full && window == self.window),
            Err(_) => {}
        }
        assert!(self.pushed - self.sender.released() <= self.window);
    }

    fn header(&mut self, input: &mut Input<'_>, kind: PacketType, seq: u32) -> Header {
        let tag = if input.byte() == 0xFF { Tag(input.word()) } else { TAG };
        let departure = Departure(input.word());
        Header { kind, flags: Flags(0), tag, index: 0, seq: Seq(input.near(seq)), departure }
    }

    fn report(&mut self, input: &mut Input<'_>) {
        let number = (self.now.0 / 64) as u32;
        let header = self.header(input, PacketType::Report, number);
        let fields = ReportFields {
            released: Seq(input.near(self.released.0)),
            limit: Seq(input.near(self.sent.0)),
            settled: Departure(input.near(Departure::at(self.now).0)),
            highest_end: Seq(input.near(self.sent.0)),
            echo: Departure(input.near(Departure::at(self.now).0)),
            hold: u32::from(input.byte()),
            received: input.word(),
            marked: u32::from(input.byte()),
            skipped: 0,
            late: 0,
        };
        let mut ranges = [SeqRange::default(); RANGES_MAX];
        let ranges = &mut ranges[..usize::from(input.byte()) % (RANGES_MAX + 1)];
        for range in &mut *ranges {
            *range = SeqRange { first: Seq(input.near(self.sent.0)), count: input.near(3) };
        }
        let mut bytes = [0; ReportFields::packet_len(RANGES_MAX)];
        let len = fields.emit(&header, ranges, &mut bytes);
        let (header, packet) = wire::parse(&bytes[..len]).expect("what is emitted can be parsed");
        let taken_before = self.sender.stats().reports;
        self.sender.handle(self.now, &header, &packet);
        if self.sender.stats().reports != taken_before {
            self.limit = self.limit.max(fields.limit);
        }
        assert!(!self.sender.released().before(self.released), "released never retreats");
        assert!(!self.sent.before(self.sender.released()), "nothing unsent is released");
        self.released = self.sender.released();
    }

    /// Some WRITEs are complete.
    fn complete(&mut self, input: &mut Input<'_>) {
        let under_way = self.sent.distance(self.written).max(0) as u32;
        self.written += u32::from(input.byte()).min(under_way);
        if self.carriage == Carriage::Rdma {
            self.sender.handle_written(self.written);
            self.released = self.sender.released();
        }
    }

    fn close(&mut self, input: &mut Input<'_>) {
        if input.byte() & 1 == 0 {
            let header = self.header(input, PacketType::Close, self.released.0);
            let close = Close { reason: CloseReason::Cancelled, last: Seq(0), source_lost: 0 };
            self.sender.handle(self.now, &header, &Packet::Close(close));
        } else {
            let mut header = self.header(input, PacketType::CloseAck, self.pushed.0);
            let is_unknown = input.byte() == 0xFF;
            if is_unknown {
                header.tag = Tag::NONE;
            }
            let reason = if is_unknown { CloseAckReason::UnknownTag } else { CloseAckReason::Done };
            let ack = CloseAck { reason, echoed_tag: Tag(input.near(PEER.0)), source_lost: 0 };
            self.sender.handle(self.now, &header, &Packet::CloseAck(ack));
            self.released = self.sender.released();
        }
    }

    fn drain(&mut self) {
        self.sender.handle_timeout(self.now);
        let mut control = [0; CONTROL_BYTES];
        let mut packets = 0;
        while let Some(transmit) = self.sender.poll_transmit(self.now, &mut control) {
            packets += 1;
            assert!(packets <= 512, "one moment has few packets to send");
            match transmit {
                Transmit::Control { len_bytes } => self.check_sent(&control[..len_bytes]),
                Transmit::Data(data) => {
                    let mut bytes = [0; DATA_BYTES_MAX];
                    let (head, rest) = bytes.split_at_mut(data.head().len());
                    head.copy_from_slice(data.head());
                    rest[..PAYLOAD.len()].copy_from_slice(&PAYLOAD);
                    rest[PAYLOAD.len()..][..data.trailer.len()].copy_from_slice(&data.trailer);
                    let len = data.head().len() + PAYLOAD.len() + data.trailer.len();
                    self.check_sent(&bytes[..len]);
                }
            }
        }
        while let Some(write) = self.sender.poll_write(self.now) {
            assert_eq!(self.carriage, Carriage::Rdma);
            let seq = write.record.seq;
            assert_eq!(seq, self.sent, "packets are posted in order, and once");
            assert!(seq.before(self.limit), "nothing is posted beyond credit");
            assert_eq!(self.sender.write(seq), write, "what is under way can be read again");
            self.sent += 1;
        }
        if self.carriage == Carriage::Rdma && !self.sender.is_ended() {
            assert!(!self.written.before(self.sender.released()), "what is read is held");
        }
        self.sender.poll_event();
        self.pushed = self.sender.next_seq();
    }

    fn check_sent(&mut self, bytes: &[u8]) {
        let (header, packet) = wire::parse(bytes).expect("what is sent can be parsed");
        assert_eq!(header.tag, PEER);
        if let Some((last, at)) = self.last_departure
            && self.now.since(at) < Nanos::from_millis(17_000)
        {
            assert!(last.before(header.departure), "departures rise");
        }
        self.last_departure = Some((header.departure, self.now));
        if let Packet::Data(_) = packet {
            assert_eq!(self.carriage, Carriage::Data, "over RDMA no DATA leaves");
            assert!(header.seq.before(self.limit), "nothing is sent beyond credit");
            assert!(!header.seq.before(self.sender.released()), "nothing released is repeated");
            if header.flags.contains(Flags::RETRANSMISSION) {
                assert!(header.seq.before(self.sent));
            } else {
                assert_eq!(header.seq, self.sent, "new packets leave in order");
                self.sent += 1;
            }
        }
    }
}
