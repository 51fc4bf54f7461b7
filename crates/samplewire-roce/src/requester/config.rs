//! The choices of a requester for a connection.

use samplewire_proto::Nanos;

use crate::number::{PathMtu, Psn};

/// The sending half of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequesterConfig {
    /// The PSN of the first request.
    pub psn: Psn,
    /// The payload of a full packet.
    pub mtu: PathMtu,
    /// Packets that may wait for an acknowledgement, 1 to 2^23. More bridge a longer round trip; a
    /// loss repeats up to so many.
    pub window: u32,
    /// An acknowledgement is requested at the end of each message, and by the packet that is so many
    /// behind the last one that did or behind the way back: 1 to the window.
    pub ack_every: u32,
    /// How long to wait for an acknowledgement.
    pub timeout: AckTimeout,
    /// How often a packet is sent again without progress, 0 to 7, before the connection fails.
    pub retries: u8,
    /// How often an RNR NAK is waited for without progress: 0 to 6, or 7 for no limit.
    pub rnr_retries: u8,
    /// In place of both counts: how long to go on without progress. Then the timeout doubles at each
    /// expiry, up to an eighth of this.
    pub patience: Option<Nanos>,
}

impl Default for RequesterConfig {
    /// A window of 64 packets, an ACK every 16, 67 ms, and all retries.
    fn default() -> Self {
        Self {
            psn: Psn::new(0),
            mtu: PathMtu::default(),
            window: 64,
            ack_every: 16,
            timeout: AckTimeout(14),
            retries: RETRIES_MAX,
            rnr_retries: RETRIES_MAX,
            patience: None,
        }
    }
}

impl RequesterConfig {
    /// Whether the choices are in range and do not contradict each other.
    ///
    /// # Errors
    /// The first choice that does not hold.
    pub const fn check(&self) -> Result<(), RequesterConfigError> {
        if self.window == 0 || self.window > WINDOW_MAX {
            return Err(RequesterConfigError::Window(self.window));
        }
        if self.ack_every == 0 || self.ack_every > self.window {
            let Self { ack_every, window, .. } = *self;
            return Err(RequesterConfigError::AckEvery { ack_every, window });
        }
        if self.retries > RETRIES_MAX {
            return Err(RequesterConfigError::Retries(self.retries));
        }
        if self.rnr_retries > RETRIES_MAX {
            return Err(RequesterConfigError::RnrRetries(self.rnr_retries));
        }
        Ok(())
    }
}

/// How long to wait for an acknowledgement: 4.096 us times 2^exponent (IB 9.7.6.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AckTimeout(u8);

impl AckTimeout {
    /// The timeout of an exponent, 0 for no timer at all; `None` above 31.
    pub const fn new(exponent: u8) -> Option<Self> {
        if exponent <= EXPONENT_MAX { Some(Self(exponent)) } else { None }
    }

    /// The shortest timeout of at least `span`; the longest one where there is none.
    pub fn covering(span: Nanos) -> Self {
        let units = span.0.div_ceil(UNIT_NS).max(2);
        let exponent = units.checked_next_power_of_two().map_or(64, u64::trailing_zeros);
        // Below 65.
        Self((exponent as u8).min(EXPONENT_MAX))
    }

    /// The exponent.
    pub const fn exponent(self) -> u8 {
        self.0
    }

    /// The time, `None` where there is no timer.
    pub const fn span(self) -> Option<Nanos> {
        if self.0 == 0 { None } else { Some(Nanos(UNIT_NS << self.0)) }
    }
}

/// A choice out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequesterConfigError {
    /// See [`RequesterConfig::window`].
    #[error("window of {0} packets: must be 1 to 2^23")]
    Window(u32),
    /// See [`RequesterConfig::ack_every`].
    #[error("acknowledgement every {ack_every} packets: must be 1 to the window of {window}")]
    AckEvery {
        /// The interval given.
        ack_every: u32,
        /// The window given.
        window: u32,
    },
    /// See [`RequesterConfig::retries`].
    #[error("{0} retries: must be 0 to 7")]
    Retries(u8),
    /// See [`RequesterConfig::rnr_retries`].
    #[error("{0} retries after RNR NAK: must be 0 to 7, where 7 is no limit")]
    RnrRetries(u8),
}

/// Half of the PSNs: with more outstanding, old and new numbers look alike.
pub const WINDOW_MAX: u32 = 1 << 23;

/// Both counts have three bits (IB 9.7); that of RNR NAK means no limit here.
pub(super) const RETRIES_MAX: u8 = 7;

const EXPONENT_MAX: u8 = 31;
const UNIT_NS: u64 = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_at_the_ends_of_their_ranges_hold_and_those_beyond_are_named() {
        let ok = RequesterConfig::default();
        let check = |config: RequesterConfig| config.check().err();
        assert_eq!(check(RequesterConfig { window: 1, ack_every: 1, ..ok }), None);
        assert_eq!(
            check(RequesterConfig { window: WINDOW_MAX, ack_every: WINDOW_MAX, ..ok }),
            None
        );
        assert_eq!(check(RequesterConfig { retries: 0, rnr_retries: 0, ..ok }), None);
        for window in [0, WINDOW_MAX + 1] {
            let error = RequesterConfigError::Window(window);
            assert_eq!(check(RequesterConfig { window, ..ok }), Some(error));
        }
        for ack_every in [0, 65] {
            let error = RequesterConfigError::AckEvery { ack_every, window: 64 };
            assert_eq!(check(RequesterConfig { ack_every, ..ok }), Some(error));
        }
        let error = RequesterConfigError::Retries(8);
        assert_eq!(check(RequesterConfig { retries: 8, ..ok }), Some(error));
        let error = RequesterConfigError::RnrRetries(8);
        assert_eq!(check(RequesterConfig { rnr_retries: 8, ..ok }), Some(error));
    }

    #[test]
    fn timeout_covers_a_span_with_the_smallest_exponent() {
        let covering = |ns| AckTimeout::covering(Nanos(ns)).exponent();
        assert_eq!([0, 1, 8_192].map(covering), [1; 3], "0 is no timer");
        assert_eq!([8_193, 16_384, 16_385].map(covering), [2, 2, 3]);
        assert_eq!([4_096 << 31, u64::MAX].map(covering), [31; 2]);
    }

    /// IB 9.7.6.1.3: the exponent 0 means no timer.
    #[test]
    fn timeout_doubles_with_its_exponent() {
        let span = |exponent| AckTimeout::new(exponent).map(AckTimeout::span);
        assert_eq!(span(0), Some(None));
        assert_eq!(span(1), Some(Some(Nanos(8_192))));
        assert_eq!(span(31), Some(Some(Nanos(4_096 << 31))));
        assert_eq!(span(32), None);
    }
}
