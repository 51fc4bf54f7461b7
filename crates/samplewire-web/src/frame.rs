//! Frames: one spectrum as bytes, and the gaps before it. Layout: `docs/web.md#frames`.
//!
//! All numbers are little-endian. [`Frame::encode`] writes a frame, and [`Frame::decode`] reads it.

use std::ops::Range;

/// A spectrum of a viewer.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The source and its stream.
    pub source: u16,
    /// See `source`.
    pub stream: u16,
    /// The channel of the stream.
    pub channel: u16,
    /// The number of the frame for this viewer, from 1.
    pub number: u32,
    /// Frames that were computed and not sent to this viewer, since it connected.
    pub omitted: u32,
    /// Transforms that the frame covers.
    pub transforms: u32,
    /// The index of the first sample.
    pub index: u64,
    /// Samples that the frame covers.
    pub len_samples: u64,
    /// Samples of the frames of this view that were sent to this viewer, with this one.
    pub seen_samples: u64,
    /// Samples delivered from the view's first frame on, before this frame's first sample.
    pub delivered_samples: u64,
    /// The number of gaps before the frame's first sample.
    pub gaps_before: u64,
    /// The sample rate in hertz.
    pub rate_hz: f64,
    /// The frequency of the view's centre in hertz, relative to 0 if the stream has no centre.
    pub centre_hz: f64,
    /// The width of the view in hertz.
    pub span_hz: f64,
    /// The level of byte 0 in dBFS.
    pub offset_db: f32,
    /// Decibels of one step.
    pub step_db: f32,
    /// The indexes between two frames, which a row of the waterfall stands for.
    pub row_samples: u64,
    /// The time of the first sample in TAI nanoseconds since 1970; `None` if the stream has no time.
    pub tai_ns: Option<u64>,
    /// The number of indexes before the first sample, over all runs of the device.
    pub position: u64,
    /// The number of the device's run, or of the session, from 1. Indexes of one run are comparable.
    pub boot: u32,
    /// The gaps since the viewer's last frame, oldest first: the latest [`Frame::gaps_max`].
    pub gaps: Vec<FrameGap>,
    /// Mean levels.
    pub mean: Vec<u8>,
    /// Peak levels.
    pub peak: Vec<u8>,
}

/// A gap before a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameGap {
    /// The first missing index.
    pub first: u64,
    /// The number of missing indexes.
    pub len: u64,
    /// The position of the cause in `RecordedCause::ALL`.
    pub cause: u8,
    /// The position of the hop in `Hop::ALL`.
    pub hop: u8,
    /// The number of the stream; `None` for all streams of the source.
    pub stream: Option<u16>,
    /// As [`Frame::boot`].
    pub boot: u32,
}

/// Bytes that are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The frame is of another kind or version.
    #[error("a frame of kind {kind}, version {version}")]
    Version {
        /// The kind.
        kind: u8,
        /// The version.
        version: u8,
    },
    /// The frame has another length than its header states.
    #[error("a frame of {len} bytes, and its header states {stated}")]
    Length {
        /// The length.
        len: usize,
        /// The stated length.
        stated: usize,
    },
}

impl Frame {
    /// The most gaps in a frame of so many bins. Earlier ones are in the account.
    pub const fn gaps_max(bins: usize) -> usize {
        BYTES_MAX.saturating_sub(HEADER_BYTES + 2 * bins) / GAP_BYTES
    }

