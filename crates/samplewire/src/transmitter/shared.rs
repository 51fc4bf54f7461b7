//! What the I/O thread and the program share besides the ring of quanta.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use samplewire_circuit::wait::Bell;
use samplewire_circuit::{Published, Publisher};
use samplewire_proto::SampleIndex;
use samplewire_proto::sender::SenderStats;
use samplewire_proto::stream::End;

use super::SendError;
use super::events::{EventQueue, EventSender};
use crate::counters::TransmitterSnapshot;
use crate::published::{publisher, words};
use crate::wakeups::WakeHandle;

/// Flags, the session's terms and a snapshot of counters. Nothing here is touched per packet, and the
/// I/O thread takes no lock of it.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Rings for a stream: when its session opens or ends, or quanta come back.
    pub(super) bell: Bell,
    /// Rings for a listener, which may wait beside the stream that it gave: when a session opens, or
    /// that stream is dropped.
    pub(super) listener_bell: Bell,
    /// No program takes another session.
    is_closed: AtomicBool,
    stop: AtomicBool,
    /// The session that is to end with what has departed.
    cancelled: AtomicU64,
    /// Quanta that wait to be sent while the program, if it can, waits with more: what lies in a
    /// cache until it departs.
    pub(super) ahead_max: usize,
    /// The session that is open and that the program knows of; 0 where there is none.
    open_session: AtomicU64,
    /// The terms of that session, or of the last.
    session: Published<Option<Session>>,
    /// How the last session ended.
    ended: Published<Option<Ended>>,
    /// The I/O thread broke, or was given what cannot be sent, and why. It sets this once and waits
    /// for no one: no one else sets it.
    failure: OnceLock<String>,
    /// The I/O thread has let go of the stream.
    is_gone: AtomicBool,
    snapshot: Published<TransmitterSnapshot>,
    /// The events of a device that plays.
    pub(super) events: EventQueue,
    wake_handle: WakeHandle,
}

/// The I/O thread's side of what it publishes.
#[derive(Debug)]
pub(super) struct SharedWriter {
    pub(super) shared: Arc<Shared>,
    pub(super) events: EventSender,
    session: Publisher<Option<Session>>,
    ended: Publisher<Option<Ended>>,
    snapshot: Publisher<TransmitterSnapshot>,
}

/// The terms of an open stream, as the sending program needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// Counts the sessions of a listener, from 1.
    pub id: u64,
    /// The receiver.
    pub peer: SocketAddr,
    /// The index of the first sample to send.
    pub first_index: SampleIndex,
    /// Payload of a packet in bytes.
    pub payload_bytes: usize,
    /// Samples in a packet.
    pub packet_samples: u32,
    /// Packets that a quantum holds in this session.
    pub quantum_packets: u32,
}

words!(Session { id, peer, first_index, payload_bytes, packet_samples, quantum_packets });

/// How a session ended, and its final counters. Where a later session has ended before the program
/// looked, the end is [`End::PeerRestarted`], and the counters and the index are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionEnd {
    /// How.
    pub end: End,
    /// The counters.
    pub stats: SenderStats,
    /// The index after the last sample that was sent or lost.
    pub final_index: SampleIndex,
}

words!(SessionEnd { end, stats, final_index });

impl SessionEnd {
    /// The end of an older session, whose details are overwritten.
    fn superseded() -> Self {
        Self { end: End::PeerRestarted, stats: SenderStats::default(), final_index: 0 }
    }
}

/// The end of the session with this id.
#[derive(Clone, Copy, Debug)]
struct Ended {
    session: u64,
    end: SessionEnd,
}

words!(Ended { session, end });

impl SharedWriter {
    /// With what it shares with the program.
    pub(super) fn new(wake_handle: WakeHandle, ahead_max: usize) -> Self {
        let (session, ended) = (publisher(&None), publisher(&None));
        let snapshot = publisher(&TransmitterSnapshot::default());
        let (events, event_queue) = EventQueue::new();
        let shared = Arc::new(Shared {
            bell: Bell::new(),
            listener_bell: Bell::new(),
            is_closed: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            cancelled: AtomicU64::new(0),
            ahead_max,
            open_session: AtomicU64::new(0),
            session: session.reader(),
            ended: ended.reader(),
            failure: OnceLock::new(),
            is_gone: AtomicBool::new(false),
            snapshot: snapshot.reader(),
            events: event_queue,
            wake_handle,
        });
        Self { shared, events, session, ended, snapshot }
    }

