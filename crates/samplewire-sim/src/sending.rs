//! The sending end of a stream, with its source.

use std::ops::Range;

use samplewire_proto::sender::{
    CONTROL_BYTES, DataTransmit, Phase, SendSlot, Sender, SenderConfig, Transmit,
};
use samplewire_proto::stream::{PAYLOAD_OFFSET_MAX, Terms};
use samplewire_proto::wire::{self, CloseAckReason, Header, Packet};
use samplewire_proto::{Departure, Nanos, Tag};

use crate::check::{
    Breach, HasRefused, Machine, SessionId, Verdict, ended_state, event_of, sender_state,
};
use crate::packets::ProcessId;
use crate::process::Turn;
use crate::source::{Pushed, Source, SourceSpec};
use crate::stream_end::{Facts, Observed, Place};

/// A sender, its source and its peer.
#[derive(Debug)]
pub(crate) struct SendEnd {
    sender: Sender<Vec<SendSlot>>,
    source: Source,
    session: SessionId,
    peer: ProcessId,
    tags: (Tag, Tag),
    /// Its newest departure.
    departure: Departure,
    padding_bytes: u32,
    /// The state that the stream ended in, and the event that ended it, until it is told how.
    ended_by: Option<(Phase, &'static str)>,
}

impl SendEnd {
    pub(crate) fn new(
        turn: &mut Turn<'_>,
        session: SessionId,
        peer: ProcessId,
        terms: Terms,
        config: SenderConfig,
        source: SourceSpec,
    ) -> Self {
        let slots = vec![SendSlot::default(); (terms.window as usize).next_power_of_two()];
        let terms = terms_under(source.breach, terms);
        let source = SourceSpec { samples: terms.packet_samples, ..source };
        let sender =
            Sender::new(terms, config, slots, turn.now).expect("the plan draws terms that hold");
        let known = &mut turn.checker.sessions[session];
        known.sender_begins(turn.now, source.breach);
        Self {
            sender,
            source: Source::new(source, terms.first_index, turn.now, turn.rng.fork()),
            session,
            peer,
            tags: (terms.local_tag, terms.peer_tag),
            departure: Departure::at(turn.now),
            padding_bytes: known.agreed.padding_bytes,
            ended_by: None,
        }
    }

    pub(crate) const fn session(&self) -> SessionId {
        self.session
    }

    pub(crate) fn is_reported(&self) -> bool {
        self.sender.is_reported()
    }

    pub(crate) fn next_index(&self) -> u64 {
        self.sender.next_index()
    }

    pub(crate) fn facts(&self) -> Facts {
        let (local_tag, peer_tag) = self.tags;
        let (oldest, next) = (self.sender.released(), self.sender.next_seq());
        let place = match self.sender.phase() {
            Phase::Ended => Place::Over,
            phase => Place::Sender {
                oldest,
                sent: next - self.sender.waiting(),
                next,
                is_closing: matches!(phase, Phase::Closing(_)),
            },
        };
        let Self { session, peer, departure, .. } = *self;
        let has_refused = HasRefused::default();
        Facts {
            session,
            peer,
            local_tag,
            peer_tag,
            place,
            now: departure,
            denial_is_early: false,
            has_refused,
        }
    }

    pub(crate) fn observe(&self) -> Observed {
        Observed::send(&self.sender)
    }

    /// Takes a packet; `false` when it is of another stream.
    pub(crate) fn handle(
        &mut self,
        turn: &mut Turn<'_>,
        header: &Header,
        packet: &Packet<'_>,
    ) -> bool {
        let from = self.sender.phase();
        let refused = |sender: &Sender<_>| {
            let stats = sender.stats();
            stats.reports_refused + stats.closes_refused + stats.unexpected
        };
        let refused_before = refused(&self.sender);
        let requests_before = self.sender.stats().requests_refused;
        if !self.sender.handle(turn.now, header, packet) {
            return false;
        }
        turn.checker.tally.requests_refused +=
            self.sender.stats().requests_refused - requests_before;
        let is_refused = refused(&self.sender) != refused_before;
        if from != Phase::Ended {
            let held = self.judge(turn, header, packet, is_refused);
            turn.checker.note(self.session, held);
        }
        if header.tag != Tag::NONE && !is_refused {
            turn.checker.sessions[self.session].sender_heard(turn.now);
        }
        let is_unknown = matches!(packet, Packet::CloseAck(ack)
            if ack.reason == CloseAckReason::UnknownTag);
        self.count(turn, from, event_of(header.kind, is_unknown));
        true
    }

    /// Holds what became of a packet, of a sender that had not ended, against the rules.
    fn judge(
        &self,
        turn: &mut Turn<'_>,
        header: &Header,
        packet: &Packet<'_>,
        is_refused: bool,
    ) -> Result<(), String> {
        let session = &mut turn.checker.sessions[self.session];
        let verdict = session.sender_judges(header, packet);
        let is_right = match verdict {
            Verdict::Open => true,
            _ => is_refused == (verdict == Verdict::Refused),
        };
        let positions = (self.sender.released(), self.sender.credit());
        let known = (session.sender_positions().0, session.sender_credit());
        let is_moved = verdict != Verdict::Open && positions != known && !self.sender.is_ended();
        if !is_right || is_moved {
            return Err(format!(
                "{header:?} {packet:?}: refused {is_refused}, must be {verdict:?}; the sender is \
                 at {positions:?}, must be at {known:?}"
            ));
        }
        if self.sender.phase() == Phase::Ended {
            return session.check_denial(turn.now, packet, true);
        }
        Ok(())
    }

