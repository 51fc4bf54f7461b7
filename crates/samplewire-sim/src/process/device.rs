//! A device: a listener, the streams that it sends, and one that it plays.

use std::time::{Duration, Instant};

use samplewire::device::ReceiveListener;
use samplewire::options::DrawnTerms;
use samplewire::{DeviceOptions, Format, Listener, StreamInfo};
use samplewire_proto::random::mix;
use samplewire_proto::receiver::Delivery;
use samplewire_proto::sender::SenderConfig;
use samplewire_proto::session::Peer;
use samplewire_proto::wire::{
    self, Accept, Header, Open, Packet, PacketType, RdmaOffer, RefuseReason, Role, TRAILER_LEN,
};
use samplewire_proto::{Nanos, Tag};
use samplewire_roce::PathMtu;

use super::endpoint::Endpoint;
use super::judge::Came;
use super::known::{Begun, Known};
use super::link::Frames;
use super::sending::SendProgram;
use super::taking::{ConsumerSpec, TakeProgram};
use super::{Arrival, Turn};
use crate::check::{Agreed, At, Done, Duty, Machine, RdmaTerms, SessionId};
use crate::net::{peer_of, process_of};
use crate::source::SourceSpec;

/// What a device offers: so many streams that it sends, and one that it plays, all alike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceSpec {
    pub(crate) streams: u16,
    pub(crate) packet_bytes_max: u16,
    /// The size that a full packet has as an IP packet, where the path carries it.
    pub(crate) packet_bytes: u16,
    /// About how many samples a packet has.
    pub(crate) packet_samples: u32,
    pub(crate) window: u32,
    pub(crate) reorder_tolerance: u32,
    pub(crate) dead_ms: u16,
    pub(crate) idle_ms: u16,
    pub(crate) ranges_max: u16,
    pub(crate) source: SourceSpec,
    pub(crate) consumer: ConsumerSpec,
    pub(crate) sender: SenderConfig,
    pub(crate) payload_bytes: u16,
    /// Of its station, where it has one: what it sends goes over RDMA to those who ask for it.
    pub(crate) path_mtu: Option<PathMtu>,
}

/// A device and its programs. The streams that it sends have the first numbers; it plays the last.
#[derive(Debug)]
pub(crate) struct Device {
    spec: DeviceSpec,
    epoch: Instant,
    endpoint: Endpoint,
    sends: Vec<Sends>,
    plays: Plays,
    /// The tag of the open stream of each number.
    open: Vec<Option<Tag>>,
    /// What payloads derive from, besides the index.
    key: u64,
}

#[derive(Debug)]
struct Sends {
    listener: Listener,
    program: Option<SendProgram>,
}

#[derive(Debug)]
struct Plays {
    listener: ReceiveListener,
    program: Option<TakeProgram>,
}

impl Device {
    pub(crate) fn new(turn: &mut Turn<'_>, spec: DeviceSpec, epoch: Instant) -> Self {
        let info = info_of(&spec);
        let DeviceSpec { dead_ms, idle_ms, ranges_max, .. } = spec;
        let options = DeviceOptions::new()
            .window(spec.window)
            .payload_bytes(spec.payload_bytes)
            .mtu(spec.packet_bytes_max.into())
            .link_bps(spec.sender.link_bps())
            .reorder_tolerance(Duration::from_nanos(u64::from(spec.reorder_tolerance) * 16))
            .plays(info.clone())
            .drawn(DrawnTerms { dead_ms, idle_ms, ranges_max });
        let infos = std::iter::repeat_n(info, usize::from(spec.streams));
        let options = infos.fold(options, DeviceOptions::sends);
        let seeds = [seed(turn), seed(turn)];
        let (made, endpoint) = Endpoint::new(turn, false, spec.path_mtu, |link, station| {
            let listening = options.listen_stepped(link, station, epoch, seeds);
            listening.expect("the plan draws choices in their range")
        });
        let sends = made.listeners.into_iter().map(|listener| Sends { listener, program: None });
        let listener = made.receive_listener.expect("it plays");
        Self {
            endpoint,
            sends: sends.collect(),
            plays: Plays { listener, program: None },
            open: vec![None; usize::from(spec.streams) + 1],
            key: turn.rng.draw(),
            spec,
            epoch,
        }
    }

    /// Whether no stream is open.
    pub(crate) fn is_idle(&self) -> bool {
        self.endpoint.known().is_empty()
            && self.plays.program.is_none()
            && self.sends.iter().all(|it| it.program.is_none())
    }

