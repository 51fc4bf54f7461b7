//! The sum of an account: `docs/statistics.md#the-account`.

use super::Account;
/// Counts each index of a range in exactly one term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balance {
    /// The length of the range, over all runs of the device.
    pub indexes: u64,
    /// Samples delivered, and written where there is a file.
    pub samples: u64,
    /// Samples missing, for every cause.
    pub missing: u64,
    /// Indexes that the device left out on purpose after its first sample.
    pub left_out: u64,
    /// Samples received that the file did not take.
    pub not_written: u64,
    /// Indexes before the first sample of a run of the device.
    pub before_first: u64,
}

/// An account that does not add up. This is a defect of this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Defect {
    /// The sum of the terms is not the length of the range.
    #[error(
        "{indexes} indexes, but the terms add up to {sum}",
        indexes = .0.indexes,
        sum = .0.sum()
    )]
    Sum(Balance),
    /// A block or a gap begins before the end of the previous one.
    #[error("{0} pieces came twice")]
    Twice(u64),
    /// The sum by hop differs from the sum by cause.
    #[error("{by_hop} samples are missing by hop, and {by_cause} by cause")]
    Hops {
        /// The sum over all hops.
        by_hop: u64,
        /// The sum over all causes.
        by_cause: u64,
    },
    /// The file has more samples than were delivered.
    #[error("{written} samples are written, and {delivered} were delivered")]
    Written {
        /// What the file took.
        written: u64,
        /// What was delivered.
        delivered: u64,
    },
}

impl Balance {
    /// Checks an account whose files received `written` samples.
    ///
    /// # Errors
    /// [`Defect`].
    pub(super) fn new(account: &Account, written: u64) -> Result<Self, Defect> {
        let (delivered, missing) = (account.delivered, account.missing());
        let Some(not_written) = delivered.checked_sub(written) else {
            return Err(Defect::Written { written, delivered });
        };
        let balance = Self {
            indexes: account.before.saturating_add(account.next - account.first),
            samples: written,
            missing,
            left_out: account.left_out,
            not_written,
            before_first: account.before_first,
        };
        let by_hop = account.hops.total();
        match account.misplaced {
            pieces @ 1.. => Err(Defect::Twice(pieces)),
            _ if by_hop != missing => Err(Defect::Hops { by_hop, by_cause: missing }),
            _ if balance.sum() != balance.indexes => Err(Defect::Sum(balance)),
            _ => Ok(balance),
        }
    }

    /// Returns whether the whole range was delivered and written.
    pub const fn is_whole(&self) -> bool {
        self.missing == 0 && self.not_written == 0
    }

    fn sum(&self) -> u64 {
        let Self { indexes: _, samples, missing, left_out, not_written, before_first } = *self;
        // A device that restarts may use indexes up to the maximum in each run.
        [samples, missing, left_out, not_written, before_first]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}
