//! The JSON of `latency`. Fields are added in later versions, never changed.

use serde::Serialize;

use super::histogram::Histogram;
use crate::probe::Device;
use crate::real_time::RealTimeEntry;

/// The JSON document of a measurement.
#[derive(Debug, Default, Serialize)]
pub(super) struct Document {
    /// The version of this command.
    pub(super) version: &'static str,
    /// The sent stream; null if it was not opened.
    pub(super) device: Option<Device>,
    /// The real-time settings that were granted: for the received stream, for the sent stream. Both are
    /// served by one thread.
    pub(super) real_time: Vec<RealTimeEntry>,
    /// Round trips of queries to the device; null if none were made.
    pub(super) round_trips: Option<RoundTrips>,
    /// One for each lead, in the given order.
    pub(super) leads: Vec<Lead>,
    /// The error; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

impl crate::document::Report for Document {
    fn fail(&mut self, words: String) {
        self.error = Some(words);
    }
}

/// Round trips in nanoseconds.
#[derive(Debug, Serialize)]
pub(super) struct RoundTrips {
    count: usize,
    least_ns: u64,
    median_ns: u64,
    /// 99 % of the round trips were not longer.
    p99_ns: u64,
    most_ns: u64,
    /// The end of each bin in nanoseconds, and its count.
    bins: Vec<(u64, usize)>,
}

impl RoundTrips {
    pub(super) fn new(histogram: &Histogram) -> Self {
        let at = |share| histogram.at(share).as_nanos() as u64;
        let bins = histogram.bins().into_iter();
        Self {
            count: histogram.len(),
            least_ns: at(0.0),
            median_ns: at(0.5),
            p99_ns: at(0.99),
            most_ns: at(1.0),
            bins: bins.map(|(end, count)| (end.as_nanos() as u64, count)).collect(),
        }
    }
}

/// The results of one lead.
#[derive(Debug, Serialize)]
pub(super) struct Lead {
    /// From the newest sample received to the first of the burst.
    pub(super) lead_s: f64,
    /// Number of sent bursts.
    pub(super) bursts: u64,
    /// Number of late bursts.
    pub(super) bursts_late: u64,
}
