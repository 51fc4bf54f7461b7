//! The JSON of `rate`. Fields are added in later versions, never changed.

use samplewire_io::xdp::{XdpLog, XdpState};
use serde::Serialize;

use crate::account::Counts;
use crate::certainty::Words;
use crate::host::HostHints;
use crate::lanes::LaneEntry;
use crate::metrics::counters::{ReceiverCounters, SenderCounters};
use crate::probe::Device;
use crate::real_time::RealTimeEntry;

/// The JSON document of a measurement.
pub(super) type Document = crate::document::Document<Start, Interval, End>;

/// What was agreed.
#[derive(Debug, Serialize)]
pub(super) struct Start {
    /// The version of this command.
    pub(super) version: &'static str,
    /// The received stream; null if there is none.
    pub(super) receive: Option<Device>,
    /// The sent stream; null if there is none.
    pub(super) transmit: Option<Device>,
    /// The requested window of each stream in packets; a device may have a smaller one.
    pub(super) window_packets: u32,
    /// The same as `window_packets`.
    pub(super) window_packets_requested: u32,
    /// Packets that are used: no more than each device holds.
    pub(super) window_packets_granted: u32,
    /// The socket buffer granted for receiving, 0 if nothing is received.
    pub(super) receive_buffer_bytes: usize,
    /// The socket buffer granted for sending, 0 if nothing is sent.
    pub(super) send_buffer_bytes: usize,
    /// The real-time settings that the I/O thread of each stream got.
    pub(super) real_time: Vec<RealTimeEntry>,
}

/// The counts of one second.
#[derive(Debug, Serialize)]
pub(super) struct Interval {
    /// Start of the interval, in seconds since the opening.
    pub(super) start_s: f64,
    /// End of the interval.
    pub(super) end_s: f64,
    /// From the device, null if nothing is received.
    pub(super) receive: Option<Flow>,
    /// To the device, null if nothing is sent.
    pub(super) transmit: Option<Flow>,
}

/// The counts of one direction.
#[derive(Debug, Serialize)]
pub(super) struct Flow {
    /// Bytes of samples delivered, or handed over to be sent.
    pub(super) bytes: u64,
    /// These in bits per second.
    pub(super) goodput_bps: f64,
    /// Samples delivered, or handed over.
    pub(super) samples: u64,
    /// Samples missing; 0 for a sent stream.
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
    /// From the device, null if nothing was received.
    pub(super) receive: Option<Receive>,
    /// To the device, null if nothing was sent.
    pub(super) transmit: Option<Transmit>,
    /// The exceeded thresholds, as given on the command line.
    pub(super) thresholds_crossed: Vec<String>,
    /// How the packets of each direction passed the kernel; empty with `--link udp`.
    pub(super) links: Vec<LinkEntry>,
}

/// How packets passed the kernel.
#[derive(Debug, Serialize)]
pub(super) struct LinkEntry {
    /// Whether they bypassed it.
    bypassed: bool,
    /// How, or why not.
    words: String,
}

impl From<&XdpLog> for LinkEntry {
    fn from(log: &XdpLog) -> Self {
        let state = log.state();
        Self { bypassed: matches!(state, XdpState::Attached(_)), words: state.to_string() }
    }
}

/// The sums of the received streams; meanings in `docs/statistics.md`.
#[derive(Debug, Serialize)]
pub(crate) struct Receive {
    pub(crate) seconds: f64,
    pub(crate) bytes: u64,
    pub(crate) goodput_bps: f64,
    /// The terms of the account; null if they do not add up, which is a defect of this program.
    pub(crate) account: Option<Counts>,
    /// How long the device had been silent at the end, null if it was not.
    pub(crate) silent_s: Option<f64>,
    pub(crate) samples_delivered: u64,
    /// Samples that the chain made of them, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) samples_behind_chain: Option<u64>,
    pub(crate) samples_missing: u64,
    pub(crate) gaps: u64,
    /// Samples missing, by hop.
    pub(crate) lost_at: Counts,
    /// The bound of each count: `exact`, or the true number is `at least`, `at most` or `about` it.
    pub(crate) lost_at_bounds: Words,
    pub(crate) host_hints: HostHints,
    #[serde(flatten)]
    pub(crate) counters: ReceiverCounters,
    /// The same for each stream; above are the sums, and the longest round trip.
    pub(crate) streams: Vec<LaneEntry>,
}

/// The sums of the sent stream; meanings in `docs/statistics.md`.
#[derive(Debug, Serialize)]
pub(super) struct Transmit {
    pub(super) seconds: f64,
    pub(super) bytes: u64,
    pub(super) goodput_bps: f64,
    pub(super) samples_sent: u64,
    /// Null if the device could not report it.
    pub(super) samples_underflow: Option<u64>,
    #[serde(flatten)]
    pub(super) counters: SenderCounters,
}
