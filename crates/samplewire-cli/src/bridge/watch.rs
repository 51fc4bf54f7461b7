//! Counts of one direction of a bridge, readable from other threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use samplewire_zmtp::Counts;

/// A handle to the counts of one direction, over all its sessions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    samples: AtomicU64,
    missing: AtomicU64,
    zeros: AtomicU64,
    messages: AtomicU64,
    dropped_messages: AtomicU64,
    dropped_bytes: AtomicU64,
    torn_bytes: AtomicU64,
}

/// The counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Samples of the stream, of all channels each.
    pub(crate) samples: u64,
    /// Samples missing from the stream.
    pub(crate) missing: u64,
    /// Zeros that replaced these, and pauses.
    pub(crate) zeros: u64,
    /// The sum over the sockets.
    pub(crate) messages: u64,
    pub(crate) dropped_messages: u64,
    pub(crate) dropped_bytes: u64,
    pub(crate) torn_bytes: u64,
}

// Relaxed throughout: figures for display.
impl Watch {
    pub(super) fn add_samples(&self, count: u64) {
        self.0.samples.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn add_missing(&self, count: u64) {
        self.0.missing.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn add_zeros(&self, count: u64) {
        self.0.zeros.fetch_add(count, Ordering::Relaxed);
    }

    /// Stores the sums of all sockets.
    pub(super) fn set_sockets(&self, counts: impl Iterator<Item = Counts>) {
        let all = counts.fold(Counts::default(), |all, one| all.and(&one));
        self.0.messages.store(all.messages, Ordering::Relaxed);
        self.0.dropped_messages.store(all.dropped_messages, Ordering::Relaxed);
        self.0.dropped_bytes.store(all.dropped_bytes, Ordering::Relaxed);
        self.0.torn_bytes.store(all.torn_bytes, Ordering::Relaxed);
    }

    pub(crate) fn carried(&self) -> Carried {
        let shared = &self.0;
        Carried {
            samples: shared.samples.load(Ordering::Relaxed),
            missing: shared.missing.load(Ordering::Relaxed),
            zeros: shared.zeros.load(Ordering::Relaxed),
            messages: shared.messages.load(Ordering::Relaxed),
            dropped_messages: shared.dropped_messages.load(Ordering::Relaxed),
            dropped_bytes: shared.dropped_bytes.load(Ordering::Relaxed),
            torn_bytes: shared.torn_bytes.load(Ordering::Relaxed),
        }
    }
}
