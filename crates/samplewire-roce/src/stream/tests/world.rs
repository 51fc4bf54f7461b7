//! Both ends of a stream over RDMA, and the wires between them: one for control packets, one for
//! RoCEv2 frames, each of which loses, repeats, reorders and corrupts. On virtual time, from a seed.

use std::collections::VecDeque;

use samplewire_io::FaultSpec;
use samplewire_io::faults::Model;
use samplewire_proto::crc::crc32c;
use samplewire_proto::receiver::{Delivered, Receiver, ReceiverConfig, RecvSlot};
use samplewire_proto::sender::{
    CONTROL_BYTES, NewPacket, SendSlot as PacketSlot, Sender, SenderConfig, Transmit,
};
use samplewire_proto::stream::End;
use samplewire_proto::wire::{self, Flags, RECORD_LEN, SlotRecord, SlotRegion, record_at};
use samplewire_proto::{Cause, Gap, Nanos, Rng, SampleIndex, Seq};

use super::opening::{Opened, Wish};
use crate::Qpn;
use crate::requester::{AckTimeout, RequesterConfig, SendSlot};
use crate::responder::{ReceiveSlot, ResponderConfig};
use crate::stream::{SlotReader, SlotWriter};
use crate::wire::{Body, Bth, FRAME_BYTES_MAX, Frame, Opcode, Packet, Reth, Route};

/// What a run is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) seed: u64,
    pub(super) packets: u64,
    /// The share of frames and of control packets that are lost; others are half as often repeated,
    /// corrupted and reordered.
    pub(super) loss: f64,
    /// When the sender's memory of a packet is free.
    pub(super) freed_when: FreedWhen,
    /// How many ticks the program of the receiver keeps a packet at most.
    pub(super) keeps: u64,
    pub(super) payload_bytes: u16,
    /// Whether the end that sends is the one that opens.
    pub(super) sender_opens: bool,
    /// The speed of the sender's interface, if it is known.
    pub(super) line_bps: Option<u64>,
}

/// When the sender's memory of a packet is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FreedWhen {
    /// Its WRITE is complete.
    Written,
    /// Its WRITE has left: the mutant.
    Sent,
}

impl Settings {
    pub(super) const fn new(seed: u64) -> Self {
        let sender_opens = seed.is_multiple_of(2);
        Self {
            seed,
            packets: 400,
            loss: 0.02,
            freed_when: FreedWhen::Written,
            keeps: 40,
            payload_bytes: 1000,
            sender_opens,
            line_bps: None,
        }
    }
}

/// What the program of the receiver has been handed.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    pub(super) delivered: u64,
    pub(super) gaps: Vec<Gap>,
    /// Samples between two streams.
    pub(super) between: u64,
    /// Packets whose samples are not those that were sent.
    pub(super) wrong: u64,
    pub(super) next_index: SampleIndex,
}

/// A stream, its ends and what lies between them.
pub(super) struct World {
    settings: Settings,
    pub(super) now: Nanos,
    pub(super) sender: Sender<Vec<PacketSlot>>,
    pub(super) writer: SlotWriter<Vec<SendSlot>>,
    pub(super) receiver: Receiver<Vec<RecvSlot>>,
    pub(super) reader: SlotReader<Vec<ReceiveSlot>>,
    /// The receiver's slots.
    pub(super) memory: Vec<u8>,
    slots: SlotRegion,
    pub(super) account: Account,
    /// The end of what the source has made.
    pub(super) made_index: SampleIndex,
    pub(super) lost_at_source: u64,
    pub(super) ends: [Option<End>; 2],
    /// Frames of the queue pairs are lost from here on.
    pub(super) is_roce_cut: bool,
    /// A switch marks the frames of the queue pairs (CE).
    pub(super) is_marked: bool,
    /// Control packets are lost from here on.
    pub(super) is_control_cut: bool,
    pub(super) frames: u64,
    /// A bit of the slot is flipped into which the packet of that number goes, once it is complete.
    pub(super) flips_at: Option<u32>,
    payloads: Vec<Vec<u8>>,
    /// Packets that the source has made.
    made: u64,
    first_seq: Seq,
    /// The payloads of all packets before it are overwritten.
    scribbled: Seq,
    /// Slots that the program still holds, with when it gives them back.
    held: VecDeque<(Nanos, Seq)>,
    consumed: Seq,
    models: [[Model; 2]; 2],
    wire: Vec<InFlight>,
    rng: Rng,
}

