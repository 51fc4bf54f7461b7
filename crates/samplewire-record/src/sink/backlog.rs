//! What a sink has taken and has not finished with.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// How much a sink, and the queue before it, still have to do. Clones show the same counts, also
/// while [`Sink::finish`](super::Sink::finish) blocks.
#[derive(Clone, Debug, Default)]
pub struct Backlog {
    counts: Arc<Counts>,
}

/// Signed: the one who does the work may be counted before the one who makes it.
#[derive(Debug, Default)]
struct Counts {
    to_write_bytes: AtomicI64,
    to_hash_bytes: AtomicI64,
}

impl Backlog {
    /// Bytes of samples that wait to be written.
    pub fn to_write_bytes(&self) -> u64 {
        count(&self.counts.to_write_bytes)
    }

    /// Bytes that were written and are not in the hash yet.
    pub fn to_hash_bytes(&self) -> u64 {
        count(&self.counts.to_hash_bytes)
    }

    pub(super) fn add_to_write(&self, bytes: usize) {
        self.counts.to_write_bytes.fetch_add(bytes as i64, Ordering::Relaxed);
    }

    pub(super) fn wrote(&self, bytes: usize) {
        self.counts.to_write_bytes.fetch_sub(bytes as i64, Ordering::Relaxed);
    }

    /// Nothing that waits will be written.
    pub(super) fn forget_writes(&self) {
        self.counts.to_write_bytes.store(0, Ordering::Relaxed);
    }

    pub(super) fn add_to_hash(&self, bytes: u64) {
        self.counts.to_hash_bytes.fetch_add(bytes as i64, Ordering::Relaxed);
    }

    /// What waits will not be hashed.
    pub(super) fn forget_hashes(&self) {
        self.counts.to_hash_bytes.store(0, Ordering::Relaxed);
    }

    pub(super) fn hashed(&self, bytes: u64) {
        self.counts.to_hash_bytes.fetch_sub(bytes as i64, Ordering::Relaxed);
    }
}

/// Relaxed here and above: a figure for display.
fn count(bytes: &AtomicI64) -> u64 {
    bytes.load(Ordering::Relaxed).max(0) as u64
}
