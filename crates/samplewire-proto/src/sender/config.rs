//! What the user of a sender may choose.

use super::control::Control;
use crate::number::Nanos;
use crate::out_of_range::OutOfRange;
use crate::rate::ParamsError;

/// Choices of the sending end; everything else follows from the opening.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderConfig {
    link_bps: u64,
    burst: Nanos,
    control: Control,
}

impl SenderConfig {
    /// Paces all departures to `link_bps` bits a second of Ethernet wire time, preamble and gap
    /// included. Range 10^4 to 10^13, or 0 (the default) for no pacing: then a burst may overrun a
    /// switch that is slower than this host's port.
    ///
    /// # Errors
    /// The rate is out of range.
    pub const fn with_link_bps(mut self, link_bps: u64) -> Result<Self, SenderConfigError> {
        if link_bps != 0 && (link_bps < 10_000 || link_bps > 10_000_000_000_000) {
            return Err(SenderConfigError::LinkRate(link_bps));
        }
        self.link_bps = link_bps;
        Ok(self)
    }

    /// How much of the wire's time a paced sender may take at once after a pause, in ns; default 0.
    /// At most 10 ms. A longer burst bridges late wake-ups, but needs larger buffers on the way.
    ///
    /// # Errors
    /// The burst is out of range.
    pub const fn with_burst(mut self, burst: Nanos) -> Result<Self, SenderConfigError> {
        if burst.0 > 10_000_000 {
            return Err(SenderConfigError::Burst(burst.0));
        }
        self.burst = burst;
        Ok(self)
    }

    /// How marks of congestion limit the rate besides the pace: departures keep to the lower of the
    /// two. Default: DCQCN on a line of unknown rate.
    ///
    /// # Errors
    /// A fixed rate of 0, or parameters that contradict each other.
    pub fn with_control(mut self, control: Control) -> Result<Self, SenderConfigError> {
        match &control {
            Control::None => {}
            Control::Fixed(rate) if rate.raw() == 0 => return Err(SenderConfigError::FixedRate),
            Control::Fixed(_) => {}
            Control::Dcqcn(config) => config.check().map_err(SenderConfigError::Control)?,
        }
        self.control = control;
        Ok(self)
    }

    /// For a stream that leaves by an interface of that speed in bits a second; `None` where it is
    /// unknown or virtual. Speeds below 10^6 count as unknown. It changes nothing where a line is
    /// configured or the control is not DCQCN.
    #[must_use]
    pub fn on_line(mut self, line_bps: Option<u64>) -> Self {
        if let Control::Dcqcn(config) = self.control {
            let line_bps = line_bps.filter(|&bps| bps >= LINE_BPS_MIN);
            self.control = Control::Dcqcn(config.or_line(line_bps));
        }
        self
    }

    /// Bits a second of wire time, 0 where departures are not paced.
    pub const fn link_bps(&self) -> u64 {
        self.link_bps
    }

    /// How marks limit the rate.
    pub const fn control(&self) -> &Control {
        &self.control
    }

    pub(crate) const fn burst(&self) -> Nanos {
        self.burst
    }
}

/// Slower than any Ethernet.
const LINE_BPS_MIN: u64 = 1_000_000;

/// A choice out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SenderConfigError {
    /// See [`SenderConfig::with_link_bps`].
    #[error("{}", OutOfRange("link rate", .0, "10^4 to 10^13 bit/s"))]
    LinkRate(u64),
    /// See [`SenderConfig::with_burst`].
    #[error("burst {0} ns: must be at most 10 ms")]
    Burst(u64),
    /// See [`Control::Fixed`].
    #[error("fixed rate of 0 b/s: must be 10^5 to 2 * 10^12 b/s")]
    FixedRate,
    /// See [`Control::Dcqcn`].
    #[error("congestion control: {0}")]
    Control(#[source] ParamsError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_at_the_ends_of_their_ranges_hold_and_those_beyond_are_named() {
        let config = SenderConfig::default();
        for bps in [0, 10_000, 10_000_000_000_000] {
            assert_eq!(config.with_link_bps(bps).map(|c| c.link_bps()), Ok(bps));
        }
        for bps in [1, 9_999, 10_000_000_000_001] {
            assert_eq!(config.with_link_bps(bps).err(), Some(SenderConfigError::LinkRate(bps)));
        }
        let most = Nanos::from_millis(10);
        assert_eq!(config.with_burst(most).map(|c| c.burst()), Ok(most));
        let above = most + Nanos(1);
        assert_eq!(config.with_burst(above).err(), Some(SenderConfigError::Burst(above.0)));
    }
}
