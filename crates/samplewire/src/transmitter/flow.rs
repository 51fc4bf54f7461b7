//! The streams that this program sends, one after another: ring of quanta -> protocol -> link. The
//! endpoint owns the link and the thread.

use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use arrayvec::ArrayVec;
use samplewire_circuit::{Published, Quantum};
use samplewire_io::{Ecn, Link, LinkError, Outgoing};
use samplewire_proto::sender::{
    CONTROL_BYTES, PushError, SendSlot, Sender, SenderConfig, SenderStats, Transmit,
};
use samplewire_proto::stream::{End, Terms, TermsError};
use samplewire_proto::wire::{CloseReason, Flags, Header, Packet};
use samplewire_proto::{Nanos, SampleIndex, Tag, TaiClock};
use samplewire_roce::wire::Frame;

use super::events::{EventSender, PlayWatch};
use super::feedback_flood::FeedbackFlood;
pub(crate) use super::outbox::OUTBOX_PACKETS;
use super::outbox::{Entry, Outbox};
use super::retransmit_buffer::RetransmitBuffer;
use super::shared::{Session, SessionEnd, SharedWriter};
use super::slicer::{Form, Slicer};
use super::writes::Writes;
use crate::counters::TransmitterSnapshot;
use crate::endpoint::{Announced, Station};
use crate::port::{PortCounts, Route};

/// An item that the program submits, in order.
#[derive(Debug)]
pub(crate) enum Submit {
    /// Samples of a session.
    Samples { session: u64, quantum: Quantum, len_bytes: usize, index: SampleIndex, flags: Flags },
    /// The end of the samples; `lost` samples were lost at the source after the last one.
    Close { session: u64, lost: u64, reason: CloseReason },
}

/// The sending half of a port.
pub(crate) struct SendFlow {
    config: SenderConfig,
    stream: Option<Stream>,
    sessions: u64,
    next_index: SampleIndex,
    held: RetransmitBuffer,
    outbox: Outbox,
    feedback_flood: FeedbackFlood,
    submitted: rtrb::Consumer<Submit>,
    /// What the program states of the time of its samples.
    tai_clock: Published<Option<TaiClock>>,
    writer: SharedWriter,
    snapshot: TransmitterSnapshot,
    published_at: Nanos,
}

/// An open stream.
struct Stream {
    session: Session,
    form: Form,
    tag: Tag,
    sender: Sender<Box<[SendSlot]>>,
    /// Of a stream over RDMA.
    writes: Option<Box<Writes>>,
    slicer: Option<Slicer>,
    /// Whether the last submitted sample does not end a burst.
    is_in_burst: bool,
    /// For a device that plays.
    watch: Option<PlayWatch>,
    opened_at: Nanos,
    /// Whether the program knows of the stream: the receiver has reported.
    is_announced: bool,
}

impl SendFlow {
    pub(super) fn new(
        config: SenderConfig,
        held: RetransmitBuffer,
        submitted: rtrb::Consumer<Submit>,
        tai_clock: Published<Option<TaiClock>>,
        writer: SharedWriter,
    ) -> Self {
        Self {
            config,
            stream: None,
            sessions: 0,
            next_index: 0,
            held,
            outbox: Outbox::default(),
            feedback_flood: FeedbackFlood::default(),
            submitted,
            tai_clock,
            writer,
            snapshot: TransmitterSnapshot::default(),
            published_at: Nanos(0),
        }
    }

    /// Begins a stream; the previous one must have ended ([`SendFlow::end`]).
    ///
    /// # Errors
    /// A term is out of range.
    pub(crate) fn begin(
        &mut self,
        now: Nanos,
        terms: Terms,
        form: Form,
        route: Route,
        quantum_packets: u32,
    ) -> Result<Session, TermsError> {
        let slots = vec![SendSlot::default(); (terms.window as usize).next_power_of_two()];
        let config = self.config.on_line(route.line_bps);
        let mut sender = Sender::new(terms, config, slots.into_boxed_slice(), now)?;
        sender.set_tai_clock(self.tai_clock.read());
        self.sessions += 1;
        let session = Session {
            id: self.sessions,
            peer: route.peer,
            first_index: terms.first_index,
            payload_bytes: form.payload_bytes,
            packet_samples: terms.packet_samples,
            quantum_packets,
        };
        self.stream = Some(Stream {
            session,
            form,
            tag: terms.local_tag,
            sender,
            writes: None,
            slicer: None,
            is_in_burst: false,
            watch: terms.is_opener.then(|| PlayWatch::new(terms.first_index)),
            opened_at: now,
            is_announced: false,
        });
        Ok(session)
    }

