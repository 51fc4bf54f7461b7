//! One stream: what was put into it, what departed and what arrived.

use samplewire_proto::receiver::{Delivery, Placement};
use samplewire_proto::sender::NewPacket;
use samplewire_proto::stream::End;
use samplewire_proto::wire::{Flags, Header};
use samplewire_proto::{Departure, Nanos, SampleIndex, Seq, Tag};

use super::gaps::Account;
use crate::packets::ProcessId;
use crate::payload;

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
    /// The windows of both ends, and how large packets count.
    pub(crate) send_window: u32,
    pub(crate) receive_window: u32,
    pub(crate) padding_bytes: u32,
    /// What payloads derive from besides the index.
    pub(crate) key: u64,
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
    /// Departure of the packet that showed it to be missing, and when that came by the receiver's
    /// clock.
    pub(super) revealed_by: Departure,
    pub(super) revealed_at: Nanos,
}

/// A session and its records, which last as long as both ends can still ask for them.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) agreed: Agreed,
    records: Vec<Record>,
    pub(super) pushed_end: Seq,
    pub(super) pushed_index: SampleIndex,
    /// Indexes lost at the source after the last packet.
    pub(super) lost_at_end: u64,
    /// The first seq that the receiver has not promised to take.
    pub(crate) granted: Seq,
    pub(crate) sender: Side,
    pub(crate) receiver: Side,
    /// The receiver was cancelled.
    pub(crate) is_cancelled: bool,
    /// The sender was cancelled.
    pub(super) is_cut: bool,
    pub(super) account: Account,
    pub(super) highest_end: Seq,
    pub(super) newest: Departure,
    /// When each end last heard of the other, by its own clock.
    pub(super) receiver_heard_at: Nanos,
    pub(super) sender_heard_at: Nanos,
    /// Socket drops that the receiver was told of.
    pub(super) drops_noted: u64,
}

impl Session {
    pub(super) fn new(agreed: Agreed) -> Self {
        let records = (agreed.send_window + agreed.receive_window).next_power_of_two();
        Self {
            records: vec![Record::default(); records as usize],
            pushed_end: agreed.first_seq,
            pushed_index: agreed.first_index,
            lost_at_end: 0,
            granted: agreed.first_seq,
            sender: Side::Absent,
            receiver: Side::Absent,
            is_cancelled: false,
            is_cut: false,
            account: Account::new(agreed.first_seq, agreed.first_index),
            highest_end: agreed.first_seq,
            newest: Departure(0),
            receiver_heard_at: Nanos(0),
            sender_heard_at: Nanos(0),
            drops_noted: 0,
            agreed,
        }
    }

    pub(crate) fn record(&self, seq: Seq) -> &Record {
        &self.records[seq.0 as usize & (self.records.len() - 1)]
    }

    fn record_mut(&mut self, seq: Seq) -> &mut Record {
        let mask = self.records.len() - 1;
        &mut self.records[seq.0 as usize & mask]
    }

    /// Notes a packet that the sender took.
    pub(crate) fn pushed(&mut self, seq: Seq, packet: &NewPacket) -> Result<(), String> {
        if seq != self.pushed_end {
            return Err(format!("the sender numbered a packet {seq}, not {}", self.pushed_end));
        }
        let samples = if packet.flags.contains(Flags::META) {
            0
        } else if packet.flags.contains(Flags::END_OF_BURST) {
            packet.burst_samples
        } else {
            self.agreed.packet_samples
        };
        let jump = packet.index - self.pushed_index;
        let is_lost = packet.flags.contains(Flags::OVERFLOW);
        let is_owed = self.receiver == Side::Live && seq - self.account.next_seq >= self.len();
        if is_owed {
            return Err(format!("the sender reused the slot of a packet before {seq} too early"));
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
        Ok(())
    }

    /// Notes samples that the source lost after its last packet.
    pub(crate) fn lost_at_end(&mut self, samples: u64) {
        self.lost_at_end += samples;
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

    /// Notes a departure and returns the payload, and whether it is the first.
    pub(crate) fn departs(&mut self, seq: Seq, now: Nanos) -> Result<([u8; 16], bool), String> {
        if !seq.before(self.granted) {
            let granted = self.granted;
            return Err(format!("packet {seq} departed beyond the credit up to {granted}"));
        }
        let key = self.agreed.key;
        let record = self.record_mut(seq);
        if record.seq != seq {
            return Err(format!("packet {seq} departed after its slot was reused"));
        }
        let is_first = record.departed_at.is_none();
        record.departed_at.get_or_insert(now);
        Ok((payload::of(key, record.index, record.samples, record.flags), is_first))
    }

    /// Notes DATA that was handed to a receiver which takes DATA.
    pub(crate) fn data_handed(
        &mut self,
        now: Nanos,
        header: &Header,
        placement: &Placement,
    ) -> Result<bool, String> {
        let seq = header.seq;
        let is_accounted = seq.before(self.account.next_seq);
        let is_stored = matches!(placement, Placement::Store { .. });
        if !seq.before(self.granted) {
            return Err(format!("packet {seq} came beyond the credit up to {}", self.granted));
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
        }
        self.receiver_heard_at = now;
        self.see(header.departure);
        if !seq.before(self.highest_end) {
            self.reveal(now, seq, header.departure);
            self.highest_end = seq + 1;
        }
        Ok(is_stored)
    }

    /// Notes a MARK or CLOSE that the receiver took: all before its seq has departed.
    pub(crate) fn end_shown(&mut self, now: Nanos, header: &Header) {
        self.receiver_heard_at = now;
        self.see(header.departure);
        if self.highest_end.before(header.seq) {
            self.reveal(now, header.seq, header.departure);
        }
    }

    fn see(&mut self, departure: Departure) {
        if self.newest.before(departure) || self.newest == Departure(0) {
            self.newest = departure;
        }
    }

    fn reveal(&mut self, now: Nanos, end: Seq, departure: Departure) {
        while self.highest_end != end {
            let seq = self.highest_end;
            let record = self.record_mut(seq);
            (record.revealed_by, record.revealed_at) = (departure, now);
            self.highest_end += 1;
        }
    }

    fn len(&self) -> u32 {
        self.records.len() as u32
    }

    /// Whether `seq` lies in what was pushed and not yet accounted for.
    pub(super) fn is_pushed(&self, seq: Seq) -> bool {
        seq.before(self.pushed_end) && self.record(seq).seq == seq
    }

    /// Lets go of the records when nobody can ask for them.
    pub(crate) fn let_go(&mut self) {
        let is_over = |side| !matches!(side, Side::Live | Side::Absent);
        if is_over(self.sender) && is_over(self.receiver) {
            self.records = vec![Record::default()];
        }
    }

    pub(crate) fn receiver_heard(&mut self, now: Nanos) {
        self.receiver_heard_at = now;
    }

    pub(crate) fn sender_heard(&mut self, now: Nanos) {
        self.sender_heard_at = now;
    }

    pub(crate) fn note_drops(&mut self, packets: u32) {
        self.drops_noted += u64::from(packets);
    }

    /// How long the hole at `record` is known by departures.
    pub(super) fn age_by_departures(&self, record: &Record) -> Nanos {
        Departure::span_ns(self.newest.distance(record.revealed_by).max(0) as u32)
    }
}
