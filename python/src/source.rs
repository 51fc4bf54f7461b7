//! What an emulated device sends: a source by name, or samples out of an array, from the start for
//! each session, and to a limit.

use std::io::Cursor;

use pyo3::prelude::*;
use samplewire::format::Format;
use samplewire::source::{ReadSamples, StreamInfo};
use samplewire::{BoxError, SampleIndex};
use samplewire_record::source::{ReaderSource, SourceError, SourceOptions, SourceSpec};

use crate::errors;
use crate::options::format_named;

/// Where the samples of a device come from (`samplewire/_emulate.py`).
#[derive(Clone, Debug, FromPyObject)]
pub(crate) struct Supply {
    /// The source's name; not looked at where there are `data`.
    source: String,
    data: Option<Vec<u8>>,
    format: Option<String>,
    channels: Option<u16>,
    rate_hz: Option<f64>,
    centre_frequency_hz: Option<f64>,
    name: String,
    seed: u64,
    samples_max: Option<u64>,
}

impl Supply {
    /// Whether the text names a source.
    pub(crate) fn check(&self, py: Python<'_>) -> PyResult<()> {
        let spec = self.source.parse::<SourceSpec>();
        spec.map(drop).map_err(|error| errors::spec_error(py, &error))
    }

    pub(crate) fn format(&self) -> PyResult<Option<Format>> {
        self.format.as_deref().map(format_named).transpose()
    }

    /// What a stream of such samples is, where nothing is read: to be played.
    pub(crate) fn info(&self, format: Option<Format>) -> Result<StreamInfo, SourceError> {
        let (format, channels) = (format.unwrap_or(Format::Sc16), self.channels.unwrap_or(1));
        let mut info = StreamInfo::new(format, channels, self.rate_hz.unwrap_or(RATE_HZ))?;
        self.dress(&mut info);
        Ok(info)
    }

    /// Opens the source from its start.
    pub(crate) fn open(&self, format: Option<Format>) -> Result<Limited, SourceError> {
        let mut options = SourceOptions::new().seed(self.seed);
        if let Some(format) = format {
            options = options.format(format);
        }
        if let Some(channels) = self.channels {
            options = options.channels(channels);
        }
        if let Some(rate_hz) = self.rate_hz {
            options = options.rate_hz(rate_hz);
        }
        let source: Box<dyn ReadSamples> = match &self.data {
            Some(data) => {
                Box::new(ReaderSource::new(Cursor::new(data.clone()), "samples", &options)?)
            }
            None => {
                let spec = self.source.parse::<SourceSpec>().map_err(|error| SourceError::Io {
                    operation: "find",
                    path: self.source.as_str().into(),
                    source: std::io::Error::other(error),
                })?;
                spec.open(&options)?
            }
        };
        let mut info = source.info().clone();
        self.dress(&mut info);
        Ok(Limited { source, info, left_samples: self.samples_max.unwrap_or(u64::MAX) })
    }

    fn dress(&self, info: &mut StreamInfo) {
        if !self.name.is_empty() {
            info.name = self.name.as_str().into();
        }
        info.centre_frequency_hz = self.centre_frequency_hz.or(info.centre_frequency_hz);
    }
}

/// A source that ends after so many samples.
pub(crate) struct Limited {
    source: Box<dyn ReadSamples>,
    info: StreamInfo,
    left_samples: u64,
}

impl ReadSamples for Limited {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        let frame_bytes = self.info.frame_bytes();
        let samples = (out.len() / frame_bytes).min(self.left_samples as usize);
        if samples == 0 {
            return Ok(0);
        }
        let len_bytes = self.source.read(&mut out[..samples * frame_bytes])?;
        self.left_samples -= (len_bytes / frame_bytes) as u64;
        Ok(len_bytes)
    }

    fn start_at(&mut self, first: SampleIndex) {
        self.source.start_at(first);
    }
}

/// Default sample rate of a played stream.
const RATE_HZ: f64 = 20e6;
