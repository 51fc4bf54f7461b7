//! One stream: what was put into it, what departed and what arrived.

use std::collections::VecDeque;

use samplewire_proto::receiver::Delivery;
use samplewire_proto::sender::NewPacket;
use samplewire_proto::stream::End;
use samplewire_proto::wire::{Close, CloseReason, Flags, Header};
use samplewire_proto::{Departure, Nanos, SampleIndex, Seq, Tag};

use super::cuts::Cuts;
use super::deadline_of;
use super::drops::SocketDrops;
use super::feedback::Feedback;
use super::front::Front;
use super::gaps::Account;
use super::persistence::Persistence;
use super::rdma::{QueuePairs, RdmaTerms};
use super::waiting::Waiting;
use crate::packets::ProcessId;
use crate::process::shifted;

/// What an opening settled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreed {
    pub(crate) listener: ProcessId,
    pub(crate) tag: Tag,
    pub(crate) delivery: Delivery,
    pub(crate) first_seq: Seq,
    pub(crate) first_index: SampleIndex,
    pub(crate) packet_samples: u32,
    pub(crate) dead_after: Nanos,
    pub(crate) idle_after: Nanos,
    pub(crate) reorder_tolerance: u32,
    /// The windows of both ends, and how large packets count.
    pub(crate) send_window: u32,
    pub(crate) receive_window: u32,
    pub(crate) padding_bytes: u32,
    pub(crate) payload_bytes: u16,
    /// Of a stream over RDMA.
    pub(crate) rdma: Option<RdmaTerms>,
    /// What payloads derive from besides the index.
    pub(crate) key: u64,
}

/// How a sender breaks the rules without which samples cannot be placed (`docs/protocol.md#7.9`):
/// its machine keeps other terms than those that were agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Breach {
    /// Payloads of another length; over RDMA, reserved bytes of the record that are not zero.
    Form,
    /// More samples a packet: indexes jump.
    Jumps,
    /// Fewer samples a packet: indexes retreat.
    Retreats,
}

/// What a receiver has refused by its seq.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HasRefused {
    pub(crate) mark: bool,
    pub(crate) close: bool,
}

/// How one end of a session fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// It does not know of the session yet, and may never.
    Absent,
    Live,
    Ended(End),
    /// It restarted, was taken over, or was given up before it began.
    Gone,
}

impl Side {
    /// Whether it knows of the session no more.
    pub(super) const fn is_over(self) -> bool {
        !matches!(self, Self::Live | Self::Absent)
    }
}

/// What is known of one packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Record {
    pub(super) seq: Seq,
    pub(crate) flags: Flags,
    pub(crate) samples: u32,
    pub(crate) index: SampleIndex,
    /// Indexes before it that the source lost, and that it left out on purpose.
    pub(super) lost_before: u64,
    pub(super) skipped_before: u64,
    /// World time of its first departure.
    pub(crate) departed_at: Option<Nanos>,
    pub(super) has_arrived: bool,
    /// It came as a repeat.
    pub(super) came_again: bool,
    /// Departure of the packet that showed it to be missing, in units that do not wrap, and when
    /// that came by the receiver's clock.
    pub(super) revealed_by: i64,
    pub(super) revealed_at: Nanos,
    /// Its newest departure, and the latest `settled` of a REPORT that requested it.
    pub(super) departure: Departure,
    pub(super) asked: Option<Departure>,
}

/// A session and its records, which last as long as both ends can still ask for them.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) agreed: Agreed,
    records: Vec<Record>,
    /// What the program has submitted and the sender has not taken.
    pub(super) submitted: VecDeque<NewPacket>,
    /// What was lost at the source after the last packet, until the sender has taken the end, and
    /// from then on.
    lost_with_close: u64,
    pub(super) closed_with: u64,
    pub(super) pushed_end: Seq,
    pub(super) pushed_index: SampleIndex,
    /// The same, of what the sender has taken and dropped too.
    pub(super) taken_index: SampleIndex,
    /// Indexes lost at the source after the last packet.
    pub(super) lost_at_end: u64,
    /// The first seq that the receiver has not promised to take.
    pub(crate) granted: Seq,
    pub(crate) sender: Side,
    pub(crate) receiver: Side,
    /// The receiver was cancelled, and why.
    pub(crate) cancelled: Option<CloseReason>,
    /// The sender was cancelled.
    pub(super) is_cut: bool,
    /// The sender's source failed.
    pub(crate) is_failed: bool,
    /// What the receiver's program has, and how far its machine is ahead.
    pub(super) account: Account,
    pub(super) front: Front,
    pub(super) highest_end: Seq,
    pub(super) waiting: Waiting,
    pub(super) drops: SocketDrops,
    /// What both ends have said to each other.
    pub(super) feedback: Feedback,
    /// When each end last heard of the other, by its own clock.
    pub(super) receiver_heard_at: Nanos,
    pub(super) sender_heard_at: Nanos,
    /// How its sender breaks the rules, if it does.
    pub(crate) breach: Option<Breach>,
    /// A program is to be handed what the receiver has delivered.
    pub(crate) awaits_program: bool,
    /// An attacker on the path has put its own packets into it: then only its account is checked.
    pub(crate) is_forged: bool,
    pub(crate) has_refused: HasRefused,
    /// The receiver has taken the sender's CLOSE: the final index is known to it.
    pub(super) is_close_taken: bool,
    /// It said that what was missing then will not come.
    pub(super) is_rest_gone: bool,
    /// Packets that lie in the receiver's ring.
    pub(super) held_packets: u32,
    pub(super) persistence: Persistence,
    pub(super) cuts: Cuts,
    /// Of a stream over RDMA.
    pub(super) queue_pairs: Option<Box<QueuePairs>>,
}

