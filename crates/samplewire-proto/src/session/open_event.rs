//! How an opening ended.

use super::StreamTerms;
use crate::number::{Nanos, Tag};
use crate::stream::TermsError;
use crate::wire::{Refuse, RefuseReason};

/// How an opening ended.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "an opening has one")]
pub enum OpenEvent {
    /// The stream is open, or described.
    Accepted(AcceptInfo),
    /// The responder does not open it.
    Refused {
        /// Why.
        reason: RefuseReason,
        /// The versions that the responder speaks: bit `n` is version `n`.
        versions: u16,
        /// After how many milliseconds another attempt makes sense, 0 = never.
        retry_ms: u32,
    },
    /// The terms of the ACCEPT contradict each other, or are out of their ranges: no stream is opened.
    /// A responder that opened one forgets it (`docs/protocol.md#3.14`).
    Contradicted(TermsError),
    /// No ACCEPT came in time.
    TimedOut {
        /// Whether a CHALLENGE came: the responder is there, but no size got through both ways.
        answers_seen: bool,
        /// The smallest IP packet tried, 0 when no CHALLENGE came.
        packet_bytes: u16,
    },
}

impl From<&Refuse> for OpenEvent {
    fn from(refuse: &Refuse) -> Self {
        Self::Refused {
            reason: refuse.reason,
            versions: refuse.versions,
            retry_ms: refuse.retry_ms,
        }
    }
}

/// What an opening found out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AcceptInfo {
    /// The stream's parameters.
    pub params: StreamTerms,
    /// Names the device's run: sample indexes are comparable within one.
    pub boot_id: u64,
    /// The tag of packets to the opener.
    pub tag: Tag,
    /// The tag of packets to the responder, none when the stream was only described.
    pub peer_tag: Tag,
    /// The shortest time to an answer of the opening: an upper bound of the round trip.
    pub rtt: Nanos,
    /// The largest IP packet that came through to the responder.
    pub packet_bytes_out: u16,
    /// The largest IP packet that came through to the opener.
    pub packet_bytes_in: u16,
}
