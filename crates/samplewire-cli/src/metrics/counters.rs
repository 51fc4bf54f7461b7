//! The metrics of the command, and the counters in its JSON; see `docs/statistics.md`.
//!
//! Written by `python3 tools/statistics.py` from `statistics.toml`; not edited by hand.

use samplewire::device::PlayCounts;
use samplewire::receiver::{PortStats, ReceiverSnapshot};
use samplewire::transmitter::TransmitterSnapshot;
use samplewire_io::HostDropCounts;
use samplewire_proto::receiver::ReceiverStats;
use samplewire_proto::sender::SenderStats;
use samplewire_proto::session::ListenStats;
use serde::Serialize;

use super::latency::{Histogram, RepairLatency};
use super::tables::{Kind, Metric, Table};

/// Metrics of [`ReceiverStats`].
pub(crate) const RECEIVER: Table<ReceiverStats> = Table {
    prefix: "samplewire_receiver_",
    metrics: &[
        Metric {
            name: "samplewire_receiver_received_total",
            kind: Kind::Count,
            help: "DATA packets of this stream with a right CRC, duplicates and late ones included",
            value: |it| it.received,
        },
        Metric {
            name: "samplewire_receiver_delivered_total",
            kind: Kind::Count,
            help: "DATA packets delivered in order",
            value: |it| it.delivered,
        },
        Metric {
            name: "samplewire_receiver_samples_delivered_total",
            kind: Kind::Count,
            help: "Samples delivered",
            value: |it| it.samples_delivered,
        },
        Metric {
            name: "samplewire_receiver_samples_missing_total",
            kind: Kind::Count,
            help: "Samples missing: the sum of `gap_samples`",
            value: |it| it.samples_missing(),
        },
        Metric {
            name: "samplewire_receiver_repaired_total",
            kind: Kind::Count,
            help: "Missing packets that arrived as a retransmission",
            value: |it| it.repaired,
        },
        Metric {
            name: "samplewire_receiver_reordered_total",
            kind: Kind::Count,
            help: "Missing packets that arrived without a retransmission",
            value: |it| it.reordered,
        },
        Metric {
            name: "samplewire_receiver_reordered_beyond_total",
            kind: Kind::Count,
            help: "Missing packets that arrived later than the reordering tolerance",
            value: |it| it.reordered_beyond,
        },
        Metric {
            name: "samplewire_receiver_reorder_tolerance_seconds",
            kind: Kind::Nanos,
            help: "Time that the receiver waits for a reordered packet before it requests it",
            value: |it| it.reorder_tolerance.0,
        },
        Metric {
            name: "samplewire_receiver_duplicates_total",
            kind: Kind::Count,
            help: "Packets that had arrived before; over RDMA also those of the queue pair",
            value: |it| it.duplicates,
        },
        Metric {
            name: "samplewire_receiver_late_total",
            kind: Kind::Count,
            help: "Packets that arrived after they were given up; their samples are in a gap",
            value: |it| it.late,
        },
        Metric {
            name: "samplewire_receiver_late_to_play_total",
            kind: Kind::Count,
            help: "At a device that plays: packets with samples that arrived after their time",
            value: |it| it.late_to_play,
        },
        Metric {
            name: "samplewire_receiver_underflow_samples_total",
            kind: Kind::Count,
            help: "At a device that plays: samples that were missing at their time",
            value: |it| it.underflow_samples,
        },
        Metric {
            name: "samplewire_receiver_skipped_total",
            kind: Kind::Count,
            help: "Packets given up",
            value: |it| it.skipped,
        },
        Metric {
            name: "samplewire_receiver_gaps_total",
            kind: Kind::Count,
            help: "Gaps",
            value: |it| it.gaps,
        },
        Metric {
            name: "samplewire_receiver_beyond_credit_total",
            kind: Kind::Count,
            help: "DATA packets beyond the credit granted, dropped",
            value: |it| it.beyond_credit,
        },
        Metric {
            name: "samplewire_receiver_marked_total",
            kind: Kind::Count,
            help: "DATA packets with the ECN mark of congestion, duplicates included",
            value: |it| it.marked,
        },
        Metric {
            name: "samplewire_receiver_refused_total",
            kind: Kind::Count,
            help: "MARK, CLOSE and DATA packets dropped because their numbers are impossible; over \
                   RDMA also WRITEs to a slot that nothing waits for",
            value: |it| it.refused,
        },
        Metric {
            name: "samplewire_receiver_foreign_total",
            kind: Kind::Count,
            help: "Packets from the sender's address with the tag of another stream",
            value: |it| it.foreign,
        },
        Metric {
            name: "samplewire_receiver_unexpected_total",
            kind: Kind::Count,
            help: "Packets of a type that a receiver does not expect",
            value: |it| it.unexpected,
        },
        Metric {
            name: "samplewire_receiver_reports_total",
            kind: Kind::Count,
            help: "REPORT packets sent",
            value: |it| it.reports,
        },
        Metric {
            name: "samplewire_receiver_ranges_total",
            kind: Kind::Count,
            help: "Ranges requested again in REPORT packets, where each hole counts at least \
                   twice; over RDMA the NAKs for a lost packet",
            value: |it| it.ranges,
        },
        Metric {
            name: "samplewire_receiver_source_lost_total",
            kind: Kind::Count,
            help: "Samples lost at the source, as the sender counts them",
            value: |it| it.source_lost,
        },
    ],
};

