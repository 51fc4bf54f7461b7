//! A program that opens streams of a device, one after another.

use samplewire_proto::receiver::{Delivery, ReceiverConfig};
use samplewire_proto::sender::SenderConfig;
use samplewire_proto::session::{AcceptInfo, EndView, OpenConfig, OpenEvent, OpenPhase, Opener};
use samplewire_proto::stream::Underflow;
use samplewire_proto::wire::{self, Role};
use samplewire_proto::{Nanos, Seq, Tag};

use crate::check::{Agreed, Machine, done_state, event_of, opener_state};
use crate::consumer::ConsumerSpec;
use crate::dialect;
use crate::net::peer_of;
use crate::packets::ProcessId;
use crate::process::{Arrival, Turn};
use crate::receiving::ReceiveEnd;
use crate::sending::SendEnd;
use crate::source::SourceSpec;
use crate::stream_end::StreamEnd;

/// What a client does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientSpec {
    pub(crate) device: ProcessId,
    pub(crate) stream: u16,
    pub(crate) role: Role,
    pub(crate) owner: u64,
    pub(crate) delivery: Delivery,
    pub(crate) window: u32,
    pub(crate) credit_floor: u32,
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
}

/// A client and where it stands.
#[derive(Debug)]
pub(crate) struct Client {
    spec: ClientSpec,
    sessions_left: u32,
    state: State,
    dropped_noted: u32,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a few in a world, and no pointer to chase a packet")]
enum State {
    Waiting {
        opens_at: Nanos,
    },
    Opening {
        opener: Box<Opener>,
        ends_by: Nanos,
        /// The phase in which it ended, and the event, until it is told how.
        ended_by: Option<(OpenPhase, &'static str)>,
    },
    Streaming {
        end: StreamEnd,
        cancels_at: Option<Nanos>,
    },
    Done,
}

impl Client {
    /// A client whose times are by the machine's clock, which shows `now`.
    pub(crate) fn new(spec: ClientSpec, now: Nanos) -> Self {
        let state = State::Waiting { opens_at: now + spec.opens_at };
        Self { spec, sessions_left: spec.sessions, state, dropped_noted: 0 }
    }

    pub(crate) const fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// What it is at, for a run that does not end.
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
        if let State::Streaming { end, .. } = &mut self.state {
            end.vanish(turn);
        }
        if !self.is_done() {
            self.state = State::Waiting { opens_at: turn.now + pause };
        }
    }

    /// Where it opens streams.
    pub(crate) const fn device(&self) -> ProcessId {
        self.spec.device
    }

    /// The end of its stream, while there is one.
    pub(crate) const fn end(&self) -> Option<&StreamEnd> {
        match &self.state {
            State::Streaming { end, .. } => Some(end),
            _ => None,
        }
    }

    /// Where its opening stands, while there is one, and the tag of it.
    pub(crate) fn opening(&self) -> Option<(OpenPhase, Tag)> {
        match &self.state {
            State::Opening { opener, .. } => Some((opener.phase(), opener.tag())),
            _ => None,
        }
    }

    /// Drops of its socket that it has noted.
    pub(crate) const fn dropped_noted(&self) -> u32 {
        self.dropped_noted
    }

    /// Takes a packet.
    pub(crate) fn handle(&mut self, turn: &mut Turn<'_>, arrival: &Arrival, bytes: &[u8]) {
        let dropped = arrival.dropped.wrapping_sub(self.dropped_noted);
        self.dropped_noted = arrival.dropped;
        if let State::Streaming { end: StreamEnd::Receive(end), .. } = &mut self.state {
            end.note_drops(turn, dropped);
        }
        if arrival.from != peer_of(self.spec.device) {
            return;
        }
        let translated = self.spec.is_foreign.then(|| {
            let mut own = bytes.to_vec();
            dialect::translate(&mut own);
            own
        });
        let bytes = translated.as_deref().unwrap_or(bytes);
        let Ok((header, packet)) = wire::parse(bytes) else { return };
        match &mut self.state {
            State::Opening { opener, ended_by, .. } => {
                let from = opener.phase();
                opener.handle(turn.now, &header, &packet, bytes.len());
                count(turn, from, event_of(header.kind, false), opener.phase(), ended_by);
            }
            State::Streaming { end, .. } => {
                end.handle(turn, &header, &packet, arrival.is_marked);
            }
            State::Waiting { .. } | State::Done => {}
        }
    }

    /// Does what is due.
    pub(crate) fn run(&mut self, turn: &mut Turn<'_>) {
        match &mut self.state {
            State::Waiting { opens_at } if turn.now >= *opens_at => self.open(turn),
            State::Waiting { .. } | State::Done => {}
            State::Opening { .. } => self.go_on_opening(turn),
            State::Streaming { end, cancels_at } => {
                if let StreamEnd::Receive(end) = end
                    && cancels_at.is_some_and(|at| turn.now >= at)
                {
                    *cancels_at = None;
                    end.cancel(turn);
                }
                end.run(turn);
                if end.is_ended() {
                    end.close_books(turn);
                    self.finish(turn.now);
                }
            }
        }
    }

