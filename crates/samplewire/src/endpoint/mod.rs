//! One engine for a link and all streams over it. It has no thread and reads no clock: a driver
//! calls [`Endpoint::turn`] with the time and does what the turn returns ([`Rest`]).
//!
//! A lost packet is noticed, and credit granted, in [`Inflow`]; blocks are handed over there too.

mod agenda;
mod gather;
mod guard;
mod opening;
mod streams;

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, TryRecvError};

use samplewire_io::{Batch, Link, LinkError, Meta, Resilient};
use samplewire_proto::wire::{self, WireError};
use samplewire_proto::{Nanos, Tag};

use crate::calls::Calls;
use crate::port::IP_BYTES_MAX;
use crate::receiver::Inflow;

pub(crate) use agenda::Agenda;
use gather::Gather;
use guard::{Guard, tag_of};
pub(crate) use opening::{Accepted, Opening};
use streams::{Entry, Streams};

/// A link, and the streams over it.
pub(crate) struct Endpoint {
    link: Gather,
    calls: Arc<Calls>,
    commands: mpsc::Receiver<Command>,
    /// No handle is left that could open another stream.
    is_closed: bool,
    /// The link has failed: what has arrived is still the programs'.
    is_broken: bool,
    /// The driver never sleeps while a stream is open.
    spins: bool,
    streams: Streams,
    agenda: Agenda,
    /// Openings under way.
    openings: usize,
    out: Box<[u8]>,
    /// What the socket has dropped, by its latest count.
    dropped: Option<u32>,
    guard: Guard,
    guarded_at: Nanos,
    /// Packets with the tag of no stream.
    strays: u64,
    corrupted: u64,
    foreign: u64,
    counts: Arc<Counts>,
}

/// A request of a handle.
pub(crate) enum Command {
    /// Open a stream, and answer when that is settled.
    Open(Box<Opening>),
    /// Serve a stream that was opened.
    Begin(usize, Box<Stream>),
}

/// An open stream.
pub(crate) struct Stream {
    pub(crate) inflow: Inflow,
    /// Of this end and of the peer's.
    pub(crate) tags: (Tag, Tag),
    /// Packets that may be on their way, and the bytes of each.
    pub(crate) room: (u32, usize),
}

/// Counts of packets that belong to no stream.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) corrupted: AtomicU64,
    pub(crate) foreign: AtomicU64,
}

/// What the driver does between two turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing: more is to be done at once.
    No,
    /// Wait until that time, unless a packet or a call comes.
    Until(Nanos),
    /// Pause until that time, whatever comes.
    Pause(Nanos),
}

impl Endpoint {
    /// For `streams` streams at most; a driver that `spins` does not wait while one is open.
    pub(crate) fn new(
        link: Resilient,
        streams: usize,
        spins: bool,
        calls: Arc<Calls>,
        commands: mpsc::Receiver<Command>,
        counts: Arc<Counts>,
    ) -> Self {
        Self {
            link: Gather::new(link),
            calls,
            commands,
            is_closed: false,
            is_broken: false,
            spins,
            streams: Streams::new(streams),
            agenda: Agenda::new(streams),
            openings: 0,
            out: vec![0; IP_BYTES_MAX].into(),
            dropped: None,
            guard: Guard::new(),
            guarded_at: Nanos(0),
            strays: 0,
            corrupted: 0,
            foreign: 0,
            counts,
        }
    }

