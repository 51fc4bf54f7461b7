//! From the device: everything is counted and forgotten.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use samplewire::End;
use samplewire::receiver::Receiver;
use samplewire::sigmf::RecordedGap;

use super::tally::Received;
use crate::account::Account;

/// A receiver at work.
pub(super) struct Receiving {
    receiver: Receiver,
    watch: Arc<Watch>,
}

/// What others may see of it meanwhile.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Samples delivered.
    pub(super) samples: AtomicU64,
    /// Samples missing.
    pub(super) missing: AtomicU64,
    pub(super) late: AtomicU64,
    pub(super) repaired: AtomicU64,
    pub(super) frame_bytes: u64,
}

impl Receiving {
    pub(super) fn new(receiver: Receiver) -> Self {
        let frame_bytes = receiver.info().frame_bytes() as u64;
        Self { receiver, watch: Arc::new(Watch { frame_bytes, ..Watch::default() }) }
    }

    pub(super) fn watch(&self) -> Arc<Watch> {
        Arc::clone(&self.watch)
    }

    /// Receives until it is over, or the stream is.
    pub(super) fn run(mut self, is_over: &AtomicBool) -> Received {
        let info = self.receiver.info();
        let frame_bytes = info.frame_bytes();
        let mut account = Account::new(info.first_index, None);
        let started = Instant::now();
        // Relaxed: figures for display, and a flag that is looked at again soon.
        while !is_over.load(Ordering::Relaxed) && !self.receiver.is_over() {
            if let Some(block) = self.receiver.next_within(PAUSE_MAX) {
                for gap in block.gaps() {
                    account.take_gap(&RecordedGap::from(gap));
                }
                account.take_samples(block.index(), block.len());
            }
            let stream = self.receiver.stats().stream;
            self.watch.samples.store(account.delivered(), Ordering::Relaxed);
            self.watch.missing.store(account.missing(), Ordering::Relaxed);
            self.watch.late.store(stream.late, Ordering::Relaxed);
            self.watch.repaired.store(stream.repaired, Ordering::Relaxed);
        }
        let elapsed = started.elapsed();
        let error = match self.receiver.end() {
            None | Some(Ok(End::Finished { .. })) => None,
            Some(Ok(end)) => Some(format!("receiving: the stream ended with {end:?}")),
            Some(Err(error)) => Some(format!("receiving: {error}")),
        };
        let snapshot = self.receiver.close();
        Received { account, snapshot, elapsed, frame_bytes, error }
    }
}

/// The longest that the end waits to be seen.
const PAUSE_MAX: Duration = Duration::from_millis(50);
