//! The Python receiver.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use samplewire::receiver::{ReceiveStream, StatsHandle};
use samplewire::{DeviceInfo, OpenError, ReceiveError};

use crate::block::{Block, Held, Ledger};
use crate::copied::{Copied, Part};
use crate::own::{Home, Own};
use crate::view::Shape;
use crate::wait::{SLICE, interruptible, span, until, without_gil};
use crate::{errors, options, tables};

/// The receiving end of a stream. One thread takes blocks at a time; others wait for their turn.
#[pyclass(frozen, module = "samplewire")]
pub(crate) struct Receiver {
    home: Home,
    inner: Mutex<Inner>,
    /// Copies of interrupted readings, in order.
    kept: Mutex<VecDeque<Copied>>,
    info: DeviceInfo,
    stats: StatsHandle,
    granted: tables::GrantedOptions,
    shape: Shape,
    ledger: Arc<Ledger>,
    /// Bytes that may be held before a warning.
    held_bytes_max: usize,
    memory_bytes: usize,
    is_closed: AtomicBool,
    was_warned: AtomicBool,
}

struct Inner {
    /// `None` after it was closed.
    stream: Option<Own<ReceiveStream>>,
    /// A partly taken block, and the number of taken samples.
    begun: Option<(Arc<Held>, usize)>,
    /// Why no block comes any more.
    end: Option<ReceiveError>,
}

impl Inner {
    /// Waits for a block and keeps it; returns whether there is a block or the end.
    fn fetch(&mut self, timeout: Duration, ledger: &Arc<Ledger>) -> bool {
        if self.begun.is_some() || self.end.is_some() {
            return true;
        }
        let Some(stream) = &mut self.stream else { return true };
        match stream.next_within(timeout) {
            Ok(block) => self.begun = block.map(|block| (Arc::new(Held::new(block, ledger)), 0)),
            Err(error) => self.end = Some(error),
        }
        self.begun.is_some() || self.end.is_some()
    }
}

