//! What the I/O thread and the program share besides the ring of items.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use samplewire_io::Waker;
use samplewire_proto::receiver::ReceiverStats;

use crate::bell::{Bell, lock};
use crate::sync::Mutex;
use crate::wait_flag::WaitFlag;

/// Flags and a snapshot of counters; nothing here is touched per packet.
#[derive(Debug)]
pub(super) struct Shared {
    /// The I/O thread waits for a free quantum.
    starved: WaitFlag,
    stop: AtomicBool,
    consumed: AtomicU64,
    /// Rings when there are items for the program.
    pub(super) bell: Bell,
    snapshot: Mutex<Snapshot>,
    waker: Waker,
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
    /// Packets that this host's socket dropped.
    pub socket_dropped: u64,
    /// Times the sender had no credit left because the program held all quanta.
    pub starved: u64,
    /// Smoothed round-trip time in nanoseconds.
    pub rtt_ns: u64,
}

impl Shared {
    pub(super) fn new(waker: Waker) -> Self {
        Self {
            starved: WaitFlag::new(),
            stop: AtomicBool::new(false),
            consumed: AtomicU64::new(0),
            bell: Bell::new(),
            snapshot: Mutex::new(Snapshot::default()),
            waker,
        }
    }

    /// The program gave a quantum back.
    pub(super) fn quantum_returned(&self) {
        if self.starved.claim() {
            self.waker.wake();
        }
    }

    /// The I/O thread is about to wait for a quantum; it looks at the pool once more after this.
    pub(super) fn starve(&self) {
        self.starved.announce();
    }

    pub(super) fn stop(&self) {
        // Release: nothing the program did before must be seen later than the request.
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// States the index up to which the program has taken samples.
    pub(super) fn set_consumed(&self, index: u64) {
        // Relaxed: a position for display; nothing is ordered by it.
        self.consumed.store(index, Ordering::Relaxed);
    }

    pub(super) fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }

    pub(super) fn publish(&self, snapshot: &Snapshot) {
        *lock(&self.snapshot) = *snapshot;
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        *lock(&self.snapshot)
    }
}
