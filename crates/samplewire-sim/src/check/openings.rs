//! What a listener must do with each packet, by books of its own: the table of `docs/protocol.md#3.16`
//! with the rules that it refers to.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use samplewire_proto::session::Peer;
use samplewire_proto::wire::{
    self, CloseAckReason, Header, Open, Packet, RdmaOffer, RefuseReason, Role, TRAILER_CRC32C,
};
use samplewire_proto::{Departure, Nanos, Tag};

use crate::packets::ProcessId;

/// The listener of a device at an instant of its clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) listener: ProcessId,
    pub(crate) now: Nanos,
    /// How many streams the device has.
    pub(crate) streams: u16,
}

/// What a listener must do with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    /// No packet of this version: nothing, or REFUSE(version).
    Unreadable,
    Nothing,
    Challenge {
        nonce: u64,
    },
    Refuse {
        nonce: u64,
        reason: RefuseReason,
    },
    AcceptAgain {
        nonce: u64,
        tag: Tag,
    },
    /// The application decides; a stream of the same owner ends if it accepts.
    Ask {
        takes_over: bool,
    },
    /// CLOSE_ACK(unknown tag).
    Deny(Tag),
}

/// What a listener did with a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done<'a> {
    /// It asked its application; whether a stream would be taken over.
    pub(crate) asked: Option<bool>,
    /// What it sent, and where to.
    pub(crate) answer: Option<(Peer, &'a [u8])>,
}

/// The books of all listeners.
#[derive(Debug, Default)]
pub(crate) struct Openings {
    listeners: Vec<Listener>,
}

/// What one listener has said and accepted since it started.
#[derive(Debug, Default)]
struct Listener {
    /// Each cookie with its peer, its attempt and its epoch.
    cookies: HashMap<[u8; 16], (Peer, u64, u64)>,
    streams: Vec<Stream>,
    refusals: Allowance,
    strangers: Allowance,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    open: Option<Accepted>,
    /// The last openings that have ended, the newest first.
    ended: VecDeque<Accepted>,
}

#[derive(Clone, Copy, Debug)]
struct Accepted {
    tag: Tag,
    peer: Peer,
    nonce: u64,
    owner: u64,
    departure: Departure,
    at: Nanos,
}

