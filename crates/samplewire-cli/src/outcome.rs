//! The result of a command, and its exit status.

use std::process::ExitCode;

/// The result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything that was requested was done.
    Whole,
    /// An option, an address or a file cannot be used.
    Usage,
    /// Nothing answers, the device refuses, or the stream broke off.
    Unreachable,
    /// Samples are missing, each listed in a gap.
    Missing,
    /// It ended before everything was done, and no gap covers the indexes after its end.
    Incomplete,
    /// A count exceeded a threshold.
    Threshold,
    /// A signal ended the command.
    Interrupted {
        /// The signal's number.
        signal: u8,
    },
}

impl Outcome {
    /// The exit status.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Whole => 0,
            Self::Usage => 1,
            Self::Unreachable => 2,
            Self::Missing | Self::Incomplete => 3,
            Self::Threshold => 4,
            Self::Interrupted { signal } => 128 + signal,
        }
    }

    /// The word for it in summaries and JSON.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Usage => "usage",
            Self::Unreachable => "unreachable",
            Self::Missing => "missing",
            Self::Incomplete => "incomplete",
            Self::Threshold => "threshold",
            Self::Interrupted { .. } => "interrupted",
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(outcome.code())
    }
}