    /// Whether nothing is left to do: no handle can open a stream, and the last has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.is_closed && self.streams.are_free()
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
        let (mut is_called, mut has_commands) = (false, false);
        let of_commands = self.streams.len();
        self.calls.take(|place| {
            is_called = true;
            if place == of_commands {
                has_commands = true;
            } else {
                self.agenda.call(place);
            }
        });
        if has_commands {
            self.take_commands(now);
        }
        self.link.recv(batch)?;
        let is_idle = batch.is_empty();
        if is_idle && !is_called && now < self.agenda.until() {
            return Ok(self.rest(now));
        }
        self.fetch(batch);
        for (bytes, meta) in &*batch {
            self.take(now, bytes, meta);
        }
        self.agenda.call_due(now);
        for _ in 0..self.agenda.len().min(VISITS_MAX) {
            let Some(place) = self.agenda.pop() else { break };
            self.visit(now, place, is_idle)?;
        }
        self.link.flush()?;
        self.watch(now);
        Ok(if is_idle { self.rest(now) } else { Rest::No })
    }

    /// What the driver does once nothing has come and everything due is done.
    fn rest(&self, now: Nanos) -> Rest {
        // An opening waits for the network: there is no hurry.
        if self.spins && self.openings == 0 {
            return Rest::No;
        }
        Rest::Until(self.agenda.until().min(now + SLEEP_MAX))
    }

    /// Reads the state of the streams whose packets have come. Of a thousand streams none is in a
    /// cache: these reads overlap, while those of one visit wait for those of the visit before.
    fn fetch(&self, batch: &Batch) {
        if self.streams.len() == 1 {
            return;
        }
        let mut last = None;
        for (bytes, _) in batch {
            let place = tag_of(bytes).and_then(|tag| self.streams.place_of(tag));
            if place != last
                && let Some(Entry::Open(stream)) = place.map(|it| self.streams.get(it))
            {
                let (receiver, snapshot) = (&stream.inflow.receiver, &stream.inflow.snapshot);
                black_box((receiver.next_index(), receiver.promise_end(), receiver.rtt()));
                black_box((receiver.stats().delivered, receiver.stats().reports, snapshot.rtt_ns));
            }
            last = place;
        }
    }

    fn take_commands(&mut self, now: Nanos) {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Open(opening)) => self.open(now, opening),
                Ok(Command::Begin(place, stream)) => self.begin(place, stream),
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
        opening.start(now, place, self.streams.len(), self.link.unreachable_hint());
        self.streams.set(place, Entry::Opening(opening));
        self.openings += 1;
        self.agenda.call(place);
    }

    fn begin(&mut self, place: usize, mut stream: Box<Stream>) {
        self.guard.lower(&mut self.link);
        if let Some(dropped) = self.dropped {
            stream.inflow.start_drops(dropped);
        }
        // A program that took too long finds the stream closed.
        drop(self.streams.begin(place, stream));
        let (packets, packet_bytes) = self.streams.room();
        self.link.make_room(packets, packet_bytes);
        self.agenda.call(place);
    }

    /// Takes a packet, and calls for its stream.
    fn take(&mut self, now: Nanos, bytes: &[u8], meta: &Meta) {
        self.dropped = meta.dropped.or(self.dropped);
        let (header, packet) = match wire::parse(bytes) {
            Ok(parsed) => parsed,
            Err(error) => return self.take_damaged(bytes, meta, &error),
        };
        let place = self.streams.find(meta.peer, &header, &packet);
        let is_ours = match place.and_then(|place| self.streams.get_mut(place)) {
            Some(Entry::Open(stream)) if stream.inflow.peer() == meta.peer => {
                stream.inflow.note_drops(meta);
                stream.inflow.handle(now, &header, &packet, meta.ecn)
            }
            Some(Entry::Opening(opening)) if opening.address() == meta.peer => {
                opening.handle(now, &header, &packet, bytes.len());
                true
            }
            _ => false,
        };
        match place {
            Some(place) if is_ours => self.agenda.call(place),
            _ => {
                self.strays += 1;
                match self.streams.only() {
                    // The stream itself has counted what came from its peer.
                    Some(stream) if stream.inflow.peer() == meta.peer => {}
                    Some(stream) => stream.inflow.snapshot.foreign += 1,
                    None => self.foreign += 1,
                }
            }
        }
    }

    /// Counts a packet that cannot be parsed with the stream whose tag it carries, or with the only
    /// stream that the endpoint can have.
    fn take_damaged(&mut self, bytes: &[u8], meta: &Meta, error: &WireError) {
        let place = tag_of(bytes).and_then(|tag| self.streams.place_with(tag, meta.peer));
        self.strays += u64::from(place.is_none());
        let stream = match place {
            Some(place) => self.streams.open_at(place),
            None => self.streams.only(),
        };
        match (error, stream) {
            (WireError::Crc, Some(stream)) if stream.inflow.peer() == meta.peer => {
                stream.inflow.snapshot.corrupted += 1;
            }
            (_, Some(stream)) => stream.inflow.snapshot.foreign += 1,
            (WireError::Crc, None) => self.corrupted += 1,
            (_, None) => self.foreign += 1,
        }
    }

    fn visit(&mut self, now: Nanos, place: usize, is_idle: bool) -> Result<(), LinkError> {
        match self.streams.get_mut(place) {
            Some(Entry::Open(_)) => self.visit_open(now, place, is_idle)?,
            Some(Entry::Opening(opening)) => {
                match opening.advance(now, &mut self.link, &mut self.out)? {
                    None => self.agenda.set(place, opening.wakes_at(now)),
                    Some(is_accepted) => {
                        self.openings -= 1;
                        self.settle(now, place, is_accepted);
                    }
                }
            }
            // The program did not come.
            Some(Entry::Accepted(until)) if now >= *until => self.streams.release(place),
            Some(Entry::Accepted(until)) => self.agenda.set(place, *until),
            Some(Entry::Free) | None => {}
        }
        Ok(())
    }

    fn visit_open(&mut self, now: Nanos, place: usize, is_idle: bool) -> Result<(), LinkError> {
        let Some(stream) = self.streams.open_at(place) else { return Ok(()) };
        let inflow = &mut stream.inflow;
        let is_crowded = inflow.is_crowded();
        inflow.advance(now, &mut self.link)?;
        if inflow.is_publishing(now, is_idle) {
            inflow.snapshot.note_link(self.link.resilient().error_counts());
            inflow.publish(now);
        }
        let wakes_at = if inflow.is_over() {
            inflow.publish(now);
            self.streams.release(place);
            return Ok(());
        } else if self.spins {
            Some(inflow.spins_until(now)).filter(|&at| at > now)
        } else if is_crowded {
            // More is likely to have come: when to wake is reckoned once nothing has.
            None
        } else {
            inflow.wakes_at(now)
        };
        match wakes_at {
            Some(at) => self.agenda.set(place, at),
            None => self.agenda.call(place),
        }
        Ok(())
    }

    /// An opening is over.
    fn settle(&mut self, now: Nanos, place: usize, is_accepted: bool) {
        if is_accepted {
            let until = now + BEGIN_PATIENCE;
            self.streams.set(place, Entry::Accepted(until));
            self.agenda.set(place, until);
        } else {
            self.streams.release(place);
        }
    }

    /// Now and then publishes the counts, and looks whether packets of no stream are a flood.
    fn watch(&mut self, now: Nanos) {
        if now.since(self.guarded_at) < WATCH_PAUSE {
            return;
        }
        self.guarded_at = now;
        // Relaxed: counts for people.
        self.counts.corrupted.store(self.corrupted, Ordering::Relaxed);
        self.counts.foreign.store(self.foreign, Ordering::Relaxed);
        if self.guard.watch(now, self.strays, &mut self.link) && self.openings == 0 {
            let (local, peer) = self.streams.tags();
            self.guard.raise(now, (&local, &peer), &mut self.link);
        }
    }

    /// The link has failed, in a turn or while the driver waited on it: openings end at once, and
    /// streams when their programs have taken what has arrived.
    pub(crate) fn fail(&mut self, error: &LinkError) {
        self.is_broken = true;
        self.is_closed = true;
        // Handles see that no command is taken any more.
        self.commands = mpsc::channel().1;
        for place in 0..self.streams.len() {
            match self.streams.get_mut(place) {
                Some(Entry::Open(stream)) => {
                    stream.inflow.fail(Some(error.duplicate()));
                    continue;
                }
                Some(Entry::Opening(opening)) => opening.fail(error.duplicate()),
                Some(Entry::Accepted(_)) => {}
                Some(Entry::Free) | None => continue,
            }
            self.streams.release(place);
        }
    }

    /// Hands over what had arrived before the link failed, as the programs make room.
    fn hand_over_rest(&mut self, now: Nanos) -> Rest {
        for place in 0..self.streams.len() {
            let Some(stream) = self.streams.open_at(place) else { continue };
            if stream.inflow.fail(None) {
                stream.inflow.publish(now);
                self.streams.release(place);
            }
        }
        if self.spins { Rest::No } else { Rest::Pause(now + HAND_OVER_PAUSE) }
    }
}

/// Streams that are visited before the link is asked again for what has arrived.
const VISITS_MAX: usize = 64;

/// How long an accepted stream waits for its program to take the memory for it.
const BEGIN_PATIENCE: Nanos = Nanos::from_millis(3_000);

/// Between two looks at what was counted.
const WATCH_PAUSE: Nanos = Nanos::from_millis(10);

/// Between two looks at programs that have not taken everything of a link that failed.
const HAND_OVER_PAUSE: Nanos = Nanos::from_millis(1);

const SLEEP_MAX: Nanos = Nanos::from_millis(100);
