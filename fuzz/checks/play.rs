//! A line of play gets pieces, gaps, ends and times in any order. It plays each index once, in time
//! or as a zero, and reports which.

use std::collections::VecDeque;

use samplewire_proto::play::{Entry, Line, Piece, Step, Underrun, UnderrunCause};
use samplewire_proto::{Cause, SampleIndex};

use crate::input::Input;

/// Runs the operations that `bytes` spell.
///
/// # Panics
/// When an invariant breaks.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut run = Run::new(&mut input);
    while !input.is_empty() && run.end < INDEX_MAX {
        run.step(&mut input);
    }
    run.close();
}

/// No operation begins behind this.
const INDEX_MAX: SampleIndex = 1_024;
const ENTRIES: usize = 9;
/// Indexes looked at again after each round.
const LOOK_BACK: u64 = 64;

/// What became of an index on the grid of play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Open,
    Played,
    Zero(UnderrunCause),
    Reported,
}

/// What was pushed, a piece or a gap, and what is known to follow it.
#[derive(Clone, Copy, Debug)]
struct Part {
    first: SampleIndex,
    end: SampleIndex,
    is_gap: bool,
    is_start: bool,
    ends_burst: bool,
}

struct Run {
    line: Line<[Entry; ENTRIES]>,
    parts: Vec<Part>,
    /// Pieces that were not released.
    waiting: VecDeque<Piece>,
    fates: Vec<Fate>,
    end: SampleIndex,
    due: SampleIndex,
    in_time: SampleIndex,
    /// The end of what was played last.
    played_end: SampleIndex,
    pushed: u64,
    played: u64,
    zeros: u64,
    late: u64,
    is_closed: bool,
}

