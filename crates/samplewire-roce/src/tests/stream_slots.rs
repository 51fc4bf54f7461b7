//! The slots of a stream over RDMA (`docs/protocol.md#13`) between two queue pairs, on virtual time
//! and over a wire that loses, repeats, reorders and corrupts frames.
//!
//! Credit goes from end to end at once here: REPORT is not part of this test.

use samplewire_io::FaultSpec;
use samplewire_io::faults::Model;
use samplewire_proto::crc::crc32c;
use samplewire_proto::wire::{Flags, RECORD_LEN, SlotRecord, SlotRegion};
use samplewire_proto::{Nanos, Rng, Seq};

use super::pair::{TIMEOUT, TestPair, WAY};
use crate::number::{PathMtu, Psn, Qpn};
use crate::qp::{Event, Peer, QueuePair};
use crate::region::{Access, Region};
use crate::requester::{RequesterConfig, SendSlot, SendStatus, Verb, WorkRequest};
use crate::responder::{Placement, ReceiveRequest, ReceiveSlot, ReceiveStatus, ResponderConfig};
use crate::wire::{Body, FRAME_BYTES_MAX, Frame, Route};

/// `docs/protocol.md#13.5`: with the seeds printed, a run repeats.
#[test]
fn every_index_is_delivered_or_lost_at_the_source() {
    for seed in 1..=8 {
        let run = Run::of(seed, FreedWhen::Acknowledged);
        println!("seed {seed}: {run:?}");
        assert_eq!((run.wrong, run.gaps), (0, 0), "seed {seed}");
        assert_eq!(run.delivered + run.lost, run.index, "seed {seed}");
        assert!(run.retransmissions > 0, "seed {seed} loses no frame: it proves nothing");
    }
}

/// The mutant of the rule: a sender whose memory is free when sent repeats other bytes than it
/// announced, and the receiver sees it.
#[test]
fn memory_that_is_free_when_sent_is_caught() {
    let wrong: u64 = (1..=8).map(|seed| Run::of(seed, FreedWhen::Sent).wrong).sum();
    assert!(wrong > 0, "no packet of the mutant is wrong");
}

/// `docs/protocol.md#13.7`: frames of a broken queue pair that are still on the way reach no slot of
/// the next stream, whose first index gives the gap.
#[test]
fn a_broken_queue_pair_leaves_a_gap_before_the_next_stream() {
    for seed in 1..=8 {
        let mut run = Run::default();
        let mut stream = Stream::new(seed, FreedWhen::Acknowledged);
        let mut now = Nanos(1_000_000);
        let mut rng = Rng::stream(seed, u64::MAX);
        let (mut in_flight, mut broken_off) = (0, 0);
        for number in 1..=20 {
            let packets = run.packets + rng.spread(1..=15);
            stream.run_until(packets, &mut now, &mut run);
            in_flight += stream.wire.len();
            broken_off += stream.index - run.index;
            stream.reopen(number);
        }
        let packets = run.packets + 10;
        stream.run_until(packets, &mut now, &mut run);
        println!("seed {seed}: {run:?}, {in_flight} frames on the way");
        assert_eq!(run.wrong, 0, "seed {seed}");
        assert_eq!(run.gaps, broken_off, "seed {seed}: samples that were posted and not taken");
        assert_eq!(run.delivered + run.lost + run.gaps, run.index, "seed {seed}");
        assert!(run.gaps > 0 && in_flight > 0, "seed {seed} breaks nothing");
    }
}

/// When the sender's memory of a packet is free.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FreedWhen {
    /// Its WRITE completes.
    Acknowledged,
    /// Its last frame departs: the mutant.
    Sent,
}

/// What became of the packets, and of the samples.
#[derive(Debug, Default)]
struct Run {
    packets: u64,
    /// Packets whose record, checksum or samples are not those of their seq.
    wrong: u64,
    delivered: u64,
    lost: u64,
    /// Samples between two streams.
    gaps: u64,
    /// The end of the last packet.
    index: u64,
    retransmissions: u64,
}

