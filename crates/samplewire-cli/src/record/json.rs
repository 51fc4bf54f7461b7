//! The JSON of `record`, similar to that of iperf3. Later versions add fields, and never change
//! them.
//!
//! `--json` prints one [`Document`]; `--json-stream` prints one [`Event`] on each line.

use samplewire_record::sigmf::RecordedGap;
use serde::Serialize;

use crate::account::Counts;
use crate::certainty::Words;
use crate::document::push_bounded;
use crate::host::HostHints;
use crate::lanes::LaneEntry;
use crate::metrics::counters::ReceiverCounters;
use crate::probe::Device;
use crate::real_time::RealTimeEntry;

/// A whole recording.
#[derive(Debug, Default, Serialize)]
pub(super) struct Document {
    #[serde(flatten)]
    pub(super) run: crate::document::Document<Start, Interval, End>,
    /// The gaps in the order of their indexes.
    pub(super) gaps: Vec<GapEntry>,
    /// The number of gaps that are not listed: the list is bounded. The counts in `end` include
    /// all.
    pub(super) gaps_left_out: u64,
}

impl Document {
    /// Adds a gap if there is room.
    pub(super) fn push_gap(&mut self, gap: GapEntry) {
        push_bounded(&mut self.gaps, &mut self.gaps_left_out, GAPS_MAX, gap);
    }
}