#[derive(Clone)]
struct InFlight {
    arrives_at: Nanos,
    to: usize,
    is_roce: bool,
    bytes: Vec<u8>,
}

impl World {
    pub(super) fn new(settings: Settings) -> Self {
        Self::reopened(settings, 0, 0, vec![], Nanos::from_millis(1))
    }

    /// The stream of that number, from an index on; frames of streams before it are still on the
    /// way.
    fn reopened(
        settings: Settings,
        number: u32,
        first_index: SampleIndex,
        wire: Vec<InFlight>,
        now: Nanos,
    ) -> Self {
        let seed = settings.seed + u64::from(number) * 1_000;
        let Settings { payload_bytes, sender_opens, loss, .. } = settings;
        let first_seq = Seq((settings.packets as u32 / 2).wrapping_neg());
        let wish = Wish { seed, number, first_seq, first_index, payload_bytes, sender_opens, loss };
        let Opened { terms, connections, slots } = wish.open(now);
        let window = WINDOW as usize;
        let requester = RequesterConfig {
            timeout: AckTimeout::new(5).expect("it is below 32"),
            patience: Some(terms[0].dead_after),
            ..RequesterConfig::default()
        };
        let sends = vec![SendSlot::default(); window];
        let writer = SlotWriter::new(&connections[0], slots, payload_bytes, requester, sends);
        let receives = vec![ReceiveSlot::default(); window];
        let responder = ResponderConfig::default();
        let reader =
            SlotReader::new(&connections[1], slots, payload_bytes, first_seq, responder, receives);
        let packets = vec![PacketSlot::default(); window];
        let config = SenderConfig::default().on_line(settings.line_bps);
        let sender = Sender::new(terms[0], config, packets, now);
        let packets = vec![RecvSlot::default(); window];
        let receiver = Receiver::new(terms[1], ReceiverConfig::new(), packets, now);
        let model = |salt: u64| Model::new(&faults(seed * 4 + salt, settings.loss));
        Self {
            now,
            sender: sender.expect("the terms hold"),
            writer: writer.expect("the slots fit"),
            receiver: receiver.expect("the terms hold"),
            reader: reader.expect("the slots fit"),
            memory: vec![0; window * slots.slot_bytes as usize],
            slots,
            account: Account { next_index: first_index, ..Account::default() },
            made_index: first_index,
            lost_at_source: 0,
            ends: [None; 2],
            is_roce_cut: false,
            is_marked: false,
            is_control_cut: false,
            frames: 0,
            flips_at: None,
            payloads: vec![vec![0; payload_bytes.into()]; window],
            made: 0,
            scribbled: first_seq,
            first_seq,
            held: VecDeque::new(),
            consumed: first_seq,
            models: [[model(0), model(1)], [model(2), model(3)]],
            wire,
            rng: Rng::stream(seed, u64::MAX),
            settings,
        }
    }

    /// Runs until both ends have ended.
    pub(super) fn run_to_end(&mut self) {
        self.run_until(|world| world.ends.iter().all(Option::is_some));
    }

    pub(super) fn run_until(&mut self, is_over: impl Fn(&Self) -> bool) {
        let deadline = self.now + TIME_MAX;
        while !is_over(self) {
            assert!(
                self.now < deadline,
                "{:?} makes no progress: {:?}",
                self.settings,
                self.account
            );
            self.step();
        }
    }

    pub(super) fn step(&mut self) {
        self.now = self.now + TICK;
        self.deliver();
        self.run_sender();
        self.run_receiver();
    }

