//! From the device: everything is counted and forgotten.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use samplewire::receiver::{AlignedItem, Stalls};
use samplewire::{AlignedStreams, End, ReceiveError};
use samplewire_record::account::{Account, HeldUp};
use samplewire_record::counters::{of_closed, silence, total};
use samplewire_record::sigmf::RecordedGap;

use super::tally::Received;
use crate::cadence::Cadence;
use crate::host::HostHints;

/// A receiver at work.
pub(super) struct Receiving {
    aligned: AlignedStreams,
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
    pub(super) fn new(aligned: AlignedStreams) -> Self {
        let frame_bytes = aligned.info().frame_bytes() as u64;
        Self { aligned, watch: Arc::new(Watch { frame_bytes, ..Watch::default() }) }
    }

    pub(super) fn watch(&self) -> Arc<Watch> {
        Arc::clone(&self.watch)
    }

    /// Receives until it is over, or the stream is.
    pub(super) fn run(mut self, is_over: &AtomicBool) -> Received {
        let info = self.aligned.info();
        let peer = info.address;
        let before = HostHints::now(peer);
        let frame_bytes = info.frame_bytes();
        let mut account = Account::new(info.first_index, None);
        let mut held_up = HeldUp::new(info.rate_hz());
        let started = Instant::now();
        let mut cadence = Cadence::new(COUNTERS_PERIOD, started);
        let mut ended = None;
        // Relaxed: figures for display, and a flag that is looked at again soon.
        while !is_over.load(Ordering::Relaxed) && ended.is_none() {
            match self.aligned.next_within(PAUSE_MAX) {
                Ok(Some(AlignedItem::Gap(lost))) => {
                    let gap = RecordedGap::from(&lost.gap);
                    let is_held_up = held_up.before(&gap, || stalls(&self.aligned));
                    account.take_gap(&gap, is_held_up);
                }
                Ok(Some(AlignedItem::Samples(block))) => {
                    account.take_samples(block.index(), block.len());
                }
                Ok(None) => {}
                Err(error) => ended = Some(error),
            }
            self.watch.samples.store(account.delivered(), Ordering::Relaxed);
            self.watch.missing.store(account.missing(), Ordering::Relaxed);
            if cadence.is_due(Instant::now()) {
                let stream = total(
                    self.aligned.stats().map(|(snapshot, _)| snapshot),
                    self.aligned.port_stats(),
                )
                .stream;
                self.watch.late.store(stream.late, Ordering::Relaxed);
                self.watch.repaired.store(stream.repaired, Ordering::Relaxed);
            }
        }
        let elapsed = started.elapsed();
        let silent = silence(&total(
            self.aligned.stats().map(|(snapshot, _)| snapshot),
            self.aligned.port_stats(),
        ));
        let error = ended.filter(|error| !is_finished(error));
        let error = error.map(|error| format!("receiving: {error}"));
        let streams: Vec<_> = self.aligned.infos().map(|info| info.stream).collect();
        let closed = self.aligned.close();
        let lanes = of_closed(streams, closed.streams);
        let snapshot = total(lanes.iter().map(|lane| lane.snapshot), closed.port);
        let host = before.until_now(peer);
        Received { account, silent, snapshot, lanes, host, elapsed, frame_bytes, error }
    }
}

/// Whether the sender ended the stream after its last sample.
fn is_finished(error: &ReceiveError) -> bool {
    let ReceiveError::Stream { error, .. } = error else { return false };
    matches!(**error, ReceiveError::Closed(End::Finished { .. }))
}

/// When the program held all that the stream has. Of several streams it is not known which of them,
/// or this program, held the others up.
fn stalls(aligned: &AlignedStreams) -> Stalls {
    match aligned.infos().len() {
        1 => aligned.stats().next().map_or_else(Stalls::default, |(snapshot, _)| snapshot.stalls),
        _ => Stalls::default(),
    }
}

/// How often the counters are read: the I/O thread writes them as often.
const COUNTERS_PERIOD: Duration = Duration::from_millis(20);

/// The longest that the end waits to be seen.
const PAUSE_MAX: Duration = Duration::from_millis(50);
