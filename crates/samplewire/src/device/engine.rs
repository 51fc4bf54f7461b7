//! The I/O thread of a device's port: a listener, the streams out and the stream in, over one link.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use samplewire_io::{Batch, Ecn, Link, LinkError, Outgoing, Resilient};
use samplewire_proto::session::{
    EndView, ListenEvent, Listener, OpenRequest, StreamSlot, StreamTerms,
};
use samplewire_proto::stream::End;
use samplewire_proto::wire::{self, RefuseReason, Role, WireError};
use samplewire_proto::{Nanos, Tag};

use super::SampleClock;
use super::favours::Favours;
use super::plays::Plays;
use super::sends::{News, Send, Sends, Visits};
use super::start;
use crate::calls::Calls;
use crate::driver;
use crate::port::{Clock, IP_BYTES_MAX, LINGER_MAX, LINK_FULL_PAUSE, PortCounts, peer_of};
use crate::transmitter::Form;

/// Everything the thread owns.
pub(super) struct Engine {
    link: Resilient,
    clock: Clock,
    calls: Arc<Calls>,
    listener: Listener<Box<[StreamSlot]>>,
    boot_id: u64,
    /// Their places are their numbers; the stream that comes in follows.
    sends: Sends,
    plays: Option<Plays>,
    favours: Favours,
    samples: Option<SampleClock>,
    answer: Box<[u8]>,
    counts: PortCounts,
    spins: bool,
    /// Until then the stream in has nothing to do unless something comes, where nobody sleeps.
    plays_quiet_until: Nanos,
    stopped_at: Option<Nanos>,
}

impl Engine {
    pub(super) fn new(
        (link, clock, calls): (Resilient, Clock, Arc<Calls>),
        (listener, boot_id): (Listener<Box<[StreamSlot]>>, u64),
        (sends, plays): (Sends, Option<Plays>),
        samples: Option<SampleClock>,
        spins: bool,
    ) -> Self {
        let answer = vec![0; IP_BYTES_MAX].into();
        let (favours, counts) = (Favours::new(sends.len() + 1), PortCounts::default());
        Self {
            link,
            clock,
            calls,
            listener,
            boot_id,
            sends,
            plays,
            favours,
            samples,
            answer,
            counts,
            spins,
            plays_quiet_until: Nanos(0),
            stopped_at: None,
        }
    }

    /// A turn; `false` when the program has stopped all, and the streams that were open are
    /// cancelled.
    fn step(&mut self, batch: &mut Batch) -> bool {
        if let Err(error) = self.turn(batch) {
            self.sends.fail(&error);
            if let Some(plays) = &mut self.plays {
                plays.fail(error);
            }
            return false;
        }
        let plays_is_stopped = self.plays.as_ref().is_none_or(Plays::is_stopped);
        if !(self.sends.are_stopped() && plays_is_stopped) {
            return true;
        }
        let now = self.clock.now();
        let since = *self.stopped_at.get_or_insert(now);
        let is_open = self.sends.are_open() || self.plays.as_ref().is_some_and(Plays::is_open);
        is_open && now.since(since) <= LINGER_MAX
    }

    fn turn(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        // What is called for later is found before a sleep.
        let mut is_called = false;
        self.calls.take(|place| {
            self.sends.call(place);
            is_called = true;
        });
        let now = self.clock.now();
        // What was submitted leaves first.
        let visits = self.run_sends(now)?;
        self.link.recv(batch)?;
        let has_arrivals = !batch.is_empty();
        self.take_arrivals(now, batch)?;
        if has_arrivals || is_called || now >= self.plays_quiet_until {
            self.run_plays(now)?;
        }
        self.favour(now);
        if self.spins {
            return Ok(());
        }
        if !visits.took_all {
            return self.link.wait(LINK_FULL_PAUSE);
        }
        if has_arrivals && let Some(pause) = visits.dull_pause {
            std::thread::sleep(pause);
        }
        if has_arrivals || visits.have_pushed { Ok(()) } else { self.wait(now) }
    }

    /// Sends what is due.
    fn run_sends(&mut self, now: Nanos) -> Result<Visits, LinkError> {
        self.counts.listen = *self.listener.stats();
        self.counts.link = self.link.error_counts();
        let Self { sends, link, listener, favours, counts, .. } = self;
        sends.visit(now, link, counts, |news| {
            if let News::Over(tag) = news {
                listener.release(tag);
            }
            favours.expire();
        })
    }

