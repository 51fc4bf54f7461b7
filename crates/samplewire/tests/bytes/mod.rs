//! A source of bytes in memory.

use samplewire::BoxError;
use samplewire::format::Format;
use samplewire::source::{ReadSamples, StreamInfo, whole_frames};

/// Gives the same bytes so many times, and fails where they end within a sample.
#[derive(Debug)]
pub(crate) struct Bytes {
    info: StreamInfo,
    bytes: Vec<u8>,
    at: usize,
    rounds_left: u64,
}

impl Bytes {
    pub(crate) fn repeated(info: StreamInfo, bytes: Vec<u8>, rounds: u64) -> Self {
        Self { info, bytes, at: 0, rounds_left: rounds }
    }

    /// Counts from 0 up to `samples`: on from channel to channel, and from the last channel to the
    /// first at the next index.
    #[expect(clippy::allow_attributes, reason = "not each test counts")]
    #[allow(dead_code)]
    pub(crate) fn counter(samples: u64, channels: u16, rate_hz: f64) -> Box<dyn ReadSamples> {
        let info = StreamInfo::new(Format::Sc16, channels, rate_hz).expect("a rate in range");
        let counts = 0..samples as u32 * u32::from(channels);
        Box::new(Self::repeated(info, counts.flat_map(u32::to_le_bytes).collect(), 1))
    }
}

impl ReadSamples for Bytes {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        let frame_bytes = self.info.frame_bytes();
        let out = whole_frames(out, frame_bytes);
        let mut filled = 0;
        while filled < out.len() && self.rounds_left > 0 {
            let piece = (self.bytes.len() - self.at).min(out.len() - filled);
            out[filled..filled + piece].copy_from_slice(&self.bytes[self.at..self.at + piece]);
            (filled, self.at) = (filled + piece, self.at + piece);
            if self.at == self.bytes.len() {
                (self.at, self.rounds_left) = (0, self.rounds_left - 1);
            }
        }
        match filled % frame_bytes {
            0 => Ok(filled),
            cut if cut == filled => Err("the bytes end within a sample".into()),
            cut => {
                // They come again, alone.
                (self.at, self.rounds_left) = (self.bytes.len() - cut, 1);
                Ok(filled - cut)
            }
        }
    }
}
