//! An endpoint with its link, and what the checker sees of each of its turns.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use samplewire::stepped::{Machine as StreamMachine, Rest, Stepped, View};
use samplewire_io::{Ecn, Link, Meta};
use samplewire_proto::receiver::{self, Receiver, RecvSlot};
use samplewire_proto::sender::{self, SendSlot, Sender};
use samplewire_proto::session::{OpenPhase, Peer};
use samplewire_proto::stream::End;
use samplewire_proto::wire::{self, CloseAckReason, Header, Packet, WireError};
use samplewire_proto::{Departure, Nanos, Tag};

use super::breach;
use super::link::{Departed, MailLink, Mailbox, lock};
use super::{Arrival, Facts, Observed, Place, Turn};
use crate::check::{
    Breach, FINAL_INDEX_MAX, HasRefused, Machine, Progress, Session, SessionId, Verdict,
    ended_state, event_of, receiver_state, sender_state,
};
use crate::dialect;
use crate::net::{address_of_peer, peer_at, process_at, process_of};
use crate::packets::ProcessId;

/// What runs, and what is known of it.
#[derive(Debug)]
pub(crate) struct Endpoint {
    /// `None` once nothing is left to do.
    stepped: Option<Stepped>,
    mailbox: Arc<Mutex<Mailbox>>,
    departed: Departed,
    known: Vec<Known>,
    /// When it is to be turned again, by the machine's clock.
    due_at: Nanos,
    /// What its socket had dropped when the last packet came.
    dropped: Option<u32>,
    /// It speaks another version of the protocol.
    is_foreign: bool,
}

/// A stream of the endpoint, as the checker knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) session: SessionId,
    pub(crate) place: usize,
    pub(crate) tag: Tag,
    pub(crate) peer_tag: Tag,
    pub(crate) peer: ProcessId,
    /// The newest departure: a sender's own, or of what has come to a receiver.
    newest: Departure,
    state: State,
    /// What the socket had dropped when the last packet of the stream came.
    dropped: Option<u32>,
    /// Its machine has ended.
    is_ended: bool,
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
enum State {
    Sending(sender::Phase),
    Receiving(receiver::Phase),
}

/// A packet that comes, and what it says.
#[derive(Clone, Copy)]
struct Came<'a> {
    arrival: &'a Arrival,
    bytes: &'a [u8],
    parsed: Option<&'a (Header, Packet<'a>)>,
}

impl Known {
    fn new(view: &View<'_>, begun: &Begun) -> Self {
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
}

impl Endpoint {
    /// An endpoint that `make` makes over its link.
    pub(crate) fn new<T>(
        turn: &Turn<'_>,
        is_foreign: bool,
        make: impl FnOnce(Box<dyn Link>) -> (T, Stepped),
    ) -> (T, Self) {
        let mailbox = Arc::new(Mutex::new(Mailbox::default()));
        let link = MailLink::new(turn.me, &mailbox).expect("a process has descriptors left");
        let (made, stepped) = make(Box::new(link));
        let endpoint = Self {
            stepped: Some(stepped),
            mailbox,
            departed: Departed::default(),
            known: vec![],
            due_at: turn.now,
            dropped: None,
            is_foreign,
        };
        (made, endpoint)
    }

    /// Whether nothing is left to do.
    pub(crate) const fn is_over(&self) -> bool {
        self.stepped.is_none()
    }

    /// When to turn it again, by the machine's clock.
    pub(crate) const fn due_at(&self) -> Nanos {
        self.due_at
    }

    pub(crate) fn views(&self) -> impl Iterator<Item = View<'_>> {
        self.stepped.iter().flat_map(Stepped::views)
    }

    pub(crate) fn known(&self) -> &[Known] {
        &self.known
    }

    /// Begins to check a stream of the endpoint.
    pub(crate) fn know(&mut self, turn: &mut Turn<'_>, begun: &Begun) {
        let Some(view) = self.views().find(|view| view.tag == begun.tag) else { return };
        let mut known = Known::new(&view, begun);
        let window = match view.machine {
            StreamMachine::Receiving(receiver) => receiver.window(),
            _ => 0,
        };
        known.dropped = self.dropped.filter(|_| view.peer_tag.is_some());
        let session = &mut turn.checker.sessions[begun.session];
        match known.state {
            State::Sending(_) => session.sender_begins(begun.at, begun.breach),
            State::Receiving(_) => {
                session.agreed.receive_window = window;
                session.awaits_program = true;
                session.receiver_begins(begun.at);
            }
        }
        self.known.push(known);
    }

