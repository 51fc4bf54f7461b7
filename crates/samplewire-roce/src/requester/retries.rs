//! How often a packet may still be sent again: two counts, which progress restores (IB 9.9).

use super::RequesterConfig;
use super::config::RETRIES_MAX;

/// What is left of each count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Retries {
    left: u8,
    /// `None` for no limit.
    rnr_left: Option<u8>,
}

impl Retries {
    pub(super) fn new(config: &RequesterConfig) -> Self {
        let rnr = config.rnr_retries;
        Self { left: config.retries, rnr_left: (rnr < RETRIES_MAX).then_some(rnr) }
    }

    /// After a timeout or a NAK "sequence error": whether one was left.
    pub(super) const fn spend(&mut self) -> bool {
        spend(&mut self.left)
    }

    /// After an RNR NAK: whether one was left.
    pub(super) const fn spend_rnr(&mut self) -> bool {
        match &mut self.rnr_left {
            None => true,
            Some(left) => spend(left),
        }
    }
}

const fn spend(left: &mut u8) -> bool {
    if *left == 0 {
        return false;
    }
    *left -= 1;
    true
}