    fn run_plays(&mut self, now: Nanos) -> Result<(), LinkError> {
        let Some(plays) = &mut self.plays else { return Ok(()) };
        if plays.announce() {
            self.favours.expire();
        }
        plays.note_link(self.link.error_counts());
        let is_late = plays.waits_for_sender(now).is_some_and(|it| it > FIRST_WORD_PATIENCE);
        let forgotten = if is_late { plays.end(now, &mut self.link) } else { None };
        let over = plays.advance(now, &mut self.link)?;
        for tag in forgotten.into_iter().chain(over) {
            self.listener.release(tag);
            self.favours.expire();
        }
        if self.spins {
            self.plays_quiet_until = plays.spins_until(now);
        }
        Ok(())
    }

    fn take_arrivals(&mut self, now: Nanos, batch: &Batch) -> Result<(), LinkError> {
        if let (Some(plays), Some(clock)) = (&mut self.plays, &self.samples) {
            plays.set_clock(clock.index_at(Instant::now()));
        }
        for (bytes, meta) in batch {
            let parsed = wire::parse(bytes);
            // A tag says of which stream it is, however many there are.
            if let Ok((header, packet)) = &parsed
                && let Some(stream) = self.listener.stream_of(header.tag)
                && self.sends.handle(now, stream, meta.peer, (header, packet))
            {
                continue;
            }
            if let Some(plays) = &mut self.plays
                && plays.handle(now, meta, &parsed)
            {
                continue;
            }
            match self.listener.handle(now, peer_of(meta.peer), bytes) {
                Ok(()) => {}
                Err(WireError::Crc) => self.counts.corrupted += 1,
                Err(_) => self.counts.foreign += 1,
            }
            self.answer(now, meta.peer)?;
        }
        Ok(())
    }

    fn answer(&mut self, now: Nanos, peer: SocketAddr) -> Result<(), LinkError> {
        if let Some(ListenEvent::Opening { request, .. }) = self.listener.poll_event() {
            match self.handle_opening(now, peer, &request) {
                Ok(()) => {}
                Err(Some(reason)) => {
                    let retry_ms = if reason == RefuseReason::Busy { STOPPED_RETRY_MS } else { 0 };
                    self.listener.refuse(&request, reason, retry_ms);
                }
                // As if the OPEN were lost.
                Err(None) => {}
            }
        }
        while let Some((_, len)) = self.listener.poll_transmit(now, &mut self.answer) {
            let parts: [&[u8]; 3] = [&self.answer[..len], &[], &[]];
            self.link.send(&[Outgoing { peer, ecn: Ecn::NotEct, parts }])?;
        }
        Ok(())
    }

    fn handle_opening(
        &mut self,
        now: Nanos,
        peer: SocketAddr,
        request: &OpenRequest,
    ) -> Result<(), Option<RefuseReason>> {
        let is_out = usize::from(request.stream) < self.sends.len();
        let wishes_out = match request.role {
            Role::Describe => is_out,
            Role::Receive => true,
            Role::Send => false,
        };
        if wishes_out != is_out {
            return Err(Some(RefuseReason::Role));
        }
        if request.role != Role::Describe {
            // Nobody would send or take its samples any more.
            if self.is_stopped(request.stream) {
                return Err(Some(RefuseReason::Busy));
            }
            if self.is_too_early(now, request.stream) {
                return Err(None);
            }
        }
        let params = self.params(request).map_err(Some)?;
        let accepted = self.listener.accept(now, request, &params);
        // Only a description has no tag.
        let Some(tag) = accepted.map_err(|_| Some(RefuseReason::PacketSize))? else {
            return Ok(());
        };
        if is_out {
            self.begin_out(now, peer, request, &params, tag);
        } else if let Some(plays) = &mut self.plays {
            let ids = (tag, self.boot_id);
            plays.begin(now, (request, peer), &params, ids, &mut self.link);
            self.favours.expire();
        }
        Ok(())
    }

    /// Whether the program has let go of the stream.
    fn is_stopped(&self, stream: u16) -> bool {
        match self.sends.get(stream) {
            Some(sends) => sends.outflow.is_stopped(),
            None => self.plays.as_ref().is_some_and(Plays::is_stopped),
        }
    }

    /// Whether the stream has begun just now: one cookie is good for 256 OPENs, and each takeover
    /// costs the memory of a stream anew (`docs/protocol.md#3.14`).
    fn is_too_early(&self, now: Nanos, stream: u16) -> bool {
        let waits = match self.sends.get(stream) {
            Some(sends) => sends.outflow.waits_for_report(now),
            None => self.plays.as_ref().and_then(|plays| plays.waits_for_sender(now)),
        };
        waits.is_some_and(|waited| waited < TAKEOVER_PAUSE)
    }

