//! The account of indexes: what in-order packets and given-up ones mean for delivery and gaps.

use crate::gap::{Cause, Gap};
use crate::number::{SampleIndex, Seq};
use crate::stream::Violation;
use crate::wire::Flags;

use super::ring::Received;

/// Follows the index from packet to packet (`docs/protocol.md#6.2`).
#[derive(Clone, Debug)]
pub(super) struct Account {
    next_index: SampleIndex,
    packet_samples: u32,
    /// Packets given up since the last one delivered: runs of one cause, oldest first.
    runs: [(u64, Cause); RUNS_MAX],
    runs_len: usize,
    /// The index after the stream, once the sender has named it.
    final_index: Option<SampleIndex>,
    /// How far a jump may lead, and from where: the clock's index, else the end of the predecessor.
    jump_max: u64,
    clock_index: Option<SampleIndex>,
}

impl Account {
    pub(super) const fn new(first_index: SampleIndex, packet_samples: u32, jump_max: u64) -> Self {
        Self {
            next_index: first_index,
            packet_samples,
            runs: [(0, Cause::NeverAsked); RUNS_MAX],
            runs_len: 0,
            final_index: None,
            jump_max,
            clock_index: None,
        }
    }

    /// The clock of the samples is at `index`.
    pub(super) const fn set_clock(&mut self, index: SampleIndex) {
        self.clock_index = Some(index);
    }

    /// Whether the index may jump to `index` (`docs/protocol.md#6.10`).
    fn check_jump(&self, index: SampleIndex) -> Result<(), Violation> {
        let expected = self.next_index;
        let latest = self.clock_index.unwrap_or(expected).saturating_add(self.jump_max);
        if index > latest.max(expected) {
            return Err(Violation::JumpTooFar { index, expected, latest });
        }
        Ok(())
    }

    /// The index after the last sample accounted for.
    pub(super) const fn next_index(&self) -> SampleIndex {
        self.next_index
    }

    pub(super) fn give_up(&mut self, cause: Cause) {
        match self.runs[..self.runs_len].last_mut() {
            Some((packets, last_cause)) if *last_cause == cause => *packets += 1,
            Some((packets, last_cause)) if self.runs_len == RUNS_MAX => {
                // Of whichever of both, it was not delivered: only the socket is not blamed.
                *packets += 1;
                if *last_cause == Cause::ReceiverBehind {
                    *last_cause = cause;
                }
            }
            _ => {
                self.runs[self.runs_len] = (1, cause);
                self.runs_len += 1;
            }
        }
    }

    /// Whether packets were given up since the last one delivered.
    #[cfg(feature = "search")]
    pub(super) const fn has_given_up(&self) -> bool {
        self.runs_len > 0
    }

    /// Samples of the packets given up, taken as full.
    fn sent(&self) -> u64 {
        let packets = self.runs[..self.runs_len].iter().map(|(packets, _)| *packets).sum();
        self.full(packets)
    }

    fn full(&self, packets: u64) -> u64 {
        packets.saturating_mul(u64::from(self.packet_samples))
    }

    /// The first of several runs, as a gap of its own: where all were full packets, each run's
    /// indexes are known.
    fn take_first_of_several(&mut self) -> Option<Gap> {
        if self.runs_len < 2 {
            return None;
        }
        let (packets, cause) = self.runs[0];
        self.runs.copy_within(1..self.runs_len, 0);
        self.runs_len -= 1;
        self.gap(self.full(packets), 0, cause)
    }

    /// Forgets all runs. Returns their samples and one cause for all: the cause of the most
    /// packets. In a tie, another cause wins over this host's own socket.
    fn take_all(&mut self) -> Option<(u64, Cause)> {
        let sent = self.sent();
        let runs = &self.runs[..self.runs_len];
        let packets = |of: Cause| -> u64 {
            runs.iter().filter(|(_, cause)| *cause == of).map(|(packets, _)| *packets).sum()
        };
        let causes = runs.iter().map(|(_, cause)| *cause);
        let cause = causes.max_by_key(|&of| (packets(of), of != Cause::ReceiverBehind))?;
        self.runs_len = 0;
        Some((sent, cause))
    }