    /// Forgets the streams that the endpoint has let go of, and returns them.
    pub(crate) fn take_gone(&mut self) -> Vec<Known> {
        if self.known.iter().all(|known| !known.is_gone) {
            return vec![];
        }
        let (gone, known) = self.known.drain(..).partition(|known| known.is_gone);
        self.known = known;
        gone
    }

    /// Turns the endpoint until nothing is left to do at once.
    pub(crate) fn settle(&mut self, turn: &mut Turn<'_>) {
        for _ in 0..TURNS_MAX {
            self.turn(turn, None, &mut |_, _, _| {});
            if self.is_over() || self.due_at > turn.now {
                return self.check_rest(turn);
            }
        }
        turn.checker.fail(format!("process {}: {TURNS_MAX} turns at one instant", turn.me));
    }

    /// Holds that an endpoint does not rest beyond what its machines wait for.
    fn check_rest(&self, turn: &mut Turn<'_>) {
        for (known, machine) in self.open() {
            let at = match machine {
                StreamMachine::Sending(sender) => sender.poll_timeout(turn.now),
                StreamMachine::Receiving(receiver) => receiver.poll_timeout(turn.now),
                StreamMachine::Opening(_) => None,
            };
            // Times are reckoned from departures, in their units.
            let is_early = |at: &Nanos| *at + Nanos(Departure::UNIT_NS) < self.due_at;
            let is_to_come = self.due_at.since(turn.now) > Nanos(2 * Departure::UNIT_NS);
            if let Some(at) = at.filter(|at| is_to_come && is_early(at)) {
                let what = format!("rests until {} and is due at {}", self.due_at.0, at.0);
                return turn.checker.note(known.session, Err(what));
            }
        }
    }

