//! The ends of a session: what each end says of it must be what happened.

use samplewire_proto::receiver::{Delivery, ReceiverStats};
use samplewire_proto::stream::End;
use samplewire_proto::wire::CloseReason;
use samplewire_proto::{Nanos, SampleIndex};

use super::gaps::Totals;
use super::session::{Session, Side};
use super::{Checker, SessionId};

impl Checker {
    /// Holds the end that a program was handed, after all that came before it; `now` is its clock.
    pub(crate) fn handed_end(
        &mut self,
        id: SessionId,
        now: Nanos,
        end: End,
        stats: &ReceiverStats,
    ) {
        self.tally.closings += 1;
        let session = &mut self.sessions[id];
        session.receiver = Side::Ended(end);
        session.awaits_program = false;
        let held = session
            .is_drained()
            .and_then(|()| session.check_receiver_end(now, end))
            .and_then(|()| session.check_counts(stats));
        session.let_go();
        self.note(id, held);
    }

    /// Holds the end that a sender states against what happened; `now` is its clock.
    pub(crate) fn sender_ended(&mut self, id: SessionId, now: Nanos, end: End) {
        self.tally.closings += 1;
        let session = &mut self.sessions[id];
        session.sender = Side::Ended(end);
        let held = session.check_sender_end(now, end);
        session.let_go();
        self.note(id, held);
    }

    /// Notes that a receiver is gone; its program may have more to take.
    pub(crate) fn receiver_gone(&mut self, id: SessionId) {
        let session = &mut self.sessions[id];
        if session.receiver == Side::Live {
            session.receiver = Side::Gone;
        }
        session.let_go();
    }

    /// Notes that an end is gone without a word.
    pub(crate) fn vanished(&mut self, id: SessionId, is_sender: bool) {
        let session = &mut self.sessions[id];
        session.awaits_program &= is_sender;
        let side = if is_sender { &mut session.sender } else { &mut session.receiver };
        if matches!(side, Side::Live | Side::Absent) {
            *side = Side::Gone;
        }
        session.let_go();
    }
}

impl Session {
    fn check_receiver_end(&self, now: Nanos, end: End) -> Result<(), String> {
        if self.is_forged {
            return match end {
                End::Finished { final_index } if final_index != self.account.next_index => {
                    Err(format!("finished at {final_index} of {}", self.account.next_index))
                }
                _ => Ok(()),
            };
        }
        let is_broken = match end {
            End::PeerRestarted | End::PeerSilent => true,
            End::ClosedByPeer(CloseReason::QueuePairFailed) => self.is_rest_gone,
            _ => false,
        };
        if self.account.says_gone && !is_broken {
            return Err(format!("samples were said to be gone at the sender, but: {end:?}"));
        }
        match end {
            End::Finished { final_index } => self.check_finished(final_index),
            End::ClosedByPeer(CloseReason::Cancelled) if self.is_cut => {
                self.check_finished(self.pushed_index + self.lost_at_end)
            }
            End::ClosedByPeer(CloseReason::DeviceFault) if self.is_failed => {
                self.check_finished(self.pushed_index + self.lost_at_end)
            }
            End::ClosedByPeer(CloseReason::QueuePairFailed) if self.has_queue_pair_failed() => {
                self.check_finished(self.pushed_index + self.lost_at_end)
            }
            End::PeerRestarted if self.sender.is_over() => Ok(()),
            End::PeerSilent => self.check_silence(now, self.receiver_heard_at),
            End::Violation(_) if self.breach.is_some() => Ok(()),
            End::Cancelled if self.cancelled.is_some() => Ok(()),
            _ => Err(format!("the receiver says {end:?}, the sender is {:?}", self.sender)),
        }
    }

    /// Compares a receiver's own counts with what it delivered and reported.
    fn check_counts(&self, stats: &ReceiverStats) -> Result<(), String> {
        let counted = Totals {
            packets: stats.delivered,
            samples: stats.samples_delivered,
            skipped: stats.skipped,
            gaps: stats.gaps,
            gap_samples: stats.gap_samples,
        };
        let mut totals = self.account.totals;
        if !self.is_known() {
            // Which packets they were is not.
            (totals.packets, totals.skipped) = (counted.packets, counted.skipped);
            totals.samples = counted.samples;
        }
        let heard = self.feedback.source_lost_heard;
        if counted == totals && (stats.source_lost == heard || self.is_forged) {
            return Ok(());
        }
        Err(format!("counted {counted:?}, {}, reported {totals:?}, {heard}", stats.source_lost))
    }

    fn check_sender_end(&self, now: Nanos, end: End) -> Result<(), String> {
        if self.is_forged {
            return Ok(());
        }
        match end {
            End::QueuePairFailed if self.has_queue_pair_failed() => {
                self.check_sender_finished(self.final_index())
            }
            End::Finished { final_index } => self.check_sender_finished(final_index),
            End::ClosedByPeer(reason) if self.cancelled == Some(reason) => Ok(()),
            End::ClosedByPeer(CloseReason::Protocol) if self.breach.is_some() => Ok(()),
            End::PeerRestarted if self.receiver.is_over() => Ok(()),
            End::PeerSilent => self.check_silence(now, self.sender_heard_at),
            End::CircuitBreaker if self.persistence.is_lasting() => Ok(()),
            _ => Err(format!("the sender says {end:?}, the receiver is {:?}", self.receiver)),
        }
    }

    fn check_sender_finished(&self, final_index: SampleIndex) -> Result<(), String> {
        let has_all = self.front.next_seq == self.pushed_end
            && (self.front.next_index == final_index || self.breach.is_some());
        // Best effort releases what has departed before it is accounted for.
        let is_excused =
            self.receiver.is_over() && matches!(self.agreed.delivery, Delivery::BestEffort);
        if has_all || is_excused {
            return Ok(());
        }
        Err(format!(
            "the sender finished at {final_index}, the receiver is at packet {} of {}",
            self.front.next_seq, self.pushed_end
        ))
    }

    fn check_finished(&self, final_index: SampleIndex) -> Result<(), String> {
        let sent = self.pushed_index + self.lost_at_end;
        if self.breach.is_some() {
            // Of a sender that breaks the rules only the order is known.
            return Ok(());
        }
        if final_index != sent {
            return Err(format!("the stream ended at {final_index}, but {sent} was its end"));
        }
        if self.account.next_index != final_index || self.front.next_seq != self.pushed_end {
            return Err(format!(
                "accounted for up to packet {} index {}, of {} and {final_index}",
                self.front.next_seq, self.account.next_index, self.pushed_end
            ));
        }
        Ok(())
    }

    /// Holds that an end which is still open has heard of the other in time.
    pub(crate) fn check_patience(&self, now: Nanos, is_sender: bool) -> Result<(), String> {
        let heard_at = if is_sender { self.sender_heard_at } else { self.receiver_heard_at };
        let silence = now.since(heard_at);
        if silence < self.agreed.dead_after || self.is_forged {
            return Ok(());
        }
        Err(format!("still open after a silence of {} ns", silence.0))
    }

    fn check_silence(&self, now: Nanos, heard_at: Nanos) -> Result<(), String> {
        let silence = now.since(heard_at);
        if silence >= self.agreed.dead_after {
            return Ok(());
        }
        Err(format!("said to be silent after {} ns", silence.0))
    }
}
