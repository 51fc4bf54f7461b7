//! A stream of an endpoint, as the checker knows it.

use std::net::SocketAddr;

use samplewire::stepped::{Machine as StreamMachine, Stepped, View};
use samplewire_proto::stream::End;
use samplewire_proto::wire::{CloseAckReason, CloseReason, Header, Packet};
use samplewire_proto::{Departure, Nanos, Tag, receiver, sender};

use super::Turn;
use crate::check::{
    Breach, Machine, Session, SessionId, ended_state, event_of, receiver_state, sender_state,
};
use crate::net::process_at;
use crate::packets::ProcessId;

/// A stream of the endpoint, as the checker knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) session: SessionId,
    pub(crate) place: usize,
    pub(crate) tag: Tag,
    pub(crate) peer_tag: Tag,
    pub(crate) peer: ProcessId,
    /// The newest departure: a sender's own, or of what has come to a receiver.
    pub(super) newest: Departure,
    pub(super) state: State,
    /// What the socket had dropped when the last packet of the stream came.
    pub(super) dropped: Option<u32>,
    /// Its machine has ended.
    pub(super) is_ended: bool,
    /// The endpoint has let go of it.
    pub(crate) is_gone: bool,
}

/// One end of a session that begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) session: SessionId,
    /// By the machine's clock.
    pub(crate) at: Nanos,
    /// The tags of packets to this end and from it.
    pub(crate) tag: Tag,
    pub(crate) peer_tag: Tag,
    pub(crate) peer: ProcessId,
    /// How the end breaks the rules, if it sends and does.
    pub(crate) breach: Option<Breach>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    Sending(sender::Phase),
    Receiving(receiver::Phase),
}

impl Known {
    pub(super) fn new(view: &View<'_>, begun: &Begun) -> Self {
        let (state, newest) = match view.machine {
            StreamMachine::Sending(it) => (State::Sending(it.phase()), Departure::at(begun.at)),
            StreamMachine::Receiving(it) => (State::Receiving(it.phase()), Departure(0)),
            StreamMachine::Opening(_) => unreachable!("an opening has no session"),
        };
        let View { place, tag, .. } = *view;
        let Begun { session, peer_tag, peer, .. } = *begun;
        Self {
            session,
            place,
            tag,
            peer_tag,
            peer,
            newest,
            state,
            dropped: None,
            is_ended: false,
            is_gone: false,
        }
    }

    pub(crate) const fn is_sender(&self) -> bool {
        matches!(self.state, State::Sending(_))
    }

    /// Counts how a sender has ended that the endpoint has let go of.
    pub(crate) fn count_end(&self, turn: &mut Turn<'_>, end: End) {
        if let State::Sending(from) = self.state {
            let (from, to) = (sender_state(from), ended_state(end));
            turn.checker.transitions.infer_end(Machine::Sender, from, to);
        }
    }

    /// Whether a packet carries what only its peer knows.
    pub(crate) fn is_named_by(&self, header: &Header, packet: &Packet<'_>) -> bool {
        match packet {
            Packet::CloseAck(ack) if ack.reason == CloseAckReason::UnknownTag => {
                ack.echoed_tag == self.peer_tag
            }
            _ => header.tag == self.tag,
        }
    }

    /// Whether the stream may have sent a packet to `to`. An attacker can open two streams that send
    /// with the same tag; the tag that a CLOSE_ACK echoes is the stream's own (`docs/protocol.md#2.18`).
    pub(super) fn may_send(&self, to: ProcessId, header: &Header, packet: &Packet<'_>) -> bool {
        let echoes_own = match packet {
            Packet::CloseAck(ack) => ack.echoed_tag == self.tag,
            _ => true,
        };
        (self.peer, self.peer_tag) == (to, header.tag) && echoes_own
    }

