//! Which peer has a stream, and which peer requests one.

#[cfg(feature = "search")]
mod fingerprint;

use super::cookie::LIFETIME_MAX;
use super::{Peer, StreamTerms};
use crate::number::{Departure, Nanos, SampleIndex, Seq, Tag};
use crate::stream::Underflow;
use crate::wire::{RdmaOffer, Role};

/// Which peer has a stream, and which had it before.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamSlot {
    pub(super) opened: Option<Opened>,
    /// The newest first.
    ended: [Option<Ended>; ENDED_KEPT],
}

/// The opening of a stream that has ended.
#[derive(Clone, Copy, Debug)]
struct Ended {
    peer: Peer,
    nonce: u64,
    /// When it was accepted.
    at: Nanos,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub(super) request: OpenRequest,
    pub(super) tag: Tag,
    pub(super) params: StreamTerms,
    pub(super) at: Nanos,
}

impl StreamSlot {
    /// Opens a stream; one that is open ends.
    pub(super) fn open(&mut self, opened: Opened) {
        self.release();
        self.opened = Some(opened);
    }

    /// Ends the stream; its opening is remembered.
    pub(super) fn release(&mut self) {
        let Some(Opened { request, at, .. }) = self.opened.take() else { return };
        self.ended.rotate_right(1);
        self.ended[0] = Some(Ended { peer: request.peer, nonce: request.nonce, at });
    }

    /// Whether the request is a copy of one that opened a stream which has ended. Packets of that
    /// stream may still be on their way, and carry the tag that the copy would be given: an attempt
    /// opens one stream at most. When its cookie is void, no copy comes this far.
    pub(super) fn has_ended(&self, now: Nanos, request: &OpenRequest) -> bool {
        self.ended.iter().flatten().any(|ended| {
            (ended.peer, ended.nonce) == (request.peer, request.nonce)
                && now.since(ended.at) < LIFETIME_MAX
        })
    }

    pub(super) fn is_of_another(&self, owner: u64) -> bool {
        self.opened.is_some_and(|opened| opened.request.owner != owner)
    }
}

impl Opened {
    /// Whether the request is the one that was accepted, once more.
    pub(super) fn is_repeated_by(&self, request: &OpenRequest) -> bool {
        self.request.peer == request.peer && self.request.nonce == request.nonce
    }

    /// Whether the request left before the one that was accepted: without this, a late duplicate of
    /// an earlier attempt would take the stream over. While a cookie from before the acceptance is
    /// valid, the departures of one peer are near enough to compare; later, none is needed.
    pub(super) fn overtook(&self, now: Nanos, request: &OpenRequest) -> bool {
        self.request.peer == request.peer
            && now.since(self.at) < LIFETIME_MAX
            && request.departure.before(self.request.departure)
    }
}

/// The request of a peer with a proven address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenRequest {
    /// The peer that sent the request.
    pub peer: Peer,
    /// The tag of packets to the opener.
    pub peer_tag: Tag,
    /// What the opener wants to do.
    pub role: Role,
    /// How the receiver will deliver: 0 complete, 1 by a deadline, 2 best effort.
    pub delivery: u8,
    /// The deadline of delivery in microseconds, 0 when there is none.
    pub deadline_us: u32,
    /// The stream's number, and its slot.
    pub stream: u16,
    /// Names the attempt.
    pub nonce: u64,
    /// Names the program or installation that opens.
    pub owner: u64,
    /// How many packets the opener takes or holds.
    pub window: u32,
    /// How many bytes the opener wishes between header and payload.
    pub pad: u8,
    /// The index at which the stream is to start, 0 = at once.
    pub start_index: SampleIndex,
    /// The seq of the first packet, when the opener sends.
    pub first_seq: Seq,
    /// How many ranges of a REPORT the opener takes, when it sends.
    pub ranges_max: u16,
    /// What to do when samples are not there in time, when the opener sends.
    pub underflow: Underflow,
    /// The opener's queue pair, where it requests a stream over RDMA.
    pub rdma: Option<RdmaOffer>,
    /// The UDP payload that came through from the opener in bytes: the longest DATA it may send.
    pub len_in: u16,
    /// The UDP payload that the ACCEPT will have in bytes: the longest DATA that may be sent.
    pub len_out: u16,
    /// When the OPEN left, by the opener's clock.
    pub(super) departure: Departure,
}

/// Openings of ended streams that are remembered; of more within 16 s the oldest is forgotten.
const ENDED_KEPT: usize = 4;