    /// The next stream after this one, under other numbers, from where the source stands: both ends
    /// have forgotten this one, and what is on the way stays there.
    pub(super) fn reopen(&mut self, number: u32) {
        let wire = std::mem::take(&mut self.wire);
        let next = Self::reopened(self.settings, number, self.made_index, wire, self.now);
        let Account { delivered, between, wrong, .. } = self.account;
        let account = Account {
            delivered,
            between: between + (self.made_index - self.account.next_index),
            gaps: std::mem::take(&mut self.account.gaps),
            wrong,
            next_index: self.made_index,
        };
        let lost_at_source = self.lost_at_source;
        *self = Self { account, lost_at_source, ..next };
    }

    pub(super) fn in_flight(&self) -> usize {
        self.wire.len()
    }

    /// A broken peer: the receiver takes a request that writes beyond its memory.
    pub(super) fn break_reader(&mut self) {
        let qp = self.reader.queue_pair();
        let bth = Bth::new(Opcode::WriteOnly, qp.number(), qp.responder().expected());
        let reth =
            Some(Reth { address: self.slots.address - 1, key: self.slots.rkey, len_bytes: 4 });
        let body = Body::Request { reth, immediate: None, payload: &[0; 4] };
        let mut out = [0; FRAME_BYTES_MAX];
        let len = Packet { bth, body }.emit(self.writer.queue_pair().route(), &mut out);
        let frame = Frame::new_checked(&out[..len]).expect("it is whole");
        self.read(&frame);
    }

    /// The address of the receiver's station.
    pub(super) const fn peer_of_sender(&self) -> [u8; 4] {
        self.writer.queue_pair().route().destination_ip
    }

    /// A congestion notification for the queue pair of a number, from an address, reaches the sender.
    pub(super) fn notify(&mut self, number: Qpn, source_ip: [u8; 4]) {
        let Route { source_ip: own, .. } = *self.writer.queue_pair().route();
        let route = Route { source_ip, destination_ip: own, ttl: 64, ..Route::default() };
        let mut out = [0; FRAME_BYTES_MAX];
        let len = Packet::cnp(number).emit(&route.for_cnp(), &mut out);
        let frame = Frame::new_checked(&out[..len]).expect("it is whole");
        self.writer.handle(self.now, &frame, &mut self.sender);
    }

    /// Flips a bit of the packet of that number, once it is complete.
    fn flip(&mut self, number: u32) {
        let seq = self.first_seq + number;
        let slot = start_of(&self.slots, seq);
        let record_at = record_at(self.settings.payload_bytes);
        let record = self.memory[slot + record_at..][..RECORD_LEN].try_into().expect("64 bytes");
        if SlotRecord::parse(record, seq.0).is_ok() {
            self.memory[slot + usize::from(self.settings.payload_bytes) - 1] ^= 0x80;
            self.flips_at = None;
        }
    }

    fn deliver(&mut self) {
        let now = self.now;
        let (due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.wire).into_iter().partition(|it| it.arrives_at <= now);
        self.wire = later;
        for InFlight { to, is_roce, bytes, .. } in due {
            if is_roce {
                let Ok(frame) = Frame::new_checked(&bytes) else { continue };
                match to {
                    0 => self.writer.handle(now, &frame, &mut self.sender),
                    _ => self.read(&frame),
                }
                continue;
            }
            let Ok((header, packet)) = wire::parse(&bytes) else { continue };
            match to {
                0 => self.sender.handle(now, &header, &packet),
                _ => self.receiver.handle(now, &header, &packet),
            };
        }
    }

    /// The receiver takes a frame.
    fn read(&mut self, frame: &Frame<'_>) {
        let Self { reader, receiver, memory, slots, now, .. } = self;
        reader.handle(*now, frame, receiver, |seq, offset, bytes| {
            memory[start_of(slots, seq) + offset..][..bytes.len()].copy_from_slice(bytes);
        });
    }

    fn run_sender(&mut self) {
        self.scribble();
        self.push();
        let now = self.now;
        self.sender.handle_timeout(now);
        self.writer.settle(now, &mut self.sender);
        let mut out = [0; FRAME_BYTES_MAX];
        loop {
            let Self { writer, sender, payloads, .. } = self;
            let payload_of = |seq: Seq, len: usize| &payloads[place_of(seq)][..len];
            let Some(len) = writer.poll_transmit(now, sender, payload_of, &mut out) else { break };
            self.launch(0, true, &out[..len]);
        }
        let mut control = [0; CONTROL_BYTES];
        while let Some(transmit) = self.sender.poll_transmit(now, &mut control) {
            let Transmit::Control { len_bytes } = transmit else { panic!("DATA leaves") };
            self.launch(0, false, &control[..len_bytes]);
        }
        if let Some(end) = self.sender.poll_event() {
            self.ends[0] = Some(end);
        }
    }

