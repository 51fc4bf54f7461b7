//! How long to wait: when a hole is given up.

use super::ring::{Hole, State};
use super::{Delivery, Phase, Receiver, RecvSlot};
use crate::gap::Cause;
use crate::number::{Departure, Nanos, Seq};

impl<S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>> Receiver<S> {
    /// Why a hole is given up, if it is (`docs/protocol.md#6.1`, `#6.8`).
    pub(super) fn cause_to_give_up(&self, now: Nanos, seq: Seq, hole: &Hole) -> Option<Cause> {
        let is_gone = seq.before(self.gone_before);
        match self.delivery {
            // The sender lets go of everything at once: that it is gone says nothing.
            Delivery::BestEffort => {
                let is_over = matches!(self.phase, Phase::Breaking(_));
                let is_settled = !self.settled.at(now).before(hole.marker);
                (is_over || is_settled).then_some(Cause::NeverAsked)
            }
            _ if is_gone => Some(Cause::GoneAtSender),
            Delivery::Complete => None,
            Delivery::Deadline(deadline) => {
                let newest = self.settled.newest()?;
                let silence = now.since(newest.at);
                let silence = if silence > silence_bound(deadline) { silence } else { Nanos(0) };
                let age = newest.departure.distance(hole.revealed_by) as i64
                    + i64::from(Departure::units(silence).min(i32::MAX as u32));
                let deadline_units = Departure::units(deadline);
                // A host that read its socket late learns of old holes: they too get their time.
                let known = Departure::at(now).distance(hole.revealed_at);
                let is_over = age > i64::from(deadline_units) && known > deadline_units as i32;
                is_over.then_some(Cause::Deadline)
            }
        }
    }

    /// When the first hole is given up if nothing more arrives.
    pub(super) fn give_up_at(&self, now: Nanos) -> Option<Nanos> {
        if self.next == self.highest_end {
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
                let deadline_units = Departure::units(deadline);
                let known = Departure::at(now).distance(hole.revealed_at).max(0) as u32;
                let left = deadline_units.saturating_sub(known) + 1;
                let is_old = newest.departure.distance(hole.revealed_by) > deadline_units as i32;
                let silent_at = newest.at + silence_bound(deadline) + Nanos(1_000);
                let at = now + Departure::span_ns(left);
                Some(if is_old { at } else { at.max(silent_at) })
            }
        }
    }
}

/// Below this silence a deadline counts departures only: a sender that is paused, or a host that
/// has not read its socket, ages no hole. A sender that lives breaks the silence within 100 ms.
fn silence_bound(deadline: Nanos) -> Nanos {
    deadline.max(Nanos::from_millis(200))
}
