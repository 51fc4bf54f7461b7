//! Joins: two streams worked on together where both have samples of one index.

use std::ops::Range;

use crate::block::Failure;
use crate::channel::{Arrival, Give, Inlet, Take};
use crate::graph::Survey;
use crate::quantum::Quantum;
use crate::tag::{Tag, TagKind, Tags};
use crate::task::input::{Input, Reading, clear};
use crate::task::{Names, Next, Pair, Progress, Station};

/// Aligns two streams by index, and has its block work on the first's quanta.
///
/// Samples without a partner are not passed on. Those at the front or the back of a quantum are cut
/// off it; those in its middle make two of it: the shorter piece is copied to a spare quantum, of a
/// circuit that only this join takes from. All that is on its way from here on can go home without
/// this join, so it waits for a spare at most until then.
pub(crate) struct JoinHead {
    station: Station<dyn Pair>,
    inlet: Inlet<Quantum>,
    input: Input,
    spare: Take,
    first: Option<First>,
    second: Option<Second>,
    /// The index of the next sample of output, once there was one of both streams.
    next_out: Option<u64>,
    /// Samples without a partner came since the last output.
    is_after_gap: bool,
    /// Tags of samples without a partner, for the next output.
    waiting_tags: Tags,
    is_at_work: bool,
}

/// A quantum that is worked on; it holds the tags of what was done.
struct First {
    quantum: Quantum,
    /// Those that it came with ..
    tags: Tags,
    /// .. of which those before this index were passed on or left out.
    tags_from: u64,
    /// How many of its samples were worked on.
    done: usize,
    len: usize,
}

/// A quantum that is read.
struct Second {
    reading: Reading,
    read: usize,
    len: usize,
    /// See [`First::tags_from`].
    tags_from: u64,
}

impl First {
    fn index(&self) -> u64 {
        self.quantum.index() + self.done as u64
    }

    fn left(&self) -> usize {
        self.len - self.done
    }

    /// Where its stream begins, if it is the first of it.
    fn begin(&self) -> u64 {
        begin(self.quantum.index(), &self.tags)
    }
}

impl Second {
    fn index(&self) -> u64 {
        self.reading.quantum().index() + self.read as u64
    }

    fn left(&self) -> usize {
        self.len - self.read
    }

    /// See [`First::begin`].
    fn begin(&self) -> u64 {
        begin(self.reading.quantum().index(), self.reading.quantum().tags())
    }
}

impl JoinHead {
    pub(crate) fn new(
        station: Station<dyn Pair>,
        inlet: Inlet<Quantum>,
        input: Input,
        spare: Take,
    ) -> Self {
        Self {
            station,
            inlet,
            input,
            spare,
            first: None,
            second: None,
            next_out: None,
            is_after_gap: false,
            waiting_tags: Tags::default(),
            is_at_work: false,
        }
    }

    /// The next quantum of which each sample was worked on; those without a partner go home.
    pub(crate) fn next(&mut self, give: &mut Give) -> Result<Next, Failure> {
        self.is_at_work = true;
        let mut worked = false;
        let next = self.join_next(give, &mut worked);
        // A failure stays this block's.
        self.is_at_work = next.is_err();
        match next {
            Ok(Next::Starved | Next::Blocked) if worked => Ok(Next::Worked),
            next => next,
        }
    }

