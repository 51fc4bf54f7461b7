//! An endpoint with its link, and what the checker sees of each of its turns.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use samplewire::StationConfig;
use samplewire::stepped::{Machine, Rest, Stepped, View};
use samplewire_io::ether::{Arp, EtherStation};
use samplewire_io::{Ecn, Link, Meta};
use samplewire_proto::session::{OpenPhase, Peer};
use samplewire_proto::wire::{self, Header, Packet, PacketType, WireError};
use samplewire_proto::{Departure, Nanos, Seq, Tag};
use samplewire_roce::PathMtu;
use samplewire_roce::wire::Frame;

use super::judge::{self, Came, Counts};
use super::known::{Begun, Known, is_of_stream, machine_of, sender_of};
use super::link::{Departed, Departing, FrameBox, FrameLink, Frames, MailLink, Mailbox, lock};
use super::{Facts, Observed, Place, Turn, breach};
use crate::check::{HasRefused, Session};
use crate::dialect;
use crate::net::{address_of_peer, ip_of, mac_of, peer_at, process_at, process_of};

/// What runs, and what is known of it.
#[derive(Debug)]
pub(crate) struct Endpoint {
    /// `None` once nothing is left to do.
    stepped: Option<Stepped>,
    mailbox: Arc<Mutex<Mailbox>>,
    departed: Departed,
    /// What lies between its station, if it has one, and the network.
    frames: Option<Arc<Mutex<FrameBox>>>,
    departed_frames: Frames,
    known: Vec<Known>,
    /// When it is to be turned again, by the machine's clock.
    due_at: Nanos,
    /// It was turned since it was held that it does not rest too long.
    has_turned: bool,
    /// What its socket had dropped when the last packet came.
    dropped: Option<u32>,
    /// It speaks another version of the protocol.
    is_foreign: bool,
}

