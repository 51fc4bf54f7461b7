//! What a recording lacks, as its metadata name it.

use std::fmt;

use samplewire_proto::{Cause, Gap, SampleIndex};

/// Sample indexes that are not in a recording.
///
/// Those of a stream ([`Gap`]) become one by [`From`]; what lies between two streams of one
/// recording is a gap as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedGap {
    /// The first index that is missing.
    pub first: SampleIndex,
    /// How many samples were not received.
    pub not_repaired: u64,
    /// How many samples were lost at the source; when both counts are above 0, nobody knows which.
    pub source_lost: u64,
    /// Why.
    pub cause: RecordedCause,
    /// The number of the stream that lacks them, in a recording of several.
    pub stream: Option<u16>,
}

impl RecordedGap {
    /// How many indexes the gap covers.
    pub const fn count(&self) -> u64 {
        self.not_repaired.saturating_add(self.source_lost)
    }

    /// The first index after the gap.
    pub const fn end(&self) -> SampleIndex {
        self.first.saturating_add(self.count())
    }

    /// How many samples each of two causes has: the gap's own, and the source's overflow.
    pub const fn by_cause(&self) -> [(RecordedCause, u64); 2] {
        let of_source = match self.cause {
            RecordedCause::DiskBehind => RecordedCause::DiskBehind,
            _ => RecordedCause::Stream(Cause::SourceOverflow),
        };
        [(self.cause, self.not_repaired), (of_source, self.source_lost)]
    }

    /// Whether losses on the way and at the source cannot be told apart.
    pub const fn is_mixed(&self) -> bool {
        self.not_repaired > 0 && self.source_lost > 0
    }

    /// Whether the count is a time multiplied by the sample rate; 0 where the rate is not known.
    /// Else it is exact.
    pub const fn is_estimated(&self) -> bool {
        matches!(self.cause, RecordedCause::DeviceRestarted)
    }
}

impl From<&Gap> for RecordedGap {
    fn from(gap: &Gap) -> Self {
        let Gap { first, not_repaired, source_lost, cause } = *gap;
        let cause = RecordedCause::Stream(cause);
        Self { first, not_repaired, source_lost, cause, stream: None }
    }
}

/// Why indexes are not in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedCause {
    /// The stream lost them.
    Stream(Cause),
    /// The source lost them because whoever writes the recording held all memory of the stream.
    DiskBehind,
    /// The stream broke, and was opened anew within one boot of the device.
    Reconnected,
    /// The recorder was started anew within one boot of the device.
    RecorderRestarted,
    /// The device was started anew: indexes before and after have nothing to do with each other.
    DeviceRestarted,
}

impl RecordedCause {
    /// Every cause; counters stand in this order.
    pub const ALL: [Self; 9] = [
        Self::Stream(Cause::SourceOverflow),
        Self::Stream(Cause::Deadline),
        Self::Stream(Cause::GoneAtSender),
        Self::Stream(Cause::NeverAsked),
        Self::Stream(Cause::ReceiverBehind),
        Self::DiskBehind,
        Self::Reconnected,
        Self::RecorderRestarted,
        Self::DeviceRestarted,
    ];

    /// The place in [`RecordedCause::ALL`].
    pub const fn position(self) -> usize {
        match self {
            Self::Stream(cause) => cause as usize,
            Self::DiskBehind => 5,
            Self::Reconnected => 6,
            Self::RecorderRestarted => 7,
            Self::DeviceRestarted => 8,
        }
    }

    /// The words that users read, and that metadata keep.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stream(cause) => cause.as_str(),
            Self::DiskBehind => "disk behind",
            Self::Reconnected => "reconnected",
            Self::RecorderRestarted => "recorder restarted",
            Self::DeviceRestarted => "device restarted",
        }
    }

    /// The cause of these words.
    pub(crate) fn of_words(words: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.as_str() == words)
    }
}

impl fmt::Display for RecordedCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cause_has_a_place_and_words_of_its_own() {
        for (place, cause) in RecordedCause::ALL.into_iter().enumerate() {
            assert_eq!(cause.position(), place);
            assert_eq!(RecordedCause::of_words(cause.as_str()), Some(cause));
        }
        assert_eq!(RecordedCause::of_words("weather"), None);
    }
}