    /// See [`JoinHead::next`]; says whether anything was done.
    fn join_next(&mut self, give: &mut Give, worked: &mut bool) -> Result<Next, Failure> {
        loop {
            let mut first = match self.first.take().map_or_else(|| self.pop_first(), Arrival::Next)
            {
                Arrival::Next(first) => first,
                Arrival::Empty => return Ok(self.starved()),
                Arrival::Ended => return Ok(Next::Ended),
            };
            let second = match self.second.take().map_or_else(|| self.pop_second(), Arrival::Next) {
                Arrival::Next(second) => second,
                Arrival::Empty => {
                    self.first = Some(first);
                    return Ok(self.starved());
                }
                // Nothing that is left finds a partner.
                Arrival::Ended if first.done == 0 => {
                    give.give(first.quantum);
                    return Ok(Next::Ended);
                }
                Arrival::Ended => {
                    first.quantum.trim_back(self.station.sample_size.bytes(first.left()));
                    return Ok(Next::Quantum(first.quantum));
                }
            };
            let (at, other) = (first.index(), second.index());
            self.next_out.get_or_insert_with(|| first.begin().min(second.begin()));
            let was_worked = std::mem::replace(worked, true);
            if at > other {
                self.skip_second(second, at - other);
                self.first = Some(first);
                continue;
            }
            if at == other {
                let second = self.pair(&mut first, second)?;
                self.keep(second);
            } else {
                self.second = Some(second);
                match self.skip_first(first, other - at, give) {
                    Skipped::Done(quantum) => return Ok(Next::Quantum(quantum)),
                    Skipped::More => continue,
                    Skipped::Blocked => {
                        *worked = was_worked;
                        self.station.counting.blocked();
                        return Ok(Next::Blocked);
                    }
                }
            }
            if first.left() == 0 {
                return Ok(Next::Quantum(first.quantum));
            }
            self.first = Some(first);
        }
    }

    fn pop_first(&mut self) -> Arrival<First> {
        let sample_size = self.station.sample_size;
        self.inlet.pop().map(|mut quantum| {
            let tags = *quantum.tags();
            quantum.tags_mut().clear();
            let len = sample_size.samples(quantum.len());
            First { quantum, tags, tags_from: 0, done: 0, len }
        })
    }

    fn pop_second(&mut self) -> Arrival<Second> {
        let block = &self.station.block;
        self.input.pop().map(|reading| {
            let len = block.second_len(reading.quantum());
            Second { reading, read: 0, len, tags_from: 0 }
        })
    }

    fn starved(&mut self) -> Next {
        self.station.counting.starved();
        Next::Starved
    }

    /// Has the block work on what both hold from one index on.
    fn pair(&mut self, first: &mut First, mut second: Second) -> Result<Second, Failure> {
        let rates = (first.quantum.rate_hz(), second.reading.quantum().rate_hz());
        let is_known = rates.0 != 0.0 && rates.1 != 0.0;
        if is_known && rates.0 != rates.1 {
            self.second = Some(second);
            return Err(format!(
                "joins streams of {} Hz and {} Hz: resample one of them before",
                rates.0, rates.1
            )
            .into());
        }
        let at = first.index();
        let len = first.left().min(second.left());
        let Station { counting, block, .. } = &mut self.station;
        let reading = second.reading.quantum();
        let work = || block.pair(&mut first.quantum, first.done, reading, second.read, len);
        counting.call(len as u64, work)?;
        let end = at + len as u64;
        let tags_end = |left| if len < left { end } else { u64::MAX };
        let (ours, other) = (tags_end(first.left()), tags_end(second.left()));
        let expected = self.next_out.replace(end).unwrap_or(at);
        let (tags, waiting) = (first.quantum.tags_mut(), &self.waiting_tags);
        let all = || {
            let waiting = waiting.iter().map(|tag| Tag { index: at, ..*tag });
            let ours = tags_of(&first.tags, first.tags_from..ours);
            waiting.chain(ours).chain(tags_of(reading.tags(), second.tags_from..other))
        };
        let lost_by = |tag: &Tag| { tag.kind }.lost_samples_mut().map_or(0, |lost| *lost);
        let is_loss = |tag: &Tag| tag.index <= at && lost_by(tag) > 0;
        // Each sample missing before is reported once, by the first tag that covers it.
        let mut missing = at.saturating_sub(expected);
        let gap = TagKind::Gap { lost_samples: missing, cause: CAUSE };
        let own = self.is_after_gap.then_some(Tag { index: at, kind: gap });
        for mut tag in all().filter(is_loss).chain(own) {
            if missing == 0 {
                break;
            }
            if let Some(lost) = tag.kind.lost_samples_mut() {
                *lost = missing.min(*lost);
                missing -= *lost;
            }
            if tags.push_before_samples(Tag { index: at, ..tag }).is_err() {
                counting.lost_tag();
            }
        }
        for tag in all().filter(|tag| !is_loss(tag)) {
            if tags.insert(tag).is_err() {
                counting.lost_tag();
            }
        }
        self.is_after_gap = false;
        self.waiting_tags.clear();
        (first.tags_from, second.tags_from) = (ours, other);
        first.done += len;
        second.read += len;
        Ok(second)
    }

