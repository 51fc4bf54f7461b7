//! The streams that this program sends, one after another: ring of quanta -> protocol -> link.
//! Whose link it is, and whose thread, is the endpoint's business.

use std::error::Error;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use arrayvec::ArrayVec;
use samplewire_circuit::Quantum;
use samplewire_io::{Ecn, Link, Outgoing};
use samplewire_proto::sender::{
    CONTROL_BYTES, PushError, SendSlot, Sender, SenderConfig, Transmit,
};
use samplewire_proto::stream::{End, Terms, TermsError};
use samplewire_proto::wire::{CloseReason, Flags, Header, Packet};
use samplewire_proto::{Nanos, SampleIndex, Tag};

use super::events::{EventSender, PlayWatch};
use super::feedback_flood::FeedbackFlood;
pub(crate) use super::outbox::OUTBOX_PACKETS;
use super::outbox::Outbox;
use super::retransmit_buffer::RetransmitBuffer;
use super::shared::{Session, SessionEnd, SharedWriter};
use super::slicer::{Form, Slicer};
use crate::counters::TransmitterSnapshot;
use crate::port::PortCounts;

/// What the program submits, in order.
#[derive(Debug)]
pub(crate) enum Submit {
    /// Samples of a session.
    Samples { session: u64, quantum: Quantum, len_bytes: usize, index: SampleIndex, flags: Flags },
    /// No more samples come; `lost` more were lost at the source after the last.
    Close { session: u64, lost: u64, reason: CloseReason },
}

/// The sender's half of a port.
pub(crate) struct SendFlow {
    config: SenderConfig,
    stream: Option<Stream>,
    sessions: u64,
    next_index: SampleIndex,
    held: RetransmitBuffer,
    outbox: Outbox,
    feedback_flood: FeedbackFlood,
    submitted: rtrb::Consumer<Submit>,
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
    slicer: Option<Slicer>,
    /// What was submitted last does not end a burst.
    is_in_burst: bool,
    /// Of a device that plays.
    watch: Option<PlayWatch>,
    opened_at: Nanos,
    /// The program knows of it: the receiver has reported.
    is_announced: bool,
}

