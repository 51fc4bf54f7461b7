//! Receiving several streams of one index, as Python does it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use samplewire::receiver::{AlignedItem, AlignedStreams, LaneCounts, StatsHandle};
use samplewire::{DeviceInfo, Granted, ReceiveError};

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
    stats: Box<[StatsHandle]>,
    granted: Granted,
    memory_bytes: usize,
    is_closed: AtomicBool,
}

struct Inner {
    /// `None` once it was closed.
    streams: Option<Own<AlignedStreams>>,
    shapes: Arc<[Shape]>,
    /// Copied out of the streams and not taken, in order.
    ready: VecDeque<Chunk>,
    /// Why no block comes any more.
    end: Option<ReceiveError>,
    /// What became of the indexes of each stream, once it was closed.
    counts: Vec<LaneCounts>,
}

/// What there is at once.
enum Taken {
    Chunk(Chunk),
    /// The streams are over, or go on elsewhere than was asked for.
    Nothing,
    /// Nothing yet.
    Waits,
}

impl Inner {
    /// Waits for samples or a gap, and copies them; whether there is something to report.
    fn fetch(&mut self, timeout: Duration) -> bool {
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
                    self.ready.push_back(Chunk::of(&block, gaps, &self.shapes));
                    return true;
                }
                Ok(None) => break,
                Err(error) => {
                    self.end = Some(error);
                    break;
                }
            }
        }
        self.ready.extend(Chunk::of_gaps(gaps, &self.shapes));
        !self.ready.is_empty() || self.end.is_some()
    }

    /// Takes what there is, of at most `len_max` samples, where that goes on at `next` without a gap.
    fn take(&mut self, timeout: Duration, len_max: usize, next: Option<u64>) -> Taken {
        if !self.fetch(timeout) {
            return Taken::Waits;
        }
        let Some(mut chunk) = self.ready.pop_front() else { return Taken::Nothing };
        if next.is_some_and(|next| !chunk.gaps.is_empty() || next != chunk.index) {
            self.ready.push_front(chunk);
            return Taken::Nothing;
        }
        let rest = chunk.split_off(len_max);
        self.put_back(rest);
        Taken::Chunk(chunk)
    }

    /// Puts what was not taken before the rest.
    fn put_back(&mut self, chunk: Option<Chunk>) {
        chunk.into_iter().for_each(|chunk| self.ready.push_front(chunk));
    }
}

impl AlignedReceiver {
    fn with_inner<T>(&self, look: impl FnOnce(&mut Inner) -> T) -> T {
        look(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The next samples, of `len_max` at most; `None` when the streams have ended, or do not go on at
    /// index `next` without a gap.
    fn part(
        &self,
        py: Python<'_>,
        timeout: Option<f64>,
        len_max: usize,
        next: Option<u64>,
    ) -> PyResult<Option<Chunk>> {
        self.home.check(py)?;
        let end = until("timeout", timeout)?;
        loop {
            // Relaxed: `fetch` looks again under the lock.
            if self.is_closed.load(Ordering::Relaxed) {
                return Err(self.closed(py));
            }
            let left = end.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()));
            let wait = left.min(SLICE);
            match py.detach(|| self.with_inner(|inner| inner.take(wait, len_max, next))) {
                Taken::Chunk(chunk) => return Ok(Some(chunk)),
                Taken::Nothing => return self.over(py, next).map(|()| None),
                Taken::Waits if left.is_zero() => {
                    let waited = timeout.unwrap_or_default();
                    let message = format!("no samples of {} within {waited} s", self.info.address);
                    return Err(errors::error(py, "WaitTimeoutError", message));
                }
                Taken::Waits => py.check_signals()?,
            }
        }
    }

    /// Nothing comes any more: an error, unless that is as it should be, or `next` was not met.
    fn over(&self, py: Python<'_>, next: Option<u64>) -> PyResult<()> {
        self.with_inner(|inner| match &inner.end {
            _ if next.is_some() && !inner.ready.is_empty() => Ok(()),
            _ if inner.streams.is_none() => Err(self.closed(py)),
            Some(error) => errors::receive_error(py, error).map_or(Ok(()), Err),
            None => Ok(()),
        })
    }

