//! The counters of aligned streams, in words and in JSON.

use samplewire_record::counters::StreamCounters;
use serde::Serialize;

use crate::console::Console;
use crate::figures::grouped;
use crate::metrics::counters::ReceiverCounters;

/// Prints the counts of each stream, if there are several.
pub(crate) fn print(console: &mut Console, lanes: &[StreamCounters]) {
    if lanes.len() < 2 {
        return;
    }
    for StreamCounters { stream, snapshot, counts } in lanes {
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
    counters: ReceiverCounters,
}

impl From<&StreamCounters> for LaneEntry {
    fn from(lane: &StreamCounters) -> Self {
        Self {
            stream: lane.stream,
            samples_missing: lane.counts.missing,
            gaps: lane.counts.gaps,
            samples_discarded: lane.counts.discarded,
            counters: ReceiverCounters::from(&lane.snapshot),
        }
    }
}
