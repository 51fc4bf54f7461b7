//! The state that the I/O thread and the program share, in addition to the ring of items.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};

use samplewire_circuit::wait::{Bell, WaitFlag};
use samplewire_circuit::{Lender, Published, Publisher};
use samplewire_io::ErrorCounts;
use samplewire_proto::receiver::ReceiverStats;
use samplewire_proto::wire::CloseReason;

use super::stalls::Stalls;
use crate::published::{publisher, words};
use crate::wakeups::WakeHandle;

/// Flags and a snapshot of counters; nothing here changes per packet.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Whether the I/O thread waits for a free quantum.
    starved: WaitFlag,
    stop: AtomicBool,
    /// Whether the program's thread must stop waiting.
    is_interrupted: AtomicBool,
    /// The reason for the CLOSE.
    stop_reason: AtomicU16,
    consumed: AtomicU64,
    /// Counts of a player: late packets, and missing samples.
    late_packets: AtomicU64,
    underflow_samples: AtomicU64,
    /// Whether received packets wait for a missing one.
    is_missing: AtomicBool,
    /// Rings if there are items for the program.
    pub(super) bell: Bell,
    snapshot: Published<Snapshot>,
    wake_handle: WakeHandle,
}

/// The counters of a receiver at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Counters of the protocol.
    pub stream: ReceiverStats,
    /// Packets with a wrong CRC.
    pub corrupted: u64,
    /// Packets that were not of the protocol, or not of this stream.
    pub foreign: u64,
    /// Packets that the system refused to send, over all streams of the port; they are lost.
    pub send_errors: u64,
    /// Receives and waits of the port that the system refused; they lose nothing.
    pub receive_errors: u64,
    /// Packets that this host's socket dropped.
    pub socket_dropped: u64,
    /// How often the sender had no credit because the program held all quanta.
    pub starved: u64,
    /// The last of these stalls: where they were, and how long they lasted.
    pub stalls: Stalls,
    /// Smoothed round-trip time in nanoseconds.
    pub rtt_ns: u64,
    /// Packets that the sender may send before it gets more credit.
    pub credit: u32,
    /// Maximum packets in flight or awaiting repair.
    pub window: u32,
    /// How long the sender has been silent, in nanoseconds, if that is longer than a live sender
    /// ever is; else 0.
    pub silent_ns: u64,
    /// The silence after which the stream ends, in nanoseconds.
    pub dead_after_ns: u64,
}

words!(Snapshot {
    stream,
    corrupted,
    foreign,
    send_errors,
    receive_errors,
    socket_dropped,
    starved,
    stalls,
    rtt_ns,
    credit,
    window,
    silent_ns,
    dead_after_ns,
});

impl Snapshot {
    /// Copies the counts of the port's link.
    pub(crate) const fn note_link(&mut self, counts: ErrorCounts) {
        (self.send_errors, self.receive_errors) = (counts.send_errors, counts.receive_errors);
    }
}

/// The program returns quanta.
impl Lender for Shared {
    fn returned(&self) {
        if self.starved.claim() {
            self.wake_handle.wake();
        }
    }
}

impl Shared {
    /// Also returns the publisher of the snapshot.
    pub(super) fn new(wake_handle: WakeHandle) -> (Self, Publisher<Snapshot>) {
        let publisher = publisher(&Snapshot::default());
        let shared = Self {
            starved: WaitFlag::new(),
            stop: AtomicBool::new(false),
            is_interrupted: AtomicBool::new(false),
            stop_reason: AtomicU16::new(CloseReason::Cancelled.number()),
            consumed: AtomicU64::new(0),
            late_packets: AtomicU64::new(0),
            underflow_samples: AtomicU64::new(0),
            is_missing: AtomicBool::new(false),
            bell: Bell::new(),
            snapshot: publisher.reader(),
            wake_handle,
        };
        (shared, publisher)
    }

    /// Announces that the I/O thread will wait for a quantum; it checks the pool once more after
    /// this.
    pub(super) fn starve(&self) {
        self.starved.announce();
    }

    pub(super) fn stop_for(&self, reason: CloseReason) {
        // Relaxed: ordered by the request.
        self.stop_reason.store(reason.number(), Ordering::Relaxed);
        self.stop();
    }

    pub(super) fn stop_reason(&self) -> CloseReason {
        CloseReason::from_number(self.stop_reason.load(Ordering::Relaxed))
    }

    pub(crate) fn stop(&self) {
        // Release: the thread that sees the request also sees everything the program did before it.
        self.stop.store(true, Ordering::Release);
        self.wake_handle.wake();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub(super) fn interrupt(&self) {
        // Release: the interrupted thread sees everything the program did before.
        self.is_interrupted.store(true, Ordering::Release);
        self.bell.ring();
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.is_interrupted.load(Ordering::Acquire)
    }

    /// Sets the index up to which the program has taken samples.
    pub(super) fn set_consumed(&self, index: u64) {
        // Relaxed: a position for display; it orders nothing.
        self.consumed.store(index, Ordering::Relaxed);
    }

    pub(super) fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }

    /// Sets the counts of a player.
    pub(super) fn set_played(&self, late_packets: u64, underflow_samples: u64) {
        // Relaxed: counts for the peer; they order nothing.
        self.late_packets.store(late_packets, Ordering::Relaxed);
        self.underflow_samples.store(underflow_samples, Ordering::Relaxed);
    }

    pub(super) fn played(&self) -> (u64, u64) {
        let late_packets = self.late_packets.load(Ordering::Relaxed);
        (late_packets, self.underflow_samples.load(Ordering::Relaxed))
    }

    pub(super) fn set_missing(&self, is_missing: bool) {
        // Relaxed: it names a cause for people.
        self.is_missing.store(is_missing, Ordering::Relaxed);
    }

    pub(super) fn is_missing(&self) -> bool {
        self.is_missing.load(Ordering::Relaxed)
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        self.snapshot.read()
    }
}
