//! A source that converts the sample format.

use samplewire::BoxError;
use samplewire::format::{ConvertError, convert};
use samplewire::source::{ReadSamples, StreamInfo, whole_frames};
use samplewire_proto::SampleIndex;
use samplewire_proto::wire::Format;

/// Reads a source and converts its samples, in pieces of up to 256 KiB.
pub struct ConvertingSource {
    inner: Box<dyn ReadSamples>,
    info: StreamInfo,
    piece: Vec<u8>,
}

impl ConvertingSource {
    /// Creates a source that converts the samples of `inner` to `format`.
    ///
    /// # Errors
    /// [`ConvertError`] if one format is complex and the other real.
    pub fn new(inner: Box<dyn ReadSamples>, format: Format) -> Result<Self, ConvertError> {
        convert(inner.info().format, format, &[], &mut [])?;
        let info = StreamInfo { format, ..inner.info().clone() };
        let frame_bytes = inner.info().frame_bytes();
        let piece = vec![0; (PIECE_BYTES / frame_bytes).max(1) * frame_bytes];
        Ok(Self { inner, info, piece })
    }
}

impl ReadSamples for ConvertingSource {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        let from = self.inner.info().format;
        let out = whole_frames(out, self.info.frame_bytes());
        let frame_bytes = self.inner.info().frame_bytes();
        let mut len_bytes = 0;
        while len_bytes < out.len() {
            let samples = (out.len() - len_bytes) / self.info.frame_bytes();
            let wanted_bytes = (samples * frame_bytes).min(self.piece.len());
            let read_bytes = self.inner.read(&mut self.piece[..wanted_bytes])?;
            if read_bytes == 0 {
                break;
            }
            let piece = &self.piece[..read_bytes];
            let converted = convert(from, self.info.format, piece, &mut out[len_bytes..]);
            len_bytes += converted.expect("it was checked that one becomes the other");
        }
        Ok(len_bytes)
    }

    fn start_at(&mut self, first: SampleIndex) {
        self.inner.start_at(first);
    }
}

impl std::fmt::Debug for ConvertingSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConvertingSource").field("info", &self.info).finish_non_exhaustive()
    }
}

/// Small enough to stay in the second-level cache between reading and conversion.
const PIECE_BYTES: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{ReaderSource, SourceOptions};

    #[test]
    fn samples_come_out_in_the_other_format_all_of_them() {
        let samples = 200_001;
        let bytes: Vec<u8> = (0..samples * 2).map(|at| (at % 251) as u8).collect();
        let options = SourceOptions::new().format(Format::Sc8).rate_hz(1e6);
        let reader = std::io::Cursor::new(bytes.clone());
        let inner = ReaderSource::new(reader, "bytes", &options).unwrap();
        let mut source = ConvertingSource::new(Box::new(inner), Format::Sc16).unwrap();
        assert_eq!(source.info().frame_bytes(), 4);
        let mut out = vec![0; 1_000_003];
        assert_eq!(source.read(&mut out).unwrap(), samples * 4, "the end");
        for (at, sample) in out[..samples * 4].as_chunks::<2>().0.iter().enumerate() {
            assert_eq!(i16::from_le_bytes(*sample), i16::from(bytes[at] as i8) * 256, "{at}");
        }
        assert_eq!(source.read(&mut out).unwrap(), 0);
    }

    #[test]
    fn complex_does_not_become_real() {
        let inner = samplewire::source::NullSource::new(Format::Sc16, 1, 1e6).unwrap();
        assert!(ConvertingSource::new(Box::new(inner), Format::R16).is_err());
    }
}