    fn go_on_opening(&mut self, turn: &mut Turn<'_>) {
        let State::Opening { opener, ends_by, ended_by } = &mut self.state else { return };
        let mut out = [0; PACKET_BYTES_MAX];
        let from = opener.phase();
        while let Some(len) = opener.poll_transmit(turn.now, &mut out) {
            if self.spec.is_foreign {
                dialect::translate(&mut out[..len]);
            }
            turn.send_control(self.spec.device, &out[..len]);
        }
        let event = if opener.phase() == OpenPhase::Done { "time over" } else { "no size left" };
        count(turn, from, event, opener.phase(), ended_by);
        let Some(event) = opener.poll_event() else {
            if turn.now > *ends_by {
                turn.checker.fail(format!("client {} opens without end", turn.me));
            }
            return;
        };
        if let Some((from, cause)) = ended_by.take() {
            let (from, to) = (opener_state(from), done_state(&event));
            turn.checker.transitions.count(Machine::Opener, from, cause, to);
        }
        match event {
            OpenEvent::Accepted(info) if self.spec.role != Role::Describe => {
                self.begin(turn, &info);
            }
            OpenEvent::Accepted(_)
            | OpenEvent::Refused { .. }
            | OpenEvent::Contradicted(_)
            | OpenEvent::TimedOut { .. } => {
                self.finish(turn.now);
            }
        }
    }

    /// When something is due, by the machine's clock.
    pub(crate) fn wakes_at(&self, now: Nanos) -> Option<Nanos> {
        match &self.state {
            State::Waiting { opens_at } => Some(*opens_at),
            State::Opening { opener, .. } => Some(opener.poll_timeout().unwrap_or(now)),
            State::Streaming { end, cancels_at } => {
                let at = end.wakes_at(now).unwrap_or(now);
                Some(cancels_at.map_or(at, |cancels_at| at.min(cancels_at)))
            }
            State::Done => None,
        }
    }

    fn open(&mut self, turn: &mut Turn<'_>) {
        let spec = &self.spec;
        let (delivery, deadline_us) = match spec.delivery {
            Delivery::Complete => (0, 0),
            Delivery::Deadline(deadline) => (1, (deadline.0 / 1_000) as u32),
            Delivery::BestEffort => (2, 0),
        };
        let config = OpenConfig::new(spec.role, spec.stream, spec.owner)
            .with_delivery(delivery, deadline_us)
            .with_window(spec.window)
            .and_then(|config| config.with_packet_bytes_max(spec.packet_bytes_max))
            .and_then(|config| config.with_timeout(spec.open_timeout))
            .expect("the plan draws choices in their range")
            .with_first_seq(spec.first_seq)
            .with_underflow(spec.underflow);
        let seed = u128::from(turn.rng.draw()) << 64 | u128::from(turn.rng.draw());
        let opener = Box::new(Opener::new(config, seed.to_be_bytes(), turn.now));
        turn.checker.tally.openings_tried += 1;
        let ends_by = turn.now + spec.open_timeout + OPEN_SLACK;
        self.state = State::Opening { opener, ends_by, ended_by: None };
    }

    fn begin(&mut self, turn: &mut Turn<'_>, info: &AcceptInfo) {
        let device = self.spec.device;
        let is_tainted = turn.checker.is_tainted(device, info.tag);
        let params = &info.params;
        let session = match turn.checker.session_of(device, info.peer_tag) {
            Some(session) => session,
            // A forged ACCEPT names a stream that no device has.
            None if is_tainted => turn.checker.begin(self.agreed_by(info)),
            None => {
                let what = format!("{info:?} names a stream that was never accepted");
                return turn.checker.fail(what);
            }
        };
        turn.checker.sessions[session].is_forged |= is_tainted;
        let known = turn.checker.sessions[session].agreed;
        let terms = params.at(EndView {
            local_tag: info.tag,
            peer_tag: info.peer_tag,
            is_opener: true,
            window: if self.spec.role == Role::Send {
                self.spec.window
            } else {
                known.receive_window
            },
            ranges_max: params.ranges_max,
            rtt: info.rtt,
        });
        let end = if self.spec.role == Role::Send {
            let source = SourceSpec { samples: known.packet_samples, ..self.spec.source };
            let config = self.spec.sender;
            StreamEnd::Send(SendEnd::new(turn, session, device, terms, config, source))
        } else {
            let config = ReceiverConfig::new()
                .with_delivery(self.spec.delivery)
                .and_then(|config| config.with_credit_floor(self.spec.credit_floor))
                .expect("the plan draws choices in their range");
            let consumer = self.spec.consumer;
            StreamEnd::Receive(ReceiveEnd::new(turn, session, device, terms, config, consumer))
        };
        let may_cancel = self.spec.role == Role::Receive;
        let cancels_at = self.spec.cancels_after.filter(|_| may_cancel).map(|span| turn.now + span);
        self.state = State::Streaming { end, cancels_at };
    }

    /// What an ACCEPT says of a stream that only its opener knows.
    fn agreed_by(&self, info: &AcceptInfo) -> Agreed {
        let (spec, params) = (&self.spec, &info.params);
        Agreed {
            listener: spec.device,
            tag: info.peer_tag,
            delivery: spec.delivery,
            first_seq: params.first_seq,
            first_index: params.first_index,
            packet_samples: params.packet_samples,
            dead_after: Nanos::from_millis(params.dead_ms.into()),
            idle_after: Nanos::from_millis(params.idle_ms.into()),
            reorder_tolerance: params.reorder_tolerance,
            send_window: spec.window,
            receive_window: spec.window,
            padding_bytes: 0,
            key: 0,
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

/// Counts a transition of an opener, or keeps the one that ended it.
fn count(
    turn: &mut Turn<'_>,
    from: OpenPhase,
    event: &'static str,
    to: OpenPhase,
    ended_by: &mut Option<(OpenPhase, &'static str)>,
) {
    if from != to && to == OpenPhase::Done {
        *ended_by = Some((from, event));
    } else {
        let (from, to) = (opener_state(from), opener_state(to));
        turn.checker.transitions.count(Machine::Opener, from, event, to);
    }
}

const PACKET_BYTES_MAX: usize = 9_000;

/// An opening ends this long after its time at the latest: pauses of its host included.
const OPEN_SLACK: Nanos = Nanos::from_millis(2_000);