/// The histogram of `repair_latency`.
pub(crate) const REPAIR_LATENCY: Histogram<ReceiverStats> = Histogram {
    name: "samplewire_receiver_repair_latency_seconds",
    help: "Repaired packets by the time from the detection of the hole to the packet's arrival, \
           modulo 68.7 s",
    latencies: |it| &it.repair_latency,
    sum_ns: |it| it.repair_latency_ns,
};

/// Metrics of [`ReceiverSnapshot`].
pub(crate) const RECEIVER_PORT: Table<ReceiverSnapshot> = Table {
    prefix: "samplewire_receiver_port_",
    metrics: &[
        Metric {
            name: "samplewire_receiver_port_corrupted_total",
            kind: Kind::Count,
            help: "Packets of the sender with a wrong CRC",
            value: |it| it.corrupted,
        },
        Metric {
            name: "samplewire_receiver_port_foreign_total",
            kind: Kind::Count,
            help: "Packets from other addresses, or not of the protocol",
            value: |it| it.foreign,
        },
        Metric {
            name: "samplewire_receiver_port_send_errors_total",
            kind: Kind::Count,
            help: "Packets that the system refused to send, of all streams of the port; they are \
                   lost",
            value: |it| it.send_errors,
        },
        Metric {
            name: "samplewire_receiver_port_receive_errors_total",
            kind: Kind::Count,
            help: "Receives and waits of the port that the system refused; nothing is lost",
            value: |it| it.receive_errors,
        },
        Metric {
            name: "samplewire_receiver_port_socket_dropped_total",
            kind: Kind::Count,
            help: "Packets that this host's socket dropped, as the kernel counts them in 32 bits",
            value: |it| it.socket_dropped,
        },
        Metric {
            name: "samplewire_receiver_port_starved_total",
            kind: Kind::Count,
            help: "Times the sender had no credit left because the program held all memory",
            value: |it| it.starved,
        },
        Metric {
            name: "samplewire_receiver_port_rtt_seconds",
            kind: Kind::Nanos,
            help: "Smoothed round-trip time",
            value: |it| it.rtt_ns,
        },
        Metric {
            name: "samplewire_receiver_port_credit",
            kind: Kind::Level,
            help: "Packets that the sender may still send before it gets more credit",
            value: |it| it.credit.into(),
        },
        Metric {
            name: "samplewire_receiver_port_window",
            kind: Kind::Level,
            help: "Most packets that may be in flight or await repair",
            value: |it| it.window.into(),
        },
        Metric {
            name: "samplewire_receiver_port_silent_seconds",
            kind: Kind::Nanos,
            help: "Time since the sender's last valid packet; 0 while a live sender may be so \
                   silent",
            value: |it| it.silent_ns,
        },
        Metric {
            name: "samplewire_receiver_port_dead_after_seconds",
            kind: Kind::Nanos,
            help: "Silence after which the stream breaks off",
            value: |it| it.dead_after_ns,
        },
    ],
};

