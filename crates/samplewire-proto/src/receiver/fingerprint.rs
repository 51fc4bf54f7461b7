//! A receiver's state for a search.

use super::ring::State;
use super::{Phase, Receiver, RecvSlot};
use crate::fingerprint::{Fingerprint, Stamper};
use crate::number::{Nanos, SampleIndex, Seq};

impl<S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>> Receiver<S> {
    /// Passes all that decides how the receiver goes on, except its bound of promises.
    pub fn fingerprint(&self, now: Nanos, into: &mut impl Fingerprint) {
        self.fingerprint_phase(now, into);
        let first = self.terms.first_seq;
        for seq in [self.next, self.highest_end, self.limit, self.gone_before] {
            into.word((seq - first).into());
        }
        into.word(self.account.next_index() - self.terms.first_index);
        into.word(self.close_reason.number().into());
        let is_cut_short = matches!(self.phase, Phase::Cancelling { .. } | Phase::Ended)
            && self.account.has_given_up();
        for is_set in [self.ending.is_some(), is_cut_short, self.answer_close] {
            into.word(is_set.into());
        }
        into.name(self.terms.local_tag.0.into());
        into.name(self.terms.peer_tag.0.into());
        into.report(self.number);
        if !self.takes_packets() {
            return;
        }
        let mut seq = self.next;
        while seq.before(self.highest_end) {
            match self.ring.get(seq) {
                State::Hole(hole) => {
                    into.word(1 + u64::from(hole.is_listed()));
                    into.departure(Stamper::Other, hole.marker);
                }
                _ => into.word(0),
            }
            seq += 1;
        }
        if let Some(newest) = self.settled.newest() {
            into.departure(Stamper::Other, newest.departure);
            into.departure(Stamper::Other, self.settled.at(now));
        }
        into.word(self.settled.tolerance().into());
        into.instant(now, self.heard_at + self.terms.dead_after);
        into.instant(now, self.schedule.due(&self.present(now)));
        into.span(self.rtt.get());
    }

    fn fingerprint_phase(&self, now: Nanos, into: &mut impl Fingerprint) {
        let mut final_of = |kind: u64, seq: Seq, index: SampleIndex| {
            into.word(kind);
            into.word((seq - self.terms.first_seq).into());
            into.word(index - self.terms.first_index);
        };
        match self.phase {
            Phase::Flowing => into.word(0),
            Phase::Draining { final_seq, final_index } => final_of(1, final_seq, final_index),
            Phase::Lingering { final_seq, final_index, until } => {
                final_of(2, final_seq, final_index);
                into.instant(now, until);
            }
            Phase::Breaking(_) => into.word(3),
            Phase::Cancelling { reason, tries, next_try } => {
                into.word(4);
                into.word(reason.number().into());
                into.word(tries.into());
                into.instant(now, next_try);
            }
            Phase::Ended => into.word(5),
        }
    }
}
