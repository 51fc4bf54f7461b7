//! Receives from the device, counts and discards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use samplewire::receiver::{AlignedItem, Stalls};
use samplewire::{AlignedStreams, End, ReceiveError};
use samplewire_io::HostDropCounts;
use samplewire_record::account::{Account, HeldUp};
use samplewire_record::chain::ChainSink;
use samplewire_record::counters::{of_closed, silence, total};
use samplewire_record::sigmf::RecordedGap;
use samplewire_record::sink::WriteSamples;
use samplewire_web::Tap;

use super::tally::Received;
use crate::cadence::Cadence;
use crate::host_watch::HostWatch;
use crate::metrics::Exported;

/// A running receiver.
pub(crate) struct Receiving {
    aligned: AlignedStreams,
    chain: Option<ChainSink>,
    host: HostWatch,
    /// What the host drops, for metrics.
    host_counts: Exported<HostDropCounts>,
    /// Shows the samples on a page.
    tap: Option<Tap>,
    watch: Arc<Watch>,
}

/// Counts for other threads.
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
    /// `host` was made before the streams were opened.
    pub(crate) fn new(aligned: AlignedStreams, chain: Option<ChainSink>, host: HostWatch) -> Self {
        let frame_bytes = aligned.info().frame_bytes() as u64;
        let watch = Arc::new(Watch { frame_bytes, ..Watch::default() });
        Self { aligned, chain, host, host_counts: Exported::default(), tap: None, watch }
    }

    /// Counts what this host drops from here on, and what the card `device` counts, and exports it.
    pub(crate) fn counting(
        mut self,
        device: Option<&str>,
        counts: Exported<HostDropCounts>,
    ) -> Self {
        self.host.follow(self.aligned.local_addr(), self.aligned.infos(), device);
        self.host_counts = counts;
        self
    }

    /// Shows the samples on a page too.
    pub(crate) fn with_tap(mut self, tap: Option<Tap>) -> Self {
        self.tap = tap;
        self
    }

    pub(super) fn watch(&self) -> Arc<Watch> {
        Arc::clone(&self.watch)
    }

    /// Receives until the measurement or the stream ends.
    pub(crate) fn run(mut self, is_over: &AtomicBool) -> Received {
        let info = self.aligned.info();
        let frame_bytes = info.frame_bytes();
        let mut account = Account::new(info.first_index, None);
        let mut held_up = HeldUp::new(info.rate_hz());
        let started = Instant::now();
        let mut cadence = Cadence::new(COUNTERS_PERIOD, started);
        let (mut ended, mut failed) = (None, None);
        let is_ending = |tap: &Option<Tap>| tap.as_ref().is_some_and(Tap::is_ending);
        // Relaxed: figures for display, and a flag that is read again soon.
        while !is_over.load(Ordering::Relaxed)
            && ended.is_none()
            && failed.is_none()
            && !is_ending(&self.tap)
        {
            match self.aligned.next_within(PAUSE_MAX) {
                Ok(Some(AlignedItem::Gap(lost))) => {
                    let gap = RecordedGap::from(&lost.gap);
                    let is_held_up = held_up.before(&gap, || stalls(&self.aligned));
                    if gap.not_repaired > 0 {
                        let drops = self.host.drops(received(&self.aligned));
                        account.note_host_drops(drops);
                        if let Some(tap) = &mut self.tap {
                            tap.host_drops(drops);
                        }
                    }
                    account.take_gap(&gap, is_held_up);
                    if let Some(tap) = &mut self.tap {
                        tap.gap(&gap, is_held_up);
                    }
                    failed = self.chain.as_mut().and_then(|chain| chain.gap(&gap).err());
                }
                Ok(Some(AlignedItem::Samples(block))) => {
                    account.take_samples(block.index(), block.len());
                    if let Some(tap) = &mut self.tap {
                        tap.samples(block.index(), block.streams().map(|stream| stream.bytes()));
                    }
                    if let Some(chain) = &mut self.chain {
                        let stream = block.streams().next().expect("there is a stream");
                        failed = chain.write(block.index(), stream.bytes()).err();
                    }
                }
                Ok(None) => {}
                Err(error) => ended = Some(error),
            }
            self.watch.samples.store(account.delivered(), Ordering::Relaxed);
            self.watch.missing.store(account.missing(), Ordering::Relaxed);
            if cadence.is_due(Instant::now()) {
                let snapshot = total(
                    self.aligned.stats().map(|(snapshot, _)| snapshot),
                    self.aligned.port_stats(),
                );
                if let Some(tap) = &mut self.tap {
                    tap.counters(&snapshot);
                    tap.set_tai_clocks(self.aligned.tai_clocks());
                }
                self.host_counts.set(self.host.counts());
                let stream = snapshot.stream;
                self.watch.late.store(stream.late, Ordering::Relaxed);
                self.watch.repaired.store(stream.repaired, Ordering::Relaxed);
            }
        }
        let elapsed = started.elapsed();
        let silent = silence(&total(
            self.aligned.stats().map(|(snapshot, _)| snapshot),
            self.aligned.port_stats(),
        ));
        if let Some(tap) = &mut self.tap {
            match &ended {
                Some(error) => tap.end(&error.to_string()),
                None if tap.is_ending() => tap.end("a page ended it"),
                None => {}
            }
        }
        let error = ended.filter(|error| !is_finished(error));
        let mut error = error.map(|error| format!("receiving: {error}"));
        let mut chain_samples = None;
        if let Some(mut chain) = self.chain {
            match failed.map_or_else(|| chain.finish(), Err) {
                Ok(summary) => chain_samples = Some(summary.samples),
                Err(failed) => error = Some(failed.to_string()),
            }
        }
        let streams: Vec<_> = self.aligned.infos().map(|info| info.stream).collect();
        let closed = self.aligned.close();
        let lanes = of_closed(streams, closed.streams);
        let snapshot = total(lanes.iter().map(|lane| lane.snapshot), closed.port);
        let (drops, host) = self.host.finish(snapshot.stream.received);
        account.note_host_drops(drops);
        if let Some(tap) = &mut self.tap {
            tap.host_drops(drops);
        }
        Received {
            account,
            silent,
            snapshot,
            lanes,
            host,
            elapsed,
            frame_bytes,
            chain_samples,
            error,
        }
    }
}

/// Packets of all streams.
fn received(aligned: &AlignedStreams) -> u64 {
    aligned.stats().map(|(snapshot, _)| snapshot.stream.received).sum()
}

/// Whether the sender ended the stream after its last sample.
fn is_finished(error: &ReceiveError) -> bool {
    let ReceiveError::Stream { error, .. } = error else { return false };
    matches!(**error, ReceiveError::Closed(End::Finished { .. }))
}

/// When the program held up the stream. With several streams, it is unknown whether one of them or
/// this program held the others up.
fn stalls(aligned: &AlignedStreams) -> Stalls {
    match aligned.infos().len() {
        1 => aligned.stats().next().map_or_else(Stalls::default, |(snapshot, _)| snapshot.stalls),
        _ => Stalls::default(),
    }
}

/// How often the counters are read: as often as the I/O thread writes them.
const COUNTERS_PERIOD: Duration = Duration::from_millis(20);

/// Maximum time until a request to end is noticed.
const PAUSE_MAX: Duration = Duration::from_millis(50);
