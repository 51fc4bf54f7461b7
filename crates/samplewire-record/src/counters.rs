//! The counters of a recording: of each stream, over all openings, and their sums.

use std::time::Duration;

use samplewire::receiver::{Interleaved, LaneCounts, PortStats, ReceiverSnapshot};

/// The counters of one of the streams that are recorded as one.
#[derive(Clone, Copy, Debug)]
pub struct StreamCounters {
    /// The stream's number.
    pub stream: u16,
    /// Counters of its receiver.
    pub snapshot: ReceiverSnapshot,
    /// What its alignment with the other streams counted.
    pub counts: LaneCounts,
}

impl StreamCounters {
    /// These, and those of a later opening of the same stream.
    #[must_use]
    pub fn and(&self, later: &Self) -> Self {
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

/// Closes streams, and returns the final counters of each, and of their port.
///
/// # Blocking
/// Until the device knows, or [`Interleaved::close`] gives it up.
pub fn close(receiver: Interleaved) -> (Vec<StreamCounters>, PortStats) {
    let numbers: Vec<_> = receiver.infos().map(|info| info.stream).collect();
    let closed = receiver.close();
    (of_closed(numbers, closed.streams), closed.port)
}

/// The final counters of the streams with these numbers.
pub fn of_closed(
    numbers: impl IntoIterator<Item = u16>,
    closed: impl IntoIterator<Item = (ReceiverSnapshot, LaneCounts)>,
) -> Vec<StreamCounters> {
    let of_stream = |(stream, (snapshot, counts))| StreamCounters { stream, snapshot, counts };
    numbers.into_iter().zip(closed).map(of_stream).collect()
}

/// The counters of all openings up to `before`, and of the one after it. Values that are no counts,
/// such as the round-trip time, are those of the last opening.
pub fn sum(before: &ReceiverSnapshot, session: &ReceiverSnapshot) -> ReceiverSnapshot {
    let mut sum = *session;
    let stream = &before.stream;
    sum.stream.received += stream.received;
    sum.stream.delivered += stream.delivered;
    sum.stream.samples_delivered += stream.samples_delivered;
    sum.stream.repaired += stream.repaired;
    sum.stream.reordered += stream.reordered;
    sum.stream.reordered_beyond += stream.reordered_beyond;
    sum.stream.late += stream.late;
    sum.stream.duplicates += stream.duplicates;
    sum.stream.late_to_play += stream.late_to_play;
    sum.stream.underflow_samples += stream.underflow_samples;
    sum.stream.skipped += stream.skipped;
    sum.stream.gaps += stream.gaps;
    for (sum, samples) in sum.stream.gap_samples.iter_mut().zip(stream.gap_samples) {
        *sum += samples;
    }
    sum.stream.beyond_credit += stream.beyond_credit;
    sum.stream.marked += stream.marked;
    sum.stream.refused += stream.refused;
    sum.stream.foreign += stream.foreign;
    sum.stream.unexpected += stream.unexpected;
    sum.stream.reports += stream.reports;
    sum.stream.ranges += stream.ranges;
    sum.stream.source_lost += stream.source_lost;
    sum.corrupted += before.corrupted;
    sum.foreign += before.foreign;
    sum.send_errors += before.send_errors;
    sum.receive_errors += before.receive_errors;
    sum.socket_dropped += before.socket_dropped;
    sum.starved += before.starved;
    sum
}

/// The sums over all streams of a port, and of what the port counted besides; of round-trip times
/// and silences the longest. What is counted of their socket, each stream has seen all of, or all
/// but the latest.
pub fn total(streams: impl Iterator<Item = ReceiverSnapshot>, port: PortStats) -> ReceiverSnapshot {
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

/// How long the device has been silent, where a device that lives is not.
pub fn silence(snapshot: &ReceiverSnapshot) -> Option<Duration> {
    (snapshot.silent_ns > 0).then(|| Duration::from_nanos(snapshot.silent_ns))
}
