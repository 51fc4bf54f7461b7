//! The counters of aligned streams, in words and in JSON.

use samplewire_record::counters::StreamCounters;
use serde::Serialize;

use crate::console::Console;
use crate::figures::grouped;
use crate::record::json::Counters;

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
    counters: Counters,
}

impl From<&StreamCounters> for LaneEntry {
    fn from(lane: &StreamCounters) -> Self {
        Self {
            stream: lane.stream,
            samples_missing: lane.counts.missing,
            gaps: lane.counts.gaps,
            samples_discarded: lane.counts.discarded,
            counters: Counters::from(&lane.snapshot),
        }
    }
}

#[cfg(test)]
mod tests {
    use samplewire::receiver::{ReceiverSnapshot, Stalls};
    use samplewire_proto::Nanos;
    use samplewire_proto::receiver::ReceiverStats;
    use samplewire_record::counters::sum;

    use crate::metrics::tables::{Kind, RECEIVER, RECEIVER_PORT};

    #[test]
    fn sum_leaves_no_counter_out() {
        let stream = ReceiverStats {
            received: 1,
            delivered: 2,
            samples_delivered: 3,
            repaired: 4,
            reordered: 5,
            reordered_beyond: 6,
            reorder_tolerance: Nanos(7),
            duplicates: 8,
            late: 9,
            late_to_play: 10,
            underflow_samples: 11,
            skipped: 12,
            gaps: 13,
            gap_samples: [14, 15, 16, 17, 18],
            beyond_credit: 19,
            marked: 20,
            refused: 21,
            foreign: 22,
            unexpected: 23,
            reports: 24,
            ranges: 25,
            source_lost: 26,
        };
        let (corrupted, foreign, socket_dropped, starved) = (27, 28, 29, 30);
        let one = ReceiverSnapshot {
            stream,
            corrupted,
            foreign,
            send_errors: 34,
            receive_errors: 35,
            socket_dropped,
            starved,
            stalls: Stalls::default(),
            rtt_ns: 31,
            credit: 32,
            window: 33,
            silent_ns: 34,
            dead_after_ns: 35,
        };
        let both = sum(&one, &one);
        for metric in RECEIVER.metrics {
            let factor = if metric.kind == Kind::Count { 2 } else { 1 };
            let (sum, one) = ((metric.value)(&both.stream), (metric.value)(&one.stream));
            assert_eq!(sum, factor * one, "{}", metric.help);
        }
        for metric in RECEIVER_PORT.metrics {
            let factor = if metric.kind == Kind::Count { 2 } else { 1 };
            let (sum, one) = ((metric.value)(&both), (metric.value)(&one));
            assert_eq!(sum, factor * one, "{}", metric.help);
        }
        assert_eq!(both.stream.gap_samples, [28, 30, 32, 34, 36]);
    }
}
