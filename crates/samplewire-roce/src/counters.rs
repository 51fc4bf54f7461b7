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
    /// Packets dropped because no receive request was posted; those of a batch get one RNR NAK.
    pub not_ready: u64,
    /// Packets dropped because they break a rule, by rule; the first ends the connection.
    pub faults: [u64; Fault::ALL.len()],
    /// Packets dropped because the connection had failed.
    pub after_fault: u64,
    /// Packets dropped unanswered: no requests, or unsupported ones before the expected PSN.
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

/// Counters of a requester since its connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequesterStats {
    /// Request packets sent for the first time.
    pub packets: u64,
    /// Request packets sent again.
    pub retransmissions: u64,
    /// Payload bytes sent, retransmissions included.
    pub payload_bytes: u64,
    /// Messages acknowledged.
    pub messages: u64,
    /// Acknowledgements taken, positive ones.
    pub acks: u64,
    /// NAK "sequence error" that used up a retry, or found none left.
    pub sequence_naks: u64,
    /// RNR NAK that made the requester wait, or found no retry left.
    pub rnr_naks: u64,
    /// NAK that ended the connection.
    pub fatal_naks: u64,
    /// NAK dropped as a copy: the requester had gone back to that packet, or waits to send it.
    pub naks_repeated: u64,
    /// Acknowledgements dropped because their packet is acknowledged already.
    pub stale: u64,
    /// Acknowledgements dropped because their packet was not sent.
    pub beyond: u64,
    /// Acknowledgements dropped because of a reserved syndrome.
    pub reserved: u64,
    /// Acknowledgements dropped because the connection had failed.
    pub after_failure: u64,
    /// Times that no acknowledgement came within the timeout.
    pub timeouts: u64,
}

/// Counters of a queue pair since its last reset: what became of frames before its halves saw them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QpStats {
    /// Frames handed to the responder or the requester; their counters show the rest.
    pub taken: u64,
    /// Frames dropped because the state takes none of their kind.
    pub wrong_state: u64,
    /// Frames dropped because they are for another queue pair.
    pub other_number: u64,
    /// Frames dropped because they come from or go to another address.
    pub other_address: u64,
    /// Frames dropped because of another partition's key.
    pub other_partition: u64,
    /// Requests taken that a switch has marked (CE); they make the queue pair owe a notification.
    pub requests_marked: u64,
    /// Acknowledgements with a mark that the requester took.
    pub acks_marked: u64,
    /// Congestion notifications (CNP) sent.
    pub cnp_sent: u64,
    /// Congestion notifications received.
    pub cnp_received: u64,
    /// Cuts of the rate, by notifications or marked acknowledgements.
    pub cuts: u64,
}
