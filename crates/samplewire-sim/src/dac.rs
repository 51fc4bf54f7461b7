//! A converter that keeps playing, with or without samples (`docs/protocol.md#6.10`).
//!
//! The index of a sample is its place on a grid of play times. The grid begins once enough samples
//! have come, and never moves. The protocol decides which samples play when; this module plays them
//! and checks them against the grid.

use std::collections::VecDeque;
use std::ops::Range;

use samplewire_proto::play::{Entry, Line, Piece, Step, UnderrunCause};
use samplewire_proto::stream::Underflow;
use samplewire_proto::{Gap, Nanos, SampleIndex};

use crate::check::Tally;

/// A player and the packets that wait for their time.
#[derive(Debug)]
pub(crate) struct Dac {
    /// The time that `packet_samples` take.
    interval: Nanos,
    packet_samples: u32,
    prefill: u32,
    underflow: Underflow,
    is_stopped: bool,
    /// When which index is played: the grid.
    anchor: Option<(Nanos, SampleIndex)>,
    line: Line<Vec<Entry>>,
    /// The pieces in the line, each in its place.
    waiting: VecDeque<Piece>,
    /// The first index that has not been played, as a sample or as a zero.
    next: SampleIndex,
    /// An index that was set on purpose, by a packet that may have no samples.
    starts_at: Option<SampleIndex>,
    /// Where the grid may jump to: a burst ended before it, or the index was set.
    jumps: VecDeque<SampleIndex>,
    /// A burst has ended, and nothing has come since.
    rests: bool,
    delivered: u64,
    zeros: u64,
    reported: u64,
}

impl Dac {
    /// A player for which a `window` of packets may wait.
    pub(crate) fn new(
        (interval, packet_samples): (Nanos, u32),
        prefill: u32,
        window: u32,
        underflow: Underflow,
    ) -> Self {
        Self {
            interval,
            packet_samples,
            prefill: prefill.min(window),
            underflow,
            is_stopped: false,
            anchor: None,
            line: Line::new(vec![Entry::default(); 2 * window as usize + 1], packet_samples),
            waiting: VecDeque::new(),
            next: 0,
            starts_at: None,
            jumps: VecDeque::new(),
            rests: true,
            delivered: 0,
            zeros: 0,
            reported: 0,
        }
    }

    /// Whether so many pieces and gaps may come.
    pub(crate) fn has_room_for(&self, entries: usize) -> bool {
        self.line.room() >= entries
    }

    pub(crate) const fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Takes samples, in order of their index. What was due by `now` has been played.
    pub(crate) fn take(&mut self, now: Nanos, first: SampleIndex, samples: u32) {
        let end = first + u64::from(samples);
        self.delivered += u64::from(samples);
        let is_start = self.starts_at.take_if(|index| *index == first).is_some();
        self.come(first);
        let piece = Piece { first, end, in_time: self.due_end(now), is_start };
        self.line.push(piece).expect("there is room");
        self.waiting.push_back(piece);
        let first = self.line.next_at().expect("something waits");
        // A span of play time, so that a hole among the samples does not keep it from starting.
        if self.anchor.is_none() && end - first >= self.prefill_samples() {
            self.anchor = Some((now + self.interval, first));
            self.next = first;
        }
    }

    fn prefill_samples(&self) -> u64 {
        u64::from(self.prefill) * u64::from(self.packet_samples)
    }

    /// Samples that are not delivered, before those that come next.
    pub(crate) fn take_gap(&mut self, gap: &Gap) {
        if !self.is_stopped {
            self.come(gap.first);
            self.line.push_gap(gap.first, gap.end(), gap.cause).expect("there is room");
        }
    }

    /// The index of what comes next was set on purpose.
    pub(crate) fn start(&mut self, index: SampleIndex) {
        self.starts_at = Some(index);
        self.jumps.push_back(index);
    }

    /// A burst has ended before `index`.
    pub(crate) fn end_burst(&mut self, index: SampleIndex) {
        self.line.end_burst(index);
        self.rests = true;
    }

    /// Plays what is due by `now` and says how many places are free again.
    pub(crate) fn run(&mut self, now: Nanos) -> u32 {
        if self.anchor.is_none() {
            return 0;
        }
        self.play(self.due_end(now))
    }