/// Metrics of [`PortStats`].
pub(crate) const PORT: Table<PortStats> = Table {
    prefix: "samplewire_port_",
    metrics: &[
        Metric {
            name: "samplewire_port_corrupted_total",
            kind: Kind::Count,
            help: "Packets with a wrong CRC and an unknown stream",
            value: |it| it.corrupted,
        },
        Metric {
            name: "samplewire_port_foreign_total",
            kind: Kind::Count,
            help: "Packets of no stream of the port, or not of the protocol",
            value: |it| it.foreign,
        },
    ],
};

/// Metrics of [`SenderStats`].
pub(crate) const SENDER: Table<SenderStats> = Table {
    prefix: "samplewire_sender_",
    metrics: &[
        Metric {
            name: "samplewire_sender_packets_total",
            kind: Kind::Count,
            help: "DATA packets sent for the first time",
            value: |it| it.packets,
        },
        Metric {
            name: "samplewire_sender_retransmissions_total",
            kind: Kind::Count,
            help: "DATA packets sent again; over RDMA packets of the queue pair",
            value: |it| it.retransmissions,
        },
        Metric {
            name: "samplewire_sender_bytes_total",
            kind: Kind::Count,
            help: "Bytes of UDP payload in DATA packets, retransmissions included",
            value: |it| it.bytes,
        },
        Metric {
            name: "samplewire_sender_reports_total",
            kind: Kind::Count,
            help: "REPORT packets accepted",
            value: |it| it.reports,
        },
        Metric {
            name: "samplewire_sender_reports_refused_total",
            kind: Kind::Count,
            help: "REPORT packets dropped because their numbers are impossible",
            value: |it| it.reports_refused,
        },
        Metric {
            name: "samplewire_sender_requests_refused_total",
            kind: Kind::Count,
            help: "Requested ranges dropped because 512 were waiting; the receiver requests them \
                   again",
            value: |it| it.requests_refused,
        },
        Metric {
            name: "samplewire_sender_closes_refused_total",
            kind: Kind::Count,
            help: "CLOSE packets dropped because their numbers are impossible",
            value: |it| it.closes_refused,
        },
        Metric {
            name: "samplewire_sender_credit_stalls_total",
            kind: Kind::Count,
            help: "MARK packets sent because data waited for credit",
            value: |it| it.credit_stalls,
        },
        Metric {
            name: "samplewire_sender_budget_stalls_total",
            kind: Kind::Count,
            help: "Checks of waiting retransmissions that found the budget spent; one wait counts \
                   often",
            value: |it| it.budget_stalls,
        },
        Metric {
            name: "samplewire_sender_foreign_total",
            kind: Kind::Count,
            help: "Packets from the receiver's address with the tag of another stream, OPEN \
                   included",
            value: |it| it.foreign,
        },
        Metric {
            name: "samplewire_sender_unexpected_total",
            kind: Kind::Count,
            help: "Packets of a type that a sender does not expect",
            value: |it| it.unexpected,
        },
        Metric {
            name: "samplewire_sender_congestion_total",
            kind: Kind::Count,
            help: "Congestion notifications: REPORT packets in which the count of marks rose; over \
                   RDMA CNPs too",
            value: |it| it.congestion,
        },
        Metric {
            name: "samplewire_sender_cuts_total",
            kind: Kind::Count,
            help: "Cuts of the rate that congestion control made",
            value: |it| it.cuts,
        },
        Metric {
            name: "samplewire_sender_limit_bps",
            kind: Kind::Level,
            help: "Bits a second of wire time that congestion control allows; 0 for no limit",
            value: |it| it.limit_bps,
        },
        Metric {
            name: "samplewire_sender_limited_seconds_total",
            kind: Kind::Duration,
            help: "Time in which congestion control allowed less than the source needs",
            value: |it| it.limited_ns,
        },
        Metric {
            name: "samplewire_sender_limited_bytes_total",
            kind: Kind::Count,
            help: "Wire bytes that congestion control allowed in that time",
            value: |it| it.limited_bytes,
        },
        Metric {
            name: "samplewire_sender_shortages_total",
            kind: Kind::Count,
            help: "Times that congestion control allowed less than the source needs for longer \
                   than the window holds",
            value: |it| it.shortages,
        },
        Metric {
            name: "samplewire_sender_received_by_peer_total",
            kind: Kind::Count,
            help: "The receiver's `received` as last reported, modulo 2^32",
            value: |it| it.received_by_peer.into(),
        },
        Metric {
            name: "samplewire_sender_skipped_by_peer_total",
            kind: Kind::Count,
            help: "The receiver's `skipped` as last reported, modulo 2^32",
            value: |it| it.skipped_by_peer.into(),
        },
        Metric {
            name: "samplewire_sender_late_at_peer_total",
            kind: Kind::Count,
            help: "The receiver's `late`, and a device's `late_to_play`, as last reported, modulo \
                   2^16",
            value: |it| it.late_at_peer.into(),
        },
        Metric {
            name: "samplewire_sender_position_of_peer",
            kind: Kind::Level,
            help: "Last reported index of the receiver's program, or of what a device plays",
            value: |it| it.position_of_peer,
        },
        Metric {
            name: "samplewire_sender_underflow_at_peer_total",
            kind: Kind::Count,
            help: "The device's `underflow_samples`; known at the end, and only where this end \
                   opened",
            value: |it| it.underflow_at_peer,
        },
    ],
};

