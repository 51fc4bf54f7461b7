//! Opening a stream from this side, and describing one.

use std::net::SocketAddr;
use std::time::Duration;

use samplewire_proto::receiver::Delivery;
use samplewire_proto::session::{AcceptInfo, EndView, OpenConfig, OpenConfigError};
use samplewire_proto::stream::Terms;
use samplewire_proto::wire::{RECORD_LEN, RefuseReason, record_at};
use samplewire_proto::{Nanos, WINDOW_RANGE};

use crate::device::STREAMS_MAX;
use crate::error::OpenError;
use crate::info::DeviceInfo;
use crate::options::receive;
use crate::port::{IP_BYTES_MAX, MTU_RANGE, PACKET_BYTES_MAX, draw_owner, peer_of};
use crate::transmitter::Form;

/// Queries the first stream of a device, without opening it.
///
/// # Errors
/// Nothing answers, or the device refuses.
///
/// # Blocking
/// Until an answer comes, at most `timeout`.
pub fn probe(address: SocketAddr, timeout: Duration) -> Result<DeviceInfo, OpenError> {
    probe_stream(address, 0, timeout)
}

/// Queries a stream of a device, without opening it.
///
/// # Errors
/// Nothing answers, or the device refuses.
///
/// # Blocking
/// Until an answer comes, at most `timeout`.
pub fn probe_stream(
    address: SocketAddr,
    stream: u16,
    timeout: Duration,
) -> Result<DeviceInfo, OpenError> {
    receive().stream(stream).timeout(timeout).probe(address)
}

/// What a device says of a stream that is requested over RDMA.
#[derive(Clone, Debug, PartialEq)]
pub struct RdmaProbe {
    /// The stream that an opening would result in. Its carriage says whether that is over RDMA.
    pub info: DeviceInfo,
    /// The payload of an RDMA packet that this host's interface carries, at most, in bytes.
    pub path_mtu_bytes: u16,
    /// The same of the device; `None` where the stream is not over RDMA.
    pub device_path_mtu_bytes: Option<u16>,
}

impl RdmaProbe {
    /// The RDMA packets that one packet of the stream takes; `None` where it is not over RDMA.
    pub fn packets_a_write(&self) -> Option<u32> {
        let mtu_bytes = self.device_path_mtu_bytes?.min(self.path_mtu_bytes);
        let write_bytes = record_at(self.info.payload_bytes) + RECORD_LEN;
        Some((write_bytes as u32).div_ceil(mtu_bytes.into()))
    }
}

/// Queries a stream of a device as it would be over RDMA, without opening it. This end needs no station
/// and no privilege for that, so it does not prove that RoCEv2 frames pass between both.
///
/// # Errors
/// Nothing answers, or the device refuses.
///
/// # Blocking
/// Until an answer comes, at most `timeout`.
pub fn probe_rdma(
    address: SocketAddr,
    stream: u16,
    timeout: Duration,
) -> Result<RdmaProbe, OpenError> {
    receive().stream(stream).timeout(timeout).probe_rdma(address)
}

/// Opens the stream that the configuration names, or where none was chosen the first after it that
/// is free and goes the way of its role.
pub(crate) fn first_free<T>(
    config: OpenConfig,
    is_chosen: bool,
    mut open: impl FnMut(OpenConfig) -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    let (mut busy, mut other_way) = (None, None);
    for stream in 0..STREAMS_TRIED_MAX {
        let config = if stream == 0 { config } else { config.with_stream(stream) };
        let error = match open(config) {
            Err(error) if !is_chosen => error,
            settled => return settled,
        };
        let OpenError::Refused { reason, .. } = error else { return Err(error) };
        match reason {
            // The host that has the stream may support what this end does not.
            RefuseReason::Busy => busy = busy.or(Some(error)),
            RefuseReason::Role => other_way = other_way.or(Some(error)),
            // The device has no more.
            RefuseReason::NoSuchStream if stream > 0 => break,
            _ => return Err(error),
        }
    }
    Err(busy.or(other_way).expect("a stream was refused"))
}

/// What both roles may choose of an opening.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) packet_bytes_max: usize,
    pub(crate) window: u32,
    pub(crate) timeout: Duration,
    /// Only the stream that was named will do.
    pub(crate) is_stream_chosen: bool,
}

