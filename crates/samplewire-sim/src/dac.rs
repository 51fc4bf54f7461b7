//! A converter that plays on, whatever has come (`docs/protocol.md#6.10`).
//!
//! The index of a sample is its place on a grid of play times that begins once enough has come and
//! never moves. What is not there when its time comes is played as zeros; what comes after its time
//! is late, counted and not played.

use std::collections::VecDeque;

use samplewire_proto::{Nanos, SampleIndex};

use crate::check::Tally;

/// A player and the packets that wait for their time.
#[derive(Debug)]
pub(crate) struct Dac {
    /// The time that `packet_samples` take.
    interval: Nanos,
    packet_samples: u32,
    prefill: u32,
    /// When which index is played: the grid.
    anchor: Option<(Nanos, SampleIndex)>,
    /// The first index that has not been played, as a sample or as a zero.
    next: SampleIndex,
    /// Samples that wait, a range for each place.
    waiting: VecDeque<(SampleIndex, SampleIndex)>,
    is_dry: bool,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    delivered: u64,
    played: u64,
    late: u64,
    zeros: u64,
    underruns: u64,
}

impl Dac {
    pub(crate) fn new(interval: Nanos, packet_samples: u32, prefill: u32) -> Self {
        Self {
            interval,
            packet_samples,
            prefill,
            anchor: None,
            next: 0,
            waiting: VecDeque::new(),
            is_dry: false,
            counts: Counts::default(),
        }
    }

    /// Takes samples, in order of their index; `true` when all of them are late. What was due by
    /// `now` has been played.
    pub(crate) fn take(&mut self, now: Nanos, index: SampleIndex, samples: u32) -> bool {
        let end = index + u64::from(samples);
        self.counts.delivered += u64::from(samples);
        if self.anchor.is_none() {
            self.waiting.push_back((index, end));
            if self.waiting.len() >= self.prefill as usize {
                let first = self.waiting[0].0;
                self.anchor = Some((now + self.interval, first));
                self.next = first;
            }
            return false;
        }
        self.counts.late += self.next.min(end).saturating_sub(index);
        if end < self.next || (end == self.next && samples > 0) {
            return true;
        }
        self.waiting.push_back((index.max(self.next), end));
        false
    }

    /// Plays what is due by `now` and says how many places are free again.
    pub(crate) fn run(&mut self, now: Nanos) -> u32 {
        let due_end = self.due_end(now);
        let mut freed = 0;
        while let Some(&(first, end)) = self.waiting.front()
            && first < due_end
        {
            self.play_zeros(first);
            let played_end = end.min(due_end);
            self.is_dry &= played_end == self.next;
            self.counts.played += played_end - self.next;
            self.next = played_end;
            if end > due_end {
                return freed;
            }
            self.waiting.pop_front();
            freed += 1;
        }
        self.play_zeros(due_end);
        freed
    }

    /// When a place is free again.
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        let (at, first) = self.anchor?;
        let (start, end) = *self.waiting.front()?;
        let last = end.saturating_sub(1).max(start);
        let span = u128::from(last - first) * u128::from(self.interval.0);
        Some(at + Nanos((span / u128::from(self.packet_samples)) as u64))
    }

    pub(crate) fn held(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// The index that is played next, once it plays.
    pub(crate) const fn plays(&self) -> Option<SampleIndex> {
        match self.anchor {
            Some(_) => Some(self.next),
            None => None,
        }
    }

    /// Adds up what was played.
    ///
    /// # Panics
    /// When an index was delivered and neither played, late nor waits, or the grid has moved.
    pub(crate) fn close(&self, tally: &mut Tally) {
        let Counts { delivered, played, late, zeros, underruns } = self.counts;
        let waiting: u64 =
            self.waiting.iter().map(|(first, end)| end - first.max(&self.next)).sum();
        assert_eq!(delivered, played + late + waiting, "samples that a player does not know");
        if let Some((_, first)) = self.anchor {
            assert_eq!(self.next - first, played + zeros, "a grid that has moved");
        }
        tally.indexes_played += played;
        tally.indexes_late += late;
        tally.zeros_played += zeros;
        tally.underruns += underruns;
    }

    pub(crate) fn end(&mut self) {
        self.waiting.clear();
        self.anchor = None;
    }

    /// The first index whose time lies after `now`.
    fn due_end(&self, now: Nanos) -> SampleIndex {
        match self.anchor {
            Some((at, first)) if now >= at => {
                let samples = u128::from(now.since(at).0 + 1) * u128::from(self.packet_samples);
                first + (samples - 1) as u64 / self.interval.0 + 1
            }
            _ => self.next,
        }
    }

    fn play_zeros(&mut self, end: SampleIndex) {
        if end > self.next {
            self.counts.underruns += u64::from(!self.is_dry);
            self.is_dry = true;
            self.counts.zeros += end - self.next;
            self.next = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten samples in 1,000 ns, from index 100 at 1,500 on.
    fn dac() -> Dac {
        let mut dac = Dac::new(Nanos(1_000), 10, 2);
        assert!(!dac.take(Nanos(400), 100, 10));
        assert_eq!((dac.plays(), dac.next_at()), (None, None));
        assert!(!dac.take(Nanos(500), 110, 10));
        dac
    }

    #[test]
    fn index_is_the_play_time() {
        let mut dac = dac();
        assert_eq!((dac.run(Nanos(1_499)), dac.plays()), (0, Some(100)));
        assert_eq!((dac.run(Nanos(1_500)), dac.plays()), (0, Some(101)));
        assert_eq!(dac.next_at(), Some(Nanos(2_400)));
        assert_eq!((dac.run(Nanos(2_399)), dac.plays()), (0, Some(109)));
        assert_eq!((dac.run(Nanos(2_400)), dac.plays()), (1, Some(110)));
        assert_eq!((dac.counts.played, dac.counts.zeros), (10, 0));
    }

    #[test]
    fn underrun_plays_zeros_keeps_the_grid_and_counts_what_is_late() {
        let mut dac = dac();
        assert_eq!((dac.run(Nanos(4_000)), dac.plays()), (2, Some(126)));
        assert_eq!((dac.counts.zeros, dac.counts.underruns), (6, 1));
        // Indexes 120 to 125 are late, the rest has its own time; a packet is missing after it.
        assert!(!dac.take(Nanos(4_000), 120, 10));
        assert_eq!(dac.next_at(), Some(Nanos(4_400)));
        assert!(!dac.take(Nanos(4_000), 140, 10));
        assert_eq!((dac.run(Nanos(6_400)), dac.plays()), (2, Some(150)));
        let Counts { delivered, played, late, zeros, underruns } = dac.counts;
        assert_eq!((delivered, played, late, zeros, underruns), (40, 34, 6, 16, 2));
        assert!(dac.take(Nanos(6_400), 130, 0) && dac.take(Nanos(6_400), 135, 10));
        let mut tally = Tally::default();
        dac.close(&mut tally);
        assert_eq!((tally.indexes_late, tally.indexes_played), (16, 34));
    }
}