/// Metrics of [`TransmitterSnapshot`].
pub(crate) const SENDER_PORT: Table<TransmitterSnapshot> = Table {
    prefix: "samplewire_sender_port_",
    metrics: &[
        Metric {
            name: "samplewire_sender_port_corrupted_total",
            kind: Kind::Count,
            help: "Packets with a wrong CRC, from any address",
            value: |it| it.corrupted,
        },
        Metric {
            name: "samplewire_sender_port_foreign_total",
            kind: Kind::Count,
            help: "Packets that are not of the protocol",
            value: |it| it.foreign,
        },
        Metric {
            name: "samplewire_sender_port_send_errors_total",
            kind: Kind::Count,
            help: "Packets that the system refused to send, of all streams of the port; they are \
                   lost",
            value: |it| it.send_errors,
        },
        Metric {
            name: "samplewire_sender_port_receive_errors_total",
            kind: Kind::Count,
            help: "Receives and waits of the port that the system refused; nothing is lost",
            value: |it| it.receive_errors,
        },
        Metric {
            name: "samplewire_sender_port_rtt_seconds",
            kind: Kind::Nanos,
            help: "Smoothed round-trip time",
            value: |it| it.rtt_ns,
        },
        Metric {
            name: "samplewire_sender_port_credit",
            kind: Kind::Level,
            help: "Packets that may be sent for the first time at present; 0 between sessions",
            value: |it| it.credit.into(),
        },
        Metric {
            name: "samplewire_sender_port_held",
            kind: Kind::Level,
            help: "Packets held until the receiver has acknowledged them; 0 between sessions",
            value: |it| it.held.into(),
        },
        Metric {
            name: "samplewire_sender_port_window",
            kind: Kind::Level,
            help: "Most packets that may be held; 0 between sessions",
            value: |it| it.window.into(),
        },
    ],
};