    /// Turns it once. `on_other` sees what departed that is of no stream that is known.
    pub(crate) fn turn_once(
        &mut self,
        turn: &mut Turn<'_>,
        on_other: &mut dyn FnMut(&mut Turn<'_>, Peer, &[u8]),
    ) {
        self.turn(turn, None, on_other);
    }

    /// Holds what the streams have sent that have begun in the last turn and are known since.
    pub(crate) fn check_first(&self, turn: &mut Turn<'_>, departed: &[(Peer, Vec<u8>)]) {
        for (to, bytes) in departed {
            let Ok((header, packet)) = wire::parse(bytes) else { continue };
            let to = process_of(to).filter(|_| is_of_stream(&packet));
            let is_of = |it: &&Known| to == Some(it.peer) && it.peer_tag == header.tag;
            let Some(known) = self.known.iter().find(is_of) else { continue };
            if let Some(StreamMachine::Receiving(receiver)) =
                self.stepped.as_ref().and_then(|it| machine_of(it, known))
            {
                advance_receiver(turn, known, receiver);
            }
            let session = &mut turn.checker.sessions[known.session];
            let held = if known.is_sender() {
                session.sender_says(&header, &packet)
            } else {
                session.receiver_says(turn.now, &header, &packet)
            };
            turn.checker.note(known.session, held);
        }
    }

    /// Gives it a packet. `on_other` sees what departed that is of no stream that is known.
    pub(crate) fn take(
        &mut self,
        turn: &mut Turn<'_>,
        arrival: &Arrival,
        bytes: &[u8],
        on_other: &mut dyn FnMut(&mut Turn<'_>, Peer, &[u8]),
    ) {
        let translated = self.is_foreign.then(|| {
            let mut own = bytes.to_vec();
            dialect::translate(&mut own);
            own
        });
        let bytes = translated.as_deref().unwrap_or(bytes);
        let parsed = wire::parse(bytes).ok();
        self.turn(turn, Some(Came { arrival, bytes, parsed: parsed.as_ref() }), on_other);
    }

    fn turn(
        &mut self,
        turn: &mut Turn<'_>,
        came: Option<Came<'_>>,
        on_other: &mut dyn FnMut(&mut Turn<'_>, Peer, &[u8]),
    ) -> Option<Rest> {
        let stepped = self.stepped.as_mut()?;
        if let Some(came) = &came {
            let (peer, dropped) = (address_of_peer(&came.arrival.from), Some(came.arrival.dropped));
            let ecn = if came.arrival.is_marked { Ecn::Ce } else { Ecn::Ect0 };
            let meta = Meta { peer, ecn, dropped, packets_per_drop: 1 };
            lock(&self.mailbox).put(came.bytes, meta);
        }
        let before: Vec<Counts> = self.known.iter().map(|it| Counts::of(stepped, it)).collect();
        let rest = stepped.turn(turn.now);
        let mut departed = std::mem::take(&mut self.departed);
        lock(&self.mailbox).take(&mut departed);
        for known in &mut self.known {
            match machine_of(stepped, known) {
                Some(StreamMachine::Sending(sender)) => {
                    known.is_ended = sender.is_ended();
                    note_pushed(turn, known, sender);
                }
                Some(_) => {}
                None => known.is_ended = true,
            }
        }
        self.break_rules(turn, &mut departed);
        self.check_senders(turn, &departed);
        let stepped = self.stepped.as_ref().expect("it was there");
        if let Some(came) = &came {
            self.dropped = Some(came.arrival.dropped);
            for (known, before) in self.known.iter_mut().zip(&before) {
                if known.is_gone {
                    continue;
                }
                let after = Counts::of(stepped, known);
                check_arrival(turn, known, came, machine_of(stepped, known), before, &after);
            }
        }
        for known in &mut self.known {
            match machine_of(stepped, known) {
                Some(StreamMachine::Receiving(receiver)) => advance_receiver(turn, known, receiver),
                Some(_) => {}
                None => known.is_gone = true,
            }
        }
        self.check_receivers(turn, &departed, on_other);
        let event = came.as_ref().and_then(|came| came.parsed);
        let stepped = self.stepped.as_ref().expect("it was there");
        for known in &mut self.known {
            note_transition(turn, known, machine_of(stepped, known), event);
        }
        self.send(turn, &departed);
        self.departed = departed;
        self.note_rest(turn.now, rest);
        rest
    }

    fn note_rest(&mut self, now: Nanos, rest: Option<Rest>) {
        match rest {
            Some(Rest::No) => self.due_at = now,
            // A driver that does not pause takes what comes sooner.
            Some(Rest::Until(at) | Rest::Room(at) | Rest::Pause(at)) => self.due_at = at,
            None => self.stepped = None,
        }
    }
}

impl Endpoint {
    /// Changes what is sent by senders that break the rules.
    fn break_rules(&self, turn: &Turn<'_>, departed: &mut Departed) {
        for known in self.known.iter().filter(|known| known.is_sender()) {
            let session = &turn.checker.sessions[known.session];
            let Some(breach) = session.breach else { continue };
            departed.change(|to, bytes| {
                let is_of = wire::parse(bytes).is_ok_and(|(header, packet)| {
                    let names = (process_at(to), header.tag);
                    is_of_stream(&packet) && names == (Some(known.peer), known.peer_tag)
                });
                is_of && breach::change(breach, session.agreed.first_seq, bytes)
            });
        }
    }

    /// Holds what senders have sent against what they may send: they send before they look at what
    /// has come.
    fn check_senders(&mut self, turn: &mut Turn<'_>, departed: &Departed) {
        for (packet, bytes) in departed.iter() {
            let (header, body) = match wire::parse(bytes) {
                Ok(parsed) => parsed,
                // An answer to a packet of another version.
                Err(WireError::Version { .. }) => continue,
                Err(error) => {
                    let what =
                        format!("process {} sends no packet: {error}: {bytes:02x?}", turn.me);
                    turn.checker.fail(what);
                    continue;
                }
            };
            let sessions = &turn.checker.sessions;
            let Some(known) = sender_of(&mut self.known, sessions, packet.to, (&header, &body))
            else {
                continue;
            };
            let session = &mut turn.checker.sessions[known.session];
            let held = match body {
                Packet::Data(_) => {
                    let end = header.seq + 1;
                    // Of an end that came with this departure only that is seen.
                    let is_last = known.is_ended && session.is_ahead(end);
                    let pushed = if is_last { session.push_up_to(end, false) } else { Ok(()) };
                    let departs = pushed.and_then(|()| {
                        session.departs(header.seq, header.departure, turn.net.now, turn.now)
                    });
                    departs.map(|(_, is_first)| {
                        turn.checker.tally.data_packets += 1;
                        turn.checker.tally.repeats += u64::from(!is_first);
                    })
                }
                // The records of a session that is over are gone.
                _ if known.is_ended => Ok(()),
                _ => session.sender_says(&header, &body),
            };
            turn.checker.note(known.session, held);
        }
    }

    /// Holds what receivers have sent against what they know after the packet that came.
    fn check_receivers(
        &self,
        turn: &mut Turn<'_>,
        departed: &Departed,
        on_other: &mut dyn FnMut(&mut Turn<'_>, Peer, &[u8]),
    ) {
        for (packet, bytes) in departed.iter() {
            let Ok((header, body)) = wire::parse(bytes) else {
                on_other(turn, peer_at(packet.to), bytes);
                continue;
            };
            let to = process_at(packet.to);
            let is_of = |it: &&Known| to == Some(it.peer) && it.peer_tag == header.tag;
            let known = self.known.iter().find(is_of);
            match known.filter(|_| is_of_stream(&body)) {
                Some(known) if known.is_sender() || known.is_gone => {}
                Some(known) => {
                    let session = &mut turn.checker.sessions[known.session];
                    let held = session.receiver_says(turn.now, &header, &body);
                    turn.checker.note(known.session, held);
                }
                None => on_other(turn, peer_at(packet.to), bytes),
            }
        }
    }

    fn send(&self, turn: &mut Turn<'_>, departed: &Departed) {
        for (packet, bytes) in departed.iter() {
            // What goes to an address where no process is is lost.
            let Some(to) = process_at(packet.to) else { continue };
            if !turn.net.has_route(turn.me, to) {
                continue;
            }
            let padding_bytes = match wire::parse(bytes) {
                Ok((header, Packet::Data(_))) => {
                    let known = self.known.iter().find(|it| it.peer_tag == header.tag);
                    known.map_or(0, |it| turn.checker.sessions[it.session].agreed.padding_bytes)
                }
                _ => 0,
            };
            if self.is_foreign {
                let mut own = bytes.to_vec();
                dialect::translate(&mut own);
                turn.net.send(turn.me, to, [&own, &[], &[]], padding_bytes, packet.is_ect);
                continue;
            }
            turn.net.send(turn.me, to, [bytes, &[], &[]], padding_bytes, packet.is_ect);
        }
    }

    /// What somebody on the path knows of each stream.
    pub(crate) fn facts(&self) -> impl Iterator<Item = Facts> + '_ {
        self.open().map(|(known, machine)| {
            let place = match machine {
                StreamMachine::Sending(sender) => place_of_sender(sender),
                StreamMachine::Receiving(receiver) => place_of_receiver(receiver),
                StreamMachine::Opening(_) => Place::Over,
            };
            Facts {
                session: known.session,
                peer: known.peer,
                local_tag: known.tag,
                peer_tag: known.peer_tag,
                place,
                now: known.newest,
                denial_is_early: false,
                has_refused: HasRefused::default(),
            }
        })
    }

    /// All that packets may change of each stream.
    pub(crate) fn observe(&self) -> impl Iterator<Item = Observed> + '_ {
        self.open().filter_map(|(_, machine)| match machine {
            StreamMachine::Sending(sender) => Some(Observed::send(sender)),
            StreamMachine::Receiving(receiver) => Some(Observed::receive(receiver)),
            StreamMachine::Opening(_) => None,
        })
    }

    /// The phase and the tag of the opening under way.
    pub(crate) fn opening(&self) -> Option<(OpenPhase, Tag)> {
        self.views().find_map(|view| match view.machine {
            StreamMachine::Opening(opener) => Some((opener.phase(), opener.tag())),
            _ => None,
        })
    }

    /// Drops of its socket that it has noted.
    pub(crate) fn dropped(&self) -> u32 {
        self.dropped.unwrap_or(0)
    }

    fn open(&self) -> impl Iterator<Item = (&Known, StreamMachine<'_>)> {
        let stepped = self.stepped.as_ref();
        self.known.iter().filter_map(move |known| Some((known, machine_of(stepped?, known)?)))
    }
}

/// The machine of a stream that is known, until the endpoint lets go of it.
fn machine_of<'a>(stepped: &'a Stepped, known: &Known) -> Option<StreamMachine<'a>> {
    if known.is_gone {
        return None;
    }
    let is_of = |view: &View<'a>| (view.place, view.tag) == (known.place, known.tag);
    stepped.views().find(is_of).map(|view| view.machine)
}