impl Session {
    pub(super) fn new(agreed: Agreed) -> Self {
        let records = (agreed.send_window + agreed.receive_window).next_power_of_two();
        let queue_pairs = agreed
            .rdma
            .map(|terms| Box::new(QueuePairs::new(terms, agreed.payload_bytes, agreed.first_seq)));
        Self {
            queue_pairs,
            records: vec![Record::default(); records as usize],
            submitted: VecDeque::new(),
            lost_with_close: 0,
            closed_with: 0,
            pushed_end: agreed.first_seq,
            pushed_index: agreed.first_index,
            taken_index: agreed.first_index,
            lost_at_end: 0,
            granted: agreed.first_seq,
            sender: Side::Absent,
            receiver: Side::Absent,
            cancelled: None,
            is_cut: false,
            is_failed: false,
            account: Account::new(agreed.first_index),
            front: Front::new(agreed.first_seq, agreed.first_index),
            highest_end: agreed.first_seq,
            waiting: Waiting::new(agreed.reorder_tolerance, deadline_of(agreed.delivery)),
            drops: SocketDrops::default(),
            feedback: Feedback::new(agreed.first_seq),
            receiver_heard_at: Nanos(0),
            sender_heard_at: Nanos(0),
            breach: None,
            awaits_program: false,
            is_forged: false,
            has_refused: HasRefused::default(),
            is_close_taken: false,
            is_rest_gone: false,
            held_packets: 0,
            persistence: Persistence::new(Nanos(0)),
            cuts: Cuts::default(),
            agreed,
        }
    }

    pub(crate) fn record(&self, seq: Seq) -> &Record {
        &self.records[seq.0 as usize & (self.records.len() - 1)]
    }

    pub(super) fn record_mut(&mut self, seq: Seq) -> &mut Record {
        let mask = self.records.len() - 1;
        &mut self.records[seq.0 as usize & mask]
    }

    /// Notes a packet that the sender took.
    pub(crate) fn pushed(&mut self, seq: Seq, packet: &NewPacket) -> Result<(), String> {
        if seq != self.pushed_end {
            return Err(format!("the sender numbered a packet {seq}, not {}", self.pushed_end));
        }
        let samples = samples_of(packet, self.agreed.packet_samples);
        // A breach shifts indexes by a sample; the record keeps what the packet says.
        let jump = packet.index.saturating_sub(self.pushed_index);
        let is_lost = packet.flags.contains(Flags::OVERFLOW);
        // What a REPORT may have released at the sender: in best effort all that has departed.
        let released = match self.agreed.delivery {
            Delivery::BestEffort => self.highest_end,
            Delivery::Complete | Delivery::Deadline(_) => self.released_of(self.front.next_seq),
        };
        if seq - released >= self.agreed.send_window && !self.is_forged {
            return Err(format!("packet {seq} is beyond the sender's window from {released}"));
        }
        *self.record_mut(seq) = Record {
            seq,
            flags: packet.flags,
            samples,
            index: packet.index,
            lost_before: if is_lost { jump } else { 0 },
            skipped_before: if is_lost { 0 } else { jump },
            ..Record::default()
        };
        self.pushed_end += 1;
        self.pushed_index = packet.index + u64::from(samples);
        self.taken_index = self.pushed_index;
        self.feedback.source_lost += if is_lost { jump } else { 0 };
        Ok(())
    }

    /// Notes a packet that a program has submitted.
    pub(crate) fn submitted(&mut self, packet: NewPacket) {
        self.submitted.push_back(packet);
    }

