//! Samples of several streams that were copied out of them.

use std::collections::VecDeque;

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use samplewire::DeviceInfo;
use samplewire::receiver::{AlignedBlock, StreamGap};
use samplewire_circuit::Tag;

use crate::tables;
use crate::view::{self, Shape};

/// The same indexes of all streams, and the gaps just before them.
pub(crate) struct Chunk {
    index: u64,
    gaps: Vec<StreamGap>,
    len: usize,
    lanes: Vec<Lane>,
}

/// The samples of one stream.
struct Lane {
    shape: Shape,
    bytes: Vec<u8>,
    /// How many of the bytes were moved to another chunk. They stay in front, so that a small
    /// reading does not move all that follows.
    begin: usize,
    tags: VecDeque<Tag>,
}

impl Chunk {
    /// No samples.
    pub(crate) fn empty(index: u64, shapes: &[Shape]) -> Self {
        let lane = |&shape| Lane { shape, bytes: Vec::new(), begin: 0, tags: VecDeque::new() };
        Self { index, gaps: Vec::new(), len: 0, lanes: shapes.iter().map(lane).collect() }
    }

    /// Gaps alone, where there are any.
    pub(crate) fn of_gaps(gaps: Vec<StreamGap>, shapes: &[Shape]) -> Option<Self> {
        let index = gaps.last()?.gap.end();
        Some(Self { gaps, ..Self::empty(index, shapes) })
    }

    /// A copy of a block, with the gaps before it.
    pub(crate) fn of(block: &AlignedBlock<'_>, gaps: Vec<StreamGap>, shapes: &[Shape]) -> Self {
        let lanes = block.streams().zip(shapes).map(|(samples, &shape)| Lane {
            shape,
            bytes: samples.bytes().to_vec(),
            begin: 0,
            tags: samples.tags().to_vec().into(),
        });
        Self { index: block.index(), gaps, len: block.len(), lanes: lanes.collect() }
    }

    /// Makes room for `count` samples in all.
    ///
    /// # Errors
    /// `MemoryError`.
    pub(crate) fn reserve(&mut self, count: usize) -> PyResult<()> {
        for lane in &mut self.lanes {
            let len_bytes = count.saturating_mul(lane.shape.frame_bytes());
            let more = len_bytes.saturating_sub(lane.bytes.len());
            lane.bytes.try_reserve_exact(more).map_err(|_| {
                let message = format!("{count} samples take {len_bytes} bytes: no memory");
                PyMemoryError::new_err(message)
            })?;
        }
        Ok(())
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are neither samples nor gaps.
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0 && self.gaps.is_empty()
    }

    /// The index at which its gaps begin, or its samples where it has no gaps.
    pub(crate) fn first(&self) -> u64 {
        self.gaps.first().map_or(self.index, |gap| gap.gap.first)
    }

    /// The index at which it goes on, once it has samples.
    pub(crate) fn next(&self) -> Option<u64> {
        (self.len > 0).then(|| self.end())
    }

    /// The index after the last sample.
    pub(crate) const fn end(&self) -> u64 {
        self.index + self.len as u64
    }

    /// Whether it follows samples that end at this index.
    pub(crate) const fn follows(&self, end: u64) -> bool {
        self.gaps.is_empty() && self.index == end
    }

    /// Moves the first samples of `next`, at most `len_max`, to the end of this chunk.
    pub(crate) fn append(&mut self, next: &mut Self, len_max: usize) {
        if self.len == 0 {
            self.index = next.index;
            self.gaps.append(&mut next.gaps);
        }
        let len = next.len.min(len_max);
        next.len -= len;
        next.index += len as u64;
        self.len += len;
        // A tag after the last sample goes with that.
        let tags_end = if next.len == 0 { u64::MAX } else { next.index };
        for (lane, next) in self.lanes.iter_mut().zip(&mut next.lanes) {
            let end = next.begin + len * next.shape.frame_bytes();
            lane.bytes.extend_from_slice(&next.bytes[next.begin..end]);
            next.begin = end;
            while next.tags.front().is_some_and(|tag| tag.index < tags_end) {
                lane.tags.extend(next.tags.pop_front());
            }
        }
    }

    /// The dataclass, whose arrays have these bytes.
    pub(crate) fn into_block<'py>(
        self,
        py: Python<'py>,
        infos: &[DeviceInfo],
    ) -> PyResult<Bound<'py, PyAny>> {
        let fields = PyDict::new(py);
        fields.set_item("index", self.index)?;
        fields.set_item("streams", PyTuple::new(py, infos.iter().map(|info| info.stream))?)?;
        let gaps = self.gaps.iter().map(|gap| tables::stream_gap(py, gap));
        fields.set_item("gaps", tables::tuple(py, gaps)?)?;
        let tags = self.lanes.iter().map(|lane| {
            let tags = tables::tuple(py, lane.tags.iter().map(|tag| tables::tag(py, tag)));
            tags.map(Bound::into_any)
        });
        fields.set_item("tags", tables::tuple(py, tags)?)?;
        fields.set_item("format", self.lanes.first().map(|lane| lane.shape.format.as_str()))?;
        let samples = self.lanes.into_iter().map(|mut lane| {
            lane.bytes.drain(..lane.begin);
            lane.bytes.shrink_to_fit();
            view::owned(py, lane.bytes, lane.shape)
        });
        fields.set_item("samples", tables::tuple(py, samples)?)?;
        py.import("samplewire._aligned")?.getattr("AlignedBlock")?.call((), Some(&fields))
    }
}
