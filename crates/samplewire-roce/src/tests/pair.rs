//! Two queue pairs and the wire between them, on virtual time and from one seed. Both send messages
//! of all kinds; every byte, every completion and every frame is accounted for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use samplewire_io::FaultSpec;
use samplewire_io::faults::{Fate, Model};
use samplewire_proto::{Nanos, Rng};

use super::messages::{Kind, Message};
use crate::number::{PathMtu, Psn, Qpn};
use crate::qp::{Event, Peer, QueuePair, State};
use crate::region::{Access, Region};
use crate::requester::{AckTimeout, RequesterConfig, SendSlot, SendStatus, Verb, WorkRequest};
use crate::responder::{Placement, ReceiveRequest, ReceiveSlot, ReceiveStatus, ResponderConfig};
use crate::wire::{FRAME_BYTES_MAX, Frame, RnrTimer, Route};

pub(super) type TestPair = QueuePair<Vec<SendSlot>, Vec<ReceiveSlot>, Vec<Region>>;

/// What a run does to frames, and how the connection is set up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) seed: u64,
    pub(super) mtu: PathMtu,
    pub(super) window: u32,
    /// The share of frames lost of those that each end sends.
    pub(super) loss: [f64; 2],
    /// The share of frames duplicated, of those corrupted, and of those reordered.
    pub(super) others: f64,
    /// Whether receive requests are sometimes posted late.
    pub(super) starves: bool,
}

/// One end: its queue pair, its memory, and what it still expects of the other.
pub(super) struct End {
    pub(super) qp: TestPair,
    pub(super) number: usize,
    mtu: PathMtu,
    /// Seed of its messages.
    seed: u64,
    /// Messages posted, and those whose completion came.
    pub(super) posted: u64,
    pub(super) completed: u64,
    pub(super) done: u64,
    /// The number of the peer's next message that uses a receive request.
    next_received: u64,
    received: u64,
    receives_posted: u64,
    receives_from: Nanos,
    starves: bool,
    /// Bytes of its messages that are not completed, by number modulo [`DEPTH`].
    outbox: Vec<Vec<u8>>,
    /// What the peer may write to: a slot for each of its messages.
    memory: Vec<u8>,
    /// Memory of the receive requests.
    inbox: Vec<Vec<u8>>,
    model: Model,
    link_free_at: Nanos,
    rng: Rng,
    /// Frames that arrived, and those of them that are no frame.
    arrived: u64,
    invalid: u64,
}

pub(super) struct Pair {
    pub(super) now: Nanos,
    pub(super) ends: [End; 2],
    settings: Settings,
    wire: BinaryHeap<Reverse<(Nanos, u64, usize, usize)>>,
    frames: Vec<Vec<u8>>,
    free_frames: Vec<usize>,
    order: u64,
}

impl Pair {
    pub(super) fn new(settings: Settings) -> Self {
        let ends = [0, 1].map(|number| End::new(&settings, number));
        let mut pair = Self {
            now: Nanos(1_000_000),
            ends,
            settings,
            wire: BinaryHeap::new(),
            frames: vec![],
            free_frames: vec![],
            order: 0,
        };
        pair.connect();
        pair
    }

    /// Connects both ends under numbers that no connection before had.
    pub(super) fn connect(&mut self) {
        let mut rng = self.ends[0].rng.fork();
        let psns = [0, 1].map(|_| {
            // Every fourth connection passes the wrap of the PSN soon.
            let near_wrap = rng.one_in(4);
            let psn = rng.draw() as u32;
            Psn::new(if near_wrap { 0xFF_FFFF - psn % 8 } else { psn })
        });
        let numbers = [0, 1].map(|end: usize| Qpn::new(self.ends[end].qp.number().get() + 2));
        for (end, it) in self.ends.iter_mut().enumerate() {
            it.connect(numbers[end], numbers[1 - end], psns[end], psns[1 - end], &self.settings);
        }
    }

    /// Runs until each end has had so many messages acknowledged since its connection began.
    pub(super) fn run(&mut self, messages: [u64; 2]) {
        while self.ends.iter().zip(messages).any(|(end, messages)| end.done < messages) {
            for end in &mut self.ends {
                assert_eq!(end.qp.state(), State::ReadyToSend, "{:?}", end.qp.stats());
            }
            self.step(messages);
        }
    }

