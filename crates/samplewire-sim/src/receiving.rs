//! The receiving end of a stream, with its places and its consumer.

use samplewire_proto::receiver::{
    Delivered, Phase, Placement, REPORT_BYTES, Receiver, ReceiverConfig, RecvSlot,
};
use samplewire_proto::stream::Terms;
use samplewire_proto::wire::{self, CloseAckReason, CloseReason, Header, Packet};
use samplewire_proto::{Departure, Nanos, Seq, Tag};

use crate::check::{
    Breach, FINAL_INDEX_MAX, HasRefused, Machine, SessionId, Verdict, event_of, receiver_state,
};
use crate::consumer::{Consumer, ConsumerSpec};
use crate::packets::ProcessId;
use crate::payload;
use crate::process::Turn;
use crate::stream_end::{Facts, Observed, Place};

/// A receiver, its places and its peer.
#[derive(Debug)]
pub(crate) struct ReceiveEnd {
    receiver: Receiver<Vec<RecvSlot>>,
    consumer: Consumer,
    session: SessionId,
    tag: Tag,
    peer_tag: Tag,
    peer: ProcessId,
    /// The newest departure that has come.
    newest: Departure,
    payloads: Vec<[u8; payload::BYTES]>,
    /// Places borrowed from the pool: promised ones, and those under the consumer.
    borrowed: u32,
    wants_places: bool,
}

impl ReceiveEnd {
    pub(crate) fn new(
        turn: &mut Turn<'_>,
        session: SessionId,
        peer: ProcessId,
        terms: Terms,
        config: ReceiverConfig,
        consumer: ConsumerSpec,
    ) -> Self {
        let slots = (terms.window as usize).next_power_of_two();
        let receiver = Receiver::new(terms, config, vec![RecvSlot::default(); slots], turn.now)
            .expect("the plan draws terms that hold");
        turn.checker.sessions[session].receiver_begins(turn.now);
        Self {
            receiver,
            consumer: Consumer::new(consumer, terms.packet_samples, terms.window, turn.rng.fork()),
            session,
            tag: terms.local_tag,
            peer_tag: terms.peer_tag,
            peer,
            newest: Departure(0),
            payloads: vec![[0; payload::BYTES]; slots],
            borrowed: 0,
            wants_places: false,
        }
    }

    pub(crate) const fn session(&self) -> SessionId {
        self.session
    }

    pub(crate) fn facts(&self) -> Facts {
        let limit = self.receiver.limit();
        let place = match self.receiver.phase() {
            phase @ (Phase::Flowing | Phase::Draining { .. }) => Place::Receiver {
                highest_end: limit - self.receiver.credit(),
                limit,
                next_index: self.receiver.next_index(),
                is_draining: matches!(phase, Phase::Draining { .. }),
            },
            _ => Place::Over,
        };
        let Self { session, peer, tag: local_tag, peer_tag, newest, .. } = *self;
        let has_refused = HasRefused::default();
        Facts {
            session,
            peer,
            local_tag,
            peer_tag,
            place,
            now: newest,
            denial_is_early: false,
            has_refused,
        }
    }

    pub(crate) fn observe(&self) -> Observed {
        Observed::receive(&self.receiver)
    }

    /// Says that the socket dropped packets before the one that comes next.
    pub(crate) fn note_drops(&mut self, turn: &mut Turn<'_>, packets: u32) {
        if packets > 0 {
            self.receiver.note_local_drops(packets);
            turn.checker.sessions[self.session].note_drops(packets);
        }
    }

    /// Takes a packet; `false` when it is of another stream.
    pub(crate) fn handle(
        &mut self,
        turn: &mut Turn<'_>,
        header: &Header,
        packet: &Packet<'_>,
        is_marked: bool,
    ) -> bool {
        let from = self.receiver.phase();
        if let Packet::Data(body) = packet {
            if header.tag != self.tag {
                // It is counted, and nothing else.
                let placement = self.receiver.handle_data(turn.now, header, body, is_marked);
                if placement != Placement::Ignore {
                    turn.checker.fail(format!("a packet of another tag is placed: {header:?}"));
                }
                return false;
            }
            self.newest = header.departure;
            self.handle_data(turn, header, body, is_marked);
            self.count(turn, from, "DATA");
            return true;
        }
        let refused_before = self.receiver.stats().refused;
        let is_open = matches!(from, Phase::Flowing | Phase::Draining { .. });
        let place = self.facts().place;
        if !self.receiver.handle(turn.now, header, packet) {
            return false;
        }
        if is_open {
            let is_refused = self.receiver.stats().refused != refused_before;
            let held = self.judge(turn, place, (header, packet), is_refused);
            turn.checker.note(self.session, held);
        }
        let is_unknown = matches!(packet, Packet::CloseAck(ack)
            if ack.reason == CloseAckReason::UnknownTag);
        self.count(turn, from, event_of(header.kind, is_unknown));
        true
    }