impl Receiver {
    fn with_inner<T>(&self, look: impl FnOnce(&mut Inner) -> T) -> T {
        look(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for `timeout` without the GIL; returns whether there is a block or the end.
    fn wait(&self, py: Python<'_>, timeout: Duration) -> bool {
        py.detach(|| self.with_inner(|inner| inner.fetch(timeout, &self.ledger)))
    }

    /// The next part of a block, of `len_max` samples at most; `None` when the stream has ended, or
    /// does not go on at index `next` without a gap.
    fn part(
        &self,
        py: Python<'_>,
        timeout: Option<f64>,
        len_max: usize,
        next: Option<u64>,
    ) -> PyResult<Option<Part>> {
        self.home.check(py)?;
        let end = until("timeout", timeout)?;
        loop {
            // Relaxed: it is read again under the lock.
            if self.is_closed.load(Ordering::Relaxed) {
                self.closed(py)?;
            }
            // Before a block is taken: it would be lost if the warning is an error.
            self.warn(py)?;
            match self.poll(py, len_max, next)? {
                Some(Taken::Part(part)) => return Ok(Some(part)),
                Some(Taken::Nothing) => return Ok(None),
                None => {}
            }
            let left = end.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                let waited = timeout.unwrap_or_default();
                let message = format!("no samples of {} within {waited} s", self.info.address);
                return Err(errors::error(py, "WaitTimeoutError", message));
            }
            self.wait(py, left.min(SLICE));
            py.check_signals()?;
        }
    }

    /// Copies until there are `count` samples, or the stream does not go on without a gap.
    fn copy(
        &self,
        py: Python<'_>,
        copied: &mut Copied,
        count: usize,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        while copied.len() < count {
            let Some(part) = self.part(py, timeout, count - copied.len(), copied.next())? else {
                break;
            };
            py.detach(|| copied.append(&part));
            drop(part);
            // A stream that is never empty has no wait in which a signal would be seen.
            py.check_signals()?;
        }
        Ok(())
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Copied>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What there is at once: a block, or the end. `None` where nothing is, or another thread waits.
    fn poll(&self, py: Python<'_>, len_max: usize, next: Option<u64>) -> PyResult<Option<Taken>> {
        let Ok(mut inner) = self.inner.try_lock() else { return Ok(None) };
        if !inner.fetch(Duration::ZERO, &self.ledger) {
            return Ok(None);
        }
        let Some((held, skip)) = inner.begun.take() else {
            return self.over(py, &inner).map(|()| Some(Taken::Nothing));
        };
        let block = held.block();
        let is_apart = skip == 0 && !block.gaps().is_empty();
        if next.is_some_and(|next| is_apart || next != block.index() + skip as u64) {
            inner.begun = Some((held, skip));
            return Ok(Some(Taken::Nothing));
        }
        let len = (block.len() - skip).min(len_max);
        if skip + len < block.len() {
            inner.begun = Some((Arc::clone(&held), skip + len));
        }
        Ok(Some(Taken::Part(Part { held, skip, len })))
    }

    /// The result after the last block: an error, unless the stream is complete.
    fn over(&self, py: Python<'_>, inner: &Inner) -> PyResult<()> {
        match &inner.end {
            _ if inner.stream.is_none() => self.closed(py),
            Some(error) => errors::receive_error(py, error).map_or(Ok(()), Err),
            None => Ok(()),
        }
    }

    fn closed(&self, py: Python<'_>) -> PyResult<()> {
        let message = format!("the receiver of {} is closed", self.info.address);
        Err(errors::error(py, "ClosedError", message))
    }

    /// Warns once when much of the stream's memory is held here.
    fn warn(&self, py: Python<'_>) -> PyResult<()> {
        let held_bytes = self.ledger.held_bytes();
        // Relaxed: at worst two threads warn.
        if held_bytes <= self.held_bytes_max || self.was_warned.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let message = std::ffi::CString::new(format!(
            "blocks and arrays that are kept hold {held_bytes} bytes, more than half of the \
             window: the device gets no credit for them, and soon has to stop or to lose samples. \
             Release blocks, copy what is kept (block.samples.copy()), or take a larger window."
        ))?;
        let class = errors::class(py, "HeldMemoryWarning")?;
        PyErr::warn(py, &class, &message, 1)
    }
}

enum Taken {
    Part(Part),
    /// The stream has ended, or continues at another index than requested.
    Nothing,
}

#[pymethods]
impl Receiver {
    #[new]
    fn open(py: Python<'_>, opening: options::Opening) -> PyResult<Self> {
        let address = opening.address(py)?;
        let options = opening.to_receive()?;
        let opened = interruptible(py, move || options.open(address))?;
        let stream = opened.map_err(|error| errors::open_error(py, &error))?;
        let info = stream.info().clone();
        options::warn_of_window(py, opening.window, [&info])?;
        let window_bytes =
            info.window.min(opening.window) as usize * usize::from(info.payload_bytes);
        Ok(Self {
            home: Home::here(),
            stats: stream.stats_handle(),
            granted: tables::GrantedOptions::new(stream.granted(), stream.capabilities()),
            shape: Shape { format: info.format, channels: info.channels },
            ledger: Arc::default(),
            held_bytes_max: window_bytes / 2,
            memory_bytes: stream.memory_bytes(),
            inner: Mutex::new(Inner { stream: Some(Own::new(stream)), begun: None, end: None }),
            kept: Mutex::default(),
            info,
            is_closed: AtomicBool::new(false),
            was_warned: AtomicBool::new(false),
        })
    }

    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        tables::device_info(py, &self.info)
    }

    /// The granted real-time options.
    #[getter]
    fn granted<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        tables::granted(py, &self.granted)
    }

