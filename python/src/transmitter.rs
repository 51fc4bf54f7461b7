//! Sending to a device that plays, or to a receiver that opened a stream, as Python does it.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use numpy::{PyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use samplewire::format::{self, Format};
use samplewire::transmitter::{PlayEvents, SendError, SendStream, SessionEnd, StatsHandle};
use samplewire::{DeviceInfo, OpenError};
use samplewire_proto::number::INDEX_MAX;
use samplewire_proto::wire::Flags;

use crate::own::{Home, Own};
use crate::view::{self, Shape};
use crate::wait::{SLICE, interruptible, until, without_gil};
use crate::{errors, options, tables};

/// The sending end of a stream, which this program opened or a receiver did.
#[pyclass(frozen, module = "samplewire")]
pub(crate) struct Transmitter {
    home: Home,
    inner: Mutex<Option<Own<Inner>>>,
    /// The samples.
    shape: Shape,
    peer: SocketAddr,
    first_index: u64,
    /// Of a stream that this end opened.
    info: Option<DeviceInfo>,
    events: Option<PlayEvents>,
    stats: StatsHandle,
    granted: tables::GrantedOptions,
}

struct Inner {
    stream: SendStream,
    next_index: u64,
}

impl Inner {
    /// A quantum of the session, after a wait in which Ctrl-C is seen.
    fn quantum(&mut self, py: Python<'_>) -> PyResult<samplewire::transmitter::Filling> {
        loop {
            let stream = &mut self.stream;
            match py.detach(|| stream.quantum(SLICE)) {
                Ok(Some(filling)) => return Ok(filling),
                Ok(None) => py.check_signals()?,
                Err(error) => return Err(errors::transmit_error(py, &error)),
            }
        }
    }

    /// Sends the arrays as one burst. An error, or a signal, ends the burst with what was sent,
    /// where memory for that becomes free in time.
    fn burst(&mut self, arrays: &Bound<'_, PyIterator>, first: u64) -> PyResult<()> {
        let py = arrays.py();
        let frame_bytes = self.stream.info().frame_bytes();
        let (mut index, mut flags) = (first, Flags::START);
        let format = self.stream.info().format;
        let mut reader = BurstReader { array: None, at: 0, format, frame_bytes, end: first };
        loop {
            let mut filling = match self.quantum(py) {
                Ok(filling) => filling,
                Err(error) => {
                    if index > first {
                        py.detach(|| self.end_burst(index));
                    }
                    return Err(error);
                }
            };
            let room = filling.bytes_mut();
            let mut len_bytes = 0;
            let mut sent = py.check_signals();
            while sent.is_ok() && len_bytes < room.len() {
                match reader.fill(arrays, &mut room[len_bytes..]) {
                    Ok(0) => break,
                    Ok(filled_bytes) => len_bytes += filled_bytes,
                    Err(error) => sent = Err(error),
                }
            }
            if sent.is_err() && index == first && len_bytes == 0 {
                return sent;
            }
            let is_last = len_bytes < room.len();
            if is_last {
                flags = flags | Flags::END_OF_BURST;
            }
            let submitted = self.stream.submit(filling, len_bytes, index, flags);
            submitted.map_err(|error| errors::transmit_error(py, &error))?;
            index += (len_bytes / frame_bytes) as u64;
            (self.next_index, flags) = (index, Flags::NONE);
            if is_last {
                return sent;
            }
        }
    }

    /// Ends a burst before `index`. Where no memory becomes free in time, it stays open until the
    /// next burst, or the stream's end.
    fn end_burst(&mut self, index: u64) {
        if let Ok(Some(filling)) = self.stream.quantum(END_WAIT) {
            // Only a stream that is over refuses it, and that has ended the burst.
            let _ = self.stream.submit(filling, 0, index, Flags::END_OF_BURST);
        }
    }
}

/// The samples of a burst, which are read from one array after the other, where they lie.
struct BurstReader<'py> {
    /// The array's bytes, and the format of what is in it.
    array: Option<(Bound<'py, PyArray1<u8>>, Format)>,
    /// How many of its bytes have been taken.
    at: usize,
    /// The stream's format.
    format: Format,
    frame_bytes: usize,
    /// The index after its last sample.
    end: u64,
}