    /// Lets the packets of the open stream go over RDMA.
    pub(crate) fn set_writes(&mut self, writes: Writes) {
        if let Some(stream) = &mut self.stream {
            stream.writes = Some(Box::new(writes));
        }
    }

    /// Takes a frame of the stream's queue pair; `false` if it is of no such.
    pub(crate) fn handle_frame(&mut self, now: Nanos, frame: &Frame<'_>) -> bool {
        let Some(Stream { writes: Some(writes), sender, .. }) = &mut self.stream else {
            return false;
        };
        let is_ours = writes.number() == frame.packet().bth.destination;
        if is_ours {
            writes.handle(now, frame, sender);
        }
        is_ours
    }

    /// Sends frames of the stream's queue pair, and returns the quanta that it has completed.
    pub(crate) fn write(&mut self, now: Nanos, station: &mut Station) -> Result<(), LinkError> {
        let Self { stream: Some(stream), held, .. } = self else { return Ok(()) };
        if let Some(writes) = &mut stream.writes {
            writes.transmit(now, &mut stream.sender, held, station)?;
            self.recycle();
        }
        Ok(())
    }

    /// The first index of the next stream, or the next index of the current one.
    pub(crate) fn next_index(&self) -> SampleIndex {
        self.stream.as_ref().map_or(self.next_index, |stream| stream.next_index(self.next_index))
    }

    /// The machine of the open stream, and its tag.
    pub(crate) fn machine(&self) -> Option<(Tag, &Sender<Box<[SendSlot]>>)> {
        self.stream.as_ref().map(|stream| (stream.tag, &stream.sender))
    }