    /// One instant: arrivals, posts, timers, departures, completions. Then to the next instant.
    pub(super) fn step(&mut self, messages: [u64; 2]) {
        self.deliver();
        for (end, messages) in messages.into_iter().enumerate() {
            self.post(end, messages);
            self.ends[end].post_receives(self.now);
            self.ends[end].qp.handle_timeout(self.now);
            self.depart(end);
            self.complete(end);
        }
        let arrival = self.wire.peek().map(|Reverse((at, ..))| *at);
        let timers = self.ends.iter().flat_map(|end| {
            let others = [end.receives_from, end.link_free_at].into_iter();
            end.qp.poll_timeout().into_iter().chain(others.filter(|at| *at > self.now))
        });
        let next = arrival.into_iter().chain(timers).min();
        self.now = next.unwrap_or(self.now + IDLE).max(self.now + Nanos(1));
    }

    /// Posts a WRITE to a key that the peer does not have, as soon as there is room.
    pub(super) fn post_wrong_key(&mut self, end: usize) {
        while self.ends[end].qp.requester().free_slots() == 0 {
            self.step([u64::MAX; 2]);
        }
        let it = &mut self.ends[end];
        it.outbox[it.posted as usize % DEPTH] = vec![0; 9];
        let verb = Verb::Write { address: ADDRESS, key: !KEY };
        let request = WorkRequest { id: it.posted, verb, len_bytes: 9, ..WorkRequest::default() };
        it.qp.post_send(request).expect("there is room");
        it.posted += 1;
    }

    fn deliver(&mut self) {
        while let Some(Reverse((at, _, to, frame))) = self.wire.peek().copied() {
            if at > self.now {
                break;
            }
            self.wire.pop();
            let bytes = std::mem::take(&mut self.frames[frame]);
            self.ends[to].take(self.now, &bytes);
            self.frames[frame] = bytes;
            self.free_frames.push(frame);
        }
    }

    /// Posts messages while there is room; the peer's slot of each is filled with a pattern.
    fn post(&mut self, end: usize, messages: u64) {
        let [mine, other] = self.ends.each_mut();
        let (mine, other) = if end == 0 { (mine, other) } else { (other, mine) };
        while mine.qp.state() == State::ReadyToSend
            && mine.posted < messages
            && mine.posted - mine.completed < DEPTH as u64
        {
            let message = Message::draw(mine.seed, mine.posted, mine.mtu);
            let slot = mine.posted as usize % DEPTH;
            message.fill(&mut mine.outbox[slot]);
            other.slot_mut(mine.posted).fill(UNTOUCHED);
            let verb = match message.kind {
                Kind::Send => Verb::Send,
                Kind::Write { offset } => {
                    Verb::Write { address: ADDRESS + (slot * SLOT_BYTES + offset) as u64, key: KEY }
                }
            };
            let request = WorkRequest {
                id: mine.posted,
                verb,
                len_bytes: message.len_bytes,
                immediate: message.immediate,
                is_solicited: message.immediate.is_some(),
            };
            mine.qp.post_send(request).expect("there is room");
            mine.posted += 1;
        }
    }

    /// Sends the next packet where the link is free: a byte takes a nanosecond.
    fn depart(&mut self, end: usize) {
        while self.ends[end].link_free_at <= self.now
            && let Some(transmit) = self.ends[end].qp.poll_transmit(self.now)
        {
            let mut bytes = [0; FRAME_BYTES_MAX];
            let it = &mut self.ends[end];
            let payload = transmit.payload().map_or(&[][..], |at| {
                let message = &it.outbox[at.id as usize % DEPTH];
                &message[at.offset as usize..][..at.len_bytes as usize]
            });
            let len = transmit.emit(it.qp.route(), payload, &mut bytes);
            let fate = it.model.decide(len);
            it.link_free_at = self.now + Nanos(len as u64);
            let at = it.link_free_at + WAY + Nanos(u64::from(fate.overtaken_by) * REORDER_BY.0);
            self.launch(end, at, &bytes[..len], fate);
        }
    }

    fn launch(&mut self, from: usize, at: Nanos, bytes: &[u8], fate: Fate) {
        if fate.lost {
            return;
        }
        let copies = if fate.duplicate { 2 } else { 1 };
        for copy in 0..copies {
            let slot = self.free_frames.pop().unwrap_or_else(|| {
                self.frames.push(vec![]);
                self.frames.len() - 1
            });
            let frame = &mut self.frames[slot];
            frame.clear();
            frame.extend_from_slice(bytes);
            if let Some(corruption) = fate.corrupt {
                corruption.apply(frame);
            }
            self.order += 1;
            let at = at + Nanos(copy * 700);
            self.wire.push(Reverse((at, self.order, 1 - from, slot)));
        }
    }

