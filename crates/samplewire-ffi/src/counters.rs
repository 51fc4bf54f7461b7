//! The C structures of counters; see `docs/statistics.md`.
//!
//! Written by `python3 tools/statistics.py` from `statistics.toml`; not edited by hand.

use samplewire::receiver::ReceiverSnapshot;
use samplewire::transmitter::TransmitterSnapshot;

use crate::sized::sized;

/// Counters of a receiver, as of some milliseconds ago; after the end, the final ones.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_receiver_stats {
    /// Set it to `sizeof(sw_receiver_stats)` before the call.
    pub struct_size: usize,
    /// DATA packets of this stream with a right CRC, duplicates and late ones included.
    pub received: u64,
    /// DATA packets delivered in order.
    pub delivered: u64,
    /// Samples delivered.
    pub samples_delivered: u64,
    /// Samples missing: the sum of `gap_samples`.
    pub samples_missing: u64,
    /// Samples missing, by cause; losses at the source count as source overflow.
    pub gap_samples: [u64; 5],
    /// Gaps.
    pub gaps: u64,
    /// Missing packets that arrived as a retransmission.
    pub repaired: u64,
    /// Missing packets that arrived without a retransmission.
    pub reordered: u64,
    /// Packets that had arrived before; over RDMA also those of the queue pair.
    pub duplicates: u64,
    /// Packets that arrived after they were given up; their samples are in a gap.
    pub late: u64,
    /// Packets given up.
    pub skipped: u64,
    /// DATA packets beyond the credit granted, dropped.
    pub beyond_credit: u64,
    /// DATA packets with the ECN mark of congestion, duplicates included.
    pub marked: u64,
    /// REPORT packets sent.
    pub reports: u64,
    /// Ranges requested again in REPORT packets, where each hole counts at least twice; over RDMA
    /// the NAKs for a lost packet.
    pub ranges: u64,
    /// Samples lost at the source, as the sender counts them.
    pub source_lost: u64,
    /// Packets of the sender with a wrong CRC.
    pub corrupted: u64,
    /// Packets from other addresses, or not of the protocol.
    pub foreign: u64,
    /// Packets that this host's socket dropped, as the kernel counts them in 32 bits.
    pub socket_dropped: u64,
    /// Times the sender had no credit left because the program held all memory.
    pub starved: u64,
    /// Smoothed round-trip time.
    pub rtt_ns: u64,
    /// Packets that the sender may still send before it gets more credit.
    pub credit: u64,
    /// Most packets that may be in flight or await repair.
    pub window: u64,
    /// Missing packets that arrived later than the reordering tolerance.
    pub reordered_beyond: u64,
    /// Time that the receiver waits for a reordered packet before it requests it.
    pub reorder_tolerance_ns: u64,
    /// MARK, CLOSE and DATA packets dropped because their numbers are impossible; over RDMA also
    /// WRITEs to a slot that nothing waits for.
    pub refused: u64,
    /// Packets of a type that a receiver does not expect.
    pub unexpected: u64,
    /// Packets from the sender's address with the tag of another stream.
    pub other_tag: u64,
    /// Packets that the system refused to send, of all streams of the port; they are lost.
    pub send_errors: u64,
    /// Receives and waits of the port that the system refused; nothing is lost.
    pub receive_errors: u64,
    /// Time since the sender's last valid packet; 0 while a live sender may be so silent.
    pub silent_ns: u64,
    /// Silence after which the stream breaks off.
    pub dead_after_ns: u64,
    /// Packets with a wrong CRC and an unknown stream.
    pub port_corrupted: u64,
    /// Packets of no stream of the port, or not of the protocol.
    pub port_foreign: u64,
    /// Repaired packets by the time from the detection of the hole to the packet's arrival, modulo
    /// 68.7 s.
    pub repair_latency: [u64; 48],
    /// Time from the detection of a hole to the packet's arrival, summed over the repaired packets.
    pub repair_latency_ns: u64,
    /// The index of which the sender stated the time last; 0 before it has.
    pub timed_index: u64,
    /// Its time in TAI since 1970; 0 before the sender has stated one.
    pub timed_index_tai_ns: u64,
}

