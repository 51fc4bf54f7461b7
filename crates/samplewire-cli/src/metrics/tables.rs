//! The definitions of metrics. Those of streams are in `counters.rs`, those of recordings here.

use samplewire_record::account::Account;

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

/// Samples of gaps by cause: several numbers, so not in a table.
pub(crate) const GAP_SAMPLES: &str = "gap_samples_total";
