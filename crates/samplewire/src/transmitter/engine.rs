//! The transmitter's I/O thread: ring of quanta -> protocol -> link.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use samplewire_circuit::Quantum;
use samplewire_io::{Batch, Ecn, Favoured, Link, LinkError, Outgoing};
use samplewire_proto::sender::{CONTROL_BYTES, SendSlot, Sender, SenderConfig, Transmit};
use samplewire_proto::session::{ListenEvent, Listener, OpenRequest, StreamSlot};
use samplewire_proto::stream::{End, Terms};
use samplewire_proto::wire::{self, CloseReason, Flags, RefuseReason, Role, WireError};
use samplewire_proto::{Nanos, SampleIndex, Tag};

use super::dull::Dull;
use super::held::Held;
use super::offer::Offer;
use super::outbox::Outbox;
use super::shared::{Session, SessionEnd, Shared, Snapshot};
use super::slicer::Slicer;
use crate::port::{Clock, IP_BYTES_MAX, peer_of, tag_word};

/// What the program submits, in order.
#[derive(Debug)]
pub(super) enum Submit {
    /// Samples of a session.
    Samples { session: u64, quantum: Quantum, len_bytes: usize, index: SampleIndex, flags: Flags },
    /// No more samples come; `lost` more were lost at the source after the last.
    Close { session: u64, lost: u64, reason: CloseReason },
    /// The session is to end with what has departed.
    Cancel { session: u64 },
}

/// Everything the thread owns.
pub(super) struct Engine {
    link: Box<dyn Link>,
    clock: Clock,
    listener: Listener<[StreamSlot; 1]>,
    offer: Offer,
    config: SenderConfig,
    stream: Option<Stream>,
    sessions: u64,
    /// Where the next session starts.
    next_index: SampleIndex,
    held: Held,
    outbox: Outbox,
    dull: Dull,
    submitted: rtrb::Consumer<Submit>,
    shared: Arc<Shared>,
    answer: Box<[u8]>,
    snapshot: Snapshot,
    published_at: Nanos,
}

/// An open stream.
struct Stream {
    session: Session,
    tag: Tag,
    sender: Sender<Box<[SendSlot]>>,
    slicer: Option<Slicer>,
    opened_at: Nanos,
    /// The program knows of it: the receiver has reported.
    is_announced: bool,
}

impl Engine {
    pub(super) fn new(
        (link, clock): (Box<dyn Link>, Clock),
        listener: Listener<[StreamSlot; 1]>,
        (offer, config): (Offer, SenderConfig),
        held: Held,
        submitted: rtrb::Consumer<Submit>,
        shared: Arc<Shared>,
    ) -> Self {
        Self {
            link,
            clock,
            listener,
            offer,
            config,
            stream: None,
            sessions: 0,
            next_index: 0,
            held,
            outbox: Outbox::default(),
            dull: Dull::default(),
            submitted,
            shared,
            answer: vec![0; IP_BYTES_MAX].into(),
            snapshot: Snapshot::default(),
            published_at: Nanos(0),
        }
    }

    /// Runs until the program stops it; then the open stream is cancelled.
    pub(super) fn run(mut self, mut batch: Batch) {
        let mut stopped_at = None;
        loop {
            if let Err(error) = self.turn(&mut batch) {
                self.shared.with_state(|state| state.failure = Some(error.to_string()));
                self.shared.bell.ring();
                return;
            }
            if self.shared.is_stopped() {
                let now = self.clock.now();
                let since = *stopped_at.get_or_insert(now);
                let Some(stream) = &mut self.stream else { return };
                stream.sender.cancel(now);
                if now.since(since) > LINGER_MAX {
                    return;
                }
            }
        }
    }

    fn turn(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        let now = self.clock.now();
        self.link.recv(batch)?;
        let has_arrivals = !batch.is_empty();
        self.take_arrivals(now, batch)?;
        self.announce(now);
        self.recycle();
        let has_pushed = self.push();
        let took_all = self.transmit(now)?;
        self.note_end(now);
        self.publish(now);
        if !took_all {
            return self.link.wait(LINK_FULL_PAUSE);
        }
        if has_arrivals && let Some(pause) = self.dull.pause(now) {
            std::thread::sleep(pause);
        }
        if has_arrivals || has_pushed { Ok(()) } else { self.wait(now) }
    }

    fn take_arrivals(&mut self, now: Nanos, batch: &Batch) -> Result<(), LinkError> {
        let acted_on = |stream: &Stream| stream.sender.stats().reports;
        for (bytes, meta) in batch {
            if let Some(stream) = &mut self.stream
                && stream.session.peer == meta.peer
                && let Ok((header, packet)) = wire::parse(bytes)
            {
                let before = acted_on(stream);
                if stream.sender.handle(now, &header, &packet) {
                    self.dull.note(now, u64::from(acted_on(stream) == before));
                    continue;
                }
            }
            match self.listener.handle(now, peer_of(meta.peer), bytes) {
                Ok(()) => {}
                Err(WireError::Crc) => self.snapshot.corrupted += 1,
                Err(_) => self.snapshot.foreign += 1,
            }
            self.answer(now, meta.peer)?;
        }
        Ok(())
    }