/// The stream whose sender has sent a packet. Somebody hostile may have opened two whose packets bear
/// the same tag.
fn sender_of<'a>(
    known: &'a mut [Known],
    sessions: &[Session],
    to: SocketAddr,
    (header, packet): (&Header, &Packet<'_>),
) -> Option<&'a mut Known> {
    let to = process_at(to).filter(|_| is_of_stream(packet))?;
    let is_of = |it: &Known| it.is_sender() && (it.peer, it.peer_tag) == (to, header.tag);
    known.iter_mut().filter(|it| is_of(it)).for_each(|it| it.newest = header.departure);
    let is_within = |it: &Known| {
        let (oldest, sent) = sessions[it.session].sender_positions();
        header.seq.within(oldest, sent + 1)
    };
    let place = known.iter().position(|it| is_of(it) && is_within(it));
    known.get_mut(place.or_else(|| known.iter().position(is_of))?)
}

/// Whether a packet is one of a stream that its sender knows.
const fn is_of_stream(packet: &Packet<'_>) -> bool {
    match packet {
        Packet::Open(_) | Packet::Challenge(_) | Packet::Accept(_) | Packet::Refuse(_) => false,
        Packet::CloseAck(ack) => !matches!(ack.reason, CloseAckReason::UnknownTag),
        _ => true,
    }
}

