//! What leaves: REPORT, CLOSE and CLOSE_ACK.

use super::schedule::Present;
use super::{Delivery, RANGES_MAX, Receiver, RecvSlot};
use crate::number::{Departure, Nanos, SampleIndex, Seq};
use crate::wire::{
    Close, CloseAck, CloseAckReason, CloseReason, Flags, Header, PacketType, ReportFields, SeqRange,
};

impl<S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>> Receiver<S> {
    #[inline]
    pub(super) fn present(&self, now: Nanos) -> Present {
        let rtt = self.rtt.get();
        let has_holes = self.is_repaired() && self.ring.has_holes();
        let (is_listable, settles_at) = if has_holes { self.listing(now) } else { (false, None) };
        Present {
            rtt,
            limit: self.limit,
            highest_end: self.highest_end,
            window: self.terms.window,
            per_rtt: self.promise.per_rtt_most(),
            marked: self.stats.marked as u32,
            is_listable,
            settles_at,
            is_opening: self.stats.received == 0,
        }
    }

    /// Whether a hole can be listed, and when one will be if nothing more arrives.
    #[inline(never)]
    fn listing(&self, now: Nanos) -> (bool, Option<Nanos>) {
        let rtt_units = Departure::units(self.rtt.get());
        let is_listable = self.ring.has_listable(self.settled.at(now), rtt_units);
        let markers = self.ring.markers(rtt_units).into_iter().flatten();
        (is_listable, markers.filter_map(|marker| self.settled.time_of(marker)).min())
    }

    pub(super) fn emit_report(&mut self, now: Nanos, present: &Present, out: &mut [u8]) -> usize {
        let settled = self.settled.at(now);
        let newest = self.settled.newest();
        let hold = newest.map_or(u32::MAX, |newest| Departure::units(now.since(newest.at)));
        let newest = newest.map_or(Departure(0), |newest| newest.departure);
        let mut ranges = [SeqRange { first: Seq(0), count: 0 }; RANGES_MAX];
        let room = RANGES_MAX.min(self.terms.ranges_max as usize);
        let n = if !self.is_repaired() {
            0
        } else {
            let rtt_units = Departure::units(present.rtt);
            self.ring.list(self.next, settled, newest, rtt_units, &mut ranges[..room])
        };
        let released = self.released_for_sender();
        let fields = ReportFields {
            released,
            limit: self.limit,
            settled,
            highest_end: self.highest_end,
            echo: newest,
            hold,
            received: self.stats.received as u32,
            marked: self.stats.marked as u32,
            skipped: self.stats.skipped as u32,
            late: self.stats.late.wrapping_add(self.stats.late_to_play) as u16,
        };
        self.number += 1;
        self.stats.reports += 1;
        self.stats.ranges += n as u64;
        self.schedule.report_left(now, present, n == room);
        let header = self.header(now, PacketType::Report, self.consumed_index, self.number);
        fields.emit(&header, &ranges[..n], out)
    }

    /// What the sender may let go of: in best effort all that has departed, since nothing is asked
    /// for again.
    fn released_for_sender(&self) -> Seq {
        if self.delivery == Delivery::BestEffort { self.highest_end } else { self.next }
    }

    pub(super) fn emit_close(&mut self, now: Nanos, reason: CloseReason, out: &mut [u8]) -> usize {
        let header = self.header(
            now,
            PacketType::Close,
            self.account.next_index(),
            self.released_for_sender(),
        );
        let source_lost = self.lost_count();
        Close { reason, last: self.number, source_lost }.emit(&header, out)
    }

    pub(super) fn emit_close_ack(&mut self, now: Nanos, out: &mut [u8]) -> usize {
        let header = self.header(now, PacketType::CloseAck, self.account.next_index(), self.next);
        let ack = CloseAck {
            reason: CloseAckReason::Done,
            echoed_tag: self.terms.local_tag,
            source_lost: self.lost_count(),
        };
        ack.emit(&header, out)
    }

    /// The lost samples in a closing packet. A device reports those that were missing when they
    /// were due to play. A host repeats the source's own count (`docs/protocol.md#2.17`).
    const fn lost_count(&self) -> u64 {
        if self.terms.is_opener { self.stats.source_lost } else { self.stats.underflow_samples }
    }

    pub(super) fn header(
        &mut self,
        now: Nanos,
        kind: PacketType,
        index: SampleIndex,
        seq: Seq,
    ) -> Header {
        let flags = if self.terms.is_opener { Flags::FROM_OPENER } else { Flags::default() };
        let departure = self.clock.stamp(now);
        Header { kind, flags, tag: self.terms.peer_tag, index, seq, departure }
    }
}
