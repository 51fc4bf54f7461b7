//! What the receiver says: REPORT, CLOSE and CLOSE_ACK.

use super::requests::Request;
use super::{Phase, SendSlot, Sender};
use crate::number::{Departure, Nanos, Seq};
use crate::stream::{Carriage, End};
use crate::wire::{Close, CloseAck, CloseAckReason, Header, Report};

#[derive(Clone, Copy, Debug)]
pub(super) struct LastReport {
    pub(super) number: Seq,
    pub(super) departure: Departure,
    pub(super) at: Nanos,
    /// DATA that arrived with congestion experienced, as the receiver counts.
    marked: u32,
}

impl<S: AsRef<[SendSlot]> + AsMut<[SendSlot]>> Sender<S> {
    /// Takes or drops a REPORT (`docs/protocol.md#4.6`).
    pub(super) fn handle_report(&mut self, now: Nanos, header: &Header, report: &Report<'_>) {
        let fields = &report.fields;
        let number = header.seq;
        let is_newer = self.last_report.is_none_or(|last| last.number.before(number));
        let releases_the_past = fields.released.before(self.accounted);
        let releases_the_future = self.sent.before(fields.released);
        let promise = fields.limit.distance(fields.released);
        let settles_the_future = !report.ranges.is_empty()
            && self.clock.last().is_none_or(|last| last.before(fields.settled));
        if releases_the_future
            || settles_the_future
            || (releases_the_past && is_newer)
            || !(0..=1 << 24).contains(&promise)
            || self.sent.before(fields.highest_end)
        {
            self.stats.reports_refused += 1;
            return;
        }
        self.stats.reports += 1;
        self.heard_at = now;
        let had_credit = self.sent.before(self.limit);
        if !releases_the_past {
            self.accounted = fields.released;
            self.release();
        }
        // An older REPORT may release what lies half the numbers back: its limit is then no later
        // one, though serial comparison with ours would say so.
        if !fields.limit.before(self.accounted) {
            self.limit = self.limit.max(fields.limit);
        }
        if self.phase == Phase::Opening {
            self.phase = Phase::Flowing;
        }
        if !had_credit && self.sent.before(self.limit) {
            self.marks.restart(now, self.rtt.get());
        }
        if !is_newer {
            return;
        }
        let (departure, marked) = (header.departure, fields.marked);
        let marked_before = self.last_report.map_or(0, |last| last.marked);
        self.last_report = Some(LastReport { number, departure, at: now, marked });
        if self.marks_sent > 0 || self.stats.packets > 0 {
            self.rtt.take_echo(now, fields.echo, fields.hold);
        }
        if marked != marked_before {
            self.handle_congestion(now);
        }
        let has_seen = |close: Departure| fields.hold != u32::MAX && !fields.echo.before(close);
        self.is_close_taken |= self.close_departure.is_some_and(has_seen);
        if self.oldest == self.sent && self.phase == Phase::Flowing {
            let (rtt, idle) = (self.rtt.get(), self.terms.idle_after);
            self.marks.all_released(now, rtt, self.is_waiting(), idle);
        }
        self.stats.take_report(header.index, fields);
        if self.terms.carriage == Carriage::Rdma {
            return;
        }
        for range in report.ranges.iter() {
            self.take_range(range.first, range.count, fields.settled);
        }
    }

    /// Takes a notification of congestion: marks in a REPORT (`docs/protocol.md#8.2`), or a CNP of the
    /// stream's queue pair (`docs/protocol.md#13.5`). It cuts the rate at most once in max(D, RTT).
    pub fn handle_congestion(&mut self, now: Nanos) {
        if self.is_ended() {
            return;
        }
        self.stats.congestion += 1;
        self.reaction.handle_notification(now, self.rtt.get(), &mut self.stats);
        self.follow_limit(now);
    }

    /// Queues what of a range is held and has departed.
    pub(super) fn take_range(&mut self, first: Seq, count: u32, settled: Departure) {
        let held = self.sent - self.oldest;
        let skipped = self.oldest.distance(first).max(0) as u32;
        if skipped >= count || (first + skipped) - self.oldest >= held {
            return;
        }
        let first = first + skipped;
        let end = first + (count - skipped).min(self.sent - first);
        if !self.requests.push(Request { first, end, settled }) {
            self.stats.requests_refused += 1;
        }
    }

    pub(super) fn handle_close(&mut self, header: &Header, close: &Close) {
        let lies_within = header.seq.distance(self.oldest) >= 0 && !self.sent.before(header.seq);
        if self.phase == Phase::Ended {
            self.answer_close = true;
        } else if lies_within {
            self.answer_close = true;
            self.take_underflow(close.source_lost);
            self.end(End::ClosedByPeer(close.reason));
        } else {
            self.stats.closes_refused += 1;
        }
    }

    pub(super) fn handle_close_ack(&mut self, header: &Header, ack: &CloseAck) {
        let is_done = ack.reason == CloseAckReason::Done && header.seq == self.next;
        if matches!(self.phase, Phase::Closing(_)) && is_done && self.sent == self.next {
            (self.accounted, self.written) = (self.next, self.next);
            self.release();
            self.take_underflow(ack.source_lost);
            self.end(self.closed());
        } else {
            self.stats.unexpected += 1;
        }
    }

    /// What a device that played says at the end; a host repeats this end's own count.
    const fn take_underflow(&mut self, samples: u64) {
        if self.terms.is_opener {
            self.stats.underflow_at_peer = samples;
        }
    }

    /// The peer says that it knows no such stream. One that was heard lately does.
    pub(super) fn handle_unknown(&mut self, now: Nanos) {
        if self.phase == Phase::Ended {
            return;
        }
        if self.is_only_ack_missing() {
            self.end(self.closed());
        } else if now >= self.heard_at + self.terms.silence_max() + self.rtt.get() {
            self.end(End::PeerRestarted);
        } else {
            self.stats.unexpected += 1;
        }
    }
}
