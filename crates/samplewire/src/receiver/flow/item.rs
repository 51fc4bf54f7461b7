//! The items that a flow passes to its program.

use std::time::Instant;

use samplewire_circuit::{SharedQuantum, Tag};
use samplewire_io::LinkError;
use samplewire_proto::stream::End;
use samplewire_proto::{Gap, SampleIndex};

/// An item, in stream order.
#[derive(Debug)]
pub(crate) enum Item {
    /// Samples without a gap.
    Run { samples: SharedQuantum, run: Run },
    /// Samples that are missing before the next run.
    Gap(Gap),
    /// An event at an index of the next run, or at the end of the last.
    Tag(Tag),
    /// The end of the stream.
    End(Result<End, LinkError>),
}

/// Consecutive samples within a quantum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) offset_bytes: usize,
    pub(crate) len_bytes: usize,
    pub(crate) index: SampleIndex,
    pub(crate) len_samples: usize,
    /// When the last of them became deliverable.
    pub(crate) at: Instant,
}

impl Run {
    /// The index after the last sample.
    pub(crate) const fn end_index(&self) -> SampleIndex {
        self.index + self.len_samples as u64
    }
}

/// The delivered part of the quantum that is being filled.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Run(Run),
    Gap(Gap),
    Tag(Tag),
}
