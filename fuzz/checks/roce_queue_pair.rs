//! A queue pair moves by its table of states alone, counts each frame once, and completes what was
//! posted once and in order; its congestion notifications answer marks, and those that come limit its
//! requests, whatever comes and whenever.

use samplewire_proto::Nanos;
use samplewire_proto::rate::{DcqcnParams, WireRate};
use samplewire_roce::qp::{
    Event, Peer, PostReceiveError, PostSendError, QueuePair, ReactError, ReactionConfig,
    ReadyToSendError, State, Transition, Transmit,
};
use samplewire_roce::requester::{
    AckTimeout, PostError, RequesterConfig, SendSlot, Verb, WorkRequest,
};
use samplewire_roce::responder::{Placement, ReceiveRequest, ReceiveSlot, ResponderConfig};
use samplewire_roce::wire::{
    Aeth, Body, Bth, FRAME_BYTES_MAX, Frame, Opcode, Operation, P_KEY_DEFAULT, Packet, Reth, Route,
    Syndrome,
};
use samplewire_roce::{Access, PathMtu, Psn, QpStats, Qpn, Region};

use crate::input::Input;

/// Runs the operations that `bytes` spell.
///
/// # Panics
/// When the queue pair breaks a promise.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut world = World::new(&mut input);
    if input.byte() & 3 != 0 {
        (0..3).for_each(|_| world.advance());
    }
    while !input.is_empty() {
        world.step(&mut input);
        world.drain();
    }
}

struct World {
    qp: QueuePair<[SendSlot; SENDS], [ReceiveSlot; RECEIVES], [Region; 1]>,
    state: State,
    now: Nanos,
    requester: RequesterConfig,
    responder: ResponderConfig,
    sends: Completions,
    receives: Completions,
    /// Whether a marked request was taken for which no notification has left.
    is_marked: bool,
    notifies_from: Nanos,
    /// The control of its rate, and the earliest instant of the next cut.
    reaction: Option<(DcqcnParams, Nanos)>,
}

#[derive(Default)]
struct Completions {
    posted: u64,
    done: u64,
}

impl Completions {
    /// The number of the next request.
    const fn next(&self) -> u64 {
        self.posted
    }

    fn complete(&mut self, id: u64) {
        assert_eq!(id, self.done, "completions come once and in order");
        self.done += 1;
        assert!(self.done <= self.posted);
    }

    /// A reset forgets what is posted.
    fn forget(&mut self) {
        self.done = self.posted;
    }
}

