//! The blocks that a receiver returns to the program.

use std::time::Instant;

use arrayvec::ArrayVec;
use samplewire_circuit::{Loan, Sample, Tag, Tags, ViewError};
use samplewire_proto::{Gap, SampleIndex};

/// Samples without a gap, borrowed from the pool. Dropping the block returns the memory, and with
/// it the credit to send more.
#[derive(Debug)]
pub struct Block {
    pub(super) samples: Option<Loan>,
    pub(super) index: SampleIndex,
    pub(super) len_samples: usize,
    pub(super) gaps: Gaps,
    pub(super) tags: ArrayVec<Tag, { Tags::LEN_MAX }>,
    pub(super) at: Instant,
}

impl Block {
    /// Maximum number of gaps before one block; further gaps come with a block of their own.
    pub const GAPS_MAX: usize = 4;

    /// Creates a block without gaps and tags.
    #[inline]
    pub(super) fn new(
        samples: Option<Loan>,
        index: SampleIndex,
        len_samples: usize,
        at: Instant,
    ) -> Self {
        Self { samples, index, len_samples, gaps: Gaps::new(), tags: ArrayVec::new(), at }
    }

    /// The samples as on the wire: little-endian, channels interleaved. Empty if the block only
    /// carries gaps or tags, at the end of a stream or before a pause.
    pub fn bytes(&self) -> &[u8] {
        self.samples.as_ref().map_or(&[], Loan::bytes)
    }

    /// The samples as a slice of `T` without a copy; a `T` spans one or more components.
    ///
    /// # Errors
    /// The length of the bytes is not a multiple of `T`, or they are not aligned for it.
    pub fn samples<T: Sample>(&self) -> Result<&[T], ViewError> {
        samplewire_circuit::view(self.bytes())
    }

    /// The index of the first sample; for a block without samples, the index after its gaps.
    pub const fn index(&self) -> SampleIndex {
        self.index
    }

    /// Number of samples, each with all channels.
    pub const fn len(&self) -> usize {
        self.len_samples
    }

    /// Whether the block only carries gaps or tags.
    pub const fn is_empty(&self) -> bool {
        self.len_samples == 0
    }

    /// The samples alone, for a quantum of a circuit; `None` without samples.
    pub fn into_loan(self) -> Option<Loan> {
        self.samples
    }

    /// When the last of the samples became deliverable at this host.
    pub const fn arrived_at(&self) -> Instant {
        self.at
    }

    /// Adds these gaps, and as many of these tags as fit.
    pub(super) fn with(mut self, gaps: Gaps, tags: &[Tag]) -> Self {
        self.gaps = gaps;
        self.tags = tags.iter().take(Tags::LEN_MAX).copied().collect();
        self
    }

    /// Whether it contains anything besides samples.
    pub(super) fn carries_something(&self) -> bool {
        !self.gaps.is_empty() || !self.tags.is_empty()
    }

    /// The gaps just before the first sample, in order.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// The events at these samples, and at the index after the last.
    pub fn tags(&self) -> &[Tag] {
        &self.tags
    }
}

/// A few gaps, in order, without an allocation.
pub(super) type Gaps = ArrayVec<Gap, { Block::GAPS_MAX }>;