impl Run {
    fn of(seed: u64, freed_when: FreedWhen) -> Self {
        let mut run = Self::default();
        let mut stream = Stream::new(seed, freed_when);
        let mut now = Nanos(1_000_000);
        stream.run_until(PACKETS, &mut now, &mut run);
        run.retransmissions = stream.qps[0].stats().1.retransmissions;
        run
    }

    /// Compares the slot of `seq` with the packet of that number, and accounts for its samples.
    fn look(&mut self, seed: u64, seq: Seq, number: u64, memory: &[u8]) {
        let start = (REGION.slot_of(seq) * REGION.slot_bytes) as usize;
        let (payload, record) = memory[start..start + WRITE_BYTES].split_at(RECORD_AT);
        let record = record.try_into().expect("64 bytes");
        self.packets += 1;
        let Ok(record) = SlotRecord::parse(record, seq.0) else {
            self.wrong += 1;
            return;
        };
        let expected = self.index + record.lost_before;
        let is_first = record.flags.contains(Flags::START);
        let follows = if is_first { record.index >= expected } else { record.index == expected };
        if !follows || !record.holds(payload) || payload != payload_of(seed, number) {
            self.wrong += 1;
            return;
        }
        self.gaps += record.index - expected;
        self.lost += record.lost_before;
        self.delivered += u64::from(record.samples);
        self.index = record.index + u64::from(record.samples);
    }
}

/// Both ends and the wire between them.
struct Stream {
    seed: u64,
    freed_when: FreedWhen,
    /// The sender's and the receiver's.
    qps: [TestPair; 2],
    models: [Model; 2],
    wire: Vec<InFlight>,
    /// The receiver's slots.
    memory: Vec<u8>,
    /// The sender's memory, packet by packet.
    places: Vec<Vec<u8>>,
    /// Packets posted, those whose place is free again, and those that the receiver took.
    posted: u64,
    freed: u64,
    consumed: u64,
    /// The number of the stream's first packet.
    first: u64,
    index: u64,
}

struct InFlight {
    arrives_at: Nanos,
    to: usize,
    bytes: Vec<u8>,
}

impl Stream {
    fn new(seed: u64, freed_when: FreedWhen) -> Self {
        let mut stream = Self {
            seed,
            freed_when,
            qps: connected(seed),
            models: [0, 1].map(|end| Model::new(&faults(seed * 2 + end))),
            wire: vec![],
            memory: vec![0; (REGION.slots * REGION.slot_bytes) as usize],
            places: vec![vec![]; PLACES],
            posted: 0,
            freed: 0,
            consumed: 0,
            first: 0,
            index: 0,
        };
        stream.post_receives();
        stream
    }

    fn run_until(&mut self, packets: u64, now: &mut Nanos, run: &mut Run) {
        while run.packets < packets {
            assert!(*now < TIME_MAX, "seed {} makes no progress: {run:?}", self.seed);
            *now = *now + TICK;
            self.deliver(*now);
            self.post();
            self.depart(*now);
            self.complete(run);
        }
    }

    /// The sender's queue pair breaks, and the next stream begins under other numbers. What was
    /// posted and not taken is lost; frames on the way stay there.
    fn reopen(&mut self, number: u32) {
        self.qps[0].fail().expect("it is connected");
        for (end, qp) in self.qps.iter_mut().enumerate() {
            qp.reset(Qpn::new(16 + 2 * number + end as u32));
        }
        connect(&mut self.qps, self.seed as u32 + 0x1000 * number);
        self.memory.fill(0);
        (self.consumed, self.freed, self.first) = (self.posted, self.posted, self.posted);
        self.post_receives();
    }

    fn post_receives(&mut self) {
        for id in 0..u64::from(REGION.slots) {
            self.qps[1].post_receive(ReceiveRequest { id, len_bytes: 0 }).expect("there is room");
        }
    }

    fn deliver(&mut self, now: Nanos) {
        let (due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.wire).into_iter().partition(|frame| frame.arrives_at <= now);
        self.wire = later;
        for frame in due {
            take(&mut self.qps[frame.to], now, &frame.bytes, &mut self.memory);
        }
    }