/// Metrics of [`ListenStats`].
pub(crate) const LISTENER: Table<ListenStats> = Table {
    prefix: "samplewire_listener_",
    metrics: &[
        Metric {
            name: "samplewire_listener_challenged_total",
            kind: Kind::Count,
            help: "OPEN packets without a valid cookie",
            value: |it| it.challenged,
        },
        Metric {
            name: "samplewire_listener_accepted_total",
            kind: Kind::Count,
            help: "ACCEPT packets of streams and descriptions, repeats not counted",
            value: |it| it.accepted,
        },
        Metric {
            name: "samplewire_listener_repeated_total",
            kind: Kind::Count,
            help: "ACCEPT packets sent again",
            value: |it| it.repeated,
        },
        Metric {
            name: "samplewire_listener_refused_total",
            kind: Kind::Count,
            help: "Requests refused",
            value: |it| it.refused,
        },
        Metric {
            name: "samplewire_listener_late_total",
            kind: Kind::Count,
            help: "OPEN packets older than an accepted one, or of a stream that has ended",
            value: |it| it.late,
        },
        Metric {
            name: "samplewire_listener_unknown_total",
            kind: Kind::Count,
            help: "Packets of no stream that were answered so",
            value: |it| it.unknown,
        },
        Metric {
            name: "samplewire_listener_unanswered_total",
            kind: Kind::Count,
            help: "Packets of no stream and refused requests without an answer: the rate limit",
            value: |it| it.unanswered,
        },
        Metric {
            name: "samplewire_listener_unanswerable_total",
            kind: Kind::Count,
            help: "Packets from an address that cannot be answered, dropped unread",
            value: |it| it.unanswerable,
        },
    ],
};

/// Metrics of [`PlayCounts`].
pub(crate) const PLAYER: Table<PlayCounts> = Table {
    prefix: "samplewire_player_",
    metrics: &[
        Metric {
            name: "samplewire_player_played_total",
            kind: Kind::Count,
            help: "Samples played at their time",
            value: |it| it.played,
        },
        Metric {
            name: "samplewire_player_bursts_total",
            kind: Kind::Count,
            help: "Bursts: runs of samples whose index was set on purpose",
            value: |it| it.bursts,
        },
        Metric {
            name: "samplewire_player_underruns_total",
            kind: Kind::Count,
            help: "Times that samples were missing at their time",
            value: |it| it.underruns,
        },
        Metric {
            name: "samplewire_player_underrun_samples_total",
            kind: Kind::Count,
            help: "Samples that were missing at their time; the device played zeros",
            value: |it| it.underrun_samples,
        },
        Metric {
            name: "samplewire_player_late_samples_total",
            kind: Kind::Count,
            help: "Samples dropped because they arrived after their time",
            value: |it| it.late_samples,
        },
        Metric {
            name: "samplewire_player_late_packets_total",
            kind: Kind::Count,
            help: "Packets with late samples",
            value: |it| it.late_packets,
        },
    ],
};

/// Metrics of [`HostDropCounts`].
pub(crate) const HOST: Table<HostDropCounts> = Table {
    prefix: "samplewire_host_",
    metrics: &[
        Metric {
            name: "samplewire_host_nic_dropped_total",
            kind: Kind::Count,
            help: "Frames that the network card dropped of the stream's queue, those of other \
                   flows included",
            value: |it| it.nic_dropped,
        },
        Metric {
            name: "samplewire_host_kernel_dropped_total",
            kind: Kind::Count,
            help: "Packets of the stream that the kernel dropped before the socket; 0 where they \
                   are not counted",
            value: |it| it.kernel_dropped,
        },
    ],
};