    /// Takes what is done, and looks at every byte of it.
    fn complete(&mut self, end: usize) {
        while let Some(event) = self.ends[end].qp.poll_event() {
            match event {
                Event::Sent(done) => {
                    let it = &mut self.ends[end];
                    assert_eq!(done.id, it.completed, "completions come once and in order");
                    it.completed += 1;
                    if done.status == SendStatus::Done {
                        assert_eq!(it.done, done.id, "none is done after one that failed");
                        it.done += 1;
                        let message = Message::draw(it.seed, done.id, it.mtu);
                        self.ends[1 - end].check_write(done.id, &message);
                    }
                }
                Event::Received(done) => {
                    let peer_seed = self.ends[1 - end].seed;
                    self.ends[end].check_received(self.now, peer_seed, done.id, done.status);
                }
            }
        }
    }
}

impl End {
    fn new(settings: &Settings, number: usize) -> Self {
        let region = Region::new(KEY, ADDRESS, (DEPTH * SLOT_BYTES) as u64, Access::Write);
        let (sends, receives) =
            (vec![SendSlot::default(); DEPTH], vec![ReceiveSlot::default(); DEPTH]);
        let regions = vec![region.expect("it fits")];
        let seed = settings.seed.wrapping_mul(2) + number as u64;
        let Settings { loss, others, .. } = *settings;
        let spec = FaultSpec::new()
            .loss(loss[number])
            .duplicate(others)
            .corrupt(others)
            .reorder(others)
            .depth(5)
            .seed(seed);
        Self {
            qp: QueuePair::new(Qpn::new(number as u32 + 0x10), sends, receives, regions),
            number,
            mtu: settings.mtu,
            seed,
            posted: 0,
            completed: 0,
            done: 0,
            next_received: 0,
            received: 0,
            receives_posted: 0,
            receives_from: Nanos(0),
            starves: settings.starves,
            outbox: vec![vec![]; DEPTH],
            memory: vec![UNTOUCHED; DEPTH * SLOT_BYTES],
            inbox: vec![vec![UNTOUCHED; SLOT_BYTES]; DEPTH],
            model: Model::new(&spec),
            link_free_at: Nanos(0),
            rng: Rng::stream(seed, 99),
            arrived: 0,
            invalid: 0,
        }
    }

    fn connect(&mut self, number: Qpn, peer: Qpn, psn: Psn, peer_psn: Psn, settings: &Settings) {
        self.qp.reset(number);
        self.seed = self.rng.draw();
        (self.posted, self.completed, self.done) = (0, 0, 0);
        (self.next_received, self.received, self.receives_posted) = (0, 0, 0);
        (self.arrived, self.invalid) = (0, 0);
        let ips = [[192, 0, 2, 1], [192, 0, 2, 2]];
        let route = Route {
            source_ip: ips[self.number],
            destination_ip: ips[1 - self.number],
            source_port: 0xC000,
            ttl: 64,
            ..Route::default()
        };
        let responder = ResponderConfig {
            psn: peer_psn,
            mtu: settings.mtu,
            rnr_timer: RnrTimer::new(2).expect("it is below 32"),
            ..ResponderConfig::default()
        };
        let requester = RequesterConfig {
            psn,
            mtu: settings.mtu,
            window: settings.window,
            ack_every: settings.window.div_ceil(4),
            timeout: TIMEOUT,
            ..RequesterConfig::default()
        };
        self.qp.init().expect("it is reset");
        self.qp
            .ready_to_receive(Peer { number: peer, route }, responder)
            .expect("it is initialised");
        self.qp.ready_to_send(requester).expect("it is ready to receive");
    }

    /// Takes a frame and copies its payload to where it belongs.
    fn take(&mut self, now: Nanos, bytes: &[u8]) {
        self.arrived += 1;
        let Ok(frame) = Frame::new_checked(bytes) else {
            self.invalid += 1;
            return;
        };
        let placement = self.qp.handle(now, &frame);
        let crate::wire::Body::Request { payload, .. } = frame.packet().body else {
            assert_eq!(placement, Placement::Nothing);
            return;
        };
        match placement {
            Placement::Region { region, offset } => {
                assert_eq!(region, 0);
                self.memory[offset as usize..][..payload.len()].copy_from_slice(payload);
            }
            Placement::Receive { id, offset } => {
                let buffer = &mut self.inbox[id as usize % DEPTH];
                buffer[offset as usize..][..payload.len()].copy_from_slice(payload);
            }
            Placement::Nothing => {}
        }
    }

