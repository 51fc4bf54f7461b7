//! TLVs: kind 2 bytes, length of the value 2 bytes, value; unknown kinds are skipped
//! (`docs/protocol.md#2.9`).
//!
//! They end at kind 0, at the end of their field, or where fewer than 2 bytes are left. The rest is
//! padding, which no reader uses.

use super::{WireError, field};

/// A checked list of TLVs: no length in it lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tlvs<'a> {
    /// Without the end mark and the padding.
    bytes: &'a [u8],
}

impl<'a> Tlvs<'a> {
    /// No TLVs.
    pub const EMPTY: Self = Self { bytes: &[] };

    /// Checks the TLVs at the start of `bytes`, the rest of which is padding.
    ///
    /// # Errors
    /// [`WireError::Tlv`] when one reaches past the end.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut at = 0;
        while bytes.len() - at >= KIND_LEN {
            let rest = &bytes[at..];
            let kind = field::get_u16(rest, 0);
            if kind == TlvKind::END {
                break;
            }
            if rest.len() < OVERHEAD {
                return Err(WireError::Tlv { kind, len: rest.len() });
            }
            let len = usize::from(field::get_u16(rest, KIND_LEN));
            if rest.len() - OVERHEAD < len {
                return Err(WireError::Tlv { kind, len });
            }
            at += OVERHEAD + len;
        }
        Ok(Self { bytes: &bytes[..at] })
    }

    /// The length in bytes, without an end mark.
    pub const fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Every kind and value, in the order of the packet.
    pub const fn iter(&self) -> TlvIter<'a> {
        TlvIter { rest: self.bytes }
    }

    /// The value of the first TLV of `kind`.
    pub fn find(&self, kind: u16) -> Option<&'a [u8]> {
        self.iter().find(|tlv| tlv.0 == kind).map(|tlv| tlv.1)
    }

    /// Writes the TLVs at the start of `place`, which is zero: the rest is the end mark.
    pub(super) fn write_to(&self, place: &mut [u8]) {
        place[..self.bytes.len()].copy_from_slice(self.bytes);
    }
}

impl<'a> IntoIterator for Tlvs<'a> {
    type Item = (u16, &'a [u8]);
    type IntoIter = TlvIter<'a>;

    fn into_iter(self) -> TlvIter<'a> {
        self.iter()
    }
}

/// Kinds and values of a list of TLVs.
#[derive(Clone, Debug)]
pub struct TlvIter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for TlvIter<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.len() < OVERHEAD {
            return None;
        }
        let kind = field::get_u16(self.rest, 0);
        let len = usize::from(field::get_u16(self.rest, KIND_LEN));
        let (value, rest) = self.rest[OVERHEAD..].split_at(len);
        self.rest = rest;
        Some((kind, value))
    }
}

/// Writes TLVs one after another into a buffer.
#[derive(Debug)]
pub struct TlvWriter<'b> {
    buf: &'b mut [u8],
    len: usize,
}

impl<'b> TlvWriter<'b> {
    /// Starts at the beginning of `buf`.
    pub fn new(buf: &'b mut [u8]) -> Self {
        Self { buf, len: 0 }
    }

    /// Appends a TLV and returns the writer.
    ///
    /// # Panics
    /// When the buffer is full, the value is above 65,535 bytes, or `kind` is the end mark.
    #[must_use]
    pub fn push(mut self, kind: u16, value: &[u8]) -> Self {
        assert_ne!(kind, TlvKind::END, "the end mark is no tlv");
        let len = u16::try_from(value.len()).expect("a tlv's value is at most 65,535 bytes");
        let place = &mut self.buf[self.len..self.len + OVERHEAD + value.len()];
        field::put_u16(place, 0, kind);
        field::put_u16(place, KIND_LEN, len);
        place[OVERHEAD..].copy_from_slice(value);
        self.len += OVERHEAD + value.len();
        self
    }

    /// Appends a number, as frequencies in hertz and gains in decibels are.
    ///
    /// # Panics
    /// As [`TlvWriter::push`].
    #[must_use]
    pub fn push_f64(self, kind: u16, value: f64) -> Self {
        self.push(kind, &value.to_bits().to_be_bytes())
    }

    /// The TLVs that have been written.
    pub fn finish(self) -> Tlvs<'b> {
        let Self { buf, len } = self;
        Tlvs { bytes: &buf[..len] }
    }
}