    /// Holds what became of a packet, of a receiver that flowed or drained, against the rules.
    fn judge(
        &self,
        turn: &mut Turn<'_>,
        place: Place,
        (header, packet): (&Header, &Packet<'_>),
        is_refused: bool,
    ) -> Result<(), String> {
        let session = &mut turn.checker.sessions[self.session];
        if session.is_forged {
            // What the sender has sent is not known, where the receiver stands is.
            let verdict = forged_verdict(place, header, packet);
            return check_verdict(header, packet, is_refused, verdict);
        }
        let verdict = session.receiver_judges(header, packet);
        if verdict == Verdict::Open {
            let is_breaking = matches!(self.receiver.phase(), Phase::Breaking(_));
            return if is_breaking {
                session.check_denial(turn.now, packet, false)
            } else {
                Ok(())
            };
        }
        check_verdict(header, packet, is_refused, verdict)?;
        match packet {
            Packet::Mark(mark) if !is_refused => {
                session.end_shown(turn.now, header, mark.source_lost);
            }
            Packet::Close(close) if !is_refused => {
                session.end_shown(turn.now, header, close.source_lost);
            }
            _ => {}
        }
        Ok(())
    }

    /// Does what is due.
    pub(crate) fn run(&mut self, turn: &mut Turn<'_>) {
        let from = self.receiver.phase();
        self.receiver.handle_timeout(turn.now);
        let event = match from {
            Phase::Flowing | Phase::Draining { .. } => "silence",
            _ => "time",
        };
        self.count(turn, from, event);
        if matches!(self.receiver.phase(), Phase::Flowing | Phase::Draining { .. }) {
            let held = turn.checker.sessions[self.session].check_patience(turn.now, false);
            turn.checker.note(self.session, held);
        }
        // What has come too late for a player must find its time passed.
        let freed = self.consumer.run(turn.now);
        self.give_back(turn, freed);
        if self.consumer.is_stopped() {
            self.cancel_for(turn, CloseReason::Underflow);
        }
        if let Some(index) = self.consumer.plays() {
            self.receiver.set_consumed(index);
        }
        self.deliver(turn);
        self.grant(turn);
        let mut out = [0; REPORT_BYTES];
        while let Some(len) = self.receiver.poll_transmit(turn.now, &mut out) {
            let session = &mut turn.checker.sessions[self.session];
            let held = match wire::parse(&out[..len]) {
                Ok((header, packet)) => session.receiver_says(turn.now, &header, &packet),
                Err(error) => Err(format!("the receiver sends no packet: {error}")),
            };
            turn.checker.note(self.session, held);
            turn.send_control(self.peer, &out[..len]);
        }
        if let Some(end) = self.receiver.poll_event() {
            turn.checker.receiver_ended(self.session, turn.now, end, self.receiver.stats());
            self.consumer.close(&mut turn.checker.tally);
        }
    }

    /// When something is due, by the machine's clock; `None` when nothing is left to do.
    pub(crate) fn wakes_at(&self, now: Nanos) -> Option<Nanos> {
        let mut at = self.receiver.poll_timeout(now)?;
        if let Some(consumer_at) = self.consumer.next_at() {
            at = at.min(consumer_at);
        }
        // Another stream may give places back.
        let looks_again = self.wants_places.then_some(now + STARVED_PAUSE);
        Some(looks_again.map_or(at, |again| at.min(again)))
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.receiver.is_ended()
    }

    /// Ends the stream from this end.
    pub(crate) fn cancel(&mut self, turn: &mut Turn<'_>) {
        self.cancel_for(turn, CloseReason::Cancelled);
    }

    fn cancel_for(&mut self, turn: &mut Turn<'_>, reason: CloseReason) {
        let from = self.receiver.phase();
        self.receiver.cancel_for(turn.now, reason);
        if self.receiver.phase() != from {
            turn.checker.sessions[self.session].cancelled = Some(reason);
            self.count(turn, from, "cancel");
        }
    }

    /// Gives every place back, at the end or when the process dies.
    pub(crate) fn give_back_all(&mut self, turn: &mut Turn<'_>) {
        self.consumer.end();
        turn.pool.give_back(std::mem::take(&mut self.borrowed));
    }

    fn handle_data(&mut self, turn: &mut Turn<'_>, header: &Header, body: &[u8], is_marked: bool) {
        let takes_data = matches!(self.receiver.phase(), Phase::Flowing | Phase::Draining { .. });
        let placement = self.receiver.handle_data(turn.now, header, body, is_marked);
        if takes_data {
            let session = &mut turn.checker.sessions[self.session];
            let held =
                session.data_handed(turn.now, header, matches!(placement, Placement::Store { .. }));
            match held {
                Ok(true) => turn.checker.measure_arrival(self.session, header, turn.net.now),
                _ => turn.checker.tally.unneeded += 1,
            }
            turn.checker.note(self.session, held.map(|_| ()));
        }
        if let Placement::Store { seq, payload_at } = placement {
            let place = self.place(seq);
            match body[payload_at..].try_into() {
                Ok(payload) => self.payloads[place] = payload,
                Err(_) if turn.checker.sessions[self.session].is_forged => {}
                Err(_) => turn.checker.fail(format!("packet {seq} stored without its payload")),
            }
        }
    }

    fn deliver(&mut self, turn: &mut Turn<'_>) {
        let from = self.receiver.phase();
        let mut freed = 0;
        while self.consumer.has_room()
            && let Some(delivered) = self.receiver.poll_delivery(turn.now)
        {
            let payload = match delivered {
                Delivered::Packet { seq, .. } => Some(&self.payloads[self.place(seq)]),
                _ => None,
            };
            let phase = self.receiver.phase();
            turn.checker.delivered(self.session, turn.now, &delivered, payload, phase);
            freed += self.consumer.take(turn.now, &delivered);
        }
        self.give_back(turn, freed);
        let breach = turn.checker.sessions[self.session].breach;
        let event = match (from, self.receiver.phase(), breach) {
            (Phase::Breaking(_), Phase::Cancelling { .. }, _) => "account violated",
            (_, Phase::Cancelling { .. }, Some(Breach::Form)) => "DATA of another form",
            (_, Phase::Cancelling { .. }, _) => "account violated",
            _ => "all accounted for",
        };
        self.count(turn, from, event);
    }

    fn give_back(&mut self, turn: &mut Turn<'_>, places: u32) {
        self.borrowed -= places;
        turn.pool.give_back(places);
    }

    /// Promises what the pool lends.
    fn grant(&mut self, turn: &mut Turn<'_>) {
        if !matches!(self.receiver.phase(), Phase::Flowing | Phase::Draining { .. }) {
            return;
        }
        let wanted = self.receiver.promise_end().distance(self.receiver.limit()).max(0) as u32;
        let lent = turn.pool.lend(wanted);
        self.wants_places = lent < wanted;
        self.borrowed += lent;
        let limit = self.receiver.limit() + lent;
        self.receiver.grant(limit);
        let session = &mut turn.checker.sessions[self.session];
        let held = session.promised(limit, self.borrowed, self.consumer.held());
        turn.checker.note(self.session, held);
    }

    fn place(&self, seq: Seq) -> usize {
        seq.0 as usize & (self.payloads.len() - 1)
    }

    fn count(&self, turn: &mut Turn<'_>, from: Phase, event: &'static str) {
        let to = self.receiver.phase();
        let (from, to) = (receiver_state(from), receiver_state(to));
        turn.checker.transitions.count(Machine::Receiver, from, event, to);
    }
}

/// What a receiver that flows must do with a MARK or CLOSE, by where it stands.
fn forged_verdict(place: Place, header: &Header, packet: &Packet<'_>) -> Verdict {
    let Place::Receiver { highest_end, limit, next_index, is_draining: false } = place else {
        return Verdict::Open;
    };
    let seq = header.seq;
    let is_taken = match packet {
        Packet::Mark(mark) => !limit.before(seq) && !seq.before(mark.oldest),
        Packet::Close(_) => {
            let is_within = !seq.before(highest_end) && !limit.before(seq);
            is_within && (next_index..=FINAL_INDEX_MAX).contains(&header.index)
        }
        _ => return Verdict::Open,
    };
    if is_taken { Verdict::Taken } else { Verdict::Refused }
}

fn check_verdict(
    header: &Header,
    packet: &Packet<'_>,
    is_refused: bool,
    verdict: Verdict,
) -> Result<(), String> {
    let rule = if matches!(packet, Packet::Close(_)) { "7.2" } else { "7.12" };
    if verdict == Verdict::Open || is_refused == (verdict == Verdict::Refused) {
        return Ok(());
    }
    Err(format!(
        "{header:?} {packet:?}: refused {is_refused}, must be {verdict:?} by docs/protocol.md#{rule}"
    ))
}

/// How often a stream without credit looks whether the pool has places again.
const STARVED_PAUSE: Nanos = Nanos::from_micros(500);
