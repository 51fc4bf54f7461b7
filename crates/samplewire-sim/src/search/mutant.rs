//! Rules that are broken on purpose, so that it shows whether the search would see it.
//!
//! The machines stay what they are: a mutant changes what they are given, or when they are asked.

use super::ledger::Property;

/// A rule that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Every opening draws the same tags and nonces (`docs/protocol.md#1.6`).
    ReusedTags,
    /// An OPEN opens a stream without a cookie (`docs/protocol.md#3.2`).
    UncheckedCookie,
    /// A late copy of an earlier attempt takes the stream over (`docs/protocol.md#3.9`).
    LateOpen,
    /// DATA of another session is taken (`docs/protocol.md#1.6`).
    ForeignData,
    /// REPORT of another session is taken.
    ForeignReport,
    /// CLOSE_ACK of another session is taken, or "unknown tag" of another tag
    /// (`docs/protocol.md#7.6`).
    ForeignCloseAck,
    /// Credit is there before the first REPORT (`docs/protocol.md#3.14`).
    EarlyCredit,
    /// A sender does not repeat its CLOSE, and does not count its peer as dead then
    /// (`docs/protocol.md#7.1`, `#7.7`).
    DeafCloser,
    /// The listener does not learn that a stream has ended.
    KeptStream,
    /// A receiver answers a CLOSE before it has everything (`docs/protocol.md#7.2`).
    EarlyCloseAck,
}

impl Mutant {
    /// Every mutant.
    pub const ALL: [Self; 10] = [
        Self::ReusedTags,
        Self::UncheckedCookie,
        Self::LateOpen,
        Self::ForeignData,
        Self::ForeignReport,
        Self::ForeignCloseAck,
        Self::EarlyCredit,
        Self::DeafCloser,
        Self::KeptStream,
        Self::EarlyCloseAck,
    ];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReusedTags => "reused-tags",
            Self::UncheckedCookie => "unchecked-cookie",
            Self::LateOpen => "late-open",
            Self::ForeignData => "foreign-data",
            Self::ForeignReport => "foreign-report",
            Self::ForeignCloseAck => "foreign-close-ack",
            Self::EarlyCredit => "early-credit",
            Self::DeafCloser => "deaf-closer",
            Self::KeptStream => "kept-stream",
            Self::EarlyCloseAck => "early-close-ack",
        }
    }

    /// The property that it breaks.
    pub const fn breaks(self) -> Property {
        match self {
            Self::ReusedTags
            | Self::LateOpen
            | Self::ForeignData
            | Self::ForeignReport
            | Self::ForeignCloseAck => Property::NoConfusion,
            Self::UncheckedCookie => Property::ProvenAddress,
            Self::EarlyCredit => Property::NoEarlyData,
            Self::EarlyCloseAck => Property::TrueEnd,
            Self::DeafCloser => Property::Ends,
            Self::KeptStream => Property::Reopens,
        }
    }
}
