//! How a command ended, as its exit status tells.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All that was asked for is there.
    Whole,
    /// An option, an address or a file cannot be used.
    Usage,
    /// Nothing answers, the device refuses, or the stream broke off.
    Unreachable,
    /// Samples are missing, each named in a gap.
    Missing,
    /// It ended before all was there that was asked for, and no gap says what lies behind its end.
    Incomplete,
    /// A threshold that the user set was crossed.
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
