//! `probe`: what a device streams.

use std::net::SocketAddr;

use samplewire::{Carriage, DeviceInfo, OpenError, RdmaProbe, UdpOptions};
use serde::Serialize;

use crate::arguments::ProbeArguments;
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::figures::grouped;
use crate::outcome::Outcome;
use crate::stream::{path_words, stream_words};
use crate::wiring;

/// Queries the device and prints its answer.
pub(crate) fn run(arguments: &ProbeArguments) -> Result<Outcome, Failure> {
    let address = wiring::address(&arguments.address)?;
    let ask = |stream| ask(address, stream, arguments);
    let (info, rdma) = ask(0)?;
    let (mut others, mut unanswered) = (Vec::new(), Vec::new());
    for stream in 1..info.streams.min(LISTED_MAX) {
        match ask(stream) {
            Ok((other, _)) => others.push(other),
            Err(error) => unanswered.push(Unanswered { stream, error: error.to_string() }),
        }
    }
    let outcome = if unanswered.is_empty() { Outcome::Whole } else { Outcome::Unreachable };
    let mut console = Console::new(Lines::Stdout, false);
    if arguments.json {
        let (device, others) = (Device::new(&info), others.iter().map(Device::new).collect());
        let probe = Probe { device, rdma, others, unanswered, version: VERSION };
        let text = serde_json::to_string_pretty(&probe);
        console.line(format_args!("{}", text.map_err(std::io::Error::from)?));
    } else {
        print(&mut console, &info, &others, rdma.as_ref());
        for Unanswered { stream, error } in &unanswered {
            console.error(format_args!("stream {stream}: {error}"), None);
        }
    }
    Ok(outcome)
}

/// Queries one stream, also about RDMA if the options say so.
fn ask(
    address: SocketAddr,
    stream: u16,
    arguments: &ProbeArguments,
) -> Result<(DeviceInfo, Option<Rdma>), OpenError> {
    let udp = arguments.interface.apply(UdpOptions::new());
    let options = samplewire::receive().stream(stream).timeout(arguments.timeout).udp(udp);
    match arguments.carriage {
        Carriage::Data => Ok((options.probe(address)?, None)),
        Carriage::Rdma => {
            let probe = options.probe_rdma(address)?;
            let rdma = Rdma::new(&probe);
            Ok((probe.info, Some(rdma)))
        }
    }
}

/// Prints the first stream in full, and for the others what differs.
fn print(console: &mut Console, info: &DeviceInfo, others: &[DeviceInfo], rdma: Option<&Rdma>) {
    console.line(format_args!("device     {}", info.address));
    for info in std::iter::once(info).chain(others) {
        let DeviceInfo { stream, streams, .. } = info;
        let words = stream_words(&info.stream_info());
        console.line(format_args!("stream     {stream} of {streams}: {words}"));
    }
    if info.streams > LISTED_MAX {
        console.line(format_args!(
            "           (of {} streams, {LISTED_MAX} are listed)",
            info.streams
        ));
    }
    console.line(format_args!(
        "packets    {} bytes of payload, {} samples; {} held for repair",
        grouped(info.payload_bytes.into()),
        grouped(info.packet_samples.into()),
        grouped(info.window.into()),
    ));
    console.line(format_args!("path       {}", path_words(info)));
    if let Some(rdma) = rdma {
        console.line(format_args!("RDMA       {}", rdma.words()));
    }
    console.line(format_args!("next index {}", info.first_index));
    if let Some(tai_ns) = info.first_index_tai_ns {
        let error =
            info.clock_quality_ns.map(|ns| format!(", error at most {} ns", grouped(ns.into())));
        console.line(format_args!(
            "TAI time   {}.{:09} s at the next index{}",
            tai_ns / 1_000_000_000,
            tai_ns % 1_000_000_000,
            error.unwrap_or_default(),
        ));
    }
    console.line(format_args!(
        "versions   protocol {}, this command {}; boot {:016x}",
        info.version, VERSION, info.boot_id
    ));
}

/// The object of `probe --json`.
#[derive(Debug, Serialize)]
struct Probe {
    /// Its first stream.
    #[serde(flatten)]
    device: Device,
    /// What it says of RDMA; null without `--carriage rdma`.
    rdma: Option<Rdma>,
    /// Its other streams, the first 63 of them.
    others: Vec<Device>,
    /// Those that did not describe themselves.
    unanswered: Vec<Unanswered>,
    /// The version of this command.
    version: &'static str,
}

