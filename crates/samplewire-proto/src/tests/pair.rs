//! A sender, a receiver and the wire between them, on virtual time and from one seed.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use crate::crc::crc32c;
use crate::gap::{Cause, Gap};
use crate::number::{Nanos, SampleIndex, Seq, Tag};
use crate::random::{Odds, Rng};
use crate::receiver::{Delivered, Placement, REPORT_BYTES, Receiver, ReceiverConfig, RecvSlot};
use crate::sender::{CONTROL_BYTES, NewPacket, SendSlot, Sender, SenderConfig, Transmit};
use crate::stream::{Carriage, End, Terms};
use crate::wire::{self, Flags, Packet, PacketType};

/// A direction of the wire.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    pub(super) delay: Nanos,
    pub(super) loss: f64,
    pub(super) duplicate: f64,
    pub(super) corrupt: f64,
    /// Share of packets that take up to `reorder_by` longer.
    pub(super) reorder: f64,
    pub(super) reorder_by: Nanos,
    /// Packets by number of departure on this path, from 0, that are lost for certain.
    pub(super) lost: Vec<u64>,
}

/// Where every delivered index went.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) next_index: SampleIndex,
    pub(super) samples: u64,
    pub(super) gaps: Vec<Gap>,
}

/// The two ends, the paths, and the source behind the sender.
pub(super) struct Pair {
    pub(super) now: Nanos,
    pub(super) sender: Sender<Vec<SendSlot>>,
    pub(super) receiver: Receiver<Vec<RecvSlot>>,
    pub(super) data_path: Path,
    pub(super) report_path: Path,
    pub(super) ledger: Ledger,
    pub(super) sender_end: Option<End>,
    pub(super) receiver_end: Option<End>,
    /// Packets that the source still has to push; it closes after the last.
    pub(super) to_push: u64,
    /// Time between two packets of the source; zero pushes whenever there is room.
    pub(super) interval: Nanos,
    pub(super) closes: bool,
    /// Until when the receiver's host does not run.
    pub(super) paused_until: Nanos,
    /// DATA of this seq is lost, however often it departs.
    pub(super) never_arrives: Option<Seq>,
    /// Whether the consumer gives quanta back.
    pub(super) consumes: bool,
    /// Indexes lost at the source before the packet with this number.
    pub(super) overflows: BTreeMap<u64, u64>,
    /// Whether the bytes of what is delivered are checked against the source's.
    checks_bytes: bool,
    trace: Option<String>,
    rng: Rng,
    terms: Terms,
    sent_payloads: Vec<Vec<u8>>,
    received_payloads: Vec<Vec<u8>>,
    on_wire: BTreeMap<(Nanos, u64), (Side, Vec<u8>)>,
    socket: VecDeque<Vec<u8>>,
    order: u64,
    departed: [u64; 2],
    pushed: u64,
    next_push: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Sender,
    Receiver,
}

pub(super) const SAMPLES: u32 = 16;
const PAYLOAD: usize = 64;

/// Terms of a small stream.
pub(super) fn terms(window: u32, rtt: Nanos) -> Terms {
    Terms {
        local_tag: Tag(0),
        peer_tag: Tag(0),
        is_opener: false,
        first_seq: Seq(0),
        first_index: 0,
        packet_samples: SAMPLES,
        payload_bytes: PAYLOAD as u16,
        payload_offset: 24,
        window,
        reorder_tolerance: 0,
        dead_after: Nanos::from_millis(15_000),
        idle_after: Nanos::from_millis(1_000),
        ranges_max: 32,
        rtt,
        carriage: Carriage::Data,
    }
}

pub(super) const SENDER_TAG: Tag = Tag(0x5E5E_0001);
pub(super) const RECEIVER_TAG: Tag = Tag(0x4E4E_0002);

impl Pair {
    pub(super) fn new(seed: u64, terms: Terms, config: ReceiverConfig) -> Self {
        Self::at(Nanos::from_millis(1), seed, terms, config)
    }

    pub(super) fn at(now: Nanos, seed: u64, terms: Terms, config: ReceiverConfig) -> Self {
        let slots = (terms.window as usize).next_power_of_two();
        let device = Terms { local_tag: SENDER_TAG, peer_tag: RECEIVER_TAG, ..terms };
        let host =
            Terms { local_tag: RECEIVER_TAG, peer_tag: SENDER_TAG, is_opener: true, ..terms };
        let sender =
            Sender::new(device, SenderConfig::default(), vec![SendSlot::default(); slots], now);
        let receiver = Receiver::new(host, config, vec![RecvSlot::default(); slots], now);
        let path = Path { delay: Nanos(terms.rtt.0 / 2), ..Path::default() };
        Self {
            now,
            sender: sender.expect("the terms hold"),
            receiver: receiver.expect("the terms hold"),
            data_path: path.clone(),
            report_path: path,
            ledger: Ledger { next_index: terms.first_index, ..Ledger::default() },
            sender_end: None,
            receiver_end: None,
            to_push: 0,
            interval: Nanos(0),
            closes: true,
            paused_until: Nanos(0),
            never_arrives: None,
            consumes: true,
            overflows: BTreeMap::new(),
            checks_bytes: true,
            trace: None,
            rng: Rng::new(seed),
            terms,
            sent_payloads: vec![vec![0; PAYLOAD]; slots],
            received_payloads: vec![vec![0; PAYLOAD]; slots],
            on_wire: BTreeMap::new(),
            socket: VecDeque::new(),
            order: 0,
            departed: [0; 2],
            pushed: 0,
            next_push: now,
        }
    }