    /// The gap before `packet`, if there is one. Call again until it is `None`: then the packet
    /// follows without a gap and [`Account::deliver`] takes it.
    #[inline]
    pub(super) fn gap_before(
        &mut self,
        seq: Seq,
        packet: &Received,
    ) -> Result<Option<Gap>, Violation> {
        if packet.index == self.next_index && self.runs_len == 0 {
            return Ok(None);
        }
        self.gap_at_jump(seq, packet)
    }

    /// See [`Account::gap_before`]: packets were given up, or the index is not the next.
    #[inline(never)]
    fn gap_at_jump(&mut self, seq: Seq, packet: &Received) -> Result<Option<Gap>, Violation> {
        let (index, expected) = (packet.index, self.next_index);
        let Some(missing) = index.checked_sub(expected) else {
            return Err(Violation::IndexRetreats { seq, index, expected });
        };
        let is_set = packet.flags.contains(Flags::START);
        if missing == self.sent()
            && let Some(gap) = self.take_first_of_several()
        {
            return Ok(Some(gap));
        }
        let given_up = self.take_all();
        if missing == 0 {
            return Ok(None);
        }
        let sent = given_up.map_or(0, |(sent, _)| sent);
        if missing > sent {
            self.check_jump(index)?;
        }
        let gap = match given_up {
            None if is_set => {
                self.next_index = index;
                return Ok(None);
            }
            None if packet.flags.contains(Flags::OVERFLOW) => Gap {
                first: expected,
                not_repaired: 0,
                source_lost: missing,
                cause: Cause::SourceOverflow,
            },
            None => return Err(Violation::IndexJumps { seq, index, expected }),
            Some((sent, cause)) => {
                let source_lost = if is_set { 0 } else { missing.saturating_sub(sent) };
                Gap { first: expected, not_repaired: missing.min(sent), source_lost, cause }
            }
        };
        self.next_index = if is_set { index } else { gap.end() };
        Ok(Some(gap))
    }

    /// The sender named the end.
    pub(super) const fn announce_end(&mut self, final_index: SampleIndex) {
        self.final_index = Some(final_index);
    }

    pub(super) fn deliver(&mut self, packet: &Received) {
        self.next_index = packet.index + u64::from(packet.samples);
    }

    /// The gap at the end of the stream, when its sender named the final index.
    pub(super) fn gap_before_end(
        &mut self,
        final_index: SampleIndex,
    ) -> Result<Option<Gap>, Violation> {
        let expected = self.next_index;
        let Some(missing) = final_index.checked_sub(expected) else {
            return Err(Violation::FinalIndexRetreats { final_index, expected });
        };
        if missing == self.sent()
            && let Some(gap) = self.take_first_of_several()
        {
            return Ok(Some(gap));
        }
        let (sent, cause) = self.take_all().unwrap_or((0, Cause::SourceOverflow));
        if missing > sent {
            self.check_jump(final_index)?;
        }
        let not_repaired = missing.min(sent);
        Ok(self.gap(not_repaired, missing - not_repaired, cause))
    }

    /// The gap at the end of a stream that broke off: up to its final index where that is known,
    /// else its packets are taken as full.
    pub(super) fn gap_before_break(&mut self) -> Option<Gap> {
        if let Some(final_index) = self.final_index
            && let Ok(gap) = self.gap_before_end(final_index)
        {
            return gap;
        }
        self.gap_given_up()
    }

    /// The next gap of the packets given up since the last delivery, taken as full, where a stream
    /// is cut short: what lies behind them is not accounted for, even if the end is known.
    pub(super) fn gap_given_up(&mut self) -> Option<Gap> {
        self.take_first_of_several().or_else(|| {
            let (sent, cause) = self.take_all()?;
            self.gap(sent, 0, cause)
        })
    }

    fn gap(&mut self, not_repaired: u64, source_lost: u64, cause: Cause) -> Option<Gap> {
        let gap = Gap { first: self.next_index, not_repaired, source_lost, cause };
        self.next_index = gap.end();
        (gap.count() > 0).then_some(gap)
    }
}

