//! How a sender counts; the counters are in `counters.rs`.

use crate::counters::SenderStats;
use crate::number::SampleIndex;
use crate::wire::ReportFields;

impl SenderStats {
    /// The mean rate of wire time in bits a second that congestion control allowed while that was
    /// less than the source needs; `None` if it never was.
    pub fn allowed_bps(&self) -> Option<u64> {
        let bits_e9 = u128::from(self.limited_bytes) * 8_000_000_000;
        let bps = bits_e9.checked_div(self.limited_ns.into())?;
        Some(u64::try_from(bps).unwrap_or(u64::MAX))
    }

    pub(crate) fn take_report(&mut self, position: SampleIndex, fields: &ReportFields) {
        self.position_of_peer = position;
        self.received_by_peer = fields.received;
        self.skipped_by_peer = fields.skipped;
        self.late_at_peer = fields.late;
    }
}
