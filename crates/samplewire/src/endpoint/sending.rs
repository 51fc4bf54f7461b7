//! Visits of the sent streams. The ready packets of several streams leave in one call.

use std::hint::black_box;
use std::time::Duration;

use arrayvec::ArrayVec;
use samplewire_io::links::LINKS_MAX;
use samplewire_io::{Link, LinkError};
use samplewire_proto::stream::End;
use samplewire_proto::{Nanos, SampleIndex};

use super::agenda::{Agenda, VISITS_MAX};
use super::listening::Listening;
use super::station::Station;
use super::streams::{Entry, Opened, Streams};
use crate::device::Offer;
use crate::port::{LINGER_MAX, PortCounts};
use crate::transmitter::{OUTBOX_PACKETS, SendFlow};

/// A sent stream.
pub(crate) struct Sending {
    pub(crate) flow: SendFlow,
    pub(crate) side: Side,
    /// When the program was found to have released it.
    stopped_at: Option<Nanos>,
}

/// The side that opens a sent stream.
pub(crate) enum Side {
    /// This end opens it: it is removed when it ends.
    Opener(Opened),
    /// Receivers open the offered stream, one after another.
    Listener(Offer),
}

/// Which streams to visit, and the end of the furthest.
pub(super) struct Departures {
    agenda: Agenda,
    last_index: SampleIndex,
}

/// The context of a visit.
pub(super) struct Turn<'a> {
    pub(super) now: Nanos,
    pub(super) link: &'a mut dyn Link,
    pub(super) station: Option<&'a mut Station>,
    pub(super) counts: &'a PortCounts,
    /// Where others open the streams.
    pub(super) listening: Option<&'a mut Listening>,
    /// Streams whose programs have released them.
    pub(super) stopped: &'a mut usize,
}

/// The results of the visits in a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visits {
    /// Whether samples were taken from a program.
    pub(super) have_pushed: bool,
    /// Whether the link accepted everything.
    pub(super) took_all: bool,
    /// Whether it has no room for the packets of any peer.
    pub(super) is_full: bool,
    /// How long to ignore peers whose packets change nothing.
    pub(super) flood_pause: Option<Duration>,
}

impl Visits {
    /// No visits.
    pub(super) const NONE: Self =
        Self { have_pushed: false, took_all: true, is_full: false, flood_pause: None };
}

impl Departures {
    /// For `places` streams.
    pub(super) fn new(places: usize) -> Self {
        Self { agenda: Agenda::new(places), last_index: 0 }
    }

    /// The stream at `place` has work.
    pub(super) fn call(&mut self, place: usize) {
        self.agenda.call(place);
    }

    /// The time until which there is no work without packets or samples.
    pub(super) fn until(&self) -> Nanos {
        if self.agenda.has_waiting() { Nanos(0) } else { self.agenda.until() }
    }

    /// The same without the streams whose link is full.
    pub(super) fn until_elsewhere(&self) -> Nanos {
        self.agenda.until()
    }

    /// The end of the furthest stream.
    pub(super) const fn last_index(&self) -> SampleIndex {
        self.last_index
    }

    /// Visits the streams with work, up to the limit of one turn. The next turn continues after the
    /// last of this one, so that a full link delays all streams equally. Streams behind one of several
    /// links that is full wait for the next turn, and those behind the others go on.
    pub(super) fn visit(
        &mut self,
        streams: &mut Streams,
        turn: &mut Turn<'_>,
    ) -> Result<Visits, LinkError> {
        self.agenda.call_due(turn.now);
        self.agenda.resume();
        let mut visits = Visits::NONE;
        let (mut filled, mut packets) = (Filled::new(), 0);
        let mut passed = Filled::new();
        let mut batches = 0;
        let ready = self.agenda.len();
        for visit in 0..ready.min(VISITS_MAX) {
            if ready > 1 && visit.is_multiple_of(FETCHED) {
                self.fetch(turn.now, streams);
            }
            let Some(place) = self.agenda.pop() else { break };
            let Some(Entry::Sending(sending)) = streams.get_mut(place) else { continue };
            if !visits.took_all && !has_room(&sending.flow, turn.link) {
                passed.push(place as u16);
                continue;
            }
            visits.have_pushed |= sending.prepare(turn);
            if let Some(station) = &mut turn.station {
                sending.flow.write(turn.now, station)?;
            }
            // Behind the frames: a queue pair that fails is in the CLOSE of the same turn.
            sending.flow.fill(turn.now);
            packets += sending.flow.departing();
            filled.push(place as u16);
            if packets >= OUTBOX_PACKETS {
                let took_all = self.depart(streams, &mut filled, turn, &mut visits)?;
                (packets, batches) = (0, batches + usize::from(took_all));
                visits.is_full = !visits.took_all && !turn.link.has_room_for(None);
                if visits.is_full || batches == BATCHES_MAX {
                    break;
                }
            }
        }
        if !filled.is_empty() {
            self.depart(streams, &mut filled, turn, &mut visits)?;
            visits.is_full = !visits.took_all && !turn.link.has_room_for(None);
        }
        self.agenda.wait_first(&passed);
        Ok(visits)
    }

