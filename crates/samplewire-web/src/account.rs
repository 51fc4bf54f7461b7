//! The account of a stream as the page shows it: exact sums, a timeline, and the latest gaps.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::Instant;

use samplewire::SampleIndex;
use samplewire_record::account::{Account, Hop, Hops};
use samplewire_record::sigmf::RecordedGap;

use crate::timeline::Timeline;

/// A gap of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapEntry {
    /// The gap.
    pub gap: RecordedGap,
    /// Where its samples were lost; of two places that of [`Hops::most`].
    pub hop: Hop,
    /// The number of the gap, from 0.
    pub number: u64,
    /// The number of the device's run, or of the session, from 1.
    pub boot: u32,
}

impl GapEntry {
    /// Describes a gap. `is_held_up`: see [`Hops::add`].
    pub(crate) fn new(gap: RecordedGap, is_held_up: bool, number: u64, boot: u32) -> Self {
        let mut hops = Hops::NONE;
        hops.add(&gap, is_held_up);
        Self { gap, hop: hops.with_host(gap.host).most(), number, boot }
    }
}

/// What a tap reports to the page's thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// Missing indexes.
    Gap { entry: GapEntry, position: u64 },
    /// Indexes that the device left out on purpose.
    Excluded { position: u64, len: u64 },
}

/// The account of a stream that other threads read.
#[derive(Clone, Debug)]
pub struct Ledger {
    account: Account,
    timeline: Timeline,
    /// The latest gaps.
    gaps: VecDeque<GapEntry>,
    /// The most gaps that are listed.
    gaps_max: usize,
    updated: Instant,
}

impl Ledger {
    /// The number of gaps in the list of a stream; sums and the timeline include all earlier ones. That
    /// of a recording has all of its gaps.
    pub const GAPS_MAX: usize = 1 << 14;

    pub(crate) fn new(first: SampleIndex, gaps_max: usize) -> Self {
        Self {
            account: Account::new(first, None),
            timeline: Timeline::new(),
            gaps: VecDeque::with_capacity(gaps_max.max(1)),
            gaps_max: gaps_max.max(1),
            updated: Instant::now(),
        }
    }

    /// Adds what happened, and replaces the sums.
    pub(crate) fn update(
        &mut self,
        account: &Account,
        end: u64,
        events: impl Iterator<Item = Event>,
    ) {
        for event in events {
            match event {
                Event::Gap { entry, position } => self.add(entry, position),
                Event::Excluded { position, len } => self.timeline.add_excluded(position, len),
            }
        }
        self.timeline.extend_to(end);
        self.account = account.clone();
        self.updated = Instant::now();
    }

    fn add(&mut self, entry: GapEntry, position: u64) {
        let mut at = position;
        for (cause, samples) in entry.gap.by_cause() {
            self.timeline.add_missing(at, samples, cause);
            at = at.saturating_add(samples);
        }
        if self.gaps.len() >= self.gaps_max {
            self.gaps.pop_front();
        }
        self.gaps.push_back(entry);
    }

    /// The time of the sums.
    pub(crate) const fn updated_at(&self) -> Instant {
        self.updated
    }

    /// The sums.
    pub const fn account(&self) -> &Account {
        &self.account
    }

    /// What became of every index.
    pub const fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The latest gaps, oldest first.
    pub const fn gaps(&self) -> &VecDeque<GapEntry> {
        &self.gaps
    }

    /// Returns the listed gaps with numbers in this range, oldest first.
    pub fn gaps_in(&self, numbers: std::ops::Range<u64>) -> impl Iterator<Item = &GapEntry> {
        let first = self.gaps.front().map_or(0, |entry| entry.number);
        let place = |number: u64| (number.saturating_sub(first) as usize).min(self.gaps.len());
        let (from, until) = (place(numbers.start), place(numbers.end));
        self.gaps.range(from..until.max(from))
    }

    /// Returns a copy of the latest `count` gaps before number `before`.
    pub fn latest(&self, before: u64, count: u64) -> GapList {
        let total = self.account.gaps();
        let before = before.min(total);
        let gaps = self.gaps_in(before.saturating_sub(count)..before).copied().collect();
        GapList { total, gaps }
    }
}

/// Gaps of a ledger. They are a copy, so they are written without holding up the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GapList {
    /// The gaps of the stream.
    pub total: u64,
    /// Those of the list, oldest first.
    pub gaps: Vec<GapEntry>,
}

/// Writes the gaps of a ledger as CSV, in parts: each holds up the ledger for a short time only.
#[derive(Debug)]
pub(crate) struct GapRows {
    has_head: bool,
    /// The number of the next gap.
    next: u64,
    /// The number behind the last gap: those that are added meanwhile are not written.
    end: u64,
}

impl GapRows {
    /// The most gaps of a part.
    const PART: u64 = 1_000;

    /// Begins with the oldest gap.
    pub(crate) fn new(ledger: &Ledger) -> Self {
        Self { has_head: false, next: 0, end: ledger.account.gaps() }
    }

