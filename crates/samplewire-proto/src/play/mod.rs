//! The order of play: which samples are played when, and which are missing
//! (`docs/protocol.md#6.10`).
//!
//! It has no clock and no samples inside: indexes come in, and indexes to play go out. The caller
//! keeps the samples, in the order in which they came, until [`Step::Release`].

mod underrun;

use core::fmt;
use core::ops::Range;

pub use crate::counters::PlayCounts;
use crate::gap::Cause;
use crate::number::SampleIndex;

pub use underrun::{Underrun, UnderrunCause};

/// Samples that have come in one piece.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// The index of the first; the others follow it.
    pub first: SampleIndex,
    /// The index after the last.
    pub end: SampleIndex,
    /// Everything before this was due when they came; 0 if the samples have no due time.
    pub in_time: SampleIndex,
    /// The index was set on purpose.
    pub is_start: bool,
}

/// The next thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Play these indexes of the oldest piece.
    Play(Range<SampleIndex>),
    /// Play zeros for these indexes.
    Zeros(Range<SampleIndex>),
    /// Release the oldest piece.
    Release,
    /// Report an underrun that is over.
    Report(Underrun),
}

/// There is no room for another piece or gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineFull;

impl fmt::Display for LineFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no room: too many pieces and gaps wait to be played")
    }
}

impl core::error::Error for LineFull {}

/// One entry of the storage that a [`Line`] borrows.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The first index that has not been played or skipped.
    at: SampleIndex,
    end: SampleIndex,
    ends_burst: bool,
    kind: Kind,
}

const _: () = assert!(size_of::<Entry>() <= 48);

#[derive(Clone, Copy, Debug)]
enum Kind {
    Samples { first: SampleIndex, in_time: SampleIndex, is_start: bool, is_begun: bool },
    Gap(Cause),
}

impl Default for Entry {
    fn default() -> Self {
        Self { at: 0, end: 0, ends_burst: false, kind: Kind::Gap(Cause::Deadline) }
    }
}

/// The pieces that wait to be played, in order, in storage that the caller provides: an entry for
/// each piece, and one for the gaps before it.
#[derive(Debug)]
pub struct Line<S> {
    entries: S,
    /// Where the oldest entry is, and how many there are.
    head: usize,
    len: usize,
    packet_samples: u64,
    /// The first index of all.
    first: Option<SampleIndex>,
    /// The first index that has not been played; `None` before the first.
    next: Option<SampleIndex>,
    /// The burst goes on at `next`.
    is_in_burst: bool,
    underrun: Option<Underrun>,
    /// An underrun that is over and was not reported yet.
    over: Option<Underrun>,
    /// Nothing more comes.
    is_closed: bool,
    counts: PlayCounts,
}

impl<S: AsRef<[Entry]> + AsMut<[Entry]>> Line<S> {
    /// A line in `entries` for packets of so many samples.
    pub fn new(entries: S, packet_samples: u32) -> Self {
        Self {
            entries,
            head: 0,
            len: 0,
            packet_samples: u64::from(packet_samples.max(1)),
            first: None,
            next: None,
            is_in_burst: false,
            underrun: None,
            over: None,
            is_closed: false,
            counts: PlayCounts::default(),
        }
    }

    /// What has been counted.
    pub const fn counts(&self) -> &PlayCounts {
        &self.counts
    }

    /// What lies between the first index of all and the one that comes next.
    pub fn indexes(&self) -> Option<Range<SampleIndex>> {
        Some(self.first?..self.next?)
    }

    /// The first index that has not been played, once one has.
    pub const fn next(&self) -> Option<SampleIndex> {
        self.next
    }

    /// The underrun that is going on.
    pub const fn underrun(&self) -> Option<Underrun> {
        self.underrun
    }

    /// How many pieces and gaps find room.
    pub fn room(&self) -> usize {
        self.entries.as_ref().len() - self.len
    }