    /// Prefetches the state of the next streams. With a thousand streams none is in a cache. These
    /// reads overlap, while the reads of one visit wait for those of the previous visit.
    fn fetch(&self, now: Nanos, streams: &Streams) {
        for place in self.agenda.upcoming().take(FETCHED) {
            if let Some(Entry::Sending(sending)) = streams.get(place) {
                let flow = &sending.flow;
                black_box((flow.is_stopped(), flow.is_idle(), flow.wakes_at(now)));
            }
        }
    }

    /// Sends the ready packets of the `filled` streams, and handles the results; returns whether the
    /// link accepted everything.
    fn depart(
        &mut self,
        streams: &mut Streams,
        filled: &mut Filled,
        turn: &mut Turn<'_>,
        visits: &mut Visits,
    ) -> Result<bool, LinkError> {
        let mut took_all = true;
        // Each offer but the last ends at a link that is full. The packets behind the others go on.
        for offers_left in (0..=LINKS_MAX).rev() {
            took_all &= self.offer(streams, filled, turn, visits, offers_left > 0)?;
            if filled.is_empty() {
                break;
            }
        }
        visits.took_all &= took_all;
        Ok(took_all)
    }

    /// Offers the ready packets of the `filled` streams once. Those streams remain whose packets were
    /// not all accepted and may still find room, if they `may_remain`. Returns whether all others'
    /// packets were accepted.
    fn offer(
        &mut self,
        streams: &mut Streams,
        filled: &mut Filled,
        turn: &mut Turn<'_>,
        visits: &mut Visits,
        may_remain: bool,
    ) -> Result<bool, LinkError> {
        let mut sent = send(streams, filled, turn.link)?;
        let now = turn.now;
        let (mut took_everything, mut remaining) = (true, 0);
        for index in 0..filled.len() {
            let place = usize::from(filled[index]);
            let Some(Entry::Sending(sending)) = streams.get_mut(place) else { continue };
            let flow = &mut sending.flow;
            let taken = sent.take(flow);
            let took_all = flow.depart(taken);
            if !took_all && may_remain && has_room(flow, turn.link) {
                filled[remaining] = place as u16;
                remaining += 1;
                continue;
            }
            if let (Some(tag), Some(listening)) =
                (flow.note_end(now, turn.link), &mut turn.listening)
            {
                listening.release(tag);
            }
            flow.publish(now, turn.counts);
            visits.flood_pause = visits.flood_pause.max(flow.flood_pause(now));
            took_everything &= took_all;
            self.last_index = self.last_index.max(flow.next_index());
            let wakes_at = (took_all && flow.is_idle()).then(|| sending.wakes_at(now));
            if matches!(sending.side, Side::Opener(_)) && sending.is_over(now) {
                streams.release(place);
            } else if let Some(at) = wakes_at {
                self.agenda.set(place, at);
            } else if took_all {
                self.agenda.call(place);
            } else {
                self.agenda.wait(place);
            }
        }
        filled.truncate(remaining);
        Ok(took_everything)
    }
}

/// Whether packets of a stream may leave although the link did not accept everything.
fn has_room(flow: &SendFlow, link: &mut dyn Link) -> bool {
    flow.peer().is_some_and(|peer| link.has_room_for(Some(peer)))
}