impl<'py> BurstReader<'py> {
    /// Copies samples into `out`, in the stream's format, from the array, and from the next when it
    /// is used up; 0 when there is none. The GIL is held meanwhile: it keeps the array's memory,
    /// but not its values, as other threads can write these without the GIL.
    fn fill(&mut self, arrays: &Bound<'py, PyIterator>, out: &mut [u8]) -> PyResult<usize> {
        loop {
            if let Some((array, format)) = &self.array
                && self.at < array.len()
            {
                let samples = (array.len() - self.at) / format.sample_bytes();
                let samples = samples.min(out.len() / self.format.sample_bytes());
                if *format == self.format {
                    let len_bytes = samples * format.sample_bytes();
                    view::copy(array, self.at, &mut out[..len_bytes]);
                    self.at += len_bytes;
                    return Ok(len_bytes);
                }
                let mut copied = [0; CONVERTED_BYTES_MAX];
                let samples = samples.min(copied.len() / format.sample_bytes());
                let copied = &mut copied[..samples * format.sample_bytes()];
                view::copy(array, self.at, copied);
                self.at += copied.len();
                let filled = format::convert(*format, self.format, copied, out);
                return filled.map_err(|error| PyTypeError::new_err(error.to_string()));
            }
            let Some(next) = arrays.clone().next() else { return Ok(0) };
            let (array, name) = next?.extract::<(Bound<'py, PyArray1<u8>>, String)>()?;
            let format = options::format_named(&name)?;
            let channels = self.frame_bytes / self.format.sample_bytes();
            let first = self.end;
            let samples = (array.len() / (format.sample_bytes() * channels)) as u64;
            let end = first.checked_add(samples).filter(|end| *end <= INDEX_MAX);
            self.end = end.ok_or_else(|| too_large(first, samples))?;
            (self.array, self.at) = (Some((array, format)), 0);
        }
    }
}

fn too_large(first: u64, samples: u64) -> PyErr {
    let message = format!("index {first} and {samples} samples: must end at {INDEX_MAX} or before");
    PyValueError::new_err(message)
}

impl Transmitter {
    pub(crate) fn of(stream: SendStream) -> Self {
        let (samples, next_index) = (stream.info(), stream.next_index());
        Self {
            home: Home::here(),
            shape: Shape { format: samples.format, channels: samples.channels },
            peer: stream.session().peer,
            first_index: next_index,
            info: stream.device().cloned(),
            events: stream.play_events(),
            stats: stream.stats_handle(),
            granted: tables::GrantedOptions::new(stream.granted(), stream.capabilities()),
            inner: Mutex::new(Some(Own::new(Inner { stream, next_index }))),
        }
    }

    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<Own<Inner>>>> {
        self.home.check(py)?;
        self.inner.try_lock().map_err(|_| {
            PyRuntimeError::new_err("another thread sends with this transmitter, or broke in it")
        })
    }

    fn closed(&self, py: Python<'_>) -> PyErr {
        let message = format!("the transmitter to {} is closed", self.peer);
        errors::error(py, "ClosedError", message)
    }

    fn ended<'py>(
        &self,
        py: Python<'py>,
        end: impl FnOnce(&mut Inner) -> Result<SessionEnd, SendError> + Send + 'static,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(inner) = self.lock(py)?.take() else { return Ok(None) };
        let ended = interruptible(py, move || end(&mut inner.into_inner()))?;
        let ended = ended.map_err(|error| errors::transmit_error(py, &error))?;
        tables::session_end(py, &ended).map(Some)
    }
}

#[pymethods]
impl Transmitter {
    #[new]
    fn open(py: Python<'_>, opening: options::Opening) -> PyResult<Self> {
        let (address, options) = (opening.address(py)?, opening.to_send()?);
        let timeout = opening.timeout()?;
        let opened = interruptible(py, move || {
            let stream = options.open(address)?;
            let ready = stream.wait_ready(timeout);
            Ok::<_, OpenError>((stream, ready))
        })?;
        let (stream, ready) = opened.map_err(|error| errors::open_error(py, &error))?;
        if !matches!(ready, Ok(true)) {
            py.detach(|| drop(stream));
            return Err(match ready {
                Err(error) => errors::transmit_error(py, &error),
                Ok(_) => errors::no_credit(py, address, timeout),
            });
        }
        Ok(Self::of(stream))
    }

