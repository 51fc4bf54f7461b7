//! The account of one receiver: every index is delivered, or lies in one gap whose cause is true.

use std::collections::VecDeque;

use samplewire_proto::{Cause, Departure, Gap, Nanos, SampleIndex};

use super::front::Expectation;
use super::session::Session;

/// The state of a receiver's deliveries.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) next_index: SampleIndex,
    /// Packets given up since the last delivery that no gap has reported yet.
    pub(super) given_up: VecDeque<Cause>,
    /// What follows the packets given up, as it was known when the machine reported them.
    after_gap: Option<(SampleIndex, bool)>,
    /// A gap reported that its samples are gone at the sender: then the stream must break off.
    pub(super) says_gone: bool,
    /// What was reported, for the receiver's own counts.
    pub(super) totals: Totals,
}

/// What was delivered, given up and reported in gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) packets: u64,
    pub(super) samples: u64,
    pub(super) skipped: u64,
    pub(super) gaps: u64,
    pub(super) gap_samples: [u64; Cause::ALL.len()],
}

/// The extent of a gap: samples not repaired, and samples lost at the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    not_repaired: u64,
    source_lost: u64,
}

impl Extent {
    pub(super) const NONE: Self = Self { not_repaired: 0, source_lost: 0 };

    /// What a gap at index `first` must be by what truly was sent (`docs/protocol.md#6.2`): `packets`
    /// that were given up count as full ones as far as the `next` index has room for them.
    pub(super) fn between(
        first: SampleIndex,
        packet_samples: u32,
        packets: usize,
        next: Option<(SampleIndex, bool)>,
    ) -> Result<Self, String> {
        let sent = packets as u64 * u64::from(packet_samples);
        let Some((next, is_set)) = next else {
            return Ok(Self { not_repaired: sent, source_lost: 0 });
        };
        let Some(missing) = next.checked_sub(first) else {
            return Err(format!("indexes up to {first} are accounted for, the next is {next}"));
        };
        let not_repaired = missing.min(sent);
        let source_lost = if is_set { 0 } else { missing - not_repaired };
        Ok(Self { not_repaired, source_lost })
    }
}

impl Account {
    pub(super) const fn new(next_index: SampleIndex) -> Self {
        let given_up = VecDeque::new();
        let totals = Totals {
            packets: 0,
            samples: 0,
            skipped: 0,
            gaps: 0,
            gap_samples: [0; Cause::ALL.len()],
        };
        Self { next_index, given_up, after_gap: None, says_gone: false, totals }
    }
}

impl Session {
    /// Takes a gap that a program was handed.
    pub(crate) fn take_handed_gap(&mut self, gap: &Gap) -> Result<(), String> {
        if self.account.given_up.is_empty() {
            self.take_empty_packets();
        }
        if gap.first != self.account.next_index || gap.count() == 0 {
            return Err(format!("{gap:?} does not follow index {}", self.account.next_index));
        }
        if self.is_known() {
            if self.account.given_up.is_empty() {
                let Some(Expectation { causes, next }) = self.expected_gap() else {
                    return Err(format!("{gap:?} where a packet comes next, or nothing"));
                };
                (self.account.given_up, self.account.after_gap) = (causes, next);
            }
            let packets = self.account.given_up.len();
            let (first, next) = (self.account.next_index, self.account.after_gap);
            let known = Extent::between(first, self.agreed.packet_samples, packets, next)?;
            let packets = self.check_extent(gap, known)?;
            if packets > 0 {
                self.check_cause(gap, packets)?;
            } else if gap.cause != Cause::SourceOverflow {
                return Err(format!("{gap:?} without a packet that was given up"));
            }
            self.account.totals.skipped += packets as u64;
            drop(self.account.given_up.drain(..packets));
        }
        self.note_gap(gap);
        Ok(())
    }

    /// Follows samples whose packets are not known.
    pub(super) fn follow_samples(&mut self, index: SampleIndex, count: u64) -> Result<(), String> {
        let expected = self.account.next_index;
        if index != expected {
            return Err(format!(
                "indexes {expected}..{index} are neither handed over nor in a gap"
            ));
        }
        self.account.next_index = index + count;
        Ok(())
    }

    /// Follows an index that was set on purpose, in a session whose packets are not known.
    pub(crate) fn follow_start(&mut self, index: SampleIndex) {
        if !self.is_known() && index >= self.account.next_index {
            self.account.next_index = index;
        }
    }

    /// Checks the extent of a gap against what is `known`. Returns how many of the packets given up
    /// it covers.
    fn check_extent(&self, gap: &Gap, known: Extent) -> Result<usize, String> {
        let extent = Extent { not_repaired: gap.not_repaired, source_lost: gap.source_lost };
        let first_run = self.first_run();
        if first_run.is_some_and(|run| self.is_of(run, extent, known)) {
            return Ok(first_run.unwrap_or_default());
        }
        if extent == known {
            return Ok(self.account.given_up.len());
        }
        Err(format!("{gap:?}, but it is {known:?}: {:?}", self.account.given_up))
    }

    fn note_gap(&mut self, gap: &Gap) {
        let sums = &mut self.account.totals;
        sums.gaps += 1;
        sums.gap_samples[gap.cause as usize] += gap.not_repaired;
        sums.gap_samples[Cause::SourceOverflow as usize] += gap.source_lost;
        self.account.next_index = gap.end();
    }

    /// How many of the packets given up come first with one cause, where others follow.
    fn first_run(&self) -> Option<usize> {
        let mut causes = self.account.given_up.iter();
        let first = causes.next()?;
        causes.position(|cause| cause != first).map(|at| at + 1)
    }

    /// Whether a gap reports only the first `run` packets, with their own cause. This is possible
    /// if all packets were full.
    fn is_of(&self, run: usize, reported: Extent, known: Extent) -> bool {
        let full = |packets: usize| packets as u64 * u64::from(self.agreed.packet_samples);
        let all = Extent { not_repaired: full(self.account.given_up.len()), source_lost: 0 };
        // Runs beyond those that a receiver must keep apart are reported together.
        let is_run = reported.not_repaired == full(run) || self.has_many_runs();
        known == all
            && reported.source_lost == 0
            && reported.not_repaired < all.not_repaired
            && is_run
    }

    fn has_many_runs(&self) -> bool {
        let causes = &self.account.given_up;
        let changes = causes.iter().zip(causes.iter().skip(1)).filter(|(a, b)| a != b).count();
        changes >= RUNS_MAX
    }

    /// Holds the cause against those of the first `packets` given up, of which it is that of most,
    /// and not "receiver behind" for as many of another.
    fn check_cause(&mut self, gap: &Gap, packets: usize) -> Result<(), String> {
        // Only a stream that breaks off may report this: its end is checked against it.
        self.account.says_gone |= gap.cause == Cause::GoneAtSender;
        let count = |cause: Cause| {
            self.account.given_up.range(..packets).filter(|it| **it == cause).count()
        };
        let of_cause = count(gap.cause);
        let is_most = Cause::ALL.into_iter().all(|cause| {
            let is_own = gap.cause == Cause::ReceiverBehind && cause != gap.cause;
            count(cause) + usize::from(is_own && count(cause) > 0) <= of_cause
        });
        if of_cause > 0 && (is_most || self.has_many_runs()) {
            return Ok(());
        }
        Err(format!("the cause of {gap:?} is not true: {:?}", self.account.given_up))
    }
}

/// The receiver's clock as departures show it.
pub(super) const CLOCK_UNIT: Nanos = Nanos(2 * Departure::UNIT_NS);
/// Runs of one cause that a receiver keeps apart.
const RUNS_MAX: usize = 8;
