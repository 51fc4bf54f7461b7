//! What the I/O thread and the program share besides the ring of items.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};

use samplewire_circuit::wait::{Bell, WaitFlag};
use samplewire_circuit::{Lender, Published, Publisher};
use samplewire_io::ErrorCounts;
use samplewire_proto::receiver::ReceiverStats;
use samplewire_proto::wire::CloseReason;

use super::stalls::Stalls;
use crate::published::{publisher, words};
use crate::wakeups::WakeHandle;

/// Flags and a snapshot of counters; nothing here is touched per packet.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The I/O thread waits for a free quantum.
    starved: WaitFlag,
    stop: AtomicBool,
    /// The program's thread is to wait no longer.
    is_interrupted: AtomicBool,
    /// Why, as the CLOSE says.
    stop_reason: AtomicU16,
    consumed: AtomicU64,
    /// What a player counts: packets that were late, samples that were not there.
    late_packets: AtomicU64,
    underflow_samples: AtomicU64,
    /// A packet is missing before others that have come.
    is_missing: AtomicBool,
    /// Rings when there are items for the program.
    pub(super) bell: Bell,
    snapshot: Published<Snapshot>,
    wake_handle: WakeHandle,
}

/// Counters of a receiver at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Counters of the protocol.
    pub stream: ReceiverStats,
    /// Packets whose CRC was wrong.
    pub corrupted: u64,
    /// Packets that were not of the protocol, or not of this stream.
    pub foreign: u64,
    /// Packets that the system refused to send, of all streams of the port; they are lost.
    pub send_errors: u64,
    /// Receives and waits of the port that the system refused; nothing is lost by them.
    pub receive_errors: u64,
    /// Packets that this host's socket dropped.
    pub socket_dropped: u64,
    /// Times the sender had no credit left because the program held all quanta.
    pub starved: u64,
    /// The last of these times: where they were, and for how long.
    pub stalls: Stalls,
    /// Smoothed round-trip time in nanoseconds.
    pub rtt_ns: u64,
    /// Packets that the sender may still send before it is granted more.
    pub credit: u32,
    /// Packets that may be on their way or await repair.
    pub window: u32,
    /// How long nothing has come of the sender, in nanoseconds, where one that lives is not silent
    /// for so long; else 0.
    pub silent_ns: u64,
    /// The silence after which the stream breaks off, in nanoseconds.
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
    /// Takes over what the port's link has counted.
    pub(crate) const fn note_link(&mut self, counts: ErrorCounts) {
        (self.send_errors, self.receive_errors) = (counts.send_errors, counts.receive_errors);
    }
}

/// The program gives quanta back.
impl Lender for Shared {
    fn returned(&self) {
        if self.starved.claim() {
            self.wake_handle.wake();
        }
    }
}

impl Shared {
    /// With what publishes the snapshot.
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

    /// The I/O thread is about to wait for a quantum; it looks at the pool once more after this.
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
        // Release: nothing the program did before must be seen later than the request.
        self.stop.store(true, Ordering::Release);
        self.wake_handle.wake();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub(super) fn interrupt(&self) {
        // Release: what the program did before is seen by the thread that it interrupts.
        self.is_interrupted.store(true, Ordering::Release);
        self.bell.ring();
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.is_interrupted.load(Ordering::Acquire)
    }

    /// States the index up to which the program has taken samples.
    pub(super) fn set_consumed(&self, index: u64) {
        // Relaxed: a position for display; nothing is ordered by it.
        self.consumed.store(index, Ordering::Relaxed);
    }

    pub(super) fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }

    /// States what a player has counted so far.
    pub(super) fn set_played(&self, late_packets: u64, underflow_samples: u64) {
        // Relaxed: counts for the peer; nothing is ordered by them.
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
