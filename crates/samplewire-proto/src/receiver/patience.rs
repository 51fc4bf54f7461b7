//! How long to wait: when a hole is given up.

use super::ring::{Hole, State};
use super::{Delivery, Phase, Receiver, RecvSlot};
use crate::gap::Cause;
use crate::number::{Departure, Nanos, Seq};

impl<S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>> Receiver<S> {
    /// Decides which holes have been waited for long enough, in order of seq, whether or not the
    /// program takes what is before them. A decision stands: the ages of holes come from clocks
    /// that wrap, and a program may take nothing for longer than that (`docs/protocol.md#1.4`).
    pub(super) fn expire_holes(&mut self, now: Nanos) {
        if self.delivery == Delivery::Complete {
            return;
        }
        while self.expired_end != self.highest_end {
            if let State::Hole(hole) = self.ring.get(self.expired_end)
                && !self.has_expired(now, &hole)
            {
                return;
            }
            self.expired_end += 1;
        }
    }

    /// Why a hole is given up, if it is (`docs/protocol.md#6.1`).
    pub(super) fn cause_to_give_up(&self, now: Nanos, seq: Seq, hole: &Hole) -> Option<Cause> {
        let is_gone = seq.before(self.gone_before);
        let has_expired = seq.before(self.expired_end) || self.has_expired(now, hole);
        match self.delivery {
            // The sender lets go of everything at once: that it is gone says nothing.
            Delivery::BestEffort => {
                let is_over = matches!(self.phase, Phase::Breaking(_));
                (is_over || has_expired).then_some(Cause::NeverAsked)
            }
            _ if is_gone => Some(Cause::GoneAtSender),
            Delivery::Complete => None,
            Delivery::Deadline(_) => has_expired.then_some(Cause::Deadline),
        }
    }

    /// Whether a hole has been waited for long enough at `now`: it has settled, or is older than
    /// the deadline by both clocks (`docs/protocol.md#4.3`, `#6.8`).
    fn has_expired(&self, now: Nanos, hole: &Hole) -> bool {
        match self.delivery {
            Delivery::Complete => false,
            Delivery::BestEffort => !self.settled.at(now).before(hole.marker),
            Delivery::Deadline(deadline) => {
                let Some(newest) = self.settled.newest() else { return false };
                let silence = now.since(newest.at);
                let silence = if silence > silence_bound(deadline) { silence } else { Nanos(0) };
                let age = Departure::span_ns(newest.departure.since(hole.revealed_by)) + silence;
                // A host that read its socket late learns of old holes: they too get their time.
                age > deadline && self.known_for(now, hole) > deadline
            }
        }
    }

    /// When the first hole is given up if nothing more arrives; `None` when it waits for the
    /// program alone.
    pub(super) fn give_up_at(&self, now: Nanos) -> Option<Nanos> {
        if self.next == self.highest_end || self.next.before(self.expired_end) {
            return None;
        }
        let (State::Hole(hole), Some(newest)) = (self.ring.get(self.next), self.settled.newest())
        else {
            return None;
        };
        match self.delivery {
            Delivery::Complete => None,
            Delivery::BestEffort => self.settled.time_of(hole.marker),
            Delivery::Deadline(deadline) => {
                let left = deadline - self.known_for(now, &hole);
                let age = Departure::span_ns(newest.departure.since(hole.revealed_by));
                let silent_at = newest.at + silence_bound(deadline) + Nanos(1_000);
                let at = now + left + Nanos(Departure::UNIT_NS);
                Some(if age > deadline { at } else { at.max(silent_at) })
            }
        }
    }

    /// How long a hole has been known by the receiver's clock.
    fn known_for(&self, now: Nanos, hole: &Hole) -> Nanos {
        Departure::span_ns(Departure::at(now).since(hole.revealed_at))
    }
}

/// Below this silence a deadline counts departures only: a sender that is paused, or a host that
/// has not read its socket, ages no hole. A sender that lives breaks the silence within 100 ms.
fn silence_bound(deadline: Nanos) -> Nanos {
    deadline.max(Nanos::from_millis(200))
}