    /// The peer of the open stream.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.stream.as_ref().map(|stream| stream.session.peer)
    }

    pub(crate) const fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    /// The open stream, once its receiver has reported.
    pub(crate) fn announced(&self) -> Option<Announced> {
        let stream = self.stream.as_ref().filter(|stream| stream.is_announced)?;
        Some(Announced { tag: stream.tag, peer: stream.session.peer })
    }

    /// How long the open stream has waited for its first REPORT; `None` after it.
    pub(crate) fn waits_for_report(&self, now: Nanos) -> Option<Nanos> {
        let stream = self.stream.as_ref().filter(|stream| !stream.is_announced)?;
        Some(now.since(stream.opened_at))
    }

    /// Processes a packet; `false` if it is not of the open stream.
    pub(crate) fn handle(
        &mut self,
        now: Nanos,
        peer: SocketAddr,
        header: &Header,
        packet: &Packet<'_>,
    ) -> bool {
        let Some(stream) = self.stream.as_mut().filter(|it| it.session.peer == peer) else {
            return false;
        };
        let before = stream.sender.stats().reports;
        let is_ours = stream.sender.handle(now, header, packet);
        if is_ours {
            let has_reported = stream.sender.stats().reports != before;
            self.feedback_flood.note(now, u64::from(!has_reported));
            if has_reported {
                stream.tell_events(&mut self.writer.events);
            }
        }
        is_ours
    }

    /// How long to ignore a peer whose packets change nothing.
    pub(crate) fn flood_pause(&self, now: Nanos) -> Option<Duration> {
        self.feedback_flood.pause(now)
    }

    /// Announces a stream to the program once its receiver has reported; returns whether it did.
    pub(crate) fn announce(&mut self) -> bool {
        let Some(stream) = &mut self.stream else { return false };
        if stream.is_announced || !stream.sender.is_reported() {
            return false;
        }
        stream.is_announced = true;
        self.writer.announce(stream.session);
        true
    }

    /// Returns released quanta to the program.
    pub(crate) fn recycle(&mut self) {
        let Some(stream) = &self.stream else { return };
        let released = stream.sender.released();
        self.outbox.forget_before(released);
        if self.held.release(released) {
            self.ring();
        }
    }

    /// Takes submitted samples if they can depart soon; returns whether any were taken.
    pub(crate) fn push(&mut self, now: Nanos) -> bool {
        if let Some(stream) = &mut self.stream
            && self.writer.shared.is_cancelled(stream.session.id)
        {
            stream.sender.cancel(now);
        }
        let submitted_before = self.submitted.slots();
        let has_pushed = self.push_submitted(now);
        if self.submitted.slots() < submitted_before {
            self.ring();
        }
        has_pushed
    }

    /// Wakes the program if it waits for a quantum, or for submitted samples to be sent: once half
    /// of its maximum lead has left, so that it can fill several quanta at once.
    fn ring(&self) {
        if self.submitted.slots() <= self.writer.shared.ahead_max / 2 {
            self.writer.shared.bell.ring();
        }
    }

    fn push_submitted(&mut self, now: Nanos) -> bool {
        let mut has_pushed = false;
        loop {
            if let Some(stream) = &mut self.stream
                && let Some(slicer) = &mut stream.slicer
            {
                let before = stream.sender.next_seq();
                let is_done = slicer.push(&mut stream.sender, &mut self.held);
                has_pushed |= stream.sender.next_seq() != before;
                match is_done {
                    Ok(true) => stream.slicer = None,
                    Ok(false) => return has_pushed,
                    // The stream has ended; its quanta return when the end is handled.
                    Err(PushError::Closed) => return has_pushed,
                    // The submitted samples cannot be sent, so nothing after them can.
                    Err(error) => {
                        stream.slicer = None;
                        self.fail(&error);
                    }
                }
            }
            if self.stream.as_ref().is_some_and(|stream| !stream.form.has_room(&stream.sender)) {
                return has_pushed;
            }
            let Ok(submit) = self.submitted.pop() else { return has_pushed };
            self.take(now, submit);
        }
    }

    fn take(&mut self, now: Nanos, submit: Submit) {
        let Some(stream) = &mut self.stream else { return };
        let present = stream.session.id;
        match submit {
            Submit::Samples { session, quantum, len_bytes, index, flags } if session == present => {
                let held = &mut self.held;
                stream.is_in_burst = len_bytes.is_multiple_of(stream.form.payload_bytes)
                    && !flags.contains(Flags::END_OF_BURST);
                if let Some(watch) = &mut stream.watch {
                    watch.note_absent(index);
                }
                stream.slicer =
                    Some(Slicer::new(held, quantum, len_bytes, index, flags, stream.form));
            }
            Submit::Close { session, lost, reason } if session == present => {
                stream.sender.lose_at_source(lost);
                stream.sender.close_for(now, reason);
            }
            // From a session that has ended: dropping it returns the quantum.
            _ => {}
        }
    }

    /// Handles expired timers.
    pub(crate) fn act_on_time(&mut self, now: Nanos) {
        if let Some(stream) = &mut self.stream {
            stream.sender.handle_timeout(now);
        }
    }

    /// Prepares packets to depart, as many as there is room for.
    pub(crate) fn fill(&mut self, now: Nanos) {
        let Some(stream) = &mut self.stream else { return };
        let mut control = [0; CONTROL_BYTES];
        while !self.outbox.entries.is_full() {
            match stream.sender.poll_transmit(now, &mut control) {
                Some(Transmit::Data(data)) => self.outbox.entries.push(Entry::Data(data)),
                Some(Transmit::Control { len_bytes }) => {
                    self.outbox.push_control(&control[..len_bytes]);
                }
                None => return,
            }
        }
    }

    /// Number of ready packets.
    pub(crate) fn departing(&self) -> usize {
        self.outbox.entries.len()
    }

    /// Number of ready control packets before any DATA.
    pub(crate) fn controls(&self) -> usize {
        self.outbox.controls()
    }

    /// Adds ready packets by position, at most [`OUTBOX_PACKETS`].
    pub(crate) fn offer<'a, const N: usize>(
        &'a self,
        which: Range<usize>,
        packets: &mut ArrayVec<Outgoing<'a>, N>,
    ) {
        if !which.is_empty()
            && let Some(stream) = &self.stream
        {
            packets.extend(self.outbox.packets(which, stream.session.peer, &self.held));
        }
    }

    /// Records that the link has accepted the first `packets`; returns whether these were all.
    pub(crate) fn depart(&mut self, packets: usize) -> bool {
        self.outbox.entries.drain(..packets);
        self.outbox.entries.is_empty()
    }

    /// Releases a stream that has ended; returns its tag.
    pub(crate) fn note_end(&mut self, now: Nanos, link: &mut dyn Link) -> Option<Tag> {
        let end = self.stream.as_mut()?.sender.poll_event()?;
        self.end(now, end, link)
    }

    /// Ends the open stream, if there is one; returns its tag.
    pub(crate) fn end(&mut self, now: Nanos, end: End, link: &mut dyn Link) -> Option<Tag> {
        let stream = self.stream.take()?;
        let next_index = stream.next_index(self.next_index);
        // Answers to a receiver's CLOSE are still pending.
        let mut sender = stream.sender;
        let mut control = [0; CONTROL_BYTES];
        while let Some(Transmit::Control { len_bytes }) = sender.poll_transmit(now, &mut control) {
            let parts: [&[u8]; 3] = [&control[..len_bytes], &[], &[]];
            let peer = stream.session.peer;
            // The receiver repeats its CLOSE if the answer is lost, and then gets the answer for an
            // unknown stream.
            if link.send(&[Outgoing { peer, ecn: Ecn::NotEct, parts }]).is_err() {
                break;
            }
        }
        self.next_index = next_index;
        self.outbox.entries.clear();
        self.held.clear();
        // The program also knows of a stream that it has opened.
        let is_known = stream.is_announced || stream.watch.is_some();
        let final_index = sender.next_index();
        let session_end =
            SessionEnd { end, stats: stats_of(&sender, stream.writes.as_deref()), final_index };
        self.snapshot.stream = session_end.stats;
        (self.snapshot.credit, self.snapshot.held, self.snapshot.window) = (0, 0, 0);
        if let Some(event) =
            stream.watch.and_then(|watch| watch.take_end(sender.stats(), final_index))
        {
            self.writer.events.push_or_count(event);
        }
        if is_known {
            self.writer.end(stream.session.id, session_end, &self.snapshot);
        }
        Some(stream.tag)
    }

    /// Cancels the open stream because the program is gone.
    pub(crate) fn cancel(&mut self, now: Nanos) {
        if let Some(stream) = &mut self.stream {
            stream.sender.cancel(now);
        }
    }

    /// Records why the port failed, or why samples cannot be sent.
    pub(crate) fn fail(&self, error: &dyn Display) {
        self.writer.fail(error);
    }

    /// Whether no program accepts another session.
    pub(crate) fn is_closed(&self) -> bool {
        self.writer.shared.is_closed()
    }

    /// Whether the program is gone.
    pub(crate) fn is_stopped(&self) -> bool {
        self.writer.shared.is_stopped()
    }

    /// The time until which there is no work without packets or samples.
    pub(crate) fn wakes_at(&self, now: Nanos) -> Nanos {
        let until = match &self.stream {
            Some(stream) => {
                let at = stream.sender.poll_timeout(now).unwrap_or(now);
                let writes = stream.writes.as_ref().and_then(|writes| writes.poll_timeout());
                writes.map_or(at, |writes_at| at.min(writes_at))
            }
            None => now + SLEEP_MAX,
        };
        until.min(now + SLEEP_MAX)
    }

    /// Whether no submitted item can be taken now.
    pub(crate) fn is_idle(&self) -> bool {
        let Some(stream) = &self.stream else { return self.submitted.is_empty() };
        // A quantum may be half cut, with room for the rest.
        let has_more = stream.slicer.is_some() || !self.submitted.is_empty();
        let sender = &stream.sender;
        !(has_more && sender.takes_more() && stream.form.has_room(sender))
    }

    /// Publishes the counters to the program, at intervals.
    pub(crate) fn publish(&mut self, now: Nanos, port: &PortCounts) {
        if now.since(self.published_at) < PUBLISH_PAUSE {
            return;
        }
        self.published_at = now;
        self.snapshot.listen = port.listen;
        self.snapshot.corrupted = port.corrupted;
        self.snapshot.foreign = port.foreign;
        self.snapshot.send_errors = port.link.send_errors;
        self.snapshot.receive_errors = port.link.receive_errors;
        if let Some(stream) = &mut self.stream {
            stream.sender.set_tai_clock(self.tai_clock.read());
            self.snapshot.stream = stats_of(&stream.sender, stream.writes.as_deref());
            self.snapshot.rtt_ns = stream.sender.rtt().0;
            self.snapshot.credit = stream.sender.credit();
            self.snapshot.window = stream.sender.window();
            let pushed = self.snapshot.window - stream.sender.free_slots();
            let submitted = self.submitted.slots() as u32 * stream.session.quantum_packets;
            self.snapshot.held = (pushed + submitted).min(self.snapshot.window);
        }
        self.writer.publish(&self.snapshot);
    }
}

/// The counters of a sender, with those of its queue pair.
fn stats_of(sender: &Sender<Box<[SendSlot]>>, writes: Option<&Writes>) -> SenderStats {
    let mut stats = *sender.stats();
    stats.retransmissions += writes.map_or(0, Writes::retransmissions);
    stats
}

impl Stream {
    /// Creates events after a REPORT.
    fn tell_events(&mut self, events: &mut EventSender) {
        let Some(watch) = &mut self.watch else { return };
        let sender = &self.sender;
        // A half-cut quantum has more samples of its burst.
        let is_in_burst = self.is_in_burst || self.slicer.is_some();
        let (oldest, sent_end) = (sender.oldest_index(), sender.next_index());
        watch.take_report(sender.stats(), oldest, sent_end, is_in_burst, events);
    }

    /// The first index of the next stream after one that ended before `before`: an index that only
    /// an opener named changes nothing.
    fn next_index(&self, before: SampleIndex) -> SampleIndex {
        let next_index = self.sender.next_index();
        if next_index == self.session.first_index { before } else { next_index }
    }
}

const SLEEP_MAX: Nanos = Nanos::from_millis(100);
const PUBLISH_PAUSE: Nanos = Nanos::from_millis(20);

#[cfg(test)]
mod tests;
