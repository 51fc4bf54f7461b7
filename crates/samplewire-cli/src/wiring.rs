//! The link of a command: a UDP socket, injected faults, and a capture of the packets. And where its
//! counters are.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use samplewire::device::STREAMS_MAX;
use samplewire::options::WINDOW_DEFAULT;
use samplewire::{Carriage, DeviceInfo};
use samplewire_io::xdp::{XdpLog, XdpState};
use samplewire_io::{
    Capabilities, Capture, CaptureLog, FaultLog, FaultSpec, Faults, Link, UdpOptions,
};
use samplewire_record::sink::SinkError;

use crate::arguments::{LinkOption, MetricsOption};
use crate::console::Console;
use crate::failure::Failure;
use crate::figures::{grouped, measured};
use crate::metrics::Exporter;
use crate::settings;

/// Exports the counters of `verb`, and prints where they are.
///
/// # Errors
/// [`Failure::Metrics`]
pub(crate) fn export(
    verb: &'static str,
    option: &MetricsOption,
    console: &mut Console,
) -> Result<Exporter, Failure> {
    let (exporter, reach) = Exporter::start(verb, option.address)?;
    if let Some(address) = reach.tcp {
        console.note(format_args!("metrics: http://{address}/metrics"));
    }
    if let Some(error) = reach.unseen {
        console.warn(format_args!("`samplewire top` does not see this: {error}"));
    }
    Ok(exporter)
}

/// A link, and the logs of its layers.
pub(crate) struct Wiring {
    pub(crate) link: Box<dyn Link>,
    pub(crate) logs: Logs,
}

/// Handles that outlive the link.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    pub(crate) faults: Option<FaultLog>,
    pub(crate) capture: Option<CaptureLog>,
    pub(crate) bypass: Option<XdpLog>,
}

impl Wiring {
    /// A plain link.
    pub(crate) fn new(link: impl Link + 'static) -> Self {
        let logs = Logs { bypass: link.capabilities().bypass, ..Logs::default() };
        Self { link: Box::new(link), logs }
    }

    /// Injects faults into sent and received packets.
    ///
    /// # Errors
    /// [`Failure::Faults`].
    pub(crate) fn with_faults(
        self,
        transmit: &FaultSpec,
        receive: &FaultSpec,
    ) -> Result<Self, Failure> {
        let faulty = Faults::new(self.link, transmit, receive)?;
        let logs = Logs { faults: Some(faulty.log()), ..self.logs };
        Ok(Self { link: Box::new(faulty), logs })
    }

    /// Captures packets as this end sees them: after the faults.
    ///
    /// # Errors
    /// [`Failure::Create`] if the file exists and `overwrite` is false, [`Failure::Capture`] if it
    /// cannot be written.
    pub(crate) fn with_capture(self, path: &Path, overwrite: bool) -> Result<Self, Failure> {
        if !overwrite && path.is_file() {
            return Err(Failure::Create(SinkError::Exists { path: path.to_owned() }));
        }
        let capture = Capture::create(self.link, path)
            .map_err(|source| Failure::Capture { path: path.display().to_string(), source })?;
        let logs = Logs { capture: Some(capture.log()), ..self.logs };
        Ok(Self { link: Box::new(capture), logs })
    }
}

/// The packets that are used of the requested window: no more than each device holds. If that is fewer
/// than the user chose, this prints a warning.
pub(crate) fn granted_window<'a>(
    console: &mut Console,
    requested: u32,
    devices: impl IntoIterator<Item = &'a DeviceInfo>,
) -> u32 {
    let held = devices.into_iter().map(|device| device.window.max(1)).min();
    let granted = held.map_or(requested, |held| held.min(requested));
    if granted < requested && requested != WINDOW_DEFAULT {
        console.warn(format_args!(
            "--window {requested}: the device holds {granted} packets, and no more are used"
        ));
    }
    granted
}

/// Warns where a device sends DATA though packets over RDMA were asked for.
pub(crate) fn print_carriage(console: &mut Console, asked: Carriage, device: &DeviceInfo) {
    if asked == Carriage::Rdma && device.carriage == Carriage::Data {
        console.warn(format_args!(
            "--carriage rdma: the device sends packets of the stream protocol\n  \
             tip: it needs --carriage rdma too, and to listen on one IPv4 address"
        ));
    }
}

