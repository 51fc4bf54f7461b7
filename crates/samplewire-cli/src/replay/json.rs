//! The JSON of `replay`, in the manner of that of `record`. Fields are added in later versions,
//! never changed.

use samplewire::transmitter::TransmitterSnapshot;
use serde::Serialize;

use crate::probe::Device;
use crate::real_time::RealTimeEntry;

/// The whole of a replay.
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
    /// Packets held for repair.
    pub(super) window_packets: u32,
    /// The same as `window_packets`.
    pub(super) window_packets_requested: u32,
    /// Packets that may be on their way: no more than the device takes.
    pub(super) window_packets_granted: u32,
    /// All memory taken for the stream.
    pub(super) memory_bytes: usize,
    /// What the I/O thread was given of the machine.
    pub(super) real_time: RealTimeEntry,
}

/// What happened in a second.
#[derive(Debug, Serialize)]
pub(super) struct Interval {
    /// When it began, in seconds since the opening.
    pub(super) start_s: f64,
    /// When it ended.
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
    /// Packets that came to the device after their time.
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
    /// How long it took from the opening, in seconds.
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
    /// Samples that were not there when the device was to play them; null where the device could
    /// not say so.
    pub(super) samples_underflow: Option<u64>,
    #[serde(flatten)]
    pub(super) counters: Counters,
    /// All memory taken for the stream.
    pub(super) memory_bytes: usize,
    /// The thresholds that were crossed, as they were given.
    pub(super) thresholds_crossed: Vec<String>,
}

/// Counters of the sender over the whole session; meanings in `docs/statistics.md`.
#[derive(Debug, Serialize)]
pub(super) struct Counters {
    /// DATA packets that departed for the first time.
    packets_sent: u64,
    /// DATA packets that departed again.
    packets_repaired: u64,
    /// Packets that the device has, duplicates included, as it last reported.
    packets_received_by_device: u32,
    /// Packets that came to the device after their time, or after they were given up.
    packets_late: u64,
    /// Packets that the device gave up.
    packets_given_up: u32,
    /// REPORTs taken.
    reports: u64,
    /// Times that data waited for the device to take more.
    credit_stalls: u64,
    /// Packets whose checksum was wrong.
    packets_corrupted: u64,
    /// Packets of no stream of ours.
    packets_foreign: u64,
    /// Smoothed round-trip time in nanoseconds.
    rtt_ns: u64,
}

impl Counters {
    pub(super) fn new(late: u64, snapshot: &TransmitterSnapshot) -> Self {
        let stats = &snapshot.stream;
        Self {
            packets_sent: stats.packets,
            packets_repaired: stats.retransmissions,
            packets_received_by_device: stats.received_by_peer,
            packets_late: late,
            packets_given_up: stats.skipped_by_peer,
            reports: stats.reports,
            credit_stalls: stats.credit_stalls,
            packets_corrupted: snapshot.corrupted,
            packets_foreign: snapshot.foreign + stats.foreign,
            rtt_ns: snapshot.rtt_ns,
        }
    }
}
