//! Checks the feedback between both ends against what they may send and what they must accept:
//! REPORT ([protocol 4.2 to 4.6](../../../../docs/protocol.md#4)), MARK and CLOSE.

use samplewire_proto::receiver::Delivery;
use samplewire_proto::wire::{CloseAckReason, CloseReason, Header, Packet, Report};
use samplewire_proto::{Departure, Nanos, SampleIndex, Seq};

use super::session::Session;

/// Where each end stands by what it has said and heard.
#[derive(Clone, Debug)]
pub(super) struct Feedback {
    /// The sender's window, as far as REPORTs have moved it.
    pub(super) oldest: Seq,
    pub(super) sent: Seq,
    pub(super) limit: Seq,
    number_taken: Option<Seq>,
    /// The newest departure of the sender.
    stamped: Option<Departure>,
    /// What the source has lost, by what it pushed.
    pub(super) source_lost: u64,
    /// DATA that the receiver took, and the most that it has heard of losses at the source.
    pub(super) received: u64,
    pub(super) source_lost_heard: u64,
    number_sent: Seq,
    settled_sent: i64,
    final_seq: Option<Seq>,
}

/// What must become of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Taken,
    /// Dropped and counted.
    Refused,
    /// The rules of positions do not say.
    Open,
}

impl Feedback {
    pub(super) const fn new(first: Seq) -> Self {
        Self {
            oldest: first,
            sent: first,
            limit: first,
            number_taken: None,
            stamped: None,
            source_lost: 0,
            received: 0,
            source_lost_heard: 0,
            number_sent: Seq(0),
            settled_sent: i64::MIN,
            final_seq: None,
        }
    }