    /// Counts what the state of a stream has become in a turn.
    pub(super) fn note_transition(
        &mut self,
        turn: &mut Turn<'_>,
        machine: Option<StreamMachine<'_>>,
        came: Option<&(Header, Packet<'_>)>,
    ) {
        let came = came.filter(|(header, packet)| self.is_named_by(header, packet));
        let event = came.map(|(header, packet)| {
            let is_unknown = matches!(packet, Packet::CloseAck(ack)
                if ack.reason == CloseAckReason::UnknownTag);
            event_of(header.kind, is_unknown)
        });
        let transitions = &mut turn.checker.transitions;
        match (self.state, machine) {
            (State::Sending(from), Some(StreamMachine::Sending(sender))) => {
                let to = sender.phase();
                // How it has ended is known once the endpoint lets go of it.
                if to != sender::Phase::Ended && from != to {
                    let has_failed = to == sender::Phase::Closing(CloseReason::QueuePairFailed);
                    let to_name = match (from, to) {
                        (sender::Phase::Closing(_), _) if !has_failed => "Closing(cancelled)",
                        _ => sender_state(to),
                    };
                    let from_name = sender_state(from);
                    if has_failed {
                        let event = "queue pair failed";
                        transitions.count(Machine::Sender, from_name, event, to_name);
                    } else {
                        transitions.infer(Machine::Sender, from_name, event, to_name);
                    }
                    self.state = State::Sending(to);
                }
            }
            (State::Receiving(from), Some(StreamMachine::Receiving(receiver))) => {
                let to = receiver.phase();
                let session = &turn.checker.sessions[self.session];
                let cause = match (to, session.breach) {
                    (receiver::Phase::Cancelling { .. }, _) if session.cancelled.is_some() => {
                        "cancel"
                    }
                    (receiver::Phase::Cancelling { .. }, Some(Breach::Form)) => {
                        "DATA of another form"
                    }
                    (receiver::Phase::Cancelling { .. }, _) => "account violated",
                    _ => event.unwrap_or("time"),
                };
                let event = event.map(|_| cause).or(Some(cause).filter(|it| *it != "time"));
                transitions.infer(
                    Machine::Receiver,
                    receiver_state(from),
                    event,
                    receiver_state(to),
                );
                self.state = State::Receiving(to);
            }
            (State::Receiving(from), None) => {
                transitions.infer(Machine::Receiver, receiver_state(from), event, "Ended");
                self.state = State::Receiving(receiver::Phase::Ended);
            }
            _ => {}
        }
    }
}

/// The machine of a stream that is known, until the endpoint lets go of it.
pub(super) fn machine_of<'a>(stepped: &'a Stepped, known: &Known) -> Option<StreamMachine<'a>> {
    if known.is_gone {
        return None;
    }
    let mut views = stepped.views_at(known.place);
    views.find(|view| view.tag == known.tag).map(|view| view.machine)
}

/// The stream whose sender has sent a packet. An attacker may have opened two whose packets bear
/// the same tag.
pub(super) fn sender_of<'a>(
    known: &'a mut [Known],
    sessions: &[Session],
    to: SocketAddr,
    header: &Header,
    packet: &Packet<'_>,
) -> Option<&'a mut Known> {
    let to = process_at(to).filter(|_| is_of_stream(packet))?;
    let is_of = |it: &Known| it.is_sender() && it.may_send(to, header, packet);
    known.iter_mut().filter(|it| is_of(it)).for_each(|it| it.newest = header.departure);
    let is_within = |it: &Known| {
        let (oldest, sent) = sessions[it.session].sender_positions();
        header.seq.within(oldest, sent + 1)
    };
    let place = known.iter().position(|it| is_of(it) && is_within(it));
    known.get_mut(place.or_else(|| known.iter().position(is_of))?)
}

/// Whether a packet is one of a stream that its sender knows.
pub(super) const fn is_of_stream(packet: &Packet<'_>) -> bool {
    match packet {
        Packet::Open(_) | Packet::Challenge(_) | Packet::Accept(_) | Packet::Refuse(_) => false,
        Packet::CloseAck(ack) => !matches!(ack.reason, CloseAckReason::UnknownTag),
        _ => true,
    }
}