impl World {
    fn new(input: &mut Input<'_>) -> Self {
        let mtu = input.choose(&PathMtu::ALL);
        let window = 1 + u32::from(input.byte() % 32);
        let psn = Psn::new(0u32.wrapping_sub(u32::from(input.byte())));
        let cnp_interval = input.choose(&[None, Some(Nanos(0)), Some(Nanos::from_micros(50))]);
        let timeout = AckTimeout::new(input.byte() % 8).expect("it is below 32");
        let ack_every = 1 + u32::from(input.byte()) % window;
        let requester = RequesterConfig { psn, mtu, window, ack_every, timeout, ..<_>::default() };
        let responder = ResponderConfig { psn, mtu, cnp_interval, ..<_>::default() };
        let region = Region::new(KEY, ADDRESS, 4_000, Access::Write).expect("it fits");
        let slots = Default::default();
        Self {
            qp: QueuePair::new(OURS, [SendSlot::default(); SENDS], slots, [region]),
            state: State::Reset,
            now: Nanos::from_millis(1_000),
            requester,
            responder,
            sends: Completions::default(),
            receives: Completions::default(),
            is_marked: false,
            notifies_from: Nanos(0),
            reaction: None,
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.byte() % 32 {
            0 => match input.byte() % 8 {
                0 => self.go(Transition::Fail),
                1 | 2 => self.go(Transition::Reset),
                3 => self.go(Transition::Init),
                4 => self.go(Transition::ReadyToReceive),
                5 => self.go(Transition::ReadyToSend),
                _ => self.advance(),
            },
            1 => self.react(input),
            2..=6 => self.post_send(input),
            7 | 8 => self.post_receive(input),
            9..=14 => self.acknowledge(input),
            15..=20 => self.request(input),
            21..=23 => self.hand(&Packet::cnp(OURS), input),
            24..=27 => self.now = self.now + Nanos(input.half().into()),
            28 => self.now = self.now + Nanos(input.word().into()),
            _ => {
                let due = self.qp.poll_timeout().unwrap_or(self.now).max(self.now);
                self.now = due.min(self.now + Nanos::from_millis(4));
            }
        }
    }

    /// On towards RTS.
    fn advance(&mut self) {
        match self.state {
            State::Reset => self.go(Transition::Init),
            State::Init => self.go(Transition::ReadyToReceive),
            State::ReadyToReceive => self.go(Transition::ReadyToSend),
            State::ReadyToSend | State::Error => {}
        }
    }

    fn go(&mut self, transition: Transition) {
        let after = self.state.after(transition);
        let qp = &mut self.qp;
        match transition {
            Transition::Init => assert_eq!(qp.init().err(), after.err()),
            Transition::ReadyToReceive => {
                let way = Route { source_ip: IP, destination_ip: PEER_IP, ..ROUTE };
                let peer = Peer { number: THEIRS, route: way };
                assert_eq!(qp.ready_to_receive(peer, self.responder).err(), after.err());
            }
            Transition::ReadyToSend => {
                let done = qp.ready_to_send(self.requester);
                assert_eq!(done.err(), after.err().map(ReadyToSendError::State));
            }
            Transition::Fail => assert_eq!(qp.fail().err(), after.err()),
            Transition::Reset => {
                qp.reset(OURS);
                self.sends.forget();
                self.receives.forget();
                self.reaction = None;
                (self.is_marked, self.notifies_from) = (false, Nanos(0));
                assert_eq!(*qp.stats().0, QpStats::default());
            }
        }
        self.state = after.unwrap_or(self.state);
        assert_eq!(self.qp.state(), self.state);
    }

    fn react(&mut self, input: &mut Input<'_>) {
        let preset = [DcqcnParams::samplewire, DcqcnParams::paper];
        let dcqcn = input.choose(&preset)(input.choose(&[100_000_000, 10_000_000_000]));
        let config = ReactionConfig { dcqcn, congested_acks_cut: input.byte() & 1 == 1 };
        match self.qp.react(self.now, config) {
            Ok(()) => {
                assert_eq!(self.state, State::ReadyToSend);
                self.reaction = Some((dcqcn, self.now));
            }
            Err(error) => {
                assert_ne!(self.state, State::ReadyToSend);
                assert_eq!(error, ReactError::State(self.state));
            }
        }
    }

    fn post_send(&mut self, input: &mut Input<'_>) {
        let verb =
            if input.byte() & 1 == 1 { Verb::Write { address: 1, key: 2 } } else { Verb::Send };
        let len_bytes = self.requester.mtu.bytes() * u32::from(input.byte() % 16) + 1;
        let id = self.sends.next();
        let request = WorkRequest { id, verb, len_bytes, immediate: None, is_solicited: false };
        let has_room = self.qp.requester().free_slots() > 0;
        match self.qp.post_send(request) {
            Ok(()) => {
                assert!(has_room && self.state.takes_sends());
                self.sends.posted += 1;
            }
            Err(PostSendError::State(state)) => {
                assert!(state == self.state && !state.takes_sends());
            }
            Err(error) => assert!(!has_room && error == PostError::Full(SENDS).into()),
        }
    }

    fn post_receive(&mut self, input: &mut Input<'_>) {
        let request = ReceiveRequest { id: self.receives.next(), len_bytes: input.half().into() };
        let waiting = self.receives.posted - self.receives.done;
        match self.qp.post_receive(request) {
            Ok(()) => {
                assert!(self.state.takes_receives() && waiting < RECEIVES as u64);
                self.receives.posted += 1;
            }
            Err(PostReceiveError::State(state)) => {
                assert!(state == self.state && !state.takes_receives());
            }
            Err(PostReceiveError::Full(_)) => assert_eq!(waiting, RECEIVES as u64),
        }
    }

    /// Most often what a right peer acknowledges.
    fn acknowledge(&mut self, input: &mut Input<'_>) {
        let requester = self.qp.requester();
        let choice = input.byte();
        let psn = match choice {
            0..0x40 => Psn::new(input.near(requester.oldest().get())),
            _ => requester.oldest() + u32::from(choice) % requester.in_flight().max(1),
        };
        let syndrome = match input.byte() {
            0..0x10 => Syndrome::from_number(input.byte()),
            _ => Syndrome::Ack(Syndrome::CREDIT_INVALID),
        };
        let body = Body::Acknowledge(Aeth { syndrome, msn: input.word() & 0xFF });
        self.hand(&Packet { bth: Bth::new(Opcode::Acknowledge, OURS, psn), body }, input);
    }

    /// Most often the next message, in one packet.
    fn request(&mut self, input: &mut Input<'_>) {
        let is_wild = input.byte() < 0x08;
        let expected = self.qp.responder().expected();
        let psn = if is_wild { Psn::new(input.near(expected.get())) } else { expected };
        let right = [Opcode::SendOnly, Opcode::WriteOnly];
        let opcode = if is_wild { input.choose(&Opcode::ALL) } else { input.choose(&right) };
        let len = input.choose(&[0, 1, 64, self.responder.mtu.bytes()]);
        let reth = Reth { address: ADDRESS, key: KEY, len_bytes: len };
        let body = match opcode.operation() {
            Operation::Send | Operation::Write => Body::Request {
                reth: opcode.has_reth().then_some(reth),
                immediate: opcode.has_immediate().then_some(7),
                payload: &PAYLOAD[..len as usize],
            },
            Operation::Acknowledge | Operation::Cnp | Operation::Unsupported => return,
        };
        self.hand(&Packet { bth: Bth::new(opcode, OURS, psn), body }, input);
    }

    /// A frame comes, now and then for another queue pair, from another address, or of another
    /// partition: it is counted in one way, and changes nothing else unless it is taken.
    fn hand(&mut self, packet: &Packet<'_>, input: &mut Input<'_>) {
        let flaw = input.byte();
        let mut packet = *packet;
        let tos = if input.byte() & 1 == 1 { CE } else { ROUTE.tos };
        let mut route = Route { source_ip: PEER_IP, destination_ip: IP, tos, ..ROUTE };
        match flaw {
            0 => packet.bth.destination = THEIRS,
            1 => packet.bth.p_key = 1,
            2 => route.source_ip = IP,
            3 => route.destination_ip = PEER_IP,
            _ => {}
        }
        let mut out = [0; FRAME_BYTES_MAX];
        let len = packet.emit(&route, &mut out);
        let frame = Frame::new_checked(&out[..len]).expect("it is whole");
        let (before, limit) = (*self.qp.stats().0, self.qp.limit());
        let placement = self.qp.handle(self.now, &frame);
        let after = *self.qp.stats().0;
        let is_request = matches!(packet.body, Body::Request { .. });
        let takes_it =
            if is_request { self.state.takes_requests() } else { self.state.takes_responses() };
        let mut expected = before;
        match flaw {
            0 => expected.other_number += 1,
            _ if !takes_it => expected.wrong_state += 1,
            2 | 3 => expected.other_address += 1,
            1 => expected.other_partition += 1,
            _ => {
                expected.taken += 1;
                match packet.body {
                    Body::Request { .. } if route.is_marked() => {
                        expected.requests_marked += 1;
                        self.is_marked = self.responder.cnp_interval.is_some();
                    }
                    Body::Cnp => expected.cnp_received += 1,
                    _ => {}
                }
                if !is_request && route.is_marked() && packet.body != Body::Cnp {
                    assert!(after.acks_marked - before.acks_marked <= 1);
                    expected.acks_marked = after.acks_marked;
                }
                self.check_cut(after.cuts - before.cuts, is_request);
                (expected.cuts, self.state) = (after.cuts, self.followed());
            }
        }
        assert_eq!(after, expected, "it is counted once");
        if after.taken == before.taken {
            assert_eq!((placement, self.qp.limit()), (Placement::Nothing, limit));
        }
        assert_eq!(self.qp.state(), self.state);
    }

    fn check_cut(&mut self, cuts: u64, is_request: bool) {
        if cuts == 0 {
            return;
        }
        let (params, cuts_from) = self.reaction.as_mut().expect("its rate is controlled");
        assert!(cuts == 1 && !is_request && self.now >= *cuts_from, "one cut an interval");
        *cuts_from = self.now + params.cut_interval;
    }

    /// The state after a call in which a half may have failed.
    fn followed(&self) -> State {
        match self.qp.state() {
            State::Error if self.state.takes_requests() => State::Error,
            _ => self.state,
        }
    }

    fn drain(&mut self) {
        for round in 0.. {
            self.qp.handle_timeout(self.now);
            self.state = self.followed();
            assert_eq!(self.qp.state(), self.state);
            self.send();
            while let Some(event) = self.qp.poll_event() {
                match event {
                    Event::Sent(done) => self.sends.complete(done.id),
                    Event::Received(done) => self.receives.complete(done.id),
                }
            }
            if self.qp.poll_timeout().is_none_or(|at| at > self.now) {
                break;
            }
            assert!(round < ROUNDS_MAX, "it does not rest");
        }
        if self.state == State::Error {
            assert_eq!(self.sends.done, self.sends.posted, "what is posted is flushed");
            assert_eq!(self.receives.done, self.receives.posted, "what is posted is flushed");
        }
        match (self.qp.limit(), &self.reaction) {
            (Some(limit), Some((params, _))) => {
                assert!((params.minimum..=params.line).contains(&limit));
            }
            (limit, reaction) => assert!(limit.is_none() && reaction.is_none()),
        }
    }

    /// What leaves at one moment is no more than the window, and no faster than the limit.
    fn send(&mut self) {
        let (mut packets, mut bytes, mut longest) = (0, 0, 0);
        let mut limit = self.qp.limit();
        while let Some(transmit) = self.qp.poll_transmit(self.now) {
            let wire_bytes = self.check_transmit(&transmit);
            if transmit.payload().is_some() {
                packets += 1;
                assert!(packets <= self.requester.window, "one moment has few packets to send");
                bytes += wire_bytes;
                longest = longest.max(wire_bytes);
                limit = limit.max(self.qp.limit());
            }
        }
        if let Some(limit) = limit.filter(|_| packets > 1) {
            let full = FRAME_BYTES_MAX as u64 + WIRE_OVERHEAD_BYTES;
            assert!(bytes <= burst_bytes(limit).max(full) + full, "{bytes} bytes at {limit:?}");
        }
    }

    /// Checks a packet that leaves, and returns its bytes on the wire.
    fn check_transmit(&mut self, transmit: &Transmit) -> u64 {
        let payload = &PAYLOAD[..transmit.payload().map_or(0, |at| at.len_bytes as usize)];
        let mut out = [0; FRAME_BYTES_MAX];
        let len = transmit.emit(self.qp.route(), payload, &mut out);
        let frame = Frame::new_checked(&out[..len]).expect("what leaves is whole");
        let packet = frame.packet();
        assert_eq!(packet, transmit.packet(payload));
        assert_eq!((packet.bth.destination, packet.bth.p_key), (THEIRS, P_KEY_DEFAULT));
        match packet.body {
            Body::Request { .. } => assert_eq!(self.state, State::ReadyToSend),
            Body::Acknowledge(_) => {
                assert!(self.state.takes_requests() || self.state == State::Error)
            }
            Body::Cnp => {
                assert!(self.state.takes_requests() && self.is_marked, "it answers a mark");
                assert!(self.now >= self.notifies_from, "one notification an interval");
                let interval = self.responder.cnp_interval.expect("it sends notifications");
                (self.is_marked, self.notifies_from) = (false, self.now + interval);
            }
            Body::Unsupported => unreachable!("it sends none"),
        }
        len as u64 + WIRE_OVERHEAD_BYTES
    }
}

/// What 50 us of a rate carry.
fn burst_bytes(rate: WireRate) -> u64 {
    (u64::from(rate.raw()) * 50_000) >> 16
}

const OURS: Qpn = Qpn::new(17);
const THEIRS: Qpn = Qpn::new(18);
const IP: [u8; 4] = [10, 0, 0, 1];
const PEER_IP: [u8; 4] = [10, 0, 0, 2];
const ADDRESS: u64 = 0x1000;
const KEY: u32 = 1;
const SENDS: usize = 5;
const RECEIVES: usize = 3;
/// Congestion experienced.
const CE: u8 = 0b11;
const ROUTE: Route = Route {
    source_mac: [0; 6],
    destination_mac: [0; 6],
    source_ip: IP,
    destination_ip: PEER_IP,
    source_port: 0xC000,
    identification: 0,
    tos: 0b10,
    ttl: 64,
};
/// Preamble, gap and Ethernet's checksum.
const WIRE_OVERHEAD_BYTES: u64 = 24;
/// Each handles 256 expiries, of which a rate has some thousands on its way to the line's.
const ROUNDS_MAX: u32 = 64;
static PAYLOAD: [u8; 4_096] = [0x5A; 4_096];