/// Counters of a receiver over a run, in JSON.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct ReceiverCounters {
    /// DATA packets of this stream with a right CRC, duplicates and late ones included.
    pub(crate) packets_received: u64,
    /// Missing packets that arrived as a retransmission.
    pub(crate) packets_repaired: u64,
    /// Repaired packets by the time from the detection of the hole to the packet's arrival, modulo
    /// 68.7 s.
    pub(crate) repair_latency: RepairLatency,
    /// Time from the detection of a hole to the packet's arrival, summed over the repaired packets.
    pub(crate) repair_latency_ns: u64,
    /// Missing packets that arrived without a retransmission.
    pub(crate) packets_reordered: u64,
    /// Missing packets that arrived later than the reordering tolerance.
    pub(crate) packets_reordered_beyond: u64,
    /// Packets that had arrived before; over RDMA also those of the queue pair.
    pub(crate) packets_duplicate: u64,
    /// Packets that arrived after they were given up; their samples are in a gap.
    pub(crate) packets_late: u64,
    /// Packets given up.
    pub(crate) packets_given_up: u64,
    /// DATA packets beyond the credit granted, dropped.
    pub(crate) packets_beyond_credit: u64,
    /// DATA packets with the ECN mark of congestion, duplicates included.
    pub(crate) packets_marked: u64,
    /// MARK, CLOSE and DATA packets dropped because their numbers are impossible; over RDMA also
    /// WRITEs to a slot that nothing waits for.
    pub(crate) packets_refused: u64,
    /// Packets from the sender's address with the tag of another stream; and packets from other
    /// addresses, or not of the protocol.
    pub(crate) packets_foreign: u64,
    /// Packets of a type that a receiver does not expect.
    pub(crate) packets_unexpected: u64,
    /// REPORT packets sent.
    pub(crate) reports: u64,
    /// Ranges requested again in REPORT packets, where each hole counts at least twice; over RDMA
    /// the NAKs for a lost packet.
    pub(crate) ranges_requested: u64,
    /// Samples lost at the source, as the sender counts them.
    pub(crate) samples_lost_at_source: u64,
    /// Packets of the sender with a wrong CRC.
    pub(crate) packets_corrupted: u64,
    /// Packets that the system refused to send, of all streams of the port; they are lost.
    pub(crate) send_errors: u64,
    /// Receives and waits of the port that the system refused; nothing is lost.
    pub(crate) receive_errors: u64,
    /// Packets that this host's socket dropped, as the kernel counts them in 32 bits.
    pub(crate) packets_dropped_by_socket: u64,
    /// Times the sender had no credit left because the program held all memory.
    pub(crate) credit_stalls: u64,
    /// Smoothed round-trip time.
    pub(crate) rtt_ns: u64,
}

impl From<&ReceiverSnapshot> for ReceiverCounters {
    fn from(snapshot: &ReceiverSnapshot) -> Self {
        Self {
            packets_received: snapshot.stream.received,
            packets_repaired: snapshot.stream.repaired,
            repair_latency: RepairLatency(snapshot.stream.repair_latency),
            repair_latency_ns: snapshot.stream.repair_latency_ns,
            packets_reordered: snapshot.stream.reordered,
            packets_reordered_beyond: snapshot.stream.reordered_beyond,
            packets_duplicate: snapshot.stream.duplicates,
            packets_late: snapshot.stream.late,
            packets_given_up: snapshot.stream.skipped,
            packets_beyond_credit: snapshot.stream.beyond_credit,
            packets_marked: snapshot.stream.marked,
            packets_refused: snapshot.stream.refused,
            packets_foreign: snapshot.stream.foreign + snapshot.foreign,
            packets_unexpected: snapshot.stream.unexpected,
            reports: snapshot.stream.reports,
            ranges_requested: snapshot.stream.ranges,
            samples_lost_at_source: snapshot.stream.source_lost,
            packets_corrupted: snapshot.corrupted,
            send_errors: snapshot.send_errors,
            receive_errors: snapshot.receive_errors,
            packets_dropped_by_socket: snapshot.socket_dropped,
            credit_stalls: snapshot.starved,
            rtt_ns: snapshot.rtt_ns,
        }
    }
}

