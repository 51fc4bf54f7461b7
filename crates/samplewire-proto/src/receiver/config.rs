//! What the user of a receiver may choose.

use crate::number::Nanos;

/// How complete the delivery is (`docs/protocol.md#6`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// Nothing is ever skipped that the sender still holds.
    #[default]
    Complete,
    /// A packet is given up when it has been missing for this long.
    Deadline(Nanos),
    /// Nothing is requested again.
    BestEffort,
}

/// Choices of the receiving end; everything else follows from the opening.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverConfig {
    delivery: Delivery,
    credit_floor: u32,
    jump_max: u64,
}

impl ReceiverConfig {
    /// Complete delivery, and all of the pool promised at once.
    pub const fn new() -> Self {
        Self { delivery: Delivery::Complete, credit_floor: u32::MAX, jump_max: u64::MAX }
    }

    /// Chooses the delivery; default complete. A deadline is 1 us to 30 s: longer bounds latency
    /// less, shorter loses more (below 1.6 round trips hardly any repair arrives in time).
    ///
    /// # Errors
    /// The deadline is out of range.
    pub const fn with_delivery(mut self, delivery: Delivery) -> Result<Self, ReceiverConfigError> {
        if let Delivery::Deadline(deadline) = delivery
            && (deadline.0 < 1_000 || deadline.0 > 30_000_000_000)
        {
            return Err(ReceiverConfigError::Deadline(deadline.0));
        }
        self.delivery = delivery;
        Ok(self)
    }

    /// Packets that may be promised whatever the stream uses; default all of the window, which is
    /// right when the pool serves one stream. Streams that share a pool start small and grow with
    /// use; a larger floor starts faster and leaves the others less.
    ///
    /// # Errors
    /// A floor of zero could never receive a first packet.
    pub const fn with_credit_floor(mut self, packets: u32) -> Result<Self, ReceiverConfigError> {
        if packets == 0 {
            return Err(ReceiverConfigError::CreditFloor);
        }
        self.credit_floor = packets;
        Ok(self)
    }

    /// How many samples ahead a jump of the index may lead, for an end that plays; default as many as
    /// there are. More lets a sender plan further ahead; each sample of a jump may cost the end that
    /// plays its time, or a zero (`docs/protocol.md#6.10`).
    pub const fn with_jump_max(mut self, samples: u64) -> Self {
        self.jump_max = samples;
        self
    }

    pub(super) const fn jump_max(&self) -> u64 {
        self.jump_max
    }

    pub(super) const fn delivery(&self) -> Delivery {
        self.delivery
    }

    pub(super) const fn credit_floor(&self) -> u32 {
        self.credit_floor
    }
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// A choice out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiverConfigError {
    /// See [`ReceiverConfig::with_delivery`].
    #[error("deadline {0} ns: must be 1 us to 30 s")]
    Deadline(u64),
    /// See [`ReceiverConfig::with_credit_floor`].
    #[error("a credit floor of 0 packets can never start a stream")]
    CreditFloor,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_at_the_ends_of_their_ranges_hold_and_those_beyond_are_named() {
        let config = ReceiverConfig::new();
        for ns in [1_000, 30_000_000_000] {
            let chosen = config.with_delivery(Delivery::Deadline(Nanos(ns)));
            assert_eq!(chosen.map(|c| c.delivery()), Ok(Delivery::Deadline(Nanos(ns))));
        }
        for ns in [999, 30_000_000_001] {
            let refused = config.with_delivery(Delivery::Deadline(Nanos(ns))).err();
            assert_eq!(refused, Some(ReceiverConfigError::Deadline(ns)));
        }
        assert_eq!(config.with_credit_floor(1).map(|c| c.credit_floor()), Ok(1));
        assert_eq!(config.with_credit_floor(0).err(), Some(ReceiverConfigError::CreditFloor));
    }
}