    fn params(&self, request: &OpenRequest) -> Result<StreamTerms, RefuseReason> {
        let sends = self.sends.get(request.stream);
        let (offer, next_index) = match (sends, &self.plays) {
            (Some(sends), _) => (&sends.offer, sends.outflow.next_index()),
            (None, Some(plays)) => (&plays.offer, plays.next_index()),
            (None, None) => return Err(RefuseReason::NoSuchStream),
        };
        let clock_index = self.samples.map(|clock| clock.index_at(Instant::now()));
        let now_index = clock_index.unwrap_or(0);
        let latest = match (sends, self.samples) {
            (None, _) => self.plays.as_ref().map_or(0, |it| it.latest_start(clock_index)),
            (Some(_), Some(clock)) => now_index.saturating_add(clock.samples_in(START_AHEAD_MAX)),
            // Streams that begin together begin where the last of them is.
            (Some(_), None) => {
                let ahead = START_AHEAD_MAX.as_secs_f64() * offer.info.rate_hz();
                self.sends.last_index().saturating_add(ahead as u64)
            }
        };
        let bounds = now_index.max(next_index)..=latest;
        let first_index =
            start::first_index(request.start_index, bounds).ok_or(RefuseReason::StartIndex)?;
        let streams = self.sends.len() as u16 + u16::from(self.plays.is_some());
        let is_out = sends.is_some();
        offer.params(request, is_out, (first_index, streams)).ok_or(RefuseReason::PacketSize)
    }

    fn begin_out(
        &mut self,
        now: Nanos,
        peer: SocketAddr,
        request: &OpenRequest,
        params: &StreamTerms,
        tag: Tag,
    ) {
        self.sends.call(request.stream.into());
        let Send { offer, outflow, .. } = self.sends.get_mut(request.stream);
        outflow.end(now, End::PeerRestarted, &mut self.link);
        let terms = params.at(EndView {
            local_tag: tag,
            peer_tag: request.peer_tag,
            is_opener: false,
            window: offer.window,
            ranges_max: params.ranges_max,
            rtt: super::RTT_INITIAL,
        });
        let payload_bytes = usize::from(params.payload_bytes);
        let form =
            Form { payload_bytes, frame_bytes: offer.frame_bytes, granularity_bytes: GRANULARITY };
        outflow
            .begin(now, terms, form, peer, offer.quantum_packets_at(payload_bytes))
            .expect("the offer was checked when it was made, and the index when it was chosen");
        self.favours.expire();
    }

    /// Lets the packets of streams that flow come before those of strangers; a link that cannot do
    /// so receives as before.
    fn favour(&mut self, now: Nanos) {
        if self.favours.is_due(now) {
            let out = self.sends.iter().filter_map(|it| it.outflow.announced_tag());
            let inward = self.plays.as_ref().and_then(Plays::announced_tag);
            self.favours.tell(now, out.chain(inward), &mut self.link);
        }
    }

    fn wait(&mut self, now: Nanos) -> Result<(), LinkError> {
        let mut until = self.sends.until().min(self.favours.due_at()).min(now + SLEEP_MAX);
        if let Some(plays) = &mut self.plays {
            match plays.wakes_at(now) {
                Some(at) => until = until.min(at),
                None => return Ok(()),
            }
        }
        let span = until.since(self.clock.now());
        self.calls.sleep(&mut self.link, span, || true)
    }
}

/// An engine with the memory for what arrives.
pub(super) struct Running {
    pub(super) engine: Engine,
    pub(super) batch: Batch,
}

impl driver::Engine for Running {
    fn step(&mut self) -> bool {
        self.engine.step(&mut self.batch)
    }
}

/// What a host pads the end of a burst to, in bytes.
const GRANULARITY: usize = 8;

/// How far ahead a stream out may be told to start: it holds its memory until then.
const START_AHEAD_MAX: Duration = Duration::from_secs(60);

/// When an opener of a stream that the program has let go of may try again: when another device is
/// there.
const STOPPED_RETRY_MS: u32 = 100;

/// How long a stream whose peer has not spoken is not taken over (`docs/protocol.md#3.14`).
const TAKEOVER_PAUSE: Nanos = Nanos::from_millis(5);

/// How long an accepted stream waits for its peer's first word.
pub(super) const FIRST_WORD_PATIENCE: Nanos = Nanos::from_millis(3_000);

const SLEEP_MAX: Nanos = Nanos::from_millis(100);
