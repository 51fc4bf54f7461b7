//! The JSON of `rate`. Fields are added in later versions, never changed.

use serde::Serialize;

use crate::account::Counts;
use crate::certainty::Words;
use crate::host::HostHints;
use crate::lanes::LaneEntry;
use crate::probe::Device;
use crate::real_time::RealTimeEntry;

/// The whole of a measurement.
pub(super) type Document = crate::document::Document<Start, Interval, End>;

/// What was agreed.
#[derive(Debug, Serialize)]
pub(super) struct Start {
    /// The version of this command.
    pub(super) version: &'static str,
    /// The stream that is received, null where none is.
    pub(super) receive: Option<Device>,
    /// The stream that is sent, null where none is.
    pub(super) transmit: Option<Device>,
    /// Packets of each on their way, as was asked for: a device may hold fewer.
    pub(super) window_packets: u32,
    /// The same as `window_packets`.
    pub(super) window_packets_requested: u32,
    /// Packets that are used: no more than each device holds.
    pub(super) window_packets_granted: u32,
    /// The socket buffer that was granted for receiving, 0 where nothing is received.
    pub(super) receive_buffer_bytes: usize,
    /// The socket buffer that was granted for sending, 0 where nothing is sent.
    pub(super) send_buffer_bytes: usize,
    /// What the I/O thread of each stream was given of the machine.
    pub(super) real_time: Vec<RealTimeEntry>,
}

/// What happened in a second.
#[derive(Debug, Serialize)]
pub(super) struct Interval {
    /// When it began, in seconds since the opening.
    pub(super) start_s: f64,
    /// When it ended.
    pub(super) end_s: f64,
    /// From the device, null where nothing is received.
    pub(super) receive: Option<Flow>,
    /// To the device, null where nothing is sent.
    pub(super) transmit: Option<Flow>,
}

/// One way in a second.
#[derive(Debug, Serialize)]
pub(super) struct Flow {
    /// Bytes of samples delivered, or handed over to be sent.
    pub(super) bytes: u64,
    /// These in bits per second.
    pub(super) goodput_bps: f64,
    /// Samples delivered, or handed over.
    pub(super) samples: u64,
    /// Samples missing; 0 for what is sent.
    pub(super) samples_missing: u64,
    /// Packets that came too late.
    pub(super) packets_late: u64,
    /// Packets that were sent again.
    pub(super) packets_repaired: u64,
}

/// The sums.
#[derive(Debug, Serialize)]
pub(super) struct End {
    /// `whole`, `missing`, `incomplete`, `threshold`, `interrupted` or `unreachable`.
    pub(super) result: &'static str,
    /// The exit status of the command.
    pub(super) exit_status: u8,
    /// From the device, null where nothing was received.
    pub(super) receive: Option<Receive>,
    /// To the device, null where nothing was sent.
    pub(super) transmit: Option<Transmit>,
    /// The thresholds that were crossed, in words.
    pub(super) thresholds_crossed: Vec<String>,
}

/// What was received; meanings in `docs/statistics.md`.
#[derive(Debug, Serialize)]
pub(crate) struct Receive {
    pub(crate) seconds: f64,
    pub(crate) bytes: u64,
    pub(crate) goodput_bps: f64,
    /// Every index in one term; null where they do not add up, which is a defect of this program.
    pub(crate) account: Option<Counts>,
    /// For how long the device had been silent at the end, null where it was not.
    pub(crate) silent_s: Option<f64>,
    pub(crate) samples_delivered: u64,
    pub(crate) samples_missing: u64,
    pub(crate) gaps: u64,
    /// Samples missing, by hop.
    pub(crate) lost_at: Counts,
    /// Whether each of these is `exact`, or the true number is `at least`, `at most` or `about` it.
    pub(crate) lost_at_bounds: Words,
    pub(crate) host_hints: HostHints,
    pub(crate) packets_received: u64,
    pub(crate) packets_repaired: u64,
    pub(crate) packets_late: u64,
    pub(crate) packets_reordered: u64,
    pub(crate) packets_duplicate: u64,
    pub(crate) packets_corrupted: u64,
    pub(crate) packets_dropped_by_socket: u64,
    pub(crate) credit_stalls: u64,
    pub(crate) rtt_ns: u64,
    /// The same of each stream; above are the sums, and the longest round trip.
    pub(crate) streams: Vec<LaneEntry>,
}

/// What was sent; meanings in `docs/statistics.md`.
#[derive(Debug, Serialize)]
pub(super) struct Transmit {
    pub(super) seconds: f64,
    pub(super) bytes: u64,
    pub(super) goodput_bps: f64,
    pub(super) samples_sent: u64,
    /// Null where the device could not say.
    pub(super) samples_underflow: Option<u64>,
    pub(super) packets_sent: u64,
    pub(super) packets_repaired: u64,
    pub(super) packets_late: u64,
    pub(super) packets_corrupted: u64,
    pub(super) credit_stalls: u64,
    pub(super) rtt_ns: u64,
}
