//! Counters of both ends: each frame is taken, or rejected for one reason.

/// Why an end rejects a frame. In the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It is no frame of the block transfer, or a damaged one.
    Wire,
    /// It is for another address.
    OtherDestination,
    /// It comes from another address than that of the peer.
    OtherSource,
    /// It belongs to another transfer than the present one, or has types that are not accepted.
    OtherTransfer,
    /// A frame of the transfer that is done, but for its summary in the time for answers.
    TransferBefore,
    /// The end has ended, or the sender's first summary has not left.
    NotNow,
    /// DATA or a summary to a sender, an answer to a receiver.
    OtherDirection,
    /// A seq that the transfer does not have: DATA from the summary's count on, or a list of what was
    /// never sent.
    BeyondEnd,
    /// DATA of another length than that of its packet.
    Length,
    /// It does not fit the memory, or the limit, of the receiver.
    TooLarge,
    /// A summary whose numbers contradict each other, or the summary before.
    Contradiction,
}

impl Rejection {
    /// Each of them; the counter of one is at its place here.
    pub const ALL: [Self; 11] = [
        Self::Wire,
        Self::OtherDestination,
        Self::OtherSource,
        Self::OtherTransfer,
        Self::TransferBefore,
        Self::NotNow,
        Self::OtherDirection,
        Self::BeyondEnd,
        Self::Length,
        Self::TooLarge,
        Self::Contradiction,
    ];
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// DATA sent for the first time.
    pub data: u64,
    /// DATA sent again.
    pub repeats: u64,
    /// Summaries sent.
    pub summaries: u64,
    /// Lists taken.
    pub lists: u64,
    /// `CK` taken.
    pub checks: u64,
    /// Seqs of those lists that were not repeated: they had been since the last summary.
    pub listed_again: u64,
    /// Frames rejected, by reason.
    pub rejected: [u64; Rejection::ALL.len()],
}

/// Counters of a receiver, over all its transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// DATA placed.
    pub data: u64,
    /// DATA that was there already.
    pub duplicates: u64,
    /// Summaries taken.
    pub summaries: u64,
    /// Lists sent.
    pub lists: u64,
    /// `CK` sent.
    pub checks: u64,
    /// `OK` sent.
    pub oks: u64,
    /// Frames rejected, by reason.
    pub rejected: [u64; Rejection::ALL.len()],
}

impl SenderStats {
    /// Frames rejected for one reason.
    pub const fn rejected_for(&self, reason: Rejection) -> u64 {
        self.rejected[reason as usize]
    }
}

impl ReceiverStats {
    /// Frames rejected for one reason.
    pub const fn rejected_for(&self, reason: Rejection) -> u64 {
        self.rejected[reason as usize]
    }
}
