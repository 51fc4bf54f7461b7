//! The offer of a device: the terms that an opening gets.

use std::time::Duration;

use samplewire_proto::session::{AcceptParams, OpenRequest, StreamTerms};
use samplewire_proto::stream::PAYLOAD_OFFSET_MAX;
use samplewire_proto::wire::{HEADER_LEN, TRAILER_LEN};
use samplewire_proto::{SampleIndex, WINDOW_RANGE};

use crate::error::OpenError;
use crate::options::{DeviceOptions, DrawnTerms};
use crate::port::{IP_BYTES_MAX, MTU_RANGE, PACKET_BYTES_MAX};
use crate::quantum;
use crate::source::StreamInfo;

/// The stream and the options, checked against each other.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) info: StreamInfo,
    pub(crate) frame_bytes: usize,
    pub(crate) window: u32,
    /// The granularity of a payload: whole samples and whole beats.
    unit_bytes: usize,
    payload_bytes: Option<u16>,
    pub(crate) payload_bytes_max: usize,
    pub(crate) reorder_tolerance: u32,
    drawn: DrawnTerms,
    /// Packets of a quantum with the largest payload.
    pub(crate) quantum_packets: u32,
}

impl Offer {
    pub(crate) fn new(
        info: &StreamInfo,
        options: &DeviceOptions,
        mtu_bytes: usize,
        hold_max: Duration,
    ) -> Result<Self, OpenError> {
        let range = |option, value: u64, range| OpenError::OptionRange { option, value, range };
        info.check()?;
        if options.window == 0 || options.window > 1 << 24 {
            return Err(range("window", u64::from(options.window), WINDOW_RANGE));
        }
        if !(576..=IP_BYTES_MAX).contains(&options.packet_bytes_max) {
            return Err(range("mtu", options.packet_bytes_max as u64, MTU_RANGE));
        }
        let tolerance_ns = u64::try_from(options.reorder_tolerance.as_nanos()).unwrap_or(u64::MAX);
        if tolerance_ns > 1_000_000_000 {
            return Err(range("reorder tolerance", tolerance_ns, "0 to 1000000000 ns"));
        }
        let frame_bytes = info.frame_bytes();
        let unit_bytes = lcm(8, frame_bytes);
        let least_bytes = frame_bytes.next_multiple_of(8) + 8;
        let room = options.packet_bytes_max.min(mtu_bytes).min(IP_BYTES_MAX) - 28;
        let payload_max = room - HEADER_LEN - TRAILER_LEN;
        if unit_bytes.max(least_bytes) > payload_max {
            return Err(range("channels", u64::from(info.channels), "as few as fit a packet"));
        }
        if let Some(bytes) = options.payload_bytes {
            let bytes = usize::from(bytes);
            if bytes < least_bytes {
                return Err(range(
                    "payload",
                    bytes as u64,
                    "what holds a sample of all channels and a count of 8 bytes",
                ));
            }
            if bytes == 0 || !bytes.is_multiple_of(unit_bytes) {
                return Err(range(
                    "payload",
                    bytes as u64,
                    "a multiple of 8 bytes and of a sample of all channels",
                ));
            }
            if bytes > payload_max && options.packet_bytes_max < mtu_bytes.min(IP_BYTES_MAX) {
                return Err(OpenError::Contradiction {
                    one: format!("payload of {bytes} bytes"),
                    other: format!("mtu of {}", options.packet_bytes_max),
                    hint: format!("at most {} bytes fit", payload_max / unit_bytes * unit_bytes),
                });
            }
            if bytes > payload_max {
                return Err(range(
                    "payload",
                    bytes as u64,
                    "at most what the interface's MTU carries",
                ));
            }
        }
        let payload_bytes_max = options.payload_bytes.map_or(payload_max, usize::from);
        let packet_samples = payload_bytes_max / frame_bytes;
        let rate_hz = info.rate_hz();
        let quantum_packets =
            quantum::packets(payload_bytes_max, packet_samples, hold_max, rate_hz, options.window);
        Ok(Self {
            info: info.clone(),
            frame_bytes,
            window: options.window,
            unit_bytes,
            payload_bytes: options.payload_bytes,
            payload_bytes_max,
            reorder_tolerance: (tolerance_ns / 16) as u32,
            drawn: options.drawn,
            quantum_packets,
        })
    }

