//! Why a recording stopped.

use std::io;
use std::time::Duration;

use samplewire::{DeviceInfo, ReceiveError};
use samplewire_proto::stream::End;
use samplewire_proto::wire::CloseReason;
use samplewire_record::recorder::{self, Changed};
use samplewire_record::sink::SinkError;

use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::stream::stream_words;

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
    /// The reader of standard output has closed it.
    ReaderGone,
    /// No samples came for the time of `--timeout`.
    Silence(Duration),
    /// The stream ended early.
    Broken(End),
    /// One of several streams ended, which ends all.
    Stream {
        /// The number of the stream.
        stream: u16,
        /// The reason.
        stop: Box<Stop>,
    },
    /// One of several streams continued at another index than the others.
    Apart(String),
    /// Another receiver of the same owner repeatedly takes the stream over.
    Contested,
    /// The device came back with samples that do not match the recording.
    Changed(String),
    /// The port failed.
    Port(String),
    /// The file reported an error.
    Sink(SinkError),
}

impl Stop {
    /// Converts the recorder's reason; a requested stop becomes a signal.
    pub(super) fn of(stop: recorder::Stop, interrupt: &Interrupt) -> Self {
        match stop {
            recorder::Stop::Samples => Self::Samples,
            recorder::Stop::Duration => Self::Duration,
            recorder::Stop::Requested => Self::Signal(interrupt.signal().unwrap_or_default()),
            recorder::Stop::Silence(span) => Self::Silence(span),
            recorder::Stop::Ended(error) => Self::of_stream(error),
            recorder::Stop::Contested => Self::Contested,
            recorder::Stop::Changed(changed) => Self::Changed(changed_words(&changed)),
            recorder::Stop::NotReopened(words) => Self::Port(words),
            recorder::Stop::Sink(error) => Self::of_sink(error),
            other => Self::Port(format!("{other:?}")),
        }
    }

    /// Returns how the stream ended, or which of several streams ended and how.
    fn of_stream(error: ReceiveError) -> Self {
        match error {
            ReceiveError::Stream { stream, error } => {
                Self::Stream { stream, stop: Box::new(Self::of_stream(*error)) }
            }
            ReceiveError::Closed(End::Finished { .. }) => Self::Finished,
            ReceiveError::Closed(end) | ReceiveError::Broken(end) => Self::Broken(end),
            error @ ReceiveError::Apart { .. } => Self::Apart(error.to_string()),
            error => Self::Port(error.to_string()),
        }
    }

    /// Returns the reason, for whichever stream.
    pub(super) fn root(&self) -> &Self {
        match self {
            Self::Stream { stop, .. } => stop,
            other => other,
        }
    }

    /// Converts the file's error. A closed reader of standard output is not an error.
    pub(super) fn of_sink(error: SinkError) -> Self {
        match &error {
            SinkError::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => {
                Self::ReaderGone
            }
            _ => Self::Sink(error),
        }
    }

    /// Returns the outcome by the reason alone, without the counts.
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

    /// Returns the reason as text.
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

    /// Returns the next step for the user, if the text does not state it.
    pub(super) fn tip(&self) -> Option<&'static str> {
        match self.root() {
            Self::Sink(SinkError::Full { .. }) => {
                Some("what it holds is valid; make room, or record to another disk")
            }
            Self::Contested => Some("give each receiver an --owner of its own"),
            Self::Silence(_) => Some("`samplewire probe` shows whether the device still answers"),
            Self::Broken(End::PeerSilent) => Some(
                "look at the device's power and the cable; `samplewire probe` shows when it is back",
            ),
            _ => None,
        }
    }

    /// Returns whether it is an error.
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
}

fn broken_words(end: End) -> String {
    match end {
        End::ClosedByPeer(CloseReason::TakenOver) => "another receiver took the stream over".into(),
        End::ClosedByPeer(CloseReason::DeviceFault) => "the device's source failed".into(),
        end => end.words("the device").to_string(),
    }
}

fn changed_words(Changed { before, now }: &Changed) -> String {
    let words = |info: &DeviceInfo| {
        format!("stream {}, {}", info.stream, stream_words(&info.stream_info()))
    };
    format!(
        "the device came back with another stream: {}; the recording is of {}",
        words(now),
        words(before)
    )
}

const SIGPIPE: u8 = 13;