    /// Bytes that a test made up itself are delivered too.
    pub(super) fn accept_any_bytes(&mut self) {
        self.checks_bytes = false;
    }

    /// Writes down every packet from here on.
    pub(super) fn start_trace(&mut self) {
        self.trace = Some(String::new());
    }

    pub(super) fn trace(&self) -> &str {
        self.trace.as_deref().expect("the trace was started")
    }

    /// Runs until both ends have ended; fails after `limit` of virtual time.
    pub(super) fn run_to_end(&mut self, limit: Nanos) {
        let deadline = self.now + limit;
        while self.sender_end.is_none() || self.receiver_end.is_none() {
            assert!(
                self.now < deadline,
                "no end after {limit:?}: sender {:?} {:?}, receiver {:?} {:?}",
                self.sender_end,
                self.sender.stats(),
                self.receiver_end,
                self.receiver.stats()
            );
            self.step(deadline);
        }
    }

    pub(super) fn run_for(&mut self, span: Nanos) {
        let end = self.now + span;
        while self.now < end {
            self.step(end);
        }
    }

    /// Hands bytes to one end as if they had arrived.
    pub(super) fn inject_to_sender(&mut self, bytes: Vec<u8>) {
        self.arrive(Side::Sender, self.now, bytes);
    }

    pub(super) fn inject_to_receiver(&mut self, bytes: Vec<u8>) {
        self.arrive(Side::Receiver, self.now, bytes);
    }

    fn step(&mut self, limit: Nanos) {
        self.deliver_arrivals();
        self.push();
        self.run_sender();
        if self.now >= self.paused_until {
            self.run_receiver();
        }
        if self.sender_end.is_some() && self.receiver_end.is_some() {
            return;
        }
        let mut next = limit;
        if let Some(((at, _), _)) = self.on_wire.first_key_value() {
            next = next.min(*at);
        }
        if let Some(at) = self.sender.poll_timeout(self.now) {
            next = next.min(at);
        }
        if let Some(at) = self.receiver.poll_timeout(self.now) {
            next = next.min(at.max(self.paused_until));
        }
        if self.to_push > 0 && !self.sender.is_ended() && self.sender.free_slots() > 0 {
            next = next.min(self.next_push);
        }
        self.now = next.max(self.now + Nanos(16));
    }

    fn push(&mut self) {
        let may_push = !self.sender.is_ended();
        while may_push
            && self.to_push > 0
            && self.now >= self.next_push
            && self.sender.free_slots() > 0
        {
            let lost = self.overflows.get(&self.pushed).copied();
            let index = self.sender.next_index() + lost.unwrap_or(0);
            let payload = payload_of(index);
            let position = self.position(self.sender.next_seq());
            let payload_crc = crc32c(&payload);
            self.sent_payloads[position] = payload;
            let flags = if lost.is_some() { Flags::OVERFLOW } else { Flags::default() };
            let packet = NewPacket {
                index,
                flags,
                burst_samples: 0,
                len_bytes: PAYLOAD as u16,
                payload_crc,
            };
            self.sender.push(packet).expect("there is room");
            self.pushed += 1;
            self.to_push -= 1;
            self.next_push = self.next_push + self.interval;
        }
        if self.to_push == 0 && self.closes {
            self.sender.close(self.now);
        }
    }

    fn run_sender(&mut self) {
        self.sender.handle_timeout(self.now);
        let mut control = [0; CONTROL_BYTES];
        while let Some(transmit) = self.sender.poll_transmit(self.now, &mut control) {
            let bytes = match transmit {
                Transmit::Control { len_bytes } => control[..len_bytes].to_vec(),
                Transmit::Data(data) if self.never_arrives == Some(data.seq) => continue,
                Transmit::Data(data) => {
                    let payload = &self.sent_payloads[self.position(data.seq)];
                    [data.head(), payload, &data.trailer].concat()
                }
            };
            self.send(Side::Receiver, bytes);
        }
        self.sender_end = self.sender_end.or(self.sender.poll_event());
    }

