//! The sending end of a stream, with its source.

use samplewire_proto::sender::{CONTROL_BYTES, SendSlot, Sender, SenderConfig, Transmit};
use samplewire_proto::stream::Terms;
use samplewire_proto::wire::{CloseAckReason, Header, Packet};
use samplewire_proto::{Nanos, Tag};

use crate::check::{Machine, SessionId, Side, event_of, sender_state};
use crate::packets::ProcessId;
use crate::process::Turn;
use crate::source::{Source, SourceSpec};

/// A sender, its source and its peer.
#[derive(Debug)]
pub(crate) struct SendEnd {
    sender: Sender<Vec<SendSlot>>,
    source: Source,
    session: SessionId,
    peer: ProcessId,
    padding_bytes: u32,
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
        let sender =
            Sender::new(terms, config, slots, turn.now).expect("the plan draws terms that hold");
        let known = &mut turn.checker.sessions[session];
        known.sender = Side::Live;
        known.sender_heard(turn.now);
        Self {
            sender,
            source: Source::new(source, terms.first_index, turn.now, turn.rng.fork()),
            session,
            peer,
            padding_bytes: known.agreed.padding_bytes,
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
        if header.tag != Tag::NONE && refused(&self.sender) == refused_before {
            turn.checker.sessions[self.session].sender_heard(turn.now);
        }
        let is_unknown = matches!(packet, Packet::CloseAck(ack)
            if ack.reason == CloseAckReason::UnknownTag);
        self.count(turn, from, event_of(header.kind, is_unknown));
        true
    }

    /// Does what is due.
    pub(crate) fn run(&mut self, turn: &mut Turn<'_>) {
        let from = self.sender.phase();
        self.sender.handle_timeout(turn.now);
        self.count(turn, from, "silence");
        let from = self.sender.phase();
        let session = &mut turn.checker.sessions[self.session];
        let pushed = self.source.run(turn.now, &mut self.sender, session);
        turn.checker.note(self.session, pushed);
        self.count(turn, from, self.source.end_event());
        self.transmit(turn);
        if let Some(end) = self.sender.poll_event() {
            turn.checker.sender_ended(self.session, turn.now, end);
        }
    }

    /// When something is due, by the machine's clock; `None` when the stream has ended.
    pub(crate) fn wakes_at(&self, now: Nanos) -> Option<Nanos> {
        let at = self.sender.poll_timeout(now)?;
        let source_at = self.source.next_at(self.sender.free_slots());
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
                    turn.send_control(self.peer, &control[..len_bytes]);
                    continue;
                }
                Transmit::Data(data) => data,
            };
            let session = &mut turn.checker.sessions[self.session];
            match session.departs(data.seq, turn.net.now) {
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

    fn count(
        &self,
        turn: &mut Turn<'_>,
        from: samplewire_proto::sender::Phase,
        event: &'static str,
    ) {
        let to = self.sender.phase();
        if from != to {
            let (from, to) = (sender_state(from), sender_state(to));
            turn.checker.transitions.count(Machine::Sender, from, event, to);
        }
    }
}
