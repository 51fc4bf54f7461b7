//! A sender's state for a search.

use super::{Phase, SendSlot, Sender};
use crate::fingerprint::{Fingerprint, Stamper};
use crate::number::Nanos;

impl<S: AsRef<[SendSlot]> + AsMut<[SendSlot]>> Sender<S> {
    /// Passes all that decides how the sender goes on, except pacer, budget and circuit breaker.
    pub fn fingerprint(&self, now: Nanos, into: &mut impl Fingerprint) {
        into.word(match self.phase {
            Phase::Opening => 0,
            Phase::Flowing => 1,
            Phase::Ended => 2,
            Phase::Closing(reason) => 3 + u64::from(reason.number()),
        });
        for seq in [self.oldest, self.sent, self.next, self.limit] {
            into.word((seq - self.terms.first_seq).into());
        }
        into.word(self.source_lost);
        for is_set in [self.is_close_taken, self.answer_close, self.requests.is_empty()] {
            into.word(is_set.into());
        }
        into.name(self.terms.local_tag.0.into());
        into.name(self.terms.peer_tag.0.into());
        if let Some(last) = self.last_report {
            into.report(last.number);
            into.departure(Stamper::Other, last.departure);
        }
        if let Some(departure) = self.close_departure {
            into.departure(Stamper::Own, departure);
        }
        let mut seq = self.oldest;
        while seq.before(self.sent) {
            into.departure(Stamper::Own, self.slot(seq).departure);
            seq += 1;
        }
        if self.phase != Phase::Ended {
            into.instant(now, self.dead_at());
            into.instant(now, self.marks.due(self.is_waiting()));
            into.span(self.rtt.get());
            self.reaction.fingerprint(now, into);
        }
    }
}