    pub(crate) const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Dies, and has started again.
    pub(crate) fn restart(&mut self, turn: &mut Turn<'_>) {
        for known in self.endpoint.known() {
            turn.checker.vanished(known.session, known.is_sender());
        }
        if let Some(program) = &self.plays.program {
            turn.checker.vanished(program.session, false);
        }
        turn.checker.openings.restarted(turn.me);
        *self = Self::new(turn, self.spec, self.epoch);
    }

    /// Takes a packet.
    pub(crate) fn handle(&mut self, turn: &mut Turn<'_>, arrival: &Arrival, bytes: &[u8]) {
        self.settle(turn);
        let parsed = wire::parse(bytes).ok();
        let is_of_stream = parsed.as_ref().is_some_and(|(header, packet)| {
            let is_named = |it: &Known| it.is_named_by(header, packet);
            let known = self.endpoint.known().iter();
            known.filter(|it| peer_of(it.peer) == arrival.from).any(is_named)
        });
        let at = At { listener: turn.me, now: turn.now, streams: self.spec.streams + 1 };
        let duty = (!is_of_stream)
            .then(|| turn.checker.openings.duty(at, &arrival.from, parsed.as_ref(), bytes.len()));
        let mut answers: Vec<(Peer, Vec<u8>)> = vec![];
        let came = Came { arrival, bytes, parsed: parsed.as_ref() };
        self.endpoint.take(turn, came, &mut |_, to, bytes| answers.push((to, bytes.to_vec())));
        let is_answer = |(_, bytes): &&(Peer, Vec<u8>)| !is_report(bytes);
        let answer = answers.iter().find(is_answer).map(|(to, bytes)| (*to, &bytes[..]));
        let accepted = answer.and_then(|(_, bytes)| self.accepted_by(turn, bytes));
        if let Some(duty) = duty {
            let asked = match duty {
                Duty::Ask { takes_over } => Some(takes_over),
                _ if accepted.is_some() => Some(false),
                _ => None,
            };
            if answer.is_some_and(|(_, answer)| answer.len() > bytes.len()) {
                turn.checker.fail(format!("{answers:02x?} answer {} bytes", bytes.len()));
            }
            count_answer(turn, duty, answer.map(|(_, bytes)| bytes), accepted.is_some());
            if let Err(what) =
                turn.checker.openings.hold(at, &arrival.from, duty, Done { asked, answer })
            {
                turn.checker.fail(format!("device {}: {what}", turn.me));
            }
        }
        if let (Some((_, bytes)), true, Some((header, Packet::Open(open)))) =
            (answer, accepted.is_some(), &parsed)
            && let Ok((accept_header, Packet::Accept(accept))) = wire::parse(bytes)
        {
            let opening = Opening {
                at,
                peer: arrival.from,
                departure: header,
                open,
                accept_header: &accept_header,
                accept: &accept,
                proven: bytes.len(),
            };
            self.begin(turn, &opening);
            self.endpoint.check_first(turn, &answers);
        }
        self.note_ends(turn);
    }

    /// Takes frames.
    pub(crate) fn handle_frames(&mut self, turn: &mut Turn<'_>, frames: &Frames) {
        self.settle(turn);
        self.endpoint.take_frames(turn, frames);
        self.note_ends(turn);
    }

    /// The tag of a stream that an answer accepts, and that is not known.
    fn accepted_by(&self, turn: &Turn<'_>, bytes: &[u8]) -> Option<Tag> {
        let Ok((_, Packet::Accept(accept))) = wire::parse(bytes) else { return None };
        let is_new = || !self.endpoint.known().iter().any(|it| it.tag == accept.tag);
        let is_first = || turn.checker.session_of(turn.me, accept.tag).is_none();
        (accept.tag != Tag::NONE && is_new() && is_first()).then_some(accept.tag)
    }

    /// Does what is due.
    pub(crate) fn run(&mut self, turn: &mut Turn<'_>) {
        self.settle(turn);
        self.run_programs(turn);
        self.settle(turn);
    }

    /// When something is due, by the machine's clock.
    pub(crate) fn wakes_at(&self) -> Nanos {
        let sends = self.sends.iter().filter_map(|it| it.program.as_ref()?.next_at());
        let plays = self.plays.program.as_ref().and_then(TakeProgram::next_at);
        sends.chain(plays).fold(self.endpoint.due_at(), Nanos::min)
    }

