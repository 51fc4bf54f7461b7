//! The I/O thread of a host's port: openings and streams over one link.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, TryRecvError};
use std::time::Duration;

use samplewire_io::{Batch, Link, LinkError, Meta, Resilient};
use samplewire_proto::wire::{self, WireError};
use samplewire_proto::{Nanos, Tag};

use super::opening::Opening;
use super::places::{Place, Places, Stream};
use super::{Command, Counts, Port};
use crate::agenda::Agenda;
use crate::calls::Calls;
use crate::drive;
use crate::gather::Gather;
use crate::port::{Clock, IP_BYTES_MAX};
use crate::receiver::guard::{Guard, tag_of};
use crate::receiver::inflow::WAIT_MAX;

/// Everything the thread owns.
pub(super) struct Engine {
    link: Gather,
    clock: Clock,
    calls: Arc<Calls>,
    commands: mpsc::Receiver<Command>,
    /// Nobody opens streams any more.
    is_left: bool,
    places: Places,
    agenda: Agenda,
    /// Openings under way.
    openings: usize,
    out: Box<[u8]>,
    /// What the socket has dropped, when it last said so.
    dropped: Option<u32>,
    guard: Guard,
    guarded_at: Nanos,
    corrupted: u64,
    foreign: u64,
    counts: Arc<Counts>,
}

impl Engine {
    pub(super) fn new(
        (link, clock, calls): (Resilient, Clock, Arc<Calls>),
        commands: mpsc::Receiver<Command>,
        counts: Arc<Counts>,
    ) -> Self {
        Self {
            link: Gather::new(link),
            clock,
            calls,
            commands,
            is_left: false,
            places: Places::new(Port::STREAMS_MAX),
            agenda: Agenda::new(Port::STREAMS_MAX),
            openings: 0,
            out: vec![0; IP_BYTES_MAX].into(),
            dropped: None,
            guard: Guard::new(),
            guarded_at: Nanos(0),
            corrupted: 0,
            foreign: 0,
            counts,
        }
    }

    fn turn(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        let mut has_commands = false;
        self.calls.take(|place| match place {
            Port::STREAMS_MAX => has_commands = true,
            place => self.agenda.call(place),
        });
        let now = self.clock.now();
        if has_commands {
            self.take_commands(now);
        }
        self.link.recv(batch)?;
        self.fetch(batch);
        for (bytes, meta) in &*batch {
            self.take(now, bytes, meta);
        }
        let is_idle = batch.is_empty();
        self.agenda.call_due(now);
        for _ in 0..self.agenda.len().min(VISITS_MAX) {
            let Some(place) = self.agenda.pop() else { break };
            self.visit(now, place, is_idle)?;
        }
        self.link.flush()?;
        self.watch(now);
        if is_idle { self.wait() } else { Ok(()) }
    }