    /// Leaves out samples of the second for which the first has none.
    fn skip_second(&mut self, mut second: Second, missing: u64) {
        let len = missing.min(second.left() as u64) as usize;
        let end = if len < second.left() { second.index() + len as u64 } else { u64::MAX };
        let tags = second.reading.quantum().tags();
        self.leave_out(len, tags_of(tags, second.tags_from..end));
        second.tags_from = end;
        second.read += len;
        self.keep(second);
    }

    /// Leaves out samples of the first for which the second has none.
    fn skip_first(&mut self, mut first: First, missing: u64, give: &mut Give) -> Skipped {
        let len = missing.min(first.left() as u64) as usize;
        let bytes = self.station.sample_size.bytes(len);
        if len == first.left() {
            if first.done > 0 {
                self.trim(&mut first);
                return Skipped::Done(first.quantum);
            }
            self.leave_out(len, tags_of(&first.tags, first.tags_from..u64::MAX));
            give.give(first.quantum);
            return Skipped::More;
        }
        let end = first.index() + len as u64;
        let mut done = None;
        if first.done > 0 {
            let Some(spare) = self.spare.take() else {
                self.first = Some(first);
                return Skipped::Blocked;
            };
            done = Some(self.divide(&mut first, spare));
        }
        self.leave_out(len, tags_of(&first.tags, first.tags_from..end));
        first.tags_from = end;
        first.quantum.trim_front(bytes);
        first.quantum.set_index(end);
        first.len -= len;
        self.first = Some(first);
        done.map_or(Skipped::More, Skipped::Done)
    }

    /// Cuts off `first` what was worked on, the shorter piece copied to `spare`: a quantum of its
    /// own, to be passed on.
    fn divide(&self, first: &mut First, mut spare: Quantum) -> Quantum {
        let front_bytes = self.station.sample_size.bytes(first.done);
        let First { quantum, done, len, .. } = first;
        spare.set_rate_hz(quantum.rate_hz());
        let (front, back) = quantum.data().split_at(front_bytes);
        let is_front_copied = front.len() <= back.len();
        copy(if is_front_copied { front } else { back }, &mut spare);
        if is_front_copied {
            quantum.trim_front(front_bytes);
        } else {
            quantum.trim_back(back.len());
            std::mem::swap(quantum, &mut spare);
        }
        // `spare` is the front now, of the index at which both began.
        let index = if is_front_copied { quantum.index() } else { spare.index() };
        spare.set_index(index);
        if is_front_copied {
            std::mem::swap(spare.tags_mut(), quantum.tags_mut());
        }
        quantum.set_index(index + *done as u64);
        *len -= *done;
        *done = 0;
        spare
    }

    /// Cuts off `first` what was not worked on.
    fn trim(&mut self, first: &mut First) {
        let left = first.left();
        self.leave_out(left, tags_of(&first.tags, first.tags_from..u64::MAX));
        first.quantum.trim_back(self.station.sample_size.bytes(left));
    }