    /// Posts a WRITE for each packet within the credit that a place is free for.
    fn post(&mut self) {
        let limit = self.consumed + u64::from(REGION.slots);
        while self.posted < limit && self.posted - self.freed < PLACES as u64 {
            let seq = seq_of(self.posted);
            let request = WorkRequest {
                id: self.posted,
                verb: Verb::Write { address: REGION.address_of(seq), key: REGION.rkey },
                len_bytes: WRITE_BYTES as u32,
                immediate: Some(seq.0),
                is_solicited: false,
            };
            if self.qps[0].post_send(request).is_err() {
                // Only the mutant has more WRITEs without completion than places.
                assert!(self.freed_when == FreedWhen::Sent, "a place is free, so is a request");
                break;
            }
            let place = self.posted as usize % PLACES;
            let flags = if self.posted == self.first { Flags::START } else { Flags::NONE };
            self.places[place] = packet(self.seed, self.posted, flags, &mut self.index);
            self.posted += 1;
        }
    }

    fn depart(&mut self, now: Nanos) {
        for end in [0, 1] {
            self.qps[end].handle_timeout(now);
            while let Some(transmit) = self.qps[end].poll_transmit(now) {
                let mut frame = [0; FRAME_BYTES_MAX];
                let payload = transmit.payload().map_or(&[][..], |at| {
                    let end = (at.offset + at.len_bytes) as usize;
                    if self.freed_when == FreedWhen::Sent && end == WRITE_BYTES {
                        self.freed = self.freed.max(at.id + 1);
                    }
                    &self.places[at.id as usize % PLACES][at.offset as usize..end]
                });
                let len = transmit.emit(self.qps[end].route(), payload, &mut frame);
                self.launch(now, end, &frame[..len]);
            }
        }
    }

    fn launch(&mut self, now: Nanos, from: usize, frame: &[u8]) {
        let fate = self.models[from].decide(frame.len());
        let mut bytes = frame.to_vec();
        if let Some(corruption) = fate.corrupt {
            corruption.apply(&mut bytes);
        }
        let arrives_at = now + WAY + Nanos(u64::from(fate.overtaken_by) * TICK.0);
        let copies = if fate.lost { 0 } else { 1 + usize::from(fate.duplicate) };
        for _ in 0..copies {
            self.wire.push(InFlight { arrives_at, to: 1 - from, bytes: bytes.clone() });
        }
    }

    fn complete(&mut self, run: &mut Run) {
        while let Some(event) = self.qps[0].poll_event() {
            let Event::Sent(done) = event else { panic!("the sender receives nothing") };
            assert_eq!(done.status, SendStatus::Done);
            if self.freed_when == FreedWhen::Acknowledged {
                self.freed = done.id + 1;
            }
        }
        while let Some(event) = self.qps[1].poll_event() {
            let Event::Received(done) = event else { panic!("the receiver sends nothing") };
            let ReceiveStatus::Write { len_bytes, immediate } = done.status else {
                panic!("{:?} is no WRITE with immediate", done.status)
            };
            assert_eq!(len_bytes as usize, WRITE_BYTES);
            assert_eq!(immediate, seq_of(self.consumed).0, "RC delivers in order");
            run.look(self.seed, Seq(immediate), self.consumed, &self.memory);
            self.consumed += 1;
            let again = ReceiveRequest { id: done.id, len_bytes: 0 };
            self.qps[1].post_receive(again).expect("one is done");
        }
    }
}

/// The bytes of a WRITE: payload and record. Every fifth follows a loss at the source.
fn packet(seed: u64, number: u64, flags: Flags, index: &mut u64) -> Vec<u8> {
    let mut bytes = payload_of(seed, number);
    let lost_before = if number % 5 == 4 { 7 } else { 0 };
    let record = SlotRecord {
        index: *index + lost_before,
        lost_before,
        samples: SAMPLES,
        seq: seq_of(number),
        payload_crc: crc32c(&bytes),
        flags: if lost_before > 0 { flags | Flags::OVERFLOW } else { flags },
    };
    *index = record.index + u64::from(SAMPLES);
    bytes.extend_from_slice(&record.to_bytes());
    bytes
}

