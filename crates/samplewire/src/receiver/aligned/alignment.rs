//! Aligns several streams of one index: finds the samples that all streams have, and the gaps of
//! each. It has no clock and no samples: the owner puts in the next piece of each stream, and takes
//! out the common part.

use std::ops::Range;

use arrayvec::ArrayVec;
use samplewire_proto::{Gap, SampleIndex};

use crate::counters::LaneCounts;

/// The next piece of each stream. It keeps at most one piece per stream, so streams that are ahead
/// wait outside, in their own windows.
#[derive(Debug)]
pub(super) struct Alignment<B> {
    /// Everything before it has been taken, or is in a gap.
    next: SampleIndex,
    lanes: Box<[Lane<B>]>,
}

/// One stream.
#[derive(Debug)]
struct Lane<B> {
    /// In order, before the samples.
    gaps: ArrayVec<Gap, GAPS_MAX>,
    samples: Option<Samples<B>>,
    /// Its samples before this index have been taken or discarded.
    used: SampleIndex,
    is_over: bool,
    counts: LaneCounts,
}

#[derive(Debug)]
struct Samples<B> {
    range: Range<SampleIndex>,
    body: B,
}

/// The next step for all streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Every lane has the samples of these indexes.
    Samples(Range<SampleIndex>),
    /// Some lane misses these indexes, so all do.
    Gap { lane: usize, gap: Gap },
    /// A lane needs input: [`Alignment::needs_input`] states which.
    NeedsInput,
    /// A lane has ended: [`Alignment::has_ended`] states which.
    Over,
    /// A lane has skipped from the next index to a later one on purpose, where another has samples.
    Apart { lane: usize, next: SampleIndex, at: SampleIndex },
}

/// The state of a lane at the next index.
#[derive(Clone, Copy)]
enum Front<'a> {
    Nothing,
    Over,
    Gap(&'a Gap),
    /// Samples up to this index.
    Samples(SampleIndex),
    /// No samples before this index, on purpose.
    Later(SampleIndex),
}

impl<B> Alignment<B> {
    /// Creates an alignment of `lanes` streams that all begin at `first`.
    pub(super) fn new(lanes: usize, first: SampleIndex) -> Self {
        let lane = |_| Lane {
            gaps: ArrayVec::new(),
            samples: None,
            used: first,
            is_over: false,
            counts: LaneCounts::default(),
        };
        Self { next: first, lanes: (0..lanes).map(lane).collect() }
    }

    /// The next index.
    pub(super) const fn next_index(&self) -> SampleIndex {
        self.next
    }

    /// Whether a lane has no data at the next index, so that [`Alignment::put`] may follow.
    pub(super) fn needs_input(&self, lane: usize) -> bool {
        matches!(self.lanes[lane].front(self.next), Front::Nothing)
    }

    /// Whether a lane has ended before the next index.
    pub(super) fn has_ended(&self, lane: usize) -> bool {
        matches!(self.lanes[lane].front(self.next), Front::Over)
    }

    /// Puts the next piece of a lane that needs input: gaps in order, then samples.
    ///
    /// # Panics
    /// If the lane does not need input, or there are more than [`GAPS_MAX`] gaps.
    pub(super) fn put(
        &mut self,
        lane: usize,
        gaps: &[Gap],
        samples: Option<(SampleIndex, u64, B)>,
    ) {
        assert!(self.needs_input(lane), "lane {lane} has something");
        let lane = &mut self.lanes[lane];
        lane.let_go(self.next);
        lane.gaps = gaps.iter().copied().collect();
        lane.counts.gaps += gaps.len() as u64;
        lane.counts.missing += gaps.iter().map(Gap::count).sum::<u64>();
        lane.samples =
            samples.map(|(first, len, body)| Samples { range: first..first + len, body });
    }

    /// Records that a lane has ended.
    pub(super) fn end(&mut self, lane: usize) {
        self.lanes[lane].is_over = true;
    }