    /// Copies the gaps of the next part; returns `None` behind the last part.
    pub(crate) fn copy(&self, ledger: &Ledger) -> Option<Vec<GapEntry>> {
        if self.has_head && self.next >= self.end {
            return None;
        }
        let oldest = ledger.gaps.front().map_or(self.end, |entry| entry.number);
        let first = self.next.max(oldest);
        let end = first.saturating_add(Self::PART).min(self.end);
        Some(ledger.gaps_in(first..end).copied().collect())
    }

    /// Returns the lines of a part; the first has the header. Lines that begin with `#` are comments.
    pub(crate) fn lines(&mut self, part: &[GapEntry]) -> String {
        let mut text = String::new();
        let first = part.first().map_or(self.end, |entry| entry.number);
        if let Some(absent) = first.checked_sub(self.next).filter(|&count| count > 0) {
            let _ = writeln!(text, "# {absent} earlier gaps are in the sums, not in this list");
        }
        if !self.has_head {
            text.push_str("index,length,cause,hop,stream,run\n");
        }
        for GapEntry { gap, hop, boot, .. } in part {
            let stream = gap.stream.map(|stream| stream.to_string()).unwrap_or_default();
            let (first, len, cause) = (gap.first, gap.count(), gap.cause.key());
            let _ = writeln!(text, "{first},{len},{cause},{},{stream},{boot}", hop.as_str());
        }
        self.has_head = true;
        self.next = part.last().map_or(self.end, |entry| entry.number + 1);
        text
    }
}

#[cfg(test)]
mod tests {
    use samplewire::Cause;
    use samplewire_record::sigmf::RecordedCause;

    use super::*;

    /// Adds gaps of one sample, at every second index.
    fn add(ledger: &mut Ledger, numbers: std::ops::Range<u64>) {
        let mut account = ledger.account.clone();
        for number in numbers {
            let gap = RecordedGap::new(2 * number, 1, 0, RecordedCause::Stream(Cause::Deadline));
            account.take_gap(&gap, false);
            let event =
                Event::Gap { entry: GapEntry::new(gap, false, number, 1), position: 2 * number };
            ledger.update(&account, 2 * number + 1, [event].into_iter());
        }
    }

    /// The indexes of the lines of a part, and its other lines.
    fn read(text: &str) -> (Vec<u64>, Vec<&str>) {
        let index = |line: &str| line.split(',').next().and_then(|it| it.parse().ok());
        let indexes = text.lines().filter_map(index).collect();
        (indexes, text.lines().filter(|line| index(line).is_none()).collect())
    }

    const HEAD: &str = "index,length,cause,hop,stream,run";

    #[test]
    fn list_is_written_in_parts_and_ends_where_it_did_at_the_beginning() {
        let mut ledger = Ledger::new(0, 4_000);
        add(&mut ledger, 0..2_500);
        let mut rows = GapRows::new(&ledger);
        let mut next = 0;
        for len in [1_000, 1_000, 500] {
            let part = rows.copy(&ledger).expect("there is a part");
            let text = rows.lines(&part);
            let (indexes, others) = read(&text);
            assert_eq!(indexes, (next..next + len).map(|it| 2 * it).collect::<Vec<_>>());
            assert_eq!(others, if next == 0 { vec![HEAD] } else { vec![] });
            next += len;
            let total = ledger.account.gaps();
            add(&mut ledger, total..total + 1);
        }
        assert_eq!(rows.copy(&ledger), None);
    }

    #[test]
    fn gaps_that_leave_the_list_between_two_parts_are_counted() {
        let mut ledger = Ledger::new(0, 2_000);
        add(&mut ledger, 0..2_100);
        let mut rows = GapRows::new(&ledger);
        let part = rows.copy(&ledger).expect("there is a part");
        let text = rows.lines(&part);
        let (indexes, others) = read(&text);
        assert_eq!((indexes[0], indexes.len()), (200, 1_000));
        assert_eq!(others, ["# 100 earlier gaps are in the sums, not in this list", HEAD]);
        add(&mut ledger, 2_100..3_150);
        let part = rows.copy(&ledger).expect("there is a part");
        let text = rows.lines(&part);
        let (indexes, others) = read(&text);
        assert_eq!((indexes[0], indexes.len()), (2_300, 950));
        assert_eq!(others, ["# 50 earlier gaps are in the sums, not in this list"]);
        assert_eq!(rows.copy(&ledger), None);
        // All of them.
        let mut rows = GapRows { has_head: true, next: 10, end: 20 };
        let part = rows.copy(&ledger).expect("there is a part");
        assert_eq!(rows.lines(&part), "# 10 earlier gaps are in the sums, not in this list\n");
        assert_eq!(rows.copy(&ledger), None);
    }

    #[test]
    fn list_has_the_latest_gap_at_least() {
        let mut ledger = Ledger::new(0, 0);
        let mut rows = GapRows::new(&ledger);
        let part = rows.copy(&ledger).expect("there is a part");
        assert_eq!(rows.lines(&part).trim_end(), HEAD);
        assert_eq!(rows.copy(&ledger), None);
        add(&mut ledger, 0..3);
        assert_eq!(ledger.gaps().iter().map(|it| it.number).collect::<Vec<_>>(), [2]);
    }
}