/// Parses an address; adds the default port if there is none.
///
/// # Errors
/// [`Failure::Address`], [`Failure::Settings`] for a device string without an address.
pub(crate) fn address(text: &str) -> Result<SocketAddr, Failure> {
    settings::check_address(text)?;
    samplewire::resolve(text)
        .map_err(|source: io::Error| Failure::Address { text: text.to_owned(), source })
}

/// Checks the streams that `--channels` names.
///
/// # Errors
/// [`Failure::Contradiction`] if one is named twice, or there are too many.
pub(crate) fn check_channels(channels: &[u16]) -> Result<(), Failure> {
    let twice = channels.iter().enumerate().find(|&(at, it)| channels[..at].contains(it));
    if let Some((_, stream)) = twice {
        let words = format!("--channels names stream {stream} twice: each stream is opened once");
        return Err(Failure::Contradiction(words));
    }
    if channels.len() > STREAMS_MAX {
        return Err(Failure::Contradiction(format!(
            "--channels names {} streams: a device has {STREAMS_MAX} at most",
            channels.len()
        )));
    }
    Ok(())
}

/// The socket options of every command.
pub(crate) fn udp_options() -> UdpOptions {
    UdpOptions::new().send_buffer_bytes(BUFFER_BYTES)
}

/// Direction of the samples through a socket: only the buffer of that direction matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Into this host.
    In,
    /// Out of it.
    Out,
}

/// With `is_printed`, prints the socket buffer of the samples. Warns, with the remedy, if it is
/// smaller than requested.
pub(crate) fn print_buffer(
    console: &mut Console,
    capabilities: &Capabilities,
    flow: Flow,
    is_printed: bool,
) {
    let (granted, sysctl, harm) = match flow {
        Flow::In => {
            (capabilities.receive_buffer_bytes, "rmem", "a stall of this host loses packets sooner")
        }
        Flow::Out => (capabilities.send_buffer_bytes, "wmem", "sending costs more system calls"),
    };
    if is_printed {
        let granted = measured(granted as f64, "B");
        console.line(format_args!("  socket     buffer of {granted} granted"));
    }
    if granted < BUFFER_BYTES {
        console.warn(format_args!(
            "a socket buffer of {granted} bytes was granted, {BUFFER_BYTES} were asked for: {harm}\n  \
             tip: sudo sysctl -w net.core.{sysctl}_max={BUFFER_BYTES}"
        ));
    }
}

/// With `is_printed`, prints how packets travelled, where they were to bypass the kernel. Warns, with the
/// reason, if they did not though the user wants it on every interface.
pub(crate) fn print_bypass(
    console: &mut Console,
    option: &LinkOption,
    log: Option<&XdpLog>,
    is_printed: bool,
) {
    let Some(state) = log.map(XdpLog::state) else { return };
    match state {
        XdpState::Off(_) if option.is_demanded() => {
            console.warn(format_args!("--link {option}: {state}"));
        }
        _ if is_printed => console.line(format_args!("  link       {state}")),
        _ => {}
    }
}

/// With `is_printed`, prints what was captured. Warns if the capture is incomplete. A failing
/// capture does not stop a stream.
pub(crate) fn print_capture(
    console: &mut Console,
    log: &CaptureLog,
    path: &Path,
    is_printed: bool,
) {
    let (counts, path) = (log.counts(), path.display());
    if is_printed {
        let written = grouped(counts.written);
        console.line(format_args!("  capture    {path}: {written} packets"));
    }
    if let Some(error) = log.take_error() {
        console.warn(format_args!("{path} ends early: {error}"));
    }
    if counts.skipped > 0 {
        let skipped = grouped(counts.skipped);
        console.warn(format_args!("{path}: {skipped} packets are missing: the disk is too slow"));
    }
}

/// The buffer size to request for each direction of a socket: 6.7 ms of a stall at 10 Gb/s.
const BUFFER_BYTES: usize = 8 << 20;