    /// Returns the next step for all, with at most `samples_max` samples, and releases the previous
    /// one. A gap is that of the lane which misses the most indexes from here, or of the first such
    /// lane.
    pub(super) fn poll(&mut self, samples_max: u64) -> Step {
        loop {
            for lane in &mut self.lanes {
                lane.let_go(self.next);
            }
            let next = self.next;
            let fronts = self.lanes.iter().map(|lane| lane.front(next));
            if fronts.clone().any(|front| matches!(front, Front::Over)) {
                return Step::Over;
            }
            if fronts.clone().any(|front| matches!(front, Front::Nothing)) {
                return Step::NeedsInput;
            }
            let (mut longest, mut later, mut end) = (None::<(usize, Gap)>, None, SampleIndex::MAX);
            let mut all_are_later = true;
            for (lane, front) in fronts.enumerate() {
                match front {
                    Front::Gap(gap) => {
                        if longest.is_none_or(|(_, before)| before.end() < gap.end()) {
                            longest = Some((lane, *gap));
                        }
                    }
                    Front::Later(at) => later = later.or(Some((lane, at))),
                    Front::Samples(at) => end = end.min(at),
                    Front::Nothing | Front::Over => unreachable!("it was looked for"),
                }
                all_are_later &= matches!(front, Front::Later(_));
            }
            if let Some((lane, gap)) = longest {
                self.next = gap.end();
                return Step::Gap { lane, gap: rest(&gap, next) };
            }
            match later {
                None => {
                    let range = next..end.min(next.saturating_add(samples_max));
                    self.next = range.end;
                    self.lanes.iter_mut().for_each(|lane| lane.used = range.end);
                    return Step::Samples(range);
                }
                Some((lane, at)) if !all_are_later => return Step::Apart { lane, next, at },
                // All lanes leave the same indexes out.
                Some(_) => self.next = self.first_of_all(),
            }
        }
    }

    /// The piece of a lane that has the last returned samples, and the index of its first sample.
    ///
    /// # Panics
    /// If no samples were returned since the last [`Alignment::poll`].
    pub(super) fn samples(&self, lane: usize) -> (SampleIndex, &B) {
        let samples = self.lanes[lane].samples.as_ref().expect("samples were given");
        (samples.range.start, &samples.body)
    }

    /// Removes the piece of a lane that has the last returned samples, which must be all of it.
    ///
    /// # Panics
    /// If not all of the piece was returned.
    pub(super) fn take_samples(&mut self, lane: usize) -> B {
        let samples = self.lanes[lane].samples.take().expect("samples were given");
        assert_eq!(samples.range.end, self.next, "the whole piece was given");
        samples.body
    }

    pub(super) fn counts(&self, lane: usize) -> LaneCounts {
        self.lanes[lane].counts
    }

    /// The first index that any lane has, after all have left the next one out.
    fn first_of_all(&self) -> SampleIndex {
        let later = self.lanes.iter().map(|lane| match lane.front(self.next) {
            Front::Later(at) => at,
            _ => self.next,
        });
        later.min().unwrap_or(self.next)
    }
}

impl<B> Lane<B> {
    fn front(&self, next: SampleIndex) -> Front<'_> {
        let of_gaps = self.gaps.iter().find(|gap| gap.end() > next);
        let of_samples = self.samples.as_ref().filter(|samples| samples.range.end > next);
        match (of_gaps, of_samples) {
            (Some(gap), _) if gap.first <= next => Front::Gap(gap),
            (Some(gap), _) => Front::Later(gap.first),
            (None, Some(samples)) if samples.range.start <= next => {
                Front::Samples(samples.range.end)
            }
            (None, Some(samples)) => Front::Later(samples.range.start),
            (None, None) if self.is_over => Front::Over,
            (None, None) => Front::Nothing,
        }
    }

    /// Drops everything before `next`.
    fn let_go(&mut self, next: SampleIndex) {
        self.gaps.retain(|gap| gap.end() > next);
        let Some(Samples { range, .. }) = &self.samples else { return };
        let unused = range.start.max(self.used)..range.end.min(next);
        if !unused.is_empty() {
            self.counts.discarded += unused.end - unused.start;
            self.used = unused.end;
        }
        if range.end <= next {
            self.samples = None;
        }
    }
}

/// The part of a gap from `next` on. If a gap has two causes, their order is unknown, so packets
/// that were sent count first.
fn rest(gap: &Gap, next: SampleIndex) -> Gap {
    let count = gap.end() - next;
    let not_repaired = gap.not_repaired.min(count);
    Gap { first: next, not_repaired, source_lost: count - not_repaired, cause: gap.cause }
}

/// Maximum number of gaps in one block.
const GAPS_MAX: usize = super::super::Block::GAPS_MAX;

#[cfg(test)]
mod tests;
