//! The order of play: what is played when, and what is not there (`docs/protocol.md#6.10`). No clock
//! and no samples inside: indexes come, and indexes are to be played.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

use samplewire_proto::{Cause, SampleIndex};

/// Samples that were not there at their time: played as zeros, or the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Underrun {
    /// The first of them.
    pub first: SampleIndex,
    /// How many.
    pub samples: u64,
    /// Why, when it began.
    pub cause: UnderrunCause,
}

impl Underrun {
    /// The index after the last.
    pub const fn end(&self) -> SampleIndex {
        self.first + self.samples
    }
}

/// Why samples were not there at their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnderrunCause {
    /// Nothing is known to be missing: the sender had not sent them, or the path holds them.
    SenderBehind,
    /// A packet was lost and not repaired in time.
    RepairLate,
    /// The first samples of a burst came after their time.
    BurstLate,
    /// They were given up, for this cause.
    Gap(Cause),
}

impl fmt::Display for UnderrunCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SenderBehind => "sender behind",
            Self::RepairLate => "repair late",
            Self::BurstLate => "burst late",
            Self::Gap(cause) => cause.as_str(),
        })
    }
}

/// What has been counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlayCounts {
    /// Samples played.
    pub played: u64,
    /// Bursts.
    pub bursts: u64,
    /// Times that samples were not there at their time.
    pub underruns: u64,
    /// Samples that were not there at their time.
    pub underrun_samples: u64,
    /// Samples that came after their time.
    pub late_samples: u64,
    /// Packets of which samples came after their time.
    pub late_packets: u64,
}

/// Samples that have come; `B` keeps them.
#[derive(Debug)]
pub(super) struct Piece<B> {
    pub(super) first: SampleIndex,
    pub(super) end: SampleIndex,
    /// Everything before this was due when they came.
    pub(super) in_time: SampleIndex,
    /// The index was set on purpose.
    pub(super) is_start: bool,
    pub(super) body: B,
}

#[derive(Debug)]
enum Entry<B> {
    Samples { piece: Piece<B>, at: SampleIndex, is_begun: bool, ends_burst: bool },
    Gap { at: SampleIndex, end: SampleIndex, cause: Cause },
}

/// What is to be done next.
#[derive(Debug)]
pub(super) enum Step<'a, B> {
    /// Play these indexes of these samples.
    Play(&'a Piece<B>, Range<SampleIndex>),
    /// Play zeros for these indexes.
    Zeros(Range<SampleIndex>),
    /// Tell of an underrun that is over.
    Tell(Underrun),
}

/// What waits to be played, in order.
#[derive(Debug)]
pub(super) struct Line<B> {
    waiting: VecDeque<Entry<B>>,
    packet_samples: u64,
    /// The first index of the first burst.
    first: Option<SampleIndex>,
    /// The first index that has not been played; `None` before the first burst.
    next: Option<SampleIndex>,
    /// The burst goes on at `next`.
    is_in_burst: bool,
    underrun: Option<Underrun>,
    /// An underrun that is over and was not told.
    over: Option<Underrun>,
    /// Nothing more comes.
    is_closed: bool,
    counts: PlayCounts,
}

impl<B> Line<B> {
    pub(super) fn new(packet_samples: u64) -> Self {
        Self {
            waiting: VecDeque::new(),
            packet_samples,
            first: None,
            next: None,
            is_in_burst: false,
            underrun: None,
            over: None,
            is_closed: false,
            counts: PlayCounts::default(),
        }
    }

    /// Lets go of all that waits: nothing more is played.
    pub(super) fn stop(&mut self) {
        self.waiting.clear();
        self.is_in_burst = false;
        self.underrun = None;
        self.over = None;
    }

    pub(super) const fn counts(&self) -> &PlayCounts {
        &self.counts
    }

    /// What lies between the first sample of all and the one that comes next.
    pub(super) fn indexes(&self) -> Option<Range<SampleIndex>> {
        Some(self.first?..self.next?)
    }

    pub(super) const fn next(&self) -> Option<SampleIndex> {
        self.next
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.over.is_none()
    }

    /// Takes samples; they follow what came before them, or were set on purpose.
    pub(super) fn push(&mut self, piece: Piece<B>) {
        let at = piece.first;
        let entry = Entry::Samples { piece, at, is_begun: false, ends_burst: false };
        self.waiting.push_back(entry);
    }

    /// Takes a gap.
    pub(super) fn push_gap(&mut self, first: SampleIndex, end: SampleIndex, cause: Cause) {
        self.waiting.push_back(Entry::Gap { at: first, end, cause });
    }

    /// A burst has ended before `index`.
    pub(super) fn end_burst(&mut self, index: SampleIndex) {
        match self.waiting.back_mut() {
            Some(Entry::Samples { piece, ends_burst, .. }) if piece.end == index => {
                *ends_burst = true;
            }
            Some(_) => {}
            None => {
                self.is_in_burst = false;
                self.over = self.over.or(self.underrun.take());
            }
        }
    }

    /// The stream is over: nothing is expected any more.
    pub(super) fn end_stream(&mut self) {
        self.is_closed = true;
    }

