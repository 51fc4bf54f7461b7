//! What the sender says: the form and the place of DATA, MARK, CLOSE and CLOSE_ACK.

use super::ring::{Received, Revealed, State};
use super::tolerance::{self, Tolerance};
use super::{Phase, Receiver, RecvSlot};
use crate::number::{Departure, INDEX_MAX, Nanos, Seq};
use crate::stream::{Carriage, End, Violation};
use crate::wire::{Close, CloseReason, Flags, Header, Mark};

impl<S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>> Receiver<S> {
    /// How many samples of a packet are valid; an error when its form is not the agreed one.
    pub(super) fn valid_samples(&self, header: &Header, payload: &[u8]) -> Result<u32, Violation> {
        let (seq, index, expected) = (header.seq, header.index, self.terms.payload_bytes);
        if index > INDEX_MAX {
            return Err(Violation::IndexTooLarge { seq, index });
        }
        let len_bytes = payload.len();
        let wrong = Violation::PayloadLength { seq, len_bytes, expected };
        let is_meta = header.flags.contains(Flags::META);
        if is_meta || header.flags.contains(Flags::END_OF_BURST) {
            if len_bytes > usize::from(expected) || !len_bytes.is_multiple_of(8) {
                return Err(wrong);
            }
            if is_meta {
                return Ok(0);
            }
            let Some((_, count)) = payload.split_last_chunk::<8>() else { return Err(wrong) };
            let samples = u64::from_be_bytes(*count);
            let room_bytes = (len_bytes - count.len()) as u64;
            let is_possible = samples
                .checked_mul(u64::from(expected))
                .is_some_and(|bytes| bytes <= room_bytes * u64::from(self.terms.packet_samples));
            return if is_possible {
                Ok(samples as u32)
            } else {
                Err(Violation::BurstLength { seq, samples })
            };
        }
        if len_bytes == usize::from(expected) { Ok(self.terms.packet_samples) } else { Err(wrong) }
    }

    /// Puts a packet into the ring; `false` when it is not needed.
    #[expect(clippy::inline_always, reason = "each packet of DATA is placed here")]
    #[inline(always)]
    pub(super) fn place(&mut self, now: Nanos, header: &Header, received: Received) -> bool {
        let seq = header.seq;
        if !seq.before(self.highest_end) {
            self.reveal(now, seq, header.departure);
            self.ring.set(seq, State::Received(received));
            self.highest_end = seq + 1;
            return true;
        }
        if seq.before(self.next) {
            let is_remembered = self.highest_end - seq <= self.ring.len();
            if is_remembered && matches!(self.ring.get(seq), State::GivenUp) {
                self.stats.late += 1;
                self.ring.set(seq, State::Delivered);
                self.came_late(now, header.departure, true);
            } else {
                self.stats.duplicates += 1;
            }
            return false;
        }
        let State::Hole(hole) = self.ring.get(seq) else {
            self.stats.duplicates += 1;
            return false;
        };
        self.ring.close(seq, State::Received(received));
        self.came_late(now, header.departure, hole.is_listed());
        if header.flags.contains(Flags::RETRANSMISSION) {
            self.stats.take_repair(Departure::at(now).since(hole.revealed_at));
            self.change_tolerance(now, Tolerance::lost);
        } else {
            self.stats.reordered += 1;
        }
        true
    }

    /// Learns from a packet that was missing how far the path reorders (`docs/protocol.md#4.11`).
    /// A silence counts where the hole was listed in it: else it may be a pause of this host, in
    /// which the packet waited.
    fn came_late(&mut self, now: Nanos, departure: Departure, was_listed: bool) {
        let extent = self.settled.extent(now, departure, was_listed);
        if extent > self.settled.tolerance() {
            self.stats.reordered_beyond += 1;
        }
        self.change_tolerance(now, |tolerance| tolerance.came_late_by(extent));
    }

    pub(super) fn change_tolerance(&mut self, now: Nanos, change: impl FnOnce(&mut Tolerance)) {
        self.settled.change(now, change);
        self.stats.reorder_tolerance = Departure::span_ns(self.settled.tolerance());
    }

    /// Opens holes for all that departed before `end` and has not come.
    #[inline]
    pub(super) fn reveal(&mut self, now: Nanos, end: Seq, departure: Departure) {
        self.drops.reveal(self.highest_end, end);
        if self.highest_end != end {
            self.open_holes(now, end, departure);
        }
    }

    #[inline(never)]
    fn open_holes(&mut self, now: Nanos, end: Seq, departure: Departure) {
        self.schedule.holes_revealed();
        while self.highest_end != end {
            let revealed = Revealed { by: departure, at: Departure::at(now) };
            self.ring.open(self.highest_end, &revealed);
            self.highest_end += 1;
        }
    }

