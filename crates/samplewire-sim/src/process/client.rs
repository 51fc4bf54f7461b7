//! A program that opens streams of a device, one after another.

use std::time::{Duration, Instant};

use samplewire::receiver::Port;
use samplewire::stepped::{Machine as StreamMachine, PendingReceiver, PendingSender};
use samplewire::{ReceiveOptions, SendOptions, SendStream};

use samplewire::{Delivery, DeviceInfo, OpenError, ReceiveStream};
use samplewire_proto::receiver as proto;
use samplewire_proto::sender::SenderConfig;
use samplewire_proto::session::OpenPhase;
use samplewire_proto::stream::Underflow;
use samplewire_proto::wire::{self, CloseReason, Role};
use samplewire_proto::{Nanos, Seq, Tag};
use samplewire_roce::PathMtu;

use super::endpoint::Endpoint;
use super::judge::Came;
use super::known::Begun;
use super::link::Frames;
use super::sending::SendProgram;
use super::taking::{ConsumerSpec, TakeProgram};
use super::{Arrival, Turn};
use crate::check::{Agreed, Machine, SessionId, opener_state};
use crate::net::address_of;
use crate::packets::ProcessId;
use crate::payload;
use crate::source::SourceSpec;

/// What a client does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientSpec {
    pub(crate) device: ProcessId,
    pub(crate) stream: u16,
    pub(crate) role: Role,
    pub(crate) owner: u64,
    pub(crate) delivery: proto::Delivery,
    pub(crate) window: u32,
    pub(crate) packet_bytes_max: u16,
    pub(crate) first_seq: Seq,
    /// Streams opened one after another.
    pub(crate) sessions: u32,
    pub(crate) opens_at: Nanos,
    /// Between the end of a stream and the next opening.
    pub(crate) pause: Nanos,
    /// After how long it ends a stream itself.
    pub(crate) cancels_after: Option<Nanos>,
    pub(crate) open_timeout: Nanos,
    /// It speaks another version of the protocol.
    pub(crate) is_foreign: bool,
    pub(crate) consumer: ConsumerSpec,
    /// What is done where samples are not there at their time, when it sends.
    pub(crate) underflow: Underflow,
    /// When it sends.
    pub(crate) source: SourceSpec,
    pub(crate) sender: SenderConfig,
    /// Of its station, where it has one: what it receives goes over RDMA if the device can.
    pub(crate) path_mtu: Option<PathMtu>,
}

/// A client and where it stands.
#[derive(Debug)]
pub(crate) struct Client {
    spec: ClientSpec,
    epoch: Instant,
    sessions_left: u32,
    state: State,
    dropped_noted: u32,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a few in a world")]
enum State {
    Waiting {
        opens_at: Nanos,
    },
    Opening {
        endpoint: Endpoint,
        port: Port,
        pending: Pending,
        phase: OpenPhase,
        ends_by: Nanos,
    },
    Streaming {
        endpoint: Endpoint,
        program: Program,
        accepted_at: Nanos,
        cancels_at: Option<Nanos>,
    },
    Done,
}

#[derive(Debug)]
enum Pending {
    Receive(PendingReceiver),
    Describe(PendingReceiver),
    Send(PendingSender),
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a few in a world")]
enum Program {
    /// The endpoint has not begun to serve the stream.
    Beginning(Opened),
    Taking(TakeProgram),
    Sending(SendProgram),
    /// It has let go of its stream.
    Gone,
}

#[derive(Debug)]
enum Opened {
    Receive(ReceiveStream),
    Send(SendStream),
    /// The device has described a stream: none is open.
    Described(DeviceInfo),
}

impl Client {
    /// A client whose times are by the machine's clock, which shows `now`.
    pub(crate) fn new(spec: ClientSpec, now: Nanos, epoch: Instant) -> Self {
        let state = State::Waiting { opens_at: now + spec.opens_at };
        Self { spec, epoch, sessions_left: spec.sessions, state, dropped_noted: 0 }
    }

    pub(crate) const fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// What it does, for a run that does not end.
    pub(crate) const fn standing(&self) -> &'static str {
        match self.state {
            State::Waiting { .. } => "waits",
            State::Opening { .. } => "opens",
            State::Streaming { .. } => "streams",
            State::Done => "is done",
        }
    }

    /// Opens no further streams.
    pub(crate) fn retire(&mut self) {
        self.sessions_left = self.sessions_left.min(1);
        if matches!(self.state, State::Waiting { .. }) {
            self.state = State::Done;
        }
    }

