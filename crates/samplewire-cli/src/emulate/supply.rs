//! The sources of a device's streams.

use samplewire::source::{PickedSource, ReadSamples, StreamInfo};
use samplewire_record::chain::ChainSource;
use samplewire_record::source::{SourceError, SourceOptions, SourceSpec};

use crate::arguments::EmulateArguments;
use crate::arguments::values::Pace;
use crate::failure::Failure;

/// The source of one stream, opened again for each session.
#[derive(Clone, Copy)]
pub(super) struct Supply<'a> {
    arguments: &'a EmulateArguments,
    pub(super) spec: &'a SourceSpec,
    /// The number of the stream.
    pub(super) stream: u16,
}

impl<'a> Supply<'a> {
    /// The source of each stream; none for a device that only plays.
    ///
    /// # Errors
    /// Several streams read standard input, or a device that only plays has streams to send.
    pub(super) fn of(arguments: &'a EmulateArguments) -> Result<Vec<Self>, Failure> {
        let streams = arguments.streams;
        let spec = match (&arguments.source, &arguments.play) {
            (Some(spec), _) => spec,
            (None, None) => &SourceSpec::Scene,
            (None, Some(_)) if streams == 1 => return Ok(Vec::new()),
            (None, Some(_)) => {
                return Err(Failure::Contradiction(format!(
                    "--streams {streams} needs a --source: with --play alone nothing is sent"
                )));
            }
        };
        if streams > 1 && *spec == SourceSpec::Stdin {
            return Err(Failure::Contradiction(format!(
                "--streams {streams} cannot share standard input: write it to a file first, or \
                 send its channels in one stream (--channels)"
            )));
        }
        Ok((0..streams).map(|stream| Self { arguments, spec, stream }).collect())
    }

    /// Opens the source at its beginning, behind the chain if there is one.
    ///
    /// # Errors
    /// It cannot be opened, its channels cannot be distributed, or the chain does not suit it.
    pub(super) fn open(&self) -> Result<Box<dyn ReadSamples>, Failure> {
        let source = self.open_unprocessed()?;
        Ok(match &self.arguments.chain {
            Some(chain) => Box::new(ChainSource::start(chain, source)?),
            None => source,
        })
    }

    /// Opens what the chain reads. A source with several channels is distributed over the streams in
    /// order; each stream of a generator has its own copy.
    ///
    /// # Errors
    /// It cannot be opened, or its channels cannot be distributed.
    fn open_unprocessed(&self) -> Result<Box<dyn ReadSamples>, Failure> {
        let (arguments, streams) = (self.arguments, self.arguments.streams);
        let mut options = SourceOptions::new()
            .repeat(arguments.repeat)
            .verify(arguments.verify)
            .seed(self.stream.into());
        if let Some(Pace::Clock { rate_hz } | Pace::Max { rate_hz: Some(rate_hz) }) = arguments.rate
        {
            options = options.rate_hz(rate_hz);
        }
        if let Some(format) = arguments.format {
            options = options.format(format);
        }
        let of_generator = matches!(self.spec, SourceSpec::Counter | SourceSpec::Null);
        if let Some(channels) = arguments.channels.or(of_generator.then_some(streams)) {
            options = options.channels(channels);
        }
        let source = self.spec.open(&options)?;
        if streams == 1 || (self.spec.is_generator() && !of_generator) {
            return Ok(source);
        }
        let channels = source.info().channels;
        if !channels.is_multiple_of(streams) {
            return Err(Failure::Source(SourceError::Contradiction {
                source_name: self.spec.to_string(),
                option: "streams",
                value: streams.to_string(),
                actual: format!("{channels} channels, which cannot be dealt to them evenly"),
            }));
        }
        let each = channels / streams;
        let first = self.stream * each;
        Ok(Box::new(PickedSource::new(source, first..first + each)))
    }

    /// The stream to announce; its name states which part of the source it has.
    pub(super) fn info(&self, source: &dyn ReadSamples) -> StreamInfo {
        let mut info = source.info().clone();
        if self.arguments.streams > 1 {
            info.name = format!("{} {}", info.name, self.stream).trim_start().into();
        }
        info
    }
}