    /// A stream is open, and its receiver has reported.
    pub(super) fn announce(&mut self, session: Session) {
        self.session.publish(&Some(session));
        // Release: a thread that sees the session as open also sees its terms.
        self.shared.open_session.store(session.id, Ordering::Release);
        self.shared.bell.ring();
        self.shared.listener_bell.ring();
    }

    /// A stream that the program knows of has ended.
    pub(super) fn end(&mut self, session: u64, end: SessionEnd, snapshot: &TransmitterSnapshot) {
        self.snapshot.publish(snapshot);
        self.ended.publish(&Some(Ended { session, end }));
        // Release: a thread that sees the session as ended also sees its end and its counters.
        self.shared.open_session.store(0, Ordering::Release);
        self.ring();
    }

    /// The port broke, or was given what cannot be sent, and why. What fails after the first, fails
    /// of it.
    pub(super) fn fail(&self, error: &dyn Display) {
        self.shared.failure.get_or_init(|| error.to_string());
        self.ring();
    }

    pub(super) fn publish(&mut self, snapshot: &TransmitterSnapshot) {
        self.snapshot.publish(snapshot);
    }

    /// Wakes the program, whatever it waits for.
    fn ring(&self) {
        self.shared.bell.ring();
        self.shared.listener_bell.ring();
        self.events.ring_bell();
    }
}

/// No session that is open will end, and no other will begin.
impl Drop for SharedWriter {
    fn drop(&mut self) {
        // Release: a thread that sees this also sees how the last session ended.
        self.shared.is_gone.store(true, Ordering::Release);
        self.ring();
    }
}

impl Shared {
    /// The id of the open session that the program knows of.
    pub(super) fn open_session(&self) -> Option<u64> {
        // Acquire: pairs with the stores of `SharedWriter`.
        Some(self.open_session.load(Ordering::Acquire)).filter(|&id| id != 0)
    }

    /// The terms of that session.
    pub(super) fn session(&self) -> Option<Session> {
        let open = self.open_session()?;
        // Another session may have followed meanwhile: it is as good as open.
        self.session.read().filter(|session| session.id >= open)
    }

    /// How a session ended; `None` while it is open, or was not announced.
    pub(super) fn end_of(&self, session: u64) -> Option<SessionEnd> {
        if self.open_session() == Some(session) {
            return None;
        }
        let ended = self.ended.read().filter(|ended| ended.session >= session)?;
        Some(if ended.session == session { ended.end } else { SessionEnd::superseded() })
    }

    /// Why `session`, or any where none is named, takes no more samples, if it does not.
    pub(super) fn error_of(&self, session: Option<u64>) -> Option<SendError> {
        // Acquire, and read first: that the thread lets go of a stream comes after the stream's end.
        let is_gone = self.is_gone.load(Ordering::Acquire);
        if let Some(failure) = self.failure.get() {
            return Some(SendError::Port(failure.clone()));
        }
        // It may have ended since; the next look sees that.
        let ended = session.and_then(|session| self.end_of(session));
        let ended = ended.map(|end| SendError::Ended(Box::new(end)));
        let gone = || SendError::Port("the I/O thread has let go of the stream".to_owned());
        ended.or_else(|| is_gone.then(gone))
    }

    pub(super) fn snapshot(&self) -> TransmitterSnapshot {
        self.snapshot.read()
    }

    /// The program pushed something into the ring.
    pub(super) fn submitted(&self) {
        self.wake_handle.wake();
    }

    /// The program wants the session to end with what has departed.
    pub(super) fn cancel(&self, session: u64) {
        // Release: what was submitted before is seen where this is. The largest: ids rise, and a stream
        // that is dropped late cancels none after it.
        self.cancelled.fetch_max(session, Ordering::Release);
        self.submitted();
    }

    pub(super) fn is_cancelled(&self, session: u64) -> bool {
        self.cancelled.load(Ordering::Acquire) == session
    }

    pub(super) fn close(&self) {
        // Relaxed: it orders nothing, and a session that just misses it ends with the last handle.
        self.is_closed.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    pub(super) fn stop(&self) {
        // Release: nothing the program did before must be seen later than the request.
        self.stop.store(true, Ordering::Release);
        self.wake_handle.wake();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}