sized!(
    sw_receiver_stats {
        received: u64,
        delivered: u64,
        samples_delivered: u64,
        samples_missing: u64,
        gap_samples: [u64; 5],
        gaps: u64,
        repaired: u64,
        reordered: u64,
        duplicates: u64,
        late: u64,
        skipped: u64,
        beyond_credit: u64,
        marked: u64,
        reports: u64,
        ranges: u64,
        source_lost: u64,
        corrupted: u64,
        foreign: u64,
        socket_dropped: u64,
        starved: u64,
        rtt_ns: u64,
        credit: u64,
        window: u64,
        reordered_beyond: u64,
        reorder_tolerance_ns: u64,
        refused: u64,
        unexpected: u64,
        other_tag: u64,
        send_errors: u64,
        receive_errors: u64,
        silent_ns: u64,
        dead_after_ns: u64,
        port_corrupted: u64,
        port_foreign: u64,
        repair_latency: [u64; 48],
        repair_latency_ns: u64,
        timed_index: u64,
        timed_index_tai_ns: u64,
    },
    sw_receiver_stats {
        struct_size: size_of::<sw_receiver_stats>(),
        received: 0,
        delivered: 0,
        samples_delivered: 0,
        samples_missing: 0,
        gap_samples: [0; 5],
        gaps: 0,
        repaired: 0,
        reordered: 0,
        duplicates: 0,
        late: 0,
        skipped: 0,
        beyond_credit: 0,
        marked: 0,
        reports: 0,
        ranges: 0,
        source_lost: 0,
        corrupted: 0,
        foreign: 0,
        socket_dropped: 0,
        starved: 0,
        rtt_ns: 0,
        credit: 0,
        window: 0,
        reordered_beyond: 0,
        reorder_tolerance_ns: 0,
        refused: 0,
        unexpected: 0,
        other_tag: 0,
        send_errors: 0,
        receive_errors: 0,
        silent_ns: 0,
        dead_after_ns: 0,
        port_corrupted: 0,
        port_foreign: 0,
        repair_latency: [0; 48],
        repair_latency_ns: 0,
        timed_index: 0,
        timed_index_tai_ns: 0,
    }
);

impl sw_receiver_stats {
    pub(crate) fn of(snapshot: &ReceiverSnapshot) -> Self {
        Self {
            struct_size: size_of::<Self>(),
            received: snapshot.stream.received,
            delivered: snapshot.stream.delivered,
            samples_delivered: snapshot.stream.samples_delivered,
            samples_missing: snapshot.stream.samples_missing(),
            gap_samples: snapshot.stream.gap_samples,
            gaps: snapshot.stream.gaps,
            repaired: snapshot.stream.repaired,
            reordered: snapshot.stream.reordered,
            duplicates: snapshot.stream.duplicates,
            late: snapshot.stream.late,
            skipped: snapshot.stream.skipped,
            beyond_credit: snapshot.stream.beyond_credit,
            marked: snapshot.stream.marked,
            reports: snapshot.stream.reports,
            ranges: snapshot.stream.ranges,
            source_lost: snapshot.stream.source_lost,
            corrupted: snapshot.corrupted,
            foreign: snapshot.foreign,
            socket_dropped: snapshot.socket_dropped,
            starved: snapshot.starved,
            rtt_ns: snapshot.rtt_ns,
            credit: snapshot.credit.into(),
            window: snapshot.window.into(),
            reordered_beyond: snapshot.stream.reordered_beyond,
            reorder_tolerance_ns: snapshot.stream.reorder_tolerance.0,
            refused: snapshot.stream.refused,
            unexpected: snapshot.stream.unexpected,
            other_tag: snapshot.stream.foreign,
            send_errors: snapshot.send_errors,
            receive_errors: snapshot.receive_errors,
            silent_ns: snapshot.silent_ns,
            dead_after_ns: snapshot.dead_after_ns,
            port_corrupted: snapshot.port.corrupted,
            port_foreign: snapshot.port.foreign,
            repair_latency: *snapshot.stream.repair_latency.counts(),
            repair_latency_ns: snapshot.stream.repair_latency_ns,
            timed_index: snapshot.stream.timed_index,
            timed_index_tai_ns: snapshot.stream.timed_index_tai_ns,
        }
    }
}