    /// Notes that a program has ended its stream, and what was lost at the source at its end.
    pub(crate) const fn closed_with(&mut self, lost: u64) {
        self.lost_with_close = lost;
    }

    /// Notes that the sender has taken the packets before `end`, or has cut those from there on.
    pub(crate) fn push_up_to(&mut self, end: Seq, is_closing: bool) -> Result<(), String> {
        if self.is_forged {
            return Ok(());
        }
        while self.pushed_end.before(end) {
            let Some(packet) = self.submitted.pop_front() else {
                return Err(format!("the sender has packet {} of nowhere", self.pushed_end));
            };
            let packets = self.pushed_end - self.agreed.first_seq;
            let index = self.breach.map_or(packet.index, |it| shifted(it, packet.index, packets));
            self.pushed(self.pushed_end, &NewPacket { index, ..packet })?;
        }
        if end.before(self.pushed_end) {
            self.cut(end);
        }
        if is_closing {
            let lost = std::mem::take(&mut self.lost_with_close);
            self.closed_with += lost;
            self.lost_at_end(lost);
        }
        Ok(())
    }

    /// Whether the sender has not taken the packets before `end`, as far as is known.
    pub(crate) fn is_ahead(&self, end: Seq) -> bool {
        self.pushed_end.before(end)
    }

    /// The program has cancelled its stream.
    pub(crate) const fn cut_short(&mut self) {
        self.is_cut = true;
    }

    /// Notes samples that the source lost after its last packet.
    pub(crate) fn lost_at_end(&mut self, samples: u64) {
        self.lost_at_end += samples;
        self.feedback.source_lost += samples;
    }

    /// Forgets packets from `end` on, which were pushed and will not depart. What the source lost
    /// just before them remains lost.
    pub(crate) fn cut(&mut self, end: Seq) {
        self.is_cut = true;
        if end == self.pushed_end {
            return;
        }
        let Record { index, lost_before, skipped_before, .. } = *self.record(end);
        self.pushed_end = end;
        self.pushed_index = index - lost_before - skipped_before;
        self.lost_at_end = lost_before;
    }

    /// Notes a departure at `now`, which is `local` by the sender's clock, and returns whether it is
    /// the first.
    pub(crate) fn departs(
        &mut self,
        seq: Seq,
        departure: Departure,
        now: Nanos,
        local: Nanos,
    ) -> Result<bool, String> {
        if self.is_forged {
            return Ok(true);
        }
        if self.is_rdma() {
            return Err(format!("packet {seq} departed as DATA of a stream over RDMA"));
        }
        self.feedback.stamp(departure)?;
        if self.persistence.is_lasting() {
            return Err(format!("packet {seq} departed after ten bad intervals"));
        }
        if !seq.before(self.granted) {
            let granted = self.granted;
            return Err(format!("packet {seq} departed beyond the credit up to {granted}"));
        }
        let record = self.record_mut(seq);
        if record.seq != seq {
            return Err(format!("packet {seq} departed after its slot was reused"));
        }
        let is_first = record.departed_at.is_none();
        let is_asked = record.asked.is_some_and(|settled| record.departure.before(settled));
        if !is_first && !is_asked {
            return Err(format!("packet {seq} departed again unasked: {record:?}"));
        }
        record.departed_at.get_or_insert(now);
        record.departure = departure;
        self.persistence.count(local, is_first);
        self.feedback.departs(seq, is_first)?;
        Ok(is_first)
    }

    /// Notes DATA that was handed to a receiver which takes DATA.
    pub(crate) fn data_handed(
        &mut self,
        now: Nanos,
        header: &Header,
        is_stored: bool,
    ) -> Result<bool, String> {
        if self.is_forged {
            return Ok(true);
        }
        let seq = header.seq;
        let is_accounted = seq.before(self.front.next_seq);
        if !seq.before(self.granted) {
            // No sender sends it: see there.
            let held = if is_stored {
                Err(format!("packet {seq} stored beyond the credit"))
            } else {
                Ok(false)
            };
            return held;
        }
        if self.breach == Some(Breach::Form) && !is_stored {
            return Ok(false);
        }
        let record = self.record_mut(seq);
        let is_needed = !is_accounted && !record.has_arrived;
        if !is_accounted && record.seq != seq {
            return Err(format!("packet {seq} came and was never sent"));
        }
        if is_needed != is_stored {
            return Err(format!("packet {seq}: needed {is_needed}, stored {is_stored}"));
        }
        if is_stored {
            record.has_arrived = true;
            record.came_again = header.flags.contains(Flags::RETRANSMISSION);
            self.held_packets += 1;
            if self.held_packets > self.agreed.receive_window {
                return Err(format!("{} packets held, more than the window", self.held_packets));
            }
        }
        self.receiver_heard_at = now;
        self.feedback.received += 1;
        self.waiting.hear(now, header.departure);
        if !seq.before(self.highest_end) {
            self.reveal(now, seq, header.departure);
            self.highest_end = seq + 1;
        }
        Ok(is_stored)
    }

