//! What a sender counts; meanings and remedies in `docs/statistics.md`.

use crate::number::SampleIndex;
use crate::wire::ReportFields;

/// Counters of a sender since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// DATA packets that departed for the first time.
    pub packets: u64,
    /// DATA packets that departed again.
    pub retransmissions: u64,
    /// Bytes of UDP payload in DATA.
    pub bytes: u64,
    /// REPORTs acted on.
    pub reports: u64,
    /// REPORTs dropped because they release or promise the impossible.
    pub reports_refused: u64,
    /// Ranges dropped because too many waited.
    pub requests_refused: u64,
    /// CLOSEs dropped because their seq lies outside what is held.
    pub closes_refused: u64,
    /// MARKs sent because data waited for credit.
    pub credit_stalls: u64,
    /// Times a repeat waited for its budget.
    pub budget_stalls: u64,
    /// Packets of another tag.
    pub foreign: u64,
    /// Packets of a type that has no place here.
    pub unexpected: u64,
    /// Congestion notifications: REPORTs in which `marked` rose.
    pub congestion: u64,
    /// The receiver's own count of DATA received, modulo 2^32.
    pub received_by_peer: u32,
    /// The receiver's own count of packets given up, modulo 2^32.
    pub skipped_by_peer: u32,
    /// The receiver's own count of late packets, modulo 2^16.
    pub late_at_peer: u16,
    /// The index that the receiver's program has come to, or that a device plays, as it last
    /// reported.
    pub position_of_peer: SampleIndex,
    /// Samples that were not there when the device was to play them, as it said when the stream
    /// closed; only at an opener.
    pub underflow_at_peer: u64,
}

impl SenderStats {
    pub(crate) fn take_report(&mut self, position: SampleIndex, fields: &ReportFields) {
        self.position_of_peer = position;
        self.received_by_peer = fields.received;
        self.skipped_by_peer = fields.skipped;
        self.late_at_peer = fields.late;
    }
}