    fn answer(&mut self, now: Nanos, peer: SocketAddr) -> Result<(), LinkError> {
        if let Some(ListenEvent::Opening { request, .. }) = self.listener.poll_event() {
            self.handle_opening(now, peer, &request);
        }
        while let Some((_, len)) = self.listener.poll_transmit(now, &mut self.answer) {
            let parts: [&[u8]; 3] = [&self.answer[..len], &[], &[]];
            self.link.send(&[Outgoing { peer, ecn: Ecn::NotEct, parts }])?;
        }
        Ok(())
    }

    fn handle_opening(&mut self, now: Nanos, peer: SocketAddr, request: &OpenRequest) {
        if request.role == Role::Send {
            return self.listener.refuse(request, RefuseReason::Role, 0);
        }
        if request.role == Role::Receive
            && let Some(stream) = &self.stream
            && !stream.is_announced
            && now.since(stream.opened_at) < TAKEOVER_PAUSE
        {
            return;
        }
        let first_index = match &self.stream {
            Some(stream) => stream.sender.next_index(),
            None => self.next_index,
        };
        if request.start_index != 0 && request.start_index != first_index {
            return self.listener.refuse(request, RefuseReason::StartIndex, 0);
        }
        let Some(params) = self.offer.params(request, first_index) else {
            return self.listener.refuse(request, RefuseReason::PacketSize, 0);
        };
        let tag = match self.listener.accept(now, request, &params) {
            Ok(Some(tag)) => tag,
            Ok(None) => return,
            Err(_) => return self.listener.refuse(request, RefuseReason::PacketSize, 0),
        };
        let terms = Terms {
            local_tag: tag,
            peer_tag: request.peer_tag,
            is_opener: false,
            first_seq: params.first_seq,
            first_index,
            packet_samples: params.packet_samples,
            payload_bytes: params.payload_bytes,
            payload_offset: params.payload_offset,
            window: self.offer.window,
            reorder_tolerance: params.reorder_tolerance,
            dead_after: Nanos::from_millis(params.dead_ms.into()),
            idle_after: Nanos::from_millis(params.idle_ms.into()),
            ranges_max: params.ranges_max,
            rtt: RTT_INITIAL,
        };
        let slots = vec![SendSlot::default(); (terms.window as usize).next_power_of_two()];
        let sender = Sender::new(terms, self.config, slots.into_boxed_slice(), now)
            .expect("the offer was checked when it was made");
        self.end_stream(now, End::PeerRestarted);
        self.sessions += 1;
        let payload_bytes = usize::from(params.payload_bytes);
        let session = Session {
            id: self.sessions,
            peer,
            first_index,
            payload_bytes,
            packet_samples: params.packet_samples,
            quantum_packets: self.offer.quantum_packets_at(payload_bytes),
        };
        self.stream = Some(Stream {
            session,
            tag,
            sender,
            slicer: None,
            opened_at: now,
            is_announced: false,
        });
    }

    /// Tells the program of a stream once its receiver has reported. One that never does is
    /// forgotten: its opener has tried again, or is gone.
    fn announce(&mut self, now: Nanos) {
        let Some(stream) = &mut self.stream else { return };
        if stream.is_announced {
            return;
        }
        if stream.sender.is_reported() {
            stream.is_announced = true;
            // A link that cannot do so receives as before.
            self.link.favour(Some(&Favoured { alternatives: &[&[tag_word(stream.tag)]] }));
            let session = stream.session;
            self.shared.with_state(|state| state.session = Some(session));
            self.shared.bell.ring();
        } else if now.since(stream.opened_at) > REPORT_PATIENCE {
            self.end_stream(now, End::PeerSilent);
        }
    }

    /// Gives released quanta back to the program.
    fn recycle(&mut self) {
        let Some(stream) = &self.stream else { return };
        let released = stream.sender.released();
        self.outbox.forget_before(released);
        if self.held.release(released) {
            self.shared.bell.ring();
        }
    }