    /// Makes packets: every fifth after a loss at the source, some short.
    fn push(&mut self) {
        while self.made < self.settings.packets
            && self.sender.takes_more()
            && self.sender.free_slots() > 0
        {
            let number = self.made;
            let lost_before = if number % 5 == 4 { 7 } else { 0 };
            let is_short = number % 11 == 10;
            let full = u32::from(self.settings.payload_bytes) / SAMPLE_BYTES;
            let samples = if is_short { SHORT_SAMPLES } else { full };
            let mut flags = if lost_before > 0 { Flags::OVERFLOW } else { Flags::NONE };
            if is_short {
                flags = flags | Flags::END_OF_BURST;
            }
            let index = self.made_index + lost_before;
            let seq = self.sender.next_seq();
            let bytes = payload_of(self.settings.seed, index, samples, is_short);
            let len_bytes = bytes.len() as u16;
            self.payloads[place_of(seq)][..bytes.len()].copy_from_slice(&bytes);
            let payload_crc = crc32c(&bytes);
            let packet = NewPacket { index, flags, burst_samples: samples, len_bytes, payload_crc };
            self.sender.push(packet).expect("there is room");
            self.made += 1;
            self.made_index = index + u64::from(samples);
            self.lost_at_source += lost_before;
        }
        if self.made == self.settings.packets {
            self.sender.close(self.now);
        }
    }

    /// Overwrites the payloads whose memory is free, as their source would.
    fn scribble(&mut self) {
        let end = match self.settings.freed_when {
            FreedWhen::Written => self.sender.released(),
            // All frames of what is posted leave in the same turn.
            FreedWhen::Sent => self.sender.next_seq() - self.sender.waiting(),
        };
        while self.scribbled.before(end) {
            self.payloads[place_of(self.scribbled)].fill(0xEE);
            self.scribbled += 1;
        }
    }

    fn run_receiver(&mut self) {
        let now = self.now;
        if let Some(number) = self.flips_at {
            self.flip(number);
        }
        let (memory, slots) = (&self.memory, &self.slots);
        let payload_bytes = self.settings.payload_bytes;
        self.reader.settle(now, &mut self.receiver, |seq| {
            let slot = &memory[start_of(slots, seq)..];
            let record = slot[record_at(payload_bytes)..].first_chunk().expect("it has a record");
            (&slot[..payload_bytes.into()], record)
        });
        self.receiver.handle_timeout(now);
        while let Some(delivered) = self.receiver.poll_delivery(now) {
            self.take(delivered);
        }
        while let Some((at, seq)) = self.held.front().copied()
            && at <= now
        {
            self.held.pop_front();
            self.consumed = seq + 1;
        }
        if !self.receiver.is_ended() {
            let limit = (self.consumed + WINDOW).min(self.receiver.promise_end());
            self.reader.grant(&mut self.receiver, limit);
        }
        let mut out = [0; FRAME_BYTES_MAX];
        while let Some(len) = self.reader.poll_transmit(now, &mut out) {
            self.launch(1, true, &out[..len]);
        }
        while let Some(len) = self.receiver.poll_transmit(now, &mut out) {
            self.launch(1, false, &out[..len]);
        }
        if let Some(end) = self.receiver.poll_event() {
            self.ends[1] = Some(end);
        }
    }

