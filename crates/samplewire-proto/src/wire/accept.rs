//! ACCEPT: a stream is open, and these are its parameters.

use super::{HEADER_LEN, Header, PacketType, TRAILER_LEN, Tlvs, WireError, body_of, field, seal};
use crate::number::Tag;

/// A stream's parameters; the header's `index` is the first sample to come, and its `seq` the
/// first seq.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accept<'a> {
    /// The nonce of the OPEN.
    pub nonce: u64,
    /// The tag that the responder wants on every packet to it; none when it only described.
    pub tag: Tag,
    /// The stream's number.
    pub stream: u16,
    /// How many streams the device has.
    pub streams: u16,
    /// Names the device's run: sample indexes are comparable within one.
    pub boot_id: u64,
    /// The sample rate in hertz is this number by [`Accept::rate_denominator`].
    pub rate_numerator: u64,
    /// The denominator of the sample rate.
    pub rate_denominator: u32,
    /// The number of the sample [`Format`](super::Format).
    pub format: u16,
    /// How many channels are interleaved.
    pub channels: u16,
    /// How many samples, of all channels each, a packet holds.
    pub packet_samples: u32,
    /// The payload of a full packet in bytes.
    pub payload_bytes: u16,
    /// Where the payload of DATA starts, counted from the header's first byte: 22 to 64.
    pub payload_offset: u8,
    /// The trailer of the stream, 0 = CRC-32C.
    pub trailer_kind: u8,
    /// How many packets the responder can take or hold.
    pub window: u32,
    /// How much later than its successors a packet may come, in units of 16 ns.
    pub reorder_tolerance: u32,
    /// After how long a silence the peer counts as gone, in milliseconds.
    pub dead_ms: u16,
    /// How often an idle stream is reported, in milliseconds.
    pub idle_ms: u16,
    /// How many ranges of a REPORT the responder takes.
    pub ranges_max: u16,
    /// To how many bytes the payload of an end-of-burst packet is padded.
    pub granularity_bytes: u16,
    /// The time of the header's index in TAI nanoseconds, 0 = unknown.
    pub time_ns: u64,
    /// Centre frequency, name, quality of the clock.
    pub tlvs: Tlvs<'a>,
}

impl<'a> Accept<'a> {
    /// The length of the shortest ACCEPT with `tlvs`, header and CRC included.
    pub const fn packet_len_min(tlvs: &Tlvs<'_>) -> usize {
        HEADER_LEN + FIXED_LEN + tlvs.len_bytes() + TRAILER_LEN
    }

    /// Writes the whole packet, padded to `total_len` bytes, and returns its length.
    ///
    /// # Panics
    /// When `out` is shorter than `total_len`, `total_len` is below [`Accept::packet_len_min`],
    /// or `header` is of another type.
    pub fn emit(&self, header: &Header, total_len: usize, out: &mut [u8]) -> usize {
        let len_min = Self::packet_len_min(&self.tlvs);
        assert!(total_len >= len_min, "an ACCEPT of {total_len} bytes is too short");
        let body_len = total_len - HEADER_LEN - TRAILER_LEN;
        let body = body_of(PacketType::Accept, header, body_len, out);
        field::put_u64(body, at::NONCE, self.nonce);
        field::put_u32(body, at::TAG, self.tag.0);
        field::put_u16(body, at::STREAM, self.stream);
        field::put_u16(body, at::STREAMS, self.streams);
        field::put_u64(body, at::BOOT_ID, self.boot_id);
        field::put_u64(body, at::RATE_NUMERATOR, self.rate_numerator);
        field::put_u32(body, at::RATE_DENOMINATOR, self.rate_denominator);
        field::put_u16(body, at::FORMAT, self.format);
        field::put_u16(body, at::CHANNELS, self.channels);
        field::put_u32(body, at::PACKET_SAMPLES, self.packet_samples);
        field::put_u16(body, at::PAYLOAD_BYTES, self.payload_bytes);
        body[at::PAYLOAD_OFFSET] = self.payload_offset;
        body[at::TRAILER_KIND] = self.trailer_kind;
        field::put_u32(body, at::WINDOW, self.window);
        field::put_u32(body, at::REORDER_TOLERANCE, self.reorder_tolerance);
        field::put_u16(body, at::DEAD, self.dead_ms);
        field::put_u16(body, at::IDLE, self.idle_ms);
        field::put_u16(body, at::RANGES_MAX, self.ranges_max);
        field::put_u16(body, at::GRANULARITY, self.granularity_bytes);
        field::put_u64(body, at::TIME, self.time_ns);
        self.tlvs.write_to(&mut body[FIXED_LEN..]);
        seal(header, body_len, out)
    }

    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, WireError> {
        if body.len() < FIXED_LEN {
            return Err(WireError::Length { kind: PacketType::Accept, len: body.len() });
        }
        Ok(Self {
            nonce: field::get_u64(body, at::NONCE),
            tag: Tag(field::get_u32(body, at::TAG)),
            stream: field::get_u16(body, at::STREAM),
            streams: field::get_u16(body, at::STREAMS),
            boot_id: field::get_u64(body, at::BOOT_ID),
            rate_numerator: field::get_u64(body, at::RATE_NUMERATOR),
            rate_denominator: field::get_u32(body, at::RATE_DENOMINATOR),
            format: field::get_u16(body, at::FORMAT),
            channels: field::get_u16(body, at::CHANNELS),
            packet_samples: field::get_u32(body, at::PACKET_SAMPLES),
            payload_bytes: field::get_u16(body, at::PAYLOAD_BYTES),
            payload_offset: body[at::PAYLOAD_OFFSET],
            trailer_kind: body[at::TRAILER_KIND],
            window: field::get_u32(body, at::WINDOW),
            reorder_tolerance: field::get_u32(body, at::REORDER_TOLERANCE),
            dead_ms: field::get_u16(body, at::DEAD),
            idle_ms: field::get_u16(body, at::IDLE),
            ranges_max: field::get_u16(body, at::RANGES_MAX),
            granularity_bytes: field::get_u16(body, at::GRANULARITY),
            time_ns: field::get_u64(body, at::TIME),
            tlvs: Tlvs::parse(&body[FIXED_LEN..])?,
        })
    }
}

/// Where each field of the body stands.
mod at {
    pub(super) const NONCE: usize = 0;
    pub(super) const TAG: usize = 8;
    pub(super) const STREAM: usize = 12;
    pub(super) const STREAMS: usize = 14;
    pub(super) const BOOT_ID: usize = 16;
    pub(super) const RATE_NUMERATOR: usize = 24;
    pub(super) const RATE_DENOMINATOR: usize = 32;
    pub(super) const FORMAT: usize = 36;
    pub(super) const CHANNELS: usize = 38;
    pub(super) const PACKET_SAMPLES: usize = 40;
    pub(super) const PAYLOAD_BYTES: usize = 44;
    pub(super) const PAYLOAD_OFFSET: usize = 46;
    pub(super) const TRAILER_KIND: usize = 47;
    pub(super) const WINDOW: usize = 48;
    pub(super) const REORDER_TOLERANCE: usize = 52;
    pub(super) const DEAD: usize = 56;
    pub(super) const IDLE: usize = 58;
    pub(super) const RANGES_MAX: usize = 60;
    pub(super) const GRANULARITY: usize = 62;
    pub(super) const TIME: usize = 64;
}

const FIXED_LEN: usize = 72;