impl SendFlow {
    pub(super) fn new(
        config: SenderConfig,
        held: RetransmitBuffer,
        submitted: rtrb::Consumer<Submit>,
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
            writer,
            snapshot: TransmitterSnapshot::default(),
            published_at: Nanos(0),
        }
    }

    /// Begins a stream; one that is open has ended before ([`SendFlow::end`]).
    ///
    /// # Errors
    /// A term is out of range.
    pub(crate) fn begin(
        &mut self,
        now: Nanos,
        terms: Terms,
        form: Form,
        peer: SocketAddr,
        quantum_packets: u32,
    ) -> Result<Session, TermsError> {
        let slots = vec![SendSlot::default(); (terms.window as usize).next_power_of_two()];
        let sender = Sender::new(terms, self.config, slots.into_boxed_slice(), now)?;
        self.sessions += 1;
        let session = Session {
            id: self.sessions,
            peer,
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
            slicer: None,
            is_in_burst: false,
            watch: terms.is_opener.then(|| PlayWatch::new(terms.first_index)),
            opened_at: now,
            is_announced: false,
        });
        Ok(session)
    }

    /// Where the next stream starts, or the present one goes on.
    pub(crate) fn next_index(&self) -> SampleIndex {
        self.stream.as_ref().map_or(self.next_index, |stream| stream.next_index(self.next_index))
    }

    /// The machine of the open stream, and its tag.
    pub(crate) fn machine(&self) -> Option<(Tag, &Sender<Box<[SendSlot]>>)> {
        self.stream.as_ref().map(|stream| (stream.tag, &stream.sender))
    }

    pub(crate) const fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    /// The tag of the open stream, once its receiver has reported.
    pub(crate) fn announced_tag(&self) -> Option<Tag> {
        self.stream.as_ref().filter(|stream| stream.is_announced).map(|stream| stream.tag)
    }

    /// How long the open stream has waited for its first REPORT; `None` when that has come.
    pub(crate) fn waits_for_report(&self, now: Nanos) -> Option<Nanos> {
        let stream = self.stream.as_ref().filter(|stream| !stream.is_announced)?;
        Some(now.since(stream.opened_at))
    }

    /// Takes a packet; `false` when it is not of the open stream.
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

    /// How long to look away from a peer whose packets change nothing.
    pub(crate) fn flood_pause(&self, now: Nanos) -> Option<Duration> {
        self.feedback_flood.pause(now)
    }

    /// Tells the program of a stream once its receiver has reported; says whether it did.
    pub(crate) fn announce(&mut self) -> bool {
        let Some(stream) = &mut self.stream else { return false };
        if stream.is_announced || !stream.sender.is_reported() {
            return false;
        }
        stream.is_announced = true;
        self.writer.announce(stream.session);
        true
    }

    /// Gives released quanta back to the program.
    pub(crate) fn recycle(&mut self) {
        let Some(stream) = &self.stream else { return };
        let released = stream.sender.released();
        self.outbox.forget_before(released);
        if self.held.release(released) {
            self.ring();
        }
    }

    /// Takes what is submitted while it can depart soon; says whether anything was pushed.
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

    /// Wakes the program if it waits for a quantum, or for what it submitted to be sent: once half
    /// of what it may be ahead has been, and it has some to fill at once.
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
                    // The stream has ended; its quanta go back when that is noted.
                    Err(PushError::Closed) => return has_pushed,
                    // What was submitted cannot be sent, and without it nothing after it.
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
                let run = (index, flags);
                stream.is_in_burst = len_bytes.is_multiple_of(stream.form.payload_bytes)
                    && !flags.contains(Flags::END_OF_BURST);
                if let Some(watch) = &mut stream.watch {
                    watch.note_absent(index);
                }
                stream.slicer = Some(Slicer::new(held, quantum, len_bytes, run, stream.form));
            }
            Submit::Close { session, lost, reason } if session == present => {
                stream.sender.lose_at_source(lost);
                stream.sender.close_for(now, reason);
            }
            // Left over from a session that has ended: dropping it gives the quantum back.
            _ => {}
        }
    }

    /// Acts on passed timers.
    pub(crate) fn act_on_time(&mut self, now: Nanos) {
        if let Some(stream) = &mut self.stream {
            stream.sender.handle_timeout(now);
        }
    }

    /// Makes ready what may depart; says whether there was no room for more.
    pub(crate) fn fill(&mut self, now: Nanos) -> bool {
        let Some(stream) = &mut self.stream else { return false };
        let mut control = [0; CONTROL_BYTES];
        while !self.outbox.is_full() {
            match stream.sender.poll_transmit(now, &mut control) {
                Some(Transmit::Data(data)) => self.outbox.push_data(data),
                Some(Transmit::Control { len_bytes }) => {
                    self.outbox.push_control(&control[..len_bytes]);
                }
                None => return false,
            }
        }
        true
    }

    /// Packets that are ready.
    pub(crate) fn departing(&self) -> usize {
        self.outbox.len()
    }

    /// Control packets that are ready to leave before any DATA.
    pub(crate) fn controls(&self) -> usize {
        self.outbox.controls()
    }

    /// Adds the packets at these places of those that are ready, at most [`OUTBOX_PACKETS`].
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

    /// The link has taken the first `packets` of those that are ready; says whether these were all.
    pub(crate) fn depart(&mut self, packets: usize) -> bool {
        self.outbox.forget(packets);
        self.outbox.is_empty()
    }

    /// Lets go of a stream that has ended; its tag.
    pub(crate) fn note_end(&mut self, now: Nanos, link: &mut dyn Link) -> Option<Tag> {
        let end = self.stream.as_mut()?.sender.poll_event()?;
        self.end(now, end, link)
    }

    /// Ends the open stream as it stands, if there is one; its tag.
    pub(crate) fn end(&mut self, now: Nanos, end: End, link: &mut dyn Link) -> Option<Tag> {
        let stream = self.stream.take()?;
        let next_index = stream.next_index(self.next_index);
        // Answers to a receiver's CLOSE are still due.
        let mut sender = stream.sender;
        let mut control = [0; CONTROL_BYTES];
        while let Some(Transmit::Control { len_bytes }) = sender.poll_transmit(now, &mut control) {
            let parts: [&[u8]; 3] = [&control[..len_bytes], &[], &[]];
            let peer = stream.session.peer;
            // A lost answer is asked for again, and then answered as unknown.
            if link.send(&[Outgoing { peer, ecn: Ecn::NotEct, parts }]).is_err() {
                break;
            }
        }
        self.next_index = next_index;
        self.outbox.clear();
        self.held.clear();
        // The program knows of what it has opened, too.
        let is_known = stream.is_announced || stream.watch.is_some();
        let final_index = sender.next_index();
        let session_end = SessionEnd { end, stats: *sender.stats(), final_index };
        self.snapshot.stream = session_end.stats;
        (self.snapshot.credit, self.snapshot.held, self.snapshot.window) = (0, 0, 0);
        if let Some(event) =
            stream.watch.and_then(|watch| watch.take_end(sender.stats(), final_index))
        {
            self.writer.events.push_or_count(event);
        }
        if is_known {
            self.writer.end(session_end, &self.snapshot);
        }
        Some(stream.tag)
    }

    /// Cancels the open stream because the program is gone.
    pub(crate) fn cancel(&mut self, now: Nanos) {
        if let Some(stream) = &mut self.stream {
            stream.sender.cancel(now);
        }
    }

    /// The port broke, or was given what cannot be sent, and why.
    pub(crate) fn fail(&self, error: &dyn Error) {
        self.writer.fail(error);
    }

    /// Whether no program takes another session.
    pub(crate) fn is_closed(&self) -> bool {
        self.writer.shared.is_closed()
    }

    /// Whether the program is gone.
    pub(crate) fn is_stopped(&self) -> bool {
        self.writer.shared.is_stopped()
    }

    /// Until when nothing is to be done unless something comes or is submitted.
    pub(crate) fn wakes_at(&self, now: Nanos) -> Nanos {
        let until = match &self.stream {
            Some(stream) => stream.sender.poll_timeout(now).unwrap_or(now),
            None => now + SLEEP_MAX,
        };
        until.min(now + SLEEP_MAX)
    }

    /// Whether nothing that was submitted could be taken now.
    pub(crate) fn is_idle(&self) -> bool {
        let Some(stream) = &self.stream else { return self.submitted.is_empty() };
        // A quantum may be cut half way, and there is room again for the rest.
        let has_more = stream.slicer.is_some() || !self.submitted.is_empty();
        let sender = &stream.sender;
        !(has_more && sender.takes_more() && stream.form.has_room(sender))
    }

    /// Shows the program the counters, now and then.
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
        if let Some(stream) = &self.stream {
            self.snapshot.stream = *stream.sender.stats();
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

impl Stream {
    /// After a REPORT.
    fn tell_events(&mut self, events: &mut EventSender) {
        let Some(watch) = &mut self.watch else { return };
        let sender = &self.sender;
        // A quantum that is cut has more of its burst.
        let is_in_burst = self.is_in_burst || self.slicer.is_some();
        let sent = (sender.next_index(), is_in_burst);
        watch.take_report(sender.stats(), sender.oldest_index(), sent, events);
    }

    /// Where the next stream starts when this one follows one that ended before `before`: an index
    /// that was only named by an opener moves nothing.
    fn next_index(&self, before: SampleIndex) -> SampleIndex {
        let next_index = self.sender.next_index();
        if next_index == self.session.first_index { before } else { next_index }
    }
}

const SLEEP_MAX: Nanos = Nanos::from_millis(100);
const PUBLISH_PAUSE: Nanos = Nanos::from_millis(20);

#[cfg(test)]
mod tests;
