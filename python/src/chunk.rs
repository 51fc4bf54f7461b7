//! Samples of several streams that were copied out of them.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use samplewire::DeviceInfo;
use samplewire::receiver::{AlignedBlock, StreamGap};
use samplewire_circuit::Tag;

use crate::tables;
use crate::view::{self, Shape};

/// The same indexes of all streams, and the gaps just before them.
pub(crate) struct Chunk {
    pub(crate) index: u64,
    pub(crate) gaps: Vec<StreamGap>,
    len: usize,
    lanes: Vec<Lane>,
}

/// The samples of one stream.
struct Lane {
    shape: Shape,
    bytes: Vec<u8>,
    tags: Vec<Tag>,
}

impl Chunk {
    /// No samples.
    pub(crate) fn empty(index: u64, shapes: &[Shape]) -> Self {
        let lane = |&shape| Lane { shape, bytes: Vec::new(), tags: Vec::new() };
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
            tags: samples.tags().to_vec(),
        });
        Self { index: block.index(), gaps, len: block.len(), lanes: lanes.collect() }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The index after the last sample.
    pub(crate) const fn end(&self) -> u64 {
        self.index + self.len as u64
    }

    /// Takes in what follows it.
    pub(crate) fn append(&mut self, next: Self) {
        for (lane, next) in self.lanes.iter_mut().zip(next.lanes) {
            lane.bytes.extend_from_slice(&next.bytes);
            lane.tags.extend(next.tags);
        }
        self.len += next.len;
    }

    /// Takes off what lies behind the first `len` samples, if anything does.
    pub(crate) fn split_off(&mut self, len: usize) -> Option<Self> {
        if self.len <= len {
            return None;
        }
        let index = self.index + len as u64;
        let lanes = self.lanes.iter_mut().map(|lane| {
            let is_later = |tag: &Tag| tag.index >= index;
            let later = lane.tags.iter().copied().filter(is_later).collect();
            lane.tags.retain(|tag| !is_later(tag));
            let bytes = lane.bytes.split_off(len * lane.shape.frame_bytes());
            Lane { shape: lane.shape, bytes, tags: later }
        });
        let rest = Self { index, gaps: Vec::new(), len: self.len - len, lanes: lanes.collect() };
        self.len = len;
        Some(rest)
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
        let samples = self.lanes.into_iter().map(|lane| view::owned(py, lane.bytes, lane.shape));
        fields.set_item("samples", tables::tuple(py, samples)?)?;
        py.import("samplewire._aligned")?.getattr("AlignedBlock")?.call((), Some(&fields))
    }
}
