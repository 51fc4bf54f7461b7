//! The counters of a receiver as the page shows them; see `docs/statistics.md`.
//!
//! Written by `python3 tools/statistics.py` from `statistics.toml`; not edited by hand.

use samplewire::receiver::ReceiverSnapshot;

/// A counter of the page.
pub(crate) struct Counter {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    /// Whether it rises and falls.
    pub(crate) is_gauge: bool,
    pub(crate) meaning: &'static str,
    /// What to do when it is not zero; empty for nothing.
    pub(crate) action: &'static str,
    pub(crate) value: fn(&ReceiverSnapshot) -> u64,
}

/// What to do about samples that are missing.
pub(crate) struct Remedy {
    /// The hop or the cause.
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) action: &'static str,
}

/// The counters of a receiver.
pub(crate) const COUNTERS: &[Counter] = &[
    Counter {
        name: "received",
        unit: "packets",
        is_gauge: false,
        meaning: "DATA packets of this stream with a right CRC, duplicates and late ones included",
        action: "",
        value: |it| it.stream.received,
    },
    Counter {
        name: "delivered",
        unit: "packets",
        is_gauge: false,
        meaning: "DATA packets delivered in order",
        action: "",
        value: |it| it.stream.delivered,
    },
    Counter {
        name: "samples_delivered",
        unit: "samples",
        is_gauge: false,
        meaning: "Samples delivered",
        action: "",
        value: |it| it.stream.samples_delivered,
    },
    Counter {
        name: "samples_missing",
        unit: "samples",
        is_gauge: false,
        meaning: "Samples missing: the sum of gap_samples",
        action: "See the causes of gap_samples",
        value: |it| it.stream.samples_missing(),
    },
    Counter {
        name: "repaired",
        unit: "packets",
        is_gauge: false,
        meaning: "Missing packets that arrived as a retransmission",
        action: "Above 1 in 1,000: see docs/statistics.md#the-network-loses-packets",
        value: |it| it.stream.repaired,
    },
    Counter {
        name: "repair_latency_ns",
        unit: "ns",
        is_gauge: false,
        meaning: "Time from the detection of a hole to the packet's arrival, summed over the \
                  repaired packets",
        action: "see docs/statistics.md#repair-latency",
        value: |it| it.stream.repair_latency_ns,
    },
    Counter {
        name: "reordered",
        unit: "packets",
        is_gauge: false,
        meaning: "Missing packets that arrived without a retransmission",
        action: "Harmless unless reordered_beyond grows",
        value: |it| it.stream.reordered,
    },
    Counter {
        name: "reordered_beyond",
        unit: "packets",
        is_gauge: false,
        meaning: "Missing packets that arrived later than the reordering tolerance",
        action: "A few raise the tolerance; many: see docs/statistics.md#packets-are-reordered",
        value: |it| it.stream.reordered_beyond,
    },
    Counter {
        name: "reorder_tolerance",
        unit: "ns",
        is_gauge: true,
        meaning: "Time that the receiver waits for a reordered packet before it requests it",
        action: "Above the device's setting: see docs/statistics.md#packets-are-reordered",
        value: |it| it.stream.reorder_tolerance.0,
    },
    Counter {
        name: "duplicates",
        unit: "packets",
        is_gauge: false,
        meaning: "Packets that had arrived before; over RDMA also those of the queue pair",
        action: "see docs/statistics.md#packets-are-reordered, or the network duplicates packets",
        value: |it| it.stream.duplicates,
    },
    Counter {
        name: "late",
        unit: "packets",
        is_gauge: false,
        meaning: "Packets that arrived after they were given up; their samples are in a gap",
        action: "Set a deadline above 2 round trips",
        value: |it| it.stream.late,
    },
    Counter {
        name: "late_to_play",
        unit: "packets",
        is_gauge: false,
        meaning: "At a device that plays: packets with samples that arrived after their time",
        action: "see docs/statistics.md#samples-arrive-too-late",
        value: |it| it.stream.late_to_play,
    },
    Counter {
        name: "underflow_samples",
        unit: "samples",
        is_gauge: false,
        meaning: "At a device that plays: samples that were missing at their time",
        action: "see docs/statistics.md#samples-arrive-too-late",
        value: |it| it.stream.underflow_samples,
    },
    Counter {
        name: "skipped",
        unit: "packets",
        is_gauge: false,
        meaning: "Packets given up",
        action: "See the causes of gap_samples",
        value: |it| it.stream.skipped,
    },
    Counter {
        name: "gaps",
        unit: "gaps",
        is_gauge: false,
        meaning: "Gaps",
        action: "See the causes of gap_samples",
        value: |it| it.stream.gaps,
    },
    Counter {
        name: "beyond_credit",
        unit: "packets",
        is_gauge: false,
        meaning: "DATA packets beyond the credit granted, dropped",
        action: "The sender breaks the protocol: report it",
        value: |it| it.stream.beyond_credit,
    },
    Counter {
        name: "marked",
        unit: "packets",
        is_gauge: false,
        meaning: "DATA packets with the ECN mark of congestion, duplicates included",
        action: "see docs/statistics.md#the-network-is-congested",
        value: |it| it.stream.marked,
    },
    Counter {
        name: "refused",
        unit: "packets",
        is_gauge: false,
        meaning: "MARK, CLOSE and DATA packets dropped because their numbers are impossible; over \
                  RDMA also WRITEs to a slot that nothing waits for",
        action: "Normal at the end of a stream; otherwise report it",
        value: |it| it.stream.refused,
    },
    Counter {
        name: "foreign",
        unit: "packets",
        is_gauge: false,
        meaning: "Packets from the sender's address with the tag of another stream",
        action: "Normal after a restart; otherwise two programs share an address",
        value: |it| it.stream.foreign,
    },
    Counter {
        name: "unexpected",
        unit: "packets",
        is_gauge: false,
        meaning: "Packets of a type that a receiver does not expect",
        action: "A few at the opening are normal",
        value: |it| it.stream.unexpected,
    },
    Counter {
        name: "reports",
        unit: "packets",
        is_gauge: false,
        meaning: "REPORT packets sent",
        action: "",
        value: |it| it.stream.reports,
    },
    Counter {
        name: "ranges",
        unit: "ranges",
        is_gauge: false,
        meaning: "Ranges requested again in REPORT packets, where each hole counts at least twice; \
                  over RDMA the NAKs for a lost packet",
        action: "Above 4 times repaired: see docs/statistics.md#the-network-loses-packets",
        value: |it| it.stream.ranges,
    },
    Counter {
        name: "source_lost",
        unit: "samples",
        is_gauge: false,
        meaning: "Samples lost at the source, as the sender counts them",
        action: "see docs/statistics.md#the-device-overflows",
        value: |it| it.stream.source_lost,
    },
    Counter {
        name: "corrupted",
        unit: "packets",
        is_gauge: false,
        meaning: "Packets of the sender with a wrong CRC",
        action: "see docs/statistics.md#packets-are-corrupted",
        value: |it| it.corrupted,
    },
    Counter {
        name: "foreign",
        unit: "packets",
        is_gauge: false,
        meaning: "Packets from other addresses, or not of the protocol",
        action: "Another program sends to this port: ss -uanp, --capture FILE.pcapng",
        value: |it| it.foreign,
    },
    Counter {
        name: "send_errors",
        unit: "packets",
        is_gauge: false,
        meaning: "Packets that the system refused to send, of all streams of the port; they are \
                  lost",
        action: "If it grows: ip route get ADDRESS, ip link show IF, nft list ruleset",
        value: |it| it.send_errors,
    },
    Counter {
        name: "receive_errors",
        unit: "calls",
        is_gauge: false,
        meaning: "Receives and waits of the port that the system refused; nothing is lost",
        action: "A flood of ICMP, or an unknown kernel error: dmesg",
        value: |it| it.receive_errors,
    },
    Counter {
        name: "socket_dropped",
        unit: "packets",
        is_gauge: false,
        meaning: "Packets that this host's socket dropped, as the kernel counts them in 32 bits",
        action: "see docs/statistics.md#this-host-drops-packets",
        value: |it| it.socket_dropped,
    },
    Counter {
        name: "starved",
        unit: "times",
        is_gauge: false,
        meaning: "Times the sender had no credit left because the program held all memory",
        action: "see docs/statistics.md#the-program-is-slow",
        value: |it| it.starved,
    },
    Counter {
        name: "rtt_ns",
        unit: "ns",
        is_gauge: true,
        meaning: "Smoothed round-trip time",
        action: "Far above ping: see docs/statistics.md#this-host-drops-packets",
        value: |it| it.rtt_ns,
    },
    Counter {
        name: "credit",
        unit: "packets",
        is_gauge: true,
        meaning: "Packets that the sender may still send before it gets more credit",
        action: "0 for long: see docs/statistics.md#the-program-is-slow",
        value: |it| it.credit.into(),
    },
    Counter {
        name: "window",
        unit: "packets",
        is_gauge: true,
        meaning: "Most packets that may be in flight or await repair",
        action: "",
        value: |it| it.window.into(),
    },
    Counter {
        name: "silent_ns",
        unit: "ns",
        is_gauge: true,
        meaning: "Time since the sender's last valid packet; 0 while a live sender may be so \
                  silent",
        action: "The device may be gone: samplewire probe",
        value: |it| it.silent_ns,
    },
    Counter {
        name: "dead_after_ns",
        unit: "ns",
        is_gauge: true,
        meaning: "Silence after which the stream breaks off",
        action: "",
        value: |it| it.dead_after_ns,
    },
    Counter {
        name: "port corrupted",
        unit: "packets",
        is_gauge: false,
        meaning: "Packets with a wrong CRC and an unknown stream",
        action: "see docs/statistics.md#packets-are-corrupted",
        value: |it| it.port.corrupted,
    },
    Counter {
        name: "port foreign",
        unit: "packets",
        is_gauge: false,
        meaning: "Packets of no stream of the port, or not of the protocol",
        action: "As foreign of a receiver",
        value: |it| it.port.foreign,
    },
];

