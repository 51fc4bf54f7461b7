//! Aligned streams: the counters of each, and their sum.

use std::time::Duration;

use samplewire::receiver::{LaneCounts, PortStats, ReceiverSnapshot};
use serde::Serialize;

use crate::console::Console;
use crate::figures::grouped;
use crate::record::json::Counters;
use crate::record::sessions::sum;

/// One of the streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    pub(crate) stream: u16,
    pub(crate) snapshot: ReceiverSnapshot,
    pub(crate) counts: LaneCounts,
}

impl Lane {
    /// Adds the counts of a later session.
    pub(crate) fn and(&self, later: &Self) -> Self {
        let (before, counts) = (self.counts, later.counts);
        Self {
            stream: later.stream,
            snapshot: sum(&self.snapshot, &later.snapshot),
            counts: LaneCounts {
                gaps: before.gaps + counts.gaps,
                missing: before.missing + counts.missing,
                discarded: before.discarded + counts.discarded,
            },
        }
    }
}

/// The sums over all streams of a port, with the port's own counts. Round trips and silences are
/// the longest. The counts of the shared socket are the highest: a stream may miss the latest
/// ones.
pub(crate) fn total(
    streams: impl Iterator<Item = ReceiverSnapshot>,
    port: PortStats,
) -> ReceiverSnapshot {
    let mut total = streams.fold(ReceiverSnapshot::default(), |all, one| ReceiverSnapshot {
        rtt_ns: all.rtt_ns.max(one.rtt_ns),
        silent_ns: all.silent_ns.max(one.silent_ns),
        socket_dropped: all.socket_dropped.max(one.socket_dropped),
        send_errors: all.send_errors.max(one.send_errors),
        receive_errors: all.receive_errors.max(one.receive_errors),
        ..sum(&all, &one)
    });
    total.corrupted += port.corrupted;
    total.foreign += port.foreign;
    total
}

/// How long the device has been silent; `None` if it is not silent.
pub(crate) fn silence(snapshot: &ReceiverSnapshot) -> Option<Duration> {
    (snapshot.silent_ns > 0).then(|| Duration::from_nanos(snapshot.silent_ns))
}

/// Prints the counts of each stream, if there are several.
pub(crate) fn print(console: &mut Console, lanes: &[Lane]) {
    if lanes.len() < 2 {
        return;
    }
    for Lane { stream, snapshot, counts } in lanes {
        console.line(format_args!(
            "  stream {stream:<3} {} received, {} repaired, {} late, {} given up; {} credit stalls",
            grouped(snapshot.stream.received),
            grouped(snapshot.stream.repaired),
            grouped(snapshot.stream.late),
            grouped(snapshot.stream.skipped),
            grouped(snapshot.starved)
        ));
        console.line(format_args!(
            "             {} samples missing in {} gaps; {} left out for others",
            grouped(counts.missing),
            grouped(counts.gaps),
            grouped(counts.discarded)
        ));
    }
}

/// A stream in JSON.
#[derive(Debug, Serialize)]
pub(crate) struct LaneEntry {
    /// Its number.
    stream: u16,
    /// Samples missing from this stream.
    samples_missing: u64,
    /// Gaps of its own.
    gaps: u64,
    /// Samples of this stream that were left out because another stream misses theirs.
    samples_discarded: u64,
    #[serde(flatten)]
    counters: Counters,
}

impl From<&Lane> for LaneEntry {
    fn from(lane: &Lane) -> Self {
        Self {
            stream: lane.stream,
            samples_missing: lane.counts.missing,
            gaps: lane.counts.gaps,
            samples_discarded: lane.counts.discarded,
            counters: Counters::from(&lane.snapshot),
        }
    }
}