/// Offers the ready packets of the `filled` streams to the link; returns what it accepted. Control
/// packets of all streams leave first: between DATA of equal length each would end a message.
fn send(streams: &Streams, filled: &Filled, link: &mut dyn Link) -> Result<Sent, LinkError> {
    let mut packets = ArrayVec::<_, { 2 * OUTBOX_PACKETS }>::new();
    let flows = || {
        filled.iter().filter_map(|&place| match streams.get(place.into())? {
            Entry::Sending(sending) => Some(&sending.flow),
            _ => None,
        })
    };
    for flow in flows() {
        flow.offer(0..flow.controls(), &mut packets);
    }
    let controls = packets.len();
    for flow in flows() {
        flow.offer(flow.controls()..flow.departing(), &mut packets);
    }
    let sent = if packets.is_empty() { 0 } else { link.send(&packets)? };
    Ok(Sent { controls: sent.min(controls), rest: sent.saturating_sub(controls) })
}

impl Sending {
    pub(crate) const fn new(flow: SendFlow, side: Side) -> Self {
        Self { flow, side, stopped_at: None }
    }

    /// The offer, if this end listens.
    pub(super) const fn offer(&self) -> Option<&Offer> {
        match &self.side {
            Side::Opener(_) => None,
            Side::Listener(offer) => Some(offer),
        }
    }

    /// Does the pending work; returns whether samples were taken from the program.
    fn prepare(&mut self, turn: &mut Turn<'_>) -> bool {
        let Turn { now, .. } = *turn;
        let flow = &mut self.flow;
        if let (true, Some(listening)) = (flow.announce(), &mut turn.listening) {
            listening.favours.expire();
        }
        // Its opener has tried again, or is gone.
        if matches!(self.side, Side::Listener(_))
            && flow.waits_for_report(now).is_some_and(|waited| waited > FIRST_WORD_PATIENCE)
            && let Some(tag) = flow.end(now, End::PeerSilent, turn.link)
            && let Some(listening) = &mut turn.listening
        {
            listening.release(tag);
        }
        if flow.is_stopped() {
            if self.stopped_at.is_none() {
                self.stopped_at = Some(now);
                *turn.stopped += 1;
            }
            flow.cancel(now);
        }
        flow.recycle();
        let has_pushed = flow.push(now);
        flow.act_on_time(now);
        has_pushed
    }

    /// The time until which there is no work without packets or samples.
    fn wakes_at(&self, now: Nanos) -> Nanos {
        let at = self.flow.wakes_at(now);
        match self.flow.waits_for_report(now) {
            Some(waited) if matches!(self.side, Side::Listener(_)) => {
                at.min(first_word_by(now, waited))
            }
            _ => at,
        }
    }

    /// Whether no stream is open or can be opened, or the program has been gone for long enough.
    pub(super) fn is_over(&self, now: Nanos) -> bool {
        let has_ended = matches!(self.side, Side::Opener(_)) || self.stopped_at.is_some();
        let has_lingered = self.stopped_at.is_some_and(|since| now.since(since) > LINGER_MAX);
        has_ended && !self.flow.is_open() || has_lingered
    }
}

/// What a link accepted of the ready packets of several streams: first of their control packets,
/// and after all of these, of the rest.
struct Sent {
    controls: usize,
    rest: usize,
}

impl Sent {
    /// Number of accepted packets of the next stream.
    fn take(&mut self, flow: &SendFlow) -> usize {
        let controls = flow.controls();
        let rest = flow.departing() - controls;
        let taken = (controls.min(self.controls), rest.min(self.rest));
        self.controls -= taken.0;
        self.rest -= taken.1;
        taken.0 + taken.1
    }
}

/// Visited streams whose packets have not left.
type Filled = ArrayVec<u16, VISITS_MAX>;

/// Full batches that one turn sends before it checks for received packets.
const BATCHES_MAX: usize = 2;

/// Number of streams to prefetch before a visit: as many reads as a core has in flight, and no more
/// than fit in its cache.
const FETCHED: usize = 8;

/// How long an accepted stream waits for its peer's first packet.
pub(super) const FIRST_WORD_PATIENCE: Nanos = Nanos::from_millis(3_000);

