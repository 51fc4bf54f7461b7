//! Options as Python gives them, checked in its package or by the library.

use std::ffi::CString;
use std::net::SocketAddr;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use samplewire::format::{self, Format};
use samplewire::options::WINDOW_DEFAULT;
use samplewire::source::{parse_bit_rate, parse_quantity, parse_time};
use samplewire::{
    Carriage, Control, Delivery, DeviceInfo, RealTime, ReceiveOptions, SendOptions, Underflow,
    Waits,
};
use samplewire_io::faults::{self, Direction, Side};
use samplewire_io::{Bypass, FaultSpec, Faults, Link, Udp, UdpOptions};

use crate::errors;
use crate::wait::span;

/// What both ways of opening know (`samplewire/_options.py`).
#[derive(Debug, FromPyObject)]
pub(crate) struct Opening {
    address: String,
    delivery: String,
    deadline_ns: u64,
    pub(crate) window: u32,
    stream: Option<u16>,
    /// Several that are to be aligned, in their order; empty where they are not.
    streams: Vec<u16>,
    start_index: u64,
    owner: Option<u64>,
    timeout: f64,
    mtu: usize,
    underflow: String,
    link_bps: u64,
    control: String,
    control_rate: Option<u64>,
    real_time: RealTimeChoices,
    link: String,
    interface: Option<String>,
    carriage: String,
    verbs: Option<String>,
}

/// Choices for the I/O thread and the memory (`samplewire/_real_time.py`).
#[derive(Debug, FromPyObject)]
pub(crate) struct RealTimeChoices {
    cpu: Option<usize>,
    priority: Option<u32>,
    lock_memory: bool,
    huge_pages: bool,
    timer_slack_s: Option<f64>,
    coalesce_s: Option<f64>,
    waits: String,
}

impl RealTimeChoices {
    pub(crate) fn to_options(&self) -> PyResult<RealTime> {
        let waits = self
            .waits
            .parse::<Waits>()
            .map_err(|error| PyValueError::new_err(format!("waits: {error}")))?;
        let mut options =
            RealTime::new().waits(waits).lock_memory(self.lock_memory).huge_pages(self.huge_pages);
        if let Some(cpu) = self.cpu {
            options = options.cpu(cpu);
        }
        if let Some(priority) = self.priority {
            options = options.priority(priority);
        }
        if let Some(seconds) = self.timer_slack_s {
            options = options.timer_slack(span("timer_slack_s", seconds)?);
        }
        if let Some(seconds) = self.coalesce_s {
            options = options.coalesce(span("coalesce_s", seconds)?);
        }
        Ok(options)
    }
}

/// Sets what both options know, under the same names.
macro_rules! common {
    ($opening:expr, $options:expr) => {{
        let mut options = $options
            .delivery($opening.delivery())
            .window($opening.window)
            .start_index($opening.start_index)
            .timeout($opening.timeout()?)
            .mtu($opening.mtu)
            .udp(udp(&$opening.link, $opening.interface.as_deref())?)
            .real_time($opening.real_time.to_options()?);
        if let Some(stream) = $opening.stream {
            options = options.stream(stream);
        }
        if let Some(owner) = $opening.owner {
            options = options.owner(owner);
        }
        options
    }};
}

impl Opening {
    pub(crate) fn address(&self, py: Python<'_>) -> PyResult<SocketAddr> {
        resolve(py, &self.address)
    }

    pub(crate) fn timeout(&self) -> PyResult<Duration> {
        span("timeout", self.timeout)
    }

    fn delivery(&self) -> Delivery {
        match self.delivery.as_str() {
            "deadline" => Delivery::Deadline(Duration::from_nanos(self.deadline_ns)),
            "best-effort" => Delivery::BestEffort,
            _ => Delivery::Complete,
        }
    }

    pub(crate) fn to_receive(&self) -> PyResult<ReceiveOptions> {
        let options = common!(self, ReceiveOptions::new()).carriage(carriage(&self.carriage)?);
        let options = match &self.verbs {
            Some(device) => options.verbs(device),
            None => options,
        };
        Ok(match &self.streams[..] {
            [] => options,
            streams => options.streams(streams.iter().copied()),
        })
    }

