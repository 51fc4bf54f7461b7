//! Where a receiver's machine stands, ahead of its program: what the program must be handed next.
//!
//! A program takes later what its endpoint has delivered, and by then the machine may know more. So
//! what a gap must be is settled when the machine delivers, and kept until the program has it.

use std::collections::VecDeque;

use samplewire_proto::receiver::Delivery;
use samplewire_proto::wire::Flags;
use samplewire_proto::{Cause, Nanos, SampleIndex, Seq};

use super::gaps::Extent;
use super::session::{Breach, Session};
use crate::payload;

/// The machine's position, and what the program has not taken of it.
#[derive(Debug)]
pub(super) struct Front {
    pub(super) next_seq: Seq,
    pub(super) next_index: SampleIndex,
    pub(super) skipped: u64,
    /// Given up since the last packet or gap.
    given_up: Vec<Cause>,
    expected: VecDeque<Expected>,
}

/// What a program must be handed.
#[derive(Debug)]
enum Expected {
    Packet { index: SampleIndex, samples: u32, flags: Flags },
    Gap(Expectation),
}

/// What is known of a gap, or of a few that follow one another.
#[derive(Clone, Debug, Default)]
pub(super) struct Expectation {
    /// Why the packets are missing, in their order.
    pub(super) causes: VecDeque<Cause>,
    /// The next index, where that is known, and whether it was set on purpose.
    pub(super) next: Option<(SampleIndex, bool)>,
}

/// How far a receiver's machine has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Packets delivered and given up since the first.
    pub(crate) delivered: u64,
    pub(crate) skipped: u64,
    /// Where its account stands; not known where the machine has ended.
    pub(crate) next_index: Option<SampleIndex>,
    /// What is missing is gone.
    pub(crate) is_breaking: bool,
}

impl Front {
    pub(super) const fn new(next_seq: Seq, next_index: SampleIndex) -> Self {
        let expected = VecDeque::new();
        Self { next_seq, next_index, skipped: 0, given_up: vec![], expected }
    }
}

impl Session {
    /// Whether all that was sent is known. Only the order is known if the sender breaks the rules,
    /// or if an attacker on the path has touched the session.
    pub(super) const fn is_known(&self) -> bool {
        !self.is_forged && self.breach.is_none()
    }

    /// Notes what the machine has delivered or given up; `now` is the receiver's clock. How often the
    /// seq has wrapped.
    pub(crate) fn advance_to(&mut self, now: Nanos, progress: &Progress) -> Result<u64, String> {
        let Progress { next_index, is_breaking, .. } = *progress;
        let end = self.agreed.first_seq + (progress.delivered + progress.skipped) as u32;
        // The index of a stream's first packet does not show a jump.
        let legal = match self.breach {
            Some(Breach::Form) => 0,
            Some(Breach::Jumps | Breach::Retreats) if progress.skipped == 0 => 1,
            _ => u64::MAX,
        };
        if progress.delivered > legal && !self.is_forged {
            let (delivered, breach) = (progress.delivered, self.breach);
            return Err(format!("{delivered} packets delivered of a sender with {breach:?}"));
        }
        if !self.is_known() {
            (self.front.next_seq, self.front.skipped) = (end, progress.skipped);
            self.front.next_index = next_index.unwrap_or(self.front.next_index);
            return Ok(0);
        }
        if end != self.front.next_seq && !end.within(self.front.next_seq, self.pushed_end + 1) {
            let (from, pushed) = (self.front.next_seq, self.pushed_end);
            return Err(format!("accounted for up to {end}, from {from} of {pushed} sent"));
        }
        let mut wraps = 0;
        while self.front.next_seq != end {
            let seq = self.front.next_seq;
            let record = *self.record(seq);
            if record.has_arrived {
                self.expect_gap(Some((record.index, record.flags.contains(Flags::START))));
                let (index, samples, flags) = (record.index, record.samples, record.flags);
                self.front.expected.push_back(Expected::Packet { index, samples, flags });
                self.front.next_index = index + u64::from(samples);
                self.drops.take(seq, record.came_again);
                self.held_packets -= 1;
            } else {
                let cause = self.cause_of_skip(seq, now, is_breaking)?;
                self.front.given_up.push(cause);
                self.front.skipped += 1;
            }
            self.front.next_seq += 1;
            wraps += u64::from(seq == Seq(u32::MAX));
        }
        let next = self.is_close_taken.then(|| (self.final_index(), false));
        match next_index {
            Some(index) if index == self.front.next_index => {}
            Some(index) => {
                self.expect_gap(next);
                self.front.next_index = index;
            }
            // A stream that was cut short reports what it had given up, and nothing after it.
            None if self.cancelled.is_some() => {
                if !self.front.given_up.is_empty() {
                    self.expect_gap(None);
                }
            }
            // The machine is gone, and has reported everything.
            None => {
                self.expect_gap(next);
                self.front.next_index = next.map_or(self.front.next_index, |(index, _)| index);
            }
        }
        Ok(wraps)
    }

    /// The index up to which the receiver's machine has accounted for samples.
    pub(crate) const fn accounted(&self) -> SampleIndex {
        self.front.next_index
    }

    /// The index after the last sample that is sent or lost.
    pub(super) const fn final_index(&self) -> SampleIndex {
        self.pushed_index + self.lost_at_end
    }

