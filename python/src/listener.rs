//! A stream that this program sends to the receivers that open it, as Python does it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use pyo3::prelude::*;
use samplewire::DeviceOptions;
use samplewire::source::StreamInfo;

use crate::options::RealTimeChoices;
use crate::own::{Home, Own};
use crate::transmitter::Transmitter;
use crate::wait::{SLICE, until, without_gil};
use crate::{errors, options, tables};

/// What the samples are, and how the port works (`samplewire/_listen.py`).
#[derive(Debug, FromPyObject)]
pub(crate) struct Listening {
    address: String,
    format: String,
    channels: u16,
    rate_hz: f64,
    centre_frequency_hz: Option<f64>,
    name: String,
    window: u32,
    payload_bytes: Option<u16>,
    link_bps: u64,
    control: String,
    control_rate: Option<u64>,
    mtu: usize,
    real_time: RealTimeChoices,
    link: String,
    interface: Option<String>,
    carriage: String,
}

/// A device of one stream, whose samples are the program's.
#[pyclass(frozen, module = "samplewire")]
pub(crate) struct Listener {
    home: Home,
    #[pyo3(get)]
    address: String,
    granted: tables::GrantedOptions,
    inner: Mutex<Option<Own<samplewire::Listener>>>,
    is_closed: AtomicBool,
}

impl Listener {
    fn closed(&self, py: Python<'_>) -> PyErr {
        let message = format!("the listener of {} is closed", self.address);
        errors::error(py, "ClosedError", message)
    }
}

#[pymethods]
impl Listener {
    #[new]
    fn open(py: Python<'_>, listening: Listening) -> PyResult<Self> {
        let address = options::resolve(py, &listening.address)?;
        let format = options::format_named(&listening.format)?;
        let info = StreamInfo::new(format, listening.channels, listening.rate_hz);
        let mut info = info.map_err(|error| errors::source_error(py, &error.into()))?;
        info.centre_frequency_hz = listening.centre_frequency_hz;
        info.name = listening.name.into();
        let mut options = DeviceOptions::new()
            .sends(info)
            .window(listening.window)
            .link_bps(listening.link_bps)
            .control(options::control(&listening.control, listening.control_rate)?)
            .mtu(listening.mtu)
            .udp(options::udp(&listening.link, listening.interface.as_deref())?)
            .carriage(options::carriage(&listening.carriage)?)
            .real_time(listening.real_time.to_options()?);
        if let Some(payload_bytes) = listening.payload_bytes {
            options = options.payload_bytes(payload_bytes);
        }
        let device = options.listen(address).map_err(|error| errors::open_error(py, &error))?;
        let listener = device.listeners.into_iter().next().expect("it sends one stream");
        Ok(Self {
            home: Home::here(),
            address: device.address.to_string(),
            granted: tables::GrantedOptions::new(listener.granted(), listener.capabilities()),
            inner: Mutex::new(Some(Own::new(listener))),
            is_closed: AtomicBool::new(false),
        })
    }

    /// What was granted of the real-time options.
    #[getter]
    fn granted<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        tables::granted(py, &self.granted)
    }

    /// The next stream that a receiver opens; `None` after `timeout`. Threads that wait take turns.
    fn accept(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Transmitter>> {
        self.home.check(py)?;
        let end = until("timeout", timeout)?;
        loop {
            // Relaxed: the listener is looked for again under the lock.
            if self.is_closed.load(Ordering::Relaxed) {
                return Err(self.closed(py));
            }
            let left = end.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()));
            // The lock is free between two slices, in which `close` takes it.
            let accepted = py.detach(|| {
                let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
                inner.as_mut().map(|listener| listener.accept(left.min(SLICE)))
            });
            match accepted {
                None => return Err(self.closed(py)),
                Some(Ok(Some(stream))) => return Ok(Some(Transmitter::of(stream))),
                Some(Ok(None)) if left.is_zero() => return Ok(None),
                Some(Ok(None)) => py.check_signals()?,
                Some(Err(error)) => return Err(errors::transmit_error(py, &error)),
            }
        }
    }

    /// No further receiver can open the stream, and a thread that waits for one stops.
    fn close(&self, py: Python<'_>) {
        if !self.home.is_here() {
            return;
        }
        self.is_closed.store(true, Ordering::Relaxed);
        py.detach(|| drop(self.inner.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let listener = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        without_gil(|| drop(listener));
    }
}
