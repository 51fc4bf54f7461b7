//! Samples that were copied out of a stream.

use std::sync::Arc;

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use samplewire::Gap;

use crate::block::Held;
use crate::tables;
use crate::view::{self, Shape};

/// Samples of a block from number `skip` on, `len` of them.
pub(crate) struct Part {
    pub(crate) held: Arc<Held>,
    pub(crate) skip: usize,
    pub(crate) len: usize,
}

/// Samples that follow each other, and the gaps just before them.
pub(crate) struct Copied {
    shape: Shape,
    bytes: Vec<u8>,
    index: u64,
    gaps: Vec<Gap>,
}

impl Copied {
    pub(crate) const fn new(index: u64, shape: Shape) -> Self {
        Self { shape, bytes: Vec::new(), index, gaps: Vec::new() }
    }

    /// Makes room for `count` samples in all.
    ///
    /// # Errors
    /// `MemoryError`.
    pub(crate) fn reserve(&mut self, count: usize) -> PyResult<()> {
        let len_bytes = count.saturating_mul(self.shape.frame_bytes());
        let more = len_bytes.saturating_sub(self.bytes.len());
        self.bytes.try_reserve_exact(more).map_err(|_| {
            PyMemoryError::new_err(format!("{count} samples take {len_bytes} bytes: no memory"))
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len() / self.shape.frame_bytes()
    }

    /// Whether there are neither samples nor gaps.
    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.gaps.is_empty()
    }

    /// The next index, once it has samples.
    pub(crate) fn next(&self) -> Option<u64> {
        (!self.bytes.is_empty()).then(|| self.index + self.len() as u64)
    }

    pub(crate) fn append(&mut self, part: &Part) {
        let block = part.held.block();
        if self.bytes.is_empty() {
            self.index = block.index() + part.skip as u64;
            let gaps = if part.skip == 0 { block.gaps() } else { &[] };
            self.gaps.extend_from_slice(gaps);
        }
        let frame_bytes = self.shape.frame_bytes();
        let range = part.skip * frame_bytes..(part.skip + part.len) * frame_bytes;
        self.bytes.extend_from_slice(&block.bytes()[range]);
    }

    /// Removes and returns everything after the first `count` samples, if there is anything.
    pub(crate) fn split_off(&mut self, count: usize) -> Option<Self> {
        if self.len() <= count {
            return None;
        }
        let bytes = self.bytes.split_off(count * self.shape.frame_bytes());
        Some(Self { bytes, ..Self::new(self.index + count as u64, self.shape) })
    }

    /// The dataclass, whose array has these bytes.
    pub(crate) fn into_reading(mut self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        self.bytes.shrink_to_fit();
        let samples = view::owned(py, self.bytes, self.shape)?;
        tables::reading(py, &samples, self.index, &self.gaps, self.shape.format)
    }
}
