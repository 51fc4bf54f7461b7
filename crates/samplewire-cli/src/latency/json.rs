//! The JSON of `latency`. Fields are added in later versions, never changed.

use serde::Serialize;

use super::histogram::Histogram;
use crate::probe::Device;
use crate::real_time::RealTimeEntry;

/// The whole of a measurement.
#[derive(Debug, Default, Serialize)]
pub(super) struct Document {
    /// The version of this command.
    pub(super) version: &'static str,
    /// The stream that is sent; null when it was not opened.
    pub(super) device: Option<Device>,
    /// What the I/O threads were given of the machine: of the stream received, of that sent.
    pub(super) real_time: Vec<RealTimeEntry>,
    /// Round trips of questions to the device; null where none were asked.
    pub(super) round_trips: Option<RoundTrips>,
    /// One for each lead, in the order in which they were given.
    pub(super) leads: Vec<Lead>,
    /// What went wrong; not there when nothing did.
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
    /// 99 % took no longer.
    p99_ns: u64,
    most_ns: u64,
    /// The end of each bin in nanoseconds, and how many lie in it.
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

/// What became of bursts with one lead.
#[derive(Debug, Serialize)]
pub(super) struct Lead {
    /// From the newest sample received to the first of the burst.
    pub(super) lead_s: f64,
    /// How many were sent.
    pub(super) bursts: u64,
    /// How many came after their time.
    pub(super) bursts_late: u64,
}
