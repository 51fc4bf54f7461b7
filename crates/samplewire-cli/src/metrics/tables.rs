//! The names of all counters, as in `docs/statistics.md`; a test compares the two.

use samplewire::device::PlayCounts;
use samplewire::receiver::ReceiverSnapshot;
use samplewire::transmitter::TransmitterSnapshot;
use samplewire_proto::receiver::ReceiverStats;
use samplewire_proto::sender::SenderStats;
use samplewire_proto::session::ListenStats;

use samplewire_record::account::Account;

/// Counters of one kind, under one prefix.
pub(crate) struct Table<T: 'static> {
    /// The prefix of their names.
    pub(crate) prefix: &'static str,
    pub(crate) metrics: &'static [Metric<T>],
}

/// One counter.
pub(crate) struct Metric<T> {
    /// The name in the code and in `docs/statistics.md`.
    name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) help: &'static str,
    pub(crate) value: fn(&T) -> u64,
}

/// The kind of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A counter, from 0.
    Count,
    /// A gauge.
    Level,
    /// A gauge of a time in nanoseconds, exported in seconds.
    Nanos,
}

impl Kind {
    /// The word for it in `# TYPE`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Count => "counter",
            Self::Level | Self::Nanos => "gauge",
        }
    }
}

impl<T> Metric<T> {
    /// The exported name.
    pub(crate) fn full_name(&self, prefix: &str) -> String {
        let Self { name, .. } = self;
        match self.kind {
            Kind::Count => format!("{prefix}{name}_total"),
            Kind::Level => format!("{prefix}{name}"),
            Kind::Nanos => format!("{prefix}{}_seconds", name.trim_end_matches("_ns")),
        }
    }
}

const fn count<T>(name: &'static str, help: &'static str, value: fn(&T) -> u64) -> Metric<T> {
    Metric { name, kind: Kind::Count, help, value }
}

const fn level<T>(name: &'static str, help: &'static str, value: fn(&T) -> u64) -> Metric<T> {
    Metric { name, kind: Kind::Level, help, value }
}

const fn nanos<T>(name: &'static str, help: &'static str, value: fn(&T) -> u64) -> Metric<T> {
    Metric { name, kind: Kind::Nanos, help, value }
}

/// `ReceiverStats`, without samples by cause.
pub(crate) const RECEIVER: Table<ReceiverStats> = Table {
    prefix: "samplewire_receiver_",
    metrics: &[
        count("received", "DATA packets, duplicates and late ones included", |it| it.received),
        count("delivered", "DATA packets handed over in order", |it| it.delivered),
        count("samples_delivered", "Samples handed over", |it| it.samples_delivered),
        count("repaired", "Packets that were missing and came as a retransmission", |it| {
            it.repaired
        }),
        count("reordered", "Packets that were missing and came by themselves", |it| it.reordered),
        count("reordered_beyond", "Packets that came later than the tolerance", |it| {
            it.reordered_beyond
        }),
        nanos("reorder_tolerance", "How much reordering is waited for at present", |it| {
            it.reorder_tolerance.0
        }),
        count("duplicates", "Packets that were there already", |it| it.duplicates),
        count("late", "Packets that came after they were given up", |it| it.late),
        count("late_to_play", "Packets of which samples came after their time", |it| {
            it.late_to_play
        }),
        count("underflow_samples", "Samples that were not there when played", |it| {
            it.underflow_samples
        }),
        count("skipped", "Packets given up", |it| it.skipped),
        count("gaps", "Gaps", |it| it.gaps),
        count("beyond_credit", "DATA beyond what was granted, dropped", |it| it.beyond_credit),
        count("marked", "DATA that came with congestion experienced", |it| it.marked),
        count("refused", "Packets that name the impossible", |it| it.refused),
        count("foreign", "Packets from the sender's address with another tag", |it| it.foreign),
        count("unexpected", "Packets of a type that has no place here", |it| it.unexpected),
        count("reports", "REPORTs sent", |it| it.reports),
        count("ranges", "Ranges requested again", |it| it.ranges),
        count("source_lost", "Samples that the sender reported as lost at the source", |it| {
            it.source_lost
        }),
    ],
};

/// `ReceiverSnapshot`.
pub(crate) const RECEIVER_PORT: Table<ReceiverSnapshot> = Table {
    prefix: "samplewire_receiver_port_",
    metrics: &[
        count("corrupted", "Packets from the peer whose CRC was wrong", |it| it.corrupted),
        count("foreign", "Packets from elsewhere, or not of the protocol", |it| it.foreign),
        count("send_errors", "Packets that the system refused to send", |it| it.send_errors),
        count("receive_errors", "Receives and waits that the system refused", |it| {
            it.receive_errors
        }),
        count("socket_dropped", "Packets that this host's socket had no room for", |it| {
            it.socket_dropped
        }),
        count("starved", "Times the sender had no credit because the program held all", |it| {
            it.starved
        }),
        nanos("rtt_ns", "Smoothed round-trip time", |it| it.rtt_ns),
        level("credit", "Packets that the sender may still send", |it| it.credit.into()),
        level("window", "Packets that may be on their way or await repair", |it| it.window.into()),
        nanos("silent_ns", "How long the sender has been silent, if unusually long", |it| {
            it.silent_ns
        }),
        nanos("dead_after_ns", "The silence after which the stream breaks off", |it| {
            it.dead_after_ns
        }),
    ],
};