    /// Keeps receive requests posted; sometimes late, where the settings say so.
    fn post_receives(&mut self, now: Nanos) {
        while self.qp.state() == State::ReadyToSend
            && now >= self.receives_from
            && self.receives_posted - self.received < DEPTH as u64
        {
            let id = self.receives_posted;
            self.inbox[id as usize % DEPTH].fill(UNTOUCHED);
            let request = ReceiveRequest { id, len_bytes: SLOT_BYTES as u32 };
            self.qp.post_receive(request).expect("there is room");
            self.receives_posted += 1;
        }
    }

    /// A message of the peer is acknowledged: its bytes, and no others of its slot, were written.
    fn check_write(&mut self, id: u64, message: &Message) {
        let Kind::Write { offset } = message.kind else { return };
        let slot = self.slot_mut(id);
        let end = offset + message.len_bytes as usize;
        assert!(slot[..offset].iter().all(|byte| *byte == UNTOUCHED), "before message {id}");
        assert!(message.is_in(&slot[offset..end]), "message {id}");
        assert!(slot[end..].iter().all(|byte| *byte == UNTOUCHED), "after message {id}");
    }

    /// A receive request is done: it is the next, and holds the peer's next message of its kind.
    fn check_received(&mut self, now: Nanos, peer_seed: u64, id: u64, status: ReceiveStatus) {
        assert_eq!(id, self.received, "receive requests are done once and in order");
        self.received += 1;
        if matches!(status, ReceiveStatus::Flushed | ReceiveStatus::Failed) {
            return;
        }
        let mut number = self.next_received;
        let message = loop {
            let message = Message::draw(peer_seed, number, self.mtu);
            if message.uses_receive() {
                break message;
            }
            number += 1;
        };
        self.next_received = number + 1;
        let len_bytes = message.len_bytes;
        let expected = match (message.kind, message.immediate) {
            (Kind::Send, immediate) => ReceiveStatus::Send { len_bytes, immediate },
            (Kind::Write { .. }, Some(immediate)) => ReceiveStatus::Write { len_bytes, immediate },
            (Kind::Write { .. }, None) => unreachable!("it uses no receive request"),
        };
        assert_eq!(status, expected, "message {number}");
        if message.kind == Kind::Send {
            let (bytes, rest) = self.inbox[id as usize % DEPTH].split_at(len_bytes as usize);
            assert!(message.is_in(bytes), "message {number}");
            assert!(rest.iter().all(|byte| *byte == UNTOUCHED), "after message {number}");
        } else {
            self.check_write(number, &message);
        }
        if self.starves && self.rng.one_in(200) {
            self.receives_from = now + STARVES_FOR;
        }
    }

    /// Each frame that arrived is invalid, dropped with one cause, or taken by one half; and each that
    /// was taken has one result.
    pub(super) fn check_counters(&self) {
        let (qp, requester, responder) = self.qp.stats();
        let dropped = qp.wrong_state + qp.other_number + qp.other_address + qp.other_partition;
        assert_eq!(self.arrived, self.invalid + dropped + qp.taken, "{qp:?}");
        let requests = responder.packets
            + responder.duplicates
            + responder.out_of_order
            + responder.not_ready
            + responder.after_fault
            + responder.faults.iter().sum::<u64>();
        let answers = requester.acks
            + requester.sequence_naks
            + requester.rnr_naks
            + requester.fatal_naks
            + requester.naks_repeated
            + requester.stale
            + requester.beyond
            + requester.after_failure;
        assert_eq!(qp.taken, requests + answers, "{responder:?} {requester:?}");
        assert_eq!((requester.beyond, requester.reserved), (0, 0));
    }

    fn slot_mut(&mut self, number: u64) -> &mut [u8] {
        &mut self.memory[number as usize % DEPTH * SLOT_BYTES..][..SLOT_BYTES]
    }
}

/// Messages that an end has posted and not polled, and receive requests likewise.
pub(super) const DEPTH: usize = 64;
/// Room for a message and for bytes around it that stay untouched.
pub(super) const SLOT_BYTES: usize = 2_048;
const UNTOUCHED: u8 = 0xEE;
const KEY: u32 = 0x1234_5678;
const ADDRESS: u64 = 0x7F00_0000_1000;
/// One way without queues.
pub(super) const WAY: Nanos = Nanos(5_000);
pub(super) const TIMEOUT: AckTimeout = AckTimeout::new(5).expect("it is below 32");
/// How much later a frame comes for each that overtakes it.
const REORDER_BY: Nanos = Nanos(400);
/// How long receive requests are missing, where they are.
const STARVES_FOR: Nanos = Nanos(60_000);
const IDLE: Nanos = Nanos(1_000);