/// What packets make a machine count, and where it stands.
#[derive(Clone, Copy, Debug)]
struct Counts {
    refused: u64,
    requests_refused: u64,
    /// DATA that was taken, and of it what was not needed.
    received: u64,
    unneeded: u64,
    place: Place,
}

impl Counts {
    fn of(stepped: &Stepped, known: &Known) -> Self {
        let none =
            Self { refused: 0, requests_refused: 0, received: 0, unneeded: 0, place: Place::Over };
        match machine_of(stepped, known) {
            Some(StreamMachine::Sending(sender)) => {
                let stats = sender.stats();
                let refused = stats.reports_refused + stats.closes_refused + stats.unexpected;
                let place = place_of_sender(sender);
                Self { refused, requests_refused: stats.requests_refused, place, ..none }
            }
            Some(StreamMachine::Receiving(receiver)) => {
                let stats = receiver.stats();
                let (received, unneeded) = (stats.received, stats.duplicates + stats.late);
                let place = place_of_receiver(receiver);
                Self { refused: stats.refused, received, unneeded, place, ..none }
            }
            Some(StreamMachine::Opening(_)) | None => none,
        }
    }
}

fn place_of_sender(sender: &Sender<Box<[SendSlot]>>) -> Place {
    let (oldest, next) = (sender.released(), sender.next_seq());
    let sent = next - sender.waiting();
    match sender.phase() {
        sender::Phase::Ended => Place::Over,
        phase => {
            let is_closing = matches!(phase, sender::Phase::Closing(_));
            Place::Sender { oldest, sent, next, is_closing }
        }
    }
}

fn place_of_receiver(receiver: &Receiver<Box<[RecvSlot]>>) -> Place {
    let limit = receiver.limit();
    match receiver.phase() {
        phase @ (receiver::Phase::Flowing | receiver::Phase::Draining { .. }) => Place::Receiver {
            highest_end: limit - receiver.credit(),
            limit,
            next_index: receiver.next_index(),
            is_draining: matches!(phase, receiver::Phase::Draining { .. }),
        },
        _ => Place::Over,
    }
}

/// Notes what a sender has taken of its program.
fn note_pushed(turn: &mut Turn<'_>, known: &Known, sender: &Sender<Box<[SendSlot]>>) {
    let is_closing = matches!(sender.phase(), sender::Phase::Closing(_) | sender::Phase::Ended);
    let held = turn.checker.sessions[known.session].push_up_to(sender.next_seq(), is_closing);
    turn.checker.note(known.session, held);
    if !sender.is_ended() {
        let held = turn.checker.sessions[known.session].check_patience(turn.now, true);
        turn.checker.note(known.session, held);
    }
}