    /// Counts `len` samples without a partner, and keeps their tags for the next output.
    fn leave_out(&mut self, len: usize, tags: impl Iterator<Item = Tag>) {
        self.station.counting.unpaired(len as u64);
        self.is_after_gap = true;
        for tag in tags {
            if self.waiting_tags.push_before_samples(tag).is_err() {
                self.station.counting.lost_tag();
            }
        }
    }

    /// Keeps what is to be read of `second`.
    fn keep(&mut self, second: Second) {
        if second.left() == 0 {
            self.input.release(second.reading);
        } else {
            self.second = Some(second);
        }
    }

    /// See [`Head::clear`](crate::task::Head::clear).
    pub(crate) fn clear(&mut self, give: &mut Give) -> Progress {
        clear(&mut self.inlet, give).max(self.input.clear())
    }

    /// Says that no more will be taken, and sends home what is held.
    pub(crate) fn close(&mut self, give: &mut Give) {
        self.inlet.close();
        self.input.close();
        if let Some(first) = self.first.take() {
            give.give(first.quantum);
        }
        if let Some(second) = self.second.take() {
            self.input.release(second.reading);
        }
    }

    /// Reports where everything is.
    pub(crate) fn survey(&mut self, survey: &mut Survey<'_>) {
        let node = self.station.node;
        match (&self.first, &self.second) {
            (None, _) => survey.waits_for_input(node, 0),
            (_, None) => survey.waits_for_input(node, 1),
            _ => survey.waits_for_quantum(node, &self.spare),
        }
        let first = self.first.as_ref().map(|first| &first.quantum);
        let second = self.second.as_ref().map(|second| second.reading.quantum());
        first.into_iter().chain(second).for_each(|quantum| survey.held(node, quantum));
        survey.inlet(node, 0, &mut self.inlet);
        self.input.survey(node, 1, survey);
        survey.home(&mut self.spare);
    }

    pub(crate) fn node(&self) -> usize {
        self.station.node
    }

    pub(crate) fn is_at_work(&self) -> bool {
        self.is_at_work
    }

    pub(crate) fn start(&mut self, names: &Names<'_>) -> Result<(), (usize, Failure)> {
        self.station.start(names)
    }

    pub(crate) fn stop(&mut self) -> Result<(), (usize, Failure)> {
        self.station.stop()
    }

    pub(crate) fn publish(&self) {
        self.station.counting.publish();
    }

    /// Its block, for another split; what it holds returns to its pool.
    pub(crate) fn into_station(self) -> Station<dyn Pair> {
        self.station
    }
}

/// What became of a quantum of which samples were left out.
enum Skipped {
    /// It begins later, or went home.
    More,
    /// This is to be passed on.
    Done(Quantum),
    /// No spare quantum is free.
    Blocked,
}

/// Where a stream begins whose first sample is at `index`: before what its tags say is missing.
fn begin(index: u64, tags: &Tags) -> u64 {
    let before = tags.iter().copied().filter(|tag| tag.index <= index);
    before.fold(index, |begin, mut tag| {
        begin.saturating_sub(tag.kind.lost_samples_mut().map_or(0, |lost| *lost))
    })
}

/// The tags of these indexes. From 0 on they are also those before a quantum's first sample, and to
/// the end also those behind its last.
fn tags_of(tags: &Tags, indexes: Range<u64>) -> impl Iterator<Item = Tag> {
    tags.iter().copied().filter(move |tag| indexes.contains(&tag.index))
}

/// Copies `bytes` to a quantum with the margins of the one that they lie in.
fn copy(bytes: &[u8], to: &mut Quantum) {
    to.set_len(bytes.len().min(to.capacity()));
    let beyond = bytes.len() - to.len();
    let head = beyond.min(to.pool().config().head_bytes);
    to.prepend(head).expect("an empty head margin");
    to.append(beyond - head).expect("as much margin as there was");
    to.data_mut().copy_from_slice(bytes);
}

/// The cause of a join's gaps.
const CAUSE: &str = "join";