impl Openings {
    /// What a listener must do with a packet from `peer` of `len_bytes`.
    pub(crate) fn duty(
        &mut self,
        at: At,
        peer: &Peer,
        parsed: Option<&(Header, Packet<'_>)>,
        len_bytes: usize,
    ) -> Duty {
        let Some((header, packet)) = parsed else { return Duty::Unreadable };
        let books = self.of(at.listener);
        match packet {
            Packet::Open(open) => books.duty_of_open(at, peer, header, open),
            Packet::Challenge(_) | Packet::Refuse(_) | Packet::CloseAck(_) => Duty::Nothing,
            Packet::Data(_)
            | Packet::Mark(_)
            | Packet::Report(_)
            | Packet::Accept(_)
            | Packet::Close(_) => {
                let is_short = len_bytes < CLOSE_ACK_BYTES;
                if header.tag == Tag::NONE || is_short || books.has(header.tag) {
                    Duty::Nothing
                } else {
                    Duty::Deny(header.tag)
                }
            }
        }
    }

    /// Holds what a listener did with a packet from `peer` against what it had to do.
    pub(crate) fn hold(
        &mut self,
        at: At,
        peer: &Peer,
        duty: Duty,
        done: Done<'_>,
    ) -> Result<(), String> {
        let books = self.of(at.listener);
        let said = done.answer.map(|(to, bytes)| (to, wire::parse(bytes)));
        if let Some((to, _)) = &said
            && to != peer
        {
            return Err(format!("a packet of {peer:?} was answered to {to:?}"));
        }
        let said = said.map(|(_, parsed)| parsed.map(|(_, packet)| packet));
        let allowance = match (duty, &said) {
            (Duty::Unreadable | Duty::Deny(_), _) => Some(&mut books.strangers),
            (Duty::Refuse { .. }, _) | (_, Some(Ok(Packet::Refuse(_)))) => {
                Some(&mut books.refusals)
            }
            _ => None,
        };
        let (may_answer, must_answer) = allowance.map_or((true, true), |allowance| {
            let may_and_must = allowance.at(at.now);
            if said.is_some() {
                allowance.spend();
            }
            may_and_must
        });
        if said.is_some() && !may_answer {
            return Err(format!(
                "{duty:?} answered beyond the rate of docs/protocol.md#3.17, #7.6"
            ));
        }
        let request = done.asked;
        let is_right = match (duty, &said) {
            (Duty::Ask { takes_over }, _) => request == Some(takes_over),
            _ if request.is_some() => false,
            (Duty::Unreadable, None | Some(Err(_))) => true,
            (Duty::Nothing, None) => true,
            (Duty::Challenge { nonce }, Some(Ok(Packet::Challenge(it)))) => it.nonce == nonce,
            (Duty::Refuse { nonce, reason }, Some(Ok(Packet::Refuse(it)))) => {
                (it.nonce, it.reason) == (nonce, reason)
            }
            (Duty::AcceptAgain { nonce, tag }, Some(Ok(Packet::Accept(it)))) => {
                (it.nonce, it.tag) == (nonce, tag)
            }
            (Duty::Deny(tag), Some(Ok(Packet::CloseAck(it)))) => {
                (it.reason, it.echoed_tag) == (CloseAckReason::UnknownTag, tag)
            }
            (Duty::Refuse { .. } | Duty::Deny(_), None) => !must_answer,
            _ => false,
        };
        if let Some(Ok(Packet::Challenge(challenge))) = &said {
            let made = (*peer, challenge.nonce | NONCE_STEPS, epoch(at.now));
            books.cookies.entry(challenge.cookie).or_insert(made);
        }
        if is_right {
            return Ok(());
        }
        Err(format!("the listener must do {duty}; it requested {request:?} and answered {said:?}"))
    }

    /// A listener has accepted an OPEN that came under `header`.
    pub(crate) fn accepted(
        &mut self,
        at: At,
        peer: Peer,
        open: &Open<'_>,
        header: &Header,
        tag: Tag,
    ) {
        let Open { nonce, owner, .. } = *open;
        let stream = self.of(at.listener).stream(open.stream);
        stream.end();
        let departure = header.departure;
        stream.open = Some(Accepted { tag, peer, nonce, owner, departure, at: at.now });
    }

    /// A stream of a listener has ended.
    pub(crate) fn ended(&mut self, listener: ProcessId, stream: u16) {
        self.of(listener).stream(stream).end();
    }

    /// A listener has restarted: it has another key, and remembers nothing.
    pub(crate) fn restarted(&mut self, listener: ProcessId) {
        *self.of(listener) = Listener::default();
    }

    fn of(&mut self, listener: ProcessId) -> &mut Listener {
        let number = usize::from(listener);
        if self.listeners.len() <= number {
            self.listeners.resize_with(number + 1, Listener::default);
        }
        &mut self.listeners[number]
    }
}

impl Listener {
    fn duty_of_open(&mut self, at: At, peer: &Peer, header: &Header, open: &Open<'_>) -> Duty {
        if header.tag != Tag::NONE || open.tag == Tag::NONE {
            return Duty::Nothing;
        }
        let nonce = open.nonce;
        let attempt = (*peer, nonce | NONCE_STEPS);
        let is_proven = self.cookies.get(&open.cookie).is_some_and(|&(to, of, made)| {
            (to, of) == attempt && epoch(at.now).wrapping_sub(made) <= 1
        });
        if !is_proven {
            return Duty::Challenge { nonce };
        }
        if open.stream >= at.streams {
            return Duty::Refuse { nonce, reason: RefuseReason::NoSuchStream };
        }
        if open.trailer_kind != TRAILER_CRC32C {
            return Duty::Refuse { nonce, reason: RefuseReason::Trailer };
        }
        if !is_rdma_sound(open) {
            return Duty::Refuse { nonce, reason: RefuseReason::Format };
        }
        if open.role == Role::Describe {
            return Duty::Ask { takes_over: false };
        }
        let stream = self.stream(open.stream);
        let is_recent = |it: &Accepted| it.peer == *peer && at.now.since(it.at) < MEMORY;
        if let Some(present) = stream.open {
            if (present.peer, present.nonce) == (*peer, nonce) {
                return Duty::AcceptAgain { nonce, tag: present.tag };
            }
            if present.owner != open.owner {
                return Duty::Refuse { nonce, reason: RefuseReason::Busy };
            }
            if is_recent(&present) && header.departure.before(present.departure) {
                return Duty::Nothing;
            }
        }
        if stream.ended.iter().any(|it| is_recent(it) && it.nonce == nonce) {
            return Duty::Nothing;
        }
        Duty::Ask { takes_over: stream.open.is_some() }
    }

