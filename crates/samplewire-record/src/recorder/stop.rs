//! Why a recording stopped.

use std::time::Duration;

use samplewire::{DeviceInfo, End, ReceiveError};
use samplewire_proto::wire::CloseReason;

use crate::sink::SinkError;

/// Why a recording stopped.
#[derive(Debug)]
#[non_exhaustive]
pub enum Stop {
    /// The requested number of indexes is accounted for.
    Samples,
    /// The requested time is over.
    Duration,
    /// [`Observer::should_stop`](super::Observer::should_stop) returned true.
    Requested,
    /// No samples came for this long.
    Silence(Duration),
    /// The stream ended. With [`ReceiveError::Closed`] and [`End::Finished`], the device has sent
    /// everything. [`ReceiveError::Stream`] occurs only if several streams are recorded.
    Ended(ReceiveError),
    /// Another receiver of the same owner repeatedly takes the stream over.
    Contested,
    /// The device came back with a stream that does not match the recording.
    Changed(Box<Changed>),
    /// The stream cannot be opened again, for this reason.
    NotReopened(String),
    /// The sink reported an error.
    Sink(SinkError),
}

/// A device that came back with other streams.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// The streams of the recording.
    pub before: DeviceInfo,
    /// The streams that the device now offers.
    pub now: DeviceInfo,
}

impl Stop {
    /// Returns how the stream ended, seen from one of `streams` streams.
    pub(super) fn of_streams(error: ReceiveError, streams: usize) -> Self {
        match error {
            ReceiveError::Stream { error, .. } if streams == 1 => Self::Ended(*error),
            error => Self::Ended(error),
        }
    }

    /// Whether the stream is lost in a way that opening it again may repair.
    pub(super) fn is_lost(&self) -> bool {
        match (self, self.end()) {
            (Self::Silence(_), _) => true,
            (Self::Ended(_), Some(end)) => matches!(
                end,
                End::PeerRestarted
                    | End::PeerSilent
                    | End::CircuitBreaker
                    | End::QueuePairFailed
                    | End::ClosedByPeer(
                        CloseReason::TakenOver
                            | CloseReason::DeviceFault
                            | CloseReason::PeerSilent
                            | CloseReason::QueuePairFailed,
                    )
            ),
            // The port failed.
            (Self::Ended(error), None) => !matches!(error, ReceiveError::Apart { .. }),
            _ => false,
        }
    }

    /// Whether the device no longer knows the stream: another receiver may have taken it over.
    pub(super) fn is_taken(&self) -> bool {
        matches!(self.end(), Some(End::PeerRestarted))
    }

    /// Returns how the stream ended, for whichever of several streams.
    fn end(&self) -> Option<End> {
        let Self::Ended(error) = self else { return None };
        let error = match error {
            ReceiveError::Stream { error, .. } => error,
            error => error,
        };
        match error {
            ReceiveError::Closed(end) | ReceiveError::Broken(end) => Some(*end),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_stream_that_may_come_back_is_lost() {
        let ended = |end| Stop::Ended(ReceiveError::Broken(end));
        let closed = |reason| Stop::Ended(ReceiveError::Closed(End::ClosedByPeer(reason)));
        let stops = [
            (Stop::Silence(Duration::ZERO), true),
            (ended(End::PeerSilent), true),
            (ended(End::PeerRestarted), true),
            (ended(End::QueuePairFailed), true),
            (closed(CloseReason::QueuePairFailed), true),
            (closed(CloseReason::TakenOver), true),
            (Stop::Ended(ReceiveError::ThreadGone), true),
            (Stop::Ended(ReceiveError::Closed(End::Finished { final_index: 9 })), false),
            (closed(CloseReason::Cancelled), false),
            (Stop::Ended(ReceiveError::Apart { stream: 1, next: 2, at: 3 }), false),
            (Stop::Samples, false),
            (Stop::Contested, false),
        ];
        for (stop, is_lost) in stops {
            assert_eq!(stop.is_lost(), is_lost, "{stop:?}");
        }
        let error = Box::new(ReceiveError::Broken(End::PeerRestarted));
        let stop = Stop::of_streams(ReceiveError::Stream { stream: 3, error }, 2);
        assert!(stop.is_lost() && stop.is_taken());
    }

    #[test]
    fn stream_is_named_only_where_there_are_several() {
        for streams in [1, 2] {
            let error = Box::new(ReceiveError::ThreadGone);
            let stop = Stop::of_streams(ReceiveError::Stream { stream: 0, error }, streams);
            let is_named = matches!(stop, Stop::Ended(ReceiveError::Stream { .. }));
            assert_eq!(is_named, streams > 1);
        }
    }
}