/// When a stream that has waited for so long has waited for too long.
pub(super) fn first_word_by(now: Nanos, waited: Nanos) -> Nanos {
    now + (FIRST_WORD_PATIENCE + Nanos(1)).since(waited)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use samplewire_io::memory::{self, Memory};
    use samplewire_io::{Batch, Capabilities, Outgoing, Sleep, Waker};
    use samplewire_proto::sender::SenderConfig;
    use samplewire_proto::stream::{Carriage, Terms};
    use samplewire_proto::{Seq, Tag};

    use super::*;
    use crate::port::Route;
    use crate::transmitter::{self, FlowSizes, Form, Handle};
    use crate::wakeups::Wakeups;

    const NOW: Nanos = Nanos::from_millis(1_000);

    /// A link that has no room for the packets of one peer.
    struct PartlyFull {
        link: Memory,
        full: SocketAddr,
    }

    impl Link for PartlyFull {
        fn capabilities(&self) -> Capabilities {
            self.link.capabilities()
        }
        fn local_addr(&self) -> SocketAddr {
            self.link.local_addr()
        }
        fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
            let taken = packets.iter().take_while(|packet| packet.peer != self.full).count();
            self.link.send(&packets[..taken])
        }
        fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
            self.link.recv(batch)
        }
        fn begin_wait(&mut self, sleep: &mut Sleep) -> Result<(), LinkError> {
            self.link.begin_wait(sleep)
        }
        fn waker(&self) -> Waker {
            self.link.waker()
        }
        fn has_room_for(&mut self, peer: Option<SocketAddr>) -> bool {
            peer != Some(self.full)
        }
    }

    /// A stream to that peer, which this end has opened, and its program's handle.
    fn begun(tag: Tag, peer: SocketAddr) -> (Sending, Handle) {
        let waker = Waker::new().unwrap();
        let wake_handle = Wakeups::new(1, waker, Duration::ZERO).wake_handle(0);
        let config = SenderConfig::default();
        let sizes = FlowSizes { window: 8, quantum_packets: 4, quantum_bytes: 5 * 64 };
        let (mut flow, handle) = transmitter::flow(config, sizes, false, wake_handle).unwrap();
        let terms = Terms {
            local_tag: tag,
            peer_tag: Tag(2),
            is_opener: true,
            first_seq: Seq(0),
            first_index: 0,
            packet_samples: 16,
            payload_bytes: 64,
            payload_offset: 22,
            window: 8,
            reorder_tolerance: 0,
            dead_after: Nanos::from_millis(15_000),
            idle_after: Nanos::from_millis(100),
            ranges_max: 32,
            rtt: Nanos::from_micros(50),
            carriage: Carriage::Data,
        };
        let form = Form { payload_bytes: 64, frame_bytes: 4, granularity_bytes: 8 };
        flow.begin(NOW, terms, form, Route::unknown(peer), 4).unwrap();
        let opened = Opened { tag, peer_tag: Tag(2), peer };
        (Sending::new(flow, Side::Opener(opened)), handle)
    }

    #[test]
    fn stream_behind_one_whose_link_is_full_departs_in_the_same_turn() {
        let (link, mut far) = memory::pair(8, 2_000, 2_000).unwrap();
        let (peer, full) = (far.local_addr(), "127.0.0.9:1".parse().unwrap());
        let [(behind, _behind), (free, _free)] =
            [(1, full), (3, peer)].map(|(tag, peer)| begun(Tag(tag), peer));
        let entries = [behind, free].map(|it| Entry::Sending(Box::new(it)));
        let (mut streams, mut departures) = (Streams::of(entries.into()), Departures::new(2));
        [0, 1].into_iter().for_each(|place| departures.call(place));
        let mut turn = Turn {
            now: NOW + Nanos::from_millis(10),
            link: &mut PartlyFull { link, full },
            station: None,
            counts: &PortCounts::default(),
            listening: None,
            stopped: &mut 0,
        };
        let visits = departures.visit(&mut streams, &mut turn).unwrap();
        assert!(!visits.took_all && !visits.is_full, "{visits:?}");
        let mut batch = Batch::new(8, 2_000);
        far.recv(&mut batch).unwrap();
        assert_eq!(batch.len(), 1, "its MARK");
        assert!(departures.agenda.has_waiting(), "the other stream waits");
    }

    #[test]
    fn stream_that_this_end_opened_is_over_with_its_end_or_long_after_its_program() {
        let (mut link, far) = memory::pair(8, 2_000, 2_000).unwrap();
        let (mut sending, _handle) = begun(Tag(1), far.local_addr());
        assert!(!sending.is_over(NOW), "it is open");
        sending.stopped_at = Some(NOW);
        assert!(!sending.is_over(NOW + LINGER_MAX), "its end may still be repeated");
        assert!(sending.is_over(NOW + LINGER_MAX + Nanos(1)));
        sending.stopped_at = None;
        assert_eq!(sending.flow.end(NOW, End::PeerSilent, &mut link), Some(Tag(1)));
        assert!(sending.is_over(NOW));
    }
}
