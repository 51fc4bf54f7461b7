//! The text form of a chain.

use std::fmt;
use std::str::FromStr;

use num_complex::Complex32;
use samplewire::TaiClock;
use samplewire::source::{QuantityError, parse_quantity};
use samplewire_blocks::ChainExt;
use samplewire_blocks::kernels::{kaiser, low_pass};
use samplewire_circuit::Chain;

use super::ChainError;

/// Blocks in order, as in `mix:1.2M,lowpass:200k,decimate:8`.
///
/// | step | does |
/// |---|---|
/// | `mix:HZ` | moves the band up by HZ, down if negative: the centre frequency falls by HZ |
/// | `lowpass:HZ` | passes frequencies up to 0.75 HZ each side of the centre, attenuates by 60 dB from 1.25 HZ on |
/// | `decimate:N` | keeps one sample in N; behind a `lowpass` with its taps, else behind a low-pass filter of its own that passes the inner 40 % of the new band and keeps the inner 80 % free of aliases |
/// | `interpolate:N` | makes N samples of one |
/// | `gain:FACTOR` | multiplies amplitudes |
///
/// ```
/// use samplewire_record::chain::ChainSpec;
///
/// let chain: ChainSpec = "mix:-1.2M,lowpass:200k,decimate:8".parse()?;
/// assert_eq!(chain.check(10e6)?, 1.25e6);
/// assert!(chain.check(2e6).unwrap_err().to_string().contains("mix:-1.2M at 2000000 S/s"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ChainSpec {
    steps: Vec<Step>,
}

/// A block of a [`ChainSpec`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// Moves the band up.
    Mix {
        /// The shift in hertz.
        hz: f64,
    },
    /// Attenuates frequencies far from the centre.
    LowPass {
        /// The cutoff in hertz.
        hz: f64,
    },
    /// Keeps one of every `factor` samples.
    Decimate {
        /// The decimation factor.
        factor: u32,
    },
    /// Makes `factor` samples of each sample.
    Interpolate {
        /// The interpolation factor.
        factor: u32,
    },
    /// Multiplies amplitudes.
    Gain {
        /// The amplitude factor.
        factor: f32,
    },
}

/// The ratio of samples after a chain to samples before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    interpolation: u64,
    decimation: u64,
}

impl Scale {
    /// Returns the first output at or after an input.
    pub(super) fn output_of(self, input: u64) -> u64 {
        let scaled = u128::from(input) * u128::from(self.interpolation);
        u64::try_from(scaled.div_ceil(self.decimation.into())).unwrap_or(u64::MAX)
    }

    /// Returns the time of the outputs from that of the inputs; `None` where its numbers do not fit.
    pub(super) fn clock_of(self, input: TaiClock) -> Option<TaiClock> {
        // In steps of which each input has `interpolation`, and each output `decimation`.
        let steps = TaiClock {
            index: input.index.checked_mul(self.interpolation)?,
            rate_numerator: input.rate_numerator.checked_mul(self.interpolation)?,
            ..input
        };
        let index = self.output_of(input.index);
        let decimation = u32::try_from(self.decimation).ok()?;
        Some(TaiClock {
            index,
            tai_ns: steps.tai_ns(index.checked_mul(self.decimation)?),
            rate_numerator: steps.rate_numerator,
            rate_denominator: input.rate_denominator.checked_mul(decimation)?,
        })
    }
}

impl ChainSpec {
    /// The steps in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Checks that each step is possible at its sample rate, and returns the rate after the chain.
    ///
    /// # Errors
    /// [`ChainError::Step`] reports the first step that is not possible.
    pub fn check(&self, rate_hz: f64) -> Result<f64, ChainError> {
        let mut rate_hz = rate_hz;
        for &step in &self.steps {
            let error = |why: String| ChainError::Step { step, rate_hz, why };
            let needs_rate = matches!(step, Step::Mix { .. } | Step::LowPass { .. });
            if needs_rate && rate_hz <= 0.0 {
                return Err(error("the sample rate must be known".into()));
            }
            match step {
                Step::Mix { hz } if hz.abs() > rate_hz / 2.0 => {
                    return Err(error(format!("must be within {} Hz", rate_hz / 2.0)));
                }
                Step::LowPass { hz } if taps_of(hz / rate_hz).is_none() => {
                    return Err(error(format!(
                        "must be {} to {} Hz",
                        rate_hz * CUTOFF_MIN,
                        rate_hz * CUTOFF_MAX
                    )));
                }
                Step::Decimate { factor } => rate_hz /= f64::from(factor),
                Step::Interpolate { factor } => rate_hz *= f64::from(factor),
                _ => {}
            }
        }
        Ok(rate_hz)
    }

    /// Returns how far the chain moves the band up, in hertz.
    pub(super) fn shift_hz(&self) -> f64 {
        let shifts = self.steps.iter().map(|step| match step {
            Step::Mix { hz } => *hz,
            _ => 0.0,
        });
        shifts.sum()
    }