/// The table of `docs/statistics.md`, "Where samples were lost".
pub(crate) const HOPS: &[Remedy] = &[
    Remedy {
        name: "device",
        meaning: "overflow, or between two of its runs",
        action: "see docs/statistics.md#the-device-overflows",
    },
    Remedy {
        name: "wire",
        meaning: "between the device's socket and this host's card; corrupted; undecided",
        action: "see docs/statistics.md#the-network-loses-packets",
    },
    Remedy {
        name: "nic",
        meaning: "dropped by this host's card or its driver",
        action: "see docs/statistics.md#the-card-drops-packets",
    },
    Remedy {
        name: "kernel",
        meaning: "dropped by this host's kernel before the socket, by its reason",
        action: "see docs/statistics.md#the-kernel-drops-packets",
    },
    Remedy {
        name: "socket",
        meaning: "this host's socket was full",
        action: "see docs/statistics.md#this-host-drops-packets",
    },
    Remedy {
        name: "application",
        meaning: "overflow while the program stalled; no recorder ran",
        action: "see docs/statistics.md#the-program-is-slow",
    },
    Remedy {
        name: "disk",
        meaning: "overflow while the file stalled",
        action: "see docs/recording.md#disks",
    },
];

/// The table of `docs/statistics.md`, "Causes".
pub(crate) const CAUSES: &[Remedy] = &[
    Remedy {
        name: "source overflow",
        meaning: "lost at the device before sending",
        action: "see docs/statistics.md#the-device-overflows",
    },
    Remedy {
        name: "deadline",
        meaning: "not repaired in time",
        action: "a longer deadline, or less loss",
    },
    Remedy {
        name: "gone at sender",
        meaning: "the sender no longer held it, or the stream broke off",
        action: "see how the stream ended",
    },
    Remedy {
        name: "never asked",
        meaning: "best effort requests no repair",
        action: "choose another delivery",
    },
    Remedy {
        name: "receiver behind",
        meaning: "this host's socket dropped it",
        action: "see docs/statistics.md#this-host-drops-packets",
    },
    Remedy {
        name: "disk behind",
        meaning: "lost at the device, or left out of a page's recording, because the file could \
                  not keep up",
        action: "see docs/recording.md#disks",
    },
    Remedy {
        name: "reconnected",
        meaning: "between two openings or recorders",
        action: "see why the first ended",
    },
    Remedy {
        name: "recorder restarted",
        meaning: "between two openings or recorders",
        action: "see why the first ended",
    },
    Remedy { name: "device restarted", meaning: "an estimate: time x rate", action: "" },
];
