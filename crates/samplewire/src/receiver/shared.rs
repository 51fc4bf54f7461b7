//! The state that the I/O thread and the program share, in addition to the ring of items.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};

use samplewire_circuit::wait::{Bell, WaitFlag};
use samplewire_circuit::{Lender, Published, Publisher};
use samplewire_io::ErrorCounts;
use samplewire_proto::wire::CloseReason;

use crate::counters::{PortStats, ReceiverSnapshot};
use crate::port::PortCounts;
use crate::published::publisher;
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
    snapshot: Published<ReceiverSnapshot>,
    wake_handle: WakeHandle,
}

impl ReceiverSnapshot {
    /// Copies the counters of the port and of its link.
    pub(crate) const fn note_port(&mut self, counts: &PortCounts) {
        let ErrorCounts { send_errors, receive_errors } = counts.link;
        (self.send_errors, self.receive_errors) = (send_errors, receive_errors);
        self.port = PortStats { corrupted: counts.corrupted, foreign: counts.foreign };
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
    pub(super) fn new(wake_handle: WakeHandle) -> (Self, Publisher<ReceiverSnapshot>) {
        let publisher = publisher(&ReceiverSnapshot::default());
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

    pub(super) fn snapshot(&self) -> ReceiverSnapshot {
        self.snapshot.read()
    }
}