    /// Packets of a quantum in a session with this payload: as many as fit, minus one that the end
    /// of a burst may need.
    pub(crate) fn quantum_packets_at(&self, payload_bytes: usize) -> u32 {
        let fitting = (self.quantum_bytes() / payload_bytes) as u32 - 1;
        fitting.min(quantum::packets_max(self.window))
    }

    /// Capacity of a quantum in bytes.
    pub(crate) const fn quantum_bytes(&self) -> usize {
        (self.quantum_packets as usize + 1) * self.payload_bytes_max
    }

    /// The terms for a request to one of several streams, whose first index has the time `tai_ns`.
    /// `None` if the path cannot carry the chosen payload, or a payload that holds the end of a
    /// burst.
    pub(crate) fn params(
        &self,
        request: &OpenRequest,
        is_out: bool,
        first_index: SampleIndex,
        streams: u16,
        tai_ns: Option<u64>,
    ) -> Option<StreamTerms> {
        let pad = if is_out { usize::from(request.pad) } else { 0 };
        let offset = (HEADER_LEN + pad).min(PAYLOAD_OFFSET_MAX.into());
        let proven = usize::from(if is_out { request.len_out } else { request.len_in });
        let room = proven.min(PACKET_BYTES_MAX).checked_sub(offset + TRAILER_LEN)?;
        let payload_bytes = match self.payload_bytes {
            Some(bytes) if usize::from(bytes) <= room => usize::from(bytes),
            Some(_) => return None,
            None => self.largest_payload(room)?,
        };
        let params = AcceptParams {
            stream: request.stream,
            streams,
            first_index,
            first_seq: request.first_seq,
            rate_numerator: self.info.rate_numerator,
            rate_denominator: self.info.rate_denominator,
            format: self.info.format.number(),
            channels: self.info.channels,
            packet_samples: (payload_bytes / self.frame_bytes) as u32,
            payload_bytes: payload_bytes as u16,
            payload_offset: offset as u8,
            trailer_kind: 0,
            window: self.window,
            reorder_tolerance: self.reorder_tolerance,
            dead_ms: self.drawn.dead_ms,
            idle_ms: self.drawn.idle_ms,
            ranges_max: self.drawn.ranges_max,
            granularity_bytes: 8,
            time_ns: tai_ns.unwrap_or(0),
            centre_frequency_hz: self.info.centre_frequency_hz,
            name: self.info.name,
            ..AcceptParams::default()
        };
        StreamTerms::new(params).ok()
    }

    /// The largest multiple of 64 bytes, or of the granularity if no such multiple fits.
    fn largest_payload(&self, room: usize) -> Option<usize> {
        let room = room.min(self.payload_bytes_max);
        let step = lcm(64, self.unit_bytes);
        let step = if step <= room { step } else { self.unit_bytes };
        let bytes = room / step * step;
        (bytes > 0).then_some(bytes)
    }
}