    /// Departures strictly rise (`docs/protocol.md#2.6`).
    pub(super) fn stamp(&mut self, departure: Departure) -> Result<(), String> {
        let last = self.stamped.replace(departure);
        match last {
            Some(last) if !last.before(departure) => {
                Err(format!("departure {departure:?} after {last:?}"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn departs(&mut self, seq: Seq, is_first: bool) -> Result<(), String> {
        let is_in_turn =
            if is_first { seq == self.sent } else { seq.within(self.oldest, self.sent) };
        if !is_in_turn {
            return Err(format!("packet {seq} departed of {}..{}", self.oldest, self.sent));
        }
        self.sent += u32::from(is_first);
        Ok(())
    }
}

impl Session {
    /// The sender's oldest, and the first seq that never departed.
    pub(crate) fn sender_positions(&self) -> (Seq, Seq) {
        (self.released_of(self.feedback.oldest), self.feedback.sent)
    }

    /// How many packets the sender may send before it is granted more.
    pub(crate) fn sender_credit(&self) -> u32 {
        self.feedback.limit.distance(self.feedback.sent).max(0) as u32
    }

    /// What a sender that has not ended must do with a packet of its stream.
    pub(crate) fn sender_judges(&mut self, header: &Header, packet: &Packet<'_>) -> Verdict {
        if self.is_forged {
            return Verdict::Open;
        }
        match packet {
            Packet::Report(report) => self.take_report(header, report),
            Packet::Close(_) => {
                let (oldest, sent) = self.sender_positions();
                let is_within = !header.seq.before(oldest) && !sent.before(header.seq);
                if is_within { Verdict::Taken } else { Verdict::Refused }
            }
            _ => Verdict::Open,
        }
    }

    /// `docs/protocol.md#4.6`
    fn take_report(&mut self, header: &Header, report: &Report<'_>) -> Verdict {
        let fields = &report.fields;
        let books = &mut self.feedback;
        let is_newer = books.number_taken.is_none_or(|taken| taken.before(header.seq));
        let promise = fields.limit.distance(fields.released);
        let asks_for_more_than_left = !report.ranges.is_empty()
            && books.stamped.is_none_or(|stamped| stamped.before(fields.settled));
        if books.sent.before(fields.released)
            || books.sent.before(fields.highest_end)
            || !(0..=1 << 24).contains(&promise)
            || asks_for_more_than_left
            || (is_newer && fields.released.before(books.oldest))
        {
            return Verdict::Refused;
        }
        if books.oldest.before(fields.released) {
            books.oldest = fields.released;
        }
        if !fields.limit.before(books.oldest) && books.limit.before(fields.limit) {
            books.limit = fields.limit;
        }
        if !is_newer {
            return Verdict::Taken;
        }
        books.number_taken = Some(header.seq);
        let (oldest, sent) = (books.oldest, books.sent);
        for range in report.ranges.iter() {
            let held = sent - oldest;
            let skipped = oldest.distance(range.first).max(0) as u32;
            let first = range.first + skipped;
            if skipped >= range.count || first - oldest >= held {
                continue;
            }
            for number in 0..(range.count - skipped).min(sent - first) {
                let record = self.record_mut(first + number);
                let asked = record.asked.filter(|asked| fields.settled.before(*asked));
                record.asked = asked.or(Some(fields.settled));
            }
        }
        Verdict::Taken
    }

    /// Holds what a sender says against what it did.
    pub(crate) fn sender_says(
        &mut self,
        header: &Header,
        packet: &Packet<'_>,
    ) -> Result<(), String> {
        if self.is_forged {
            return Ok(());
        }
        self.feedback.stamp(header.departure)?;
        if let Packet::Close(close) = packet {
            self.note_cut(header.index, close.source_lost);
            let is_failure = close.reason == CloseReason::QueuePairFailed;
            if is_failure != self.has_queue_pair_failed() {
                return Err(format!("{packet:?} of a queue pair that does not fare so"));
            }
            if is_failure {
                self.follow_swallowed(header.index, close.source_lost);
            }
        }
        let (oldest, sent) = self.sender_positions();
        let source_lost = self.feedback.source_lost;
        let final_index = self.pushed_index + self.lost_at_end;
        let is_true = match packet {
            Packet::Mark(mark) if self.is_rdma() => {
                self.is_within_turn(header.seq, mark.oldest) && mark.source_lost == source_lost
            }
            Packet::Mark(mark) => {
                (header.seq, mark.oldest, mark.source_lost) == (sent, oldest, source_lost)
            }
            Packet::Close(close) => {
                let said = (header.seq, header.index, close.source_lost);
                sent == self.pushed_end && said == (sent, final_index, source_lost)
            }
            Packet::CloseAck(ack) => ack.source_lost == source_lost,
            _ => false,
        };
        if is_true || self.breach.is_some() {
            return Ok(());
        }
        Err(format!(
            "{header:?} {packet:?} of a sender at {oldest}..{sent} of {}, index {final_index}, \
             {source_lost} lost at the source",
            self.pushed_end
        ))
    }

    /// A program that has ended its stream and then cancels it may have cut its end off, too.
    fn note_cut(&mut self, index: SampleIndex, source_lost: u64) {
        let lost = self.closed_with;
        let without =
            (self.final_index().wrapping_sub(lost), self.feedback.source_lost.wrapping_sub(lost));
        if self.is_cut && (index, source_lost) == without {
            self.closed_with = 0;
            self.lost_at_end -= lost;
            self.feedback.source_lost -= lost;
        }
    }

    /// What a receiver that flows or drains must do with a packet of its stream.
    pub(crate) fn receiver_judges(&mut self, header: &Header, packet: &Packet<'_>) -> Verdict {
        if self.is_forged {
            return Verdict::Open;
        }
        let seq = header.seq;
        let end = self.feedback.final_seq.unwrap_or(self.granted);
        let is_possible = match packet {
            Packet::Mark(mark) => !end.before(seq) && !seq.before(mark.oldest),
            Packet::Close(_) => match self.feedback.final_seq {
                Some(known) => seq == known,
                None => {
                    let indexes = self.front.next_index..=FINAL_INDEX_MAX;
                    let is_within = !seq.before(self.highest_end) && !self.granted.before(seq);
                    is_within && indexes.contains(&header.index)
                }
            },
            _ => return Verdict::Open,
        };
        if !is_possible {
            match packet {
                Packet::Mark(_) => self.has_refused.mark = true,
                _ => self.has_refused.close = true,
            }
            return Verdict::Refused;
        }
        if let Packet::Close(_) = packet {
            self.feedback.final_seq = Some(seq);
        }
        Verdict::Taken
    }

    /// Whether a REPORT with this number is the receiver's next.
    pub(crate) fn is_next_report(&self, number: Seq) -> bool {
        number == self.feedback.number_sent + 1 || self.is_forged
    }

    /// Holds what a receiver says against what it has heard; `now` is its clock.
    pub(crate) fn receiver_says(
        &mut self,
        now: Nanos,
        header: &Header,
        packet: &Packet<'_>,
    ) -> Result<(), String> {
        if self.is_forged {
            return Ok(());
        }
        let released = match self.agreed.delivery {
            Delivery::BestEffort => self.highest_end,
            Delivery::Complete | Delivery::Deadline(_) => self.front.next_seq,
        };
        let is_true = match packet {
            Packet::Report(report) => return self.check_report(now, header, report, released),
            Packet::Close(_) => (header.seq, header.index) == (released, self.front.next_index),
            Packet::CloseAck(_) => header.seq == self.front.next_seq,
            _ => false,
        };
        if is_true { Ok(()) } else { Err(format!("{header:?} {packet:?} at {released}")) }
    }

    fn check_report(
        &mut self,
        now: Nanos,
        header: &Header,
        report: &Report<'_>,
        released: Seq,
    ) -> Result<(), String> {
        let fields = &report.fields;
        self.feedback.number_sent += 1;
        let said = (header.seq, fields.released, fields.limit, fields.highest_end);
        let known = (self.feedback.number_sent, released, self.granted, self.highest_end);
        let counts = (fields.received, fields.skipped);
        let counted = (self.feedback.received as u32, self.front.skipped as u32);
        if said != known || counts != counted {
            return Err(format!("REPORT {said:?}, {counts:?} for {known:?}, {counted:?}"));
        }
        let echo = self.waiting.newest().unwrap_or(Departure(0));
        if fields.echo != echo {
            return Err(format!("REPORT echoes {:?}, the newest is {echo:?}", fields.echo));
        }
        if self.waiting.newest().is_none() {
            let says_nothing = fields.settled == Departure(0) && report.ranges.is_empty();
            return if says_nothing { Ok(()) } else { Err("REPORT of nothing heard".into()) };
        }
        self.waiting.pass(now);
        let settled = self.waiting.units_of(fields.settled);
        if settled > self.waiting.settled() || settled < self.feedback.settled_sent {
            let (last, most) = (self.feedback.settled_sent, self.waiting.settled());
            return Err(format!("settled is {settled}, of {last}..={most}"));
        }
        self.feedback.settled_sent = settled;
        report.ranges.iter().try_for_each(|range| {
            (0..range.count).try_for_each(|number| self.check_asked(range.first + number, settled))
        })
    }

    /// Whether a REPORT may ask for `seq` (`docs/protocol.md#4.4`).
    fn check_asked(&self, seq: Seq, settled: i64) -> Result<(), String> {
        let record = self.record(seq);
        let is_hole = seq.within(self.front.next_seq, self.highest_end) && !record.has_arrived;
        let may_ask = self.agreed.delivery != Delivery::BestEffort && !self.is_rdma();
        if may_ask && is_hole && record.revealed_by <= settled {
            return Ok(());
        }
        Err(format!("REPORT requests {seq}, settled {settled}: {record:?}"))
    }

    /// Checks an end that believed "unknown tag" against the silence that this requires
    /// (`docs/protocol.md#7.6`).
    pub(crate) fn check_denial(
        &self,
        now: Nanos,
        packet: &Packet<'_>,
        is_sender: bool,
    ) -> Result<(), String> {
        // This sender only waits for the answer to its CLOSE.
        if is_sender && self.sender_positions().0 == self.pushed_end {
            return Ok(());
        }
        match packet {
            Packet::CloseAck(ack)
                if ack.reason == CloseAckReason::UnknownTag
                    && self.is_heard_lately(now, is_sender)
                    && !self.is_forged =>
            {
                Err("unknown tag believed though the peer was heard lately".into())
            }
            _ => Ok(()),
        }
    }
}

/// The largest final index of a CLOSE that is taken.
pub(crate) const FINAL_INDEX_MAX: SampleIndex = (1 << 63) + (1 << 32);