/// Counters of a transmitter, as of some milliseconds ago; after the end, the final ones.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_transmitter_stats {
    /// Set it to `sizeof(sw_transmitter_stats)` before the call.
    pub struct_size: usize,
    /// DATA packets sent for the first time.
    pub packets: u64,
    /// DATA packets sent again; over RDMA packets of the queue pair.
    pub retransmissions: u64,
    /// Bytes of UDP payload in DATA packets, retransmissions included.
    pub bytes: u64,
    /// REPORT packets accepted.
    pub reports: u64,
    /// MARK packets sent because data waited for credit.
    pub credit_stalls: u64,
    /// Checks of waiting retransmissions that found the budget spent; one wait counts often.
    pub budget_stalls: u64,
    /// Congestion notifications: REPORT packets in which the count of marks rose; over RDMA CNPs
    /// too.
    pub congestion: u64,
    /// The receiver's `received` as last reported, modulo 2^32.
    pub received_by_peer: u64,
    /// The receiver's `skipped` as last reported, modulo 2^32.
    pub skipped_by_peer: u64,
    /// The receiver's `late`, and a device's `late_to_play`, as last reported, modulo 2^16.
    pub late_at_peer: u64,
    /// Last reported index of the receiver's program, or of what a device plays.
    pub position_of_peer: u64,
    /// The device's `underflow_samples`; known at the end, and only where this end opened.
    pub underflow_at_peer: u64,
    /// Packets with a wrong CRC, from any address.
    pub corrupted: u64,
    /// Packets that are not of the protocol.
    pub foreign: u64,
    /// Smoothed round-trip time.
    pub rtt_ns: u64,
    /// Packets that may be sent for the first time at present; 0 between sessions.
    pub credit: u64,
    /// Packets held until the receiver has acknowledged them; 0 between sessions.
    pub held: u64,
    /// Most packets that may be held; 0 between sessions.
    pub window: u64,
    /// REPORT packets dropped because their numbers are impossible.
    pub reports_refused: u64,
    /// Requested ranges dropped because 512 were waiting; the receiver requests them again.
    pub requests_refused: u64,
    /// CLOSE packets dropped because their numbers are impossible.
    pub closes_refused: u64,
    /// Packets of a type that a sender does not expect.
    pub unexpected: u64,
    /// Packets from the receiver's address with the tag of another stream, OPEN included.
    pub other_tag: u64,
    /// Packets that the system refused to send, of all streams of the port; they are lost.
    pub send_errors: u64,
    /// Receives and waits of the port that the system refused; nothing is lost.
    pub receive_errors: u64,
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
}

sized!(
    sw_transmitter_stats {
        packets: u64,
        retransmissions: u64,
        bytes: u64,
        reports: u64,
        credit_stalls: u64,
        budget_stalls: u64,
        congestion: u64,
        received_by_peer: u64,
        skipped_by_peer: u64,
        late_at_peer: u64,
        position_of_peer: u64,
        underflow_at_peer: u64,
        corrupted: u64,
        foreign: u64,
        rtt_ns: u64,
        credit: u64,
        held: u64,
        window: u64,
        reports_refused: u64,
        requests_refused: u64,
        closes_refused: u64,
        unexpected: u64,
        other_tag: u64,
        send_errors: u64,
        receive_errors: u64,
        cuts: u64,
        limit_bps: u64,
        limited_ns: u64,
        limited_bytes: u64,
        shortages: u64,
    },
    sw_transmitter_stats {
        struct_size: size_of::<sw_transmitter_stats>(),
        packets: 0,
        retransmissions: 0,
        bytes: 0,
        reports: 0,
        credit_stalls: 0,
        budget_stalls: 0,
        congestion: 0,
        received_by_peer: 0,
        skipped_by_peer: 0,
        late_at_peer: 0,
        position_of_peer: 0,
        underflow_at_peer: 0,
        corrupted: 0,
        foreign: 0,
        rtt_ns: 0,
        credit: 0,
        held: 0,
        window: 0,
        reports_refused: 0,
        requests_refused: 0,
        closes_refused: 0,
        unexpected: 0,
        other_tag: 0,
        send_errors: 0,
        receive_errors: 0,
        cuts: 0,
        limit_bps: 0,
        limited_ns: 0,
        limited_bytes: 0,
        shortages: 0,
    }
);

impl sw_transmitter_stats {
    pub(crate) fn of(snapshot: &TransmitterSnapshot) -> Self {
        Self {
            struct_size: size_of::<Self>(),
            packets: snapshot.stream.packets,
            retransmissions: snapshot.stream.retransmissions,
            bytes: snapshot.stream.bytes,
            reports: snapshot.stream.reports,
            credit_stalls: snapshot.stream.credit_stalls,
            budget_stalls: snapshot.stream.budget_stalls,
            congestion: snapshot.stream.congestion,
            received_by_peer: snapshot.stream.received_by_peer.into(),
            skipped_by_peer: snapshot.stream.skipped_by_peer.into(),
            late_at_peer: snapshot.stream.late_at_peer.into(),
            position_of_peer: snapshot.stream.position_of_peer,
            underflow_at_peer: snapshot.stream.underflow_at_peer,
            corrupted: snapshot.corrupted,
            foreign: snapshot.foreign,
            rtt_ns: snapshot.rtt_ns,
            credit: snapshot.credit.into(),
            held: snapshot.held.into(),
            window: snapshot.window.into(),
            reports_refused: snapshot.stream.reports_refused,
            requests_refused: snapshot.stream.requests_refused,
            closes_refused: snapshot.stream.closes_refused,
            unexpected: snapshot.stream.unexpected,
            other_tag: snapshot.stream.foreign,
            send_errors: snapshot.send_errors,
            receive_errors: snapshot.receive_errors,
            cuts: snapshot.stream.cuts,
            limit_bps: snapshot.stream.limit_bps,
            limited_ns: snapshot.stream.limited_ns,
            limited_bytes: snapshot.stream.limited_bytes,
            shortages: snapshot.stream.shortages,
        }
    }
}