    /// Copies until there are `count` samples, or the streams do not go on without a gap.
    fn copy(
        &self,
        py: Python<'_>,
        copied: &mut Option<Chunk>,
        count: usize,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        loop {
            let len = copied.as_ref().map_or(0, Chunk::len);
            let next = copied.as_ref().filter(|it| it.len() > 0).map(Chunk::end);
            if len >= count {
                return Ok(());
            }
            let Some(chunk) = self.part(py, timeout, count - len, next)? else { return Ok(()) };
            match copied {
                Some(copied) => py.detach(|| copied.append(chunk)),
                None => *copied = Some(chunk),
            }
            // Streams that are never empty have no wait in which a signal would be seen.
            py.check_signals()?;
        }
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
        let shape = |info: &DeviceInfo| Shape { format: info.format, channels: info.channels };
        Ok(Self {
            home: Home::here(),
            info: streams.info().clone(),
            infos: streams.infos().cloned().collect(),
            stats: streams.counters().map(|(_, stats)| stats).collect(),
            granted: streams.granted().clone(),
            memory_bytes: streams.memory_bytes(),
            is_closed: AtomicBool::new(false),
            inner: Mutex::new(Inner {
                shapes: streams.infos().map(shape).collect(),
                streams: Some(Own::new(streams)),
                ready: VecDeque::new(),
                end: None,
                counts: Vec::new(),
            }),
        })
    }

    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        tables::device_info(py, &self.info)
    }

    /// What the device said of each stream.
    #[getter]
    fn infos<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        tables::tuple(py, self.infos.iter().map(|info| tables::device_info(py, info)))
    }

    /// What was granted of the real-time options.
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
        let chunk = self.part(py, timeout, usize::MAX, None)?;
        chunk.map(|chunk| chunk.into_block(py, &self.infos)).transpose()
    }

    /// As many samples as were asked for, where they follow each other. What a signal breaks off comes
    /// first in the next call.
    fn read<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.home.check(py)?;
        let mut copied = None;
        if let Err(error) = self.copy(py, &mut copied, count, timeout) {
            let is_end = error.is_instance(py, &errors::class(py, "Error")?);
            // The end is reported after what came: the next call raises it again.
            if !is_end || copied.is_none() {
                self.with_inner(|inner| inner.put_back(copied));
                return Err(error);
            }
        }
        let shapes = self.with_inner(|inner| Arc::clone(&inner.shapes));
        let chunk = copied.unwrap_or_else(|| Chunk::empty(self.info.first_index, &shapes));
        chunk.into_block(py, &self.infos)
    }

    /// Waits, so that `take` need not; whether there is something to take.
    fn wait_ready(&self, py: Python<'_>, timeout: f64) -> PyResult<bool> {
        self.home.check(py)?;
        let timeout = span("timeout", timeout)?.min(SLICE);
        if self.is_closed.load(Ordering::Relaxed) {
            return Ok(true);
        }
        if !timeout.is_zero() {
            return Ok(py.detach(|| self.with_inner(|inner| inner.fetch(timeout))));
        }
        // A look does not wait for a thread that waits.
        let inner = self.inner.try_lock();
        Ok(inner.is_ok_and(|mut inner| inner.fetch(timeout)))
    }

    /// Counters of each stream.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.home.check(py)?;
        let stats = self.stats.iter().map(|stats| tables::receiver_stats(py, &stats.stats(), 0));
        tables::tuple(py, stats)
    }

    /// What became of the indexes of each stream.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.home.check(py)?;
        let counts = py.detach(|| {
            self.with_inner(|inner| match &inner.streams {
                Some(streams) => streams.stats().map(|(_, counts)| counts).collect(),
                None => inner.counts.clone(),
            })
        });
        let each = self.infos.iter().zip(&counts);
        tables::tuple(py, each.map(|(info, counts)| tables::stream_counts(py, info.stream, counts)))
    }

    fn close(&self, py: Python<'_>) {
        if !self.home.is_here() {
            return;
        }
        self.is_closed.store(true, Ordering::Relaxed);
        py.detach(|| {
            self.with_inner(|inner| {
                if let Some(streams) = inner.streams.take() {
                    let closed = streams.into_inner().close();
                    inner.counts = closed.streams.into_iter().map(|(_, counts)| counts).collect();
                }
            });
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