    /// Dies, and starts again after `pause`.
    pub(crate) fn restart(&mut self, turn: &mut Turn<'_>, pause: Nanos) {
        if let State::Streaming { endpoint, program, .. } = &self.state {
            for known in endpoint.known() {
                turn.checker.vanished(known.session, known.is_sender());
            }
            if let Some(session) = program.session() {
                turn.checker.vanished(session, matches!(program, Program::Sending(_)));
            }
        }
        if !self.is_done() {
            self.state = State::Waiting { opens_at: turn.now + pause };
        }
    }

    /// Where it opens streams.
    pub(crate) const fn device(&self) -> ProcessId {
        self.spec.device
    }

    pub(crate) const fn endpoint(&self) -> Option<&Endpoint> {
        match &self.state {
            State::Opening { endpoint, .. } | State::Streaming { endpoint, .. } => Some(endpoint),
            State::Waiting { .. } | State::Done => None,
        }
    }

    /// Drops of its socket that it has noted.
    pub(crate) const fn dropped_noted(&self) -> u32 {
        self.dropped_noted
    }

    /// Takes a packet.
    pub(crate) fn handle(&mut self, turn: &mut Turn<'_>, arrival: &Arrival, bytes: &[u8]) {
        self.dropped_noted = arrival.dropped;
        self.settle(turn);
        self.note_opening(turn, None);
        let mut kind = None;
        if let State::Opening { endpoint, .. } | State::Streaming { endpoint, .. } = &mut self.state
        {
            let bytes = &*endpoint.as_read(bytes);
            let parsed = wire::parse(bytes).ok();
            kind = parsed.as_ref().map(|(header, _)| header.kind.name());
            let came = Came { arrival, bytes, parsed: parsed.as_ref() };
            endpoint.take(turn, came, &mut |_, _, _| {});
        }
        self.note_opening(turn, kind);
        self.follow(turn);
    }

    /// Takes frames.
    pub(crate) fn handle_frames(&mut self, turn: &mut Turn<'_>, frames: &Frames) {
        self.settle(turn);
        self.note_opening(turn, None);
        if let State::Opening { endpoint, .. } | State::Streaming { endpoint, .. } = &mut self.state
        {
            endpoint.take_frames(turn, frames);
        }
        self.note_opening(turn, None);
        self.follow(turn);
    }

    /// Does what is due.
    pub(crate) fn run(&mut self, turn: &mut Turn<'_>) {
        if matches!(self.state, State::Waiting { opens_at } if turn.now >= opens_at) {
            self.open(turn);
        }
        self.settle(turn);
        self.note_opening(turn, None);
        self.follow(turn);
        self.settle(turn);
        self.follow(turn);
    }

    fn settle(&mut self, turn: &mut Turn<'_>) {
        // What a stream sends first is checked against the session once that is known.
        let is_beginning =
            matches!(self.state, State::Streaming { program: Program::Beginning(_), .. });
        if is_beginning {
            return;
        }
        if let State::Opening { endpoint, .. } | State::Streaming { endpoint, .. } = &mut self.state
        {
            endpoint.settle(turn);
        }
    }

    /// When something is due, by the machine's clock.
    pub(crate) fn wakes_at(&self) -> Option<Nanos> {
        match &self.state {
            State::Waiting { opens_at } => Some(*opens_at),
            State::Opening { endpoint, .. } => Some(endpoint.due_at()),
            State::Streaming { endpoint, program, cancels_at, .. } => {
                let program_at = match program {
                    Program::Taking(program) => program.next_at(),
                    Program::Sending(program) => program.next_at(),
                    Program::Beginning(_) | Program::Gone => None,
                };
                let times = program_at.into_iter().chain(*cancels_at);
                Some(times.fold(endpoint.due_at(), Nanos::min))
            }
            State::Done => None,
        }
    }

