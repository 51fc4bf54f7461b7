//! The Python receiver of several streams of one index.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use samplewire::receiver::{AlignedItem, AlignedStreams, LaneCounts, PortStats, StatsHandle};
use samplewire::{DeviceInfo, ReceiveError};

use crate::chunk::Chunk;
use crate::own::{Home, Own};
use crate::view::Shape;
use crate::wait::{SLICE, interruptible, span, until, without_gil};
use crate::{errors, options, tables};

/// The receiving end of several streams. One thread takes blocks at a time; others wait for their
/// turn.
#[pyclass(frozen, module = "samplewire")]
pub(crate) struct AlignedReceiver {
    home: Home,
    inner: Mutex<Inner>,
    /// All streams as one.
    info: DeviceInfo,
    infos: Box<[DeviceInfo]>,
    shapes: Box<[Shape]>,
    stats: Box<[StatsHandle]>,
    granted: tables::GrantedOptions,
    memory_bytes: usize,
    is_closed: AtomicBool,
}

struct Inner {
    /// `None` after it was closed.
    streams: Option<Own<AlignedStreams>>,
    /// Samples that were copied from the streams but not taken, in order.
    ready: VecDeque<Chunk>,
    /// The index after the last taken sample.
    index: u64,
    /// Why no block comes any more.
    end: Option<Arc<ReceiveError>>,
    /// What happened to the indexes of each stream, after it was closed.
    counts: Vec<LaneCounts>,
    /// What the port counted, once it was closed.
    port: PortStats,
}

/// What comes next.
enum Next<T> {
    Taken(T),
    /// The streams continue at another index than requested.
    Apart,
    /// Nothing yet.
    Waits,
    Over(Arc<ReceiveError>),
    Closed,
}

impl Inner {
    /// Waits for samples or a gap, and copies them; returns whether there are any, or the end.
    fn fetch(&mut self, timeout: Duration, shapes: &[Shape]) -> bool {
        if !self.ready.is_empty() || self.end.is_some() {
            return true;
        }
        let Some(streams) = &mut self.streams else { return true };
        let until = Instant::now() + timeout;
        let mut gaps = Vec::new();
        while gaps.len() < GAPS_MAX {
            match streams.next_within(until.saturating_duration_since(Instant::now())) {
                Ok(Some(AlignedItem::Gap(gap))) => gaps.push(gap),
                Ok(Some(AlignedItem::Samples(block))) => {
                    let gaps = std::mem::take(&mut gaps);
                    self.ready.push_back(Chunk::of(&block, gaps, shapes));
                    return true;
                }
                Ok(None) => break,
                Err(error) => {
                    self.end = Some(Arc::new(error));
                    break;
                }
            }
        }
        self.ready.extend(Chunk::of_gaps(gaps, shapes));
        !self.ready.is_empty() || self.end.is_some()
    }

    /// Takes what comes within `timeout`, where that follows samples that end at index `end`.
    fn next<T>(
        &mut self,
        timeout: Duration,
        shapes: &[Shape],
        end: Option<u64>,
        take: impl FnOnce(&mut Self, Chunk) -> T,
    ) -> Next<T> {
        if !self.fetch(timeout, shapes) {
            return Next::Waits;
        }
        match (self.ready.pop_front(), &self.end) {
            (Some(chunk), _) if end.is_some_and(|end| !chunk.follows(end)) => {
                self.ready.push_front(chunk);
                Next::Apart
            }
            (Some(chunk), _) => Next::Taken(take(self, chunk)),
            (None, Some(error)) if self.streams.is_some() => Next::Over(Arc::clone(error)),
            (None, _) => Next::Closed,
        }
    }

    /// Puts what was not taken before the rest.
    fn put_back(&mut self, chunk: Chunk) {
        if !chunk.is_empty() {
            self.index = chunk.first();
            self.ready.push_front(chunk);
        }
    }
}