    /// Over RDMA: what is not complete before `end` will not be.
    #[cold]
    pub(super) fn reveal_gone(&mut self, now: Nanos, end: Seq) {
        let newest = self.settled.newest().map_or_else(Default::default, |it| it.departure);
        self.reveal(now, end, newest);
        self.gone_before = end;
    }

    pub(super) fn handle_mark(&mut self, now: Nanos, header: &Header, mark: &Mark) {
        let end = self.end_of_data().unwrap_or(self.limit);
        // Not `distance > 0`: of 2^31 ahead the distance is negative.
        let reveals_too_much = end.distance(header.seq) < 0;
        if reveals_too_much || header.seq.before(mark.oldest) {
            self.stats.refused += 1;
            return;
        }
        if !self.takes_packets() {
            return;
        }
        if mark.time_ns != 0 && !self.settled.is_newer_than(header.departure) {
            self.stats.timed_index = header.index;
            self.stats.timed_index_tai_ns = mark.time_ns;
        }
        self.hear(now, header.departure);
        self.schedule.ask();
        if mark.hold != u32::MAX && self.stats.reports > 0 {
            self.rtt.take_echo(now, mark.echo, mark.hold);
            let bound = tolerance::bound(self.rtt.get(), self.delivery);
            self.change_tolerance(now, |tolerance| tolerance.set_bound(bound));
        }
        self.stats.source_lost = self.stats.source_lost.max(mark.source_lost);
        if self.terms.carriage == Carriage::Rdma {
            // It may have overtaken WRITEs, which will come.
            return;
        }
        if mark.oldest.within(self.gone_before, end + 1) {
            self.gone_before = mark.oldest;
        }
        if !header.seq.before(self.highest_end) {
            self.reveal(now, header.seq, header.departure);
        }
    }

    pub(super) fn handle_close(&mut self, now: Nanos, header: &Header, close: &Close) {
        let (final_seq, final_index) = (header.seq, header.index);
        match self.phase {
            Phase::Flowing => {
                let lies_within =
                    !final_seq.before(self.highest_end) && final_seq.distance(self.limit) <= 0;
                let is_possible =
                    (self.account.next_index()..=INDEX_MAX + (1 << 32)).contains(&final_index);
                if !lies_within || !is_possible {
                    self.stats.refused += 1;
                    return;
                }
                self.hear(now, header.departure);
                self.stats.source_lost = self.stats.source_lost.max(close.source_lost);
                match self.terms.carriage {
                    Carriage::Data => self.reveal(now, final_seq, header.departure),
                    // It may have overtaken WRITEs, which will come.
                    Carriage::Rdma => {}
                }
                self.account.announce_end(final_index);
                self.phase = Phase::Draining { final_seq, final_index };
                self.close_reason = close.reason;
                self.schedule.ask();
                self.take_failure(now, final_seq, close.reason);
            }
            Phase::Draining { final_seq: known, .. } if known == final_seq => {
                self.hear(now, header.departure);
                self.schedule.ask();
                self.take_failure(now, final_seq, close.reason);
            }
            Phase::Lingering { final_seq: known, .. } if known == final_seq => {
                self.answer_close = true;
            }
            _ => self.stats.refused += 1,
        }
    }

    /// Over RDMA: where a CLOSE says that the queue pair has failed, the first one or a later one,
    /// what is not complete will not be (`docs/protocol.md#13.7`).
    fn take_failure(&mut self, now: Nanos, final_seq: Seq, reason: CloseReason) {
        let has_failed = reason == CloseReason::QueuePairFailed;
        if has_failed && self.terms.carriage == Carriage::Rdma && self.highest_end != final_seq {
            self.close_reason = reason;
            self.reveal_gone(now, final_seq);
        }
    }

    /// The first seq that the sender said will never come.
    pub(super) const fn end_of_data(&self) -> Option<Seq> {
        match self.phase {
            Phase::Draining { final_seq, .. } => Some(final_seq),
            _ => None,
        }
    }

    /// The peer says that it knows no such stream. One that was heard lately does.
    pub(super) fn handle_unknown(&mut self, now: Nanos) {
        let is_silent = now >= self.heard_at + self.terms.silence_max() + self.rtt.get();
        match self.phase {
            Phase::Flowing | Phase::Draining { .. } if is_silent => {
                self.break_off(End::PeerRestarted);
            }
            Phase::Flowing | Phase::Draining { .. } => self.stats.unexpected += 1,
            Phase::Cancelling { .. } | Phase::Lingering { .. } => self.phase = Phase::Ended,
            Phase::Breaking(_) | Phase::Ended => {}
        }
    }
}