    /// Takes what is submitted while the window has room; says whether anything was pushed.
    fn push(&mut self) -> bool {
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
                    Err(_) => return has_pushed,
                }
            }
            let Ok(submit) = self.submitted.pop() else { return has_pushed };
            self.take(submit);
        }
    }

    fn take(&mut self, submit: Submit) {
        let Some(stream) = &mut self.stream else { return };
        let present = stream.session.id;
        match submit {
            Submit::Samples { session, quantum, len_bytes, index, flags } if session == present => {
                let payload_bytes = stream.session.payload_bytes;
                stream.slicer = Some(Slicer::new(
                    &mut self.held,
                    quantum,
                    len_bytes,
                    (index, flags),
                    payload_bytes,
                    self.offer.frame_bytes,
                ));
            }
            Submit::Close { session, lost, reason } if session == present => {
                stream.sender.lose_at_source(lost);
                stream.sender.close_for(self.clock.now(), reason);
            }
            Submit::Cancel { session } if session == present => {
                stream.sender.cancel(self.clock.now());
            }
            // Left over from a session that has ended: dropping it gives the quantum back.
            _ => {}
        }
    }

    /// Sends what may depart; `false` when the link is full.
    fn transmit(&mut self, now: Nanos) -> Result<bool, LinkError> {
        let Some(stream) = &mut self.stream else { return Ok(true) };
        stream.sender.handle_timeout(now);
        let mut control = [0; CONTROL_BYTES];
        for _ in 0..BATCHES_MAX {
            while !self.outbox.is_full() {
                match stream.sender.poll_transmit(self.clock.now(), &mut control) {
                    Some(Transmit::Data(data)) => self.outbox.push_data(data),
                    Some(Transmit::Control { len_bytes }) => {
                        self.outbox.push_control(&control[..len_bytes]);
                    }
                    None => break,
                }
            }
            let was_full = self.outbox.is_full();
            if !self.outbox.send(&mut *self.link, stream.session.peer, &self.held)? {
                return Ok(false);
            }
            if !was_full {
                break;
            }
        }
        Ok(true)
    }

    fn note_end(&mut self, now: Nanos) {
        if let Some(stream) = &mut self.stream
            && let Some(end) = stream.sender.poll_event()
        {
            self.end_stream(now, end);
        }
    }

    fn end_stream(&mut self, now: Nanos, end: End) {
        let Some(stream) = self.stream.take() else { return };
        // Answers to a receiver's CLOSE are still due.
        let mut sender = stream.sender;
        let mut control = [0; CONTROL_BYTES];
        while let Some(Transmit::Control { len_bytes }) = sender.poll_transmit(now, &mut control) {
            let parts: [&[u8]; 3] = [&control[..len_bytes], &[], &[]];
            let peer = stream.session.peer;
            // A lost answer is asked for again, and then answered as unknown.
            if self.link.send(&[Outgoing { peer, ecn: Ecn::NotEct, parts }]).is_err() {
                break;
            }
        }
        self.listener.release(stream.tag);
        self.link.favour(None);
        self.next_index = sender.next_index();
        self.outbox.clear();
        self.held.clear();
        let final_index = sender.next_index();
        let session_end = SessionEnd { end, stats: *sender.stats(), final_index };
        self.snapshot.stream = session_end.stats;
        let snapshot = self.snapshot;
        if !stream.is_announced {
            return;
        }
        self.shared.with_state(|state| {
            state.session = None;
            state.ended = Some((stream.session.id, session_end));
            state.snapshot = snapshot;
        });
        self.shared.bell.ring();
    }

    fn wait(&mut self, now: Nanos) -> Result<(), LinkError> {
        let until = match &self.stream {
            Some(stream) => stream.sender.poll_timeout(now).unwrap_or(now),
            None => now + SLEEP_MAX,
        };
        let span = until.min(now + SLEEP_MAX).since(self.clock.now());
        if span == Nanos(0) {
            return Ok(());
        }
        self.shared.fall_asleep();
        let has_slicer = self.stream.as_ref().is_some_and(|stream| stream.slicer.is_some());
        let result = if has_slicer || self.submitted.is_empty() {
            self.link.wait(Duration::from_nanos(span.0))
        } else {
            Ok(())
        };
        self.shared.awake();
        result
    }

    fn publish(&mut self, now: Nanos) {
        if now.since(self.published_at) < PUBLISH_PAUSE {
            return;
        }
        self.published_at = now;
        self.snapshot.listen = *self.listener.stats();
        if let Some(stream) = &self.stream {
            self.snapshot.stream = *stream.sender.stats();
            self.snapshot.rtt_ns = stream.sender.rtt().0;
        }
        let snapshot = self.snapshot;
        self.shared.with_state(|state| state.snapshot = snapshot);
    }
}

/// Before anything is measured.
const RTT_INITIAL: Nanos = Nanos::from_millis(1);

/// Batches that one turn sends before it looks at what has arrived.
const BATCHES_MAX: usize = 2;

/// How long a stream without a REPORT is not taken over (`docs/protocol.md#3.14`): one cookie is
/// good for 256 OPENs, and each takeover costs a sender's memory anew.
const TAKEOVER_PAUSE: Nanos = Nanos::from_millis(5);

/// How long an accepted stream waits for its first REPORT.
const REPORT_PATIENCE: Nanos = Nanos::from_millis(3_000);

const SLEEP_MAX: Nanos = Nanos::from_millis(100);
const LINK_FULL_PAUSE: Duration = Duration::from_millis(1);
const LINGER_MAX: Nanos = Nanos::from_millis(1_500);
const PUBLISH_PAUSE: Nanos = Nanos::from_millis(20);
