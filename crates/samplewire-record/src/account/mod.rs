//! The account of a recording: each index counts once, as a sample or as missing with its cause.

mod balance;
mod held_up;
mod hops;

use samplewire_proto::SampleIndex;

use crate::sigmf::{HostDrops, RecordedCause, RecordedGap};
pub use balance::{Balance, Defect};
pub use held_up::HeldUp;
pub use hops::{Hop, Hops};

/// Follows the indexes that a receiver delivers, up to a limit.
#[derive(Clone, Debug)]
pub struct Account {
    first: SampleIndex,
    next: SampleIndex,
    /// The number of indexes of the device's earlier runs.
    before: u64,
    /// The device's runs.
    boots: u32,
    /// How many indexes are still wanted; `None` for all.
    left: Option<u64>,
    delivered: u64,
    gap_samples: [u64; RecordedCause::ALL.len()],
    /// Without the host's drops: `wire` includes them.
    hops: Hops,
    /// What the host has dropped of the stream.
    host: HostDrops,
    /// The part of it that gaps have named.
    host_named: HostDrops,
    gaps: u64,
    /// Whether a gap has losses of the path and of the source. Both counts are then bounds.
    has_mixed_gap: bool,
    /// Whether the device's present run has a sample or a gap so far.
    has_begun: bool,
    /// Indexes before the first sample or gap, over all runs.
    before_first: u64,
    /// Indexes that the device later left out on purpose.
    left_out: u64,
    /// Blocks and gaps that do not begin where the previous ones ended.
    misplaced: u64,
}

impl Account {
    /// Creates an account that begins at `first` and counts `limit` indexes.
    pub const fn new(first: SampleIndex, limit: Option<u64>) -> Self {
        Self {
            first,
            next: first,
            before: 0,
            boots: 1,
            left: limit,
            delivered: 0,
            gap_samples: [0; RecordedCause::ALL.len()],
            hops: Hops::NONE,
            host: HostDrops::NONE,
            host_named: HostDrops::NONE,
            gaps: 0,
            has_mixed_gap: false,
            has_begun: false,
            before_first: 0,
            left_out: 0,
            misplaced: 0,
        }
    }

    /// Counts a gap, and returns its part before the limit, if any. `is_held_up` states whether the
    /// program delayed the stream before the gap.
    pub fn take_gap(&mut self, gap: &RecordedGap, is_held_up: bool) -> Option<RecordedGap> {
        let count = self.within(gap.count());
        if count == 0 {
            return None;
        }
        self.step_to(gap.first);
        self.has_mixed_gap |= gap.is_mixed();
        let cut = gap.cut(gap.first, count);
        let host = match Hop::of(gap.cause) {
            Hop::Wire => self.host.beyond(self.host_named).within(cut.not_repaired),
            _ => HostDrops::NONE,
        };
        self.host_named = self.host_named.and(host);
        let taken = RecordedGap { host, ..cut };
        for (cause, samples) in taken.by_cause() {
            let sum = &mut self.gap_samples[cause.position()];
            *sum = sum.saturating_add(samples);
        }
        self.hops.add(&taken, is_held_up);
        self.gaps += 1;
        self.advance(count);
        Some(taken)
    }

    /// Notes what the host has dropped of the stream since the account began, in all. Losses on the
    /// path count for it as far as it goes; a later, better count replaces this one.
    pub const fn note_host_drops(&mut self, drops: HostDrops) {
        self.host = drops;
    }

    /// Counts samples, and returns how many of them are before the limit.
    pub fn take_samples(&mut self, index: SampleIndex, len: usize) -> usize {
        let count = self.within(len as u64);
        if count == 0 {
            return 0;
        }
        self.step_to(index);
        self.delivered = self.delivered.saturating_add(count);
        self.advance(count);
        count as usize
    }

