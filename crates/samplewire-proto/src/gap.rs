//! Gaps: ranges of sample indexes that were not delivered, each with its cause.

use core::fmt;

use crate::number::SampleIndex;

/// Why samples were not delivered (`docs/protocol.md#6.3`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// The source lost them before they became packets (its ring was full).
    SourceOverflow,
    /// They were not repaired within the deadline that the receiver chose.
    Deadline,
    /// The sender no longer holds them: evicted, closed or silent.
    GoneAtSender,
    /// Best effort: they were not requested.
    NeverAsked,
    /// This host did not take them from its socket in time.
    ReceiverBehind,
}

impl Cause {
    /// Every cause, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::SourceOverflow,
        Self::Deadline,
        Self::GoneAtSender,
        Self::NeverAsked,
        Self::ReceiverBehind,
    ];

    /// The words that users read.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SourceOverflow => "source overflow",
            Self::Deadline => "deadline",
            Self::GoneAtSender => "gone at sender",
            Self::NeverAsked => "never asked",
            Self::ReceiverBehind => "receiver behind",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A range of sample indexes that was not delivered.
///
/// When both counts are non-zero the two kinds of loss are mixed: packets in which the source
/// reported its loss were lost themselves, so which index fell to which loss cannot be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The first index that is missing.
    pub first: SampleIndex,
    /// How many samples were sent and not repaired.
    pub not_repaired: u64,
    /// How many samples were lost at the source.
    pub source_lost: u64,
    /// Why.
    pub cause: Cause,
}

impl Gap {
    /// How many indexes the gap covers.
    pub const fn count(&self) -> u64 {
        self.not_repaired + self.source_lost
    }

    /// The first index after the gap.
    pub const fn end(&self) -> SampleIndex {
        self.first + self.count()
    }

    /// Whether it holds losses on the way and losses at the source, in an unknown order.
    pub const fn is_mixed(&self) -> bool {
        self.not_repaired > 0 && self.source_lost > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gap_of_both_losses_is_mixed_and_covers_their_sum() {
        for (not_repaired, source_lost, is_mixed) in [(1, 1, true), (2, 0, false), (0, 2, false)] {
            let gap = Gap { first: 10, not_repaired, source_lost, cause: Cause::Deadline };
            assert_eq!((gap.count(), gap.end(), gap.is_mixed()), (2, 12, is_mixed));
        }
    }

    #[test]
    fn each_cause_has_words_of_its_own() {
        let words = Cause::ALL.map(|cause| cause.to_string());
        let expected =
            ["source overflow", "deadline", "gone at sender", "never asked", "receiver behind"];
        assert_eq!(words, expected);
    }
}