    /// Settles what the gap before `next` must be, where there must be one.
    fn expect_gap(&mut self, next: Option<(SampleIndex, bool)>) {
        let causes = VecDeque::from(std::mem::take(&mut self.front.given_up));
        let packets = causes.len();
        let expectation = Expectation { causes, next };
        let first = self.front.next_index;
        let extent = Extent::between(first, self.agreed.packet_samples, packets, next);
        if extent.as_ref().is_ok_and(|extent| *extent == Extent::NONE) {
            // What is missing had no samples, or samples were set apart on purpose just there.
            self.account.totals.skipped += packets as u64;
            return;
        }
        self.front.expected.push_back(Expected::Gap(expectation));
    }

    /// Why a packet that is given up is missing; holds that it was waited for.
    fn cause_of_skip(&mut self, seq: Seq, now: Nanos, is_breaking: bool) -> Result<Cause, String> {
        let cause = self.judge_skip(seq, now, is_breaking)?;
        let is_own = self.drops.take(seq, true) && cause != Cause::GoneAtSender;
        Ok(if is_own { Cause::ReceiverBehind } else { cause })
    }

    /// Takes what a program was handed: the samples of some packets, without a gap between them.
    pub(crate) fn take_samples(
        &mut self,
        index: SampleIndex,
        samples: usize,
        bytes: &[u8],
    ) -> Result<u64, String> {
        if !self.is_known() {
            return self.follow_samples(index, samples as u64).map(|()| 0);
        }
        self.take_empty_packets();
        let frame_bytes = bytes.len().checked_div(samples).unwrap_or(0);
        let (mut at, end) = (index, index + samples as u64);
        let mut bytes = bytes;
        while at < end {
            let Some(Expected::Packet { index, samples, flags }) = self.front.expected.pop_front()
            else {
                return Err(format!("samples {at}..{end} handed over instead of a gap"));
            };
            let may_jump = flags.contains(Flags::START) && index > self.account.next_index;
            if index != at || (index != self.account.next_index && !may_jump) {
                let end_before = self.account.next_index;
                return Err(format!(
                    "samples {at}..{end} handed over, {index} must follow {end_before}"
                ));
            }
            let len_bytes = samples as usize * frame_bytes;
            let is_right = bytes
                .get(..len_bytes)
                .is_some_and(|it| payload::is_begun_by(self.agreed.key, index, samples, flags, it));
            if !is_right {
                return Err(format!("samples {at}+{samples} handed over with wrong bytes"));
            }
            bytes = &bytes[len_bytes..];
            at += u64::from(samples);
            self.note_packet(at, samples);
            self.take_empty_packets();
        }
        if at == end { Ok(samples as u64) } else { Err(format!("{at} is beyond {end}")) }
    }

    /// Takes the packets without samples that come next: a program sees none of them.
    pub(crate) fn take_empty_packets(&mut self) {
        if !self.is_known() {
            return;
        }
        while let Some(Expected::Packet { index, samples: 0, .. }) = self.front.expected.front() {
            let index = *index;
            self.front.expected.pop_front();
            self.note_packet(index, 0);
        }
    }

    /// What is known of the gap that comes next.
    pub(super) fn expected_gap(&mut self) -> Option<Expectation> {
        match self.front.expected.pop_front()? {
            Expected::Gap(expectation) => Some(expectation),
            packet @ Expected::Packet { .. } => {
                self.front.expected.push_front(packet);
                None
            }
        }
    }

    /// Whether the program has been handed all that the machine has delivered.
    pub(crate) fn is_drained(&mut self) -> Result<(), String> {
        if !self.is_known() {
            return Ok(());
        }
        // What is missing at the end may have had no samples.
        if !self.front.given_up.is_empty() {
            let next = self.is_close_taken.then(|| (self.final_index(), false));
            self.expect_gap(next);
        }
        self.take_empty_packets();
        if self.front.expected.is_empty() {
            return Ok(());
        }
        Err(format!("never handed over: {:?}", self.front.expected))
    }

    const fn note_packet(&mut self, end: SampleIndex, samples: u32) {
        self.account.next_index = end;
        self.account.totals.packets += 1;
        self.account.totals.samples += samples as u64;
    }

    /// The delivery allows that a packet is given up now.
    pub(super) fn judge_skip(
        &mut self,
        seq: Seq,
        now: Nanos,
        is_breaking: bool,
    ) -> Result<Cause, String> {
        let record = *self.record(seq);
        self.waiting.pass(now);
        match self.agreed.delivery {
            Delivery::BestEffort => {
                if !is_breaking && record.revealed_by > self.waiting.settled() {
                    return Err(format!("packet {seq} given up before it had settled"));
                }
                Ok(Cause::NeverAsked)
            }
            Delivery::Complete | Delivery::Deadline(_) if is_breaking => Ok(Cause::GoneAtSender),
            Delivery::Complete if self.is_rest_gone => Ok(Cause::GoneAtSender),
            Delivery::Complete => {
                let end = self.highest_end;
                Err(format!("packet {seq} given up, come are all before {end}: {record:?}"))
            }
            Delivery::Deadline(deadline) => {
                let is_old = self.waiting.age_of(record.revealed_by) > deadline;
                if !is_old || now.since(record.revealed_at) + super::gaps::CLOCK_UNIT <= deadline {
                    return Err(format!("packet {seq} given up before its deadline"));
                }
                Ok(Cause::Deadline)
            }
        }
    }
}