    pub(super) fn ratio(&self) -> Scale {
        let one = Scale { interpolation: 1, decimation: 1 };
        self.steps.iter().fold(one, |scale, step| match *step {
            Step::Decimate { factor } => {
                Scale { decimation: scale.decimation.saturating_mul(factor.into()), ..scale }
            }
            Step::Interpolate { factor } => {
                Scale { interpolation: scale.interpolation.saturating_mul(factor.into()), ..scale }
            }
            _ => scale,
        })
    }

    /// Adds the blocks to a chain of samples at this rate.
    ///
    /// # Errors
    /// See [`ChainSpec::check`].
    pub fn add_to(
        &self,
        chain: Chain<Complex32>,
        rate_hz: f64,
    ) -> Result<Chain<Complex32>, ChainError> {
        self.check(rate_hz)?;
        let (mut chain, mut rate_hz) = (chain, rate_hz);
        let mut steps = self.steps.iter().copied().peekable();
        while let Some(step) = steps.next() {
            chain = match (step, steps.peek()) {
                (Step::Mix { hz }, _) => chain.mix(hz / rate_hz),
                (Step::LowPass { hz }, Some(&Step::Decimate { factor })) => {
                    steps.next();
                    let taps = taps_of(hz / rate_hz).expect("it was checked");
                    rate_hz /= f64::from(factor);
                    chain.decimate(&taps, factor as usize)
                }
                (Step::LowPass { hz }, _) => {
                    chain.filter(&taps_of(hz / rate_hz).expect("it was checked"))
                }
                (Step::Decimate { factor }, _) => {
                    rate_hz /= f64::from(factor);
                    chain.decimate(&band_taps(factor), factor as usize)
                }
                (Step::Interpolate { factor }, _) => {
                    rate_hz *= f64::from(factor);
                    let taps = band_taps(factor).into_iter().map(|tap| tap * factor as f32);
                    chain.interpolate(&taps.collect::<Vec<_>>(), factor as usize)
                }
                (Step::Gain { factor }, _) => chain.gain(factor),
            };
        }
        Ok(chain)
    }
}

/// Returns the taps of `lowpass` for a cutoff in cycles per sample, if it is in range.
fn taps_of(cutoff: f64) -> Option<Vec<f32>> {
    if !(CUTOFF_MIN..=CUTOFF_MAX).contains(&cutoff) {
        return None;
    }
    Some(kaiser(cutoff, cutoff / 2.0, ATTENUATION_DB).expect("the cutoff is in range"))
}

/// Returns the taps of the filter for a decimation or interpolation that has no `lowpass`.
fn band_taps(factor: u32) -> Vec<f32> {
    match factor {
        1 => vec![1.0],
        factor => low_pass(8 * factor as usize, 0.4 / f64::from(factor)),
    }
}

impl FromStr for ChainSpec {
    type Err = ParseChainError;

    fn from_str(text: &str) -> Result<Self, ParseChainError> {
        let steps = text.split(',').map(str::parse).collect::<Result<Vec<Step>, _>>()?;
        if steps.len() > STEPS_MAX {
            return Err(ParseChainError::TooMany { steps: steps.len() });
        }
        Ok(Self { steps })
    }
}

impl fmt::Display for ChainSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.steps.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{step}")?;
        }
        Ok(())
    }
}

impl FromStr for Step {
    type Err = ParseChainError;

    fn from_str(text: &str) -> Result<Self, ParseChainError> {
        let unknown = || ParseChainError::Unknown { step: text.to_owned() };
        let (name, value) = text.trim().split_once(':').ok_or_else(unknown)?;
        let number = || {
            parse_quantity(value)
                .map_err(|source| ParseChainError::Number { step: text.to_owned(), source })
        };
        let factor = || match value.parse::<u32>() {
            Ok(factor) if (1..=FACTOR_MAX).contains(&factor) => Ok(factor),
            _ => Err(ParseChainError::Factor { step: text.to_owned() }),
        };
        match name {
            "mix" => Ok(Self::Mix { hz: number()? }),
            "lowpass" => Ok(Self::LowPass { hz: number()? }),
            "decimate" => Ok(Self::Decimate { factor: factor()? }),
            "interpolate" => Ok(Self::Interpolate { factor: factor()? }),
            "gain" => Ok(Self::Gain { factor: number()? as f32 }),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mix { hz } => write!(f, "mix:{}", Quantity(*hz)),
            Self::LowPass { hz } => write!(f, "lowpass:{}", Quantity(*hz)),
            Self::Decimate { factor } => write!(f, "decimate:{factor}"),
            Self::Interpolate { factor } => write!(f, "interpolate:{factor}"),
            Self::Gain { factor } => write!(f, "gain:{factor}"),
        }
    }
}