    fn open(&mut self, turn: &mut Turn<'_>) {
        let (spec, epoch) = (self.spec, self.epoch);
        let seed = (u128::from(turn.rng.draw()) << 64 | u128::from(turn.rng.draw())).to_be_bytes();
        let (port, endpoint) =
            Endpoint::new(turn, spec.is_foreign, spec.path_mtu, |link, station| {
                Port::stepped(link, station, 1, epoch).expect("a port of one place")
            });
        let (address, timeout) =
            (address_of(spec.device), Duration::from_nanos(spec.open_timeout.0));
        let pending = if spec.role == Role::Send {
            let options = SendOptions::new()
                .delivery(delivery_of(&spec))
                .window(spec.window)
                .stream(spec.stream)
                .owner(spec.owner)
                .timeout(timeout)
                .mtu(spec.packet_bytes_max.into())
                .link_bps(spec.sender.link_bps())
                .first_seq(spec.first_seq)
                .underflow(spec.underflow);
            SendStream::start_opening(&port, address, &options, seed).map(Pending::Send)
        } else {
            let options = ReceiveOptions::new()
                .delivery(delivery_of(&spec))
                .window(spec.window)
                .stream(spec.stream)
                .owner(spec.owner)
                .timeout(timeout)
                .mtu(spec.packet_bytes_max.into())
                .first_seq(spec.first_seq);
            if spec.role == Role::Describe {
                port.start_describing(address, &options, seed).map(Pending::Describe)
            } else {
                port.start_opening(address, &options, seed).map(Pending::Receive)
            }
        };
        let pending = pending.expect("the plan draws choices in their range");
        turn.checker.tally.openings_tried += 1;
        let ends_by = turn.now + spec.open_timeout + OPEN_SLACK;
        let phase = OpenPhase::Asking;
        self.state = State::Opening { endpoint, port, pending, phase, ends_by };
    }

    /// Follows the opening under way, after a packet of this kind.
    fn note_opening(&mut self, turn: &mut Turn<'_>, kind: Option<&'static str>) {
        let State::Opening { endpoint, port, pending, phase, ends_by } = &mut self.state else {
            return;
        };
        if let Some((present, _)) = endpoint.opening() {
            let (from, to) = (opener_state(*phase), opener_state(present));
            turn.checker.transitions.infer(Machine::Opener, from, kind, to);
            *phase = present;
        }
        let opened = match pending {
            Pending::Receive(pending) => {
                port.poll_opening(pending).map(|opened| opened.map(Opened::Receive))
            }
            Pending::Describe(pending) => {
                port.poll_describing(pending).map(|described| described.map(Opened::Described))
            }
            Pending::Send(pending) => {
                SendStream::poll_opening(port, pending).map(|opened| opened.map(Opened::Send))
            }
        };
        let Some(opened) = opened else {
            if turn.now > *ends_by {
                turn.checker.fail(format!("client {} opens without end", turn.me));
            }
            return;
        };
        let to = match &opened {
            Ok(_) => "Done(accepted)",
            Err(OpenError::Refused { .. }) => "Done(refused)",
            Err(OpenError::PeerTerms { .. }) => "Done(contradicted)",
            Err(OpenError::NoAnswer { .. }) => "Done(timed out)",
            // What an ACCEPT says that was forged need not be any format of samples.
            Err(_) => return self.finish(turn.now),
        };
        turn.checker.transitions.infer(Machine::Opener, opener_state(*phase), kind, to);
        let Ok(opened) = opened else { return self.finish(turn.now) };
        if let Opened::Described(_) = opened {
            return self.finish(turn.now);
        }
        let State::Opening { endpoint, .. } = std::mem::replace(&mut self.state, State::Done)
        else {
            return;
        };
        let program = Program::Beginning(opened);
        let accepted_at = turn.now;
        self.state = State::Streaming { endpoint, program, accepted_at, cancels_at: None };
    }