    fn has(&self, tag: Tag) -> bool {
        self.streams.iter().any(|stream| stream.open.is_some_and(|it| it.tag == tag))
    }

    fn stream(&mut self, number: u16) -> &mut Stream {
        let number = usize::from(number);
        if self.streams.len() <= number {
            self.streams.resize_with(number + 1, Stream::default);
        }
        &mut self.streams[number]
    }
}

impl Stream {
    fn end(&mut self) {
        if let Some(it) = self.open.take() {
            self.ended.push_front(it);
            self.ended.truncate(REMEMBERED);
        }
    }
}

/// Whether what an OPEN says of RDMA can be: one that receives has a slot for each packet of its window
/// (`docs/protocol.md#13.1`).
fn is_rdma_sound(open: &Open<'_>) -> bool {
    match RdmaOffer::find(&open.tlvs) {
        Ok(Some(offer)) if open.role == Role::Receive => {
            offer.slots.is_some_and(|it| it.slots == open.window)
        }
        found => found.is_ok(),
    }
}

impl fmt::Display for Duty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = match self {
            Self::Unreadable => "2.8",
            Self::Challenge { .. } => "3.2",
            Self::Refuse { .. } => "3.11",
            Self::AcceptAgain { .. } => "3.8",
            Self::Nothing | Self::Ask { .. } => "3.16",
            Self::Deny(_) => "7.6",
        };
        write!(f, "{self:?} by docs/protocol.md#{rule}")
    }
}

/// At most so many answers at once and one a millisecond (`docs/protocol.md#3.17`, `#7.6`).
#[derive(Clone, Copy, Debug)]
struct Allowance {
    left_ns: i64,
    at: Nanos,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { left_ns: ANSWERS_AT_ONCE * ANSWER_NS, at: Nanos(0) }
    }
}

impl Allowance {
    /// Whether an answer may go out, and whether one must: a listener may count in whole milliseconds.
    fn at(&mut self, now: Nanos) -> (bool, bool) {
        let came = now.since(self.at).0.min((ANSWERS_AT_ONCE * ANSWER_NS) as u64);
        self.left_ns = (self.left_ns + came as i64).min(ANSWERS_AT_ONCE * ANSWER_NS);
        self.at = now;
        (self.left_ns >= 0, self.left_ns >= 2 * ANSWER_NS)
    }

    const fn spend(&mut self) {
        self.left_ns -= ANSWER_NS;
    }
}

const fn epoch(now: Nanos) -> u64 {
    now.0 / EPOCH.0
}

/// Bits of a nonce that a cookie does not cover.
const NONCE_STEPS: u64 = 0xFF;
/// A cookie is valid in the epoch in which it was made and in the next.
const EPOCH: Nanos = Nanos::from_millis(8_000);
/// How long openings are remembered, and how many of a stream that have ended.
const MEMORY: Nanos = Nanos::from_millis(16_000);
const REMEMBERED: usize = 4;
const CLOSE_ACK_BYTES: usize = 42;
const ANSWERS_AT_ONCE: i64 = 64;
const ANSWER_NS: i64 = 1_000_000;
