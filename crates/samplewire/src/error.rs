//! Why a stream could not be opened, or broke.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use samplewire_circuit::PoolError;
use samplewire_io::LinkError;
use samplewire_io::verbs::VerbsError;
use samplewire_proto::OutOfRange;
use samplewire_proto::stream::{End, TermsError};
use samplewire_proto::wire::RefuseReason;

use crate::real_time::RealTimeError;

/// The error of a part that the program brings, e.g. of its [source](crate::source::ReadSamples).
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Why a stream was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The link failed.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The text is no address.
    #[error("address {text}: {error}")]
    Address {
        /// The text.
        text: String,
        /// Why not.
        error: io::Error,
    },
    /// Nothing answered.
    #[error(
        "no answer from {address} within {} ms{}",
        .waited.as_millis(),
        unreachable_words(*.is_unreachable, *.is_challenged)
    )]
    NoAnswer {
        /// The device's address.
        address: SocketAddr,
        /// How long it was tried.
        waited: Duration,
        /// The network said that nothing listens there.
        is_unreachable: bool,
        /// It answered small packets and then no padded one.
        is_challenged: bool,
    },
    /// The device refused.
    #[error("{address} refused{}: {reason:?}{}", stream_words(*.stream), retry_words(*.retry_ms))]
    Refused {
        /// The device's address.
        address: SocketAddr,
        /// The number of the stream.
        stream: u16,
        /// Why.
        reason: RefuseReason,
        /// When another attempt makes sense, in milliseconds; 0 = never.
        retry_ms: u32,
    },
    /// The device sends a format that this version does not know.
    #[error("{address} sends sample format {number}, which this version does not know")]
    Format {
        /// The device's address.
        address: SocketAddr,
        /// The format's number.
        number: u16,
    },
    /// The device's terms are nothing that this host can use.
    #[error("{address} offers unusable terms: {what} is {value}")]
    Offer {
        /// The device's address.
        address: SocketAddr,
        /// Which of them.
        what: &'static str,
        /// Its value.
        value: u64,
    },
    /// The device's terms are out of their ranges, or contradict each other.
    #[error("{address} offers terms that cannot be: {error}")]
    PeerTerms {
        /// The device's address.
        address: SocketAddr,
        /// Which of them, and its value.
        error: TermsError,
    },
    /// Streams that were to be read in line are not of one clock, or of one kind.
    #[error(
        "streams {} and {} of {address} cannot be aligned: the {what} of the one is {}, of the \
         other {}",
        .streams[0], .streams[1], .values[0], .values[1]
    )]
    Apart {
        /// The device's address.
        address: SocketAddr,
        /// What differs.
        what: &'static str,
        /// Their numbers.
        streams: [u16; 2],
        /// What it is of each.
        values: [String; 2],
    },
    /// A stream does not begin at the index at which it was asked to.
    #[error("stream {stream} of {address} begins at index {first}: {start} was asked for")]
    Start {
        /// The device's address.
        address: SocketAddr,
        /// The number of the stream.
        stream: u16,
        /// The index that was asked for.
        start: u64,
        /// The index that the device named.
        first: u64,
    },
    /// A term is out of range.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// An option is out of range.
    #[error("{}", OutOfRange(option, value, range))]
    OptionRange {
        /// Which option.
        option: &'static str,
        /// The value given.
        value: u64,
        /// What is allowed.
        range: &'static str,
    },
    /// Two choices exclude each other.
    #[error("{one} contradicts {other}: {hint}")]
    Contradiction {
        /// One of them, with its value.
        one: String,
        /// The other.
        other: String,
        /// What to do instead.
        hint: String,
    },
    /// A stream was named more than once.
    #[error("stream {stream} is named twice")]
    StreamTwice {
        /// Its number.
        stream: u16,
    },
    /// Real-time options are out of range, or contradict each other.
    #[error(transparent)]
    RealTime(#[from] RealTimeError),
    /// An RDMA network card cannot be used.
    #[error(transparent)]
    Card(#[from] VerbsError),
    /// The quanta cannot be allocated.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// A device was to have no stream, or too many.
    #[error("a device of {streams} streams: it sends at most {max}, or takes one, or both")]
    Streams {
        /// How many it was to have.
        streams: usize,
        /// How many it sends at most.
        max: usize,
    },
    /// The port has room for no more streams.
    #[error("the port has {max} streams, and room for no more: open another port")]
    PortFull {
        /// How many it takes.
        max: usize,
    },
    /// The port has failed, or was closed.
    #[error("the port of {local} is gone: the end of its streams states the reason")]
    PortGone {
        /// Its local address.
        local: SocketAddr,
    },
    /// The operating system refused a thread or randomness.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// Why no block comes. Gaps are no errors: blocks list them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// A CLOSE ended the stream, and all blocks have been taken; with [`End::Finished`] the sender had
    /// no more samples. Iterators end here without an error.
    #[error("the stream is closed: {}", .0.words("the sender"))]
    Closed(End),
    /// The sender is silent, has restarted, or broke the protocol.
    #[error("the stream broke off: {}", .0.words("the sender"))]
    Broken(End),
    /// The link failed.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The I/O thread ended without a reason.
    #[error("the I/O thread is gone")]
    ThreadGone,
    /// An [`Interrupter`](crate::receiver::Interrupter) ended the wait; the stream itself goes on.
    #[error("the wait was interrupted")]
    Interrupted,
    /// One of several aligned streams has ended; the others are closed.
    #[error("stream {stream}: {error}")]
    Stream {
        /// Its number.
        stream: u16,
        /// Why it ended.
        error: Box<Self>,
    },
    /// One of several aligned streams set its index on purpose, apart from the others; all are closed.
    #[error(
        "stream {stream} continued at index {at} instead of {next}: streams that set their index \
         apart cannot be aligned"
    )]
    Apart {
        /// Its number.
        stream: u16,
        /// The index that was to come.
        next: u64,
        /// The index at which the stream continued.
        at: u64,
    },
}

impl ReceiveError {
    /// Whether a CLOSE ended the stream.
    pub fn is_closed(&self) -> bool {
        match self {
            Self::Closed(_) => true,
            Self::Stream { error, .. } => error.is_closed(),
            _ => false,
        }
    }

    /// The same error once more.
    pub(crate) fn duplicate(&self) -> Self {
        match self {
            Self::Closed(end) => Self::Closed(*end),
            Self::Broken(end) => Self::Broken(*end),
            Self::Link(error) => Self::Link(error.duplicate()),
            Self::ThreadGone => Self::ThreadGone,
            Self::Interrupted => Self::Interrupted,
            Self::Stream { stream, error } => {
                Self::Stream { stream: *stream, error: Box::new(error.duplicate()) }
            }
            &Self::Apart { stream, next, at } => Self::Apart { stream, next, at },
        }
    }
}

fn unreachable_words(is_unreachable: bool, is_challenged: bool) -> &'static str {
    match (is_unreachable, is_challenged) {
        (true, _) => ": nothing listens there (is the device started, is the port right?)",
        (false, true) => {
            ": it answers small packets but none of the sizes tried; \
             look for a firewall or an MTU below 1280 on the way"
        }
        (false, false) => {
            ": no packet came back (is the address right, is it powered, a firewall?)"
        }
    }
}

fn stream_words(stream: u16) -> String {
    if stream == 0 { String::new() } else { format!(" stream {stream}") }
}

fn retry_words(retry_ms: u32) -> String {
    if retry_ms == 0 { String::new() } else { format!("; try again in {retry_ms} ms") }
}
