//! The gaps of a recording, as its metadata list them.

use std::fmt;

use samplewire_proto::{Cause, Gap, SampleIndex};

/// Sample indexes that are not in a recording.
///
/// A stream's [`Gap`] converts to this type by [`From`]. The indexes between two streams of one
/// recording are a gap too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedGap {
    /// The first index that is missing.
    pub first: SampleIndex,
    /// How many samples were not received.
    pub not_repaired: u64,
    /// How many samples the source lost. If both counts are above 0, it is not known which sample
    /// is in which count.
    pub source_lost: u64,
    /// Why they are missing.
    pub cause: RecordedCause,
    /// The number of the stream whose samples are missing, in a recording of several streams.
    pub stream: Option<u16>,
    /// Of those that were not received: what this host dropped, as far as it was counted when the gap
    /// was found.
    pub host: HostDrops,
}

/// Samples that this host dropped before its socket. The sum is at most what was not received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostDrops {
    /// By the network card or its driver.
    pub nic: u64,
    /// By the kernel, between the driver and the socket.
    pub kernel: u64,
}

impl HostDrops {
    /// Nothing was dropped, or nothing was counted.
    pub const NONE: Self = Self { nic: 0, kernel: 0 };

    /// Returns what explains at most `samples` of a loss, the card first.
    #[must_use]
    pub fn within(self, samples: u64) -> Self {
        let nic = self.nic.min(samples);
        Self { nic, kernel: self.kernel.min(samples - nic) }
    }

    /// Returns what was counted beyond `earlier`.
    #[must_use]
    pub const fn beyond(self, earlier: Self) -> Self {
        Self {
            nic: self.nic.saturating_sub(earlier.nic),
            kernel: self.kernel.saturating_sub(earlier.kernel),
        }
    }

    /// Returns the sum of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            nic: self.nic.saturating_add(other.nic),
            kernel: self.kernel.saturating_add(other.kernel),
        }
    }

    /// Samples in all.
    pub const fn total(self) -> u64 {
        self.nic.saturating_add(self.kernel)
    }
}

impl RecordedGap {
    /// Creates a gap of the only stream of a recording, of which this host has dropped nothing.
    pub const fn new(
        first: SampleIndex,
        not_repaired: u64,
        source_lost: u64,
        cause: RecordedCause,
    ) -> Self {
        Self { first, not_repaired, source_lost, cause, stream: None, host: HostDrops::NONE }
    }

    /// Returns `count` of the indexes, from `first`. It is not known which of them the source lost:
    /// as many as possible count as not received.
    pub(crate) fn cut(&self, first: SampleIndex, count: u64) -> Self {
        let not_repaired = self.not_repaired.min(count);
        Self { first, not_repaired, source_lost: count - not_repaired, ..*self }
    }

    /// How many indexes the gap covers.
    pub const fn count(&self) -> u64 {
        self.not_repaired.saturating_add(self.source_lost)
    }

    /// The first index after the gap.
    pub const fn end(&self) -> SampleIndex {
        self.first.saturating_add(self.count())
    }

    /// Returns the samples of each of two causes: the gap's own, and the source's overflow.
    pub const fn by_cause(&self) -> [(RecordedCause, u64); 2] {
        let of_source = match self.cause {
            RecordedCause::DiskBehind => RecordedCause::DiskBehind,
            _ => RecordedCause::Stream(Cause::SourceOverflow),
        };
        [(self.cause, self.not_repaired), (of_source, self.source_lost)]
    }

    /// Whether the gap has losses of the path and of the source that cannot be separated.
    pub const fn is_mixed(&self) -> bool {
        self.not_repaired > 0 && self.source_lost > 0
    }

    /// Whether the count is an estimate: time multiplied by the sample rate, or 0 if the rate is
    /// not known. Otherwise the count is exact.
    pub const fn is_estimated(&self) -> bool {
        matches!(self.cause, RecordedCause::DeviceRestarted)
    }
}

impl From<&Gap> for RecordedGap {
    fn from(gap: &Gap) -> Self {
        let Gap { first, not_repaired, source_lost, cause } = *gap;
        Self::new(first, not_repaired, source_lost, RecordedCause::Stream(cause))
    }
}

/// Why indexes are missing from a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedCause {
    /// The stream lost them.
    Stream(Cause),
    /// The source lost them because the program that writes the recording held all the stream's
    /// memory. In a recording that a page started: the file had no room for them.
    DiskBehind,
    /// The stream broke and was opened again within one boot of the device.
    Reconnected,
    /// The recorder was started again within one boot of the device.
    RecorderRestarted,
    /// The device restarted. Indexes before and after are not comparable.
    DeviceRestarted,
    /// Of a stream that a device plays: not there at their time, though none is known to be lost.
    Underrun,
}

impl RecordedCause {
    /// All causes, in the order of the counters.
    pub const ALL: [Self; 10] = [
        Self::Stream(Cause::SourceOverflow),
        Self::Stream(Cause::Deadline),
        Self::Stream(Cause::GoneAtSender),
        Self::Stream(Cause::NeverAsked),
        Self::Stream(Cause::ReceiverBehind),
        Self::DiskBehind,
        Self::Reconnected,
        Self::RecorderRestarted,
        Self::DeviceRestarted,
        Self::Underrun,
    ];

    /// Returns the position in [`RecordedCause::ALL`].
    pub const fn position(self) -> usize {
        match self {
            Self::Stream(cause) => cause as usize,
            Self::DiskBehind => 5,
            Self::Reconnected => 6,
            Self::RecorderRestarted => 7,
            Self::DeviceRestarted => 8,
            Self::Underrun => 9,
        }
    }

    /// Returns the text for people and for metadata.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stream(cause) => cause.as_str(),
            Self::DiskBehind => "disk behind",
            Self::Reconnected => "reconnected",
            Self::RecorderRestarted => "recorder restarted",
            Self::DeviceRestarted => "device restarted",
            Self::Underrun => "underrun",
        }
    }

    /// Returns the name in JSON and in labels of metrics.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Stream(Cause::SourceOverflow) => "source_overflow",
            Self::Stream(Cause::Deadline) => "deadline",
            Self::Stream(Cause::GoneAtSender) => "gone_at_sender",
            Self::Stream(Cause::NeverAsked) => "never_asked",
            Self::Stream(Cause::ReceiverBehind) => "receiver_behind",
            Self::DiskBehind => "disk_behind",
            Self::Reconnected => "reconnected",
            Self::RecorderRestarted => "recorder_restarted",
            Self::DeviceRestarted => "device_restarted",
            Self::Underrun => "underrun",
        }
    }

    /// Returns the cause with this text.
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
