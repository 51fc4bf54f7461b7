//! Opening a stream from this side, and describing one.

use std::net::SocketAddr;
use std::time::Duration;

use samplewire_io::{Batch, Ecn, Link, Outgoing};
use samplewire_proto::Nanos;
use samplewire_proto::session::{AcceptInfo, OpenConfig, OpenConfigError, OpenEvent, Opener};
use samplewire_proto::wire::{self, Role};

use crate::error::OpenError;
use crate::info::DeviceInfo;
use crate::port::{Clock, IP_BYTES_MAX, PACKET_BYTES_MAX, peer_of, seed};

/// Asks a device what it streams, without opening the stream.
///
/// # Errors
/// Nothing answers, or the device refuses.
///
/// # Blocking
/// Until an answer comes, at most `timeout`.
pub fn probe(address: SocketAddr, timeout: Duration) -> Result<DeviceInfo, OpenError> {
    let options = samplewire_io::UdpOptions::new();
    let mut link: Box<dyn Link> = Box::new(samplewire_io::Udp::client(address, &options)?);
    let limits = Limits { packet_bytes_max: IP_BYTES_MAX, window: 1, timeout };
    let config = OpenConfig::new(Role::Describe, 0, 0);
    let mut batch = Batch::new(16, PACKET_BYTES_MAX);
    let accept = open(&mut link, address, Clock::start(), config, limits, &mut batch)?;
    describe(address, &accept)
}

/// Runs an opening over `link` until it is accepted.
pub(crate) fn open(
    link: &mut Box<dyn Link>,
    address: SocketAddr,
    clock: Clock,
    config: OpenConfig,
    limits: Limits,
    batch: &mut Batch,
) -> Result<AcceptInfo, OpenError> {
    let config = limits.apply(config, link.capabilities().mtu_bytes, address)?;
    let mut opener = Opener::new(config, seed()?, clock.now());
    let mut out = vec![0; IP_BYTES_MAX];
    loop {
        let now = clock.now();
        link.recv(batch)?;
        for (bytes, meta) in &*batch {
            if meta.peer == address
                && let Ok((header, packet)) = wire::parse(bytes)
            {
                opener.handle(now, &header, &packet, bytes.len());
            }
        }
        while let Some(len) = opener.poll_transmit(now, &mut out) {
            let parts = [&out[..len], &[], &[]];
            link.send(&[Outgoing { peer: address, ecn: Ecn::NotEct, parts }])?;
        }
        match opener.poll_event() {
            Some(OpenEvent::Accepted(accept)) => return Ok(accept),
            Some(OpenEvent::Refused { reason, retry_ms, .. }) => {
                return Err(OpenError::Refused { address, reason, retry_ms });
            }
            Some(OpenEvent::TimedOut { answers_seen, .. }) => {
                let is_unreachable = link.unreachable_hint() > 0 && !answers_seen;
                return Err(OpenError::NoAnswer {
                    address,
                    waited: limits.timeout,
                    is_unreachable,
                    is_challenged: answers_seen,
                });
            }
            None => {}
        }
        let until = opener.poll_timeout().unwrap_or(now + Nanos::from_millis(1));
        link.wait(Duration::from_nanos(until.since(clock.now()).0))?;
    }
}

/// What both roles may choose of an opening.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) packet_bytes_max: usize,
    pub(crate) window: u32,
    pub(crate) timeout: Duration,
}

impl Limits {
    fn apply(
        &self,
        config: OpenConfig,
        mtu_bytes: usize,
        address: SocketAddr,
    ) -> Result<OpenConfig, OpenError> {
        if self.packet_bytes_max > IP_BYTES_MAX {
            let (option, value) = ("mtu", self.packet_bytes_max as u64);
            return Err(OpenError::OptionRange { option, value, range: "576..=9000 bytes" });
        }
        let packet_bytes_max = self.packet_bytes_max.min(mtu_bytes) as u16;
        config
            .with_window(self.window)
            .and_then(|config| config.with_packet_bytes_max(packet_bytes_max))
            .and_then(|config| config.with_ip_overhead(peer_of(address).ip_overhead()))
            .and_then(|config| config.with_timeout(Nanos(self.timeout.as_nanos() as u64)))
            .map_err(out_of_range)
    }
}

/// What an ACCEPT says, as users read it.
pub(crate) fn describe(address: SocketAddr, accept: &AcceptInfo) -> Result<DeviceInfo, OpenError> {
    DeviceInfo::from_accept(address, accept).map_err(|number| OpenError::Format { address, number })
}

fn out_of_range(error: OpenConfigError) -> OpenError {
    let (option, value, range) = match error {
        OpenConfigError::Window(window) => ("window", u64::from(window), "1..=16777216 packets"),
        OpenConfigError::PacketBytes(bytes) => ("mtu", u64::from(bytes), "576..=9000 bytes"),
        OpenConfigError::IpOverhead(bytes) => ("ip overhead", u64::from(bytes), "28..=128 bytes"),
        OpenConfigError::Timeout(ns) => ("timeout", ns / 1_000_000, "1..=3600000 ms"),
    };
    OpenError::OptionRange { option, value, range }
}