fn payload_of(seed: u64, number: u64) -> Vec<u8> {
    let mut rng = Rng::stream(seed, number);
    let mut bytes: Vec<u8> =
        (0..PAYLOAD_BYTES / 8).flat_map(|_| rng.draw().to_le_bytes()).collect();
    bytes.resize(RECORD_AT, 0);
    bytes
}

/// Seq wraps in mid-stream.
fn seq_of(number: u64) -> Seq {
    Seq((PACKETS as u32 / 2).wrapping_neg().wrapping_add(number as u32))
}

fn take(qp: &mut TestPair, now: Nanos, bytes: &[u8], memory: &mut [u8]) {
    let Ok(frame) = Frame::new_checked(bytes) else { return };
    let placement = qp.handle(now, &frame);
    if let (Placement::Region { offset, .. }, Body::Request { payload, .. }) =
        (placement, frame.packet().body)
    {
        memory[offset as usize..][..payload.len()].copy_from_slice(payload);
    }
}

/// The sender and the receiver; the receiver alone opens memory.
fn connected(seed: u64) -> [TestPair; 2] {
    let bytes = u64::from(REGION.slots * REGION.slot_bytes);
    let region = Region::new(REGION.rkey, REGION.address, bytes, Access::Write).expect("it fits");
    let mut qps = [0, 1].map(|end: usize| {
        let depth = REGION.slots as usize;
        let regions = if end == 0 { vec![] } else { vec![region] };
        let (sends, receives) =
            (vec![SendSlot::default(); depth], vec![ReceiveSlot::default(); depth]);
        QueuePair::new(Qpn::new(16 + end as u32), sends, receives, regions)
    });
    connect(&mut qps, 0xFF_FFF0 + seed as u32 % 8);
    qps
}

/// Connects two queue pairs that are reset.
fn connect(qps: &mut [TestPair; 2], first_psn: u32) {
    let ips = [[192, 0, 2, 1], [192, 0, 2, 2]];
    let numbers = [qps[0].number(), qps[1].number()];
    let psn = |end: usize| Psn::new(first_psn + end as u32);
    for (end, qp) in qps.iter_mut().enumerate() {
        let route = Route {
            source_ip: ips[end],
            destination_ip: ips[1 - end],
            ttl: 64,
            ..Route::default()
        };
        let peer = Peer { number: numbers[1 - end], route };
        let responder =
            ResponderConfig { psn: psn(1 - end), mtu: MTU, ..ResponderConfig::default() };
        let requester = RequesterConfig {
            psn: psn(end),
            mtu: MTU,
            timeout: TIMEOUT,
            ..RequesterConfig::default()
        };
        qp.init().expect("it is reset");
        qp.ready_to_receive(peer, responder).expect("it is initialised");
        qp.ready_to_send(requester).expect("it is ready to receive");
    }
}

fn faults(seed: u64) -> FaultSpec {
    FaultSpec::new().loss(0.02).duplicate(0.01).corrupt(0.01).reorder(0.01).depth(5).seed(seed)
}

const PACKETS: u64 = 400;
/// Packets that the sender's memory holds: fewer than the receiver's.
const PLACES: usize = 4;
const MTU: PathMtu = PathMtu::Bytes256;
const PAYLOAD_BYTES: u16 = 1000;
const RECORD_AT: usize = 1024;
const WRITE_BYTES: usize = RECORD_AT + RECORD_LEN;
const SAMPLES: u32 = PAYLOAD_BYTES as u32 / 4;
const REGION: SlotRegion =
    SlotRegion { address: 0x7F00_0000_1000, rkey: 0x77, slot_bytes: 1152, slots: 8 };
const TICK: Nanos = Nanos(1_000);
/// A stream of 400 packets takes less, timeouts included.
const TIME_MAX: Nanos = Nanos(10_000_000_000);