    fn take(&mut self, delivered: Delivered) {
        match delivered {
            Delivered::Packet { seq, index, samples, flags } => {
                let start = start_of(&self.slots, seq);
                let is_short = flags.contains(Flags::END_OF_BURST);
                let expected = payload_of(self.settings.seed, index, samples, is_short);
                let is_right = self.memory[start..][..expected.len()] == expected[..];
                self.account.wrong += u64::from(!is_right);
                self.account.delivered += u64::from(samples);
                assert_eq!(index, self.account.next_index, "an index is skipped without a gap");
                self.account.next_index = index + u64::from(samples);
                self.hold(seq);
            }
            Delivered::Skipped { seq } => self.hold(seq),
            Delivered::Gap(gap) => {
                assert_eq!(gap.first, self.account.next_index, "a gap is not where it belongs");
                self.account.next_index = gap.end();
                self.account.gaps.push(gap);
            }
        }
    }

    fn hold(&mut self, seq: Seq) {
        let ticks = self.rng.spread(0..=self.settings.keeps);
        let at = self.now + Nanos(ticks * TICK.0);
        let earliest = self.held.back().map_or(at, |(last, _)| at.max(*last));
        self.held.push_back((earliest, seq));
    }

    fn launch(&mut self, from: usize, is_roce: bool, bytes: &[u8]) {
        self.frames += u64::from(is_roce);
        let fate = self.models[from][usize::from(is_roce)].decide(bytes.len());
        let is_cut = if is_roce { self.is_roce_cut } else { self.is_control_cut };
        let is_marked = self.is_marked && is_roce && from == 0;
        let mut bytes = if is_marked { marked(bytes) } else { bytes.to_vec() };
        if let Some(corruption) = fate.corrupt {
            corruption.apply(&mut bytes);
        }
        let arrives_at = self.now + WAY + Nanos(u64::from(fate.overtaken_by) * TICK.0);
        let copies = if fate.lost || is_cut { 0 } else { 1 + usize::from(fate.duplicate) };
        let packet = InFlight { arrives_at, to: 1 - from, is_roce, bytes };
        self.wire.extend(std::iter::repeat_n(packet, copies));
    }
}

impl Account {
    /// Samples in gaps of a cause.
    pub(super) fn lost(&self, cause: Cause) -> u64 {
        self.gaps.iter().filter(|gap| gap.cause == cause).map(Gap::count).sum()
    }

    /// All indexes that are delivered or named as missing.
    pub(super) fn accounted(&self) -> u64 {
        let gaps: u64 = self.gaps.iter().map(Gap::count).sum();
        self.delivered + gaps + self.between
    }
}

/// The payload of a packet that starts at an index; that of a short one ends with its count.
fn payload_of(seed: u64, index: SampleIndex, samples: u32, is_short: bool) -> Vec<u8> {
    let mut rng = Rng::stream(seed, index);
    let words = (samples * SAMPLE_BYTES) as usize / 8;
    let mut bytes: Vec<u8> = (0..words).flat_map(|_| rng.draw().to_le_bytes()).collect();
    if is_short {
        bytes.extend_from_slice(&u64::from(samples).to_be_bytes());
    }
    bytes
}

/// The frame with the mark of congestion.
fn marked(bytes: &[u8]) -> Vec<u8> {
    let frame = Frame::new_checked(bytes).expect("it is whole");
    let mut out = vec![0; FRAME_BYTES_MAX];
    let len = frame.packet().emit(&Route { tos: 0b11, ..frame.route() }, &mut out);
    out.truncate(len);
    out
}

/// Where the slot of a packet begins in the receiver's memory.
const fn start_of(slots: &SlotRegion, seq: Seq) -> usize {
    slots.slot_of(seq) as usize * slots.slot_bytes as usize
}

const fn place_of(seq: Seq) -> usize {
    (seq.0 % WINDOW) as usize
}

fn faults(seed: u64, loss: f64) -> FaultSpec {
    let others = loss / 2.0;
    FaultSpec::new()
        .loss(loss)
        .duplicate(others)
        .corrupt(others)
        .reorder(others)
        .depth(5)
        .seed(seed)
}

pub(super) const WINDOW: u32 = 8;
pub(super) const SAMPLE_BYTES: u32 = 4;
/// Samples take a multiple of 8 bytes.
const SHORT_SAMPLES: u32 = 62;
const TICK: Nanos = Nanos(1_000);
pub(super) const WAY: Nanos = Nanos(5_000);
/// A stream of 400 packets takes less, timeouts included.
const TIME_MAX: Nanos = Nanos::from_millis(20_000);