/// The numbers of the kinds.
///
/// Numbers are in network byte order, an `f64` as its bits (IEEE 754). Values per channel are one
/// for all channels, or one for each.
#[derive(Debug)]
pub enum TlvKind {}

impl TlvKind {
    /// Ends the list.
    pub const END: u16 = 0;
    /// The frequency of the middle of the band in hertz: `f64` per channel.
    pub const CENTRE_FREQUENCY: u16 = 1;
    /// The stream's name: UTF-8.
    pub const NAME: u16 = 2;
    /// The largest error of the stream's time in nanoseconds: `u32`, all ones = unknown.
    pub const CLOCK_QUALITY: u16 = 3;
    /// The sample rate in hertz: numerator `u64`, denominator `u32`.
    pub const SAMPLE_RATE: u16 = 4;
    /// The gain in decibels: `f64` per channel.
    pub const GAIN: u16 = 5;
    /// The analogue bandwidth in hertz: `f64` per channel.
    pub const BANDWIDTH: u16 = 6;
    /// The reference of the sample clock: `u8`, 1 = locked, 0 = lost.
    pub const REFERENCE: u16 = 7;
    /// How many ranges of a REPORT an opener that sends takes: `u16`.
    pub const RANGES: u16 = 8;
    /// What the device does that an opener sends to when samples are not there in time: `u8`,
    /// 0 = plays zeros, 1 = stops.
    pub const UNDERFLOW: u16 = 9;
    /// The queue pair of an end of a stream over RDMA: [`QueuePairTerms`](super::QueuePairTerms).
    pub const QUEUE_PAIR: u16 = 10;
    /// The memory of the receiver of a stream over RDMA: [`SlotRegion`](super::SlotRegion).
    pub const SLOTS: u16 = 11;
}

/// The length of a kind in bytes.
const KIND_LEN: usize = 2;
/// The length of a TLV less its value in bytes.
const OVERHEAD: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn list(bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
        let tlvs = Tlvs::parse(bytes).expect("the lengths are true");
        tlvs.iter().map(|(kind, value)| (kind, value.to_vec())).collect()
    }

    #[test]
    fn tlvs_are_these_bytes() {
        let mut buf = [0xFF; 32];
        let tlvs = TlvWriter::new(&mut buf)
            .push(TlvKind::NAME, b"adc0")
            .push(0x1234, &[])
            .push_f64(TlvKind::GAIN, 1.0)
            .finish();
        #[rustfmt::skip]
        let bytes = [
            0x00, 0x02, 0x00, 0x04, b'a', b'd', b'c', b'0', 0x12, 0x34, 0x00, 0x00,
            0x00, 0x05, 0x00, 0x08, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(tlvs.len_bytes(), bytes.len());
        assert_eq!(Tlvs::parse(&bytes), Ok(tlvs));
        assert_eq!(tlvs.find(0x1234), Some(&[][..]));
        assert_eq!(tlvs.find(TlvKind::CENTRE_FREQUENCY), None);
    }

    #[test]
    fn padding_after_the_end_mark_is_not_read() {
        let bytes = [0, 7, 0, 1, 0xAA, 0, 0, 0xFF, 0xFF, 0xFF];
        assert_eq!(list(&bytes), [(7, vec![0xAA])]);
        assert_eq!(list(&bytes[..6]), [(7, vec![0xAA])], "one byte cannot start a tlv");
    }

    #[test]
    fn tlv_that_reaches_past_the_end_is_an_error() {
        let bytes = [0, 7, 0, 3, 1, 2, 3, 0, 9, 0, 2, 5];
        assert_eq!(Tlvs::parse(&bytes), Err(WireError::Tlv { kind: 9, len: 2 }));
        assert_eq!(Tlvs::parse(&bytes[..10]), Err(WireError::Tlv { kind: 9, len: 3 }));
        assert_eq!(Tlvs::parse(&bytes[..9]), Err(WireError::Tlv { kind: 9, len: 2 }));
        assert_eq!(list(&bytes[..7]), [(7, vec![1, 2, 3])]);
        assert_eq!(Tlvs::parse(&[0, 1, 0xFF, 0xFF]), Err(WireError::Tlv { kind: 1, len: 0xFFFF }));
    }
}
