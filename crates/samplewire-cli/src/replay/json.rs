//! The JSON of `replay`, similar to that of `record`. Fields are added in later versions, never
//! changed.

use serde::Serialize;

use crate::metrics::counters::SenderCounters;
use crate::probe::Device;
use crate::real_time::RealTimeEntry;

/// The JSON document of a replay.
pub(super) type Document = crate::document::Document<Start, Interval, End>;

/// What was agreed.
#[derive(Debug, Serialize)]
pub(super) struct Start {
    /// The version of this command.
    pub(super) version: &'static str,
    /// Seconds since 1970 at which the stream was opened.
    pub(super) unix_time_s: f64,
    /// The device, its stream, and the path to it.
    pub(super) device: Device,
    /// The file as it was given.
    pub(super) file: String,
    /// `complete`, `deadline:5ms` or `best-effort`.
    pub(super) delivery: String,
    /// `zeros` or `stop`.
    pub(super) underflow: &'static str,
    /// The index of the first sample.
    pub(super) first_index: u64,
    /// Packets kept for repair.
    pub(super) window_packets: u32,
    /// The same as `window_packets`.
    pub(super) window_packets_requested: u32,
    /// Packets that may be on their way: no more than the device takes.
    pub(super) window_packets_granted: u32,
    /// All memory taken for the stream.
    pub(super) memory_bytes: usize,
    /// The real-time settings that the I/O thread got.
    pub(super) real_time: RealTimeEntry,
}

/// The counts of one second.
#[derive(Debug, Serialize)]
pub(super) struct Interval {
    /// Start of the interval, in seconds since the opening.
    pub(super) start_s: f64,
    /// End of the interval.
    pub(super) end_s: f64,
    /// Bytes of samples handed over to be sent.
    pub(super) bytes: u64,
    /// These in bits per second.
    pub(super) goodput_bps: f64,
    /// Samples handed over to be sent.
    pub(super) samples_sent: u64,
    /// The index that the device played at the end.
    pub(super) position: u64,
    /// DATA packets that departed for the first time.
    pub(super) packets_sent: u64,
    /// DATA packets that departed again.
    pub(super) packets_repaired: u64,
    /// Packets that reached the device after their time.
    pub(super) packets_late: u64,
}

/// The sums.
#[derive(Debug, Serialize)]
pub(super) struct End {
    /// `whole`, `missing`, `threshold`, `interrupted` or `unreachable`.
    pub(super) result: &'static str,
    /// The exit status of the command.
    pub(super) exit_status: u8,
    /// Why it ended, in words.
    pub(super) reason: String,
    /// Duration since the opening, in seconds.
    pub(super) seconds: f64,
    /// The first index.
    pub(super) first_index: u64,
    /// The index after the last.
    pub(super) end_index: u64,
    /// Bursts.
    pub(super) bursts: u64,
    /// Bytes of samples handed over to be sent.
    pub(super) bytes: u64,
    /// These in bits per second.
    pub(super) goodput_bps: f64,
    /// Samples handed over to be sent.
    pub(super) samples_sent: u64,
    /// Samples missing when the device had to play them; null if the device could not report it.
    pub(super) samples_underflow: Option<u64>,
    #[serde(flatten)]
    pub(super) counters: SenderCounters,
    /// All memory taken for the stream.
    pub(super) memory_bytes: usize,
    /// The exceeded thresholds, as given.
    pub(super) thresholds_crossed: Vec<String>,
}