    /// Notes a MARK that the receiver took: all before its seq has departed. Over RDMA it may have
    /// overtaken that, and reveals nothing (`docs/protocol.md#13.5`).
    pub(crate) fn mark_taken(&mut self, now: Nanos, header: &Header, source_lost: u64) {
        self.receiver_heard_at = now;
        self.waiting.hear(now, header.departure);
        self.feedback.source_lost_heard = self.feedback.source_lost_heard.max(source_lost);
        if !self.is_rdma() && !header.seq.before(self.highest_end) {
            self.reveal(now, header.seq, header.departure);
        }
    }

    /// Notes a CLOSE that the receiver took. Over RDMA it reveals what is missing only when no more can
    /// come (`docs/protocol.md#13.7`).
    pub(crate) fn close_taken(&mut self, now: Nanos, header: &Header, close: &Close) {
        let is_known = std::mem::replace(&mut self.is_close_taken, true);
        self.receiver_heard_at = now;
        self.waiting.hear(now, header.departure);
        let has_failed = close.reason == CloseReason::QueuePairFailed;
        let reveals = if self.is_rdma() { has_failed } else { !is_known };
        if !is_known {
            let heard = self.feedback.source_lost_heard;
            self.feedback.source_lost_heard = heard.max(close.source_lost);
        }
        if reveals && !header.seq.before(self.highest_end) {
            self.reveal(now, header.seq, header.departure);
            self.is_rest_gone |= has_failed;
        }
    }

    fn reveal(&mut self, now: Nanos, end: Seq, departure: Departure) {
        self.drops.reveal(self.highest_end, end);
        let revealed_by = self.waiting.units_of(departure);
        while self.highest_end != end {
            let seq = self.highest_end;
            let record = self.record_mut(seq);
            (record.revealed_by, record.revealed_at) = (revealed_by, now);
            self.highest_end += 1;
        }
    }

    /// Drops the records once no end can request them.
    pub(crate) fn let_go(&mut self) {
        if self.sender.is_over() && self.receiver.is_over() && !self.awaits_program {
            self.records = vec![Record::default()];
        }
    }

    /// Notes that the receiver lives from `now` on.
    pub(crate) fn receiver_begins(&mut self, now: Nanos) {
        self.receiver = Side::Live;
        self.receiver_heard_at = now;
    }

    /// Notes that the sender lives from `now` on, and how it breaks the rules.
    pub(crate) fn sender_begins(&mut self, now: Nanos, breach: Option<Breach>) {
        self.sender = Side::Live;
        self.sender_heard_at = now;
        self.breach = breach;
        self.persistence = Persistence::new(now);
    }

    /// Whether an end has heard of the other recently. Then it ignores a claim that the other does
    /// not know the stream.
    pub(crate) fn is_heard_lately(&self, now: Nanos, is_sender: bool) -> bool {
        let heard_at = if is_sender { self.sender_heard_at } else { self.receiver_heard_at };
        now.since(heard_at) < DENIAL_SILENCE.max(self.agreed.idle_after)
    }

    pub(crate) fn sender_heard(&mut self, now: Nanos) {
        self.sender_heard_at = now;
    }

    /// Notes how far the receiver has promised to take packets.
    pub(crate) fn promised_up_to(&mut self, limit: Seq) -> Result<(), String> {
        if self.is_forged {
            return Ok(());
        }
        self.granted = limit;
        let places = limit.distance(self.front.next_seq).max(0) as u32;
        if places > self.agreed.receive_window {
            return Err(format!("{places} places promised, more than the window"));
        }
        Ok(())
    }

    pub(crate) fn note_drops(&mut self, packets: u32) {
        self.drops.note(packets);
    }
}

/// How many samples of a packet are valid, where a full one has `full`.
pub(super) fn samples_of(packet: &NewPacket, full: u32) -> u32 {
    if packet.flags.contains(Flags::META) {
        0
    } else if packet.flags.contains(Flags::END_OF_BURST) {
        packet.burst_samples
    } else {
        full
    }
}

/// A peer that lives pauses for no longer, or for `idle after` (`docs/protocol.md#7.6`).
const DENIAL_SILENCE: Nanos = Nanos::from_millis(100);
