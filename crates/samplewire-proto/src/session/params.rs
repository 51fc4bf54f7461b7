//! A stream's parameters as both ends keep them: an ACCEPT without borrowed bytes.

use super::WireText;
use crate::number::{SampleIndex, Seq, Tag};
use crate::wire::{Accept, Header, RdmaError, RdmaOffer, TlvKind, TlvWriter};

/// What an ACCEPT says of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AcceptParams {
    /// The stream's number.
    pub stream: u16,
    /// How many streams the device has.
    pub streams: u16,
    /// The index of the first sample to come.
    pub first_index: SampleIndex,
    /// The seq of the first packet; an opener that sends has named it.
    pub first_seq: Seq,
    /// The sample rate in hertz is this number by [`AcceptParams::rate_denominator`].
    pub rate_numerator: u64,
    /// The denominator of the sample rate.
    pub rate_denominator: u32,
    /// The number of the sample [`Format`](crate::wire::Format).
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
    /// The time of `first_index` in TAI nanoseconds, 0 = unknown.
    pub time_ns: u64,
    /// The frequency of the middle of the band in hertz.
    pub centre_frequency_hz: Option<f64>,
    /// The analogue bandwidth in hertz.
    pub bandwidth_hz: Option<f64>,
    /// The gain in decibels.
    pub gain_db: Option<f64>,
    /// The largest error of the stream's time in nanoseconds.
    pub clock_quality_ns: Option<u32>,
    /// The stream's name.
    pub name: WireText,
    /// The responder's queue pair, of a stream over RDMA.
    pub rdma: Option<RdmaOffer>,
}

impl AcceptParams {
    /// Keeps what an ACCEPT says; of TLVs with a value per channel the first channel's.
    ///
    /// # Errors
    /// A TLV of RDMA with a number that cannot be.
    pub(super) fn from_wire(header: &Header, accept: &Accept<'_>) -> Result<Self, RdmaError> {
        let number = |kind| {
            let value = accept.tlvs.find(kind)?;
            Some(f64::from_bits(u64::from_be_bytes(*value.first_chunk()?)))
        };
        let clock_quality =
            accept.tlvs.find(TlvKind::CLOCK_QUALITY).and_then(|value| value.first_chunk());
        Ok(Self {
            stream: accept.stream,
            streams: accept.streams,
            first_index: header.index,
            first_seq: header.seq,
            rate_numerator: accept.rate_numerator,
            rate_denominator: accept.rate_denominator,
            format: accept.format,
            channels: accept.channels,
            packet_samples: accept.packet_samples,
            payload_bytes: accept.payload_bytes,
            payload_offset: accept.payload_offset,
            trailer_kind: accept.trailer_kind,
            window: accept.window,
            reorder_tolerance: accept.reorder_tolerance,
            dead_ms: accept.dead_ms,
            idle_ms: accept.idle_ms,
            ranges_max: accept.ranges_max,
            granularity_bytes: accept.granularity_bytes,
            time_ns: accept.time_ns,
            centre_frequency_hz: number(TlvKind::CENTRE_FREQUENCY),
            bandwidth_hz: number(TlvKind::BANDWIDTH),
            gain_db: number(TlvKind::GAIN),
            clock_quality_ns: clock_quality.map(|value| u32::from_be_bytes(*value)),
            name: accept.tlvs.find(TlvKind::NAME).map_or(WireText::EMPTY, WireText::from_raw),
            rdma: RdmaOffer::find(&accept.tlvs)?,
        })
    }

