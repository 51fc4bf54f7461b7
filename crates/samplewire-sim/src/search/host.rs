//! A host: a program that opens one stream and takes it to its end.

use samplewire_proto::fingerprint::Fingerprint;
use samplewire_proto::receiver::{
    Delivered, Placement, REPORT_BYTES, Receiver, ReceiverConfig, RecvSlot,
};
use samplewire_proto::session::{AcceptInfo, EndView, OpenConfig, OpenEvent, Opener};
use samplewire_proto::wire::{
    self, CloseAck, CloseAckReason, Flags, Header, Packet, PacketType, Role,
};
use samplewire_proto::{Departure, Nanos, Tag};

use super::canon::Canon;
use super::ledger::PAYLOAD_BYTES;
use super::mutant::Mutant;
use super::packet::{Flying, Process, SESSION_NAME, retag, retag_echo};
use super::world::{PACKET_BYTES_MAX, Turn, WINDOW_MAX};

/// A host and what its program is at.
#[derive(Clone, Debug)]
pub(super) struct Host {
    number: usize,
    owner: u64,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Waiting,
    Opening(Box<Opener>),
    Streaming(Box<Streaming>),
    Done,
}

/// What a host is at, for the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostStanding {
    Waiting,
    Opening,
    Streaming,
    Done,
}

#[derive(Clone, Debug)]
struct Streaming {
    session: u32,
    tag: Tag,
    peer_tag: Tag,
    receiver: Receiver<[RecvSlot; WINDOW_MAX]>,
    payloads: [[u8; PAYLOAD_BYTES]; WINDOW_MAX],
}

impl Host {
    pub(super) const fn new(number: usize, owner: u64) -> Self {
        Self { number, owner, state: State::Waiting }
    }

    pub(super) const fn standing(&self) -> HostStanding {
        match self.state {
            State::Waiting => HostStanding::Waiting,
            State::Opening(_) => HostStanding::Opening,
            State::Streaming(_) => HostStanding::Streaming,
            State::Done => HostStanding::Done,
        }
    }

    /// Begins to open; what it was at before is forgotten.
    pub(super) fn open(&mut self, turn: &mut Turn<'_>) {
        let config = OpenConfig::new(Role::Receive, 0, self.owner)
            .with_window(turn.scenario.window)
            .and_then(|config| config.with_packet_bytes_max(PACKET_BYTES_MAX as u16))
            .and_then(|config| config.with_timeout(OPEN_TIMEOUT))
            .expect("the choices are in range");
        let seed = turn.seed().to_be_bytes();
        self.state = State::Opening(Box::new(Opener::new(config, seed, turn.now)));
        self.run(turn);
    }

    /// Ends its stream before its time.
    pub(super) fn cancel(&mut self, turn: &mut Turn<'_>) {
        if let State::Streaming(streaming) = &mut self.state {
            streaming.receiver.cancel(turn.now);
        }
        self.run(turn);
    }

    /// Takes a packet, and does what is due.
    pub(super) fn take(&mut self, turn: &mut Turn<'_>, packet: &Flying) {
        match &mut self.state {
            State::Opening(opener) => {
                let (header, parsed) = wire::parse(&packet.bytes).expect("it parsed when it left");
                opener.handle(turn.now, &header, &parsed, packet.bytes.len());
            }
            State::Streaming(streaming) => streaming.take(turn, packet),
            State::Waiting | State::Done => return,
        }
        self.run(turn);
    }

    /// Does what is due.
    pub(super) fn run(&mut self, turn: &mut Turn<'_>) {
        if let State::Opening(opener) = &mut self.state {
            let mut out = [0; PACKET_BYTES_MAX];
            while let Some(len) = opener.poll_transmit(turn.now, &mut out) {
                turn.send(Process::Device, &out[..len], 0);
            }
            let Some(event) = opener.poll_event() else { return };
            self.state = match event {
                OpenEvent::Accepted(info) => State::Streaming(Streaming::new(turn, &info)),
                OpenEvent::Refused { .. }
                | OpenEvent::Contradicted(_)
                | OpenEvent::TimedOut { .. } => {
                    turn.say(|| format!("host {}: {event:?}", self.number));
                    State::Done
                }
            };
        }
        if let State::Streaming(streaming) = &mut self.state
            && streaming.run(turn)
        {
            self.state = State::Done;
        }
    }

    /// When something is due.
    pub(super) fn wakes_at(&self, now: Nanos) -> Option<Nanos> {
        match &self.state {
            State::Waiting | State::Done => None,
            State::Opening(opener) => opener.poll_timeout(),
            State::Streaming(streaming) => streaming.receiver.poll_timeout(now),
        }
    }

    pub(super) fn fingerprint(&self, now: Nanos, canon: &mut Canon) {
        canon.word(self.standing() as u64);
        match &self.state {
            State::Waiting | State::Done => {}
            State::Opening(opener) => opener.fingerprint(now, canon),
            State::Streaming(streaming) => {
                canon.name(u128::from(streaming.session) | SESSION_NAME);
                canon.begin_machine(streaming.session, false);
                streaming.receiver.fingerprint(now, canon);
            }
        }
    }
}