/// What a device says of RDMA, for its first stream.
#[derive(Debug, Serialize)]
struct Rdma {
    /// Whether that would be over RDMA.
    is_offered: bool,
    /// The largest payload of an RDMA packet of this host, and of the device, null where it does not
    /// offer RDMA.
    path_mtu_bytes: u16,
    device_path_mtu_bytes: Option<u16>,
    /// RDMA packets of one packet of the stream; null where it does not offer RDMA.
    packets_a_write: Option<u32>,
}

impl Rdma {
    fn new(probe: &RdmaProbe) -> Self {
        Self {
            is_offered: probe.info.carriage == Carriage::Rdma,
            path_mtu_bytes: probe.path_mtu_bytes,
            device_path_mtu_bytes: probe.device_path_mtu_bytes,
            packets_a_write: probe.packets_a_write(),
        }
    }

    fn words(&self) -> String {
        let (Some(theirs), Some(packets)) = (self.device_path_mtu_bytes, self.packets_a_write)
        else {
            return "not offered: the stream would be of DATA".to_owned();
        };
        let ours = self.path_mtu_bytes;
        let packets = match packets {
            1 => "1 RDMA packet".to_owned(),
            count => format!("{count} RDMA packets"),
        };
        format!(
            "offered: path MTU {} bytes (device {}, this host {}); {packets} for each packet",
            grouped(theirs.min(ours).into()),
            grouped(theirs.into()),
            grouped(ours.into()),
        )
    }
}

/// A stream that did not describe itself.
#[derive(Debug, Serialize)]
struct Unanswered {
    /// Its number.
    stream: u16,
    /// Why.
    error: String,
}

/// A device in JSON: the fields of `probe --json`, and `device` in the `start` of `record --json`.
#[derive(Debug, Serialize)]
pub(crate) struct Device {
    /// The device's address.
    address: String,
    /// The stream's name, possibly empty.
    name: String,
    /// The stream's number.
    stream: u16,
    /// How many streams the device has.
    streams: u16,
    /// Sample format: `sc8`, `sc16`, `fc32`, `r8`, `r16`, `rf32`, `uc8`.
    format: &'static str,
    /// Interleaved channels.
    channels: u16,
    /// Sample rate in hertz, null when the device does not know it.
    rate_hz: Option<f64>,
    /// Centre frequency in hertz, null when the device does not know it.
    centre_frequency_hz: Option<f64>,
    /// The index of the first sample to come.
    first_index: u64,
    /// Its time in TAI nanoseconds since 1970, null when the device does not know it.
    first_index_tai_ns: Option<u64>,
    /// The largest error of the device's times in nanoseconds, null when the device does not state it.
    clock_quality_ns: Option<u32>,
    /// Samples in a packet.
    packet_samples: u32,
    /// Payload of a packet in bytes.
    payload_bytes: u16,
    /// Packets that the device holds for repair.
    device_window_packets: u32,
    /// The largest IP packet that was shown to arrive.
    path_mtu_bytes: u16,
    /// Round-trip time of the opening in nanoseconds.
    rtt_ns: u64,
    /// The device's run, in hex: indexes are comparable within one.
    boot_id: String,
    /// The protocol's version.
    protocol: u8,
    /// How packets of the stream travel: `data` or `rdma`.
    carriage: &'static str,
}

impl Device {
    pub(crate) fn new(info: &DeviceInfo) -> Self {
        Self {
            address: info.address.to_string(),
            name: info.name.to_string(),
            stream: info.stream,
            streams: info.streams,
            format: info.format.as_str(),
            channels: info.channels,
            rate_hz: (info.rate_numerator > 0).then(|| info.rate_hz()),
            centre_frequency_hz: info.centre_frequency_hz,
            first_index: info.first_index,
            first_index_tai_ns: info.first_index_tai_ns,
            clock_quality_ns: info.clock_quality_ns,
            packet_samples: info.packet_samples,
            payload_bytes: info.payload_bytes,
            device_window_packets: info.window,
            path_mtu_bytes: info.path_mtu_bytes,
            rtt_ns: info.rtt.as_nanos() as u64,
            boot_id: format!("{:016x}", info.boot_id),
            protocol: info.version,
            carriage: info.carriage.name(),
        }
    }
}

/// Maximum number of streams that are queried, whatever number a device states.
const LISTED_MAX: u16 = 64;

const VERSION: &str = env!("CARGO_PKG_VERSION");
