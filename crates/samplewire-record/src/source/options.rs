//! Options of a source.

use std::str::FromStr;

use samplewire_proto::wire::Format;

/// Options of a source. An option that is not set comes from the recording, or is the default.
#[derive(Clone, Debug)]
pub struct SourceOptions {
    pub(super) rate_hz: Option<f64>,
    pub(super) format: Option<Format>,
    pub(super) channels: Option<u16>,
    pub(super) repeat: Repeat,
    pub(super) seed: u64,
    pub(super) verify: bool,
}

impl SourceOptions {
    /// Returns the defaults.
    pub const fn new() -> Self {
        Self {
            rate_hz: None,
            format: None,
            channels: None,
            repeat: Repeat::Times(1),
            seed: 0,
            verify: false,
        }
    }

    /// Sets the sample rate in hertz, above 0 to 1e12. It overrides the recording's rate. Default:
    /// the recording's; 20e6 for generators.
    #[must_use]
    pub const fn rate_hz(self, rate_hz: f64) -> Self {
        Self { rate_hz: Some(rate_hz), ..self }
    }

    /// Sets the sample format. Raw data require it, unless their name states it. A recording is not
    /// converted: another format is an error. Default: the recording's; sc16 for generators.
    #[must_use]
    pub const fn format(self, format: Format) -> Self {
        Self { format: Some(format), ..self }
    }

    /// Sets how many channels are interleaved, 1 to 65,535. Among generators, only the counter and
    /// silence support several. Default: the recording's; 1 for raw data and generators.
    #[must_use]
    pub const fn channels(self, channels: u16) -> Self {
        Self { channels: Some(channels), ..self }
    }

    /// Sets how often a file is played. Default: once. Generators never end.
    #[must_use]
    pub const fn repeat(self, repeat: Repeat) -> Self {
        Self { repeat, ..self }
    }

    /// Sets the seed of the noise. Default: 0.
    #[must_use]
    pub const fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets whether to check a recording's SHA-512 when it is opened, which reads all of it.
    /// Default: no.
    #[must_use]
    pub const fn verify(self, verify: bool) -> Self {
        Self { verify, ..self }
    }
}

impl Default for SourceOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// How often a recording is played.
///
/// ```
/// use samplewire_record::source::Repeat;
///
/// assert_eq!("forever".parse(), Ok(Repeat::Forever));
/// assert_eq!("3".parse(), Ok(Repeat::Times(3)));
/// assert!("0".parse::<Repeat>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// This many times, at least once.
    Times(u64),
    /// Endlessly.
    Forever,
}

impl Repeat {
    /// Returns the length of all repetitions of `len`; `None` if it is endless or exceeds 64 bits.
    pub(super) const fn total(self, len: u64) -> Option<u64> {
        match self {
            Self::Times(times) => len.checked_mul(times),
            Self::Forever => None,
        }
    }
}

impl FromStr for Repeat {
    type Err = ParseRepeatError;

    fn from_str(text: &str) -> Result<Self, ParseRepeatError> {
        if text == "forever" {
            return Ok(Self::Forever);
        }
        let times = text.parse().ok().filter(|&times| times > 0);
        times.map(Self::Times).ok_or_else(|| ParseRepeatError { text: text.to_owned() })
    }
}

/// The text is not a number of repetitions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` repetitions: must be a number from 1, or forever")]
pub struct ParseRepeatError {
    /// The text.
    pub text: String,
}