/// Holds what became of a packet of a stream against the rules.
fn check_arrival(
    turn: &mut Turn<'_>,
    known: &mut Known,
    came: &Came<'_>,
    machine: Option<StreamMachine<'_>>,
    before: &Counts,
    after: &Counts,
) {
    if process_of(&came.arrival.from) != Some(known.peer) {
        return;
    }
    note_drops(turn, known, came);
    let Some((header, packet)) = came.parsed else { return };
    if !known.is_named_by(header, packet) {
        return;
    }
    let is_refused = after.refused != before.refused && machine.is_some();
    let held = match (known.state, machine) {
        (State::Sending(_), _) if matches!(before.place, Place::Over) => Ok(()),
        (State::Sending(_), None) => Ok(()),
        (State::Sending(_), Some(StreamMachine::Sending(sender))) => {
            turn.checker.tally.requests_refused += after.requests_refused - before.requests_refused;
            let session = &mut turn.checker.sessions[known.session];
            let held = judge_sender(turn.now, session, sender, (header, packet), is_refused);
            if header.tag != Tag::NONE && !is_refused {
                session.sender_heard(turn.now);
            }
            held
        }
        (State::Receiving(phase), machine) => {
            let is_open =
                matches!(phase, receiver::Phase::Flowing | receiver::Phase::Draining { .. });
            if let Packet::Data(_) = packet {
                known.newest = header.departure;
                if is_open { take_data(turn, known, header, before, after) } else { Ok(()) }
            } else if is_open {
                let is_breaking = match machine {
                    Some(StreamMachine::Receiving(receiver)) => {
                        matches!(receiver.phase(), receiver::Phase::Breaking(_))
                    }
                    _ => true,
                };
                let session = &mut turn.checker.sessions[known.session];
                let outcome = Outcome { is_refused, is_breaking, place: before.place };
                judge_receiver(turn.now, session, (header, packet), &outcome)
            } else {
                Ok(())
            }
        }
        (State::Sending(_), Some(_)) => Err("a sender became something else".into()),
    };
    turn.checker.note(known.session, held);
}

/// Notes what the socket dropped before a packet, where the endpoint counts it with the stream.
fn note_drops(turn: &mut Turn<'_>, known: &mut Known, came: &Came<'_>) {
    // An end that was opened counts all packets of the peer; one that has opened those with a tag.
    let session = &turn.checker.sessions[known.session];
    let is_opener = session.agreed.listener != turn.me;
    let counts = match came.parsed {
        Some((header, packet)) => {
            !is_opener || header.tag != Tag::NONE || known.is_named_by(header, packet)
        }
        None => !is_opener,
    };
    if known.is_sender() || !counts {
        return;
    }
    let dropped = came.arrival.dropped;
    let before = known.dropped.replace(dropped).unwrap_or(dropped);
    let fresh = dropped.wrapping_sub(before);
    turn.checker.sessions[known.session].note_drops(fresh);
}

fn take_data(
    turn: &mut Turn<'_>,
    known: &Known,
    header: &Header,
    before: &Counts,
    after: &Counts,
) -> Result<(), String> {
    let is_stored = after.received > before.received && after.unneeded == before.unneeded;
    let session = &mut turn.checker.sessions[known.session];
    let held = session.data_handed(turn.now, header, is_stored);
    match held {
        Ok(true) => turn.checker.measure_arrival(known.session, header, turn.net.now),
        _ => turn.checker.tally.unneeded += 1,
    }
    held.map(|_| ())
}