impl AlignedReceiver {
    /// Looks at what is shared. Another thread may wait there, so the GIL is released.
    fn with_inner<T: Send>(&self, py: Python<'_>, look: impl FnOnce(&mut Inner) -> T + Send) -> T {
        py.detach(|| look(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Takes the next samples or gaps; `None` when the streams have ended, or what comes next does
    /// not follow samples that end at index `end`.
    fn next<T: Send>(
        &self,
        py: Python<'_>,
        timeout: Option<f64>,
        end: Option<u64>,
        mut take: impl FnMut(&mut Inner, Chunk) -> T + Send,
    ) -> PyResult<Option<T>> {
        self.home.check(py)?;
        let wait_end = until("timeout", timeout)?;
        loop {
            // Relaxed: `next` looks again under the lock.
            if self.is_closed.load(Ordering::Relaxed) {
                return Err(self.closed(py));
            }
            let left = wait_end.map_or(SLICE, |it| it.saturating_duration_since(Instant::now()));
            let wait = left.min(SLICE);
            match self.with_inner(py, |inner| inner.next(wait, &self.shapes, end, &mut take)) {
                Next::Taken(taken) => return Ok(Some(taken)),
                Next::Apart => return Ok(None),
                Next::Over(error) => {
                    return errors::receive_error(py, &error).map_or(Ok(None), Err);
                }
                Next::Closed => return Err(self.closed(py)),
                Next::Waits if left.is_zero() => {
                    let waited = timeout.unwrap_or_default();
                    let message = format!("no samples of {} within {waited} s", self.info.address);
                    return Err(errors::error(py, "WaitTimeoutError", message));
                }
                Next::Waits => py.check_signals()?,
            }
        }
    }

    /// Copies until there are `count` samples, or the streams do not go on without a gap.
    fn copy(
        &self,
        py: Python<'_>,
        copied: &mut Chunk,
        count: usize,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        while copied.len() < count {
            let taken = self.next(py, timeout, copied.next(), |inner, mut chunk| {
                copied.append(&mut chunk, count - copied.len());
                inner.index = copied.end();
                inner.put_back(chunk);
            })?;
            if taken.is_none() {
                break;
            }
            // Streams that are never empty have no wait in which a signal would be seen.
            py.check_signals()?;
        }
        Ok(())
    }

    fn closed(&self, py: Python<'_>) -> PyErr {
        let message = format!("the receiver of {} is closed", self.info.address);
        errors::error(py, "ClosedError", message)
    }
}

#[pymethods]
impl AlignedReceiver {
    #[new]
    fn open(py: Python<'_>, opening: options::Opening) -> PyResult<Self> {
        let (address, options) = (opening.address(py)?, opening.to_receive()?);
        let opened = interruptible(py, move || options.open_aligned(address))?;
        let streams = opened.map_err(|error| errors::open_error(py, &error))?;
        options::warn_of_window(py, opening.window, streams.infos())?;
        let shape = |info: &DeviceInfo| Shape { format: info.format, channels: info.channels };
        Ok(Self {
            home: Home::here(),
            info: streams.info().clone(),
            infos: streams.infos().cloned().collect(),
            shapes: streams.infos().map(shape).collect(),
            stats: streams.counters().map(|(_, stats)| stats).collect(),
            granted: tables::GrantedOptions::new(streams.granted(), streams.capabilities()),
            memory_bytes: streams.memory_bytes(),
            is_closed: AtomicBool::new(false),
            inner: Mutex::new(Inner {
                index: streams.info().first_index,
                streams: Some(Own::new(streams)),
                ready: VecDeque::new(),
                end: None,
                counts: Vec::new(),
                port: PortStats::default(),
            }),
        })
    }

    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        tables::device_info(py, &self.info)
    }

    /// The device's description of each stream.
    #[getter]
    fn infos<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        tables::tuple(py, self.infos.iter().map(|info| tables::device_info(py, info)))
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

    /// The next block; `None` when the streams have ended.
    #[pyo3(signature = (timeout=None))]
    fn take<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<f64>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let chunk = self.next(py, timeout, None, |inner, chunk| {
            inner.index = chunk.end();
            chunk
        })?;
        chunk.map(|chunk| chunk.into_block(py, &self.infos)).transpose()
    }

    /// As many samples as were asked for, where they follow each other. What a signal breaks off
    /// comes first in the next call.
    fn read<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.home.check(py)?;
        let index = self.with_inner(py, |inner| inner.index);
        let mut copied = Chunk::empty(index, &self.shapes);
        let result =
            copied.reserve(count).and_then(|()| self.copy(py, &mut copied, count, timeout));
        if let Err(error) = result {
            let is_end = error.is_instance(py, &errors::class(py, "Error")?);
            // Without samples a reading is the end, which a timeout is not.
            let is_early = copied.next().is_none()
                && error.is_instance(py, &errors::class(py, "WaitTimeoutError")?);
            // The end is reported after what came: the next call raises it again.
            if !is_end || is_early || copied.is_empty() {
                self.with_inner(py, |inner| inner.put_back(copied));
                return Err(error);
            }
        }
        copied.into_block(py, &self.infos)
    }

    /// Waits, so that `take` need not; whether there is something to take.
    fn wait_ready(&self, py: Python<'_>, timeout: f64) -> PyResult<bool> {
        self.home.check(py)?;
        let timeout = span("timeout", timeout)?.min(SLICE);
        if self.is_closed.load(Ordering::Relaxed) {
            return Ok(true);
        }
        if !timeout.is_zero() {
            return Ok(self.with_inner(py, |inner| inner.fetch(timeout, &self.shapes)));
        }
        // A call without a timeout must not wait for a thread that waits.
        let inner = self.inner.try_lock();
        Ok(inner.is_ok_and(|mut inner| inner.fetch(timeout, &self.shapes)))
    }

    /// Counters of each stream.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.home.check(py)?;
        let stats = self.stats.iter().map(|stats| tables::receiver_stats(py, &stats.stats(), 0));
        tables::tuple(py, stats)
    }

    /// What happened to the indexes of each stream.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.home.check(py)?;
        let counts = self.with_inner(py, |inner| match &inner.streams {
            Some(streams) => streams.stats().map(|(_, counts)| counts).collect(),
            None => inner.counts.clone(),
        });
        let each = self.infos.iter().zip(&counts);
        tables::tuple(py, each.map(|(info, counts)| tables::stream_counts(py, info.stream, counts)))
    }

    /// What the port counted besides the streams.
    fn port_stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.home.check(py)?;
        let stats = self.with_inner(py, |inner| {
            inner.streams.as_ref().map_or(inner.port, |streams| streams.port_stats())
        });
        tables::port_stats(py, stats)
    }

    fn close(&self, py: Python<'_>) {
        if !self.home.is_here() {
            return;
        }
        self.is_closed.store(true, Ordering::Relaxed);
        self.with_inner(py, |inner| {
            if let Some(streams) = inner.streams.take() {
                let closed = streams.into_inner().close();
                inner.counts = closed.streams.into_iter().map(|(_, counts)| counts).collect();
                inner.port = closed.port;
            }
        });
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.take(py, None)
    }
}

impl Drop for AlignedReceiver {
    fn drop(&mut self) {
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        let streams = inner.streams.take();
        without_gil(|| drop(streams));
    }
}

/// Gaps of one block; more come with a block of their own.
const GAPS_MAX: usize = 64;