/// Counters of a sender over a run, in JSON.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct SenderCounters {
    /// DATA packets sent for the first time.
    pub(crate) packets_sent: u64,
    /// DATA packets sent again; over RDMA packets of the queue pair.
    pub(crate) packets_repaired: u64,
    /// REPORT packets accepted.
    pub(crate) reports: u64,
    /// REPORT packets dropped because their numbers are impossible.
    pub(crate) reports_refused: u64,
    /// Requested ranges dropped because 512 were waiting; the receiver requests them again.
    pub(crate) requests_refused: u64,
    /// CLOSE packets dropped because their numbers are impossible.
    pub(crate) closes_refused: u64,
    /// MARK packets sent because data waited for credit.
    pub(crate) credit_stalls: u64,
    /// Packets from the receiver's address with the tag of another stream, OPEN included; and
    /// packets that are not of the protocol.
    pub(crate) packets_foreign: u64,
    /// Packets of a type that a sender does not expect.
    pub(crate) packets_unexpected: u64,
    /// Congestion notifications: REPORT packets in which the count of marks rose; over RDMA CNPs
    /// too.
    pub(crate) congestion: u64,
    /// Cuts of the rate that congestion control made.
    pub(crate) rate_cuts: u64,
    /// Bits a second of wire time that congestion control allows; 0 for no limit.
    pub(crate) rate_limit_bps: u64,
    /// Time in which congestion control allowed less than the source needs.
    pub(crate) rate_limited_ns: u64,
    /// Wire bytes that congestion control allowed in that time.
    pub(crate) rate_limited_bytes: u64,
    /// Times that congestion control allowed less than the source needs for longer than the window
    /// holds.
    pub(crate) rate_shortages: u64,
    /// The receiver's `received` as last reported, modulo 2^32.
    pub(crate) packets_received_by_device: u64,
    /// The receiver's `skipped` as last reported, modulo 2^32.
    pub(crate) packets_given_up: u64,
    /// The receiver's `late`, and a device's `late_to_play`, as last reported, modulo 2^16.
    pub(crate) packets_late: u64,
    /// Packets with a wrong CRC, from any address.
    pub(crate) packets_corrupted: u64,
    /// Packets that the system refused to send, of all streams of the port; they are lost.
    pub(crate) send_errors: u64,
    /// Receives and waits of the port that the system refused; nothing is lost.
    pub(crate) receive_errors: u64,
    /// Smoothed round-trip time.
    pub(crate) rtt_ns: u64,
}

impl From<&TransmitterSnapshot> for SenderCounters {
    fn from(snapshot: &TransmitterSnapshot) -> Self {
        Self {
            packets_sent: snapshot.stream.packets,
            packets_repaired: snapshot.stream.retransmissions,
            reports: snapshot.stream.reports,
            reports_refused: snapshot.stream.reports_refused,
            requests_refused: snapshot.stream.requests_refused,
            closes_refused: snapshot.stream.closes_refused,
            credit_stalls: snapshot.stream.credit_stalls,
            packets_foreign: snapshot.stream.foreign + snapshot.foreign,
            packets_unexpected: snapshot.stream.unexpected,
            congestion: snapshot.stream.congestion,
            rate_cuts: snapshot.stream.cuts,
            rate_limit_bps: snapshot.stream.limit_bps,
            rate_limited_ns: snapshot.stream.limited_ns,
            rate_limited_bytes: snapshot.stream.limited_bytes,
            rate_shortages: snapshot.stream.shortages,
            packets_received_by_device: snapshot.stream.received_by_peer.into(),
            packets_given_up: snapshot.stream.skipped_by_peer.into(),
            packets_late: snapshot.stream.late_at_peer.into(),
            packets_corrupted: snapshot.corrupted,
            send_errors: snapshot.send_errors,
            receive_errors: snapshot.receive_errors,
            rtt_ns: snapshot.rtt_ns,
        }
    }
}
