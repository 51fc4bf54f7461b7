//! A stream that this program sends to the receivers that open it, as Python does it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use samplewire::source::StreamInfo;
use samplewire::{DeviceOptions, Granted};

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
    mtu: usize,
    real_time: RealTimeChoices,
}

/// A device of one stream, whose samples are the program's.
#[pyclass(frozen, module = "samplewire")]
pub(crate) struct Listener {
    home: Home,
    #[pyo3(get)]
    address: String,
    granted: Granted,
    inner: Mutex<Option<Own<samplewire::Listener>>>,
}

impl Listener {
    fn lock(&self) -> PyResult<MutexGuard<'_, Option<Own<samplewire::Listener>>>> {
        self.inner.try_lock().map_err(|_| {
            PyRuntimeError::new_err("another thread waits for receivers, or broke while it did")
        })
    }
}

#[pymethods]
impl Listener {
    #[new]
    fn open(py: Python<'_>, listening: Listening) -> PyResult<Self> {
        let address = options::resolve(py, &listening.address)?;
        let format = options::format_named(&listening.format)?;
        let info = StreamInfo::new(format, listening.channels, listening.rate_hz);
        let mut info = info.map_err(|error| errors::source_error(py, &error))?;
        info.centre_frequency_hz = listening.centre_frequency_hz;
        info.name = listening.name.into();
        let mut options = DeviceOptions::new()
            .sends(info)
            .window(listening.window)
            .link_bps(listening.link_bps)
            .mtu(listening.mtu)
            .real_time(listening.real_time.to_options()?);
        if let Some(payload_bytes) = listening.payload_bytes {
            options = options.payload_bytes(payload_bytes);
        }
        let device = options.listen(address).map_err(|error| errors::open_error(py, &error))?;
        let listener = device.listeners.into_iter().next().expect("it sends one stream");
        Ok(Self {
            home: Home::here(),
            address: device.address.to_string(),
            granted: listener.granted().clone(),
            inner: Mutex::new(Some(Own::new(listener))),
        })
    }

    /// What was granted of the real-time options.
    #[getter]
    fn granted<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        tables::granted(py, &self.granted)
    }

    /// The next stream that a receiver opens; `None` after `timeout`.
    fn accept(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Transmitter>> {
        self.home.check(py)?;
        let end = until("timeout", timeout)?;
        let mut inner = self.lock()?;
        let Some(listener) = inner.as_mut() else {
            let message = format!("the listener of {} is closed", self.address);
            return Err(errors::error(py, "ClosedError", message));
        };
        loop {
            let left = end.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()));
            match py.detach(|| listener.accept(left.min(SLICE))) {
                Ok(Some(stream)) => return Ok(Some(Transmitter::of(stream))),
                Ok(None) if left.is_zero() => return Ok(None),
                Ok(None) => py.check_signals()?,
                Err(error) => return Err(errors::transmit_error(py, &error)),
            }
        }
    }

    /// No further receiver can open the stream.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.home.is_here() {
            let listener = self.lock()?.take();
            py.detach(|| drop(listener));
        }
        Ok(())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let listener = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        without_gil(|| drop(listener));
    }
}
