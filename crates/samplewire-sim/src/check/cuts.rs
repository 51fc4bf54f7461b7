//! Checks that notifications of congestion, however many, cut a rate at most once in D, and not below the
//! minimum ([protocol 8.3](../../../../docs/protocol.md#8.3)).

use samplewire_proto::Nanos;
use samplewire_proto::rate::DcqcnParams;
use samplewire_proto::sender::SenderStats;

use super::session::Session;

/// The cuts that a sender has made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cuts {
    count: u64,
    /// By the sender's clock.
    last_at: Option<Nanos>,
}

impl Session {
    /// Holds what a sender counts after a turn at `now`, by its clock; how many cuts it has made in that.
    pub(crate) fn check_cuts(&mut self, now: Nanos, stats: &SenderStats) -> Result<u64, String> {
        let DcqcnParams { cut_interval, minimum, .. } = DcqcnParams::samplewire(u64::MAX);
        if (1..minimum.bps()).contains(&stats.limit_bps) {
            return Err(format!("{} b/s are below the minimum", stats.limit_bps));
        }
        let cuts = &mut self.cuts;
        let made = stats.cuts - cuts.count;
        if made == 0 {
            return Ok(0);
        }
        cuts.count = stats.cuts;
        let last_at = cuts.last_at.replace(now);
        if made > 1 || last_at.is_some_and(|at| now.since(at) < cut_interval) {
            return Err(format!("{made} cuts at {}, the last one at {last_at:?}", now.0));
        }
        Ok(1)
    }
}
