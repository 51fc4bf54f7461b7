//! What the samples of a stream are.

use samplewire_proto::session::{WireText, check_number, check_samples};
use samplewire_proto::stream::TermsError;
use samplewire_proto::wire::Format;
use samplewire_proto::{SampleIndex, TaiClock};

use super::ratio::nearest_ratio;

/// What one must know to make sense of a stream's bytes.
///
/// ```
/// use samplewire::format::Format;
/// use samplewire::source::StreamInfo;
///
/// let info = StreamInfo::new(Format::Sc16, 2, 4e6 / 3.0)?;
/// assert_eq!((info.rate_numerator, info.rate_denominator), (4_000_000, 3));
/// assert_eq!(info.frame_bytes(), 8);
/// # Ok::<(), samplewire::source::RateError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StreamInfo {
    /// What a sample of one channel is.
    pub format: Format,
    /// How many channels are interleaved, at least 1.
    pub channels: u16,
    /// The sample rate in hertz is this over `rate_denominator`; 0 when it is not known.
    pub rate_numerator: u64,
    /// See `rate_numerator`; at least 1 where the rate is known.
    pub rate_denominator: u32,
    /// The centre frequency in hertz.
    pub centre_frequency_hz: Option<f64>,
    /// A name for people, possibly empty; of a device it is the device's own, and prints escaped.
    pub name: WireText,
    /// How many samples (of all channels each) there will be; `None` when there is no end.
    pub len_samples: Option<u64>,
}

impl StreamInfo {
    /// This stream and another of the same format and rate as one: with the channels of both, both
    /// names with ` + ` between them, and the centre frequency if it is the same.
    #[must_use]
    pub fn joined(&self, other: &Self) -> Self {
        let both = [self.name.as_raw_bytes(), other.name.as_raw_bytes()].join(&b" + "[..]);
        let is_same = self.centre_frequency_hz == other.centre_frequency_hz;
        Self {
            name: WireText::from_raw(&both),
            channels: self.channels.saturating_add(other.channels),
            centre_frequency_hz: self.centre_frequency_hz.filter(|_| is_same),
            ..self.clone()
        }
    }

    /// An endless stream without a name.
    ///
    /// # Errors
    /// [`RateError`] unless the rate is above 0 and at most 1e12 Hz.
    pub fn new(format: Format, channels: u16, rate_hz: f64) -> Result<Self, RateError> {
        let (rate_numerator, rate_denominator) = ratio_of_rate(rate_hz)?;
        Ok(Self {
            format,
            channels,
            rate_numerator,
            rate_denominator,
            centre_frequency_hz: None,
            name: WireText::EMPTY,
            len_samples: None,
        })
    }

    /// An endless stream of one channel of `sc16` (complex 16-bit integers) with this name.
    ///
    /// # Errors
    /// See [`StreamInfo::new`].
    pub fn sc16(name: &str, rate_hz: f64) -> Result<Self, RateError> {
        Ok(Self { name: name.to_owned().into(), ..Self::new(Format::Sc16, 1, rate_hz)? })
    }

    /// The time of each index at the nominal rate, where that of one is known; `None` if the rate is
    /// not known.
    pub fn tai_clock(&self, index: SampleIndex, tai_ns: u64) -> Option<TaiClock> {
        TaiClock::new(index, tai_ns, self.rate_numerator, self.rate_denominator)
    }

    /// Checks what the fields say, as both ends of a stream do.
    ///
    /// # Errors
    /// Names the term that is wrong: no channel, a rate without a denominator, a centre frequency
    /// that is infinite or not a number.
    pub fn check(&self) -> Result<(), TermsError> {
        check_samples(self.channels, self.rate_numerator, self.rate_denominator)?;
        check_number("centre_frequency", self.centre_frequency_hz)
    }

    /// The sample rate in hertz, 0 when it is not known.
    pub fn rate_hz(&self) -> f64 {
        self.rate_numerator as f64 / f64::from(self.rate_denominator.max(1))
    }

    /// The size of one sample of all channels in bytes.
    pub fn frame_bytes(&self) -> usize {
        self.format.sample_bytes() * usize::from(self.channels)
    }
}

/// The fraction that is nearest to a sample rate.
fn ratio_of_rate(rate_hz: f64) -> Result<(u64, u32), RateError> {
    if !(rate_hz > 0.0 && rate_hz <= RATE_HZ_MAX) {
        return Err(RateError { rate_hz });
    }
    nearest_ratio(rate_hz, u32::MAX)
        .filter(|&(numerator, _)| numerator > 0)
        .ok_or(RateError { rate_hz })
}

/// A sample rate is out of range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a rate of {rate_hz} Hz: must be above 0 and at most 1e12")]
pub struct RateError {
    /// The rate.
    pub rate_hz: f64,
}

/// The largest sample rate that SigMF's schema allows: no source goes beyond. A recording of a stream
/// that does is read nevertheless.
const RATE_HZ_MAX: f64 = 1e12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_out_of_range_are_named() {
        for rate_hz in [0.0, -1.0, 2e12, f64::INFINITY, f64::NAN, 1e-300] {
            let error = StreamInfo::new(Format::Sc16, 1, rate_hz).unwrap_err();
            assert!(error.to_string().contains("must be above 0"), "{error}");
        }
    }

    #[test]
    fn rate_comes_back_as_it_was_given() {
        for rate_hz in [2e6, 61.44e6, 245.76e6 / 7.0, 0.1, 1e12, 4_915_200_000.0 / 48.0] {
            let info = StreamInfo::new(Format::Sc16, 1, rate_hz).unwrap();
            assert!((info.rate_hz() / rate_hz - 1.0).abs() < 1e-15, "{rate_hz}");
        }
    }
}
