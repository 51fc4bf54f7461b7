//! The account of one receiver: every index is delivered, or lies in one gap whose cause is true.

use samplewire_proto::receiver::Delivery;
use samplewire_proto::wire::Flags;
use samplewire_proto::{Cause, Departure, Gap, Nanos, SampleIndex, Seq};

use super::deadline_of;
use super::session::Session;
use crate::payload;

/// Where a receiver's deliveries stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    pub(super) next_seq: Seq,
    pub(super) next_index: SampleIndex,
    pub(super) pending: Option<Pending>,
    /// A gap said that its samples are gone at the sender: then the stream must break off.
    pub(super) says_gone: bool,
    /// Packets that were given up because this host dropped them.
    pub(super) blamed_on_socket: u64,
}

/// Packets given up since the last delivery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    packets: u64,
    samples: u64,
    lost_at_source: u64,
    skipped_on_purpose: u64,
    /// All of them were full.
    is_full: bool,
    first_had_arrived: bool,
    /// The deadline had passed when the first was given up.
    first_is_overdue: bool,
}

/// What follows packets that were given up.
struct Next {
    /// Samples that the source lost in between, and that it left out.
    lost: u64,
    skipped: u64,
    is_set: bool,
    is_end: bool,
}

impl Account {
    pub(super) const fn new(next_seq: Seq, next_index: SampleIndex) -> Self {
        Self { next_seq, next_index, pending: None, says_gone: false, blamed_on_socket: 0 }
    }
}

impl Session {
    pub(super) fn take_packet(
        &mut self,
        seq: Seq,
        index: SampleIndex,
        samples: u32,
        flags: Flags,
        bytes: &[u8; payload::BYTES],
    ) -> Result<(), String> {
        let record = *self.record(seq);
        if seq != self.account.next_seq || !self.is_pushed(seq) {
            return Err(format!("packet {seq} delivered instead of {}", self.account.next_seq));
        }
        if !record.has_arrived {
            return Err(format!("packet {seq} delivered before it arrived"));
        }
        let sent_flags = flags.without(Flags::RETRANSMISSION | Flags::FROM_OPENER);
        if (index, samples, sent_flags) != (record.index, record.samples, record.flags) {
            return Err(format!("packet {seq} delivered as {index}+{samples}, sent as {record:?}"));
        }
        let may_jump = record.flags.contains(Flags::START);
        if index != self.account.next_index && !may_jump {
            let expected = self.account.next_index;
            return Err(format!("indexes {expected}..{index} are neither delivered nor in a gap"));
        }
        if let Some(pending) = self.account.pending
            && !may_jump
            && pending.samples + pending.lost_at_source > 0
        {
            return Err(format!("packets given up before {seq} left no gap"));
        }
        if *bytes != payload::of(self.agreed.key, index, samples, record.flags) {
            return Err(format!("packet {seq} delivered with wrong bytes"));
        }
        self.account.pending = None;
        self.account.next_seq += 1;
        self.account.next_index = index + u64::from(samples);
        Ok(())
    }

    pub(super) fn take_skipped(&mut self, seq: Seq, now: Nanos) -> Result<(), String> {
        if seq != self.account.next_seq || !self.is_pushed(seq) {
            return Err(format!("packet {seq} given up instead of {}", self.account.next_seq));
        }
        let record = *self.record(seq);
        let is_overdue = deadline_of(self.agreed.delivery).is_some_and(|deadline| {
            let silence = now.since(self.receiver_heard_at);
            let by_clock = if silence > deadline { silence } else { Nanos(0) };
            let is_old = self.age_by_departures(&record) + by_clock > deadline;
            is_old && now.since(record.revealed_at) + CLOCK_UNIT > deadline
        });
        let is_full = record.samples == self.agreed.packet_samples;
        let pending = self.account.pending.get_or_insert(Pending {
            packets: 0,
            samples: 0,
            lost_at_source: 0,
            skipped_on_purpose: 0,
            is_full: true,
            first_had_arrived: record.has_arrived,
            first_is_overdue: is_overdue,
        });
        pending.packets += 1;
        pending.samples += u64::from(record.samples);
        pending.lost_at_source += record.lost_before;
        pending.skipped_on_purpose += record.skipped_before;
        pending.is_full &= is_full;
        self.account.next_seq += 1;
        if record.has_arrived {
            Err(format!("packet {seq} given up after it came"))
        } else {
            Ok(())
        }
    }

    pub(super) fn take_gap(&mut self, gap: &Gap) -> Result<(), String> {
        if gap.first != self.account.next_index || gap.count() == 0 {
            return Err(format!("{gap:?} does not follow index {}", self.account.next_index));
        }
        let seq = self.account.next_seq;
        let next = if self.is_pushed(seq) && self.record(seq).has_arrived {
            let record = self.record(seq);
            Next {
                lost: record.lost_before,
                skipped: record.skipped_before,
                is_set: record.flags.contains(Flags::START),
                is_end: false,
            }
        } else {
            Next { lost: self.lost_at_end, skipped: 0, is_set: false, is_end: true }
        };
        match self.account.pending {
            None => {
                let told = (gap.not_repaired, gap.source_lost, gap.cause);
                if told != (0, next.lost, Cause::SourceOverflow) {
                    let lost = next.lost;
                    return Err(format!("{gap:?}, but the source lost {lost} and no packet"));
                }
            }
            Some(pending) => {
                self.check_extent(gap, &pending, &next)?;
                self.check_cause(gap, &pending)?;
            }
        }
        self.account.pending = None;
        self.account.next_index = gap.end();
        Ok(())
    }

    /// Where an index was set on purpose in a packet that is gone, or the stream ends short with
    /// packets that were not full, the receiver cannot know the extent (`docs/protocol.md#6.2`).
    fn check_extent(&self, gap: &Gap, pending: &Pending, next: &Next) -> Result<(), String> {
        let lost = next.lost + pending.lost_at_source;
        let is_unknowable = pending.skipped_on_purpose + next.skipped > 0
            || ((next.is_set || next.is_end) && !pending.is_full);
        if is_unknowable {
            return Ok(());
        }
        let lost_min = if next.is_set || next.is_end { 0 } else { lost };
        let count = gap.count();
        let holds = (pending.samples + lost_min..=pending.samples + lost).contains(&count)
            && gap.source_lost <= lost
            && (!pending.is_full || gap.not_repaired == pending.samples);
        if holds {
            return Ok(());
        }
        Err(format!("{gap:?}, but {pending:?} were given up and the source lost {lost}"))
    }

    fn check_cause(&mut self, gap: &Gap, pending: &Pending) -> Result<(), String> {
        if pending.first_had_arrived {
            return Err(format!("{gap:?} starts with a packet that had arrived"));
        }
        let is_true = match (gap.cause, self.agreed.delivery) {
            (Cause::Deadline, Delivery::Deadline(_)) => pending.first_is_overdue,
            (Cause::NeverAsked, Delivery::BestEffort) => true,
            // Only a stream that breaks off may say so: its end is held against this.
            (Cause::GoneAtSender, Delivery::Complete | Delivery::Deadline(_)) => {
                self.account.says_gone = true;
                true
            }
            (Cause::ReceiverBehind, Delivery::Deadline(_) | Delivery::BestEffort) => {
                self.account.blamed_on_socket += 1;
                self.account.blamed_on_socket <= self.drops_noted
            }
            _ => false,
        };
        if is_true { Ok(()) } else { Err(format!("the cause of {gap:?} is not true: {pending:?}")) }
    }
}

/// The receiver's clock as departures show it.
const CLOCK_UNIT: Nanos = Nanos(2 * Departure::UNIT_NS);