    /// Whether nothing waits to be played or reported.
    pub const fn is_empty(&self) -> bool {
        self.len == 0 && self.over.is_none()
    }

    /// The index after all that waits; `None` when nothing does.
    pub fn end(&self) -> Option<SampleIndex> {
        self.last().map(|position| self.entries.as_ref()[position].end)
    }

    /// When something that waits is to be played next.
    pub fn next_at(&self) -> Option<SampleIndex> {
        (self.len > 0).then(|| self.entries.as_ref()[self.head].at)
    }

    /// Takes samples; they follow what came before them, or were set on purpose.
    ///
    /// # Errors
    /// [`LineFull`], and nothing is taken.
    pub fn push(&mut self, piece: Piece) -> Result<(), LineFull> {
        let Piece { first, end, in_time, is_start } = piece;
        let kind = Kind::Samples { first, in_time, is_start, is_begun: false };
        self.push_entry(Entry { at: first, end, ends_burst: false, kind })
    }

    /// Takes a gap. One that follows another is one with it, and keeps its cause: an underrun has
    /// the cause of its beginning.
    ///
    /// # Errors
    /// [`LineFull`], and nothing is taken.
    pub fn push_gap(
        &mut self,
        first: SampleIndex,
        end: SampleIndex,
        cause: Cause,
    ) -> Result<(), LineFull> {
        match self.back_mut() {
            Some(Entry { end: last, ends_burst: false, kind: Kind::Gap(_), .. })
                if *last == first =>
            {
                *last = end;
                Ok(())
            }
            _ => {
                self.push_entry(Entry { at: first, end, ends_burst: false, kind: Kind::Gap(cause) })
            }
        }
    }

    /// A burst has ended before `index`.
    pub fn end_burst(&mut self, index: SampleIndex) {
        match self.back_mut() {
            Some(entry) => entry.ends_burst |= entry.end == index,
            None => self.pause(),
        }
    }

    /// The stream is over: nothing is expected any more.
    pub const fn end_stream(&mut self) {
        self.is_closed = true;
    }

    /// Lets go of all that waits: nothing more is played.
    pub const fn stop(&mut self) {
        (self.len, self.is_in_burst, self.is_closed) = (0, false, true);
        (self.underrun, self.over) = (None, None);
    }

    /// The next step to play all before `due_end`; samples that are missing now have the cause
    /// `dry`. `None` when all is done.
    pub fn poll(&mut self, due_end: SampleIndex, dry: UnderrunCause) -> Option<Step> {
        loop {
            if let Some(underrun) = self.over.take() {
                return Some(Step::Report(underrun));
            }
            let Some(entry) = self.front() else {
                if self.is_closed {
                    self.pause();
                    self.over?;
                    continue;
                }
                let next = self.next.filter(|&next| self.is_in_burst && next < due_end)?;
                return Some(self.missing(next..due_end, dry));
            };
            let is_begun = !matches!(entry.kind, Kind::Samples { is_begun: false, .. });
            if is_begun && entry.at >= entry.end {
                (self.head, self.len) = (self.position(1), self.len - 1);
                if entry.ends_burst {
                    self.pause();
                }
                if matches!(entry.kind, Kind::Samples { .. }) {
                    return Some(Step::Release);
                }
                continue;
            }
            let step = match entry.kind {
                Kind::Gap(cause) => self.pass_gap(entry, due_end, cause)?,
                Kind::Samples { is_start, is_begun: false, .. } => {
                    self.begin(entry, is_start);
                    None
                }
                Kind::Samples { first, in_time, is_start, .. } => {
                    let next = self.next.unwrap_or(entry.at);
                    let late_end = in_time.max(next).min(entry.end);
                    if entry.at < late_end {
                        let stop = late_end.min(due_end.max(next));
                        if stop <= entry.at {
                            return None;
                        }
                        let cause = if is_start { UnderrunCause::BurstLate } else { dry };
                        self.count_late(first, entry.at..stop);
                        self.front_mut().at = stop;
                        self.is_in_burst = true;
                        (next < stop).then(|| self.missing(next..stop, cause))
                    } else {
                        Some(self.play(entry, due_end)?)
                    }
                }
            };
            if step.is_some() {
                return step;
            }
        }
    }