    /// Lets the program do what is due, and follows the end of its stream.
    fn follow(&mut self, turn: &mut Turn<'_>) {
        let State::Streaming { endpoint, program, accepted_at, cancels_at } = &mut self.state
        else {
            return;
        };
        if let Program::Beginning(_) = program {
            let mut departed = vec![];
            endpoint.turn_once(turn, &mut |_, to, bytes| departed.push((to, bytes.to_vec())));
            let Some((tag, peer_tag)) = begun(endpoint) else {
                if endpoint.is_over() {
                    self.finish(turn.now);
                }
                return;
            };
            let Program::Beginning(opened) = std::mem::replace(program, Program::Gone) else {
                return;
            };
            let Some(session) = session_of(turn, &self.spec, tag, peer_tag, &opened) else {
                return;
            };
            let peer = self.spec.device;
            let (at, breach) = (*accepted_at, self.spec.source.breach);
            endpoint.know(turn, &Begun { session, at, tag, peer_tag, peer, breach });
            endpoint.check_first(turn, &departed);
            *program = match opened {
                Opened::Receive(stream) => {
                    *cancels_at = self.spec.cancels_after.map(|span| turn.now + span);
                    Program::Taking(TakeProgram::new(turn, stream, session, self.spec.consumer))
                }
                Opened::Described(_) => unreachable!("a stream has begun"),
                Opened::Send(stream) => {
                    Program::Sending(SendProgram::new(turn, stream, session, self.spec.source))
                }
            };
        }
        if cancels_at.is_some_and(|at| turn.now >= at) {
            *cancels_at = None;
            if let Program::Taking(taking) = program {
                let session = &mut turn.checker.sessions[taking.session];
                session.cancelled = Some(CloseReason::Cancelled);
                session.awaits_program = false;
                *program = Program::Gone;
            }
        }
        let gone = endpoint.take_gone();
        match program {
            Program::Taking(taking) => {
                let is_gone = endpoint.known().is_empty();
                taking.run(turn, is_gone);
                if taking.is_over() {
                    *program = Program::Gone;
                }
            }
            Program::Sending(sending) => sending.run(turn),
            Program::Beginning(_) | Program::Gone => {}
        }
        for known in gone {
            let end = match program {
                Program::Sending(sending) => sending.end().map(|end| (end, sending.lost_in_all())),
                _ => None,
            };
            match end {
                Some((end, lost)) => {
                    turn.checker.tally.lost_at_source += lost;
                    known.count_end(turn, end.end);
                    turn.checker.sender_ended(known.session, turn.now, end.end);
                    *program = Program::Gone;
                }
                None if known.is_sender() => turn.checker.vanished(known.session, true),
                None => turn.checker.receiver_gone(known.session),
            }
        }
        if endpoint.is_over() && matches!(program, Program::Gone) {
            self.finish(turn.now);
        }
    }

    fn finish(&mut self, now: Nanos) {
        self.sessions_left -= 1;
        self.state = if self.sessions_left == 0 {
            State::Done
        } else {
            State::Waiting { opens_at: now + self.spec.pause }
        };
    }
}

impl Program {
    const fn session(&self) -> Option<SessionId> {
        match self {
            Self::Taking(program) => Some(program.session),
            Self::Sending(program) => Some(program.session),
            Self::Beginning(_) | Self::Gone => None,
        }
    }
}

/// The tags of the stream that the endpoint has begun to serve.
fn begun(endpoint: &Endpoint) -> Option<(Tag, Tag)> {
    endpoint.views().find_map(|view| match view.machine {
        StreamMachine::Opening(_) => None,
        _ => Some((view.tag, view.peer_tag?)),
    })
}

/// The session that a device has accepted.
fn session_of(
    turn: &mut Turn<'_>,
    spec: &ClientSpec,
    tag: Tag,
    peer_tag: Tag,
    opened: &Opened,
) -> Option<SessionId> {
    let is_tainted = turn.checker.is_tainted(spec.device, tag);
    let session = match turn.checker.session_of(spec.device, peer_tag) {
        Some(session) => session,
        // A forged ACCEPT names a stream that no device has.
        None if is_tainted => turn.checker.begin(agreed_by(spec, peer_tag, opened)),
        None => {
            turn.checker.fail(format!("{opened:?} was never accepted"));
            return None;
        }
    };
    turn.checker.sessions[session].is_forged |= is_tainted;
    Some(session)
}

/// What is agreed on a stream that only its opener knows.
fn agreed_by(spec: &ClientSpec, peer_tag: Tag, opened: &Opened) -> Agreed {
    let (packet_samples, first_index) = match opened {
        Opened::Receive(stream) => (stream.info().packet_samples, stream.info().first_index),
        Opened::Send(stream) => (stream.session().packet_samples, stream.session().first_index),
        Opened::Described(info) => (info.packet_samples, info.first_index),
    };
    Agreed {
        listener: spec.device,
        tag: peer_tag,
        delivery: spec.delivery,
        first_seq: spec.first_seq,
        first_index,
        packet_samples,
        dead_after: Nanos(u64::MAX),
        idle_after: Nanos(0),
        reorder_tolerance: 0,
        send_window: spec.window,
        receive_window: spec.window,
        padding_bytes: 0,
        payload_bytes: payload::BYTES as u16,
        rdma: None,
        key: 0,
    }
}

fn delivery_of(spec: &ClientSpec) -> Delivery {
    match spec.delivery {
        proto::Delivery::Complete => Delivery::Complete,
        proto::Delivery::Deadline(at) => Delivery::Deadline(Duration::from_nanos(at.0)),
        proto::Delivery::BestEffort => Delivery::BestEffort,
    }
}

/// An opening ends this long after its time at the latest: pauses of its host included.
const OPEN_SLACK: Nanos = Nanos::from_millis(2_000);
