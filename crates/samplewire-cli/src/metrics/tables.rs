//! What a metric is. Those of the streams are in `counters.rs`, those of recordings here.

use samplewire_record::account::Account;

/// Counters of one kind, under one prefix.
pub(crate) struct Table<T: 'static> {
    /// What their names begin with.
    pub(crate) prefix: &'static str,
    pub(crate) metrics: &'static [Metric<T>],
}

/// One of them.
pub(crate) struct Metric<T> {
    /// The whole name.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) help: &'static str,
    pub(crate) value: fn(&T) -> u64,
}

/// What a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It counts, from 0.
    Count,
    /// It rises and falls.
    Level,
    /// It rises and falls, and is a time in nanoseconds, told in seconds.
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

/// What a recording holds, over all openings of its stream.
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

/// Samples of gaps by cause: not one number, so in no table.
pub(crate) const GAP_SAMPLES: &str = "gap_samples_total";
