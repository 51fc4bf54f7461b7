//! Silence.

use samplewire_proto::wire::Format;

use super::{RateError, ReadSamples, StreamInfo, whole_frames};
use crate::error::BoxError;

/// Zeros, the fastest source there is. As uc8, whose zero lies between two steps, the upper one.
/// Endless.
#[derive(Debug)]
pub struct NullSource {
    info: StreamInfo,
}

impl NullSource {
    /// Silence in any format on any number of channels.
    ///
    /// # Errors
    /// [`RateError`] when the rate is out of range.
    pub fn new(format: Format, channels: u16, rate_hz: f64) -> Result<Self, RateError> {
        let info = StreamInfo::new(format, channels, rate_hz)?;
        Ok(Self { info: StreamInfo { name: "null".into(), ..info } })
    }
}

impl ReadSamples for NullSource {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        let out = whole_frames(out, self.info.frame_bytes());
        out.fill(if self.info.format == Format::Uc8 { 0x80 } else { 0 });
        Ok(out.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_fills_whole_samples_only() {
        let mut out = [0xFF; 7];
        let mut null = NullSource::new(Format::Uc8, 3, 1e6).unwrap();
        assert_eq!(null.read(&mut out).unwrap(), 6);
        assert_eq!(out, [128, 128, 128, 128, 128, 128, 0xFF]);
    }
}
