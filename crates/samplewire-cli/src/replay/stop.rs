//! Why a replay stopped.

use std::time::Duration;

use samplewire::{End, SampleIndex};
use samplewire_proto::wire::CloseReason;

use crate::outcome::Outcome;

/// Why a replay stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Everything was sent and played.
    Finished,
    /// A signal came.
    Signal(u8),
    /// The device accepted the opening, but never granted credit.
    NoCredit(Duration),
    /// The device has stopped playing at this index.
    Stalled(SampleIndex),
    /// The stream broke off.
    Broken(End),
    /// The port failed.
    Port(String),
}

impl Stop {
    /// Adds how the stream then ended.
    pub(super) fn of_end(self, end: End) -> Self {
        match (&self, end) {
            (Self::Finished, End::Finished { .. }) => self,
            (Self::Finished, end) => Self::Broken(end),
            _ => self,
        }
    }

    /// The outcome by the reason alone, without the counts.
    pub(super) const fn outcome(&self) -> Outcome {
        match self {
            Self::Finished => Outcome::Whole,
            Self::Signal(signal) => Outcome::Interrupted { signal: *signal },
            Self::Broken(End::ClosedByPeer(CloseReason::Underflow)) => Outcome::Missing,
            Self::NoCredit(_) | Self::Stalled(_) | Self::Broken(_) | Self::Port(_) => {
                Outcome::Unreachable
            }
        }
    }

    /// The reason in words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Finished => "all is played".into(),
            Self::Signal(signal) => format!("signal {signal} came"),
            Self::NoCredit(span) => format!("the device took nothing for {span:?} (--timeout)"),
            Self::Stalled(index) => format!("the device has stopped playing at index {index}"),
            Self::Broken(end) => broken_words(*end),
            Self::Port(error) => error.clone(),
        }
    }

    /// Advice on what to do next, unless the words contain it.
    pub(super) const fn tip(&self) -> Option<&'static str> {
        match self {
            Self::Broken(End::ClosedByPeer(CloseReason::Underflow)) => Some(
                "a longer lead (--at) and a larger --window bridge longer pauses; the device knows \
                 at which index",
            ),
            Self::Broken(End::ClosedByPeer(CloseReason::JumpTooFar)) => {
                Some("a shorter --pause, or a device with a larger --play-jump-max")
            }
            Self::Broken(End::PeerSilent) | Self::Stalled(_) | Self::NoCredit(_) => {
                Some("`samplewire probe` shows whether the device still answers")
            }
            _ => None,
        }
    }

    /// Whether it is an error.
    pub(super) const fn is_error(&self) -> bool {
        !matches!(self, Self::Finished | Self::Signal(_))
    }
}

fn broken_words(end: End) -> String {
    match end {
        End::ClosedByPeer(CloseReason::Underflow) => {
            "samples were missing at their time, and the device stopped (--underflow stop)".into()
        }
        End::ClosedByPeer(CloseReason::JumpTooFar) => {
            "the index jumped further ahead than the device plays".into()
        }
        end => end.words("the device").to_string(),
    }
}
