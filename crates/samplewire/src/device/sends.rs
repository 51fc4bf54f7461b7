//! The streams that a device sends, of which a turn visits those that have something to do.

use std::hint::black_box;
use std::net::SocketAddr;
use std::time::Duration;

use arrayvec::ArrayVec;
use samplewire_io::{Link, LinkError};
use samplewire_proto::stream::End;
use samplewire_proto::wire::{Header, Packet};
use samplewire_proto::{Nanos, SampleIndex, Tag};

use super::engine::FIRST_WORD_PATIENCE;
use super::offer::Offer;
use crate::endpoint::Agenda;
use crate::port::PortCounts;
use crate::transmitter::{OUTBOX_PACKETS, Outflow};

/// All of them; their places are their numbers.
pub(super) struct Sends {
    streams: Box<[Send]>,
    agenda: Agenda,
    /// How many programs are gone.
    stopped: usize,
    last_index: SampleIndex,
}

/// A stream that goes out, with memory of its own.
pub(super) struct Send {
    pub(super) offer: Offer,
    pub(super) outflow: Outflow,
    is_stopped: bool,
}

/// What a stream has become when it was visited.
#[derive(Clone, Copy, Debug)]
pub(super) enum News {
    /// Its peer has spoken.
    Announced,
    /// It is over; its tag.
    Over(Tag),
}

/// What came of the visits of a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visits {
    /// Something was taken from a program.
    pub(super) have_pushed: bool,
    /// The link took everything.
    pub(super) took_all: bool,
    /// How long to look away from peers whose packets change nothing.
    pub(super) dull_pause: Option<Duration>,
}

impl Send {
    pub(super) const fn new(offer: Offer, outflow: Outflow) -> Self {
        Self { offer, outflow, is_stopped: false }
    }
}