impl Limits {
    pub(crate) fn apply(
        &self,
        config: OpenConfig,
        mtu_bytes: usize,
        address: SocketAddr,
    ) -> Result<OpenConfig, OpenError> {
        if self.packet_bytes_max > IP_BYTES_MAX {
            let (option, value) = ("mtu", self.packet_bytes_max as u64);
            return Err(OpenError::OptionRange { option, value, range: MTU_RANGE });
        }
        let packet_bytes_max = self.packet_bytes_max.min(mtu_bytes) as u16;
        let timeout_ns = u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX);
        config
            .with_window(self.window)
            .and_then(|config| config.with_packet_bytes_max(packet_bytes_max))
            .and_then(|config| config.with_ip_overhead(peer_of(address).ip_overhead()))
            .and_then(|config| config.with_timeout(Nanos(timeout_ns)))
            .map_err(out_of_range)
    }
}

/// What an ACCEPT says, as users read it.
pub(crate) fn describe(address: SocketAddr, accept: &AcceptInfo) -> Result<DeviceInfo, OpenError> {
    DeviceInfo::from_accept(address, accept).map_err(|number| OpenError::Format { address, number })
}

/// Checks what only this layer knows of a device's offer.
pub(crate) fn check_offer(info: &DeviceInfo, accept: &AcceptInfo) -> Result<(), OpenError> {
    if accept.params.data_len() > PACKET_BYTES_MAX {
        let (what, value) = ("payload bytes", u64::from(info.payload_bytes));
        return Err(OpenError::Offer { address: info.address, what, value });
    }
    Ok(())
}

/// What packets to a device that plays look like.
pub(crate) fn form(info: &DeviceInfo, accept: &AcceptInfo) -> Form {
    Form {
        payload_bytes: info.payload_bytes.into(),
        frame_bytes: info.frame_bytes(),
        granularity_bytes: accept.params.granularity_bytes.into(),
    }
}

/// The terms of an opened stream, seen from here, with a window of this end's.
pub(crate) fn terms(accept: &AcceptInfo, window: u32) -> Terms {
    accept.params.at(EndView {
        local_tag: accept.tag,
        peer_tag: accept.peer_tag,
        is_opener: true,
        window,
        ranges_max: accept.params.ranges_max,
        rtt: accept.rtt,
    })
}

/// The owner that was chosen, or a random one.
pub(crate) fn owner(chosen: Option<u64>) -> Result<u64, OpenError> {
    Ok(match chosen {
        Some(owner) => owner,
        None => draw_owner()?,
    })
}

/// A delivery as an OPEN says it: its number, and the deadline in microseconds.
pub(crate) const fn delivery_on_the_wire(delivery: Delivery) -> (u8, u32) {
    match delivery {
        Delivery::Complete => (0, 0),
        Delivery::Deadline(deadline) => (1, (deadline.0 / 1_000) as u32),
        Delivery::BestEffort => (2, 0),
    }
}

fn out_of_range(error: OpenConfigError) -> OpenError {
    let (option, value, range) = match error {
        OpenConfigError::Window(window) => ("window", u64::from(window), WINDOW_RANGE),
        OpenConfigError::PacketBytes(bytes) => ("mtu", u64::from(bytes), MTU_RANGE),
        OpenConfigError::IpOverhead(bytes) => ("ip overhead", u64::from(bytes), "28 to 128 bytes"),
        OpenConfigError::Timeout(ns) => ("timeout", ns / 1_000_000, "1 to 3600000 ms"),
    };
    OpenError::OptionRange { option, value, range }
}

/// How many streams of a device are looked at for one of the right way: all that one of this
/// program has, of which the one that it plays is the last.
const STREAMS_TRIED_MAX: u16 = STREAMS_MAX as u16 + 1;

#[cfg(test)]
mod tests {
    use samplewire_proto::wire::Role;

    use super::*;

    #[test]
    fn timeout_of_centuries_is_out_of_range() {
        let timeout = Duration::from_nanos(u64::MAX) + Duration::from_millis(50);
        let limits =
            Limits { packet_bytes_max: 1_500, window: 16, timeout, is_stream_chosen: true };
        let config = OpenConfig::new(Role::Receive, 0, 1);
        let applied = limits.apply(config, 1_500, ([127, 0, 0, 1], 1).into());
        assert!(matches!(applied, Err(OpenError::OptionRange { option: "timeout", .. })));
    }
}