    /// Does what is due.
    pub(crate) fn run(&mut self, turn: &mut Turn<'_>) {
        let from = self.sender.phase();
        self.sender.handle_timeout(turn.now);
        self.count(turn, from, "silence");
        if !self.sender.is_ended() {
            let held = turn.checker.sessions[self.session].check_patience(turn.now, true);
            turn.checker.note(self.session, held);
        }
        let from = self.sender.phase();
        let session = &mut turn.checker.sessions[self.session];
        let mut pushed = Pushed { sender: &mut self.sender, session };
        let pushed = self.source.run(turn.now, &mut pushed);
        turn.checker.note(self.session, pushed);
        self.count(turn, from, self.source.end_event());
        self.transmit(turn);
        if let Some(end) = self.sender.poll_event() {
            if let Some((from, event)) = self.ended_by.take() {
                let (from, to) = (sender_state(from), ended_state(end));
                turn.checker.transitions.count(Machine::Sender, from, event, to);
            }
            turn.checker.tally.lost_at_source += self.source.lost_in_all();
            turn.checker.sender_ended(self.session, turn.now, end);
        }
    }

    /// When something is due, by the machine's clock; `None` when the stream has ended.
    pub(crate) fn wakes_at(&self, now: Nanos) -> Option<Nanos> {
        let at = self.sender.poll_timeout(now)?;
        let source_at = self.source.next_at(self.sender.free_slots() > 0);
        Some(source_at.map_or(at, |source_at| at.min(source_at)))
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.sender.is_ended()
    }

    fn transmit(&mut self, turn: &mut Turn<'_>) {
        let mut control = [0; CONTROL_BYTES];
        let from = self.sender.phase();
        while let Some(transmit) = self.sender.poll_transmit(turn.now, &mut control) {
            let data = match transmit {
                Transmit::Control { len_bytes } => {
                    self.check_said(turn, &control[..len_bytes]);
                    turn.send_control(self.peer, &control[..len_bytes]);
                    continue;
                }
                Transmit::Data(data) => data,
            };
            self.departure = departure_of(&data);
            let session = &mut turn.checker.sessions[self.session];
            match session.departs(data.seq, self.departure, turn.net.now, turn.now) {
                Ok((payload, is_first)) => {
                    turn.checker.tally.data_packets += 1;
                    turn.checker.tally.repeats += u64::from(!is_first);
                    let parts = [data.head(), &payload, &data.trailer];
                    turn.net.send(turn.me, self.peer, parts, self.padding_bytes, true);
                }
                Err(what) => turn.checker.note(self.session, Err(what)),
            }
        }
        self.count(turn, from, "breaker");
    }

    fn check_said(&mut self, turn: &mut Turn<'_>, bytes: &[u8]) {
        let session = &mut turn.checker.sessions[self.session];
        // The records of a session that is over are gone.
        if self.sender.is_ended() {
            return;
        }
        let held = match wire::parse(bytes) {
            Ok((header, packet)) => {
                self.departure = header.departure;
                session.sender_says(&header, &packet)
            }
            Err(error) => Err(format!("the sender sends no packet: {error}")),
        };
        turn.checker.note(self.session, held);
    }

    fn count(&mut self, turn: &mut Turn<'_>, from: Phase, event: &'static str) {
        let to = self.sender.phase();
        if from == to {
            return;
        }
        let to = match (from, to) {
            (_, Phase::Ended) => return self.ended_by = Some((from, event)),
            (Phase::Closing(_), _) => "Closing(cancelled)",
            _ => sender_state(to),
        };
        turn.checker.transitions.count(Machine::Sender, sender_state(from), event, to);
    }
}

fn departure_of(data: &DataTransmit) -> Departure {
    let bytes = data.head()[DEPARTURE].try_into().expect("four bytes");
    Departure(u32::from_be_bytes(bytes))
}

/// The terms that a sender keeps which breaks the rules so.
fn terms_under(breach: Option<Breach>, terms: Terms) -> Terms {
    match breach {
        None => terms,
        Some(Breach::Form) if terms.payload_offset + 8 > PAYLOAD_OFFSET_MAX => {
            Terms { payload_offset: terms.payload_offset - 8, ..terms }
        }
        Some(Breach::Form) => Terms { payload_offset: terms.payload_offset + 8, ..terms },
        Some(Breach::Jumps) => Terms { packet_samples: terms.packet_samples + 1, ..terms },
        Some(Breach::Retreats) => Terms { packet_samples: terms.packet_samples - 1, ..terms },
    }
}

/// Where a packet's departure stands in its header.
const DEPARTURE: Range<usize> = 18..22;
