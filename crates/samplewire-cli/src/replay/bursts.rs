//! Splits a source into bursts.

use samplewire::BoxError;
use samplewire::source::{ReadSamples, StreamInfo};

/// Reads a limited number of samples from a source, and reports its end.
pub(super) struct Limited<'a> {
    source: &'a mut dyn ReadSamples,
    /// Bytes left in the burst; `None` for no limit.
    left_bytes: Option<u64>,
    has_ended: bool,
}

impl<'a> Limited<'a> {
    pub(super) fn new(source: &'a mut dyn ReadSamples, samples: Option<u64>) -> Self {
        let frame_bytes = source.info().frame_bytes() as u64;
        let left_bytes = samples.map(|samples| samples.saturating_mul(frame_bytes));
        Self { source, left_bytes, has_ended: false }
    }

    /// Whether the source has ended.
    pub(super) const fn has_ended(&self) -> bool {
        self.has_ended
    }
}

impl ReadSamples for Limited<'_> {
    fn info(&self) -> &StreamInfo {
        self.source.info()
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        let wanted_bytes =
            self.left_bytes.map_or(out.len() as u64, |left| left.min(out.len() as u64));
        if wanted_bytes == 0 {
            return Ok(0);
        }
        let len_bytes = self.source.read(&mut out[..wanted_bytes as usize])?;
        self.has_ended |= len_bytes == 0;
        self.left_bytes = self.left_bytes.map(|left| left - len_bytes as u64);
        Ok(len_bytes)
    }
}

#[cfg(test)]
mod tests {
    use samplewire::format::Format;
    use samplewire_record::source::{ReaderSource, SourceOptions};

    use super::*;

    #[test]
    fn bursts_share_a_source_out_and_the_last_says_so() {
        let options = SourceOptions::new().format(Format::Sc16).rate_hz(1e6);
        let reader = std::io::Cursor::new(vec![7; 4 * 250]);
        let mut source = ReaderSource::new(reader, "sevens", &options).unwrap();
        let mut lens = vec![];
        loop {
            let mut burst = Limited::new(&mut source, Some(100));
            let mut len = 0;
            loop {
                match burst.read(&mut [0; 64]).unwrap() {
                    0 => break,
                    len_bytes => len += len_bytes / 4,
                }
            }
            lens.push(len);
            if burst.has_ended() {
                break;
            }
        }
        assert_eq!(lens, [100, 100, 50]);
    }
}