    /// Appends the frame to `out`.
    ///
    /// # Panics
    /// The levels have different lengths, or there are too many gaps.
    pub fn encode(&self, out: &mut Vec<u8>) {
        assert_eq!(self.mean.len(), self.peak.len(), "two levels for each bin");
        let gaps_max = Self::gaps_max(self.mean.len());
        assert!(self.gaps.len() <= gaps_max, "the caller limits the gaps");
        out.reserve(HEADER_BYTES + self.gaps.len() * GAP_BYTES + 2 * self.mean.len());
        out.extend([KIND, VERSION]);
        for number in [self.source, self.stream, self.channel] {
            out.extend(number.to_le_bytes());
        }
        for number in [self.number, self.omitted, self.transforms, self.mean.len() as u32] {
            out.extend(number.to_le_bytes());
        }
        for number in [
            self.index,
            self.len_samples,
            self.seen_samples,
            self.delivered_samples,
            self.gaps_before,
        ] {
            out.extend(number.to_le_bytes());
        }
        for number in [self.rate_hz, self.centre_hz, self.span_hz] {
            out.extend(number.to_le_bytes());
        }
        for number in [self.offset_db, self.step_db] {
            out.extend(number.to_le_bytes());
        }
        out.extend((self.gaps.len() as u64).to_le_bytes());
        out.extend(self.row_samples.to_le_bytes());
        out.extend(self.tai_ns.unwrap_or(0).to_le_bytes());
        out.extend(self.position.to_le_bytes());
        out.extend(self.boot.to_le_bytes());
        out.extend([0; 4]);
        for gap in &self.gaps {
            out.extend(gap.first.to_le_bytes());
            out.extend(gap.len.to_le_bytes());
            out.extend([gap.cause, gap.hop]);
            out.extend(gap.stream.unwrap_or(u16::MAX).to_le_bytes());
            out.extend(gap.boot.to_le_bytes());
        }
        out.extend_from_slice(&self.mean);
        out.extend_from_slice(&self.peak);
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// [`FrameError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let short = |stated| FrameError::Length { len: bytes.len(), stated };
        let header = bytes.get(..HEADER_BYTES).ok_or(short(HEADER_BYTES))?;
        let (kind, version) = (header[0], header[1]);
        if (kind, version) != (KIND, VERSION) {
            return Err(FrameError::Version { kind, version });
        }
        let (bins, gaps) = (u32_at(header, 20) as usize, u64_at(header, 96));
        let gaps = usize::try_from(gaps).ok().filter(|&gaps| gaps <= Self::gaps_max(bins));
        let gaps = gaps.ok_or(short(usize::MAX))?;
        let levels = HEADER_BYTES + gaps * GAP_BYTES;
        let stated = levels.saturating_add(bins.saturating_mul(2));
        if bytes.len() != stated {
            return Err(short(stated));
        }
        let f32_at = |at| f32::from_bits(u32_at(header, at));
        let f64_at = |at| f64::from_bits(u64_at(header, at));
        Ok(Self {
            source: u16_at(header, 2),
            stream: u16_at(header, 4),
            channel: u16_at(header, 6),
            number: u32_at(header, 8),
            omitted: u32_at(header, 12),
            transforms: u32_at(header, 16),
            index: u64_at(header, 24),
            len_samples: u64_at(header, 32),
            seen_samples: u64_at(header, 40),
            delivered_samples: u64_at(header, 48),
            gaps_before: u64_at(header, 56),
            rate_hz: f64_at(64),
            centre_hz: f64_at(72),
            span_hz: f64_at(80),
            offset_db: f32_at(88),
            step_db: f32_at(92),
            row_samples: u64_at(header, 104),
            tai_ns: Some(u64_at(header, 112)).filter(|&tai_ns| tai_ns != 0),
            position: u64_at(header, 120),
            boot: u32_at(header, 128),
            gaps: bytes[HEADER_BYTES..levels].chunks_exact(GAP_BYTES).map(gap_of).collect(),
            mean: bytes[levels..levels + bins].to_vec(),
            peak: bytes[levels + bins..].to_vec(),
        })
    }

    /// The bins, lowest frequency first.
    pub fn bins(&self) -> Range<usize> {
        0..self.mean.len()
    }
}

fn gap_of(bytes: &[u8]) -> FrameGap {
    let stream = u16_at(bytes, 18);
    FrameGap {
        first: u64_at(bytes, 0),
        len: u64_at(bytes, 8),
        cause: bytes[16],
        hop: bytes[17],
        stream: (stream != u16::MAX).then_some(stream),
        boot: u32_at(bytes, 20),
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

const KIND: u8 = 1;
const VERSION: u8 = 2;
const HEADER_BYTES: usize = 136;
/// Seven frames that wait for a page take at most 1 MiB.
const BYTES_MAX: usize = (1 << 20) / 7;
const GAP_BYTES: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn frame() -> Frame {
        Frame {
            source: 1,
            stream: 2,
            channel: 3,
            number: 4,
            omitted: 5,
            transforms: 6,
            index: 1 << 40,
            len_samples: 8,
            seen_samples: 9,
            delivered_samples: 10,
            gaps_before: 11,
            rate_hz: 250e6,
            centre_hz: 1.09e9,
            span_hz: 2e6,
            offset_db: -140.0,
            step_db: 0.55,
            row_samples: 12,
            tai_ns: Some(1_800_000_000_000_000_000),
            position: 13,
            boot: 14,
            gaps: vec![
                FrameGap { first: 100, len: 7, cause: 1, hop: 2, stream: None, boot: 13 },
                FrameGap { first: 200, len: 1, cause: 0, hop: 0, stream: Some(3), boot: 14 },
            ],
            mean: vec![1, 2, 3],
            peak: vec![4, 5, 6],
        }
    }

    #[test]
    fn frame_comes_back_from_its_bytes() {
        let mut bytes = Vec::new();
        frame().encode(&mut bytes);
        assert_eq!(bytes.len(), 136 + 2 * 24 + 6);
        assert_eq!(bytes[..8], [1, 2, 1, 0, 2, 0, 3, 0]);
        assert_eq!(bytes[24..32], (1_u64 << 40).to_le_bytes());
        assert_eq!(bytes[112..120], 1_800_000_000_000_000_000_u64.to_le_bytes());
        assert_eq!(Frame::decode(&bytes), Ok(frame()));
        bytes[112..120].fill(0);
        assert_eq!(Frame::decode(&bytes), Ok(Frame { tai_ns: None, ..frame() }));
    }

    #[test]
    fn damaged_frame_is_an_error_and_no_panic() {
        let mut bytes = Vec::new();
        frame().encode(&mut bytes);
        for len in 0..bytes.len() {
            assert!(Frame::decode(&bytes[..len]).is_err(), "{len}");
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7F, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                // Either it is refused, or all of it is in the frame.
                if let Ok(frame) = Frame::decode(&damaged) {
                    let mut again = Vec::new();
                    frame.encode(&mut again);
                    assert_eq!(again.len(), damaged.len());
                }
            }
        }
    }
}
