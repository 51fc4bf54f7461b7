//! Sources by name: `FILE`, `-`, `counter`, `tone:1e6` and others.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use samplewire::source::{CounterSource, NullSource, QuantityError, ReadSamples, parse_rate};
use samplewire_proto::wire::Format;

use super::{
    NoiseSource, ReaderSource, SourceError, SourceOptions, chirp, open_recording, scene, tone,
};

/// The source that the user named.
///
/// For a file with the name of a generator, use a path: `./counter`.
///
/// ```
/// use samplewire_record::source::SourceSpec;
///
/// assert_eq!("tone:-250k".parse(), Ok(SourceSpec::Tone { frequency_hz: -250e3 }));
/// assert_eq!("a.sigmf-meta".parse(), Ok(SourceSpec::File("a.sigmf-meta".into())));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum SourceSpec {
    /// A recording: SigMF by its name or by metadata beside it, else raw samples.
    File(PathBuf),
    /// Standard input, raw samples: `-`.
    Stdin,
    /// See [`CounterSource`].
    Counter,
    /// See [`tone`].
    Tone {
        /// The tone's frequency in hertz; a negative one rotates in the other direction.
        frequency_hz: f64,
    },
    /// See [`chirp`].
    Chirp,
    /// See [`NoiseSource`].
    Noise,
    /// See [`scene`].
    Scene,
    /// See [`NullSource`].
    Null,
}

impl SourceSpec {
    /// Opens the source.
    ///
    /// # Errors
    /// [`SourceError`]: the file cannot be read, a required option is missing, or an option is out
    /// of range or contradicts the source.
    ///
    /// # Blocking
    /// Until a recording of up to 256 MiB is in memory, or a signal's table is made.
    pub fn open(&self, options: &SourceOptions) -> Result<Box<dyn ReadSamples>, SourceError> {
        let rate_hz = options.rate_hz.unwrap_or(GENERATOR_RATE_HZ);
        let format = options.format.unwrap_or(Format::Sc16);
        let channels = options.channels.unwrap_or(1);
        if self.is_generator() {
            self.check(channels, options)?;
        }
        Ok(match self {
            Self::File(path) => Box::new(open_recording(path, options)?),
            Self::Stdin => Box::new(ReaderSource::stdin(options)?),
            Self::Counter => Box::new(CounterSource::new(rate_hz, 0)?.with_channels(channels)),
            Self::Tone { frequency_hz } => Box::new(tone(format, rate_hz, *frequency_hz)?),
            Self::Chirp => Box::new(chirp(format, rate_hz)?),
            Self::Noise => Box::new(NoiseSource::new(format, rate_hz, options.seed)?),
            Self::Scene => Box::new(scene(format, rate_hz, options.seed)?),
            Self::Null => Box::new(NullSource::new(format, channels, rate_hz)?),
        })
    }

    /// Returns whether the source generates its samples.
    pub fn is_generator(&self) -> bool {
        !matches!(self, Self::File(_) | Self::Stdin)
    }

    /// Refuses options that a generator does not support.
    fn check(&self, channels: u16, options: &SourceOptions) -> Result<(), SourceError> {
        if channels == 0 || (channels > 1 && !matches!(self, Self::Null | Self::Counter)) {
            return Err(SourceError::Contradiction {
                source_name: self.to_string(),
                option: "channels",
                value: channels.to_string(),
                actual: "1".into(),
            });
        }
        match options.format {
            Some(format) if *self == Self::Counter && format != Format::Sc16 => {
                Err(SourceError::Format {
                    source_name: self.to_string(),
                    format,
                    reason: "a sample is 32 bits of its index, as sc16",
                })
            }
            _ => Ok(()),
        }
    }
}

