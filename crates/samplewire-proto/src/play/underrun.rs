//! Samples that were not there at their time.

use core::fmt;

use crate::gap::Cause;
use crate::number::SampleIndex;

/// Samples that were not there at their time: played as zeros, or the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Underrun {
    /// The first of them.
    pub first: SampleIndex,
    /// How many.
    pub samples: u64,
    /// Why, when it began.
    pub cause: UnderrunCause,
}

impl Underrun {
    /// The index after the last.
    pub const fn end(&self) -> SampleIndex {
        self.first + self.samples
    }
}

/// Why samples were not there at their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnderrunCause {
    /// Nothing is known to be missing: the sender had not sent them, or the path holds them.
    SenderBehind,
    /// A packet was lost and not repaired in time.
    RepairLate,
    /// The first samples of a burst came after their time.
    BurstLate,
    /// They were given up, for this cause.
    Gap(Cause),
}

impl fmt::Display for UnderrunCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SenderBehind => "sender behind",
            Self::RepairLate => "repair late",
            Self::BurstLate => "burst late",
            Self::Gap(cause) => cause.as_str(),
        })
    }
}
