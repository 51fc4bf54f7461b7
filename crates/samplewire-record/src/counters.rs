//! The counters of a recording: for each stream over all openings, and their sums.

use std::time::Duration;

use samplewire::receiver::{Interleaved, LaneCounts, PortStats, ReceiverSnapshot};

/// The counters of one of the streams that are recorded together.
#[derive(Clone, Copy, Debug)]
pub struct StreamCounters {
    /// The stream's number.
    pub stream: u16,
    /// Counters of its receiver.
    pub snapshot: ReceiverSnapshot,
    /// Counters of its alignment with the other streams.
    pub counts: LaneCounts,
}

impl StreamCounters {
    /// Adds the counters of a later opening of the same stream.
    #[must_use]
    pub fn and(&self, later: &Self) -> Self {
        Self {
            stream: later.stream,
            snapshot: later.snapshot.after(&self.snapshot),
            counts: later.counts.after(&self.counts),
        }
    }
}

/// Closes streams, and returns the final counters of each stream and of their port.
///
/// # Blocking
/// Until the device confirms, or [`Interleaved::close`] gives up.
pub fn close(receiver: Interleaved) -> (Vec<StreamCounters>, PortStats) {
    let numbers: Vec<_> = receiver.infos().map(|info| info.stream).collect();
    let closed = receiver.close();
    (of_closed(numbers, closed.streams), closed.port)
}

/// Returns the final counters of the streams with these numbers.
pub fn of_closed(
    numbers: impl IntoIterator<Item = u16>,
    closed: impl IntoIterator<Item = (ReceiverSnapshot, LaneCounts)>,
) -> Vec<StreamCounters> {
    let of_stream = |(stream, (snapshot, counts))| StreamCounters { stream, snapshot, counts };
    numbers.into_iter().zip(closed).map(of_stream).collect()
}

/// Adds the counters of all streams of a port and of the port itself. Round-trip times and silences
/// are the longest, not sums. The socket's counters are the highest of any stream: each stream
/// sees all of them, or all but the latest.
pub fn total(streams: impl Iterator<Item = ReceiverSnapshot>, port: PortStats) -> ReceiverSnapshot {
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

/// Returns how long the device has been silent, if longer than a live device would be.
pub fn silence(snapshot: &ReceiverSnapshot) -> Option<Duration> {
    (snapshot.silent_ns > 0).then(|| Duration::from_nanos(snapshot.silent_ns))
}
