//! Counters of the protocol's machines; see `docs/statistics.md`.
//!
//! Written by `python3 tools/statistics.py` from `statistics.toml`; not edited by hand.

use crate::gap::Cause;
use crate::latency::Latencies;
use crate::number::{Nanos, SampleIndex};

/// Counters of a receiver since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// DATA packets of this stream with a right CRC, duplicates and late ones included.
    pub received: u64,
    /// DATA packets delivered in order.
    pub delivered: u64,
    /// Samples delivered.
    pub samples_delivered: u64,
    /// Missing packets that arrived as a retransmission.
    pub repaired: u64,
    /// Repaired packets by the time from the detection of the hole to the packet's arrival, modulo
    /// 68.7 s.
    pub repair_latency: Latencies,
    /// Time from the detection of a hole to the packet's arrival, summed over the repaired packets.
    pub repair_latency_ns: u64,
    /// Missing packets that arrived without a retransmission.
    pub reordered: u64,
    /// Missing packets that arrived later than the reordering tolerance.
    pub reordered_beyond: u64,
    /// Time that the receiver waits for a reordered packet before it requests it.
    pub reorder_tolerance: Nanos,
    /// Packets that had arrived before; over RDMA also those of the queue pair.
    pub duplicates: u64,
    /// Packets that arrived after they were given up; their samples are in a gap.
    pub late: u64,
    /// At a device that plays: packets with samples that arrived after their time.
    pub late_to_play: u64,
    /// At a device that plays: samples that were missing at their time.
    pub underflow_samples: u64,
    /// Packets given up.
    pub skipped: u64,
    /// Gaps.
    pub gaps: u64,
    /// Samples missing, by cause; losses at the source count as source overflow.
    pub gap_samples: [u64; Cause::ALL.len()],
    /// DATA packets beyond the credit granted, dropped.
    pub beyond_credit: u64,
    /// DATA packets with the ECN mark of congestion, duplicates included.
    pub marked: u64,
    /// MARK, CLOSE and DATA packets dropped because their numbers are impossible; over RDMA also
    /// WRITEs to a slot that nothing waits for.
    pub refused: u64,
    /// Packets from the sender's address with the tag of another stream.
    pub foreign: u64,
    /// Packets of a type that a receiver does not expect.
    pub unexpected: u64,
    /// REPORT packets sent.
    pub reports: u64,
    /// Ranges requested again in REPORT packets, where each hole counts at least twice; over RDMA
    /// the NAKs for a lost packet.
    pub ranges: u64,
    /// Samples lost at the source, as the sender counts them.
    pub source_lost: u64,
    /// The index of which the sender stated the time last; 0 before it has.
    pub timed_index: SampleIndex,
    /// Its time in TAI since 1970; 0 before the sender has stated one.
    pub timed_index_tai_ns: u64,
}

impl ReceiverStats {
    /// These counters and those of the session `before`; gauges stay as they are.
    #[must_use]
    pub fn after(mut self, before: &Self) -> Self {
        self.received += before.received;
        self.delivered += before.delivered;
        self.samples_delivered += before.samples_delivered;
        self.repaired += before.repaired;
        self.repair_latency.add(&before.repair_latency);
        self.repair_latency_ns += before.repair_latency_ns;
        self.reordered += before.reordered;
        self.reordered_beyond += before.reordered_beyond;
        self.duplicates += before.duplicates;
        self.late += before.late;
        self.late_to_play += before.late_to_play;
        self.underflow_samples += before.underflow_samples;
        self.skipped += before.skipped;
        self.gaps += before.gaps;
        for (count, earlier) in self.gap_samples.iter_mut().zip(before.gap_samples) {
            *count += earlier;
        }
        self.beyond_credit += before.beyond_credit;
        self.marked += before.marked;
        self.refused += before.refused;
        self.foreign += before.foreign;
        self.unexpected += before.unexpected;
        self.reports += before.reports;
        self.ranges += before.ranges;
        self.source_lost += before.source_lost;
        self
    }
}

/// Counters of a sender since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// DATA packets sent for the first time.
    pub packets: u64,
    /// DATA packets sent again; over RDMA packets of the queue pair.
    pub retransmissions: u64,
    /// Bytes of UDP payload in DATA packets, retransmissions included.
    pub bytes: u64,
    /// REPORT packets accepted.
    pub reports: u64,
    /// REPORT packets dropped because their numbers are impossible.
    pub reports_refused: u64,
    /// Requested ranges dropped because 512 were waiting; the receiver requests them again.
    pub requests_refused: u64,
    /// CLOSE packets dropped because their numbers are impossible.
    pub closes_refused: u64,
    /// MARK packets sent because data waited for credit.
    pub credit_stalls: u64,
    /// Checks of waiting retransmissions that found the budget spent; one wait counts often.
    pub budget_stalls: u64,
    /// Packets from the receiver's address with the tag of another stream, OPEN included.
    pub foreign: u64,
    /// Packets of a type that a sender does not expect.
    pub unexpected: u64,
    /// Congestion notifications: REPORT packets in which the count of marks rose; over RDMA CNPs
    /// too.
    pub congestion: u64,
    /// Cuts of the rate that congestion control made.
    pub cuts: u64,
    /// Bits a second of wire time that congestion control allows; 0 for no limit.
    pub limit_bps: u64,
    /// Time in which congestion control allowed less than the source needs.
    pub limited_ns: u64,
    /// Wire bytes that congestion control allowed in that time.
    pub limited_bytes: u64,
    /// Times that congestion control allowed less than the source needs for longer than the window
    /// holds.
    pub shortages: u64,
    /// The receiver's `received` as last reported, modulo 2^32.
    pub received_by_peer: u32,
    /// The receiver's `skipped` as last reported, modulo 2^32.
    pub skipped_by_peer: u32,
    /// The receiver's `late`, and a device's `late_to_play`, as last reported, modulo 2^16.
    pub late_at_peer: u16,
    /// Last reported index of the receiver's program, or of what a device plays.
    pub position_of_peer: SampleIndex,
    /// The device's `underflow_samples`; known at the end, and only where this end opened.
    pub underflow_at_peer: u64,
}

/// Counters of a listener since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListenStats {
    /// OPEN packets without a valid cookie.
    pub challenged: u64,
    /// ACCEPT packets of streams and descriptions, repeats not counted.
    pub accepted: u64,
    /// ACCEPT packets sent again.
    pub repeated: u64,
    /// Requests refused.
    pub refused: u64,
    /// OPEN packets older than an accepted one, or of a stream that has ended.
    pub late: u64,
    /// Packets of no stream that were answered so.
    pub unknown: u64,
    /// Packets of no stream and refused requests without an answer: the rate limit.
    pub unanswered: u64,
    /// Packets from an address that cannot be answered, dropped unread.
    pub unanswerable: u64,
}

/// Counters of a stream that a device plays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlayCounts {
    /// Samples played at their time.
    pub played: u64,
    /// Bursts: runs of samples whose index was set on purpose.
    pub bursts: u64,
    /// Times that samples were missing at their time.
    pub underruns: u64,
    /// Samples that were missing at their time; the device played zeros.
    pub underrun_samples: u64,
    /// Samples dropped because they arrived after their time.
    pub late_samples: u64,
    /// Packets with late samples.
    pub late_packets: u64,
}
