//! Sending to a device that plays, as Python does it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use samplewire::transmitter::{PlayEvents, SendError, SendStream, SessionEnd, StatsHandle};
use samplewire::{DeviceInfo, OpenError};
use samplewire_proto::number::INDEX_MAX;
use samplewire_proto::wire::Flags;

use crate::own::{Home, Own};
use crate::wait::{SLICE, interruptible, until, without_gil};
use crate::{errors, options, tables};

/// The sending end of a stream that this program opened.
#[pyclass(frozen, module = "samplewire")]
pub(crate) struct Transmitter {
    home: Home,
    inner: Mutex<Option<Own<Inner>>>,
    info: DeviceInfo,
    stats: StatsHandle,
    events: PlayEvents,
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

    /// Sends the pieces as one burst, whose end says where it ends also when they fail, or a signal
    /// comes.
    fn burst(&mut self, pieces: &Bound<'_, PyIterator>, first: u64) -> PyResult<()> {
        let py = pieces.py();
        let frame_bytes = self.stream.info().frame_bytes();
        let (mut index, mut flags) = (first, Flags::START);
        let mut piece = Piece { bytes: Vec::new(), at: 0, frame_bytes, end: first };
        loop {
            let mut filling = self.quantum(py)?;
            let room = filling.bytes_mut();
            let mut len_bytes = 0;
            let mut sent = py.check_signals();
            while sent.is_ok() && len_bytes < room.len() {
                match piece.read(pieces, &mut room[len_bytes..]) {
                    Ok(0) => break,
                    Ok(read_bytes) => len_bytes += read_bytes,
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
}

/// Bytes of an array that wait to be sent.
struct Piece {
    bytes: Vec<u8>,
    at: usize,
    frame_bytes: usize,
    /// The index after its last sample.
    end: u64,
}

impl Piece {
    /// Fills `out` from the piece, and from the next when it is used up; 0 when there is none.
    fn read(&mut self, pieces: &Bound<'_, PyIterator>, out: &mut [u8]) -> PyResult<usize> {
        while self.at == self.bytes.len() {
            let Some(next) = pieces.clone().next() else { return Ok(0) };
            let bytes = next?.extract::<Vec<u8>>()?;
            let (first, samples) = (self.end, (bytes.len() / self.frame_bytes) as u64);
            let end = first.checked_add(samples).filter(|end| *end <= INDEX_MAX);
            self.end = end.ok_or_else(|| too_large(first, samples))?;
            (self.bytes, self.at) = (bytes, 0);
        }
        let len_bytes = out.len().min(self.bytes.len() - self.at);
        out[..len_bytes].copy_from_slice(&self.bytes[self.at..self.at + len_bytes]);
        self.at += len_bytes;
        Ok(len_bytes)
    }
}

fn too_large(first: u64, samples: u64) -> PyErr {
    let message = format!("index {first} and {samples} samples: must end at {INDEX_MAX} or before");
    PyValueError::new_err(message)
}

impl Transmitter {
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<Own<Inner>>>> {
        self.home.check(py)?;
        self.inner.try_lock().map_err(|_| {
            PyRuntimeError::new_err("another thread sends with this transmitter, or broke in it")
        })
    }

    fn closed(&self, py: Python<'_>) -> PyErr {
        let message = format!("the transmitter to {} is closed", self.info.address);
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
            let stream = SendStream::open(address, &options)?;
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
        let info = stream.device().expect("this end opened it").clone();
        let stats = stream.stats_handle();
        let events = stream.play_events().expect("this end opened it");
        let next_index = stream.next_index();
        let inner = Mutex::new(Some(Own::new(Inner { stream, next_index })));
        Ok(Self { home: Home::here(), inner, info, stats, events })
    }

    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        tables::device_info(py, &self.info)
    }

    /// The index after the last that was sent.
    #[getter]
    fn next_index(&self, py: Python<'_>) -> PyResult<u64> {
        let inner = self.lock(py)?;
        inner.as_ref().map(|inner| inner.next_index).ok_or_else(|| self.closed(py))
    }

    /// Sends an iterator of bytes as one burst.
    fn send(&self, py: Python<'_>, pieces: &Bound<'_, PyIterator>, first: u64) -> PyResult<u64> {
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
        inner.burst(pieces, first)?;
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

    /// The next event of the device; `None` after `timeout`, or when the stream has ended as it should.
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
            match py.detach(|| self.events.next_within(left.min(SLICE))) {
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