    fn run_programs(&mut self, turn: &mut Turn<'_>) {
        for place in 0..self.sends.len() {
            let sends = &mut self.sends[place];
            if sends.program.is_none()
                && let Some(stream) = sends.listener.accept(Duration::ZERO).expect("no link fails")
                && let Some(session) = session_at(&self.endpoint, place)
            {
                let source = self.spec.source;
                sends.program = Some(SendProgram::new(turn, stream, session, source));
            }
            if let Some(program) = &mut sends.program {
                program.run(turn);
            }
        }
        let Plays { listener, program } = &mut self.plays;
        if program.is_none()
            && let Some(accepted) = listener.accept(Duration::ZERO).expect("no link fails")
            && let Some(session) = session_at(&self.endpoint, self.sends.len())
        {
            let consumer = self.spec.consumer.with_underflow(accepted.underflow);
            *program = Some(TakeProgram::new(turn, accepted.receiver, session, consumer));
        }
        if let Some(playing) = program {
            let is_gone = self.endpoint.known().iter().all(|it| it.session != playing.session);
            playing.run(turn, is_gone);
            if playing.has_stopped() {
                turn.checker.sessions[playing.session].cancelled =
                    Some(samplewire_proto::wire::CloseReason::Underflow);
            }
            if playing.is_over() && is_gone {
                *program = None;
            }
        }
    }

    /// Begins to check a stream that was accepted.
    fn begin(&mut self, turn: &mut Turn<'_>, opening: &Opening<'_>) {
        let Opening { at, open, accept, accept_header, .. } = *opening;
        turn.checker.openings.accepted(at, opening.peer, open, opening.departure, accept.tag);
        let place = usize::from(open.stream);
        // What was open before is over without a word.
        for known in self.endpoint.known().iter().filter(|it| it.place == place) {
            turn.checker.vanished(known.session, known.is_sender());
        }
        if let Some(sends) = self.sends.get_mut(place) {
            sends.program = None;
        } else if let Some(program) = self.plays.program.take() {
            turn.checker.vanished(program.session, false);
        }
        let is_receiving = open.role == Role::Send;
        let (send_window, receive_window) = if is_receiving {
            (open.window.min(WINDOW_MAX), self.spec.window)
        } else {
            (self.spec.window, open.window.min(WINDOW_MAX))
        };
        let proven = opening.proven as u16;
        let wished = self.spec.packet_bytes.saturating_sub(Peer::V4_OVERHEAD);
        let payload_bytes = accept.payload_bytes;
        let bare = usize::from(accept.payload_offset) + usize::from(payload_bytes) + TRAILER_LEN;
        let len = usize::from(proven.min(wished));
        let session = turn.checker.begin(Agreed {
            listener: turn.me,
            tag: accept.tag,
            delivery: delivery_of(open),
            first_seq: accept_header.seq,
            first_index: accept_header.index,
            packet_samples: accept.packet_samples,
            dead_after: Nanos::from_millis(accept.dead_ms.into()),
            idle_after: Nanos::from_millis(accept.idle_ms.into()),
            reorder_tolerance: accept.reorder_tolerance,
            send_window,
            receive_window: receive_window.min(send_window),
            padding_bytes: len.saturating_sub(bare) as u32,
            payload_bytes,
            rdma: rdma_of(open, accept),
            key: mix(self.key ^ u64::from(accept.tag.0)),
        });
        let is_forged = turn.checker.is_tainted(turn.me, open.tag);
        turn.checker.sessions[session].is_forged |= is_forged;
        let Some(peer) = process_of(&opening.peer) else { return };
        let (tag, peer_tag) = (accept.tag, open.tag);
        let (at, breach) = (turn.now, self.spec.source.breach);
        self.endpoint.know(turn, &Begun { session, at, tag, peer_tag, peer, breach });
        self.open[place] = Some(accept.tag);
    }

    fn settle(&mut self, turn: &mut Turn<'_>) {
        if self.endpoint.settle(turn) {
            self.note_ends(turn);
        }
    }

    /// Holds the ends of streams that the endpoint has let go of.
    fn note_ends(&mut self, turn: &mut Turn<'_>) {
        for (place, open) in self.open.iter_mut().enumerate() {
            let present = self.endpoint.views_at(place).find(|view| !view.is_lingering);
            let before = std::mem::replace(open, present.map(|view| view.tag));
            if before.is_some() && open.is_none() {
                turn.checker.openings.ended(turn.me, place as u16);
                let event = "the stream has ended";
                turn.checker.transitions.count(Machine::Listener, "Open", event, "Free");
            }
        }
        for known in self.endpoint.take_gone() {
            if !known.is_sender() {
                turn.checker.receiver_gone(known.session);
                let is_taken = self.plays.program.as_ref();
                if is_taken.is_none_or(|it| it.session != known.session) {
                    turn.checker.vanished(known.session, false);
                }
                continue;
            }
            let sends = &mut self.sends[known.place];
            let program = sends.program.take_if(|it| it.session == known.session);
            match program.as_ref().and_then(|it| Some((it, it.end()?))) {
                Some((program, end)) => {
                    turn.checker.tally.lost_at_source += program.lost_in_all();
                    known.count_end(turn, end.end);
                    turn.checker.sender_ended(known.session, turn.now, end.end);
                }
                None => turn.checker.vanished(known.session, true),
            }
        }
    }
}

