//! One engine for a link and all streams over it. It has no thread and reads no clock: a driver
//! calls [`Endpoint::turn`] with the time and does what the turn returns ([`Rest`]).
//!
//! It opens streams in both directions at the requests of handles, or listens and begins those that
//! others open ([`Listening`]).
//!
//! A lost packet is noticed, and credit granted, in [`ReceiveFlow`](crate::receiver::ReceiveFlow), and a block
//! is handed over there; repairs leave by [`SendFlow`](crate::transmitter::SendFlow).

mod agenda;
mod arriving;
mod card;
mod failing;
mod favours;
#[cfg(test)]
mod filtering;
mod gather;
mod guard;
mod listening;
mod opening;
mod playing;
mod sending;
mod station;
mod streams;
mod view;

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, TryRecvError};
use std::sync::{Arc, OnceLock};

use samplewire_io::ether::EtherStation;
use samplewire_io::{Batch, KnownTags, Link, LinkError, Resilient};
use samplewire_proto::Nanos;

use crate::port::{IP_BYTES_MAX, LINK_FULL_PAUSE, PortCounts, tag_word};
use crate::wakeups::Wakeups;

use agenda::{Agenda, VISITS_MAX};
use card::CardNotices;
use gather::Gather;
use guard::Guard;
pub(crate) use listening::Listening;
pub(crate) use opening::{Accepted, AcceptedRdma, Opening};
use opening::{Progress, is_gone};
pub(crate) use playing::{Playing, PlayingParts};
use sending::{Departures, Turn, Visits};
pub(crate) use sending::{Sending, Side};
pub(crate) use station::Station;
pub use station::{RdmaEnd, StationConfig};
pub(crate) use station::{description_offer, path_mtu_of};
use streams::Streams;
pub(crate) use streams::{Announced, Entry, Opened, Receiving};
pub use view::{Machine, View};

/// A link, and the streams over it.
pub(crate) struct Endpoint {
    link: Gather,
    /// Where streams over RDMA have their frames.
    station: Option<Box<Station>>,
    /// What writes the packets of streams over RDMA instead.
    card: Option<Box<dyn CardNotices>>,
    /// Whether a card has written packets of this turn.
    has_writes: bool,
    wakeups: Arc<Wakeups>,
    commands: mpsc::Receiver<Command>,
    /// What answers openings of others; the streams are then those that it offers.
    listening: Option<Listening>,
    streams: Streams,
    /// The streams that go out, by when they are to be visited.
    departures: Departures,
    /// All others, and openings.
    arrivals: Agenda,
    /// No handle is left that could open another stream.
    is_closed: bool,
    /// The link has failed: what has arrived is still the programs'.
    is_broken: bool,
    /// The driver never sleeps while a stream is open.
    spins: bool,
    /// Streams whose programs have let go of them, of an end that listens: it answers questions about
    /// them until the last is let go.
    stopped: usize,
    /// Openings under way.
    openings: usize,
    out: Box<[u8]>,
    /// What the socket has dropped, by its latest count.
    dropped: Option<u32>,
    guard: Guard,
    guarded_at: Nanos,
    /// Packets with the tag of no stream.
    strays: u64,
    counts: PortCounts,
    /// The same for handles.
    shown: Arc<Counts>,
}

/// A request of a handle.
pub(crate) enum Command {
    /// Open a stream, and answer when that is settled.
    Open(Box<Opening>),
    /// Serve a stream that was opened, at this place.
    Begin(usize, Entry),
}

/// What handles see of an endpoint besides its streams: counts of packets that belong to none.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) corrupted: AtomicU64,
    pub(crate) foreign: AtomicU64,
    /// Why the link has failed, if it has.
    pub(crate) failure: OnceLock<LinkError>,
}

/// What the driver does between two turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Nothing: more is to be done at once.
    No,
    /// Wait until that time, unless a packet or a call comes.
    Until(Nanos),
    /// Wait until that time, unless a packet comes or the link has room again.
    Room(Nanos),
    /// Pause until that time, whatever comes.
    Pause(Nanos),
}

impl Endpoint {
    /// An endpoint that opens streams, `places` at most at a time, at the requests of handles. A
    /// driver that `spins` does not wait while one is open.
    pub(crate) fn opener(
        link: Resilient,
        places: usize,
        spins: bool,
        wakeups: Arc<Wakeups>,
        commands: mpsc::Receiver<Command>,
        shown: Arc<Counts>,
    ) -> Self {
        let streams = Streams::free(places);
        Self { commands, shown, is_closed: false, ..Self::new(link, None, streams, spins, wakeups) }
    }

