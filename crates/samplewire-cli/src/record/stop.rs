//! Why a recording stopped.

use std::io;
use std::time::Duration;

use samplewire::ReceiveError;
use samplewire_proto::stream::End;
use samplewire_proto::wire::CloseReason;
use samplewire_record::sink::SinkError;

use crate::outcome::Outcome;

/// Why a recording stopped.
#[derive(Debug)]
pub(super) enum Stop {
    /// The device ended the stream and everything is accounted for.
    Finished,
    /// `--nsamps` is reached.
    Samples,
    /// `--duration` is over.
    Duration,
    /// A signal came.
    Signal(u8),
    /// Whoever reads standard output has closed it.
    ReaderGone,
    /// No samples came for the time of `--timeout`.
    Silence(Duration),
    /// The stream broke off.
    Broken(End),
    /// One of several streams has ended, and with it all.
    Stream {
        /// Its number.
        stream: u16,
        /// How.
        stop: Box<Stop>,
    },
    /// One of several streams went on at another index than the others.
    Apart(String),
    /// Another receiver of the same owner takes the stream again and again.
    Contested,
    /// The device came back with samples that do not fit the recording.
    Changed(String),
    /// The port failed.
    Port(String),
    /// The file takes no more.
    Sink(SinkError),
}

impl Stop {
    /// How the stream ended, seen from the receiver, or which of several.
    pub(super) fn of_streams(error: ReceiveError, has_several: bool) -> Self {
        let (stream, error) = match error {
            ReceiveError::Stream { stream, error } => (stream, *error),
            apart => return Self::Apart(apart.to_string()),
        };
        let stop = match error {
            ReceiveError::Closed(End::Finished { .. }) => Self::Finished,
            ReceiveError::Closed(end) | ReceiveError::Broken(end) => Self::Broken(end),
            error => Self::Port(error.to_string()),
        };
        if has_several { Self::Stream { stream, stop: Box::new(stop) } } else { stop }
    }

    /// The reason, whichever stream it is of.
    pub(super) fn root(&self) -> &Self {
        match self {
            Self::Stream { stop, .. } => stop,
            other => other,
        }
    }

    /// What the file said. A reader of standard output who has enough is no error.
    pub(super) fn of_sink(error: SinkError) -> Self {
        match &error {
            SinkError::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => {
                Self::ReaderGone
            }
            _ => Self::Sink(error),
        }
    }

    /// The outcome by the reason alone, before anything is counted.
    pub(super) fn outcome(&self) -> Outcome {
        match self.root() {
            Self::Finished | Self::Samples | Self::Duration => Outcome::Whole,
            Self::Signal(signal) => Outcome::Interrupted { signal: *signal },
            Self::ReaderGone => Outcome::Interrupted { signal: SIGPIPE },
            Self::Silence(_)
            | Self::Broken(_)
            | Self::Stream { .. }
            | Self::Apart(_)
            | Self::Contested
            | Self::Changed(_)
            | Self::Port(_) => Outcome::Unreachable,
            Self::Sink(_) => Outcome::Incomplete,
        }
    }

    /// The reason in words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Finished => "the stream ended".into(),
            Self::Samples => "--nsamps is reached".into(),
            Self::Duration => "--duration is over".into(),
            Self::Signal(signal) => format!("signal {signal} came"),
            Self::ReaderGone => "the reader of standard output closed it".into(),
            Self::Silence(span) => format!("no samples came for {span:?} (--timeout)"),
            Self::Broken(end) => broken_words(*end),
            Self::Stream { stream, stop } => format!("stream {stream}: {}", stop.words()),
            Self::Contested => {
                "another receiver of the same owner takes the stream again and again".into()
            }
            Self::Apart(words) | Self::Changed(words) => words.clone(),
            Self::Port(error) => error.clone(),
            Self::Sink(error) => error.to_string(),
        }
    }

    /// What to do next, where the words do not say so themselves.
    pub(super) fn tip(&self) -> Option<&'static str> {
        match self.root() {
            Self::Sink(SinkError::Full { .. }) => {
                Some("what it holds is valid; make room, or record to another disk")
            }
            Self::Contested => Some("give each receiver an --owner of its own"),
            Self::Silence(_) => Some("`samplewire probe` tells whether the device still answers"),
            Self::Broken(End::PeerSilent) => Some(
                "look at the device's power and the cable; `samplewire probe` tells when it is back",
            ),
            _ => None,
        }
    }

    /// Whether it is an error.
    pub(super) fn is_error(&self) -> bool {
        match self.root() {
            Self::Finished
            | Self::Samples
            | Self::Duration
            | Self::Signal(_)
            | Self::ReaderGone => false,
            Self::Silence(_)
            | Self::Broken(_)
            | Self::Stream { .. }
            | Self::Apart(_)
            | Self::Contested
            | Self::Changed(_)
            | Self::Port(_)
            | Self::Sink(_) => true,
        }
    }

    /// Whether the stream is gone in a way that a new opening may mend (`--reconnect`).
    pub(super) fn is_lost(&self) -> bool {
        match self.root() {
            Self::Silence(_) | Self::Port(_) => true,
            Self::Broken(end) => matches!(
                end,
                End::PeerRestarted
                    | End::PeerSilent
                    | End::CircuitBreaker
                    | End::ClosedByPeer(
                        CloseReason::TakenOver | CloseReason::DeviceFault | CloseReason::PeerSilent
                    )
            ),
            _ => false,
        }
    }
}

fn broken_words(end: End) -> String {
    match end {
        End::Finished { .. } => "the stream ended".into(),
        End::Cancelled => "the stream was closed here".into(),
        End::ClosedByPeer(CloseReason::TakenOver) => "another receiver took the stream over".into(),
        End::ClosedByPeer(CloseReason::DeviceFault) => "the device's source failed".into(),
        End::ClosedByPeer(reason) => format!("the device closed the stream ({reason:?})"),
        End::PeerRestarted => {
            "the device no longer knows the stream: it restarted, or another took the stream over"
                .into()
        }
        End::PeerSilent => "the device fell silent".into(),
        End::CircuitBreaker => "more than half of all packets were retransmissions".into(),
        End::Violation(violation) => format!("the device broke the protocol: {violation}"),
    }
}

const SIGPIPE: u8 = 13;
