//! What a listener counts; meanings and remedies in `docs/statistics.md`.

/// Counters of a listener since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListenStats {
    /// OPENs without a valid cookie: many without openings are a flood or a scan.
    pub challenged: u64,
    /// ACCEPTs of streams and descriptions, repeats not counted.
    pub accepted: u64,
    /// ACCEPTs sent again: the first were lost, or the path is smaller than the packet.
    pub repeated: u64,
    /// Requests refused.
    pub refused: u64,
    /// OPENs that came later than one of the same peer that was accepted, or than the end of the
    /// stream that they opened.
    pub late: u64,
    /// Packets of no stream that were told so: a peer has missed an end.
    pub unknown: u64,
    /// Packets of no stream, and requests refused, beyond the rate at which they are told so.
    pub unanswered: u64,
    /// Packets from an address that no answer can reach, dropped unread.
    pub unanswerable: u64,
}
