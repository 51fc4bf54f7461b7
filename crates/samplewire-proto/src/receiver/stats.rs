//! What a receiver counts; meanings and remedies in `docs/statistics.md`.

use crate::gap::{Cause, Gap};
use crate::number::{Departure, Nanos};

/// Counters of a receiver since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// DATA packets of this stream with a right CRC, duplicates included.
    pub received: u64,
    /// DATA packets delivered in order.
    pub delivered: u64,
    /// Samples delivered.
    pub samples_delivered: u64,
    /// Packets that were missing and came as a retransmission.
    pub repaired: u64,
    /// Packets that were missing and came by themselves.
    pub reordered: u64,
    /// Packets that were missing or given up and came later than the tolerance that held then.
    pub reordered_beyond: u64,
    /// The present reordering tolerance: that of the terms, or more while the path takes more.
    pub reorder_tolerance: Nanos,
    /// Packets that were there already.
    pub duplicates: u64,
    /// Packets that came after they had been given up.
    pub late: u64,
    /// At a device that plays: packets of which samples came after their time.
    pub late_to_play: u64,
    /// At a device that plays: samples that were not there at their time.
    pub underflow_samples: u64,
    /// Packets given up.
    pub skipped: u64,
    /// Gap events.
    pub gaps: u64,
    /// Samples in gaps that were sent and not repaired, by cause in the order of [`Cause::ALL`];
    /// those lost at the source count as source overflow.
    pub gap_samples: [u64; Cause::ALL.len()],
    /// Packets beyond the credit granted, dropped.
    pub beyond_credit: u64,
    /// DATA that arrived with congestion experienced.
    pub marked: u64,
    /// MARKs and CLOSEs dropped because they name the impossible.
    pub refused: u64,
    /// Packets of another tag.
    pub foreign: u64,
    /// Packets of a type that has no place here.
    pub unexpected: u64,
    /// REPORTs sent.
    pub reports: u64,
    /// Ranges listed in them.
    pub ranges: u64,
    /// The sender's own count of samples lost at the source.
    pub source_lost: u64,
}

impl ReceiverStats {
    pub(super) fn new(tolerance_units: u32) -> Self {
        Self { reorder_tolerance: Departure::span_ns(tolerance_units), ..Self::default() }
    }

    /// Samples in gaps of every cause.
    pub fn samples_missing(&self) -> u64 {
        self.gap_samples.iter().sum()
    }

    pub(super) fn take_gap(&mut self, gap: &Gap) {
        self.gaps += 1;
        self.gap_samples[gap.cause as usize] += gap.not_repaired;
        self.gap_samples[Cause::SourceOverflow as usize] += gap.source_lost;
    }
}