/// `SenderStats`.
pub(crate) const SENDER: Table<SenderStats> = Table {
    prefix: "samplewire_sender_",
    metrics: &[
        count("packets", "DATA packets that departed for the first time", |it| it.packets),
        count("retransmissions", "DATA packets that departed again", |it| it.retransmissions),
        count("bytes", "UDP payload of all DATA, repeats included", |it| it.bytes),
        count("reports", "REPORTs taken", |it| it.reports),
        count("reports_refused", "REPORTs that release or promise the impossible", |it| {
            it.reports_refused
        }),
        count("requests_refused", "Ranges dropped because too many waited", |it| {
            it.requests_refused
        }),
        count("closes_refused", "CLOSEs that name the impossible", |it| it.closes_refused),
        count("credit_stalls", "MARKs sent while data waited for credit", |it| it.credit_stalls),
        count("budget_stalls", "Looks at repeats that found their budget spent", |it| {
            it.budget_stalls
        }),
        count("foreign", "Packets from the receiver's address with another tag", |it| it.foreign),
        count("unexpected", "Packets of a type that has no place here", |it| it.unexpected),
        count("congestion", "REPORTs in which the count of CE marks changed", |it| it.congestion),
        count("received_by_peer", "The receiver's own count of DATA, modulo 2^32", |it| {
            it.received_by_peer.into()
        }),
        count("skipped_by_peer", "The receiver's own count given up, modulo 2^32", |it| {
            it.skipped_by_peer.into()
        }),
        count("late_at_peer", "The receiver's own count of late packets, modulo 2^16", |it| {
            it.late_at_peer.into()
        }),
        level("position_of_peer", "The index where the receiver's program is", |it| {
            it.position_of_peer
        }),
        count(
            "underflow_at_peer",
            "Samples missing at a device that plays, once it is closed",
            |it| it.underflow_at_peer,
        ),
    ],
};

/// `TransmitterSnapshot`.
pub(crate) const SENDER_PORT: Table<TransmitterSnapshot> = Table {
    prefix: "samplewire_sender_port_",
    metrics: &[
        count("corrupted", "Packets whose CRC was wrong, from anybody", |it| it.corrupted),
        count("foreign", "Packets that were not of the protocol", |it| it.foreign),
        count("send_errors", "Packets that the system refused to send", |it| it.send_errors),
        count("receive_errors", "Receives and waits that the system refused", |it| {
            it.receive_errors
        }),
        nanos("rtt_ns", "Smoothed round-trip time", |it| it.rtt_ns),
        level("credit", "Packets that the receiver lets depart", |it| it.credit.into()),
        level("held", "Packets held until the receiver has accounted for them", |it| {
            it.held.into()
        }),
        level("window", "The most packets that may be held", |it| it.window.into()),
    ],
};

/// `ListenStats`.
pub(crate) const LISTENER: Table<ListenStats> = Table {
    prefix: "samplewire_listener_",
    metrics: &[
        count("challenged", "OPENs without a valid cookie", |it| it.challenged),
        count("accepted", "ACCEPTs, repeats not counted", |it| it.accepted),
        count("repeated", "ACCEPTs sent again", |it| it.repeated),
        count("refused", "Requests refused", |it| it.refused),
        count("late", "OPENs older than the accepted one", |it| it.late),
        count("unknown", "Packets of no stream that got an answer", |it| it.unknown),
        count("unanswered", "Packets of no stream, beyond the rate of answers", |it| it.unanswered),
        count("unanswerable", "Packets from an address that no answer can reach", |it| {
            it.unanswerable
        }),
    ],
};

/// `PlayCounts`.
pub(crate) const PLAYER: Table<PlayCounts> = Table {
    prefix: "samplewire_player_",
    metrics: &[
        count("played", "Samples played at their time", |it| it.played),
        count("bursts", "Runs of samples whose index was set on purpose", |it| it.bursts),
        count("underruns", "Times that samples were not there at their time", |it| it.underruns),
        count("underrun_samples", "Samples that were not there at their time", |it| {
            it.underrun_samples
        }),
        count("late_samples", "Samples that came after their time", |it| it.late_samples),
        count("late_packets", "Packets of which samples were late", |it| it.late_packets),
    ],
};

/// The account of a recording, over all openings of its stream.
pub(crate) const RECORDING: Table<Account> = Table {
    prefix: "samplewire_recording_",
    metrics: &[
        count("samples", "Samples recorded", Account::delivered),
        count("missing_samples", "Samples missing in the recording", Account::missing),
        count("gaps", "Gaps of the recording", Account::gaps),
    ],
};

/// Samples of gaps by cause: several numbers, so not in a table.
pub(crate) const GAP_SAMPLES: &str = "gap_samples_total";