impl FromStr for SourceSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        if let Some(frequency) = text.strip_prefix("tone:") {
            return Ok(Self::Tone { frequency_hz: parse_rate(frequency)? });
        }
        Ok(match text {
            "" => return Err(SpecError::Empty),
            "tone" => return Err(SpecError::ToneWithoutFrequency),
            "-" => Self::Stdin,
            "counter" => Self::Counter,
            "chirp" => Self::Chirp,
            "noise" => Self::Noise,
            "scene" => Self::Scene,
            "null" => Self::Null,
            path => Self::File(path.into()),
        })
    }
}

impl fmt::Display for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Stdin => f.write_str("-"),
            Self::Counter => f.write_str("counter"),
            Self::Tone { frequency_hz } => write!(f, "tone:{frequency_hz}"),
            Self::Chirp => f.write_str("chirp"),
            Self::Noise => f.write_str("noise"),
            Self::Scene => f.write_str("scene"),
            Self::Null => f.write_str("null"),
        }
    }
}

/// Why a text is not a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The text is empty.
    #[error("an empty source: must be FILE, -, counter, tone:FREQ, chirp, noise, scene or null")]
    Empty,
    /// `tone` has no frequency.
    #[error("`tone` needs its frequency in hertz, e.g. tone:1e6")]
    ToneWithoutFrequency,
    /// The tone's frequency is not a number.
    #[error("the tone's frequency: {0}")]
    Frequency(#[from] QuantityError),
}

const GENERATOR_RATE_HZ: f64 = 20e6;

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> SourceSpec {
        text.parse().unwrap()
    }

    fn error(text: &str, options: &SourceOptions) -> String {
        spec(text).open(options).err().expect("it is refused").to_string()
    }

    #[test]
    fn every_spec_prints_what_it_was_read_from() {
        for text in ["-", "counter", "tone:-1000", "chirp", "noise", "scene", "null", "./a b.raw"] {
            assert_eq!(spec(text).to_string(), text);
        }
    }

    #[test]
    fn texts_that_name_nothing_are_refused() {
        assert_eq!("".parse::<SourceSpec>(), Err(SpecError::Empty));
        assert_eq!("tone".parse::<SourceSpec>(), Err(SpecError::ToneWithoutFrequency));
        let error = "tone:fast".parse::<SourceSpec>().unwrap_err().to_string();
        assert!(error.contains("`fast`"), "{error}");
    }

    #[test]
    fn generators_take_rate_and_format_from_the_options() {
        let options = SourceOptions::new().rate_hz(1e6).format(Format::Rf32);
        for text in ["tone:1k", "chirp", "noise", "scene", "null"] {
            let mut source = spec(text).open(&options).unwrap();
            assert_eq!((source.info().rate_hz(), source.info().format), (1e6, Format::Rf32));
            assert_eq!(source.info().len_samples, None);
            assert_eq!(source.read(&mut [0; 4_003]).unwrap(), 4_000, "{text}");
        }
    }

    #[test]
    fn options_that_do_not_fit_are_named() {
        assert_eq!(
            error("counter", &SourceOptions::new().format(Format::R16)),
            "counter: cannot be r16: a sample is 32 bits of its index, as sc16"
        );
        assert_eq!(
            error("scene", &SourceOptions::new().channels(2)),
            "scene: channels 2 was requested, but it is 1"
        );
        assert_eq!(
            error("tone:600k", &SourceOptions::new().rate_hz(1e6)),
            "a frequency of 600000 Hz at 1000000 samples/s: at most half the rate fits"
        );
        assert_eq!(
            error("null", &SourceOptions::new().rate_hz(-1.0)),
            "a rate of -1 Hz: must be above 0 and at most 1e12"
        );
    }

    #[test]
    fn counter_and_silence_come_on_several_channels() {
        for text in ["counter", "null"] {
            let source = spec(text).open(&SourceOptions::new().channels(4)).unwrap();
            assert_eq!(source.info().frame_bytes(), 16);
        }
        assert!(error("null", &SourceOptions::new().channels(0)).contains("channels 0"));
    }
}
