"""Counters, as plain data.

Written by `python3 tools/statistics.py` from `statistics.toml`; not edited by hand.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReceiverStats:
    """Counters of a receiver, as of some milliseconds ago (`docs/statistics.md`).

    Attributes
    ----------
    received : int
        DATA packets of this stream with a right CRC, duplicates and late ones included.
    delivered : int
        DATA packets delivered in order.
    samples_delivered : int
        Samples delivered.
    samples_missing : int
        Samples missing: the sum of `gap_samples`.
    repaired : int
        Missing packets that arrived as a retransmission.
    repair_latency : tuple[int, ...]
        Repaired packets by the time from the detection of the hole to the packet's arrival, modulo
        68.7 s.
    repair_latency_ns : int
        Time from the detection of a hole to the packet's arrival, summed over the repaired packets.
    reordered : int
        Missing packets that arrived without a retransmission.
    reordered_beyond : int
        Missing packets that arrived later than the reordering tolerance.
    reorder_tolerance_ns : int
        Time that the receiver waits for a reordered packet before it requests it.
    duplicates : int
        Packets that had arrived before; over RDMA also those of the queue pair.
    late : int
        Packets that arrived after they were given up; their samples are in a gap.
    skipped : int
        Packets given up.
    gaps : int
        Gaps.
    gap_samples : dict[str, int]
        Samples missing, by cause; losses at the source count as source overflow.
    beyond_credit : int
        DATA packets beyond the credit granted, dropped.
    marked : int
        DATA packets with the ECN mark of congestion, duplicates included.
    refused : int
        MARK, CLOSE and DATA packets dropped because their numbers are impossible; over RDMA also
        WRITEs to a slot that nothing waits for.
    other_tag : int
        Packets from the sender's address with the tag of another stream.
    unexpected : int
        Packets of a type that a receiver does not expect.
    reports : int
        REPORT packets sent.
    ranges : int
        Ranges requested again in REPORT packets, where each hole counts at least twice; over RDMA
        the NAKs for a lost packet.
    source_lost : int
        Samples lost at the source, as the sender counts them.
    timed_index : int
        The index of which the sender stated the time last; 0 before it has.
    timed_index_tai_ns : int
        Its time in TAI since 1970; 0 before the sender has stated one.
    corrupted : int
        Packets of the sender with a wrong CRC.
    foreign : int
        Packets from other addresses, or not of the protocol.
    send_errors : int
        Packets that the system refused to send, of all streams of the port; they are lost.
    receive_errors : int
        Receives and waits of the port that the system refused; nothing is lost.
    socket_dropped : int
        Packets that this host's socket dropped, as the kernel counts them in 32 bits.
    starved : int
        Times the sender had no credit left because the program held all memory.
    rtt_ns : int
        Smoothed round-trip time.
    credit : int
        Packets that the sender may still send before it gets more credit.
    window : int
        Most packets that may be in flight or await repair.
    silent_ns : int
        Time since the sender's last valid packet; 0 while a live sender may be so silent.
    dead_after_ns : int
        Silence after which the stream breaks off.
    port_corrupted : int
        Packets with a wrong CRC and an unknown stream.
    port_foreign : int
        Packets of no stream of the port, or not of the protocol.
    held_bytes : int
        Bytes that blocks and arrays of this program hold.
    """

    received: int
    delivered: int
    samples_delivered: int
    samples_missing: int
    repaired: int
    repair_latency: tuple[int, ...]
    repair_latency_ns: int
    reordered: int
    reordered_beyond: int
    reorder_tolerance_ns: int
    duplicates: int
    late: int
    skipped: int
    gaps: int
    gap_samples: dict[str, int]
    beyond_credit: int
    marked: int
    refused: int
    other_tag: int
    unexpected: int
    reports: int
    ranges: int
    source_lost: int
    timed_index: int
    timed_index_tai_ns: int
    corrupted: int
    foreign: int
    send_errors: int
    receive_errors: int
    socket_dropped: int
    starved: int
    rtt_ns: int
    credit: int
    window: int
    silent_ns: int
    dead_after_ns: int
    port_corrupted: int
    port_foreign: int
    held_bytes: int


@dataclass(frozen=True, slots=True)
class PortStats:
    """Counters of the port of aligned streams besides those of the streams.

    Attributes
    ----------
    corrupted : int
        Packets with a wrong CRC and an unknown stream.
    foreign : int
        Packets of no stream of the port, or not of the protocol.
    """

    corrupted: int
    foreign: int


@dataclass(frozen=True, slots=True)
class StreamCounts:
    """Counters of one of several aligned streams.

    Attributes
    ----------
    gaps : int
        Gaps of this stream.
    missing : int
        Samples that this stream misses.
    discarded : int
        Samples left out because another stream misses them.
    stream : int
        The number of the stream.
    """

    gaps: int
    missing: int
    discarded: int
    stream: int


@dataclass(frozen=True, slots=True)
class TransmitterStats:
    """Counters of a transmitter, as of some milliseconds ago (`docs/statistics.md`).

    Attributes
    ----------
    packets : int
        DATA packets sent for the first time.
    retransmissions : int
        DATA packets sent again; over RDMA packets of the queue pair.
    bytes : int
        Bytes of UDP payload in DATA packets, retransmissions included.
    reports : int
        REPORT packets accepted.
    reports_refused : int
        REPORT packets dropped because their numbers are impossible.
    requests_refused : int
        Requested ranges dropped because 512 were waiting; the receiver requests them again.
    closes_refused : int
        CLOSE packets dropped because their numbers are impossible.
    credit_stalls : int
        MARK packets sent because data waited for credit.
    budget_stalls : int
        Checks of waiting retransmissions that found the budget spent; one wait counts often.
    other_tag : int
        Packets from the receiver's address with the tag of another stream, OPEN included.
    unexpected : int
        Packets of a type that a sender does not expect.
    congestion : int
        Congestion notifications: REPORT packets in which the count of marks rose; over RDMA CNPs
        too.
    cuts : int
        Cuts of the rate that congestion control made.
    limit_bps : int
        Bits a second of wire time that congestion control allows; 0 for no limit.
    limited_ns : int
        Time in which congestion control allowed less than the source needs.
    limited_bytes : int
        Wire bytes that congestion control allowed in that time.
    shortages : int
        Times that congestion control allowed less than the source needs for longer than the window
        holds.
    received_by_peer : int
        The receiver's `received` as last reported, modulo 2^32.
    skipped_by_peer : int
        The receiver's `skipped` as last reported, modulo 2^32.
    late_at_peer : int
        The receiver's `late`, and a device's `late_to_play`, as last reported, modulo 2^16.
    position_of_peer : int
        Last reported index of the receiver's program, or of what a device plays.
    underflow_at_peer : int
        The device's `underflow_samples`; known at the end, and only where this end opened.
    corrupted : int
        Packets with a wrong CRC, from any address.
    foreign : int
        Packets that are not of the protocol.
    send_errors : int
        Packets that the system refused to send, of all streams of the port; they are lost.
    receive_errors : int
        Receives and waits of the port that the system refused; nothing is lost.
    rtt_ns : int
        Smoothed round-trip time.
    credit : int
        Packets that may be sent for the first time at present; 0 between sessions.
    held : int
        Packets held until the receiver has acknowledged them; 0 between sessions.
    window : int
        Most packets that may be held; 0 between sessions.
    """

    packets: int
    retransmissions: int
    bytes: int
    reports: int
    reports_refused: int
    requests_refused: int
    closes_refused: int
    credit_stalls: int
    budget_stalls: int
    other_tag: int
    unexpected: int
    congestion: int
    cuts: int
    limit_bps: int
    limited_ns: int
    limited_bytes: int
    shortages: int
    received_by_peer: int
    skipped_by_peer: int
    late_at_peer: int
    position_of_peer: int
    underflow_at_peer: int
    corrupted: int
    foreign: int
    send_errors: int
    receive_errors: int
    rtt_ns: int
    credit: int
    held: int
    window: int


@dataclass(frozen=True, slots=True)
class Played:
    """Counters of one session of an emulated device that plays.

    Attributes
    ----------
    played : int
        Samples played at their time.
    bursts : int
        Bursts: runs of samples whose index was set on purpose.
    underruns : int
        Times that samples were missing at their time.
    underrun_samples : int
        Samples that were missing at their time; the device played zeros.
    late_samples : int
        Samples dropped because they arrived after their time.
    late_packets : int
        Packets with late samples.
    """

    played: int
    bursts: int
    underruns: int
    underrun_samples: int
    late_samples: int
    late_packets: int


@dataclass(frozen=True, slots=True)
class FaultCounts:
    """Packets of an emulated device, by what the fault layer did to them.

    Attributes
    ----------
    packets : int
        Packets that entered the layer.
    lost : int
        Packets lost.
    queue_full : int
        Packets lost because the queue before the slowest hop (`rate=`) was full.
    corrupted : int
        Packets with changed bytes.
    duplicated : int
        Packets that arrived twice.
    reordered : int
        Packets that later ones overtook.
    delayed : int
        Packets held for delay or rate; not in the list of entries.
    undelayed : int
        Packets not held: the hold queue was full, or they were too long.
    refused : int
        Held packets that the system then refused to send.
    """

    packets: int
    lost: int
    queue_full: int
    corrupted: int
    duplicated: int
    reordered: int
    delayed: int
    undelayed: int
    refused: int
