//! The JSON of `bridge`. Fields are added in later versions, never changed.

use serde::Serialize;

use crate::bridge::Carried;
use crate::probe::Device;
use crate::rate::json::Receive;
use crate::real_time::RealTimeEntry;

/// The JSON document of a bridge.
pub(super) type Document = crate::document::Document<Start, Interval, End>;

/// What was agreed at the opening.
#[derive(Debug, Serialize)]
pub(super) struct Start {
    /// The version of this command.
    pub(super) version: &'static str,
    /// The address if this end is a device, null if it opened one.
    pub(super) listening: Option<String>,
    /// The received stream; null if there is none, or this end is the device.
    pub(super) receive: Option<Device>,
    /// The sent stream; null if there is none, or this end is the device.
    pub(super) transmit: Option<Device>,
    /// Packets of each stream that were asked for.
    pub(super) window_packets_requested: u32,
    /// Packets that are used: no more than the device holds; null where this end is the device.
    pub(super) window_packets_granted: Option<u32>,
    /// The sockets.
    pub(super) sockets: Vec<SocketEntry>,
    /// The real-time settings that the I/O threads got.
    pub(super) real_time: Vec<RealTimeEntry>,
}

/// A socket.
#[derive(Clone, Debug, Serialize)]
pub(super) struct SocketEntry {
    /// `PUB`, `PUSH`, `REP`, `SUB`, `PULL` or `REQ`.
    pub(super) kind: &'static str,
    /// The endpoint as given on the command line.
    pub(super) endpoint: String,
    /// Its address.
    pub(super) address: String,
    /// Whether others connect to it.
    pub(super) is_listening: bool,
    /// Samples at the socket.
    pub(super) format: &'static str,
}

/// The counts of one second.
#[derive(Debug, Serialize)]
pub(super) struct Interval {
    /// Start of the interval, in seconds since the opening.
    pub(super) start_s: f64,
    /// End of the interval.
    pub(super) end_s: f64,
    /// To ZeroMQ, null if no samples go there.
    pub(super) to_zmq: Option<Flow>,
    /// From ZeroMQ, null if no samples come from there.
    pub(super) from_zmq: Option<Flow>,
}

/// The counts of one direction.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Flow {
    /// Samples of all channels each.
    pub(super) samples: u64,
    /// Samples missing from the stream.
    pub(super) samples_missing: u64,
    /// Zeros that replace these, and pauses.
    pub(super) samples_zero: u64,
    /// Messages of all sockets.
    pub(super) messages: u64,
    /// Messages that a slow subscriber missed.
    pub(super) messages_dropped: u64,
    /// The bytes of these messages.
    pub(super) bytes_dropped: u64,
    /// Bytes of messages whose peer disconnected within the message.
    pub(super) bytes_torn: u64,
}

impl Flow {
    /// What was carried between two moments.
    pub(super) const fn between(before: &Carried, now: &Carried) -> Self {
        Self {
            samples: now.samples - before.samples,
            samples_missing: now.missing - before.missing,
            samples_zero: now.zeros - before.zeros,
            messages: now.messages - before.messages,
            messages_dropped: now.dropped_messages - before.dropped_messages,
            bytes_dropped: now.dropped_bytes - before.dropped_bytes,
            bytes_torn: now.torn_bytes - before.torn_bytes,
        }
    }
}

/// The sums.
#[derive(Debug, Serialize)]
pub(super) struct End {
    /// `whole`, `missing`, `interrupted` or `unreachable`.
    pub(super) result: &'static str,
    /// The exit status of the command.
    pub(super) exit_status: u8,
    /// To ZeroMQ, null if no samples go there.
    pub(super) to_zmq: Option<Flow>,
    /// From ZeroMQ, null if no samples come from there.
    pub(super) from_zmq: Option<Flow>,
    /// Samples that no peer had requested at the end.
    pub(super) samples_untaken: u64,
    /// Each session, up to the first thousand of each direction.
    pub(super) sessions: Vec<SessionEntry>,
    /// Sessions that are not listed.
    pub(super) sessions_left_out: u64,
}

/// A session.
#[derive(Debug, Serialize)]
pub(super) struct SessionEntry {
    /// `to_zmq` or `from_zmq`.
    pub(super) way: &'static str,
    /// The other end of the stream.
    pub(super) peer: String,
    /// `whole`, `missing`, `interrupted` or `unreachable`.
    pub(super) result: &'static str,
    /// How it ended.
    pub(super) reason: String,
    /// Zeros that replaced gaps and pauses.
    pub(super) samples_zero: Option<u64>,
    /// What was received, null where the stream was sent.
    pub(super) receive: Option<Receive>,
    /// What was sent, null where the stream was received.
    pub(super) transmit: Option<Transmit>,
}

/// What was sent; meanings in `docs/statistics.md`.
#[derive(Debug, Serialize)]
pub(super) struct Transmit {
    pub(super) seconds: f64,
    pub(super) bytes: u64,
    pub(super) goodput_bps: f64,
    pub(super) samples_sent: u64,
    /// Samples that had not departed when the session ended.
    pub(super) samples_unsent: u64,
    pub(super) end_index: u64,
    pub(super) packets_sent: u64,
    pub(super) packets_repaired: u64,
    pub(super) credit_stalls: u64,
}