/// Runs of packets given up that are kept apart until the next delivery. One packet reveals at most
/// two; only MARKs reveal more before the next delivery.
const RUNS_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(index: u64, flags: Flags) -> Received {
        Received { index, samples: 10, flags }
    }

    fn account() -> Account {
        Account::new(100, 10, u64::MAX)
    }

    const NONE: Flags = Flags(0);

    #[test]
    fn given_up_packets_become_one_gap_of_their_samples() {
        let mut account = account();
        account.give_up(Cause::Deadline);
        account.give_up(Cause::Deadline);
        let gap = Gap { first: 100, not_repaired: 20, source_lost: 0, cause: Cause::Deadline };
        let next = packet(120, NONE);
        assert_eq!(account.gap_before(Seq(2), &next), Ok(Some(gap)));
        assert_eq!(account.gap_before(Seq(2), &next), Ok(None));
        account.deliver(&next);
        assert_eq!(account.next_index(), 130);
    }

    #[test]
    fn overflow_is_lost_at_the_source() {
        let gap = Gap { first: 100, not_repaired: 0, source_lost: 7, cause: Cause::SourceOverflow };
        assert_eq!(account().gap_before(Seq(0), &packet(107, Flags::OVERFLOW)), Ok(Some(gap)));
    }

    #[test]
    fn overflow_reported_by_a_lost_packet_is_mixed() {
        let mut account = account();
        account.give_up(Cause::Deadline);
        let gap = account.gap_before(Seq(1), &packet(115, NONE)).unwrap().unwrap();
        assert_eq!((gap.not_repaired, gap.source_lost), (10, 5));
        assert!(gap.is_mixed());
    }

    #[test]
    fn each_cause_has_a_gap_of_its_own_where_the_indexes_are_known() {
        let mut account = account();
        account.give_up(Cause::ReceiverBehind);
        account.give_up(Cause::ReceiverBehind);
        account.give_up(Cause::NeverAsked);
        let next = packet(130, NONE);
        let gap = |first, not_repaired, cause| Gap { first, not_repaired, source_lost: 0, cause };
        let mut gaps = Vec::new();
        while let Some(gap) = account.gap_before(Seq(3), &next).unwrap() {
            gaps.push(gap);
        }
        assert_eq!(gaps, [gap(100, 20, Cause::ReceiverBehind), gap(120, 10, Cause::NeverAsked)]);
    }

    #[test]
    fn causes_that_cannot_be_distinguished_are_that_of_most() {
        let (own, other) = (Cause::ReceiverBehind, Cause::NeverAsked);
        for (causes, most) in [([own, own, other, own], own), ([own, own, other, other], other)] {
            for next in [packet(135, NONE), packet(145, NONE)] {
                let mut account = account();
                causes.into_iter().for_each(|cause| account.give_up(cause));
                let gap = account.gap_before(Seq(4), &next).unwrap().unwrap();
                assert_eq!((gap.end(), gap.cause), (next.index, most));
                assert_eq!(account.gap_before(Seq(4), &next), Ok(None));
            }
        }
    }

    #[test]
    fn causes_that_alternate_beyond_the_bound_are_reported_in_full_and_not_as_the_sockets() {
        let mut account = account();
        for _ in 0..RUNS_MAX {
            account.give_up(Cause::NeverAsked);
            account.give_up(Cause::ReceiverBehind);
        }
        let next = packet(100 + 20 * RUNS_MAX as u64, NONE);
        let (mut count, mut own) = (0, 0);
        while let Some(gap) = account.gap_before(Seq(0), &next).unwrap() {
            count += gap.count();
            own += if gap.cause == Cause::ReceiverBehind { gap.count() } else { 0 };
        }
        assert_eq!((count, own), (20 * RUNS_MAX as u64, 10 * (RUNS_MAX as u64 / 2 - 1)));
    }

    #[test]
    fn index_set_on_purpose_is_no_gap() {
        let mut account = account();
        assert_eq!(account.gap_before(Seq(0), &packet(5_000, Flags::START)), Ok(None));
        assert_eq!(account.next_index(), 5_000);
    }

    #[test]
    fn packet_lost_before_a_set_index_counts_its_own_samples_only() {
        let mut account = account();
        account.give_up(Cause::GoneAtSender);
        let next = packet(5_000, Flags::START);
        let gap = account.gap_before(Seq(1), &next).unwrap().unwrap();
        assert_eq!((gap.first, gap.not_repaired, gap.source_lost), (100, 10, 0));
        assert_eq!(account.gap_before(Seq(1), &next), Ok(None));
    }

    #[test]
    fn lost_end_of_burst_counts_what_the_index_says() {
        let mut account = account();
        account.give_up(Cause::Deadline);
        let gap = account.gap_before(Seq(1), &packet(104, NONE)).unwrap().unwrap();
        assert_eq!((gap.not_repaired, gap.source_lost), (4, 0));
    }

    #[test]
    fn index_that_retreats_or_jumps_is_a_violation() {
        let retreat = Violation::IndexRetreats { seq: Seq(0), index: 99, expected: 100 };
        assert_eq!(account().gap_before(Seq(0), &packet(99, NONE)), Err(retreat));
        let jump = Violation::IndexJumps { seq: Seq(0), index: 101, expected: 100 };
        assert_eq!(account().gap_before(Seq(0), &packet(101, NONE)), Err(jump));
    }

    /// `docs/protocol.md#6.10`
    #[test]
    fn jump_of_any_kind_beyond_the_bound_is_a_violation_and_one_to_the_bound_is_none() {
        let too_far = |index, latest| Violation::JumpTooFar { index, expected: 100, latest };
        for (clock, latest) in [(None, 150), (Some(400), 450), (Some(60), 110), (Some(20), 100)] {
            let account = |given_up| {
                let mut account = Account::new(100, 10, 50);
                clock.inspect(|&index| account.set_clock(index));
                (0..given_up).for_each(|_| account.give_up(Cause::Deadline));
                account
            };
            for flags in [Flags::START, Flags::OVERFLOW] {
                let to = |index| account(0).gap_before(Seq(0), &packet(index, flags));
                assert!(to(latest).is_ok(), "{clock:?} {flags:?}");
                let named = clock.map_or(150, |index| index + 50);
                assert_eq!(to(latest + 1), Err(too_far(latest + 1, named)), "{clock:?} {flags:?}");
            }
            assert!(account(0).gap_before_end(latest).is_ok());
            assert!(account(0).gap_before_end(latest + 1).is_err());
            // Packets that were lost lie within the window, and are no jump.
            assert!(account(6).gap_before(Seq(6), &packet(160, NONE)).is_ok());
            assert!(account(6).gap_before_end(160).is_ok());
            assert!(account(6).gap_before(Seq(6), &packet(500, NONE)).is_err());
        }
    }

    #[test]
    fn samples_lost_at_the_very_end_are_named() {
        let mut account = account();
        let gap = account.gap_before_end(104).unwrap().unwrap();
        assert_eq!((gap.first, gap.source_lost, gap.cause), (100, 4, Cause::SourceOverflow));
        assert_eq!(account.gap_before_end(104), Ok(None));
        let retreat = Violation::FinalIndexRetreats { final_index: 103, expected: 104 };
        assert_eq!(account.gap_before_end(103), Err(retreat));
    }

    #[test]
    fn stream_that_breaks_off_after_its_close_is_accounted_for_to_the_end() {
        let mut account = account();
        account.give_up(Cause::GoneAtSender);
        account.announce_end(107);
        let gap = account.gap_before_break().unwrap();
        assert_eq!((gap.first, gap.not_repaired, gap.source_lost), (100, 7, 0));
        assert_eq!(account.gap_before_break(), None);
    }

    #[test]
    fn every_cause_has_its_own_counter() {
        assert!(Cause::ALL.iter().enumerate().all(|(i, cause)| *cause as usize == i));
    }
}