    /// The ACCEPT that says this; `tlv_buf` holds its TLVs.
    pub(super) fn to_wire<'b>(
        self,
        nonce: u64,
        tag: Tag,
        boot_id: u64,
        tlv_buf: &'b mut [u8; TLVS_LEN_MAX],
    ) -> Accept<'b> {
        let mut tlvs = TlvWriter::new(tlv_buf);
        let numbers = [
            (TlvKind::CENTRE_FREQUENCY, self.centre_frequency_hz),
            (TlvKind::BANDWIDTH, self.bandwidth_hz),
            (TlvKind::GAIN, self.gain_db),
        ];
        for (kind, number) in numbers {
            if let Some(number) = number {
                tlvs = tlvs.push_f64(kind, number);
            }
        }
        if let Some(quality_ns) = self.clock_quality_ns {
            tlvs = tlvs.push(TlvKind::CLOCK_QUALITY, &quality_ns.to_be_bytes());
        }
        if !self.name.is_empty() {
            tlvs = tlvs.push(TlvKind::NAME, self.name.as_raw_bytes());
        }
        if let Some(offer) = &self.rdma {
            tlvs = offer.push(tlvs);
        }
        Accept {
            nonce,
            tag,
            stream: self.stream,
            streams: self.streams,
            boot_id,
            rate_numerator: self.rate_numerator,
            rate_denominator: self.rate_denominator,
            format: self.format,
            channels: self.channels,
            packet_samples: self.packet_samples,
            payload_bytes: self.payload_bytes,
            payload_offset: self.payload_offset,
            trailer_kind: self.trailer_kind,
            window: self.window,
            reorder_tolerance: self.reorder_tolerance,
            dead_ms: self.dead_ms,
            idle_ms: self.idle_ms,
            ranges_max: self.ranges_max,
            granularity_bytes: self.granularity_bytes,
            time_ns: self.time_ns,
            tlvs: tlvs.finish(),
        }
    }

    /// The length of a full DATA packet in bytes of UDP payload.
    pub fn data_len(&self) -> usize {
        usize::from(self.payload_offset)
            + usize::from(self.payload_bytes)
            + crate::wire::TRAILER_LEN
    }
}

/// The TLVs of an ACCEPT in bytes: three `f64`, a `u32` and a name, 4 bytes more for each, and those
/// of RDMA.
pub(super) const TLVS_LEN_MAX: usize =
    3 * (4 + 8) + (4 + 4) + (4 + WireText::LEN_MAX) + RdmaOffer::TLVS_LEN_MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Departure;
    use crate::wire::{Flags, PacketType, QueuePairTerms, SlotRegion};

    #[test]
    fn params_survive_the_wire() {
        let params = AcceptParams {
            stream: 1,
            streams: 2,
            first_index: 3,
            first_seq: Seq(4),
            rate_numerator: 5,
            rate_denominator: 6,
            format: 7,
            channels: 8,
            packet_samples: 9,
            payload_bytes: 10,
            payload_offset: 11,
            trailer_kind: 12,
            window: 13,
            reorder_tolerance: 14,
            dead_ms: 15,
            idle_ms: 16,
            ranges_max: 17,
            granularity_bytes: 18,
            time_ns: 19,
            centre_frequency_hz: Some(20.5),
            bandwidth_hz: Some(21.5),
            gain_db: Some(-22.5),
            clock_quality_ns: Some(23),
            name: WireText::new(&"n".repeat(WireText::LEN_MAX)),
            rdma: Some(RdmaOffer {
                queue_pair: QueuePairTerms { qpn: 24, first_psn: 25, path_mtu_bytes: 4096 },
                slots: Some(SlotRegion { address: 64, rkey: 26, slot_bytes: 128, slots: 2 }),
            }),
        };
        let header = Header {
            kind: PacketType::Accept,
            flags: Flags::NONE,
            tag: Tag(1),
            index: params.first_index,
            seq: params.first_seq,
            departure: Departure(0),
        };
        let mut tlv_buf = [0; TLVS_LEN_MAX];
        let accept = params.to_wire(24, Tag(25), 26, &mut tlv_buf);
        assert_eq!(accept.tlvs.len_bytes(), TLVS_LEN_MAX);
        assert_eq!((accept.nonce, accept.tag, accept.boot_id), (24, Tag(25), 26));
        assert_eq!(AcceptParams::from_wire(&header, &accept), Ok(params));

        let bare = AcceptParams { first_index: 3, first_seq: Seq(4), ..AcceptParams::default() };
        let mut tlv_buf = [0; TLVS_LEN_MAX];
        let accept = bare.to_wire(24, Tag(25), 26, &mut tlv_buf);
        assert!(accept.tlvs.is_empty());
        assert_eq!(AcceptParams::from_wire(&header, &accept), Ok(bare));
    }
}
