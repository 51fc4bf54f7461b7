//! Raw samples from a byte stream of unknown length: standard input or a pipe.

use std::io::{ErrorKind, Read, Stdin, stdin};
use std::path::PathBuf;

use samplewire::BoxError;
use samplewire::source::{ReadSamples, StreamInfo, whole_frames};

use super::recording::raw_info;
use super::{SourceError, SourceOptions};

/// Reads raw samples from any reader. The input must end at a sample boundary.
#[derive(Debug)]
pub struct ReaderSource<R> {
    info: StreamInfo,
    reader: R,
    name: PathBuf,
    read_bytes: u64,
    /// The error that follows the samples of the last read.
    failure: Option<SourceError>,
}

impl<R: Read + Send> ReaderSource<R> {
    /// Creates a source of samples from `reader`; errors use the name `name`.
    ///
    /// # Errors
    /// [`SourceError`] if the format or the rate is not set, or an option is out of range.
    pub fn new(reader: R, name: &str, options: &SourceOptions) -> Result<Self, SourceError> {
        let info = raw_info(name, options)?;
        Ok(Self { info, reader, name: name.into(), read_bytes: 0, failure: None })
    }
}

impl ReaderSource<Stdin> {
    /// Creates a source of samples from standard input.
    ///
    /// # Errors
    /// See [`ReaderSource::new`].
    pub fn stdin(options: &SourceOptions) -> Result<Self, SourceError> {
        Self::new(stdin(), "-", options)
    }
}

impl<R: Read + Send> ReadSamples for ReaderSource<R> {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        let frame_bytes = self.info.frame_bytes();
        let out = whole_frames(out, frame_bytes);
        if let Some(error) = self.failure.take() {
            return Err(error.into());
        }
        let mut filled_bytes = 0;
        while filled_bytes < out.len() {
            match self.reader.read(&mut out[filled_bytes..]) {
                Ok(0) => break,
                Ok(len_bytes) => filled_bytes += len_bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    let path = self.name.clone();
                    self.failure = Some(SourceError::Io { operation: "read", path, source });
                    break;
                }
            }
        }
        self.read_bytes += filled_bytes as u64;
        let cut_bytes = filled_bytes % frame_bytes;
        if cut_bytes > 0 && self.failure.is_none() {
            self.failure = Some(SourceError::Truncated {
                path: self.name.clone(),
                len_bytes: self.read_bytes,
                frame_bytes,
            });
        }
        match self.failure.take_if(|_| filled_bytes == cut_bytes) {
            Some(error) => Err(error.into()),
            None => Ok(filled_bytes - cut_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samplewire_proto::wire::Format;

    /// Returns one byte at a time.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let one = out.len().min(1);
            self.0.read(&mut out[..one])
        }
    }

    fn options() -> SourceOptions {
        SourceOptions::new().format(Format::Sc16).rate_hz(1e6)
    }

    #[test]
    fn trickle_is_gathered_into_whole_samples() {
        let bytes: Vec<u8> = (0..12).collect();
        let mut source = ReaderSource::new(Trickle(&bytes), "-", &options()).unwrap();
        let mut out = [0; 11];
        assert_eq!(source.read(&mut out).unwrap(), 8);
        assert_eq!(out[..8], bytes[..8]);
        assert_eq!(source.read(&mut out).unwrap(), 4);
        assert_eq!(source.read(&mut out).unwrap(), 0);
    }

    #[test]
    fn end_within_a_sample_is_named() {
        let mut source = ReaderSource::new(&[0_u8; 10][..], "-", &options()).unwrap();
        assert_eq!(source.read(&mut [0; 64]).unwrap(), 8, "whole samples come first");
        let error = source.read(&mut [0; 64]).unwrap_err().to_string();
        assert!(error.starts_with("-: truncated recording: 10 bytes"), "{error}");
    }

    #[test]
    fn format_and_rate_must_be_given() {
        let error = ReaderSource::stdin(&SourceOptions::new().rate_hz(1e6)).unwrap_err();
        assert_eq!(error.to_string(), "-: its format is not known and must be given");
        let error = ReaderSource::stdin(&SourceOptions::new().format(Format::R8)).unwrap_err();
        assert_eq!(error.to_string(), "-: its rate is not known and must be given");
    }
}
