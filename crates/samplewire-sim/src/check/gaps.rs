//! The account of one receiver: every index is delivered, or lies in one gap whose cause is true.

use std::collections::VecDeque;

use samplewire_proto::receiver::Delivery;
use samplewire_proto::wire::Flags;
use samplewire_proto::{Cause, Departure, Gap, Nanos, SampleIndex, Seq};

use super::deadline_of;
use super::session::{Record, Session};
use crate::payload;

/// Where a receiver's deliveries stand.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) next_seq: Seq,
    pub(super) next_index: SampleIndex,
    /// Packets given up since the last delivery that no gap has told yet.
    pub(super) given_up: VecDeque<GivenUp>,
    /// A gap said that its samples are gone at the sender: then the stream must break off.
    pub(super) says_gone: bool,
    /// Packets that were given up because this host dropped them.
    pub(super) blamed_on_socket: u64,
}

/// A packet that was given up.
#[derive(Clone, Copy, Debug)]
pub(super) struct GivenUp {
    /// The deadline had passed.
    is_overdue: bool,
}

/// The extent of a gap: samples not repaired, and samples lost at the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    not_repaired: u64,
    source_lost: u64,
}

impl Extent {
    const NONE: Self = Self { not_repaired: 0, source_lost: 0 };
}

impl Account {
    pub(super) const fn new(next_seq: Seq, next_index: SampleIndex) -> Self {
        let given_up = VecDeque::new();
        Self { next_seq, next_index, given_up, says_gone: false, blamed_on_socket: 0 }
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
        if !self.account.given_up.is_empty() || may_jump {
            let owed = self.extent(false)?;
            if owed != Extent::NONE && self.breach.is_none() {
                return Err(format!("packet {seq} was not preceded by a gap of {owed:?}"));
            }
        }
        if *bytes != payload::of(self.agreed.key, index, samples, record.flags) {
            return Err(format!("packet {seq} delivered with wrong bytes"));
        }
        self.account.given_up.clear();
        self.account.next_seq += 1;
        self.account.next_index = index + u64::from(samples);
        self.held_packets -= 1;
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
        self.account.given_up.push_back(GivenUp { is_overdue });
        self.account.next_seq += 1;
        if record.has_arrived {
            Err(format!("packet {seq} given up after it came"))
        } else {
            Ok(())
        }
    }

    pub(super) fn take_gap(&mut self, gap: &Gap, is_cut_short: bool) -> Result<(), String> {
        if gap.first != self.account.next_index || gap.count() == 0 {
            return Err(format!("{gap:?} does not follow index {}", self.account.next_index));
        }
        // Of a sender that breaks the rules only the order is known.
        if self.breach.is_none() {
            let told = Extent { not_repaired: gap.not_repaired, source_lost: gap.source_lost };
            let known = self.extent(is_cut_short)?;
            let packets = match self.packets_of_part(told, known) {
                Some(packets) => packets,
                None if told == known => self.account.given_up.len() as u64,
                None => {
                    let given_up = &self.account.given_up;
                    return Err(format!("{gap:?}, but it is {known:?}: {given_up:?}"));
                }
            };
            match self.account.given_up.front() {
                None if gap.cause == Cause::SourceOverflow => self.check_overflow(gap)?,
                None => return Err(format!("{gap:?} without a packet that was given up")),
                Some(_) => self.check_cause(gap, packets)?,
            }
            drop(self.account.given_up.drain(..packets as usize));
        }
        self.account.next_index = gap.end();
        Ok(())
    }

    /// The packets of a gap that tells the first of those given up by themselves, for a cause of
    /// their own: that may be where all were full.
    fn packets_of_part(&self, told: Extent, known: Extent) -> Option<u64> {
        let packet_samples = u64::from(self.agreed.packet_samples);
        let all = self.account.given_up.len() as u64 * packet_samples;
        let is_part = known == Extent { not_repaired: all, source_lost: 0 }
            && told.source_lost == 0
            && told.not_repaired < all
            && told.not_repaired.is_multiple_of(packet_samples);
        is_part.then(|| told.not_repaired / packet_samples)
    }

    /// What the gap before the next delivery must be, by what truly was sent
    /// (`docs/protocol.md#6.2`): packets that were given up count as full ones as far as the next
    /// index, or the final one, has room for them.
    fn extent(&self, is_cut_short: bool) -> Result<Extent, String> {
        let packets = self.account.given_up.len() as u64;
        let sent = packets * u64::from(self.agreed.packet_samples);
        let (next_index, is_set) = match self.next_arrived() {
            _ if is_cut_short => return Ok(Extent { not_repaired: sent, source_lost: 0 }),
            Some(record) => (record.index, record.flags.contains(Flags::START)),
            None if self.is_close_taken => (self.pushed_index + self.lost_at_end, false),
            None => return Ok(Extent { not_repaired: sent, source_lost: 0 }),
        };
        let Some(missing) = next_index.checked_sub(self.account.next_index) else {
            let told = self.account.next_index;
            return Err(format!("indexes up to {told} are told, the next is {next_index}"));
        };
        let not_repaired = missing.min(sent);
        let source_lost = if is_set { 0 } else { missing - not_repaired };
        Ok(Extent { not_repaired, source_lost })
    }

    /// The next packet in order, when it has arrived.
    fn next_arrived(&self) -> Option<&Record> {
        let seq = self.account.next_seq;
        let record = self.record(seq);
        (self.is_pushed(seq) && record.has_arrived).then_some(record)
    }

    /// No packet was given up: then the source lost exactly these.
    fn check_overflow(&self, gap: &Gap) -> Result<(), String> {
        let lost = self.next_arrived().map_or(self.lost_at_end, |record| record.lost_before);
        if gap.source_lost == lost {
            return Ok(());
        }
        Err(format!("{gap:?}, but the source lost {lost} and no packet"))
    }

    /// Holds the cause against what is known of the `packets` of the gap, of which it is that of most.
    fn check_cause(&mut self, gap: &Gap, packets: u64) -> Result<(), String> {
        let first = self.account.given_up.range(..packets as usize).find(|it| it.is_overdue);
        let is_true = match (gap.cause, self.agreed.delivery) {
            (Cause::Deadline, Delivery::Deadline(_)) => first.is_some(),
            (Cause::NeverAsked, Delivery::BestEffort) => true,
            // Only a stream that breaks off may say so: its end is held against this.
            (Cause::GoneAtSender, Delivery::Complete | Delivery::Deadline(_)) => {
                self.account.says_gone = true;
                true
            }
            (Cause::ReceiverBehind, Delivery::Deadline(_) | Delivery::BestEffort) => {
                self.account.blamed_on_socket += packets.div_ceil(2);
                self.account.blamed_on_socket <= self.drops_noted
            }
            _ => false,
        };
        if is_true {
            Ok(())
        } else {
            Err(format!("the cause of {gap:?} is not true: {:?}", self.account.given_up))
        }
    }
}

/// The receiver's clock as departures show it.
const CLOCK_UNIT: Nanos = Nanos(2 * Departure::UNIT_NS);
