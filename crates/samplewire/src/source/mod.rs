//! Sources: where the samples come from that a device sends.
//!
//! [`ReadSamples`] is what a stream plays; here are those that need no file. Recordings, signals and the
//! command's `--source` are in `samplewire-record`. Reading allocates nothing.

mod counter;
mod info;
mod null;
mod picked;
mod quantity;
mod ratio;

use samplewire_proto::SampleIndex;

pub use counter::{CounterSource, counter_mismatch, counter_sample};
pub use info::{RateError, StreamInfo};
pub use null::NullSource;
pub use picked::PickedSource;
pub use quantity::{
    QuantityError, TimeError, parse_bit_rate, parse_quantity, parse_rate, parse_share, parse_size,
    parse_time,
};
pub use ratio::nearest_ratio;

use crate::error::BoxError;

/// Gives samples, one after another, in a format that is known when it is opened. It is to samples
/// what [`std::io::Read`] is to bytes; blocks of a graph have typed sources instead.
///
/// ```
/// use samplewire::source::{CounterSource, ReadSamples};
///
/// let mut source = CounterSource::new(20e6, 0)?;
/// let mut out = [0xFF; 10];
/// assert_eq!(source.read(&mut out)?, 8, "two samples of sc16 fit");
/// assert_eq!(out, [0, 0, 0, 0, 1, 0, 0, 0, 0xFF, 0xFF]);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub trait ReadSamples: Send {
    /// What the samples are.
    fn info(&self) -> &StreamInfo;

    /// Fills the front of `out` with as many whole samples (of all channels) as fit and says how
    /// many bytes that is. Less comes only at the end, and 0 ever after.
    ///
    /// # Errors
    /// The source's own; samples read before the error are lost.
    ///
    /// # Panics
    /// When `out` is shorter than one sample of all channels.
    ///
    /// # Blocking
    /// As long as a file or standard input does; generators do not.
    fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError>;

    /// Reads as [`ReadSamples::read`] does, for a stream without room: the samples are lost. A wrapper
    /// that counts what is sent counts these apart.
    ///
    /// # Errors
    /// As [`ReadSamples::read`].
    fn read_lost(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        self.read(out)
    }

    /// Sets the index of the next sample in its stream. Only a counter uses it; other
    /// sources give what comes next, whatever its index.
    fn start_at(&mut self, _first: SampleIndex) {}
}

/// The part of `out` that whole samples of `frame_bytes` fill: what [`ReadSamples::read`] fills.
///
/// # Panics
/// When that is nothing.
pub fn whole_frames(out: &mut [u8], frame_bytes: usize) -> &mut [u8] {
    let len_bytes = out.len() - out.len() % frame_bytes;
    assert_ne!(len_bytes, 0, "{} bytes for samples of {frame_bytes}", out.len());
    &mut out[..len_bytes]
}