    pub(crate) fn to_send(&self) -> PyResult<SendOptions> {
        let underflow = if self.underflow == "stop" { Underflow::Stop } else { Underflow::Zeros };
        let control = control(&self.control, self.control_rate)?;
        let options = common!(self, SendOptions::new()).underflow(underflow).control(control);
        Ok(options.link_bps(self.link_bps))
    }
}

/// Options of a socket whose packets pass the kernel in the way of this name, by this interface if it is
/// named.
pub(crate) fn udp(link: &str, interface: Option<&str>) -> PyResult<UdpOptions> {
    let bypass = link.parse::<Bypass>();
    let bypass =
        bypass.map_err(|error| PyValueError::new_err(format!("link {link:?}: {error}")))?;
    let options = UdpOptions::new().bypass(bypass);
    Ok(match interface {
        Some(name) => options.interface(name),
        None => options,
    })
}

/// The carriage of a name.
pub(crate) fn carriage(name: &str) -> PyResult<Carriage> {
    name.parse().map_err(|error| PyValueError::new_err(format!("carriage {name:?}: {error}")))
}

/// The congestion control of a name, with its rate.
pub(crate) fn control(name: &str, control_rate: Option<u64>) -> PyResult<Control> {
    Control::named(name, control_rate).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The address of `HOST[:PORT]`. A name is asked for without the GIL.
pub(crate) fn resolve(py: Python<'_>, text: &str) -> PyResult<SocketAddr> {
    let owned = text.to_owned();
    let found = crate::wait::interruptible(py, move || samplewire::resolve(&owned))?;
    found.map_err(|error| errors::error(py, "AddressError", format!("address {text}: {error}")))
}

/// The format of this name.
pub(crate) fn format_named(name: &str) -> PyResult<Format> {
    format::parse(name).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A format's own name.
#[pyfunction]
pub(crate) fn format_name(name: &str) -> PyResult<&'static str> {
    format_named(name).map(Format::as_str)
}

/// Reads a number as the command does; a `time` is in seconds.
#[pyfunction]
pub(crate) fn read_number(kind: &str, text: &str) -> PyResult<f64> {
    let read = match kind {
        "time" => parse_time(text).map(|it| it.as_secs_f64()).map_err(|error| error.to_string()),
        "bit rate" => parse_bit_rate(text).map_err(|error| error.to_string()),
        _ => parse_quantity(text).map_err(|error| error.to_string()),
    };
    read.map_err(PyValueError::new_err)
}

/// Warns when a device holds fewer packets than the window that the program chose.
///
/// # Errors
/// The warning, where Python makes an exception of it.
pub(crate) fn warn_of_window<'a>(
    py: Python<'_>,
    requested: u32,
    devices: impl IntoIterator<Item = &'a DeviceInfo>,
) -> PyResult<()> {
    let held = devices.into_iter().map(|device| device.window.max(1)).min();
    let Some(granted) = held.filter(|&held| held < requested && requested != WINDOW_DEFAULT) else {
        return Ok(());
    };
    let message = CString::new(format!(
        "window {requested}: the device holds {granted} packets, and no more are used"
    ))?;
    // Two calls of the package's Python half lie between this and the program.
    PyErr::warn(py, &errors::class(py, "WindowWarning")?, &message, 3)
}

/// The link of a device, behind the faults that were asked for.
pub(crate) fn device_link(
    py: Python<'_>,
    (address, data_goes): (SocketAddr, Direction),
    texts: &[String],
) -> PyResult<(Box<dyn Link>, Option<samplewire_io::FaultLog>)> {
    let udp = Udp::bind(address, &UdpOptions::new());
    let udp = udp.map_err(|error| errors::link_error(py, &error))?;
    if texts.is_empty() {
        return Ok((Box::new(udp), None));
    }
    let (mut data, mut feedback) = (FaultSpec::new(), FaultSpec::new());
    for text in texts {
        let parsed = faults::parse(text);
        let (side, spec) =
            parsed.map_err(|error| PyValueError::new_err(format!("faults: {error}")))?;
        match side {
            Side::Data => data = spec,
            Side::Feedback => feedback = spec,
        }
    }
    let (out, back) = match data_goes {
        Direction::Transmit => (&data, &feedback),
        Direction::Receive => (&feedback, &data),
    };
    let link = Faults::new(udp, out, back);
    let link = link.map_err(|error| PyValueError::new_err(format!("faults {texts:?}: {error}")))?;
    let log = link.log();
    Ok((Box::new(link), Some(log)))
}