    /// Looks at the streams whose packets have come. Of a thousand none is in a cache: what is read of
    /// several overlaps, and what a packet needs waits for what was read for it before.
    fn fetch(&self, batch: &Batch) {
        let mut last = None;
        for (bytes, _) in batch {
            let place = tag_of(bytes).and_then(|tag| self.places.place_of(tag));
            if place != last
                && let Some(Place::Open(stream)) = place.map(|it| self.places.get(it))
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
                    self.is_left = true;
                    self.places.forget_accepted();
                    return;
                }
            }
        }
    }

    fn open(&mut self, now: Nanos, mut opening: Box<Opening>) {
        let Some(place) = self.places.take_free() else { return opening.refuse() };
        // A filter would know none of its packets.
        self.guard.lower(&mut self.link);
        opening.start(now, place, self.link.unreachable_hint());
        self.places.set(place, Place::Opening(opening));
        self.openings += 1;
        self.agenda.call(place);
    }

    fn begin(&mut self, place: usize, mut stream: Box<Stream>) {
        self.guard.lower(&mut self.link);
        if let Some(dropped) = self.dropped {
            stream.inflow.start_drops(dropped);
        }
        // A program that took too long finds the stream closed.
        drop(self.places.begin(place, stream));
        let (packets, packet_bytes) = self.places.room();
        self.link.make_room(packets, packet_bytes);
        self.agenda.call(place);
    }

    /// Takes a packet, and calls for the stream that it is of.
    fn take(&mut self, now: Nanos, bytes: &[u8], meta: &Meta) {
        self.dropped = meta.dropped.or(self.dropped);
        let (header, packet) = match wire::parse(bytes) {
            Ok(parsed) => parsed,
            Err(error) => return self.take_damaged(bytes, meta, &error),
        };
        let place = self.places.find(meta.peer, &header, &packet);
        let is_ours = match place.and_then(|place| self.places.get_mut(place)) {
            Some(Place::Open(stream)) if stream.inflow.peer() == meta.peer => {
                stream.inflow.note_drops(meta);
                stream.inflow.handle(now, &header, &packet, meta.ecn)
            }
            Some(Place::Opening(opening)) if opening.address() == meta.peer => {
                opening.handle(now, &header, &packet, bytes.len());
                true
            }
            _ => false,
        };
        match place {
            Some(place) if is_ours => self.agenda.call(place),
            _ => self.foreign += 1,
        }
    }

    /// Counts a packet that cannot be read with the stream whose tag it carries.
    fn take_damaged(&mut self, bytes: &[u8], meta: &Meta, error: &WireError) {
        let place = tag_of(bytes).and_then(|tag: Tag| self.places.place_of(tag));
        let stream = place.and_then(|place| self.places.stream(place, meta.peer));
        let snapshot = stream.map(|stream| &mut stream.inflow.snapshot);
        match (error, snapshot) {
            (WireError::Crc, Some(snapshot)) => snapshot.corrupted += 1,
            (WireError::Crc, None) => self.corrupted += 1,
            (_, Some(snapshot)) => snapshot.foreign += 1,
            (_, None) => self.foreign += 1,
        }
    }

    fn visit(&mut self, now: Nanos, place: usize, is_idle: bool) -> Result<(), LinkError> {
        match self.places.get_mut(place) {
            Some(Place::Open(stream)) => {
                let inflow = &mut stream.inflow;
                inflow.advance(now, &mut self.link)?;
                inflow.snapshot.note_link(self.link.resilient().error_counts());
                if inflow.is_publishing(now, is_idle) {
                    inflow.publish(now);
                }
                if inflow.is_over() {
                    inflow.publish(now);
                    self.places.release(place);
                } else {
                    match inflow.wakes_at(now) {
                        Some(at) => self.agenda.set(place, at),
                        None => self.agenda.call(place),
                    }
                }
            }
            Some(Place::Opening(opening)) => {
                match opening.advance(now, &mut self.link, &mut self.out)? {
                    None => self.agenda.set(place, opening.wakes_at(now)),
                    Some(is_accepted) => {
                        self.openings -= 1;
                        self.settle(now, place, is_accepted);
                    }
                }
            }
            // The program did not come.
            Some(Place::Accepted(until)) if now >= *until => self.places.release(place),
            Some(Place::Accepted(until)) => self.agenda.set(place, *until),
            Some(Place::Free) | None => {}
        }
        Ok(())
    }

    /// An opening is over.
    fn settle(&mut self, now: Nanos, place: usize, is_accepted: bool) {
        if is_accepted {
            let until = now + BEGIN_PATIENCE;
            self.places.set(place, Place::Accepted(until));
            self.agenda.set(place, until);
        } else {
            self.places.release(place);
        }
    }

    /// Now and then shows the counts, and looks whether packets of no stream are a flood.
    fn watch(&mut self, now: Nanos) {
        if now.since(self.guarded_at) < WATCH_PAUSE {
            return;
        }
        self.guarded_at = now;
        // Relaxed: counts for people.
        self.counts.corrupted.store(self.corrupted, Ordering::Relaxed);
        self.counts.foreign.store(self.foreign, Ordering::Relaxed);
        let strays = self.corrupted + self.foreign;
        if self.guard.watch(now, strays, &mut self.link) && self.openings == 0 {
            let (local, peer) = self.places.tags();
            self.guard.raise(now, (&local, &peer), &mut self.link);
        }
    }

    fn wait(&mut self) -> Result<(), LinkError> {
        let now = self.clock.now();
        let span = self.agenda.until().min(now + SLEEP_MAX).since(now);
        self.calls.sleep(&mut self.link, span, || true)
    }

    /// The link has failed: what has arrived is still the programs'.
    fn fail(&mut self, error: &LinkError) {
        let local = self.link.local_addr();
        for stream in self.places.streams() {
            let source = std::io::Error::other(error.to_string());
            let of_stream = LinkError::System { operation: "port", address: local, source };
            stream.inflow.fail(Some(of_stream));
        }
        while self.places.streams().fold(false, |waits, it| !it.inflow.fail(None) | waits) {
            std::thread::sleep(Duration::from_nanos(WAIT_MAX.0));
        }
        let now = self.clock.now();
        self.places.streams().for_each(|it| it.inflow.publish(now));
    }
}

/// An engine with the memory for what arrives.
pub(super) struct Running {
    pub(super) engine: Engine,
    pub(super) batch: Batch,
}

impl drive::Engine for Running {
    /// `false` when nobody opens streams any more and the last has ended.
    fn step(&mut self) -> bool {
        let Self { engine, batch } = self;
        if let Err(error) = engine.turn(batch) {
            engine.fail(&error);
            return false;
        }
        !(engine.is_left && engine.places.are_free())
    }
}

/// Streams that are visited before the link is asked again for what has arrived.
const VISITS_MAX: usize = 64;

/// How long an accepted stream waits for its program to take the memory for it.
const BEGIN_PATIENCE: Nanos = Nanos::from_millis(3_000);

/// Between two looks at what was counted.
const WATCH_PAUSE: Nanos = Nanos::from_millis(10);

const SLEEP_MAX: Nanos = Nanos::from_millis(100);