fn lcm(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

#[cfg(test)]
mod tests {
    use samplewire_proto::session::{
        ListenConfig, ListenEvent, Listener, OpenConfig, Opener, Peer, StreamSlot,
    };
    use samplewire_proto::wire::{self, Role};
    use samplewire_proto::{Nanos, Seq};

    use super::*;
    use crate::format::Format;

    /// The request that a listener gets from an opener, over a path that carries IP packets of
    /// `packet_bytes`.
    fn request(packet_bytes: u16) -> OpenRequest {
        let (now, peer) = (Nanos::from_millis(1_000), Peer::v4([127, 0, 0, 1], 9_100));
        let config = OpenConfig::new(Role::Receive, 1, 1).with_first_seq(Seq(77));
        let config = config.with_packet_bytes_max(packet_bytes).unwrap();
        let mut opener = Opener::new(config, [1; 16], now);
        let slots = vec![StreamSlot::default(); 2];
        let mut listener = Listener::new(slots, ListenConfig::new(), [2; 16], 3);
        let mut packet = vec![0; IP_BYTES_MAX];
        for _ in 0..2 {
            let len = opener.poll_transmit(now, &mut packet).expect("it sends a request");
            listener.handle(now, peer, &packet[..len], &wire::parse(&packet[..len])).unwrap();
            if let Some(ListenEvent::Opening { request, .. }) = listener.poll_event() {
                return request;
            }
            let (_, len) = listener.poll_transmit(now, &mut packet).expect("it answers");
            let (header, answer) = wire::parse(&packet[..len]).unwrap();
            opener.handle(now, &header, &answer, len);
        }
        panic!("the listener got no request");
    }

    #[test]
    fn terms_are_those_of_the_stream_and_of_the_request() {
        let mut info = StreamInfo::new(Format::Sc16, 3, 245.76e6).unwrap();
        info.centre_frequency_hz = Some(1.42e9);
        info.name = "east".into();
        let options = DeviceOptions::new().window(500);
        let mut offer = Offer::new(&info, &options, 9_000, quantum::HOLD_MAX).unwrap();
        offer.drawn = DrawnTerms { dead_ms: 4_000, idle_ms: 70, ranges_max: 9 };
        let request = request(1_500);
        let terms = offer.params(&request, true, 12_345, 4, Some(99)).unwrap();
        let expected = AcceptParams {
            stream: 1,
            streams: 4,
            first_index: 12_345,
            first_seq: Seq(77),
            rate_numerator: 245_760_000,
            rate_denominator: 1,
            format: Format::Sc16.number(),
            channels: 3,
            packet_samples: 1_344 / 12,
            payload_bytes: 1_344,
            payload_offset: terms.payload_offset,
            trailer_kind: 0,
            window: 500,
            reorder_tolerance: 50_000 / 16,
            dead_ms: 4_000,
            idle_ms: 70,
            ranges_max: 9,
            granularity_bytes: 8,
            time_ns: 99,
            centre_frequency_hz: Some(1.42e9),
            name: "east".into(),
            ..AcceptParams::default()
        };
        assert_eq!(*terms, expected);
    }

    #[test]
    fn payload_beyond_the_chosen_mtu_names_both_and_the_largest_that_fits() {
        let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
        let options = DeviceOptions::new().payload_bytes(8_000).mtu(1_500);
        let error = Offer::new(&info, &options, 9_000, quantum::HOLD_MAX).unwrap_err();
        let words = "payload of 8000 bytes contradicts mtu of 1500: at most 1440 bytes fit";
        assert_eq!(error.to_string(), words);
        let options = DeviceOptions::new().payload_bytes(1_440).mtu(1_500);
        assert!(Offer::new(&info, &options, 9_000, quantum::HOLD_MAX).is_ok());
    }

    /// Header, payload and trailer are not longer than the largest packet that arrived.
    #[test]
    fn largest_payload_is_what_the_path_carries() {
        let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
        for (payload_bytes, is_carried) in [(1_440, true), (1_448, false)] {
            let options = DeviceOptions::new().payload_bytes(payload_bytes);
            let offer = Offer::new(&info, &options, 9_000, quantum::HOLD_MAX).unwrap();
            let packet_bytes = 28 + 22 + 1_440 + 4;
            let terms = offer.params(&request(packet_bytes), true, 0, 2, None);
            assert_eq!(terms.is_some(), is_carried, "{payload_bytes} bytes");
        }
    }

    /// Otherwise the last samples before a pause stay in a quantum that never fills.
    #[test]
    fn pool_of_a_playing_device_has_quanta_to_spare_at_every_window_and_payload() {
        let info = StreamInfo::new(Format::Sc16, 1, 1e9).unwrap();
        for window in 1..=300 {
            let options = DeviceOptions::new().window(window);
            let offer = Offer::new(&info, &options, 9_000, quantum::HOLD_MAX).unwrap();
            let quanta = quantum::of_window(offer.window, offer.quantum_packets);
            for payload_bytes in (64..=offer.payload_bytes_max).step_by(64) {
                let packets = offer.quantum_packets_at(payload_bytes);
                let spanning = window.div_ceil(packets) as usize + 1;
                assert!(spanning < quanta, "{spanning} of {quanta}: {window}, {payload_bytes}");
            }
        }
    }
}
