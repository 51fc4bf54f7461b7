//! What a device says of a stream when it is opened or described.

use std::net::SocketAddr;
use std::time::Duration;

use samplewire_proto::receiver::ReceiverStats;
use samplewire_proto::session::{AcceptInfo, StreamTerms, WireText};
use samplewire_proto::stream::Carriage;
use samplewire_proto::wire::{Format, VERSION};
use samplewire_proto::{SampleIndex, TaiClock};

use crate::device::RTT_INITIAL;
use crate::source::StreamInfo;

/// A device's stream as its ACCEPT described it, and what the opening measured of the path.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInfo {
    /// The device's address.
    pub address: SocketAddr,
    /// The stream's name, possibly empty: it prints escaped.
    pub name: WireText,
    /// The stream's number, and how many the device has.
    pub stream: u16,
    /// See `stream`.
    pub streams: u16,
    /// Names the device's run: indexes are comparable within one.
    pub boot_id: u64,
    /// What a sample is.
    pub format: Format,
    /// Channels, interleaved sample by sample.
    pub channels: u16,
    /// Sample rate in hertz as a fraction; numerator 0 when the device does not know it.
    pub rate_numerator: u64,
    /// See `rate_numerator`.
    pub rate_denominator: u32,
    /// Centre frequency in hertz.
    pub centre_frequency_hz: Option<f64>,
    /// The index of the first sample to come.
    pub first_index: SampleIndex,
    /// The time of `first_index` in TAI nanoseconds since 1970; `None` when the device does not know
    /// it.
    pub first_index_tai_ns: Option<u64>,
    /// The largest error of the device's times in nanoseconds; `None` when the device does not state
    /// it.
    pub clock_quality_ns: Option<u32>,
    /// Samples (of all channels each) in a packet.
    pub packet_samples: u32,
    /// Payload of a packet in bytes.
    pub payload_bytes: u16,
    /// Packets that the device holds for repair.
    pub window: u32,
    /// The largest IP packet that was shown to arrive, headers included, in bytes.
    pub path_mtu_bytes: u16,
    /// Round-trip time of the opening.
    pub rtt: Duration,
    /// The protocol's version.
    pub version: u8,
    /// How the packets of the stream travel.
    pub carriage: Carriage,
}

impl DeviceInfo {
    /// Sample rate in hertz, 0 when the device does not know it.
    pub fn rate_hz(&self) -> f64 {
        self.rate_numerator as f64 / f64::from(self.rate_denominator.max(1))
    }

    /// Bytes of one sample of all channels.
    pub fn frame_bytes(&self) -> usize {
        self.format.sample_bytes() * usize::from(self.channels)
    }

    /// The stream as sources and sinks know it.
    pub fn stream_info(&self) -> StreamInfo {
        StreamInfo {
            format: self.format,
            channels: self.channels,
            rate_numerator: self.rate_numerator,
            rate_denominator: self.rate_denominator,
            centre_frequency_hz: self.centre_frequency_hz,
            name: self.name,
            len_samples: None,
        }
    }

    /// The time of each index by the opening, if the device states a time and a rate.
    pub fn tai_clock(&self) -> Option<TaiClock> {
        self.tai_clock_at(self.first_index, self.first_index_tai_ns?)
    }

    /// The time of each index by the newest time that the device has stated, with the opening or
    /// since (`docs/protocol.md#2.11`); `stats` are the stream's. It follows a
    /// converter that is faster or slower than its nominal rate.
    pub fn tai_clock_by(&self, stats: &ReceiverStats) -> Option<TaiClock> {
        match stats.timed_index_tai_ns {
            0 => self.tai_clock(),
            tai_ns => self.tai_clock_at(stats.timed_index, tai_ns),
        }
    }

    fn tai_clock_at(&self, index: SampleIndex, tai_ns: u64) -> Option<TaiClock> {
        TaiClock::new(index, tai_ns, self.rate_numerator, self.rate_denominator)
    }

    /// What an ACCEPT says; fails with the number of a format of a later version.
    pub(crate) fn from_accept(address: SocketAddr, accept: &AcceptInfo) -> Result<Self, u16> {
        Ok(Self {
            boot_id: accept.boot_id,
            path_mtu_bytes: accept.packet_bytes_in,
            rtt: Duration::from_nanos(accept.rtt.0),
            ..Self::of_terms(address, &accept.params)?
        })
    }

    /// What the terms of a stream say; fails with the number of a format of a later version.
    pub(crate) fn of_terms(address: SocketAddr, params: &StreamTerms) -> Result<Self, u16> {
        let format = Format::from_number(params.format).ok_or(params.format)?;
        Ok(Self {
            address,
            name: params.name,
            stream: params.stream,
            streams: params.streams,
            boot_id: 0,
            format,
            channels: params.channels,
            rate_numerator: params.rate_numerator,
            rate_denominator: params.rate_denominator,
            centre_frequency_hz: params.centre_frequency_hz,
            first_index: params.first_index,
            first_index_tai_ns: (params.time_ns != 0).then_some(params.time_ns),
            clock_quality_ns: params.clock_quality_ns.filter(|&quality_ns| quality_ns != u32::MAX),
            packet_samples: params.packet_samples,
            payload_bytes: params.payload_bytes,
            window: params.window,
            path_mtu_bytes: 0,
            rtt: Duration::from_nanos(RTT_INITIAL.0),
            version: VERSION,
            carriage: params.carriage(),
        })
    }
}