    /// An endpoint that listens for openers of these streams, of which those that go out come first.
    pub(crate) fn listener(
        link: Resilient,
        listening: Listening,
        streams: Vec<Entry>,
        spins: bool,
        wakeups: Arc<Wakeups>,
    ) -> Self {
        let streams = Streams::of(streams);
        let mut endpoint = Self::new(link, Some(listening), streams, spins, wakeups);
        // Each shows its counters now and then, also before it is opened.
        (0..endpoint.streams.len()).for_each(|place| endpoint.call(place));
        endpoint
    }

    fn new(
        link: Resilient,
        listening: Option<Listening>,
        streams: Streams,
        spins: bool,
        wakeups: Arc<Wakeups>,
    ) -> Self {
        let places = streams.len();
        Self {
            link: Gather::new(link, places),
            station: None,
            card: None,
            has_writes: false,
            wakeups,
            commands: mpsc::channel().1,
            listening,
            streams,
            departures: Departures::new(places),
            arrivals: Agenda::new(places),
            is_closed: true,
            is_broken: false,
            spins,
            stopped: 0,
            openings: 0,
            out: vec![0; IP_BYTES_MAX].into(),
            dropped: None,
            guard: Guard::new(),
            guarded_at: Nanos(0),
            strays: 0,
            counts: PortCounts::default(),
            shown: Arc::default(),
        }
    }