impl Sends {
    pub(super) fn new(streams: Box<[Send]>) -> Self {
        let mut agenda = Agenda::new(streams.len());
        // Each shows its counters now and then, also before it is opened.
        (0..streams.len()).for_each(|place| agenda.call(place));
        Self { streams, agenda, stopped: 0, last_index: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.streams.len()
    }

    pub(super) fn get(&self, stream: u16) -> Option<&Send> {
        self.streams.get(usize::from(stream))
    }

    pub(super) fn get_mut(&mut self, stream: u16) -> &mut Send {
        &mut self.streams[usize::from(stream)]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Send> {
        self.streams.iter()
    }

    /// The stream at `place`, if it is one of these, has something to do.
    pub(super) fn call(&mut self, place: usize) {
        if place < self.streams.len() {
            self.agenda.call(place);
        }
    }

    /// Takes a packet of a stream; `false` when it is not of its peer, or of none of these.
    pub(super) fn handle(
        &mut self,
        now: Nanos,
        stream: u16,
        peer: SocketAddr,
        (header, packet): (&Header, &Packet<'_>),
    ) -> bool {
        let place = usize::from(stream);
        let Some(send) = self.streams.get_mut(place) else { return false };
        let is_ours = send.outflow.handle(now, peer, header, packet);
        if is_ours {
            self.agenda.call(place);
        }
        is_ours
    }

    /// Visits the streams that have something to do, as many as one turn may, and tells what has
    /// become of them. What they have ready leaves together, and in messages of several streams. The
    /// first of the next turn is the one behind the last of this, so that a link that is full is full
    /// for all alike.
    pub(super) fn visit(
        &mut self,
        now: Nanos,
        link: &mut dyn Link,
        counts: &PortCounts,
        mut tell: impl FnMut(News),
    ) -> Result<Visits, LinkError> {
        self.agenda.call_due(now);
        let mut visits = Visits { have_pushed: false, took_all: true, dull_pause: None };
        let (mut filled, mut packets) = (ArrayVec::new(), 0);
        let mut batches = 0;
        for visit in 0..self.agenda.len().min(VISITS_MAX) {
            if visit.is_multiple_of(FETCHED) {
                self.fetch(now);
            }
            let Some(place) = self.agenda.pop() else { break };
            let send = &mut self.streams[place];
            if send.outflow.is_stopped() && !send.is_stopped {
                send.is_stopped = true;
                self.stopped += 1;
            }
            visits.have_pushed |= send.prepare(now, link, &mut tell);
            packets += send.outflow.departing();
            filled.push(place as u16);
            if packets >= OUTBOX_PACKETS {
                self.depart(now, &mut filled, link, (counts, &mut visits), &mut tell)?;
                (packets, batches) = (0, batches + 1);
                if !visits.took_all || batches == BATCHES_MAX {
                    break;
                }
            }
        }
        if !filled.is_empty() {
            self.depart(now, &mut filled, link, (counts, &mut visits), &mut tell)?;
        }
        Ok(visits)
    }

    /// Looks at the next streams. Of a thousand none is in a cache: what is read of several overlaps,
    /// and what a visit reads waits for what it has read before.
    fn fetch(&self, now: Nanos) {
        for place in self.agenda.upcoming().take(FETCHED) {
            let outflow = &self.streams[place].outflow;
            black_box((outflow.is_stopped(), outflow.is_idle(), outflow.wakes_at(now)));
        }
    }

    /// Sends what the `filled` streams have ready, and sees what that makes of them.
    fn depart(
        &mut self,
        now: Nanos,
        filled: &mut Filled,
        link: &mut dyn Link,
        (counts, visits): (&PortCounts, &mut Visits),
        tell: &mut impl FnMut(News),
    ) -> Result<(), LinkError> {
        let mut sent = self.send(filled, link)?;
        for place in filled.drain(..).map(usize::from) {
            let outflow = &mut self.streams[place].outflow;
            let took_all = outflow.depart(sent.take(outflow));
            if let Some(tag) = outflow.note_end(now, link) {
                tell(News::Over(tag));
            }
            outflow.publish(now, counts);
            visits.dull_pause = visits.dull_pause.max(outflow.dull_pause(now));
            visits.took_all &= took_all;
            self.last_index = self.last_index.max(outflow.next_index());
            if took_all && outflow.is_idle() {
                self.agenda.set(place, outflow.wakes_at(now));
            } else {
                self.agenda.call(place);
            }
        }
        Ok(())
    }

    /// Offers the link what the `filled` streams have ready; says what it took. The control packets
    /// of all leave first: between DATA of equal length each would end a message.
    fn send(&self, filled: &Filled, link: &mut dyn Link) -> Result<Sent, LinkError> {
        let mut packets = ArrayVec::<_, { 2 * OUTBOX_PACKETS }>::new();
        let outflows = || filled.iter().map(|&place| &self.streams[usize::from(place)].outflow);
        for outflow in outflows() {
            packets.extend(outflow.packets().take(outflow.controls()));
        }
        let controls = packets.len();
        for outflow in outflows() {
            packets.extend(outflow.packets().skip(outflow.controls()));
        }
        let sent = if packets.is_empty() { 0 } else { link.send(&packets)? };
        Ok(Sent { controls: sent.min(controls), rest: sent.saturating_sub(controls) })
    }

    /// The end of the stream that is furthest.
    pub(super) const fn last_index(&self) -> SampleIndex {
        self.last_index
    }

    /// Until when nothing is to be done unless something comes or is submitted.
    pub(super) fn until(&self) -> Nanos {
        self.agenda.until()
    }

    /// Whether all programs are gone.
    pub(super) const fn are_stopped(&self) -> bool {
        self.stopped == self.streams.len()
    }

    /// Whether one is open.
    pub(super) fn are_open(&self) -> bool {
        self.streams.iter().any(|it| it.outflow.is_open())
    }

    /// The port broke, and why.
    pub(super) fn fail(&self, error: &LinkError) {
        self.streams.iter().for_each(|it| it.outflow.fail(error));
    }
}

impl Send {
    /// Does what is due, and makes ready what may depart; says whether something was taken from the
    /// program.
    fn prepare(&mut self, now: Nanos, link: &mut dyn Link, tell: &mut impl FnMut(News)) -> bool {
        let outflow = &mut self.outflow;
        if outflow.announce() {
            tell(News::Announced);
        }
        // Its opener has tried again, or is gone.
        if outflow.waits_for_report(now).is_some_and(|waited| waited > FIRST_WORD_PATIENCE)
            && let Some(tag) = outflow.end(now, End::PeerSilent, link)
        {
            tell(News::Over(tag));
        }
        if self.is_stopped {
            outflow.cancel(now);
        }
        outflow.recycle();
        let has_pushed = outflow.push();
        outflow.act_on_time(now);
        outflow.fill();
        has_pushed
    }
}

/// What a link took of what several streams had ready: the first of their control packets, and, once
/// it took all of these, the first of the rest.
struct Sent {
    controls: usize,
    rest: usize,
}

impl Sent {
    /// How many packets of the next stream are among them.
    fn take(&mut self, outflow: &Outflow) -> usize {
        let controls = outflow.controls();
        let rest = outflow.departing() - controls;
        let taken = (controls.min(self.controls), rest.min(self.rest));
        self.controls -= taken.0;
        self.rest -= taken.1;
        taken.0 + taken.1
    }
}

/// Streams that have been visited and whose packets have not left.
type Filled = ArrayVec<u16, VISITS_MAX>;

/// Full batches that one turn sends before it looks at what has arrived.
const BATCHES_MAX: usize = 2;

/// Streams that are visited before the link is asked again for what has arrived.
const VISITS_MAX: usize = 64;

/// Streams that are looked at before the first of them is visited: as many reads as a core has under
/// way at once, and no more than stay in its cache.
const FETCHED: usize = 8;