impl Run {
    fn new(input: &mut Input<'_>) -> Self {
        let packet_samples = 1 + u32::from(input.byte()) % 12;
        Self {
            line: Line::new([Entry::default(); ENTRIES], packet_samples),
            parts: vec![],
            waiting: VecDeque::new(),
            fates: vec![Fate::Open; INDEX_MAX as usize + 512],
            end: u64::from(input.byte()) % 16,
            due: 0,
            in_time: 0,
            played_end: 0,
            pushed: 0,
            played: 0,
            zeros: 0,
            late: 0,
            is_closed: false,
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let count = |input: &mut Input<'_>| 1 + u64::from(input.byte()) % 16;
        match input.byte() % 8 {
            0 | 1 if !self.is_closed => {
                let samples = count(input);
                self.push(0, samples, false);
            }
            2 if !self.is_closed => {
                let jump = u64::from(input.byte()) % 32;
                let samples = count(input);
                self.push(jump, samples, true);
            }
            3 if !self.is_closed => {
                let samples = count(input);
                let cause = input.choose(&Cause::ALL);
                self.push_gap(samples, cause);
            }
            4 if !self.is_closed => self.end_burst(),
            5 => self.close_when(input.byte() == 0),
            // Some came before the moment up to which is played, and some after it.
            6 => self.in_time = self.due + u64::from(input.byte()) % 4,
            _ => {
                self.due = (self.due + u64::from(input.byte()) % 32).min(INDEX_MAX + 256);
                self.in_time = self.in_time.max(self.due);
                self.drain();
            }
        }
    }

    fn push(&mut self, jump: u64, samples: u64, is_start: bool) {
        let (first, end) = (self.end + jump, self.end + jump + samples);
        let piece = Piece { first, end, in_time: self.in_time, is_start };
        let has_room = self.line.room() > 0;
        assert_eq!(self.line.push(piece).is_ok(), has_room);
        if has_room {
            self.waiting.push_back(piece);
            self.pushed += samples;
            self.note(Part { first, end, is_gap: false, is_start, ends_burst: false });
        }
    }

    fn push_gap(&mut self, samples: u64, cause: Cause) {
        let (first, end) = (self.end, self.end + samples);
        let has_room = self.line.room() > 0;
        let is_taken = self.line.push_gap(first, end, cause).is_ok();
        assert!(is_taken || !has_room);
        if is_taken {
            self.note(Part { first, end, is_gap: true, is_start: false, ends_burst: false });
        }
    }

    fn note(&mut self, part: Part) {
        self.end = part.end;
        self.parts.push(part);
    }

    fn end_burst(&mut self) {
        let Some(part) = self.parts.last_mut() else { return };
        part.ends_burst = true;
        self.line.end_burst(part.end);
    }

    fn close_when(&mut self, is_closed: bool) {
        if is_closed {
            self.line.end_stream();
            self.is_closed = true;
        }
    }

    /// Does what is due, each step checked against what was pushed.
    fn drain(&mut self) {
        while let Some(step) = self.line.poll(self.due, UnderrunCause::SenderBehind) {
            match step {
                Step::Play(due) => {
                    let piece = self.waiting.front().expect("a piece waits");
                    assert!(piece.first <= due.start && due.end <= piece.end, "{due:?} {piece:?}");
                    assert!(piece.in_time <= due.start, "{due:?} were late: {piece:?}");
                    self.pass(due.start, due.end, Fate::Played);
                }
                Step::Zeros(due) => {
                    let cause = self.line.underrun().expect("zeros are an underrun").cause;
                    for index in due.clone() {
                        assert!(!self.is_rest(index), "zero {index} at rest");
                        assert!(!self.is_in_time(index), "zero {index} for a sample in time");
                    }
                    self.pass(due.start, due.end, Fate::Zero(cause));
                }
                Step::Release => self.release(),
                Step::Report(underrun) => self.report(&underrun),
            }
        }
        for piece in &self.waiting {
            for index in piece.first..piece.end.min(self.due) {
                let fate = self.fates[index as usize];
                assert!(fate != Fate::Open || index < piece.in_time, "{index} of {piece:?} is due");
            }
        }
        self.check_grid(self.due.saturating_sub(LOOK_BACK));
        let counts = self.line.counts();
        assert_eq!((counts.played, counts.underrun_samples), (self.played, self.zeros));
    }

    /// The grid of play has no hole from `first` on.
    fn check_grid(&self, first: SampleIndex) {
        let first = self.parts.first().map_or(self.due, |part| part.first.max(first));
        for index in first..self.due {
            let is_open = self.fates[index as usize] == Fate::Open;
            assert!(!is_open || self.is_rest(index), "a hole at {index}");
        }
    }

    fn pass(&mut self, first: SampleIndex, end: SampleIndex, fate: Fate) {
        assert!(first < end && end <= self.due, "{first}..{end}, due {}", self.due);
        assert!(first >= self.played_end, "{first} after {}", self.played_end);
        self.played_end = end;
        *(if fate == Fate::Played { &mut self.played } else { &mut self.zeros }) += end - first;
        self.fates[first as usize..end as usize].fill(fate);
    }

    fn release(&mut self) {
        let piece = self.waiting.pop_front().expect("a piece waits");
        for index in piece.first..piece.end {
            match self.fates[index as usize] {
                Fate::Played => {}
                Fate::Open => panic!("{index} of {piece:?} has no fate"),
                Fate::Zero(_) | Fate::Reported => self.late += 1,
            }
        }
    }

    fn report(&mut self, underrun: &Underrun) {
        let Underrun { first, samples, cause } = *underrun;
        assert!(samples > 0, "an underrun of nothing");
        for index in first..first + samples {
            assert_eq!(self.fates[index as usize], Fate::Zero(cause), "{index} of {underrun:?}");
            self.fates[index as usize] = Fate::Reported;
        }
        let part = self.part(first);
        let is_possible = match cause {
            UnderrunCause::SenderBehind => true,
            UnderrunCause::Gap(_) => part.is_some_and(|part| part.is_gap),
            UnderrunCause::BurstLate => part.is_some_and(|part| part.is_start),
            UnderrunCause::RepairLate => false,
        };
        assert!(is_possible, "{underrun:?} of {part:?}");
    }

    /// Ends the stream, plays the rest and adds up.
    fn close(&mut self) {
        self.close_when(true);
        self.due = self.due.max(self.end) + 1;
        self.drain();
        self.check_grid(0);
        assert!(self.line.is_empty() && self.waiting.is_empty(), "a stream that does not end");
        assert!(!self.fates.iter().any(|fate| matches!(fate, Fate::Zero(_))), "zeros untold");
        let counts = self.line.counts();
        assert_eq!(counts.late_samples, self.late);
        assert_eq!(self.pushed, counts.played + self.late);
        assert!(counts.late_packets <= self.late && (counts.late_packets > 0) == (self.late > 0));
    }

    fn part(&self, index: SampleIndex) -> Option<&Part> {
        self.parts.iter().find(|part| part.first <= index && index < part.end)
    }

    /// Whether nothing is to be played at an index, by what is known.
    fn is_rest(&self, index: SampleIndex) -> bool {
        let before = self.parts.iter().rposition(|part| part.first <= index);
        let Some(at) = before else { return true };
        let is_start_next = self.parts.get(at + 1).is_some_and(|part| part.is_start);
        let part = &self.parts[at];
        let is_last = at + 1 == self.parts.len();
        index >= part.end && (part.ends_burst || is_start_next || (is_last && self.is_closed))
    }

    /// Whether a sample of an index is there in time.
    fn is_in_time(&self, index: SampleIndex) -> bool {
        let mut pieces = self.waiting.iter();
        pieces.any(|piece| (piece.first.max(piece.in_time)..piece.end).contains(&index))
    }
}