    /// The first look at a piece.
    fn begin(&mut self, entry: Entry, is_start: bool) {
        if let Kind::Samples { is_begun, .. } = &mut self.front_mut().kind {
            *is_begun = true;
        }
        if !is_start && self.next.is_some() {
            return;
        }
        self.counts.bursts += 1;
        if self.next.is_none_or(|next| next < entry.at) {
            self.pause();
            self.first = self.first.or(Some(entry.at));
            self.next = Some(entry.at);
        }
    }

    /// What is due of a gap; `None` when nothing of it is.
    fn pass_gap(
        &mut self,
        entry: Entry,
        due_end: SampleIndex,
        cause: Cause,
    ) -> Option<Option<Step>> {
        let stop = due_end.min(entry.end);
        if stop <= entry.at {
            return None;
        }
        self.front_mut().at = stop;
        self.is_in_burst = true;
        let first = self.next.map_or(entry.at, |next| next.max(entry.at));
        let cause = UnderrunCause::Gap(cause);
        Some((first < stop).then(|| self.missing(first..stop, cause)))
    }

    /// Counts samples of a piece that begins at `first`: before them it has none that are in time.
    fn count_late(&mut self, first: SampleIndex, late: Range<SampleIndex>) {
        let packets = |end: SampleIndex| (end - first).div_ceil(self.packet_samples);
        self.counts.late_packets += packets(late.end) - packets(late.start);
        self.counts.late_samples += late.end - late.start;
    }

    /// Plays what is due of samples that are in time; `None` when nothing is.
    fn play(&mut self, entry: Entry, due_end: SampleIndex) -> Option<Step> {
        let stop = entry.end.min(due_end);
        if stop <= entry.at {
            return None;
        }
        if let Some(underrun) = self.underrun.take() {
            return Some(Step::Report(underrun));
        }
        self.front_mut().at = stop;
        self.counts.played += stop - entry.at;
        (self.next, self.is_in_burst) = (Some(stop), true);
        Some(Step::Play(entry.at..stop))
    }

    fn missing(&mut self, due: Range<SampleIndex>, cause: UnderrunCause) -> Step {
        let samples = due.end - due.start;
        match &mut self.underrun {
            Some(underrun) => underrun.samples += samples,
            None => {
                self.underrun = Some(Underrun { first: due.start, samples, cause });
                self.counts.underruns += 1;
            }
        }
        self.counts.underrun_samples += samples;
        self.first = self.first.or(Some(due.start));
        (self.next, self.is_in_burst) = (Some(due.end), true);
        Step::Zeros(due)
    }

    /// Nothing is missing until more comes.
    fn pause(&mut self) {
        self.is_in_burst = false;
        self.over = self.over.or(self.underrun.take());
    }

    fn position(&self, place: usize) -> usize {
        (self.head + place) % self.entries.as_ref().len()
    }

    fn front(&self) -> Option<Entry> {
        (self.len > 0).then(|| self.entries.as_ref()[self.head])
    }

    fn front_mut(&mut self) -> &mut Entry {
        &mut self.entries.as_mut()[self.head]
    }

    /// Where the newest entry is.
    fn last(&self) -> Option<usize> {
        Some(self.position(self.len.checked_sub(1)?))
    }

    fn back_mut(&mut self) -> Option<&mut Entry> {
        self.last().map(|position| &mut self.entries.as_mut()[position])
    }

    fn push_entry(&mut self, entry: Entry) -> Result<(), LineFull> {
        if self.room() == 0 {
            return Err(LineFull);
        }
        let position = self.position(self.len);
        self.entries.as_mut()[position] = entry;
        self.len += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
