//! How a sent stream reacts to marks of congestion.

use samplewire_proto::rate::{DcqcnParams, WireRate};
use samplewire_proto::sender::{self, DcqcnConfig};

use crate::error::OpenError;

/// Congestion control of a sent stream (`docs/congestion.md`): how the ECN marks of switches limit its
/// rate. Rates are bits a second of wire time.
///
/// ```
/// use samplewire::{Control, SendOptions};
///
/// let options = SendOptions::new().control(Control::Fixed { bps: 0 });
/// let error = options.open("127.0.0.1").unwrap_err();
/// assert_eq!(error.to_string(), "control rate 0: must be 10^5 to 10^12 bit/s");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Marks are counted and change nothing.
    None,
    /// Departures keep to this rate, 10^5 to 10^12; marks change nothing.
    Fixed {
        /// The rate, which is kept within 61 kb/s.
        bps: u64,
    },
    /// Marks cut the rate, and it rises again without them: DCQCN. Default.
    Dcqcn {
        /// The rate to start at, 10^7 to 10^12, on an interface of known speed whose source has no
        /// known rate; default that speed.
        start_bps: Option<u64>,
    },
}

/// A name of a control and a rate that do not fit each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.words("control", "control_rate"))]
pub enum ControlError {
    /// There is no control of that name.
    Name(String),
    /// A fixed control needs its rate.
    RateMissing,
    /// Without control there is no rate.
    RateUnused(u64),
    /// DCQCN never goes as low as this rate.
    StartRate(u64),
}

impl ControlError {
    /// The text with an interface's own names of both options, e.g. `--control` and `--control-rate`.
    pub fn words(&self, control: &str, control_rate: &str) -> String {
        match self {
            Self::Name(name) => format!("{control} `{name}` is none of none, fixed, dcqcn"),
            Self::RateMissing => {
                format!("{control} fixed needs the rate to keep to: add {control_rate}")
            }
            Self::RateUnused(bps) => format!(
                "{control} none has no rate: leave {control_rate} {bps} out, or set {control} fixed"
            ),
            Self::StartRate(bps) => format!(
                "{control} dcqcn never goes below 10 Mb/s: raise {control_rate} {bps}, or set \
                 {control} fixed"
            ),
        }
    }
}

impl Control {
    /// The control of a name, `none`, `fixed` or `dcqcn`, with its rate: that of `fixed`, or the one
    /// that `dcqcn` starts at.
    ///
    /// # Errors
    /// The name is unknown, or the rate does not fit it.
    pub fn named(name: &str, bps: Option<u64>) -> Result<Self, ControlError> {
        match (name, bps) {
            ("none", None) => Ok(Self::None),
            ("none", Some(bps)) => Err(ControlError::RateUnused(bps)),
            ("fixed", Some(bps)) => Ok(Self::Fixed { bps }),
            ("fixed", None) => Err(ControlError::RateMissing),
            ("dcqcn", Some(bps)) if bps < START_BPS_MIN => Err(ControlError::StartRate(bps)),
            ("dcqcn", start_bps) => Ok(Self::Dcqcn { start_bps }),
            (name, _) => Err(ControlError::Name(name.to_owned())),
        }
    }

    /// The protocol's choice for a source of that rate in samples a second, as a fraction; numerator
    /// 0 where it is not known.
    pub(crate) fn of_source(
        self,
        rate_numerator: u64,
        rate_denominator: u32,
    ) -> Result<sender::Control, OpenError> {
        let check = |bps: u64, min_bps: u64, range: &'static str| {
            let is_within = (min_bps..=BPS_MAX).contains(&bps);
            let (option, value) = ("control rate", bps);
            if is_within { Ok(()) } else { Err(OpenError::OptionRange { option, value, range }) }
        };
        match self {
            Self::None => Ok(sender::Control::None),
            Self::Fixed { bps } => {
                check(bps, FIXED_BPS_MIN, "10^5 to 10^12 bit/s")?;
                Ok(sender::Control::Fixed(WireRate::from_bps(bps)))
            }
            Self::Dcqcn { start_bps } => {
                if let Some(bps) = start_bps {
                    check(bps, START_BPS_MIN, "10^7 to 10^12 bit/s")?;
                }
                let config = DcqcnConfig::new()
                    .with_start_bps(start_bps)
                    .with_source_rate(rate_numerator, rate_denominator.into());
                Ok(sender::Control::Dcqcn(config))
            }
        }
    }
}

impl Default for Control {
    fn default() -> Self {
        Self::Dcqcn { start_bps: None }
    }
}

const BPS_MAX: u64 = 1_000_000_000_000;
/// Below it the unit of rates, 122 kb/s, is too coarse.
const FIXED_BPS_MIN: u64 = 100_000;
/// The minimum of the presets.
const START_BPS_MIN: u64 = 10_000_000;

const _: () = {
    let minimum = DcqcnParams::samplewire(BPS_MAX).minimum;
    assert!(minimum.raw() == WireRate::from_bps(START_BPS_MIN).raw());
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_rate_fit_each_other() {
        assert_eq!(Control::named("none", None), Ok(Control::None));
        assert_eq!(Control::named("fixed", Some(1)), Ok(Control::Fixed { bps: 1 }));
        for start_bps in [None, Some(START_BPS_MIN)] {
            assert_eq!(Control::named("dcqcn", start_bps), Ok(Control::Dcqcn { start_bps }));
        }
        let words = |name, bps| Control::named(name, bps).unwrap_err().to_string();
        assert_eq!(
            words("none", Some(5)),
            "control none has no rate: leave control_rate 5 out, or set control fixed"
        );
        assert_eq!(
            words("fixed", None),
            "control fixed needs the rate to keep to: add control_rate"
        );
        assert_eq!(
            words("dcqcn", Some(9_999_999)),
            "control dcqcn never goes below 10 Mb/s: raise control_rate 9999999, or set control fixed"
        );
        assert_eq!(words("cubic", None), "control `cubic` is none of none, fixed, dcqcn");
    }

    #[test]
    fn rates_at_the_ends_of_their_ranges_hold_and_those_beyond_are_named() {
        let text = |control: Control| control.of_source(0, 0).map_err(|it| it.to_string()).err();
        let fixed = |bps| text(Control::Fixed { bps });
        let start = |bps| text(Control::Dcqcn { start_bps: Some(bps) });
        assert_eq!((fixed(100_000), fixed(BPS_MAX)), (None, None));
        assert_eq!((start(10_000_000), start(BPS_MAX)), (None, None));
        let refused = "control rate 99999: must be 10^5 to 10^12 bit/s";
        assert_eq!(fixed(99_999).as_deref(), Some(refused));
        assert!(fixed(BPS_MAX + 1).is_some());
        let refused = "control rate 9999999: must be 10^7 to 10^12 bit/s";
        assert_eq!(start(9_999_999).as_deref(), Some(refused));
        assert!(start(BPS_MAX + 1).is_some());
    }
}
