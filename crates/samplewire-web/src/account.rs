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
    /// Where its samples were lost; of two places the one with more samples.
    pub hop: Hop,
    /// The number of the gap, from 0.
    pub number: u64,
}

impl GapEntry {
    /// Describes a gap. `is_held_up`: see [`Hops::add`].
    pub(crate) fn new(gap: RecordedGap, is_held_up: bool, number: u64) -> Self {
        let mut hops = Hops::NONE;
        hops.add(&gap, is_held_up);
        let hops = hops.with_host(gap.host);
        let most = Hop::ALL.into_iter().max_by_key(|&hop| hops.of(hop));
        Self { gap, hop: most.expect("there are hops"), number }
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
            gaps: VecDeque::with_capacity(gaps_max),
            gaps_max,
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
        if self.gaps.len() == self.gaps_max {
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

impl GapList {
    /// The list as CSV, with a header line. Lines that begin with `#` are comments.
    pub fn csv(&self) -> String {
        let mut text = String::new();
        let listed = self.gaps.len() as u64;
        if let Some(earlier) = self.total.checked_sub(listed).filter(|&count| count > 0) {
            let _ = writeln!(text, "# {earlier} earlier gaps are in the sums, not in this list");
        }
        text.push_str("index,length,cause,hop,stream\n");
        for GapEntry { gap, hop, .. } in &self.gaps {
            let stream = gap.stream.map(|stream| stream.to_string()).unwrap_or_default();
            let (first, len, cause) = (gap.first, gap.count(), gap.cause.key());
            let _ = writeln!(text, "{first},{len},{cause},{},{stream}", hop.as_str());
        }
        text
    }
}
