//! The definitions of metrics. Those of streams are in `counters.rs`, those of recordings here.

use samplewire_record::account::Account;

use samplewire_sim::PortCounts;

/// Counters of one kind, with a common prefix.
pub(crate) struct Table<T: 'static> {
    /// The prefix of their names.
    pub(crate) prefix: &'static str,
    pub(crate) metrics: &'static [Metric<T>],
}

/// A metric of a table.
pub(crate) struct Metric<T> {
    /// The whole name.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) help: &'static str,
    pub(crate) value: fn(&T) -> u64,
}

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A count from 0.
    Count,
    /// A count of nanoseconds from 0, exported in seconds.
    Duration,
    /// A level that rises and falls.
    Level,
    /// A time in nanoseconds that rises and falls, exported in seconds.
    Nanos,
}

impl Kind {
    /// Returns the type's name in `# TYPE`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Count | Self::Duration => "counter",
            Self::Level | Self::Nanos => "gauge",
        }
    }
}

/// The counters of a recording, over all openings of its stream.
pub(crate) const RECORDING: Table<Account> = Table {
    prefix: "samplewire_recording_",
    metrics: &[
        Metric {
            name: "samplewire_recording_samples_total",
            kind: Kind::Count,
            help: "Samples recorded",
            value: Account::delivered,
        },
        Metric {
            name: "samplewire_recording_missing_samples_total",
            kind: Kind::Count,
            help: "Samples missing in the recording",
            value: Account::missing,
        },
        Metric {
            name: "samplewire_recording_gaps_total",
            kind: Kind::Count,
            help: "Gaps of the recording",
            value: Account::gaps,
        },
    ],
};

/// The counts of a port of a switch, and of its link.
#[derive(Clone, Debug, Default)]
pub(crate) struct PortFigures {
    /// The link.
    pub(crate) name: String,
    pub(crate) counts: PortCounts,
    /// Bytes that wait to leave.
    pub(crate) queue_bytes: u64,
    /// The queue up to which no frame is marked, and above which every frame is; 0 if none ever is.
    pub(crate) kmin_bytes: u64,
    pub(crate) kmax_bytes: u64,
    /// Frames that the link dropped before they were read; `None` if it does not count them.
    pub(crate) link_dropped: Option<u64>,
    /// Frames that the link did not take.
    pub(crate) link_refused: u64,
}

/// The counters of a port of `switch`.
pub(crate) const SWITCH_PORT: Table<PortFigures> = Table {
    prefix: "samplewire_switch_port_",
    metrics: &[
        Metric {
            name: "samplewire_switch_port_frames_in_total",
            kind: Kind::Count,
            help: "Frames that came in",
            value: |it| it.counts.frames_in,
        },
        Metric {
            name: "samplewire_switch_port_wire_bytes_in_total",
            kind: Kind::Count,
            help: "What they took of the wire, preamble and gap included",
            value: |it| it.counts.bytes_in,
        },
        Metric {
            name: "samplewire_switch_port_frames_out_total",
            kind: Kind::Count,
            help: "Frames that left",
            value: |it| it.counts.frames_out,
        },
        Metric {
            name: "samplewire_switch_port_wire_bytes_out_total",
            kind: Kind::Count,
            help: "What they took of the wire",
            value: |it| it.counts.bytes_out,
        },
        Metric {
            name: "samplewire_switch_port_wire_bytes_forwarded_total",
            kind: Kind::Count,
            help: "Of what came in by this port: what left by another",
            value: |it| it.counts.bytes_forwarded,
        },
        Metric {
            name: "samplewire_switch_port_marked_total",
            kind: Kind::Count,
            help: "Frames that left with a mark of this switch",
            value: |it| it.counts.marked,
        },
        Metric {
            name: "samplewire_switch_port_dropped_total",
            kind: Kind::Count,
            help: "Frames for this port that found no room in the buffer",
            value: |it| it.counts.dropped,
        },
        Metric {
            name: "samplewire_switch_port_lost_total",
            kind: Kind::Count,
            help: "Frames lost at random as they came in",
            value: |it| it.counts.lost,
        },
        Metric {
            name: "samplewire_switch_port_filtered_total",
            kind: Kind::Count,
            help: "Frames not forwarded: link-local, for the same port, or not 14 to 9,216 bytes",
            value: |it| it.counts.filtered,
        },
        Metric {
            name: "samplewire_switch_port_cnp_forwarded_total",
            kind: Kind::Count,
            help: "Congestion notifications of RoCE that came in elsewhere and left by this port",
            value: |it| it.counts.cnp_forwarded,
        },
        Metric {
            name: "samplewire_switch_port_cnp_forged_total",
            kind: Kind::Count,
            help: "Congestion notifications of the switch itself that left by this port",
            value: |it| it.counts.cnp_forged,
        },
        Metric {
            name: "samplewire_switch_port_cnp_refused_total",
            kind: Kind::Count,
            help: "Congestion notifications not sent to a sender behind this port: its queue pair is \
                   not known, or the buffer was full",
            value: |it| it.counts.cnp_refused,
        },
        Metric {
            name: "samplewire_switch_port_queue_bytes",
            kind: Kind::Level,
            help: "Bytes that wait to leave",
            value: |it| it.queue_bytes,
        },
        Metric {
            name: "samplewire_switch_port_queue_bytes_max",
            kind: Kind::Level,
            help: "The longest queue",
            value: |it| it.counts.queue_bytes_max,
        },
        Metric {
            name: "samplewire_switch_port_kmin_bytes",
            kind: Kind::Level,
            help: "The queue up to which no frame is marked; 0 if none ever is",
            value: |it| it.kmin_bytes,
        },
        Metric {
            name: "samplewire_switch_port_kmax_bytes",
            kind: Kind::Level,
            help: "The queue above which every frame is marked; 0 if none ever is",
            value: |it| it.kmax_bytes,
        },
        Metric {
            name: "samplewire_switch_port_link_refused_total",
            kind: Kind::Count,
            help: "Frames that the link did not take",
            value: |it| it.link_refused,
        },
    ],
};

/// Frames that the link dropped before the switch read them: not every link counts them, so not in a
/// table.
pub(crate) const LINK_DROPPED: &str = "samplewire_switch_port_link_dropped_total";

/// Samples of gaps by cause: several numbers, so not in a table.
pub(crate) const GAP_SAMPLES: &str = "gap_samples_total";