fn judge_sender(
    now: Nanos,
    session: &mut Session,
    sender: &Sender<Box<[SendSlot]>>,
    (header, packet): (&Header, &Packet<'_>),
    is_refused: bool,
) -> Result<(), String> {
    let verdict = session.sender_judges(header, packet);
    let is_right = match verdict {
        Verdict::Open => true,
        _ => is_refused == (verdict == Verdict::Refused),
    };
    let positions = (sender.released(), sender.credit());
    let known = (session.sender_positions().0, session.sender_credit());
    let is_moved = verdict != Verdict::Open && positions != known && !sender.is_ended();
    if !is_right || is_moved {
        return Err(format!(
            "{header:?} {packet:?}: refused {is_refused}, must be {verdict:?}; the sender is at \
             {positions:?}, must be at {known:?}"
        ));
    }
    if sender.phase() == sender::Phase::Ended {
        return session.check_denial(now, packet, true);
    }
    Ok(())
}

/// What became of a packet.
struct Outcome {
    is_refused: bool,
    is_breaking: bool,
    /// Where the receiver was before.
    place: Place,
}

/// Holds what became of a packet, of a receiver that flowed or drained, against the rules.
fn judge_receiver(
    now: Nanos,
    session: &mut Session,
    (header, packet): (&Header, &Packet<'_>),
    outcome: &Outcome,
) -> Result<(), String> {
    let is_refused = outcome.is_refused;
    if session.is_forged {
        // What the sender has sent is not known, where the receiver stands is.
        let verdict = forged_verdict(outcome.place, header, packet);
        return check_verdict(header, packet, is_refused, verdict);
    }
    let verdict = session.receiver_judges(header, packet);
    if verdict == Verdict::Open {
        return if outcome.is_breaking { session.check_denial(now, packet, false) } else { Ok(()) };
    }
    check_verdict(header, packet, is_refused, verdict)?;
    match packet {
        Packet::Mark(mark) if !is_refused => session.end_shown(now, header, mark.source_lost),
        Packet::Close(close) if !is_refused => session.end_shown(now, header, close.source_lost),
        _ => {}
    }
    Ok(())
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

/// Notes what a receiver has delivered, given up and promised.
fn advance_receiver(turn: &mut Turn<'_>, known: &Known, receiver: &Receiver<Box<[RecvSlot]>>) {
    let session = &mut turn.checker.sessions[known.session];
    let stats = receiver.stats();
    let (before, after) = (known.state, receiver.phase());
    let is_breaking = matches!(before, State::Receiving(receiver::Phase::Breaking(_)))
        || matches!(after, receiver::Phase::Breaking(_) | receiver::Phase::Ended);
    let (delivered, skipped) = (stats.delivered, stats.skipped);
    let next_index = Some(receiver.next_index());
    let progress = Progress { delivered, skipped, next_index, is_breaking };
    let advanced = session.advance_to(turn.now, &progress);
    turn.checker.tally.wraps += *advanced.as_ref().unwrap_or(&0);
    let mut held = advanced.map(|_| ());
    if held.is_ok() {
        held = session.promised_up_to(receiver.limit());
    }
    if held.is_ok() && matches!(after, receiver::Phase::Flowing | receiver::Phase::Draining { .. })
    {
        held = session.check_patience(turn.now, false);
    }
    turn.checker.note(known.session, held);
}

/// Counts what the state of a stream has become in a turn.
fn note_transition(
    turn: &mut Turn<'_>,
    known: &mut Known,
    machine: Option<StreamMachine<'_>>,
    came: Option<&(Header, Packet<'_>)>,
) {
    let came = came.filter(|(header, packet)| known.is_named_by(header, packet));
    let event = came.map(|(header, packet)| {
        let is_unknown = matches!(packet, Packet::CloseAck(ack)
            if ack.reason == CloseAckReason::UnknownTag);
        event_of(header.kind, is_unknown)
    });
    let transitions = &mut turn.checker.transitions;
    match (known.state, machine) {
        (State::Sending(from), Some(StreamMachine::Sending(sender))) => {
            let to = sender.phase();
            // How it has ended is known once the endpoint lets go of it.
            if to != sender::Phase::Ended && from != to {
                let to_name = match (from, to) {
                    (sender::Phase::Closing(_), _) => "Closing(cancelled)",
                    _ => sender_state(to),
                };
                transitions.infer(Machine::Sender, sender_state(from), event, to_name);
                known.state = State::Sending(to);
            }
        }
        (State::Receiving(from), Some(StreamMachine::Receiving(receiver))) => {
            let to = receiver.phase();
            let session = &turn.checker.sessions[known.session];
            let cause = match (to, session.breach) {
                (receiver::Phase::Cancelling { .. }, _) if session.cancelled.is_some() => "cancel",
                (receiver::Phase::Cancelling { .. }, Some(Breach::Form)) => "DATA of another form",
                (receiver::Phase::Cancelling { .. }, _) => "account violated",
                _ => event.unwrap_or("time"),
            };
            let event = event.map(|_| cause).or(Some(cause).filter(|it| *it != "time"));
            transitions.infer(Machine::Receiver, receiver_state(from), event, receiver_state(to));
            known.state = State::Receiving(to);
        }
        (State::Receiving(from), None) => {
            transitions.infer(Machine::Receiver, receiver_state(from), event, "Ended");
            known.state = State::Receiving(receiver::Phase::Ended);
        }
        _ => {}
    }
}

/// More turns than this at one instant make no progress.
const TURNS_MAX: u32 = 10_000;
