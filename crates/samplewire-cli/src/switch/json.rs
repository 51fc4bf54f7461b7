//! The JSON of `switch`. Fields are added in later versions, never changed.

use serde::Serialize;

use crate::metrics::PortFigures;

/// The JSON document of a run.
pub(super) type Document = crate::document::Document<Start, Interval, End>;

/// The settings.
#[derive(Debug, Serialize)]
pub(super) struct Start {
    /// The version of this command.
    pub(super) version: &'static str,
    /// The links, in the order of their ports.
    pub(super) ports: Vec<String>,
    /// The rate of each port in bits per second, in slow time.
    pub(super) rate_bps: u64,
    /// How many times slower the clock runs than the host's.
    pub(super) slow: u32,
    /// The buffer that all ports share.
    pub(super) buffer_bytes: u64,
    /// The marks; null if there are none.
    pub(super) marking: Option<Marking>,
    /// Share of frames lost at random.
    pub(super) loss: f64,
    /// Seed of marks and losses.
    pub(super) seed: u64,
    /// Whether it sends CNPs for receivers that send none.
    pub(super) proxy_cnp: bool,
    /// The rate of a RoCE flow above which it sends CNPs; null if it does not.
    pub(super) cnp_above_bps: Option<u64>,
    /// The shortest time between two CNPs to a flow, in slow time.
    pub(super) cnp_interval_ns: u64,
}

/// How frames are marked.
#[derive(Debug, Serialize)]
pub(super) struct Marking {
    /// `enqueue` or `dequeue`.
    pub(super) at: &'static str,
    /// No frame is marked up to this queue length.
    pub(super) kmin_bytes: u64,
    /// Every frame is marked above this queue length.
    pub(super) kmax_bytes: u64,
    /// The probability of a mark at `kmax_bytes`.
    pub(super) pmax: f64,
}

/// The counts of one second of the host.
#[derive(Debug, Serialize)]
pub(super) struct Interval {
    /// Start of the interval, in seconds of the host.
    pub(super) start_s: f64,
    /// End of the interval.
    pub(super) end_s: f64,
    /// By port.
    pub(super) ports: Vec<PortInterval>,
}

/// The counts of a port in an interval. Bytes are those of the wire, preamble and gap included.
#[derive(Debug, Serialize)]
pub(super) struct PortInterval {
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    /// Of what came in by this port: what left by another.
    pub(super) bytes_forwarded: u64,
    /// The share of the port's rate that left.
    pub(super) utilisation: f64,
    pub(super) marked: u64,
    pub(super) dropped: u64,
    /// See [`Port`].
    pub(super) cnp_forwarded: u64,
    pub(super) cnp_forged: u64,
    pub(super) cnp_refused: u64,
    /// The queue at the end of the interval.
    pub(super) queue_bytes: u64,
}

/// The sums.
#[derive(Debug, Serialize)]
pub(super) struct End {
    /// How the run ended.
    pub(super) result: &'static str,
    /// The exit status of the command.
    pub(super) exit_status: u8,
    /// By port.
    pub(super) ports: Vec<Port>,
    /// How late frames left this process, in the host's time.
    pub(super) late: Late,
}

/// The counts of a port.
#[derive(Debug, Serialize)]
pub(super) struct Port {
    /// The link.
    name: String,
    frames_in: u64,
    bytes_in: u64,
    frames_out: u64,
    bytes_out: u64,
    bytes_forwarded: u64,
    /// Frames that left with a mark of this switch.
    marked: u64,
    /// Frames for this port that found no room in the buffer.
    dropped: u64,
    /// Frames lost at random as they came in.
    lost: u64,
    /// Frames not forwarded: link-local, for the same port, or not 14 to 9,216 bytes.
    filtered: u64,
    /// CNPs that came in by another port and left by this one.
    cnp_forwarded: u64,
    /// CNPs of the switch itself that left by this port.
    cnp_forged: u64,
    /// CNPs that were due to a sender behind this port and were not sent: its queue pair is not known,
    /// or the buffer was full.
    cnp_refused: u64,
    /// The longest queue.
    queue_bytes_max: u64,
    /// Frames that the link dropped before this process read them; null if it does not count them.
    link_dropped: Option<u64>,
    /// Frames that the link did not take from this process.
    link_refused: u64,
}

/// Times in nanoseconds of the host: half, 99 % and all of the frames left within them.
#[derive(Debug, Serialize)]
pub(super) struct Late {
    pub(super) p50_ns: u64,
    pub(super) p99_ns: u64,
    pub(super) max_ns: u64,
}

impl From<&PortFigures> for Port {
    fn from(figures: &PortFigures) -> Self {
        let counts = &figures.counts;
        Self {
            name: figures.name.clone(),
            frames_in: counts.frames_in,
            bytes_in: counts.bytes_in,
            frames_out: counts.frames_out,
            bytes_out: counts.bytes_out,
            bytes_forwarded: counts.bytes_forwarded,
            marked: counts.marked,
            dropped: counts.dropped,
            lost: counts.lost,
            filtered: counts.filtered,
            cnp_forwarded: counts.cnp_forwarded,
            cnp_forged: counts.cnp_forged,
            cnp_refused: counts.cnp_refused,
            queue_bytes_max: counts.queue_bytes_max,
            link_dropped: figures.link_dropped,
            link_refused: figures.link_refused,
        }
    }
}