    #[getter]
    const fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// The next block; `None` when the stream has ended.
    #[pyo3(signature = (timeout=None))]
    fn take(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Block>> {
        let part = self.part(py, timeout, usize::MAX, None)?;
        part.map(|part| Block::new(py, part.held, self.shape, (part.skip, part.len))).transpose()
    }

    /// Copies samples; the copies of interrupted readings come first.
    fn read<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.home.check(py)?;
        let kept = self.kept().pop_front();
        let mut copied = kept.unwrap_or_else(|| Copied::new(self.info.first_index, self.shape));
        let result =
            copied.reserve(count).and_then(|()| self.copy(py, &mut copied, count, timeout));
        if let Err(error) = result {
            let is_end = error.is_instance(py, &errors::class(py, "Error")?);
            if copied.is_empty() {
                return Err(error);
            }
            // Samples come before the end: the next call raises the end. A signal is raised at
            // once, and the samples are kept.
            if !is_end {
                self.kept().push_front(copied);
                return Err(error);
            }
        }
        if let Some(rest) = copied.split_off(count) {
            self.kept().push_front(rest);
        }
        copied.into_reading(py)
    }

    /// Waits, so that `take` need not; whether there is something to take.
    fn wait_ready(&self, py: Python<'_>, timeout: f64) -> PyResult<bool> {
        self.home.check(py)?;
        let timeout = span("timeout", timeout)?.min(SLICE);
        if self.is_closed.load(Ordering::Relaxed) {
            return Ok(true);
        }
        if !timeout.is_zero() {
            return Ok(self.wait(py, timeout));
        }
        // A call without a timeout must not wait for a thread that waits.
        let inner = self.inner.try_lock();
        Ok(inner.is_ok_and(|mut inner| inner.fetch(timeout, &self.ledger)))
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.home.check(py)?;
        tables::receiver_stats(py, &self.stats.stats(), self.ledger.held_bytes())
    }

    fn close(&self, py: Python<'_>) {
        if !self.home.is_here() {
            return;
        }
        self.is_closed.store(true, Ordering::Relaxed);
        py.detach(|| {
            let (stream, begun) =
                self.with_inner(|inner| (inner.stream.take(), inner.begun.take()));
            drop(begun);
            if let Some(stream) = stream {
                stream.into_inner().close();
            }
        });
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Block>> {
        self.take(py, None)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        let (stream, begun) = (inner.stream.take(), inner.begun.take());
        without_gil(|| drop((begun, stream)));
    }
}

/// What the first stream of a device is, or another's, without opening it.
#[pyfunction]
pub(crate) fn probe<'py>(
    py: Python<'py>,
    address: &str,
    stream: u16,
    timeout: f64,
) -> PyResult<Bound<'py, PyAny>> {
    let (address, timeout) = (options::resolve(py, address)?, span("timeout", timeout)?);
    let info = interruptible(py, move || samplewire::probe_stream(address, stream, timeout))?;
    tables::device_info(py, &info.map_err(|error| errors::open_error(py, &error))?)
}

/// What a stream of a device would be over RDMA, without opening it.
#[pyfunction]
pub(crate) fn probe_rdma<'py>(
    py: Python<'py>,
    address: &str,
    stream: u16,
    timeout: f64,
) -> PyResult<Bound<'py, PyAny>> {
    let (address, timeout) = (options::resolve(py, address)?, span("timeout", timeout)?);
    let probe = interruptible(py, move || samplewire::probe_rdma(address, stream, timeout))?;
    tables::rdma_probe(py, &probe.map_err(|error| errors::open_error(py, &error))?)
}

/// The devices that answer, and what came of those that did not say more.
#[pyfunction]
pub(crate) fn find<'py>(
    py: Python<'py>,
    port: u16,
    timeout: f64,
) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyTuple>, bool)> {
    let timeout = span("timeout", timeout)?;
    let found = interruptible(py, move || samplewire::find(port, timeout))?;
    let found = found.map_err(|error| errors::open_error(py, &error))?;
    let devices = tables::tuple(py, found.devices.iter().map(|it| tables::found(py, it)))?;
    let failures = found.failures.iter().map(OpenError::to_string);
    Ok((devices, PyTuple::new(py, failures.collect::<Vec<_>>())?, found.is_cut))
}