    /// Continues at `first` of another run of the device. Indexes of two runs are not comparable.
    pub fn restart_at(&mut self, first: SampleIndex) {
        self.before = self.before.saturating_add(self.next - self.first);
        self.boots = self.boots.saturating_add(1);
        (self.first, self.next) = (first, first);
        self.has_begun = false;
    }

    /// Returns how many samples of a block are before the next index: these are already counted.
    pub const fn overlap(&self, index: SampleIndex, len: usize) -> usize {
        let ahead = self.next.saturating_sub(index);
        if ahead < len as u64 { ahead as usize } else { len }
    }

    /// Returns the part of a gap at or after the next index. The rest is already counted.
    pub fn ahead(&mut self, gap: &RecordedGap) -> Option<RecordedGap> {
        let behind = self.next.saturating_sub(gap.first);
        let count = gap.count().checked_sub(behind).filter(|&count| count > 0)?;
        self.has_mixed_gap |= gap.is_mixed();
        Some(gap.cut(gap.first + behind, count))
    }

    /// Returns whether the limit is reached.
    pub fn is_full(&self) -> bool {
        self.left == Some(0)
    }

    /// Returns how many indexes are still wanted; `None` for all.
    pub const fn left(&self) -> Option<u64> {
        self.left
    }

    /// Returns the number of the device's runs that the samples come from.
    pub const fn boots(&self) -> u32 {
        self.boots
    }

    /// Returns the first index of the device's last run and the index after the last.
    pub const fn range(&self) -> std::ops::Range<SampleIndex> {
        self.first..self.next
    }

    /// Samples delivered.
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Samples missing, for every cause.
    pub fn missing(&self) -> u64 {
        self.gap_samples.iter().fold(0, |sum, &samples| sum.saturating_add(samples))
    }

    /// Samples missing, in the order of [`RecordedCause::ALL`].
    pub const fn gap_samples(&self) -> &[u64; RecordedCause::ALL.len()] {
        &self.gap_samples
    }

    /// Samples missing, by hop.
    pub fn hops(&self) -> Hops {
        self.hops.with_host(self.host)
    }

    /// Whether a gap has losses of the path and of the source. Neither count is then exact.
    pub const fn has_mixed_gap(&self) -> bool {
        self.has_mixed_gap
    }

    /// Gaps.
    pub const fn gaps(&self) -> u64 {
        self.gaps
    }

    /// Returns all indexes by term. `written` is the number of samples in the recording's files.
    ///
    /// # Errors
    /// [`Defect`]: an index is in no term, or in two.
    pub fn balance(&self, written: u64) -> Result<Balance, Defect> {
        Balance::new(self, written)
    }

    /// Continues at an index that the device chose on purpose. Sums saturate: a recording may state any
    /// index.
    fn step_to(&mut self, index: SampleIndex) {
        match index.checked_sub(self.next) {
            Some(jump) if self.has_begun => self.left_out = self.left_out.saturating_add(jump),
            Some(jump) => self.before_first = self.before_first.saturating_add(jump),
            None => self.misplaced += 1,
        }
        self.has_begun = true;
        self.next = self.next.max(index);
    }

    fn within(&self, count: u64) -> u64 {
        self.left.map_or(count, |left| left.min(count))
    }

    fn advance(&mut self, count: u64) {
        self.next = self.next.saturating_add(count);
        self.left = self.left.map(|left| left - count);
    }
}

#[cfg(test)]
mod tests {
    use samplewire_proto::Cause;

    use super::*;

    fn gap(first: u64, not_repaired: u64, source_lost: u64) -> RecordedGap {
        let cause = RecordedCause::Stream(Cause::Deadline);
        RecordedGap::new(first, not_repaired, source_lost, cause)
    }

