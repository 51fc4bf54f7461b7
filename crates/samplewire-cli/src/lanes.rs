//! Streams that are received in line: the counters of each, and their sum.

use std::time::Duration;

use samplewire::receiver::{LaneCounts, PortStats, ReceiverSnapshot};
use serde::Serialize;

use crate::console::Console;
use crate::counters::ReceiverCounters;
use crate::figures::grouped;

/// One of the streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    pub(crate) stream: u16,
    pub(crate) snapshot: ReceiverSnapshot,
    pub(crate) counts: LaneCounts,
}

impl Lane {
    /// What came of a stream before, and in the session after it.
    pub(crate) fn and(&self, later: &Self) -> Self {
        Self {
            stream: later.stream,
            snapshot: later.snapshot.after(&self.snapshot),
            counts: later.counts.after(&self.counts),
        }
    }
}

/// The sums of all streams of a port, and of what it counted besides; of the round trips and silences
/// the longest. What is counted of their socket, each stream has seen all of, or all but the latest.
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
        port: one.port,
        ..one.after(&all)
    });
    total.corrupted += port.corrupted;
    total.foreign += port.foreign;
    total
}

/// How long the device has been silent, where one that lives is not.
pub(crate) fn silence(snapshot: &ReceiverSnapshot) -> Option<Duration> {
    (snapshot.silent_ns > 0).then(|| Duration::from_nanos(snapshot.silent_ns))
}

/// Prints what each stream counted, where there are several.
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
            "             lacks {} samples in {} gaps; {} left out for others",
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
    /// Samples that it lacks itself.
    samples_missing: u64,
    /// Gaps of its own.
    gaps: u64,
    /// Samples that it has and that were left out because another stream lacks theirs.
    samples_discarded: u64,
    #[serde(flatten)]
    counters: ReceiverCounters,
}

impl From<&Lane> for LaneEntry {
    fn from(lane: &Lane) -> Self {
        Self {
            stream: lane.stream,
            samples_missing: lane.counts.missing,
            gaps: lane.counts.gaps,
            samples_discarded: lane.counts.discarded,
            counters: ReceiverCounters::from(&lane.snapshot),
        }
    }
}
