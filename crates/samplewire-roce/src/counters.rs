//! Counters of a queue pair: each packet is accepted, or dropped with one cause.

use crate::responder::Fault;

/// Counters of a responder since its connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponderStats {
    /// Request packets accepted.
    pub packets: u64,
    /// Messages completed.
    pub messages: u64,
    /// Payload bytes accepted.
    pub payload_bytes: u64,
    /// Packets dropped that had been accepted before; they are acknowledged.
    pub duplicates: u64,
    /// Packets dropped because an earlier one is missing; the first of them causes a NAK.
    pub out_of_order: u64,
    /// Packets dropped because no receive request was posted; each causes an RNR NAK.
    pub not_ready: u64,
    /// Packets dropped because they break a rule, by rule; the first ends the connection.
    pub faults: [u64; Fault::ALL.len()],
    /// Packets dropped because the connection had failed.
    pub after_fault: u64,
    /// Packets of a kind that a responder does not expect.
    pub unexpected: u64,
    /// Acknowledgements sent.
    pub acks: u64,
    /// NAK "sequence error" sent.
    pub sequence_naks: u64,
    /// RNR NAK sent.
    pub rnr_naks: u64,
    /// NAK sent for a rule that was broken.
    pub fault_naks: u64,
}
