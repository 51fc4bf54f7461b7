//! Several streams of one index, brought into line: what all of them have, and what one lacks. No
//! clock and no samples inside: what each stream has next is put here, and what all have is taken.

use std::ops::Range;

use arrayvec::ArrayVec;
use samplewire_proto::{Gap, SampleIndex};

use crate::counters::LaneCounts;

/// What each stream has next. Of each it keeps one piece at most, so streams that are ahead wait
/// outside, in their own windows.
#[derive(Debug)]
pub(super) struct Alignment<B> {
    /// All before it has been taken, or lies in a gap.
    next: SampleIndex,
    lanes: Box<[Lane<B>]>,
}

/// One stream.
#[derive(Debug)]
struct Lane<B> {
    /// In order, before the samples.
    gaps: ArrayVec<Gap, GAPS_MAX>,
    samples: Option<Samples<B>>,
    /// Its samples before this have been taken or discarded.
    used: SampleIndex,
    is_over: bool,
    counts: LaneCounts,
}

#[derive(Debug)]
struct Samples<B> {
    range: Range<SampleIndex>,
    body: B,
}

/// What comes next for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Every lane has the samples of these indexes.
    Samples(Range<SampleIndex>),
    /// A lane lacks them, so all do.
    Gap { lane: usize, gap: Gap },
    /// A lane has nothing yet: [`Alignment::lacks`] says which.
    Lacks,
    /// A lane has ended: [`Alignment::has_ended`] says which.
    Over,
    /// A lane has set its index on purpose from the next to a later one, where another has samples.
    Apart { lane: usize, next: SampleIndex, at: SampleIndex },
}

/// What a lane has at the next index.
#[derive(Clone, Copy)]
enum Front<'a> {
    Nothing,
    Over,
    Gap(&'a Gap),
    /// Samples up to this index.
    Samples(SampleIndex),
    /// Nothing before this index, on purpose.
    Later(SampleIndex),
}

impl<B> Alignment<B> {
    /// A line of `lanes` streams that all begin at `first`.
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

    /// The index that is to come.
    pub(super) const fn next_index(&self) -> SampleIndex {
        self.next
    }

    /// Whether nothing is known of a lane at the next index; then it can be put there.
    pub(super) fn lacks(&self, lane: usize) -> bool {
        matches!(self.lanes[lane].front(self.next), Front::Nothing)
    }

    /// Whether a lane has nothing more for the next index, and never will.
    pub(super) fn has_ended(&self, lane: usize) -> bool {
        matches!(self.lanes[lane].front(self.next), Front::Over)
    }

    /// Takes what a lane that lacks something has next: gaps in order, then samples.
    ///
    /// # Panics
    /// When the lane does not lack anything, or there are more than [`GAPS_MAX`] gaps.
    pub(super) fn put(
        &mut self,
        lane: usize,
        gaps: &[Gap],
        samples: Option<(SampleIndex, u64, B)>,
    ) {
        assert!(self.lacks(lane), "lane {lane} has something");
        let lane = &mut self.lanes[lane];
        lane.let_go(self.next);
        lane.gaps = gaps.iter().copied().collect();
        lane.counts.gaps += gaps.len() as u64;
        lane.counts.missing += gaps.iter().map(Gap::count).sum::<u64>();
        lane.samples =
            samples.map(|(first, len, body)| Samples { range: first..first + len, body });
    }

    /// Takes note that nothing more comes of a lane.
    pub(super) fn end(&mut self, lane: usize) {
        self.lanes[lane].is_over = true;
    }

    /// What comes next for all, at most `samples_max` samples of it; what was lent before goes.
    /// A gap is that of the lane that lacks the most from there on, of the first of several.
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
                return Step::Lacks;
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
                // All leave the same indexes out.
                Some(_) => self.next = self.first_of_all(),
            }
        }
    }

    /// The piece of a lane whose samples were given last, and the index of its first sample.
    ///
    /// # Panics
    /// When none was given since the last [`Alignment::poll`].
    pub(super) fn samples(&self, lane: usize) -> (SampleIndex, &B) {
        let samples = self.lanes[lane].samples.as_ref().expect("samples were given");
        (samples.range.start, &samples.body)
    }

    /// Gives up the piece of a lane whose samples were given last, all of them.
    ///
    /// # Panics
    /// When not all of the piece has been given.
    pub(super) fn take_samples(&mut self, lane: usize) -> B {
        let samples = self.lanes[lane].samples.take().expect("samples were given");
        assert_eq!(samples.range.end, self.next, "the whole piece was given");
        samples.body
    }

    pub(super) fn counts(&self, lane: usize) -> LaneCounts {
        self.lanes[lane].counts
    }

    /// The first index at which a lane has something, where all have left the next one out.
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

    /// Lets go of what lies before `next`.
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

/// The part of a gap from `next` on. Of what a gap lacks for two reasons nobody knows which is
/// where, so what was sent is taken to come first.
fn rest(gap: &Gap, next: SampleIndex) -> Gap {
    let count = gap.end() - next;
    let not_repaired = gap.not_repaired.min(count);
    Gap { first: next, not_repaired, source_lost: count - not_repaired, cause: gap.cause }
}

/// Gaps of one block.
const GAPS_MAX: usize = super::super::block::Gaps::LEN_MAX;

#[cfg(test)]
mod tests;
