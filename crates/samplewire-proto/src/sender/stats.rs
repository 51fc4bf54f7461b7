//! How a sender counts; the counters are in `counters.rs`.

use crate::counters::SenderStats;
use crate::number::SampleIndex;
use crate::wire::ReportFields;

impl SenderStats {
    pub(crate) fn take_report(&mut self, position: SampleIndex, fields: &ReportFields) {
        self.position_of_peer = position;
        self.received_by_peer = fields.received;
        self.skipped_by_peer = fields.skipped;
        self.late_at_peer = fields.late;
    }
}