    /// The index after all that waits; 0 when nothing does.
    pub(super) fn end(&self) -> SampleIndex {
        self.waiting.back().map_or(0, |entry| match entry {
            Entry::Samples { piece, .. } => piece.end,
            Entry::Gap { end, .. } => *end,
        })
    }

    /// When something that waits is to be played next.
    pub(super) fn next_at(&self) -> Option<SampleIndex> {
        self.waiting.front().map(|entry| match entry {
            Entry::Samples { at, .. } | Entry::Gap { at, .. } => *at,
        })
    }

    /// What is to be done for all before `due_end` to be played; what is lacking now, for `dry`.
    /// `None` when all is done.
    pub(super) fn poll(&mut self, due_end: SampleIndex, dry: UnderrunCause) -> Option<Step<'_, B>> {
        loop {
            if let Some(underrun) = self.over.take() {
                return Some(Step::Tell(underrun));
            }
            let next = self.next;
            let (due, turn) = match self.waiting.front_mut() {
                None if self.is_closed => {
                    self.is_in_burst = false;
                    self.over = self.underrun.take();
                    self.over?;
                    continue;
                }
                None => {
                    let next = next.filter(|&next| self.is_in_burst && next < due_end)?;
                    return Some(self.lack(next..due_end, dry));
                }
                Some(Entry::Gap { at, end, cause }) => {
                    let first = next.map_or(*at, |next| next.max(*at));
                    let stop = due_end.min(*end);
                    let cause = UnderrunCause::Gap(*cause);
                    *at = stop.max(*at);
                    match (*at == *end, first < stop) {
                        (false, false) => return None,
                        (false, true) => (first..stop, Turn::Lack(cause)),
                        (true, is_due) => {
                            self.waiting.pop_front();
                            if !is_due {
                                continue;
                            }
                            (first..stop, Turn::Lack(cause))
                        }
                    }
                }
                Some(Entry::Samples { piece, at, is_begun, ends_burst }) => {
                    if !*is_begun {
                        *is_begun = true;
                        let begins = piece.is_start || next.is_none();
                        self.counts.bursts += u64::from(begins);
                        if begins && next.is_none_or(|next| next < *at) {
                            self.first = self.first.or(Some(*at));
                            self.next = Some(*at);
                            self.over = self.underrun.take();
                            continue;
                        }
                    }
                    let next = next.unwrap_or(*at);
                    let late_end = piece.in_time.max(next).min(piece.end);
                    if *at < late_end {
                        let late = late_end - *at;
                        *at = late_end;
                        self.counts.late_samples += late;
                        self.counts.late_packets += late.div_ceil(self.packet_samples);
                        if next >= late_end {
                            continue;
                        }
                        let cause = if piece.is_start { UnderrunCause::BurstLate } else { dry };
                        (next..late_end, Turn::Lack(cause))
                    } else if *at == piece.end {
                        let ends_burst = *ends_burst;
                        self.waiting.pop_front();
                        if ends_burst {
                            self.is_in_burst = false;
                            self.over = self.underrun.take();
                        }
                        continue;
                    } else if *at >= due_end {
                        return None;
                    } else if let Some(underrun) = self.underrun.take() {
                        return Some(Step::Tell(underrun));
                    } else {
                        let first = *at;
                        *at = piece.end.min(due_end);
                        (first..*at, Turn::Play)
                    }
                }
            };
            return Some(match turn {
                Turn::Lack(cause) => self.lack(due, cause),
                Turn::Play => self.play(due),
            });
        }
    }

    fn play(&mut self, due: Range<SampleIndex>) -> Step<'_, B> {
        self.counts.played += due.end - due.start;
        self.next = Some(due.end);
        self.is_in_burst = true;
        match self.waiting.front() {
            Some(Entry::Samples { piece, .. }) => Step::Play(piece, due),
            _ => unreachable!("samples in front are played"),
        }
    }

    fn lack(&mut self, due: Range<SampleIndex>, cause: UnderrunCause) -> Step<'_, B> {
        let samples = due.end - due.start;
        match &mut self.underrun {
            Some(underrun) => underrun.samples += samples,
            None => {
                self.underrun = Some(Underrun { first: due.start, samples, cause });
                self.counts.underruns += 1;
            }
        }
        self.counts.underrun_samples += samples;
        self.next = Some(due.end);
        self.is_in_burst = true;
        Step::Zeros(due)
    }

    /// The underrun that is going on.
    pub(super) const fn underrun(&self) -> Option<Underrun> {
        self.underrun
    }
}

enum Turn {
    Play,
    Lack(UnderrunCause),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was done, as words.
    fn run(line: &mut Line<()>, due_end: SampleIndex) -> Vec<String> {
        let mut done = vec![];
        while let Some(step) = line.poll(due_end, UnderrunCause::SenderBehind) {
            done.push(match step {
                Step::Play(piece, due) => {
                    assert!(piece.first <= due.start && due.end <= piece.end);
                    format!("play {due:?}")
                }
                Step::Zeros(due) => format!("zeros {due:?}"),
                Step::Tell(underrun) => {
                    format!("underrun {}+{} {}", underrun.first, underrun.samples, underrun.cause)
                }
            });
        }
        done
    }

