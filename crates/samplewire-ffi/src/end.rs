//! How a stream ended.

use samplewire::{End, ReceiveError};
use samplewire_proto::wire::CloseReason;

use crate::result::{Failure, sw_result};
use crate::sized::sized;

/// How a stream ended.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_end {
    /// Set it to `sizeof(sw_end)` before the call.
    pub struct_size: usize,
    /// `SW_RESULT_END`: complete; `SW_RESULT_CANCELLED`: by this program; else the error.
    pub result: u32,
    /// The reason if the peer closed it: 0 finished, 1 cancelled, 2 taken over, 3 the device's
    /// source or sink failed, 4 it received nothing for too long, 5 this end broke the protocol, 6
    /// underflow.
    pub close_reason: u32,
    /// The index after the last sample if the result is `SW_RESULT_END`; always set for a
    /// transmitter.
    pub final_index: u64,
}

sized!(
    sw_end { result: u32, close_reason: u32, final_index: u64 },
    sw_end { struct_size: size_of::<sw_end>(), result: 0, close_reason: 0, final_index: 0 }
);

/// An end as numbers, and as the failure that calls return.
pub(crate) fn of_end(end: &End) -> (sw_end, Failure) {
    use sw_result as R;
    let result = match end {
        End::Finished { .. } => R::End,
        End::Cancelled => R::Cancelled,
        End::ClosedByPeer(_) => R::ClosedByPeer,
        End::PeerRestarted => R::PeerRestarted,
        End::QueuePairFailed => R::QueuePairFailed,
        End::PeerSilent => R::PeerSilent,
        End::CircuitBreaker => R::CircuitBreaker,
        End::Violation(_) => R::Violation,
    };
    let text = format!("the stream ended: {:#}", end.words("the peer"));
    let close_reason = match end {
        End::ClosedByPeer(reason) => u32::from(reason.number()),
        End::Cancelled => u32::from(CloseReason::Cancelled.number()),
        _ => 0,
    };
    let final_index = if let End::Finished { final_index } = end { *final_index } else { 0 };
    let result_number = result as u32;
    let end = sw_end { result: result_number, close_reason, final_index, ..defaults() };
    (end, Failure::new(result, text))
}

/// Why no block comes any more, as numbers, and as the failure that calls return.
pub(crate) fn of_receive_error(error: &ReceiveError) -> (sw_end, Failure) {
    let failure = match error {
        ReceiveError::Closed(end) | ReceiveError::Broken(end) => return of_end(end),
        ReceiveError::Link(error) => Failure::from(error),
        ReceiveError::Apart { .. } => Failure::new(sw_result::StreamsApart, error.to_string()),
        _ => Failure::new(sw_result::Port, error.to_string()),
    };
    (of_failure(&failure), failure)
}

/// The end of a stream whose link or thread failed.
pub(crate) fn of_failure(failure: &Failure) -> sw_end {
    sw_end { result: failure.result as u32, ..defaults() }
}

fn defaults() -> sw_end {
    <sw_end as crate::sized::Sized_>::defaults()
}
