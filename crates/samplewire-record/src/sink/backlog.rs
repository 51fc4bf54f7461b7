//! The work that a sink has accepted and not finished.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The unfinished work of a sink and of the queue before it. Clones share the counts, also while
/// [`WriteSamples::finish`](super::WriteSamples::finish) blocks.
#[derive(Clone, Debug, Default)]
pub struct Backlog {
    counts: Arc<Counts>,
}

/// Signed: work may be counted as done before it is counted as accepted.
#[derive(Debug, Default)]
struct Counts {
    to_write_bytes: AtomicI64,
    to_hash_bytes: AtomicI64,
}

impl Backlog {
    /// Returns the bytes of samples that wait to be written.
    pub fn to_write_bytes(&self) -> u64 {
        count(&self.counts.to_write_bytes)
    }

    /// Returns the bytes that were written but not yet hashed.
    pub fn to_hash_bytes(&self) -> u64 {
        count(&self.counts.to_hash_bytes)
    }

    pub(super) fn add_to_write(&self, bytes: usize) {
        self.counts.to_write_bytes.fetch_add(bytes as i64, Ordering::Relaxed);
    }

    pub(super) fn wrote(&self, bytes: usize) {
        self.counts.to_write_bytes.fetch_sub(bytes as i64, Ordering::Relaxed);
    }

    /// Removes waiting bytes that will not be written.
    pub(super) fn forget_writes(&self) {
        self.counts.to_write_bytes.store(0, Ordering::Relaxed);
    }

    pub(super) fn add_to_hash(&self, bytes: u64) {
        self.counts.to_hash_bytes.fetch_add(bytes as i64, Ordering::Relaxed);
    }

    /// Removes waiting bytes that will not be hashed.
    pub(super) fn forget_hashes(&self) {
        self.counts.to_hash_bytes.store(0, Ordering::Relaxed);
    }

    pub(super) fn hashed(&self, bytes: u64) {
        self.counts.to_hash_bytes.fetch_sub(bytes as i64, Ordering::Relaxed);
    }
}

/// Relaxed here and above: the counts are for display only.
fn count(bytes: &AtomicI64) -> u64 {
    bytes.load(Ordering::Relaxed).max(0) as u64
}