    /// What the device said of the stream; `None` where a receiver opened it.
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.info.as_ref().map(|info| tables::device_info(py, info)).transpose()
    }

    #[getter]
    fn peer(&self) -> String {
        self.peer.to_string()
    }

    #[getter]
    fn format(&self) -> &'static str {
        self.shape.format.as_str()
    }

    #[getter]
    const fn channels(&self) -> u16 {
        self.shape.channels
    }

    /// The index of the first sample that can be sent.
    #[getter]
    const fn first_index(&self) -> u64 {
        self.first_index
    }

    /// What was granted of the real-time options.
    #[getter]
    fn granted<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        tables::granted(py, &self.granted)
    }

    /// The index after the last that was sent.
    #[getter]
    fn next_index(&self, py: Python<'_>) -> PyResult<u64> {
        let inner = self.lock(py)?;
        inner.as_ref().map(|inner| inner.next_index).ok_or_else(|| self.closed(py))
    }

    /// Sends an iterator of arrays of bytes, with the format of each, as one burst.
    fn send(&self, py: Python<'_>, arrays: &Bound<'_, PyIterator>, first: u64) -> PyResult<u64> {
        let mut inner = self.lock(py)?;
        let inner = inner.as_mut().ok_or_else(|| self.closed(py))?;
        if first < inner.next_index {
            let next_index = inner.next_index;
            let message = format!("index {first} lies before {next_index}, up to which was sent");
            return Err(PyValueError::new_err(message));
        }
        if first > INDEX_MAX {
            return Err(too_large(first, 0));
        }
        inner.burst(arrays, first)?;
        Ok(inner.next_index)
    }

    /// Waits until the device has played what lies before `index`; `false` after `timeout`.
    fn wait_played(&self, py: Python<'_>, index: u64, timeout: Option<f64>) -> PyResult<bool> {
        let mut inner = self.lock(py)?;
        let inner = inner.as_mut().ok_or_else(|| self.closed(py))?;
        let end = until("timeout", timeout)?;
        let stream = &mut inner.stream;
        let mut signal = Ok(());
        // One wait from its start to its end: what it has seen so far counts.
        let should_stop = || {
            signal = Python::attach(|py| py.check_signals());
            signal.is_err() || end.is_some_and(|end| Instant::now() >= end)
        };
        let result = py.detach(|| stream.wait_played(index, should_stop));
        signal?;
        result.map_err(|error| errors::transmit_error(py, &error))
    }

    /// The next event of the device; `None` after `timeout`, or when the stream has ended as it
    /// should.
    /// Any thread may wait, while another sends.
    fn next_event<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<f64>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.home.check(py)?;
        let end = until("timeout", timeout)?;
        loop {
            let left = end.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()));
            let Some(events) = &self.events else { return Ok(None) };
            match py.detach(|| events.next_within(left.min(SLICE))) {
                Ok(Some(event)) => return tables::play_event(py, &event).map(Some),
                Ok(None) if left.is_zero() => return Ok(None),
                Ok(None) => py.check_signals()?,
                Err(SendError::Ended(ended)) => {
                    return errors::end_error(py, &ended.end).map_or(Ok(None), Err);
                }
                Err(error) => return Err(errors::transmit_error(py, &error)),
            }
        }
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.home.check(py)?;
        tables::transmitter_stats(py, &self.stats.stats())
    }

    /// Ends the stream after all that was sent; `None` when it is closed already.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.ended(py, |inner| inner.stream.finish(0))
    }

    /// Ends the stream with what has departed.
    fn cancel<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.ended(py, |inner| inner.stream.cancel())
    }
}

impl Drop for Transmitter {
    fn drop(&mut self) {
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        without_gil(|| drop(inner));
    }
}

/// Bytes that are copied out of an array at once, to be converted: a multiple of every sample's.
const CONVERTED_BYTES_MAX: usize = 4_096;

/// How long a burst that was broken off waits for memory in which its end can be sent.
const END_WAIT: Duration = Duration::from_secs(1);