/// An OPEN that was accepted, and the ACCEPT.
struct Opening<'a> {
    at: At,
    peer: Peer,
    departure: &'a Header,
    open: &'a Open<'a>,
    accept_header: &'a Header,
    accept: &'a Accept<'a>,
    /// The longest packet that the path is known to carry.
    proven: usize,
}

/// The session of the open stream at a place.
fn session_at(endpoint: &Endpoint, place: usize) -> Option<SessionId> {
    let open = endpoint.views_at(place).find(|view| !view.is_lingering)?;
    endpoint.known().iter().find(|it| it.tag == open.tag).map(|it| it.session)
}

/// The queue pairs of a stream that is accepted over RDMA.
fn rdma_of(open: &Open<'_>, accept: &Accept<'_>) -> Option<RdmaTerms> {
    let [open, accept] =
        [&open.tlvs, &accept.tlvs].map(|tlvs| RdmaOffer::find(tlvs).ok().flatten());
    let (open, accept) = (open?, accept?);
    let (sender, receiver) = (accept.queue_pair, open.queue_pair);
    Some(RdmaTerms { sender, receiver, slots: open.slots? })
}

/// Whether a packet is the first of a stream that this device receives.
fn is_report(bytes: &[u8]) -> bool {
    bytes[0] & 0x0F == PacketType::Report as u8
}

/// Samples of which as many as the plan draws, or nearly, fill a payload.
fn info_of(spec: &DeviceSpec) -> StreamInfo {
    let (format, channels) = match spec.packet_samples {
        0..=2 => (Format::Sc16, 2),
        3..=4 => (Format::Sc16, 1),
        5..=8 => (Format::Sc8, 1),
        _ => (Format::R8, 1),
    };
    StreamInfo::new(format, channels, RATE_HZ).expect("a rate in range")
}

fn seed(turn: &mut Turn<'_>) -> [u8; 16] {
    (u128::from(turn.rng.draw()) << 64 | u128::from(turn.rng.draw())).to_be_bytes()
}

const fn delivery_of(open: &Open<'_>) -> Delivery {
    match open.delivery {
        1 => Delivery::Deadline(Nanos::from_micros(open.deadline_us as u64)),
        2 => Delivery::BestEffort,
        _ => Delivery::Complete,
    }
}

/// Counts what the listener did with a packet of no stream.
fn count_answer(turn: &mut Turn<'_>, duty: Duty, answer: Option<&[u8]>, has_accepted: bool) {
    let packet = answer.and_then(|bytes| wire::parse(bytes).ok()).map(|(_, packet)| packet);
    if answer.is_some() && packet.is_none() {
        let (event, to) = ("OPEN of another version", "REFUSE(version)");
        return turn.checker.transitions.count(Machine::Listener, "any", event, to);
    }
    let (from, event, to) = match (duty, packet) {
        (_, Some(Packet::Challenge(_))) => ("any", "OPEN without cookie", "CHALLENGE"),
        (_, Some(Packet::CloseAck(_))) => ("any", "unknown tag", "CLOSE_ACK(unknown tag)"),
        (Duty::AcceptAgain { .. }, Some(Packet::Accept(_))) => {
            ("Open", "OPEN, same nonce", "ACCEPT again")
        }
        (Duty::Ask { takes_over: true }, Some(Packet::Accept(_))) if has_accepted => {
            ("Open", "OPEN of the same owner", "Open(taken over)")
        }
        (_, Some(Packet::Accept(_))) if has_accepted => ("Free", "OPEN", "Open"),
        (_, Some(Packet::Accept(_))) => ("any", "OPEN, describe", "ACCEPT"),
        (_, Some(Packet::Refuse(refuse))) => match refuse.reason {
            RefuseReason::Busy => ("Open", "OPEN of another owner", "REFUSE(busy)"),
            RefuseReason::NoSuchStream => ("any", "OPEN, no such stream", "REFUSE(no such stream)"),
            RefuseReason::PacketSize => ("any", "OPEN, packet size", "REFUSE(packet size)"),
            RefuseReason::Window => ("any", "OPEN, window of 0", "REFUSE(window)"),
            RefuseReason::Delivery => ("any", "OPEN, delivery", "REFUSE(delivery)"),
            RefuseReason::Trailer => ("any", "OPEN, trailer", "REFUSE(trailer)"),
            _ => return,
        },
        _ => return,
    };
    turn.checker.transitions.count(Machine::Listener, from, event, to);
}

const RATE_HZ: f64 = 1e6;

/// What a forged OPEN claims beyond it needs no books.
const WINDOW_MAX: u32 = 1 << 13;