impl Endpoint {
    /// An endpoint that `make` makes over its link.
    pub(crate) fn new<T>(
        turn: &mut Turn<'_>,
        is_foreign: bool,
        path_mtu: Option<PathMtu>,
        make: impl FnOnce(Box<dyn Link>, Option<StationConfig>) -> (T, Stepped),
    ) -> (T, Self) {
        let mailbox = Arc::new(Mutex::new(Mailbox::default()));
        let link = MailLink::new(turn.me, &mailbox).expect("a process has descriptors left");
        let frames = path_mtu.map(|_| Arc::new(Mutex::new(FrameBox::default())));
        let station = path_mtu.zip(frames.as_ref()).map(|(path_mtu, frames)| {
            let link = FrameLink::new(frames).expect("a process has descriptors left");
            let ether = EtherStation::new(Box::new(link), ip_of(turn.me), mac_of(turn.me));
            let seed = u128::from(turn.rng.draw()).to_be_bytes();
            StationConfig { ether, path_mtu, seed }
        });
        let (made, stepped) = make(Box::new(link), station);
        let endpoint = Self {
            stepped: Some(stepped),
            frames,
            departed_frames: Frames::default(),
            mailbox,
            departed: Departed::default(),
            known: vec![],
            due_at: turn.now,
            has_turned: false,
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

    pub(crate) fn views_at(&self, place: usize) -> impl Iterator<Item = View<'_>> {
        self.stepped.iter().flat_map(move |it| it.views_at(place))
    }

    pub(crate) fn known(&self) -> &[Known] {
        &self.known
    }

    /// Begins to check a stream of the endpoint.
    pub(crate) fn know(&mut self, turn: &mut Turn<'_>, begun: &Begun) {
        let Some(view) = self.views().find(|view| view.tag == begun.tag) else { return };
        let mut known = Known::new(&view, begun);
        let window = match view.machine {
            Machine::Receiving(receiver) => receiver.window(),
            _ => 0,
        };
        known.dropped = self.dropped.filter(|_| view.peer_tag.is_some());
        let session = &mut turn.checker.sessions[begun.session];
        if known.is_sender() {
            session.sender_begins(begun.at, begun.breach);
        } else {
            session.agreed.receive_window = window;
            session.awaits_program = true;
            session.receiver_begins(begun.at);
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

    /// Turns the endpoint until nothing is left to do at once, as a driver does. Whether there was
    /// anything to do.
    pub(crate) fn settle(&mut self, turn: &mut Turn<'_>) -> bool {
        for turns in 0..TURNS_MAX {
            let is_called = self.stepped.as_ref().is_some_and(Stepped::is_called);
            if self.is_over() || self.due_at > turn.now && !is_called {
                if std::mem::take(&mut self.has_turned) {
                    self.check_rest(turn);
                }
                return turns > 0;
            }
            self.turn(turn, None, &mut |_, _, _| {});
        }
        turn.checker.fail(format!("process {}: {TURNS_MAX} turns at one instant", turn.me));
        true
    }

    /// Holds that an endpoint does not rest beyond what its machines wait for.
    fn check_rest(&self, turn: &mut Turn<'_>) {
        for (known, machine) in self.open() {
            let at = match machine {
                Machine::Sending(sender) => sender.poll_timeout(turn.now),
                Machine::Receiving(receiver) => receiver.poll_timeout(turn.now),
                Machine::Opening(_) => None,
            };
            // Times are reckoned from departures, in their units.
            let is_early = |at: &Nanos| *at + Nanos(Departure::UNIT_NS) < self.due_at;
            if let Some(at) = at.filter(|at| !self.is_nearly_due(turn.now) && is_early(at)) {
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
            let is_of = |it: &&Known| to.is_some_and(|to| it.may_send(to, &header, &packet));
            // The newest of those that bear the same tag.
            let Some(known) = self.known.iter().rfind(is_of) else { continue };
            if let Some(Machine::Receiving(receiver)) =
                self.stepped.as_ref().and_then(|it| machine_of(it, known))
            {
                judge::advance_receiver(turn, known, receiver);
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

    /// A packet in the version that it speaks.
    pub(crate) fn as_read<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let mut own = Cow::Borrowed(bytes);
        if self.is_foreign {
            dialect::translate(own.to_mut());
        }
        own
    }

    /// Whether it has something to do at `now`, or so soon after that an earlier turn may do it: times
    /// are reckoned from departures, in their units.
    pub(crate) fn is_nearly_due(&self, now: Nanos) -> bool {
        self.due_at <= now + Nanos(2 * Departure::UNIT_NS)
    }

    /// Gives it a packet. `on_other` sees what departed that is of no stream that is known.
    pub(super) fn take(
        &mut self,
        turn: &mut Turn<'_>,
        came: Came<'_>,
        on_other: &mut dyn FnMut(&mut Turn<'_>, Peer, &[u8]),
    ) {
        self.turn(turn, Some(came), on_other);
    }

    /// Gives frames to its station, if it has one.
    pub(crate) fn take_frames(&mut self, turn: &mut Turn<'_>, frames: &Frames) {
        let Some(frame_box) = &self.frames else { return };
        if self.stepped.is_none() {
            return;
        }
        lock(frame_box).put(frames);
        for (bytes, is_corrupted) in frames.iter() {
            if let Some(frame) = Frame::new_checked(bytes).ok().filter(|_| !is_corrupted) {
                self.note_frame(turn, &frame);
            }
        }
        self.turn(turn, None, &mut |_, _, _| {});
        let left = self.frames.as_ref().map_or(0, |frame_box| lock(frame_box).arriving());
        if left > 0 {
            turn.checker.fail(format!("process {}: {left} frames were left in a turn", turn.me));
        }
    }

    /// Notes a whole frame that the endpoint is about to take.
    fn note_frame(&self, turn: &mut Turn<'_>, frame: &Frame<'_>) {
        let (route, destination) = (frame.route(), frame.packet().bth.destination.get());
        for known in self.known.iter().filter(|it| !it.is_gone) {
            let session = &mut turn.checker.sessions[known.session];
            let Some(rdma) = session.rdma() else { continue };
            let own = if known.is_sender() { rdma.sender } else { rdma.receiver };
            if own.qpn != destination || route.source_ip != ip_of(known.peer).octets() {
                continue;
            }
            let held = if known.is_sender() {
                session.reaches_sender(turn.now, frame);
                Ok(())
            } else {
                session.reaches_receiver(turn.now, frame)
            };
            turn.checker.note(known.session, held);
        }
    }

    /// Sends what the station has sent, and holds it against what its streams have to send.
    fn send_frames(&mut self, turn: &mut Turn<'_>) {
        let Some(frame_box) = &self.frames else { return };
        let mut departed = std::mem::take(&mut self.departed_frames);
        lock(frame_box).take(&mut departed);
        for (bytes, _) in departed.iter() {
            let frame = Frame::new_checked(bytes);
            let changed = frame.as_ref().ok().and_then(|it| self.break_rules_in_frame(turn, it));
            let (bytes, frame) = match &changed {
                Some(changed) => (&changed[..], Frame::new_checked(changed)),
                None => (bytes, frame),
            };
            turn.checker.tally.frames += 1;
            match frame {
                Ok(frame) => self.check_frame(turn, &frame),
                Err(_) if Arp::parse(bytes).is_some() => {}
                Err(error) => {
                    turn.checker.fail(format!("process {} sends no frame: {error}", turn.me));
                }
            }
            turn.net.send_frame(turn.me, bytes);
        }
        self.departed_frames = departed;
    }

    /// A frame of a sender that breaks the rules, as it departs then.
    fn break_rules_in_frame(&self, turn: &Turn<'_>, frame: &Frame<'_>) -> Option<Vec<u8>> {
        let sessions = &turn.checker.sessions;
        let mut senders = self.known.iter().filter(|it| !it.is_gone && it.is_sender());
        let known = senders.find(|it| is_to_peer(it, &sessions[it.session], frame))?;
        let session = &sessions[known.session];
        breach::change_frame(session.breach?, session.agreed.first_seq, frame)
    }

    fn check_frame(&self, turn: &mut Turn<'_>, frame: &Frame<'_>) {
        for known in self.known.iter().filter(|it| !it.is_gone) {
            let session = &mut turn.checker.sessions[known.session];
            if !is_to_peer(known, session, frame) {
                continue;
            }
            let held = if known.is_sender() {
                let left = session.leaves_sender(frame);
                turn.checker.tally.requests += 1;
                turn.checker.tally.requests_repeated += u64::from(left == Ok(true));
                left.map(|_| ())
            } else {
                session.leaves_receiver(frame)
            };
            turn.checker.note(known.session, held);
        }
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
        let judged = if came.is_some() { &self.known[..] } else { &[] };
        let counts = |known| Counts::of(machine_of(stepped, known));
        let before: Vec<Counts> = judged.iter().map(counts).collect();
        let rest = stepped.turn(turn.now);
        let mut departed = std::mem::take(&mut self.departed);
        lock(&self.mailbox).take(&mut departed);
        self.break_rules(turn, &mut departed);
        let packets = parse_all(&departed);
        let stepped = self.stepped.as_ref().expect("it was there");
        let machines: Vec<_> = self.known.iter().map(|it| machine_of(stepped, it)).collect();
        for (known, machine) in self.known.iter_mut().zip(&machines) {
            match machine {
                Some(Machine::Sending(sender)) => {
                    known.is_ended = sender.is_ended();
                    judge::note_pushed(turn, known, sender);
                }
                Some(_) => {}
                None => known.is_ended = true,
            }
        }
        check_senders(turn, &mut self.known, &packets);
        if let Some(came) = &came {
            self.dropped = Some(came.arrival.dropped);
            let changed = machines.iter().zip(&before);
            for (known, (machine, before)) in self.known.iter_mut().zip(changed) {
                if !known.is_gone {
                    judge::check_arrival(turn, known, came, *machine, before);
                }
            }
        }
        for (known, machine) in self.known.iter_mut().zip(&machines) {
            match machine {
                Some(Machine::Receiving(receiver)) => {
                    judge::advance_receiver(turn, known, receiver)
                }
                Some(Machine::Sending(sender)) => judge::check_released(turn, known, sender),
                Some(Machine::Opening(_)) => {}
                None => known.is_gone = true,
            }
        }
        check_receivers(turn, &self.known, &packets, on_other);
        let event = came.as_ref().and_then(|came| came.parsed);
        for (known, machine) in self.known.iter_mut().zip(machines) {
            known.note_transition(turn, machine, event);
        }
        self.send(turn, &packets);
        self.departed = departed;
        self.send_frames(turn);
        self.note_rest(turn.now, rest);
        self.has_turned = true;
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

    fn send(&self, turn: &mut Turn<'_>, packets: &[Leaving<'_>]) {
        for Leaving { to, is_ect, bytes, parsed } in packets {
            // What goes to an address where no process is is lost.
            let Some(to) = process_at(*to) else { continue };
            if !turn.net.has_route(turn.me, to) {
                continue;
            }
            let padding_bytes = match parsed {
                Ok((header, Packet::Data(_))) => {
                    let known = self.known.iter().find(|it| it.peer_tag == header.tag);
                    known.map_or(0, |it| turn.checker.sessions[it.session].agreed.padding_bytes)
                }
                _ => 0,
            };
            if self.is_foreign {
                let mut own = bytes.to_vec();
                dialect::translate(&mut own);
                turn.net.send(turn.me, to, [&own, &[], &[]], padding_bytes, *is_ect);
                continue;
            }
            turn.net.send(turn.me, to, [bytes, &[], &[]], padding_bytes, *is_ect);
        }
    }

    /// What an attacker on the path knows of each stream.
    pub(crate) fn facts(&self) -> impl Iterator<Item = Facts> + '_ {
        self.open().map(|(known, machine)| {
            let place = match machine {
                Machine::Sending(sender) => judge::place_of_sender(sender),
                Machine::Receiving(receiver) => judge::place_of_receiver(receiver),
                Machine::Opening(_) => Place::Over,
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
            Machine::Sending(sender) => Some(Observed::send(sender)),
            Machine::Receiving(receiver) => Some(Observed::receive(receiver)),
            Machine::Opening(_) => None,
        })
    }

    /// The phase and the tag of the opening under way.
    pub(crate) fn opening(&self) -> Option<(OpenPhase, Tag)> {
        self.views().find_map(|view| match view.machine {
            Machine::Opening(opener) => Some((opener.phase(), opener.tag())),
            _ => None,
        })
    }

    /// Drops of its socket that it has noted.
    pub(crate) fn dropped(&self) -> u32 {
        self.dropped.unwrap_or(0)
    }

    fn open(&self) -> impl Iterator<Item = (&Known, Machine<'_>)> {
        let stepped = self.stepped.as_ref();
        self.known.iter().filter_map(move |known| Some((known, machine_of(stepped?, known)?)))
    }
}

/// A packet that departs, parsed.
struct Leaving<'a> {
    to: SocketAddr,
    is_ect: bool,
    bytes: &'a [u8],
    parsed: Result<(Header, Packet<'a>), WireError>,
}

fn parse_all(departed: &Departed) -> Vec<Leaving<'_>> {
    let leaving = |(&Departing { to, is_ect, .. }, bytes)| Leaving {
        to,
        is_ect,
        bytes,
        parsed: wire::parse(bytes),
    };
    departed.iter().map(leaving).collect()
}

/// Holds what senders have sent against what they may send: they send before they look at what
/// has come.
fn check_senders(turn: &mut Turn<'_>, known: &mut [Known], packets: &[Leaving<'_>]) {
    for Leaving { to, bytes, parsed, .. } in packets {
        let (header, body) = match parsed {
            Ok(parsed) => parsed,
            // An answer to a packet of another version.
            Err(WireError::Version { .. }) => continue,
            Err(error) => {
                let what = format!("process {} sends no packet: {error}: {bytes:02x?}", turn.me);
                turn.checker.fail(what);
                continue;
            }
        };
        let sessions = &turn.checker.sessions;
        let Some(known) = sender_of(known, sessions, *to, header, body) else { continue };
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
                departs.map(|is_first| {
                    turn.checker.tally.data_packets += 1;
                    turn.checker.tally.repeats += u64::from(!is_first);
                })
            }
            // The records of a session that is over are gone.
            _ if known.is_ended => Ok(()),
            _ => session.sender_says(header, body),
        };
        turn.checker.note(known.session, held);
    }
}

/// Holds what receivers have sent against what they know after the packet that came.
fn check_receivers(
    turn: &mut Turn<'_>,
    known: &[Known],
    packets: &[Leaving<'_>],
    on_other: &mut dyn FnMut(&mut Turn<'_>, Peer, &[u8]),
) {
    for Leaving { to, bytes, parsed, .. } in packets {
        let Ok((header, body)) = parsed else {
            on_other(turn, peer_at(*to), bytes);
            continue;
        };
        let receiver = receiver_of(turn, known, *to, header, body);
        match receiver.filter(|_| is_of_stream(body)) {
            Some(known) if known.is_gone => {}
            Some(known) => {
                let session = &mut turn.checker.sessions[known.session];
                let held = session.receiver_says(turn.now, header, body);
                turn.checker.note(known.session, held);
            }
            None if is_of_sender(known, *to, header) && is_of_stream(body) => {}
            None => on_other(turn, peer_at(*to), bytes),
        }
    }
}

/// The stream whose receiver sent a packet. If two streams send with the same tag, it is the one
/// that a CLOSE_ACK echoes, the one whose REPORT comes next, or the newer one.
fn receiver_of<'a>(
    turn: &Turn<'_>,
    known: &'a [Known],
    to: SocketAddr,
    header: &Header,
    packet: &Packet<'_>,
) -> Option<&'a Known> {
    let to = process_at(to)?;
    let is_of = |it: &&Known| !it.is_sender() && it.may_send(to, header, packet);
    let mut all = known.iter().rev().filter(is_of);
    if header.kind != PacketType::Report {
        return all.next();
    }
    let is_next =
        |it: &&Known| it.is_gone || turn.checker.sessions[it.session].is_next_report(header.seq);
    all.clone().find(is_next).or_else(|| all.find(|_| header.seq != Seq(1)))
}

fn is_of_sender(known: &[Known], to: SocketAddr, header: &Header) -> bool {
    let is_of = |it: &Known| Some(it.peer) == process_at(to) && it.peer_tag == header.tag;
    known.iter().any(|it| it.is_sender() && is_of(it))
}

/// Whether a frame goes to the queue pair at the other end of a stream.
fn is_to_peer(known: &Known, session: &Session, frame: &Frame<'_>) -> bool {
    let Some(rdma) = session.rdma() else { return false };
    let other = if known.is_sender() { rdma.receiver } else { rdma.sender };
    other.qpn == frame.packet().bth.destination.get()
        && frame.route().destination_ip == ip_of(known.peer).octets()
}

/// More turns than this at one instant make no progress.
const TURNS_MAX: u32 = 10_000;