    /// Gives the endpoint its own queue pairs or those of a card: streams that ask for it go over RDMA.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub(crate) fn set_rdma(&mut self, end: RdmaEnd) -> io::Result<()> {
        match end {
            RdmaEnd::Station(station) => {
                let link = self.link.resilient();
                let station = StationConfig {
                    // Faults and a capture of the link are on the frames too.
                    ether: station.ether.through(|frames| link.frames(frames)),
                    ..station
                };
                self.link.waker().also_for(station.ether.as_fd())?;
                self.station = Some(Box::new(Station::new(station)));
                Ok(())
            }
            RdmaEnd::Card(card) => self.set_card(Box::new(card)),
        }
    }

    /// Whether nothing is left to do: no handle can open a stream, and the last has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.is_closed && self.streams.are_free()
    }

    /// The calls of its programs, for the driver's sleeps.
    pub(crate) fn wakeups(&self) -> Arc<Wakeups> {
        Arc::clone(&self.wakeups)
    }

    /// Whether a program has called since the last turn.
    pub(crate) fn is_called(&self) -> bool {
        self.wakeups.is_called()
    }

    /// The link, for a driver that waits on it.
    pub(crate) const fn link(&mut self) -> &mut dyn Link {
        &mut self.link
    }

    /// Takes commands and packets, and does what is due at `now`.
    pub(crate) fn turn(&mut self, now: Nanos, batch: &mut Batch) -> Rest {
        if self.is_broken {
            return self.hand_over_rest(now);
        }
        match self.try_turn(now, batch) {
            Ok(rest) => rest,
            Err(error) => {
                self.fail(&error);
                Rest::No
            }
        }
    }

    fn try_turn(&mut self, now: Nanos, batch: &mut Batch) -> Result<Rest, LinkError> {
        let is_called = self.take_calls(now);
        self.has_writes = false;
        // What was submitted leaves first.
        let visits = self.depart(now)?;
        self.flush_frames(now)?;
        self.link.recv(batch)?;
        let has_frames = self.station.is_some() && self.take_frames(now)?;
        let is_called = is_called || self.card.is_some() && self.take_notices();
        let is_idle = batch.is_empty() && !has_frames;
        if !is_idle || is_called || now >= self.arrivals.until() {
            self.take_all(now, batch)?;
            self.arrivals.call_due(now);
            for _ in 0..self.arrivals.len().min(VISITS_MAX) {
                let Some(place) = self.arrivals.pop() else { break };
                self.visit(now, place, is_idle)?;
            }
            self.link.flush()?;
        }
        let has_room = self.flush_frames(now)?;
        self.watch(now);
        if let Some(listening) = &mut self.listening {
            listening.favour(now, &self.streams, &mut self.link);
            if self.stopped == self.streams.len() {
                self.streams.release_over(now);
            }
        }
        let sleep_max = if has_room { SLEEP_MAX } else { EtherStation::FULL_PAUSE };
        Ok(self.rest(now, is_idle, visits, now + sleep_max))
    }

    /// Lets the frames of the station leave together; `false` while its link has no room.
    fn flush_frames(&mut self, now: Nanos) -> Result<bool, LinkError> {
        self.station.as_mut().map_or(Ok(true), |station| station.flush(now))
    }

    /// Takes the calls of programs, and the commands of handles; returns whether there were any.
    fn take_calls(&mut self, now: Nanos) -> bool {
        let (mut is_called, mut has_commands) = (false, false);
        let Self { wakeups, streams, departures, arrivals, .. } = self;
        wakeups.take(|place| {
            is_called = true;
            match place {
                place if place == streams.len() => has_commands = true,
                place if streams.goes_out(place) => departures.call(place),
                place => arrivals.call(place),
            }
        });
        if has_commands {
            self.take_commands(now);
        }
        is_called
    }

    /// The stream at `place` has something to do.
    fn call(&mut self, place: usize) {
        match self.streams.goes_out(place) {
            true => self.departures.call(place),
            false => self.arrivals.call(place),
        }
    }

    /// Sends what is due.
    fn depart(&mut self, now: Nanos) -> Result<Visits, LinkError> {
        if now < self.departures.until() {
            return Ok(Visits::NONE);
        }
        self.counts.link = self.link.resilient().error_counts();
        let Self { listening, streams, departures, link, station, counts, stopped, .. } = self;
        let (station, listening) = (station.as_deref_mut(), listening.as_mut());
        let mut turn = Turn { now, link: link.resilient(), station, counts, listening, stopped };
        departures.visit(streams, &mut turn)
    }

    /// What the driver does once everything due is done, until `latest`.
    fn rest(&self, now: Nanos, is_idle: bool, visits: Visits, latest: Nanos) -> Rest {
        // An opening waits for the network: there is no hurry.
        if self.spins && self.openings == 0 && !self.streams.are_free() {
            return Rest::No;
        }
        if visits.is_full {
            return Rest::Room(now + LINK_FULL_PAUSE);
        }
        if !is_idle || visits.have_pushed || self.has_writes {
            let pause = visits.flood_pause.filter(|_| !is_idle);
            return pause
                .map_or(Rest::No, |pause| Rest::Pause(now + Nanos(pause.as_nanos() as u64)));
        }
        // One of several links may be full; the wait ends when it has room, or after a pause.
        let (until, latest) = match visits.took_all {
            true => (self.departures.until(), latest),
            false => (self.departures.until_elsewhere(), latest.min(now + LINK_FULL_PAUSE)),
        };
        let until = until.min(self.arrivals.until());
        let favours_due = self.listening.as_ref().map_or(until, |it| it.favours.due_at());
        Rest::Until(until.min(favours_due).min(latest))
    }

    #[cold]
    fn take_commands(&mut self, now: Nanos) {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Open(opening)) => self.open(now, opening),
                Ok(Command::Begin(place, entry)) => self.begin(place, entry),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.is_closed = true;
                    self.streams.forget_accepted();
                    return;
                }
            }
        }
    }

    fn open(&mut self, now: Nanos, mut opening: Box<Opening>) {
        let Some(place) = self.streams.take_free() else {
            return opening.refuse(self.streams.len());
        };
        // A filter would know none of its packets.
        self.guard.lower(&mut self.link);
        if self.has_several_links() {
            // A stream that is over holds its peer at no link.
            self.steer();
        }
        opening.start(
            now,
            place,
            self.streams.len(),
            self.link.unreachable_hint(),
            self.station.as_deref_mut(),
        );
        self.streams.set(place, Entry::Opening(opening));
        self.openings += 1;
        self.arrivals.call(place);
    }

    fn begin(&mut self, place: usize, mut entry: Entry) {
        self.guard.lower(&mut self.link);
        // Of several links the last packet's count need not be that of the stream's own.
        let dropped = self.dropped.filter(|_| !self.has_several_links());
        if let (Entry::Receiving(stream), Some(dropped)) = (&mut entry, dropped) {
            stream.flow.start_drops(dropped);
        }
        self.streams.begin(place, entry);
        // Before the link takes another way for its packets.
        let (packets, packet_bytes) = self.streams.room();
        if packets > 0 {
            self.link.make_room(packets, packet_bytes);
        }
        self.steer();
        self.call(place);
    }

    fn has_several_links(&self) -> bool {
        self.link.local_addrs().len() > 1
    }

    /// Names the streams that flow to the link.
    fn steer(&mut self) {
        let opened = self.streams.opened();
        let (tags, peers): (Vec<_>, Vec<_>) = opened.map(|it| (it.tag.0, it.peer)).unzip();
        let known = KnownTags { word: tag_word(&tags), peers: &peers };
        self.link.steer((!tags.is_empty()).then_some(&known));
    }

    fn visit(&mut self, now: Nanos, place: usize, is_idle: bool) -> Result<(), LinkError> {
        match self.streams.get_mut(place) {
            Some(Entry::Receiving(_)) => self.visit_receiving(now, place, is_idle)?,
            Some(Entry::Playing(_)) => self.visit_playing(now, place)?,
            Some(Entry::Opening(opening)) => {
                let station = self.station.as_deref_mut();
                let progress = opening.advance(now, &mut self.link, &mut self.out, station)?;
                match progress {
                    Progress::Waiting => self.arrivals.set(place, opening.wakes_at(now)),
                    Progress::Over => {
                        self.openings -= 1;
                        self.streams.release(place);
                    }
                    Progress::Accepted(tag, claim) => {
                        self.openings -= 1;
                        self.streams.set(place, Entry::Accepted { tag, claim });
                        self.arrivals.set(place, now + CLAIM_PAUSE);
                    }
                }
            }
            Some(Entry::Accepted { claim, .. }) if self.is_closed || is_gone(claim) => {
                // The program's last command may be the one that begins the stream.
                self.take_commands(now);
                if let Some(Entry::Accepted { .. }) = self.streams.get(place) {
                    self.streams.release(place);
                }
            }
            Some(Entry::Accepted { .. }) => self.arrivals.set(place, now + CLAIM_PAUSE),
            Some(Entry::Free | Entry::Sending(_)) | None => {}
        }
        Ok(())
    }

    fn visit_receiving(
        &mut self,
        now: Nanos,
        place: usize,
        is_idle: bool,
    ) -> Result<(), LinkError> {
        let Some(Entry::Receiving(stream)) = self.streams.get_mut(place) else { return Ok(()) };
        let flow = &mut stream.flow;
        self.has_writes |= flow.settle(now);
        let is_crowded = flow.is_crowded();
        flow.advance(now, &mut self.link, self.station.as_deref_mut())?;
        if flow.is_publishing(now, is_idle) {
            self.counts.link = self.link.resilient().error_counts();
            flow.snapshot.note_port(&self.counts);
            flow.publish(now);
        }
        if flow.is_over() {
            flow.publish(now);
            self.streams.release(place);
            return Ok(());
        }
        let wakes_at = match (self.spins, is_crowded) {
            (true, _) => Some(flow.spins_until(now)).filter(|&at| at > now),
            // More is likely to have come: when to wake is reckoned once nothing has.
            (false, true) => None,
            (false, false) => flow.wakes_at(now),
        };
        self.visit_again(place, wakes_at);
        Ok(())
    }

    fn visit_playing(&mut self, now: Nanos, place: usize) -> Result<(), LinkError> {
        self.counts.link = self.link.resilient().error_counts();
        let (Some(Entry::Playing(playing)), Some(listening)) =
            (self.streams.get_mut(place), &mut self.listening)
        else {
            return Ok(());
        };
        let is_crowded = playing.is_crowded();
        if playing.announce() {
            listening.favours.expire();
        }
        self.stopped += usize::from(playing.note_stop(now));
        let over = playing.visit(now, &self.counts, &mut self.link)?;
        over.into_iter().flatten().for_each(|tag| listening.release(tag));
        let wakes_at = match (self.spins, is_crowded) {
            (true, _) => Some(playing.spins_until(now)).filter(|&at| at > now),
            (false, true) => None,
            (false, false) => playing.wakes_at(now),
        };
        self.visit_again(place, wakes_at);
        Ok(())
    }

    /// Visits a stream again at that time, or at once.
    fn visit_again(&mut self, place: usize, at: Option<Nanos>) {
        match at {
            Some(at) => self.arrivals.set(place, at),
            None => self.arrivals.call(place),
        }
    }

    /// Now and then shows the counts, and looks whether packets of no stream are a flood.
    fn watch(&mut self, now: Nanos) {
        if self.listening.is_some() || now.since(self.guarded_at) < WATCH_PAUSE {
            return;
        }
        self.guarded_at = now;
        self.take_card_failures();
        // Relaxed: counts for people.
        self.shown.corrupted.store(self.counts.corrupted, Ordering::Relaxed);
        self.shown.foreign.store(self.counts.foreign, Ordering::Relaxed);
        if self.guard.watch(now, self.strays, &mut self.link) && self.openings == 0 {
            let (local, peer) = self.streams.tags();
            self.guard.raise(now, &local, &peer, &mut self.link);
        }
    }
}

/// Time between two checks that a program can still begin its accepted stream.
const CLAIM_PAUSE: Nanos = Nanos::from_millis(100);

/// Between two looks at what was counted.
const WATCH_PAUSE: Nanos = Nanos::from_millis(10);

const SLEEP_MAX: Nanos = Nanos::from_millis(100);

#[cfg(test)]
mod tests;
