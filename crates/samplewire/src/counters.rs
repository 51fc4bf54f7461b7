//! Counters of ports and their streams; see `docs/statistics.md`.
//!
//! Written by `python3 tools/statistics.py` from `statistics.toml`; not edited by hand.

use samplewire_proto::receiver::ReceiverStats;
use samplewire_proto::sender::SenderStats;
use samplewire_proto::session::ListenStats;

use crate::published::words;
use crate::receiver::Stalls;

/// Counters of a receiver at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverSnapshot {
    /// Counters of the protocol.
    pub stream: ReceiverStats,
    /// Packets of the sender with a wrong CRC.
    pub corrupted: u64,
    /// Packets from other addresses, or not of the protocol.
    pub foreign: u64,
    /// Packets that the system refused to send, of all streams of the port; they are lost.
    pub send_errors: u64,
    /// Receives and waits of the port that the system refused; nothing is lost.
    pub receive_errors: u64,
    /// Packets that this host's socket dropped, as the kernel counts them in 32 bits.
    pub socket_dropped: u64,
    /// Times the sender had no credit left because the program held all memory.
    pub starved: u64,
    /// The last of these times: their indexes and their length.
    pub stalls: Stalls,
    /// Smoothed round-trip time.
    pub rtt_ns: u64,
    /// Packets that the sender may still send before it gets more credit.
    pub credit: u32,
    /// Most packets that may be in flight or await repair.
    pub window: u32,
    /// Time since the sender's last valid packet; 0 while a live sender may be so silent.
    pub silent_ns: u64,
    /// Silence after which the stream breaks off.
    pub dead_after_ns: u64,
    /// Counters of the port, which all of its streams share.
    pub port: PortStats,
}

impl ReceiverSnapshot {
    /// These counters and those of the session `before`; gauges stay as they are.
    #[must_use]
    pub fn after(mut self, before: &Self) -> Self {
        self.stream = self.stream.after(&before.stream);
        self.corrupted += before.corrupted;
        self.foreign += before.foreign;
        self.send_errors += before.send_errors;
        self.receive_errors += before.receive_errors;
        self.socket_dropped += before.socket_dropped;
        self.starved += before.starved;
        self.port = self.port.after(&before.port);
        self
    }
}

/// Counters of a port besides those of its streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStats {
    /// Packets with a wrong CRC and an unknown stream.
    pub corrupted: u64,
    /// Packets of no stream of the port, or not of the protocol.
    pub foreign: u64,
}

impl PortStats {
    /// These counters and those of the session `before`; gauges stay as they are.
    #[must_use]
    pub fn after(mut self, before: &Self) -> Self {
        self.corrupted += before.corrupted;
        self.foreign += before.foreign;
        self
    }
}

/// Counters of one of several aligned streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneCounts {
    /// Gaps of this stream.
    pub gaps: u64,
    /// Samples that this stream misses.
    pub missing: u64,
    /// Samples left out because another stream misses them.
    pub discarded: u64,
}

impl LaneCounts {
    /// These counters and those of the session `before`; gauges stay as they are.
    #[must_use]
    pub fn after(mut self, before: &Self) -> Self {
        self.gaps += before.gaps;
        self.missing += before.missing;
        self.discarded += before.discarded;
        self
    }
}

/// Counters of a stream that is sent, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransmitterSnapshot {
    /// Counters of the current session, or of the last.
    pub stream: SenderStats,
    /// Counters of the listener over all sessions.
    pub listen: ListenStats,
    /// Packets with a wrong CRC, from any address.
    pub corrupted: u64,
    /// Packets that are not of the protocol.
    pub foreign: u64,
    /// Packets that the system refused to send, of all streams of the port; they are lost.
    pub send_errors: u64,
    /// Receives and waits of the port that the system refused; nothing is lost.
    pub receive_errors: u64,
    /// Smoothed round-trip time.
    pub rtt_ns: u64,
    /// Packets that may be sent for the first time at present; 0 between sessions.
    pub credit: u32,
    /// Packets held until the receiver has acknowledged them; 0 between sessions.
    pub held: u32,
    /// Most packets that may be held; 0 between sessions.
    pub window: u32,
}

words!(ReceiverStats {
    received,
    delivered,
    samples_delivered,
    repaired,
    repair_latency,
    repair_latency_ns,
    reordered,
    reordered_beyond,
    reorder_tolerance,
    duplicates,
    late,
    late_to_play,
    underflow_samples,
    skipped,
    gaps,
    gap_samples,
    beyond_credit,
    marked,
    refused,
    foreign,
    unexpected,
    reports,
    ranges,
    source_lost,
    timed_index,
    timed_index_tai_ns,
});
words!(ReceiverSnapshot {
    stream,
    corrupted,
    foreign,
    send_errors,
    receive_errors,
    socket_dropped,
    starved,
    stalls,
    rtt_ns,
    credit,
    window,
    silent_ns,
    dead_after_ns,
    port,
});
words!(PortStats { corrupted, foreign });
words!(SenderStats {
    packets,
    retransmissions,
    bytes,
    reports,
    reports_refused,
    requests_refused,
    closes_refused,
    credit_stalls,
    budget_stalls,
    foreign,
    unexpected,
    congestion,
    cuts,
    limit_bps,
    limited_ns,
    limited_bytes,
    shortages,
    received_by_peer,
    skipped_by_peer,
    late_at_peer,
    position_of_peer,
    underflow_at_peer,
});
words!(TransmitterSnapshot {
    stream,
    listen,
    corrupted,
    foreign,
    send_errors,
    receive_errors,
    rtt_ns,
    credit,
    held,
    window,
});
words!(ListenStats {
    challenged,
    accepted,
    repeated,
    refused,
    late,
    unknown,
    unanswered,
    unanswerable,
});