    fn piece(first: SampleIndex, end: SampleIndex, in_time: SampleIndex) -> Piece<()> {
        Piece { first, end, in_time, is_start: false, body: () }
    }

    fn start(first: SampleIndex, end: SampleIndex, in_time: SampleIndex) -> Piece<()> {
        Piece { is_start: true, ..piece(first, end, in_time) }
    }

    #[test]
    fn samples_are_played_at_their_time_and_not_before() {
        let mut line = Line::new(10);
        line.push(start(100, 120, 50));
        assert_eq!(run(&mut line, 100), Vec::<String>::new());
        assert_eq!(run(&mut line, 105), ["play 100..105"]);
        line.push(piece(120, 130, 105));
        line.end_burst(130);
        assert_eq!(run(&mut line, 125), ["play 105..120", "play 120..125"]);
        assert_eq!(run(&mut line, 1_000), ["play 125..130"]);
        assert_eq!(run(&mut line, 2_000), Vec::<String>::new(), "the burst is over");
        let counts = PlayCounts { played: 30, bursts: 1, ..PlayCounts::default() };
        assert_eq!(*line.counts(), counts);
    }

    #[test]
    fn underrun_is_zeros_from_the_first_that_is_missing_to_the_first_in_time() {
        let mut line = Line::new(10);
        line.push(start(0, 10, 0));
        assert_eq!(run(&mut line, 15), ["play 0..10", "zeros 10..15"]);
        assert_eq!(run(&mut line, 20), ["zeros 15..20"]);
        // Came when 23 samples were due.
        line.push(piece(10, 40, 23));
        let done = run(&mut line, 25);
        assert_eq!(done, ["zeros 20..23", "underrun 10+13 sender behind", "play 23..25"]);
        let counts = line.counts();
        assert_eq!((counts.underruns, counts.underrun_samples), (1, 13));
        assert_eq!((counts.late_samples, counts.late_packets, counts.played), (13, 2, 12));
    }

    #[test]
    fn samples_that_are_late_as_a_whole_are_dropped_and_the_grid_stays() {
        let mut line = Line::new(10);
        line.push(start(0, 10, 0));
        line.push(piece(10, 20, 35));
        line.push(piece(20, 30, 35));
        line.push(piece(30, 50, 35));
        let done = run(&mut line, 40);
        let expected = ["play 0..10", "zeros 10..20", "zeros 20..30", "zeros 30..35"];
        assert_eq!(done[..4], expected);
        assert_eq!(done[4..], ["underrun 10+25 sender behind", "play 35..40"]);
        assert_eq!(line.counts().late_packets, 3);
    }

    #[test]
    fn burst_that_comes_late_lacks_its_first_samples() {
        let mut line = Line::new(10);
        line.push(start(100, 130, 112));
        let done = run(&mut line, 120);
        assert_eq!(done, ["zeros 100..112", "underrun 100+12 burst late", "play 112..120"]);
    }

    #[test]
    fn nothing_is_lacking_between_bursts() {
        let mut line = Line::new(10);
        line.push(start(0, 10, 0));
        line.end_burst(10);
        assert_eq!(run(&mut line, 500), ["play 0..10"]);
        line.push(start(1_000, 1_005, 500));
        line.end_burst(1_005);
        assert_eq!(run(&mut line, 2_000), ["play 1000..1005"]);
        assert_eq!(line.counts().bursts, 2);
        assert!(line.is_empty());
    }

    #[test]
    fn gap_is_an_underrun_of_its_cause_when_its_time_has_come() {
        let mut line = Line::new(10);
        line.push(start(0, 10, 0));
        line.push_gap(10, 20, Cause::Deadline);
        line.push(piece(20, 30, 5));
        assert_eq!(run(&mut line, 12), ["play 0..10", "zeros 10..12"]);
        let done = run(&mut line, 25);
        assert_eq!(done, ["zeros 12..20", "underrun 10+10 deadline", "play 20..25"]);
    }

    #[test]
    fn end_of_the_stream_ends_an_underrun() {
        let mut line = Line::new(10);
        line.push(start(0, 10, 0));
        assert_eq!(run(&mut line, 12), ["play 0..10", "zeros 10..12"]);
        line.end_stream();
        assert_eq!(run(&mut line, 50), ["underrun 10+2 sender behind"]);
        assert!(line.is_empty());
    }

    #[test]
    fn stream_that_ends_lacks_nothing_behind_its_last_sample() {
        let mut line = Line::new(10);
        line.push(start(0, 10, 0));
        line.end_stream();
        assert_eq!(run(&mut line, 50), ["play 0..10"]);
        assert_eq!(line.counts().underruns, 0);
    }

    #[test]
    fn without_a_clock_all_is_due_and_nothing_runs_out() {
        let mut line = Line::new(10);
        line.push(start(7, 10, 0));
        assert_eq!(run(&mut line, 10), ["play 7..10"]);
    }
}
