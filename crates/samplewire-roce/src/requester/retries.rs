//! How often, or for how long, a packet is sent again without progress.

use samplewire_proto::Nanos;

use super::RequesterConfig;
use super::config::{AckTimeout, RETRIES_MAX};

/// What is left until the connection fails; progress restores it.
///
/// IB has two counts (9.9), and one timeout for all retries (9.7.6.1.3): 8 expiries of the default are half
/// a second. A stream over RDMA has a peer that lives as long as it is heard, for 15 s by default. With a
/// patience the connection lives as long, and its timeout can follow the round trip: it begins short, so
/// that a loss costs little, and doubles, so that a peer that pauses is not flooded. The counts alone would
/// do neither: 8 doubled timeouts of 17 ms are 4.3 s, and the last would be half of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Retries {
    left: u8,
    /// `None` for no limit.
    rnr_left: Option<u8>,
    /// In place of the counts: until when, and the longest timeout.
    patience: Option<Patience>,
    /// Expiries since the last progress.
    expiries: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Patience {
    until: Nanos,
    timeout_max: Nanos,
}

impl Retries {
    /// All that the configuration allows, from `now` on.
    pub(super) fn new(config: &RequesterConfig, now: Nanos) -> Self {
        let rnr = config.rnr_retries;
        let patience = config
            .patience
            .map(|span| Patience { until: now + span, timeout_max: Nanos(span.0 / TIMEOUTS_MIN) });
        let rnr_left = (rnr < RETRIES_MAX).then_some(rnr);
        Self { left: config.retries, rnr_left, patience, expiries: 0 }
    }

    /// After a timeout: whether the packet may be sent again.
    pub(super) fn spend_timeout(&mut self, now: Nanos) -> bool {
        self.expiries = self.expiries.saturating_add(1);
        self.spend(now)
    }

    /// After a timeout or a NAK "sequence error": whether the packet may be sent again.
    pub(super) fn spend(&mut self, now: Nanos) -> bool {
        self.patience.map_or_else(|| spend(&mut self.left), |it| now < it.until)
    }

    /// After an RNR NAK: whether the packet may be sent again.
    pub(super) fn spend_rnr(&mut self, now: Nanos) -> bool {
        match (self.patience, &mut self.rnr_left) {
            (Some(patience), _) => now < patience.until,
            (None, None) => true,
            (None, Some(left)) => spend(left),
        }
    }

    /// When a timer that starts at `now` expires; `None` where there is no timer.
    pub(super) fn expires_at(&self, now: Nanos, timeout: AckTimeout) -> Option<Nanos> {
        let span = timeout.span()?;
        let Some(Patience { until, timeout_max }) = self.patience else { return Some(now + span) };
        let has_room = u32::from(self.expiries) < span.0.leading_zeros();
        let doubled = if has_room { span.0 << self.expiries } else { u64::MAX };
        Some(until.min(now + Nanos(doubled.min(timeout_max.0).max(span.0))))
    }
}

const fn spend(left: &mut u8) -> bool {
    if *left == 0 {
        return false;
    }
    *left -= 1;
    true
}

/// A patience has room for so many timeouts at least, as the IB count has with 7 retries.
const TIMEOUTS_MIN: u64 = 8;