    /// When a place is free again.
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        let (at, first) = self.anchor?;
        let end = self.waiting.front()?.end;
        let span = u128::from((end - 1).saturating_sub(first)) * u128::from(self.interval.0);
        Some(at + Nanos((span / u128::from(self.packet_samples)) as u64))
    }

    #[cfg(test)]
    fn held(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// The index that is played next, once it plays.
    pub(crate) const fn plays(&self) -> Option<SampleIndex> {
        match self.anchor {
            Some(_) => Some(self.next),
            None => None,
        }
    }

    /// Plays the rest of a stream that has ended, and adds up what was played.
    ///
    /// # Panics
    /// When an index was delivered and neither played nor late, or was missing and not reported.
    pub(crate) fn close(&mut self, tally: &mut Tally) {
        self.line.end_stream();
        self.play(SampleIndex::MAX);
        assert!(self.line.is_empty() && self.waiting.is_empty(), "a stream that does not end");
        let counts = self.line.counts();
        let fates = counts.played + counts.late_samples;
        assert!(self.delivered == fates || self.is_stopped, "samples without a fate");
        let missing = if self.is_stopped { 0 } else { counts.underrun_samples };
        let found = (self.zeros, self.reported);
        assert_eq!(found, (missing, missing), "zeros not counted, or not reported");
        tally.indexes_played += counts.played;
        tally.indexes_late += counts.late_samples;
        tally.zeros_played += self.zeros;
        tally.underruns += counts.underruns;
    }

    /// Plays all before `due_end`.
    ///
    /// # Panics
    /// When something is played that is not due, is not there or was late, or the grid has moved.
    fn play(&mut self, due_end: SampleIndex) -> u32 {
        let mut freed = 0;
        while let Some(step) = self.line.poll(due_end, UnderrunCause::SenderBehind) {
            match step {
                Step::Play(due) => {
                    let piece = self.waiting[0];
                    assert!(due.end <= due_end.min(piece.end), "{due:?} of {piece:?} are not due");
                    assert!(due.start >= piece.first.max(piece.in_time), "{due:?}: {piece:?}");
                    self.go_on(&due);
                }
                Step::Zeros(_) if self.underflow == Underflow::Stop => {
                    self.is_stopped = true;
                    self.line.stop();
                    freed += std::mem::take(&mut self.waiting).len() as u32;
                }
                Step::Zeros(due) => {
                    assert!(due.end <= due_end, "zeros {due:?} are not due");
                    self.zeros += due.end - due.start;
                    self.go_on(&due);
                }
                Step::Release => {
                    self.waiting.pop_front();
                    freed += 1;
                }
                Step::Report(underrun) => self.reported += underrun.samples,
            }
        }
        freed
    }

    /// Something comes that begins at an index.
    fn come(&mut self, first: SampleIndex) {
        if std::mem::take(&mut self.rests) {
            self.jumps.push_back(first);
        }
    }

    /// The grid goes on; it jumps where a burst begins.
    fn go_on(&mut self, due: &Range<SampleIndex>) {
        let may_jump = self.jumps.iter().any(|at| (self.next + 1..=due.start).contains(at));
        let is_next = due.start == self.next;
        assert!(is_next || may_jump, "{due:?} is played after {}", self.next);
        self.jumps.retain(|at| *at > due.start);
        self.next = due.end;
    }

    /// The first index whose time lies after `now`.
    fn due_end(&self, now: Nanos) -> SampleIndex {
        match self.anchor {
            Some((at, first)) if now >= at => {
                let samples = u128::from(now.since(at).0 + 1) * u128::from(self.packet_samples);
                first + (samples - 1) as u64 / self.interval.0 + 1
            }
            Some((_, first)) => first,
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten samples in 1,000 ns, from index 100 at 1,500 on.
    fn dac() -> Dac {
        let mut dac = Dac::new((Nanos(1_000), 10), 2, 8, Underflow::Zeros);
        dac.take(Nanos(400), 100, 10);
        assert_eq!((dac.plays(), dac.next_at()), (None, None));
        dac.take(Nanos(500), 110, 10);
        dac
    }

    #[test]
    fn player_that_is_to_stop_lets_go_of_all_when_it_runs_dry() {
        let mut dac = Dac { underflow: Underflow::Stop, ..dac() };
        assert_eq!((dac.run(Nanos(3_499)), dac.is_stopped()), (2, false));
        dac.take(Nanos(3_499), 120, 10);
        assert_eq!((dac.run(Nanos(4_500)), dac.is_stopped()), (1, true));
        assert_eq!((dac.held(), dac.line.counts().played), (0, 30));
    }

    #[test]
    fn index_is_the_play_time() {
        let mut dac = dac();
        assert_eq!((dac.run(Nanos(1_499)), dac.plays()), (0, Some(100)));
        assert_eq!((dac.run(Nanos(1_500)), dac.plays()), (0, Some(101)));
        assert_eq!(dac.next_at(), Some(Nanos(2_400)));
        assert_eq!((dac.run(Nanos(2_399)), dac.plays()), (0, Some(109)));
        assert_eq!((dac.run(Nanos(2_400)), dac.plays()), (1, Some(110)));
        assert_eq!((dac.line.counts().played, dac.zeros), (10, 0));
    }

    #[test]
    fn hole_among_the_first_samples_counts_towards_the_prefill() {
        let mut dac = Dac::new((Nanos(1_000), 10), 3, 8, Underflow::Zeros);
        dac.take(Nanos(400), 100, 10);
        dac.take(Nanos(500), 110, 2);
        assert_eq!(dac.plays(), None);
        let cause = samplewire_proto::Cause::NeverAsked;
        dac.take_gap(&Gap { first: 112, not_repaired: 10, source_lost: 0, cause });
        dac.take(Nanos(600), 122, 8);
        assert_eq!(dac.plays(), Some(100), "20 samples in a span of 30");
    }

    #[test]
    fn underrun_plays_zeros_keeps_the_grid_and_counts_what_is_late() {
        let mut dac = dac();
        assert_eq!((dac.run(Nanos(4_000)), dac.plays()), (2, Some(126)));
        assert_eq!((dac.zeros, dac.line.counts().underruns), (6, 1));
        // Indexes 120 to 125 are late, the rest has its own time; a packet is missing after it.
        dac.take(Nanos(4_000), 120, 10);
        assert_eq!(dac.next_at(), Some(Nanos(4_400)));
        let gap = Gap {
            first: 130,
            not_repaired: 10,
            source_lost: 0,
            cause: samplewire_proto::Cause::Deadline,
        };
        dac.take_gap(&gap);
        dac.take(Nanos(4_000), 140, 10);
        assert_eq!((dac.run(Nanos(6_400)), dac.plays()), (2, Some(150)));
        let counts = *dac.line.counts();
        assert_eq!((dac.delivered, counts.played, counts.late_samples), (40, 34, 6));
        assert_eq!((dac.zeros, counts.underruns), (16, 2));
        dac.take(Nanos(6_400), 150, 10);
        let mut tally = Tally::default();
        dac.close(&mut tally);
        assert_eq!((tally.indexes_late, tally.indexes_played), (6, 44));
    }
}
