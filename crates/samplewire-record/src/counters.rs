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
        Self {
            stream: later.stream,
            snapshot: later.snapshot.after(&self.snapshot),
            counts: later.counts.after(&self.counts),
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
        port: one.port,
        ..one.after(&all)
    });
    total.corrupted += port.corrupted;
    total.foreign += port.foreign;
    total
}

/// How long the device has been silent, where a device that lives is not.
pub fn silence(snapshot: &ReceiverSnapshot) -> Option<Duration> {
    (snapshot.silent_ns > 0).then(|| Duration::from_nanos(snapshot.silent_ns))
}