    #[test]
    fn samples_and_gaps_add_up() {
        let mut account = Account::new(100, None);
        assert_eq!(account.take_samples(100, 50), 50);
        assert_eq!(account.take_gap(&gap(150, 30, 20), false), Some(gap(150, 30, 20)));
        assert_eq!(account.take_samples(200, 10), 10);
        assert_eq!((account.delivered(), account.missing(), account.gaps()), (60, 50, 1));
        assert_eq!(account.gap_samples(), &[20, 30, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(account.range(), 100..210);
        assert!(account.balance(account.delivered()).is_ok());
    }

    #[test]
    fn losses_on_the_path_count_for_the_host_as_far_as_it_has_dropped() {
        let mut account = Account::new(0, None);
        let of = |account: &Account| {
            [Hop::Wire, Hop::Nic, Hop::Kernel].map(|hop| account.hops().of(hop))
        };
        let taken = account.take_gap(&gap(0, 10, 0), false).unwrap();
        assert_eq!((taken.host, of(&account)), (HostDrops::NONE, [10, 0, 0]));
        // The kernel counts 25 from here on: the next gap names 20 of them, the one after it the rest.
        account.note_host_drops(HostDrops { nic: 0, kernel: 25 });
        let named = [10, 40, 70].map(|first| {
            let taken = account.take_gap(&gap(first, 20, 0), false).unwrap();
            account.take_samples(taken.end(), 10);
            taken.host.kernel
        });
        assert_eq!((named, of(&account)), ([20, 5, 0], [45, 0, 25]));
        // A card may count some seconds late: the sums follow, the gaps that are written do not.
        account.note_host_drops(HostDrops { nic: 40, kernel: 25 });
        assert_eq!(of(&account), [5, 40, 25]);
        account.note_host_drops(HostDrops { nic: 0, kernel: 25 });
        assert_eq!(of(&account), [45, 0, 25]);
        assert!(account.balance(account.delivered()).is_ok());
    }

    #[test]
    fn losses_of_the_source_and_of_the_socket_are_not_the_hosts() {
        let mut account = Account::new(0, None);
        account.note_host_drops(HostDrops { nic: 1_000, kernel: 1_000 });
        let cause = RecordedCause::Stream(Cause::ReceiverBehind);
        let socket = RecordedGap { cause, ..gap(0, 10, 0) };
        for gap in [socket, gap(10, 0, 10)] {
            assert_eq!(account.take_gap(&gap, false).unwrap().host, HostDrops::NONE);
        }
        let mixed = account.take_gap(&gap(20, 5, 5), false).unwrap();
        assert_eq!(mixed.host, HostDrops { nic: 5, kernel: 0 });
        assert_eq!((account.hops().of(Hop::Nic), account.hops().of(Hop::Kernel)), (5, 0));
    }

    #[test]
    fn limit_counts_delivered_and_missing_together() {
        let mut account = Account::new(0, Some(100));
        account.take_samples(0, 60);
        assert_eq!(account.take_gap(&gap(60, 30, 0), false), Some(gap(60, 30, 0)));
        assert_eq!(account.take_samples(90, 60), 10);
        assert!(account.is_full());
        assert_eq!(account.take_samples(150, 60), 0);
    }

    #[test]
    fn gap_across_the_limit_is_cut() {
        let mut account = Account::new(0, Some(10));
        assert_eq!(account.take_gap(&gap(0, 8, 8), false), Some(gap(0, 8, 2)));
        assert_eq!(account.take_samples(16, 5), 0);
        assert_eq!(account.take_gap(&gap(21, 1, 0), false), None);
        assert_eq!((account.missing(), account.range()), (10, 0..10));
        assert!(account.balance(account.delivered()).is_ok());
    }

    #[test]
    fn index_that_comes_twice_breaks_the_account() {
        let mut account = Account::new(0, None);
        account.take_samples(0, 10);
        account.take_samples(5, 10);
        assert!(account.balance(account.delivered()).is_err());
    }

    #[test]
    fn device_that_restarts_begins_again_and_the_account_holds() {
        let mut account = Account::new(0, None);
        account.take_samples(0, 100);
        account.take_gap(&gap(100, 7, 0), false);
        account.restart_at(5);
        account.take_samples(5, 10);
        assert!(account.balance(account.delivered()).is_ok());
        assert_eq!((account.range(), account.boots(), account.delivered()), (5..15, 2, 110));
    }

    #[test]
    fn overlap_is_what_is_there_already() {
        let mut account = Account::new(0, None);
        account.take_samples(0, 100);
        let overlaps =
            [(100, 5), (98, 5), (90, 5), (200, 5)].map(|(at, len)| account.overlap(at, len));
        assert_eq!(overlaps, [0, 2, 5, 0]);
    }

    #[test]
    fn gap_that_was_taken_before_is_taken_once() {
        let mut account = Account::new(0, None);
        account.take_samples(0, 100);
        account.take_gap(&gap(100, 50, 0), false);
        let ahead = [gap(90, 10, 0), gap(100, 30, 20), gap(120, 20, 0), gap(150, 5, 0)]
            .map(|gap| account.ahead(&gap));
        assert_eq!(ahead, [None, None, None, Some(gap(150, 5, 0))]);
        assert!(!account.has_mixed_gap());
        let across = account.ahead(&gap(140, 15, 5)).expect("10 of 20 lie ahead");
        assert_eq!(across, gap(150, 10, 0));
        assert!(account.has_mixed_gap(), "it is not known which 10");
        account.take_gap(&across, false);
        let balance = account.balance(100).unwrap();
        assert_eq!((balance.indexes, balance.missing), (160, 60));
    }

    #[test]
    fn each_index_is_in_its_term() {
        let mut account = Account::new(1_000, None);
        account.take_samples(1_015, 100);
        account.take_gap(&gap(1_115, 6, 4), false);
        account.take_samples(1_145, 50);
        account.restart_at(7);
        account.take_samples(9, 40);
        let terms = Balance {
            indexes: 195 + 42,
            samples: 170,
            missing: 10,
            left_out: 20,
            not_written: 20,
            before_first: 15 + 2,
        };
        assert_eq!(account.balance(170), Ok(terms));
        assert!(!terms.is_whole());
    }

    #[test]
    fn account_that_does_not_add_up_is_a_defect() {
        let mut account = Account::new(0, None);
        account.take_samples(0, 100);
        let defect = |account: &Account| account.balance(100).unwrap_err().to_string();
        let words = account.balance(101).unwrap_err().to_string();
        assert!(words.contains("101 samples are written, and 100 were delivered"), "{words}");
        let lost = Account { delivered: 99, ..account.clone() };
        assert!(lost.balance(99).unwrap_err().to_string().contains("100 indexes, but the terms"));
        let by_cause = { [1; RecordedCause::ALL.len()] };
        let words = defect(&Account { gap_samples: by_cause, ..account.clone() });
        assert!(words.contains("0 samples are missing by hop, and 10 by cause"), "{words}");
        account.take_samples(99, 1);
        assert!(account.balance(100).unwrap_err().to_string().contains("1 pieces came twice"));
    }

    #[test]
    fn hostile_indexes_saturate() {
        let mut account = Account::new(0, None);
        for _ in 0..3 {
            account.take_gap(&gap(u64::MAX - 5, u64::MAX / 2, u64::MAX / 2), false);
            account.take_samples(u64::MAX, usize::MAX);
            account.restart_at(0);
        }
        assert_eq!((account.missing(), account.delivered()), (u64::MAX, u64::MAX));
        assert_eq!(account.hops().total(), u64::MAX);
    }

    #[test]
    fn index_set_on_purpose_is_no_gap() {
        let mut account = Account::new(0, None);
        account.take_samples(0, 10);
        account.take_samples(1_000, 10);
        assert!(account.balance(account.delivered()).is_ok());
        assert_eq!((account.missing(), account.range()), (0, 0..1_010));
    }
}
