//! What the I/O thread and the program share besides the ring of quanta.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use samplewire_circuit::wait::Bell;
use samplewire_proto::SampleIndex;
use samplewire_proto::sender::SenderStats;
use samplewire_proto::session::ListenStats;
use samplewire_proto::stream::End;

use super::events::EventQueue;
use crate::sync::{Mutex, lock};
use crate::wakeups::WakeHandle;

/// Flags, the session's terms and a snapshot of counters; nothing here is touched per packet.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Rings when a session opens or ends, or quanta come back.
    pub(super) bell: Bell,
    /// No program takes another session.
    is_closed: AtomicBool,
    stop: AtomicBool,
    /// The session that is to end with what has departed.
    cancelled: AtomicU64,
    /// Quanta that wait to be sent while the program, if it can, waits with more: what lies in a
    /// cache until it departs.
    pub(super) ahead_max: usize,
    state: Mutex<State>,
    /// What a device that plays lacks.
    pub(super) events: EventQueue,
    wake_handle: WakeHandle,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) session: Option<Session>,
    /// How the last session ended.
    pub(super) ended: Option<(u64, SessionEnd)>,
    /// The I/O thread broke, and why.
    pub(super) failure: Option<String>,
    pub(super) snapshot: Snapshot,
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

/// How a session ended, and its final counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionEnd {
    /// How.
    pub end: End,
    /// The counters.
    pub stats: SenderStats,
    /// The index after the last sample that was sent or lost.
    pub final_index: SampleIndex,
}

/// Counters of a stream that is sent, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Counters of the present session, or of the last.
    pub stream: SenderStats,
    /// Counters of the listener, over all sessions.
    pub listen: ListenStats,
    /// Packets whose CRC was wrong.
    pub corrupted: u64,
    /// Packets that were not of the protocol.
    pub foreign: u64,
    /// Packets that the system refused to send, of all streams of the port; they are lost.
    pub send_errors: u64,
    /// Receives and waits of the port that the system refused; nothing is lost by them.
    pub receive_errors: u64,
    /// Smoothed round-trip time in nanoseconds.
    pub rtt_ns: u64,
    /// Packets that the receiver lets depart for the first time at present; 0 between sessions.
    pub credit: u32,
    /// Packets held, departed or not, until the receiver has accounted for them; 0 between sessions.
    pub held: u32,
    /// The most that may be held; 0 between sessions.
    pub window: u32,
}

impl Shared {
    pub(super) fn new(wake_handle: WakeHandle, ahead_max: usize) -> Self {
        Self {
            bell: Bell::new(),
            is_closed: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            cancelled: AtomicU64::new(0),
            ahead_max,
            state: Mutex::new(State::default()),
            events: EventQueue::new(),
            wake_handle,
        }
    }

    /// Looks at or changes the state; short, never per packet.
    pub(super) fn with_state<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut lock(&self.state))
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