/// A number, printed with a suffix where that is shorter.
struct Quantity(f64);

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (divisor, suffix) = match self.0.abs() {
            1e9.. => (1e9, "G"),
            1e6.. => (1e6, "M"),
            1e3.. => (1e3, "k"),
            _ => (1.0, ""),
        };
        write!(f, "{}{suffix}", self.0 / divisor)
    }
}

/// Why a text is not a valid chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseChainError {
    /// The step does not exist.
    #[error(
        "`{step}` is no step: use mix:HZ, lowpass:HZ, decimate:N, interpolate:N or gain:FACTOR, \
         separated by commas"
    )]
    Unknown {
        /// The text.
        step: String,
    },
    /// The value is not a number.
    #[error("`{step}`: {source}")]
    Number {
        /// The text.
        step: String,
        /// What is wrong.
        #[source]
        source: QuantityError,
    },
    /// The factor is out of range.
    #[error("`{step}`: the factor must be 1 to {FACTOR_MAX}")]
    Factor {
        /// The text.
        step: String,
    },
    /// There are too many steps.
    #[error("{steps} steps: at most {STEPS_MAX}")]
    TooMany {
        /// The number of steps.
        steps: usize,
    },
}

const ATTENUATION_DB: f64 = 60.0;

/// Cutoffs in cycles per sample. Below the minimum, a filter would have more than 7,000 taps.
const CUTOFF_MIN: f64 = 0.001;
const CUTOFF_MAX: f64 = 0.4;

const FACTOR_MAX: u32 = 4_096;
const STEPS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back() {
        for text in ["mix:-1.2M,lowpass:200k,decimate:8", "gain:0.5", "interpolate:4096,mix:0"] {
            assert_eq!(text.parse::<ChainSpec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn output_has_the_time_of_its_input() {
        let input = TaiClock::new(1_001, 5_000_000, 30_720_000, 7).unwrap();
        let scale = Scale { interpolation: 2, decimation: 125 };
        let output = scale.clock_of(input).unwrap();
        // Output 17 is input 1,062.5: 61.5 samples of 227.86 ns later.
        assert_eq!((output.index, output.tai_ns), (17, 5_000_000 + 14_013));
        assert_eq!((output.rate_numerator, output.rate_denominator), (61_440_000, 875));
        // Output 33 is input 2,062.5: 241,878.3 ns, of which each of both steps drops a part.
        assert_eq!(output.tai_ns(33), 5_000_000 + 241_877);
        let beyond = TaiClock { index: u64::MAX / 2 + 1, ..input };
        assert_eq!(scale.clock_of(beyond), None);
        assert_eq!(scale.clock_of(TaiClock { rate_denominator: u32::MAX, ..input }), None);
    }

    #[test]
    fn wrong_steps_are_named() {
        let cases = [
            ("", "`` is no step"),
            ("mix:1M,", "`` is no step"),
            ("squelch:3", "`squelch:3` is no step: use mix:HZ"),
            ("mix:fast", "`mix:fast`: `fast` is no number"),
            ("decimate:0", "`decimate:0`: the factor must be 1 to 4096"),
            ("decimate:4097", "`decimate:4097`: the factor must be 1 to 4096"),
            ("decimate:2.5", "`decimate:2.5`: the factor must be 1 to 4096"),
        ];
        for (text, words) in cases {
            let error = text.parse::<ChainSpec>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        let steps = |count: usize| vec!["gain:1"; count].join(",").parse::<ChainSpec>();
        assert!(steps(64).is_ok());
        assert_eq!(steps(65), Err(ParseChainError::TooMany { steps: 65 }));
    }

    #[test]
    fn steps_must_suit_the_rate_before_them() {
        let check = |text: &str, rate_hz| text.parse::<ChainSpec>().unwrap().check(rate_hz);
        assert_eq!(check("decimate:8,interpolate:2", 8e6).unwrap(), 2e6);
        assert!(check("mix:500k", 1e6).is_ok() && check("mix:501k", 1e6).is_err());
        assert!(check("lowpass:400k", 1e6).is_ok() && check("lowpass:401k", 1e6).is_err());
        assert!(check("lowpass:1k", 1e6).is_ok() && check("lowpass:999", 1e6).is_err());
        assert!(check("decimate:2,mix:500k", 1e6).is_err(), "the rate is 500 kS/s there");
        let error = check("mix:1", 0.0).unwrap_err().to_string();
        assert!(error.contains("must be known"), "{error}");
        assert_eq!(check("gain:2", 0.0).unwrap(), 0.0);
    }

    #[test]
    fn outputs_stand_at_or_after_inputs() {
        let scale = |text: &str| text.parse::<ChainSpec>().unwrap().ratio();
        let eighth = scale("decimate:4,decimate:2");
        assert_eq!([0, 1, 8, 9].map(|input| eighth.output_of(input)), [0, 1, 1, 2]);
        assert_eq!(scale("interpolate:3").output_of(5), 15);
        assert_eq!(scale("interpolate:4096,interpolate:4096").output_of(u64::MAX), u64::MAX);
    }
}
