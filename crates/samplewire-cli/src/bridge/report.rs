//! What happens at a bridge.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use samplewire::receiver::{ReceiveStream, ReceiverSnapshot};
use samplewire::{End, SampleIndex, SendStream};
use samplewire_proto::sender::SenderStats;
use samplewire_record::account::Account;
use samplewire_record::sigmf::{HostDrops, RecordedGap};

use samplewire_zmtp::{Notice, Socket};

/// Learns what happens in one direction, in its thread: nothing here may wait for long.
pub(crate) trait Report {
    /// A session begins whose samples go to ZeroMQ.
    fn receives(&mut self, stream: &ReceiveStream);

    /// A session begins whose samples come from ZeroMQ.
    fn sends(&mut self, stream: &SendStream);

    /// Returns what the host has dropped of the stream that is received, before its socket.
    fn host_drops(&mut self, stream: &ReceiveStream) -> HostDrops;

    /// Samples are missing in the stream that is received. `is_held_up`: see
    /// [`samplewire_record::account::Hops::add`].
    fn gap(&mut self, gap: &RecordedGap, is_held_up: bool);

    /// A gap of so many samples is too long to be filled with zeros; the first of a session.
    fn not_filled(&mut self, samples: u64);

    /// These samples of the session go on, as on the wire.
    fn samples(&mut self, index: SampleIndex, bytes: &[u8]);

    /// Something has happened at a socket.
    fn notice(&mut self, socket: &Socket, notice: &Notice);

    /// Time passes; called several times a second.
    fn passes(&mut self, now: Instant);

    /// A session has ended.
    fn ended(&mut self, session: Session);
}

/// A session that has ended.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) peer: SocketAddr,
    pub(crate) elapsed: Duration,
    pub(crate) frame_bytes: usize,
    /// How the stream ended, or why its port failed; `None` if this end stopped.
    pub(crate) end: Option<Result<End, String>>,
    pub(crate) counts: Counts,
}

/// What a session has carried.
#[derive(Debug)]
pub(crate) enum Counts {
    /// To ZeroMQ.
    Received(Box<Received>),
    /// From ZeroMQ.
    Sent(Sent),
}

/// Counts of a received stream.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) account: Account,
    /// How long the other end was silent, if longer than a live one would be.
    pub(crate) silent: Option<Duration>,
    pub(crate) snapshot: ReceiverSnapshot,
    /// Zeros that replaced gaps and pauses.
    pub(crate) zeros: u64,
}

/// Counts of a sent stream.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) samples: u64,
    /// Samples of these that had not departed at the end.
    pub(crate) unsent: u64,
    pub(crate) end_index: SampleIndex,
    pub(crate) stats: SenderStats,
}