/// One line of `--json-stream`.
#[derive(Debug, Serialize)]
#[serde(tag = "event", content = "data", rename_all = "lowercase")]
pub(super) enum Event<'a> {
    /// The stream is open.
    Start(&'a Start),
    /// A second is over.
    Interval(&'a Interval),
    /// Samples are missing.
    Gap(&'a GapEntry),
    /// The recording is over.
    End(&'a End),
    /// Something went wrong.
    Error(&'a str),
}

/// The agreed parameters.
#[derive(Debug, Serialize)]
pub(super) struct Start {
    /// The version of this command.
    pub(super) version: &'static str,
    /// Seconds since 1970 at which the stream was opened.
    pub(super) unix_time_s: f64,
    /// The device, its stream, and the path to it.
    pub(super) device: Device,
    /// The streams of the device. `device` has the channels of all of them in order.
    pub(super) streams: Vec<Device>,
    /// The file as given on the command line.
    pub(super) file: String,
    /// `complete`, `deadline:5ms` or `best-effort`.
    pub(super) delivery: String,
    /// The format of the samples in the file.
    pub(super) file_format: &'static str,
    /// Packets in flight or awaiting repair: at most the number that the device can store.
    pub(super) window_packets: u32,
    /// The number that the user chose, or the default.
    pub(super) window_packets_requested: u32,
    /// The same as `window_packets`.
    pub(super) window_packets_granted: u32,
    /// All memory taken for the stream.
    pub(super) memory_bytes: usize,
    /// The socket buffer that was granted for receiving.
    pub(super) receive_buffer_bytes: usize,
    /// The socket buffer that was granted for sending.
    pub(super) send_buffer_bytes: usize,
    /// What the system granted to the I/O thread, and to the memory of all streams.
    pub(super) real_time: Vec<RealTimeEntry>,
}

/// The counts of a second.
#[derive(Debug, Serialize)]
pub(super) struct Interval {
    /// When it began, in seconds since the opening.
    pub(super) start_s: f64,
    /// When it ended.
    pub(super) end_s: f64,
    /// Bytes of delivered samples, in the wire format.
    pub(super) bytes: u64,
    /// The same in bits per second.
    pub(super) goodput_bps: f64,
    /// Samples delivered.
    pub(super) samples_delivered: u64,
    /// Samples missing.
    pub(super) samples_missing: u64,
    /// DATA packets with a correct checksum, including duplicates.
    pub(super) packets_received: u64,
    /// Packets that were missing and arrived as a retransmission.
    pub(super) packets_repaired: u64,
    /// Packets that arrived after they were given up.
    pub(super) packets_late: u64,
}

/// Indexes that were not delivered.
#[derive(Debug, Serialize)]
pub(super) struct GapEntry {
    /// The first missing index.
    pub(super) first_index: u64,
    /// The number of indexes.
    pub(super) samples: u64,
    /// How many were sent and not repaired.
    pub(super) not_repaired: u64,
    /// How many the source lost. If both counts are above 0, it is not known which samples are
    /// which.
    pub(super) source_lost: u64,
    /// Of `not_repaired`: how many this host's network card dropped, as far as it was known then.
    pub(super) nic_dropped: u64,
    /// The same of this host's kernel.
    pub(super) kernel_dropped: u64,
    /// A key of `gap_samples`.
    pub(super) cause: &'static str,
    /// Whether the counts are estimates: time multiplied by the sample rate.
    pub(super) estimated: bool,
    /// The stream whose samples are missing, if several streams are recorded as one; else null.
    pub(super) stream: Option<u16>,
}

impl From<&RecordedGap> for GapEntry {
    fn from(gap: &RecordedGap) -> Self {
        Self {
            first_index: gap.first,
            samples: gap.count(),
            not_repaired: gap.not_repaired,
            source_lost: gap.source_lost,
            nic_dropped: gap.host.nic,
            kernel_dropped: gap.host.kernel,
            cause: gap.cause.key(),
            estimated: gap.is_estimated(),
            stream: gap.stream,
        }
    }
}

/// The totals. `docs/statistics.md` describes the terms of `account`.
#[derive(Debug, Serialize)]
pub(super) struct End {
    /// `whole`, `missing`, `incomplete`, `threshold`, `interrupted` or `unreachable`.
    pub(super) result: &'static str,
    /// The exit status of the command.
    pub(super) exit_status: u8,
    /// Why the recording ended, as text.
    pub(super) reason: String,
    /// The duration from the opening, in seconds.
    pub(super) seconds: f64,
    /// The first index; with several runs of the device, that of the last run.
    pub(super) first_index: u64,
    /// The index after the last.
    pub(super) end_index: u64,
    /// The number of the device's runs that the samples come from.
    pub(super) boots: u32,
    /// How often the stream was opened.
    pub(super) openings: u32,
    /// Each index in one term; null if the terms do not add up, which is a defect of this program.
    pub(super) account: Option<Counts>,
    /// How long the device had been silent at the stop; null if it was not.
    pub(super) silent_s: Option<f64>,
    /// Bytes of delivered samples, in the wire format.
    pub(super) bytes: u64,
    /// The same in bits per second.
    pub(super) goodput_bps: f64,
    /// Samples delivered.
    pub(super) samples_delivered: u64,
    /// Samples missing.
    pub(super) samples_missing: u64,
    /// Gaps.
    pub(super) gaps: u64,
    /// Samples missing, by cause.
    pub(super) gap_samples: Counts,
    /// Whether each count is `exact`, or the true number is `at least`, `at most` or `about` the
    /// count.
    pub(super) gap_samples_bounds: Words,
    /// Samples missing, by hop.
    pub(super) lost_at: Counts,
    /// The same for each hop.
    pub(super) lost_at_bounds: Words,
    pub(super) host_hints: HostHints,
    #[serde(flatten)]
    pub(super) counters: ReceiverCounters,
    /// The same for each stream. The fields above are the totals, and the longest round trip.
    pub(super) streams: Vec<LaneEntry>,
    /// All memory taken for the stream.
    pub(super) memory_bytes: usize,
    /// The files that were written.
    pub(super) files: Vec<String>,
    /// Samples in the data file; less than delivered when the disk is full.
    pub(super) file_samples: u64,
    /// Bytes in the data file.
    pub(super) file_bytes: u64,
    /// The SHA-512 of the data; null if there is no hash.
    pub(super) sha512: Option<String>,
    /// The maximum number of quanta that wait for the file.
    pub(super) queue_quanta: usize,
    /// The highest number that waited.
    pub(super) queue_quanta_highest: usize,
    /// How often the queue was full.
    pub(super) queue_full: u64,
    /// The exceeded thresholds, as given on the command line.
    pub(super) thresholds_crossed: Vec<String>,
}

/// Some 8 MB of memory, and twice that as text.
const GAPS_MAX: usize = 100_000;

#[cfg(test)]
mod tests {
    use samplewire_record::sigmf::RecordedCause;

    use super::*;

    #[test]
    fn lists_stop_at_their_bounds_and_say_so() {
        let cause = RecordedCause::DiskBehind;
        let gap = RecordedGap::new(0, 1, 0, cause);
        let mut document = Document::default();
        for _ in 0..GAPS_MAX + 2 {
            document.push_gap(GapEntry::from(&gap));
        }
        assert_eq!((document.gaps.len(), document.gaps_left_out), (GAPS_MAX, 2));
    }
}
