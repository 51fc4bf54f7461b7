//! Blocks, as Python holds them.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use samplewire::Gap;
use samplewire::format::{self, Format};
use samplewire_circuit::Tag;

use crate::errors;
use crate::options::format_named;
use crate::own::Own;
use crate::tables;
use crate::view::{self, Shape};

/// Bytes in all blocks of a receiver that Python still references.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    held_bytes: AtomicUsize,
}

impl Ledger {
    pub(crate) fn held_bytes(&self) -> usize {
        // Relaxed: a count for display; it orders nothing.
        self.held_bytes.load(Ordering::Relaxed)
    }
}

/// A block of the library, shared by all views of its parts.
#[derive(Debug)]
pub(crate) struct Held {
    block: Own<samplewire::Block>,
    ledger: Arc<Ledger>,
}

impl Held {
    pub(crate) fn new(block: samplewire::Block, ledger: &Arc<Ledger>) -> Self {
        ledger.held_bytes.fetch_add(block.bytes().len(), Ordering::Relaxed);
        Self { block: Own::new(block), ledger: Arc::clone(ledger) }
    }

    pub(crate) fn block(&self) -> &samplewire::Block {
        &self.block
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.ledger.held_bytes.fetch_sub(self.block.bytes().len(), Ordering::Relaxed);
    }
}

/// The right to read a block's memory: the base of the arrays over it.
#[pyclass(frozen, module = "samplewire")]
#[derive(Debug)]
pub(crate) struct Lease {
    held: Arc<Held>,
    range: Range<usize>,
}

impl Lease {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.held.block().bytes()[self.range.clone()]
    }
}

/// A run of samples without a gap inside, in the memory that the receiver filled.
#[pyclass(frozen, module = "samplewire")]
#[derive(Debug)]
pub(crate) struct Block {
    /// `None` once it was released.
    lease: Mutex<Option<Py<Lease>>>,
    shape: Shape,
    /// Index of the first sample; of a block without samples, the index after its gaps.
    #[pyo3(get)]
    index: u64,
    len_samples: usize,
    gaps: Vec<Gap>,
    tags: Vec<Tag>,
}

impl Block {
    /// The samples of `held` from number `skip` on, `len_samples` of them.
    pub(crate) fn new(
        py: Python<'_>,
        held: Arc<Held>,
        shape: Shape,
        (skip, len_samples): (usize, usize),
    ) -> PyResult<Self> {
        let block = held.block();
        let index = block.index() + skip as u64;
        let end = index + len_samples as u64;
        let is_last = skip + len_samples == block.len();
        // Tags at the end belong to the last part.
        let is_here = |tag: &&Tag| tag.index < end || is_last;
        let is_later = |tag: &&Tag| skip == 0 || tag.index >= index;
        let tags = block.tags().iter().filter(is_later).filter(is_here).copied().collect();
        let gaps = if skip == 0 { block.gaps().to_vec() } else { Vec::new() };
        let frame_bytes = shape.frame_bytes();
        let range = skip * frame_bytes..(skip + len_samples) * frame_bytes;
        let lease = Mutex::new(Some(Py::new(py, Lease { held, range })?));
        Ok(Self { lease, shape, index, len_samples, gaps, tags })
    }

    fn lease<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Lease>> {
        let lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        let lease = lease.as_ref().map(|lease| lease.clone_ref(py).into_bound(py));
        lease.ok_or_else(|| {
            let message = format!(
                "the block of index {} was released, and its memory given back: copy what is \
                 needed for longer, e.g. block.samples.copy()",
                self.index
            );
            errors::error(py, "ReleasedError", message)
        })
    }

    fn converted<'py>(
        &self,
        py: Python<'py>,
        (to, parts, dtype): (Format, usize, &str),
    ) -> PyResult<Bound<'py, PyAny>> {
        let lease = self.lease(py)?;
        let format = self.shape.format;
        if format.is_complex() != to.is_complex() {
            let kind = if format.is_complex() { "complex" } else { "real" };
            let message = format!("{format} samples are {kind}: use {kind}()");
            return Err(PyTypeError::new_err(message));
        }
        let values = self.len_samples * usize::from(self.shape.channels);
        let mut out = vec![0_f32; values * parts];
        let room = bytemuck::cast_slice_mut(&mut out);
        format::convert(self.shape.format, to, lease.get().bytes(), room)
            .map_err(|error| PyTypeError::new_err(error.to_string()))?;
        let out = PyArray1::from_vec(py, out).call_method1("view", (dtype,))?;
        out.call_method1("reshape", (self.len_samples, self.shape.channels))
    }
}

#[pymethods]
impl Block {
    /// The samples in place, without a copy, read-only.
    #[getter]
    fn samples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        view::array(&self.lease(py)?, self.shape)
    }

    /// The gaps just before the first sample.
    #[getter]
    fn gaps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        tables::tuple(py, self.gaps.iter().map(|gap| tables::gap(py, gap)))
    }

    /// The events at the samples.
    #[getter]
    fn tags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        tables::tuple(py, self.tags.iter().map(|tag| tables::tag(py, tag)))
    }

    /// The index after the last sample.
    #[getter]
    const fn end(&self) -> u64 {
        self.index + self.len_samples as u64
    }

    /// Whether the memory was released.
    #[getter]
    fn is_released(&self) -> bool {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// A copy as complex64, at full scale 1.0.
    fn complex<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.converted(py, (Format::Fc32, 2, "complex64"))
    }

    /// A copy as float32, at full scale 1.0, of a real format.
    fn real<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.converted(py, (Format::Rf32, 1, "float32"))
    }

    /// Returns the memory once no array references it.
    fn release(&self) {
        let lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Dropped when the lock is not held.
        drop(lease);
    }

    #[pyo3(signature = (**options))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.samples(py)?.call_method("__dlpack__", (), options)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        (DLPACK_CPU, 0)
    }

    const fn __len__(&self) -> usize {
        self.len_samples
    }

    fn __bool__(&self) -> bool {
        self.len_samples > 0
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.release();
    }

    fn __repr__(&self) -> String {
        let state = if self.is_released() { ", released" } else { "" };
        let (index, gaps) = (self.index, self.gaps.len());
        format!("<samplewire.Block index={index} samples={} gaps={gaps}{state}>", self.len_samples)
    }
}

/// Samples in another format.
#[pyfunction]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    from_format: &str,
    to_format: &str,
    data: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let (from, to) = (format_named(from_format)?, format_named(to_format)?);
    let len_bytes = data.len() / from.sample_bytes() * to.sample_bytes();
    PyBytes::new_with(py, len_bytes, |out| {
        let converted = format::convert(from, to, data, out);
        converted.map(drop).map_err(|error| PyValueError::new_err(error.to_string()))
    })
}

/// Samples in bytes, as numbers of float32 at full scale 1.0: two for each of a complex format.
#[pyfunction]
pub(crate) fn to_floats<'py>(
    py: Python<'py>,
    from_format: &str,
    data: PyReadonlyArray1<'py, u8>,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let from = format_named(from_format)?;
    let (to, parts) = if from.is_complex() { (Format::Fc32, 2) } else { (Format::Rf32, 1) };
    let bytes = data.as_slice()?;
    let mut out = vec![0_f32; bytes.len() / from.sample_bytes() * parts];
    let converted = format::convert(from, to, bytes, bytemuck::cast_slice_mut(&mut out));
    converted.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(PyArray1::from_vec(py, out))
}

const DLPACK_CPU: i32 = 1;
