//! Counters. What each means, and what to do when it is not zero, is in `docs/statistics.md`.

use samplewire::receiver::ReceiverSnapshot;
use samplewire::transmitter::TransmitterSnapshot;

use crate::sized::sized;

/// [`sized!`] of a struct whose defaults are zeros.
macro_rules! counters {
    ($name:ident { $($field:ident: $type:ty),* $(,)? }) => {
        sized!(
            $name { $($field: $type),* },
            $name { struct_size: size_of::<$name>(), $($field: <$type>::default()),* }
        );
    };
}

/// Counters of a receiver, as of some milliseconds ago; after the end, the final ones.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_receiver_stats {
    /// Set it to `sizeof(sw_receiver_stats)` before the call.
    pub struct_size: usize,
    /// DATA packets of this stream with a right CRC, duplicates included.
    pub received: u64,
    /// DATA packets delivered in order.
    pub delivered: u64,
    /// Samples delivered.
    pub samples_delivered: u64,
    /// Samples missing, of every cause.
    pub samples_missing: u64,
    /// Samples missing by `sw_cause`; those lost at the source count as source overflow.
    pub gap_samples: [u64; 5],
    /// Gap events.
    pub gaps: u64,
    /// Packets that were missing and came as a retransmission.
    pub repaired: u64,
    /// Packets that were missing and came by themselves.
    pub reordered: u64,
    /// Packets that were there already.
    pub duplicates: u64,
    /// Packets that came after they had been given up.
    pub late: u64,
    /// Packets given up.
    pub skipped: u64,
    /// Packets beyond the credit granted, dropped.
    pub beyond_credit: u64,
    /// DATA that arrived with congestion experienced.
    pub marked: u64,
    /// REPORTs sent.
    pub reports: u64,
    /// Ranges listed in them: packets that were asked for again.
    pub ranges: u64,
    /// Samples that the sender counted as lost at its source.
    pub source_lost: u64,
    /// Packets whose CRC was wrong.
    pub corrupted: u64,
    /// Packets that were not of the protocol, or not of this stream.
    pub foreign: u64,
    /// Packets that this host's socket dropped.
    pub socket_dropped: u64,
    /// Times the sender had no credit left because the program held all memory.
    pub starved: u64,
    /// Smoothed round-trip time in nanoseconds.
    pub rtt_ns: u64,
    /// Packets that the sender may still send before it is granted more.
    pub credit: u64,
    /// Packets that may be on their way or await repair.
    pub window: u64,
}

counters!(sw_receiver_stats {
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
});

/// Counters of a transmitter, as of some milliseconds ago; after the end, the final ones.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_transmitter_stats {
    /// Set it to `sizeof(sw_transmitter_stats)` before the call.
    pub struct_size: usize,
    /// DATA packets that departed for the first time.
    pub packets: u64,
    /// DATA packets that departed again.
    pub retransmissions: u64,
    /// Bytes of UDP payload in DATA.
    pub bytes: u64,
    /// REPORTs acted on.
    pub reports: u64,
    /// Times that data waited for credit.
    pub credit_stalls: u64,
    /// Times a repeat waited for its budget.
    pub budget_stalls: u64,
    /// Congestion notifications.
    pub congestion: u64,
    /// The receiver's own count of DATA received, modulo 2^32.
    pub received_by_peer: u64,
    /// The receiver's own count of packets given up, modulo 2^32.
    pub skipped_by_peer: u64,
    /// The receiver's own count of packets that came late to be played, modulo 2^16.
    pub late_at_peer: u64,
    /// The index that the receiver's program has come to, or that a device plays, as it last said.
    pub position_of_peer: u64,
    /// Samples that were not there when the device was to play them; it says so at the end.
    pub underflow_at_peer: u64,
    /// Packets whose CRC was wrong.
    pub corrupted: u64,
    /// Packets that were not of the protocol.
    pub foreign: u64,
    /// Smoothed round-trip time in nanoseconds.
    pub rtt_ns: u64,
    /// Packets that the receiver lets depart at present.
    pub credit: u64,
    /// Packets held until the receiver has accounted for them.
    pub held: u64,
    /// The most that may be held.
    pub window: u64,
}

counters!(sw_transmitter_stats {
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
});

impl sw_receiver_stats {
    pub(crate) fn of(snapshot: &ReceiverSnapshot) -> Self {
        let stream = &snapshot.stream;
        Self {
            struct_size: size_of::<Self>(),
            received: stream.received,
            delivered: stream.delivered,
            samples_delivered: stream.samples_delivered,
            samples_missing: stream.samples_missing(),
            gap_samples: stream.gap_samples,
            gaps: stream.gaps,
            repaired: stream.repaired,
            reordered: stream.reordered,
            duplicates: stream.duplicates,
            late: stream.late,
            skipped: stream.skipped,
            beyond_credit: stream.beyond_credit,
            marked: stream.marked,
            reports: stream.reports,
            ranges: stream.ranges,
            source_lost: stream.source_lost,
            corrupted: snapshot.corrupted,
            foreign: snapshot.foreign,
            socket_dropped: snapshot.socket_dropped,
            starved: snapshot.starved,
            rtt_ns: snapshot.rtt_ns,
            credit: snapshot.credit.into(),
            window: snapshot.window.into(),
        }
    }
}

impl sw_transmitter_stats {
    pub(crate) fn of(snapshot: &TransmitterSnapshot) -> Self {
        let stream = &snapshot.stream;
        Self {
            struct_size: size_of::<Self>(),
            packets: stream.packets,
            retransmissions: stream.retransmissions,
            bytes: stream.bytes,
            reports: stream.reports,
            credit_stalls: stream.credit_stalls,
            budget_stalls: stream.budget_stalls,
            congestion: stream.congestion,
            received_by_peer: stream.received_by_peer.into(),
            skipped_by_peer: stream.skipped_by_peer.into(),
            late_at_peer: stream.late_at_peer.into(),
            position_of_peer: stream.position_of_peer,
            underflow_at_peer: stream.underflow_at_peer,
            corrupted: snapshot.corrupted,
            foreign: snapshot.foreign,
            rtt_ns: snapshot.rtt_ns,
            credit: snapshot.credit.into(),
            held: snapshot.held.into(),
            window: snapshot.window.into(),
        }
    }
}