    fn run_receiver(&mut self) {
        while let Some(bytes) = self.socket.pop_front() {
            let Ok((header, packet)) = wire::parse(&bytes) else { continue };
            if let Packet::Data(body) = packet {
                let placement = self.receiver.handle_data(self.now, &header, body, false);
                if let Placement::Store { seq, payload_at } = placement {
                    let position = self.position(seq);
                    self.received_payloads[position] = body[payload_at..].to_vec();
                }
            } else {
                self.receiver.handle(self.now, &header, &packet);
            }
        }
        self.receiver.handle_timeout(self.now);
        while let Some(delivered) = self.receiver.poll_delivery(self.now) {
            self.account(delivered);
        }
        if self.consumes {
            self.receiver.grant(self.receiver.promise_end());
        }
        let mut out = [0; REPORT_BYTES];
        while let Some(len) = self.receiver.poll_transmit(self.now, &mut out) {
            self.send(Side::Sender, out[..len].to_vec());
        }
        self.receiver_end = self.receiver_end.or(self.receiver.poll_event());
    }

    /// Holds what was delivered against what the source made of these indexes.
    fn account(&mut self, delivered: Delivered) {
        match delivered {
            Delivered::Packet { seq, index, samples, .. } => {
                assert_eq!(index, self.ledger.next_index, "index follows index");
                let payload = &self.received_payloads[self.position(seq)];
                let is_right = !self.checks_bytes || *payload == payload_of(index);
                assert!(is_right, "bytes of index {index}");
                self.ledger.next_index = index + u64::from(samples);
                self.ledger.samples += u64::from(samples);
            }
            Delivered::Gap(gap) => {
                assert_eq!(gap.first, self.ledger.next_index, "a gap follows the last sample");
                assert!(gap.count() > 0);
                self.ledger.next_index = gap.end();
                self.ledger.gaps.push(gap);
            }
            Delivered::Skipped { .. } => {}
        }
    }

    fn send(&mut self, to: Side, bytes: Vec<u8>) {
        let ordinal = self.departed[to as usize];
        self.departed[to as usize] += 1;
        let path = if to == Side::Receiver { &self.data_path } else { &self.report_path }.clone();
        let is_lost = self.rng.chance(Odds::of(path.loss)) || path.lost.contains(&ordinal);
        self.write_trace(to, &bytes, is_lost);
        if is_lost {
            return;
        }
        let copies = 1 + usize::from(self.rng.chance(Odds::of(path.duplicate)));
        for _ in 0..copies {
            let mut bytes = bytes.clone();
            if self.rng.chance(Odds::of(path.corrupt)) {
                let bit = self.rng.below(8 * bytes.len() as u64);
                bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
            }
            let mut at = self.now + path.delay;
            if self.rng.chance(Odds::of(path.reorder)) {
                at = at + Nanos(self.rng.below(path.reorder_by.0));
            }
            self.arrive(to, at, bytes);
        }
    }

    fn arrive(&mut self, to: Side, at: Nanos, bytes: Vec<u8>) {
        self.order += 1;
        self.on_wire.insert((at, self.order), (to, bytes));
    }

    fn deliver_arrivals(&mut self) {
        while let Some(entry) = self.on_wire.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let (to, bytes) = entry.remove();
            match to {
                Side::Receiver => self.socket.push_back(bytes),
                Side::Sender => {
                    if let Ok((header, packet)) = wire::parse(&bytes) {
                        self.sender.handle(self.now, &header, &packet);
                    }
                }
            }
        }
    }

    fn write_trace(&mut self, to: Side, bytes: &[u8], is_lost: bool) {
        let Some(trace) = &mut self.trace else { return };
        let (header, packet) = wire::parse(bytes).expect("we send what we can parse");
        let arrow = if to == Side::Receiver { "->" } else { "<-" };
        let _ = write!(trace, "{:>7} {arrow} {:?} {}", self.now.0 / 1_000, header.kind, header.seq);
        if header.kind == PacketType::Data && header.flags.contains(Flags::RETRANSMISSION) {
            trace.push_str(" again");
        }
        if let Packet::Report(report) = packet {
            let _ = write!(trace, " released {}", report.fields.released);
            for range in report.ranges.iter() {
                let _ = write!(trace, " wants {}+{}", range.first, range.count);
            }
        }
        trace.push_str(if is_lost { " lost\n" } else { "\n" });
    }

    fn position(&self, seq: Seq) -> usize {
        seq.0 as usize % self.sent_payloads.len()
    }

    /// Asserts that everything from the first index to `end` is delivered or in a gap of `cause`.
    pub(super) fn assert_all_accounted(&self, end: SampleIndex, cause: Option<Cause>) {
        assert_eq!(self.ledger.next_index, end, "the account ends at the final index");
        let missing: u64 = self.ledger.gaps.iter().map(Gap::count).sum();
        assert_eq!(self.ledger.samples + missing, end - self.terms.first_index);
        assert!(self.ledger.gaps.iter().all(|gap| Some(gap.cause) == cause));
        assert_eq!(self.receiver.stats().samples_missing(), missing);
    }
}

/// The bytes that belong to an index: no two packets alike.
fn payload_of(index: SampleIndex) -> Vec<u8> {
    let mut rng = Rng::new(index);
    (0..PAYLOAD / 8).flat_map(|_| rng.draw().to_le_bytes()).collect()
}