impl Streaming {
    fn new(turn: &mut Turn<'_>, info: &AcceptInfo) -> Box<Self> {
        let terms = info.params.at(EndView {
            local_tag: info.tag,
            peer_tag: info.peer_tag,
            is_opener: true,
            window: info.params.window,
            ranges_max: info.params.ranges_max,
            rtt: info.rtt,
        });
        let slots = [RecvSlot::default(); WINDOW_MAX];
        let receiver = Receiver::new(terms, ReceiverConfig::new(), slots, turn.now)
            .expect("the terms are in range");
        let session = info.params.time_ns as u32;
        turn.say(|| format!("session {session} is accepted"));
        let payloads = [[0; PAYLOAD_BYTES]; WINDOW_MAX];
        let AcceptInfo { tag, peer_tag, .. } = *info;
        Box::new(Self { session, tag, peer_tag, receiver, payloads })
    }

    fn take(&mut self, turn: &mut Turn<'_>, packet: &Flying) {
        let bytes = self.as_mutant_sees(turn, packet);
        let (header, parsed) = wire::parse(&bytes).expect("it parsed when it left");
        let refused = self.refused();
        if let Packet::Data(body) = parsed {
            let received = self.receiver.stats().received;
            let placement = self.receiver.handle_data(turn.now, &header, body, false);
            if let Placement::Store { seq, payload_at } = placement {
                let payload = body[payload_at..].try_into().expect("the receiver checks its form");
                self.payloads[seq.0 as usize % WINDOW_MAX] = payload;
            }
            if self.receiver.stats().received > received {
                turn.ledger.took(self.session, packet);
            }
        } else if self.receiver.handle(turn.now, &header, &parsed) && self.refused() == refused {
            turn.ledger.took(self.session, packet);
        }
    }

    fn refused(&self) -> u64 {
        self.receiver.stats().refused + self.receiver.stats().unexpected
    }

    /// Does what is due; whether the stream has ended.
    fn run(&mut self, turn: &mut Turn<'_>) -> bool {
        let now = turn.now;
        self.receiver.handle_timeout(now);
        while let Some(delivered) = self.receiver.poll_delivery(now) {
            match delivered {
                Delivered::Packet { seq, index, .. } => {
                    let payload = self.payloads[seq.0 as usize % WINDOW_MAX];
                    turn.ledger.deliver(self.session, &payload, index);
                    turn.say(|| format!("session {} delivers index {index}", self.session));
                }
                Delivered::Gap(gap) => {
                    turn.ledger.skip(self.session, &gap);
                    turn.say(|| format!("session {} misses {gap:?}", self.session));
                }
                Delivered::Skipped { .. } => {}
            }
        }
        self.receiver.grant(self.receiver.promise_end());
        let mut out = [0; REPORT_BYTES];
        while let Some(len) = self.receiver.poll_transmit(now, &mut out) {
            turn.send(Process::Device, &out[..len], self.session);
        }
        if let Some(end) = self.receiver.poll_event() {
            turn.say(|| format!("session {} ends at the host: {end:?}", self.session));
            turn.ledger.ended(self.session, end, turn.scenario.packets);
        }
        self.receiver.is_ended()
    }

    /// What a broken rule makes of a packet.
    fn as_mutant_sees(&self, turn: &mut Turn<'_>, packet: &Flying) -> Vec<u8> {
        let mut bytes = packet.bytes.to_vec();
        let (header, parsed) = wire::parse(&packet.bytes).expect("it parsed when it left");
        let (own, other) = (self.tag, self.peer_tag);
        match (turn.mutant, parsed) {
            (Some(Mutant::ForeignData), Packet::Data(_)) => retag(&mut bytes, own),
            (Some(Mutant::ForeignCloseAck), Packet::CloseAck(ack)) => {
                if ack.reason == CloseAckReason::UnknownTag {
                    retag_echo(&mut bytes, other);
                } else {
                    retag(&mut bytes, own);
                }
            }
            (Some(Mutant::EarlyCloseAck), Packet::Close(_)) if header.tag == own => {
                let header = Header {
                    kind: PacketType::CloseAck,
                    flags: Flags::FROM_OPENER,
                    tag: other,
                    departure: Departure(0),
                    ..header
                };
                let ack =
                    CloseAck { reason: CloseAckReason::Done, echoed_tag: own, source_lost: 0 };
                let mut out = [0; CloseAck::PACKET_LEN];
                let len = ack.emit(&header, &mut out);
                turn.send(Process::Device, &out[..len], self.session);
            }
            _ => {}
        }
        bytes
    }
}

/// Long enough for each pause of an opening to be met.
const OPEN_TIMEOUT: Nanos = Nanos::from_millis(1_000);
