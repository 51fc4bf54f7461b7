//! How a receiver counts; the counters are in `counters.rs`.

use crate::counters::ReceiverStats;
use crate::gap::{Cause, Gap};
use crate::number::Departure;

impl ReceiverStats {
    pub(super) fn new(tolerance_units: u32) -> Self {
        Self { reorder_tolerance: Departure::span_ns(tolerance_units), ..Self::default() }
    }

    /// Samples in gaps of every cause.
    pub fn samples_missing(&self) -> u64 {
        self.gap_samples.iter().sum()
    }

    /// Counts a repaired packet that came `units` of 16 ns after its hole was detected.
    pub(super) fn take_repair(&mut self, units: u32) {
        self.repaired += 1;
        self.repair_latency.count(units);
        self.repair_latency_ns += Departure::span_ns(units).0;
    }

    pub(super) fn take_gap(&mut self, gap: &Gap) {
        self.gaps += 1;
        self.gap_samples[gap.cause as usize] += gap.not_repaired;
        self.gap_samples[Cause::SourceOverflow as usize] += gap.source_lost;
    }
}
