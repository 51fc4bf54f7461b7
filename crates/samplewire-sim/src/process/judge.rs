//! What became of a packet, checked against the rules of both ends.

use samplewire::stepped::Machine;
use samplewire_proto::receiver::{self, Receiver, RecvSlot};
use samplewire_proto::sender::{self, SendSlot, Sender};
use samplewire_proto::wire::{CloseReason, Header, Packet};
use samplewire_proto::{Nanos, Tag};

use super::known::{Known, State};
use super::{Arrival, Place, Turn};
use crate::check::{FINAL_INDEX_MAX, Progress, Session, Verdict};
use crate::net::process_of;

/// A packet that comes, parsed.
#[derive(Clone, Copy)]
pub(super) struct Came<'a> {
    pub(super) arrival: &'a Arrival,
    pub(super) bytes: &'a [u8],
    pub(super) parsed: Option<&'a (Header, Packet<'a>)>,
}

/// What packets make a machine count, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    refused: u64,
    requests_refused: u64,
    /// DATA that was taken, and of it what was not needed.
    received: u64,
    unneeded: u64,
    place: Place,
}

impl Counts {
    pub(super) fn of(machine: Option<Machine<'_>>) -> Self {
        let none =
            Self { refused: 0, requests_refused: 0, received: 0, unneeded: 0, place: Place::Over };
        match machine {
            Some(Machine::Sending(sender)) => {
                let stats = sender.stats();
                let refused = stats.reports_refused + stats.closes_refused + stats.unexpected;
                let place = place_of_sender(sender);
                Self { refused, requests_refused: stats.requests_refused, place, ..none }
            }
            Some(Machine::Receiving(receiver)) => {
                let stats = receiver.stats();
                let (received, unneeded) = (stats.received, stats.duplicates + stats.late);
                let place = place_of_receiver(receiver);
                Self { refused: stats.refused, received, unneeded, place, ..none }
            }
            Some(Machine::Opening(_)) | None => none,
        }
    }
}

pub(super) fn place_of_sender(sender: &Sender<Box<[SendSlot]>>) -> Place {
    let (oldest, next) = (sender.released(), sender.next_seq());
    let sent = next - sender.waiting();
    match sender.phase() {
        sender::Phase::Ended => Place::Over,
        phase => {
            let is_closing = matches!(phase, sender::Phase::Closing(_));
            Place::Sender { oldest, sent, next, is_closing }
        }
    }
}

pub(super) fn place_of_receiver(receiver: &Receiver<Box<[RecvSlot]>>) -> Place {
    let limit = receiver.limit();
    match receiver.phase() {
        phase @ (receiver::Phase::Flowing | receiver::Phase::Draining { .. }) => Place::Receiver {
            highest_end: limit - receiver.credit(),
            limit,
            next_index: receiver.next_index(),
            is_draining: matches!(phase, receiver::Phase::Draining { .. }),
        },
        _ => Place::Over,
    }
}

/// Notes what a sender has taken of its program.
pub(super) fn note_pushed(turn: &mut Turn<'_>, known: &Known, sender: &Sender<Box<[SendSlot]>>) {
    let phase = sender.phase();
    let is_closing = matches!(phase, sender::Phase::Closing(_) | sender::Phase::Ended);
    let session = &mut turn.checker.sessions[known.session];
    let held = session.push_up_to(sender.next_seq(), is_closing);
    turn.checker.note(known.session, held);
    let cuts = turn.checker.sessions[known.session].check_cuts(turn.now, sender.stats());
    turn.checker.tally.cuts += *cuts.as_ref().unwrap_or(&0);
    turn.checker.note(known.session, cuts.map(|_| ()));
    note_posted(turn, known, sender);
    if !sender.is_ended() {
        let held = turn.checker.sessions[known.session].check_patience(turn.now, true);
        turn.checker.note(known.session, held);
    }
}

/// Notes what a sender over RDMA has posted.
fn note_posted(turn: &mut Turn<'_>, known: &Known, sender: &Sender<Box<[SendSlot]>>) {
    let session = &mut turn.checker.sessions[known.session];
    if !session.is_rdma() || sender.is_ended() {
        return;
    }
    let phase = sender.phase();
    let has_failed = phase == sender::Phase::Closing(CloseReason::QueuePairFailed);
    let is_complete = !has_failed
        && matches!(phase, sender::Phase::Closing(_))
        && sender.released() == sender.next_seq();
    if has_failed || is_complete && session.is_ahead_of_queue_pair(sender.released()) {
        let failed = session.queue_pair_failed(turn.now, is_complete);
        turn.checker.tally.queue_pairs_failed += u64::from(failed == Ok(true));
        turn.checker.note(known.session, failed.map(|_| ()));
    }
    let sent = sender.next_seq() - sender.waiting();
    let posted = turn.checker.sessions[known.session].posted_up_to(turn.now, sent);
    turn.checker.tally.writes += *posted.as_ref().unwrap_or(&0);
    turn.checker.note(known.session, posted.map(|_| ()));
}

/// Holds what a sender over RDMA has let go of in a turn.
pub(super) fn check_released(turn: &mut Turn<'_>, known: &Known, sender: &Sender<Box<[SendSlot]>>) {
    if !sender.is_ended() {
        let held = turn.checker.sessions[known.session].check_released(sender.released());
        turn.checker.note(known.session, held);
    }
}

/// Holds what became of a packet of a stream against the rules.
pub(super) fn check_arrival(
    turn: &mut Turn<'_>,
    known: &mut Known,
    came: &Came<'_>,
    machine: Option<Machine<'_>>,
    before: &Counts,
) {
    if process_of(&came.arrival.from) != Some(known.peer) {
        return;
    }
    note_drops(turn, known, came);
    let Some((header, packet)) = came.parsed else { return };
    if !known.is_named_by(header, packet) {
        return;
    }
    let after = Counts::of(machine);
    let is_refused = after.refused != before.refused && machine.is_some();
    let held = match (known.state, machine) {
        (State::Sending(_), _) if matches!(before.place, Place::Over) => Ok(()),
        (State::Sending(_), None) => Ok(()),
        (State::Sending(_), Some(Machine::Sending(sender))) => {
            turn.checker.tally.requests_refused += after.requests_refused - before.requests_refused;
            let session = &mut turn.checker.sessions[known.session];
            let held = judge_sender(turn.now, session, sender, header, packet, is_refused);
            if header.tag != Tag::NONE && !is_refused {
                session.sender_heard(turn.now);
            }
            held
        }
        (State::Receiving(phase), machine) => {
            let is_open =
                matches!(phase, receiver::Phase::Flowing | receiver::Phase::Draining { .. });
            if let Packet::Data(_) = packet {
                known.newest = header.departure;
                if is_open { take_data(turn, known, header, before, &after) } else { Ok(()) }
            } else if is_open {
                let is_breaking = match machine {
                    Some(Machine::Receiving(receiver)) => {
                        matches!(receiver.phase(), receiver::Phase::Breaking(_))
                    }
                    _ => true,
                };
                let session = &mut turn.checker.sessions[known.session];
                let outcome = Outcome { is_refused, is_breaking, place: before.place };
                judge_receiver(turn.now, session, header, packet, &outcome)
            } else {
                Ok(())
            }
        }
        (State::Sending(_), Some(_)) => Err("a sender became something else".into()),
    };
    turn.checker.note(known.session, held);
}

/// Notes what the socket dropped before a packet, where the endpoint counts it with the stream.
fn note_drops(turn: &mut Turn<'_>, known: &mut Known, came: &Came<'_>) {
    // An end that was opened counts all packets of the peer; one that has opened those with a tag.
    let session = &turn.checker.sessions[known.session];
    let is_opener = session.agreed.listener != turn.me;
    let counts = match came.parsed {
        Some((header, packet)) => {
            !is_opener || header.tag != Tag::NONE || known.is_named_by(header, packet)
        }
        None => !is_opener,
    };
    if known.is_sender() || !counts {
        return;
    }
    let dropped = came.arrival.dropped;
    let before = known.dropped.replace(dropped).unwrap_or(dropped);
    let fresh = dropped.wrapping_sub(before);
    turn.checker.sessions[known.session].note_drops(fresh);
}

fn take_data(
    turn: &mut Turn<'_>,
    known: &Known,
    header: &Header,
    before: &Counts,
    after: &Counts,
) -> Result<(), String> {
    let is_stored = after.received > before.received && after.unneeded == before.unneeded;
    let session = &mut turn.checker.sessions[known.session];
    let held = session.data_handed(turn.now, header, is_stored);
    match held {
        Ok(true) => turn.checker.measure_arrival(known.session, header, turn.net.now),
        _ => turn.checker.tally.unneeded += 1,
    }
    held.map(|_| ())
}

fn judge_sender(
    now: Nanos,
    session: &mut Session,
    sender: &Sender<Box<[SendSlot]>>,
    header: &Header,
    packet: &Packet<'_>,
    is_refused: bool,
) -> Result<(), String> {
    let verdict = session.sender_judges(header, packet);
    let is_right = match verdict {
        Verdict::Open => true,
        _ => is_refused == (verdict == Verdict::Refused),
    };
    let positions = (sender.released(), sender.credit());
    let known = (session.sender_positions().0, session.sender_credit());
    let is_moved = verdict != Verdict::Open && positions != known && !sender.is_ended();
    if !is_right || is_moved {
        return Err(format!(
            "{header:?} {packet:?}: refused {is_refused}, must be {verdict:?}; the sender is at \
             {positions:?}, must be at {known:?}"
        ));
    }
    if sender.phase() == sender::Phase::Ended {
        return session.check_denial(now, packet, true);
    }
    Ok(())
}

/// What became of a packet.
struct Outcome {
    is_refused: bool,
    is_breaking: bool,
    /// Where the receiver was before.
    place: Place,
}

/// Holds what became of a packet, of a receiver that flowed or drained, against the rules.
fn judge_receiver(
    now: Nanos,
    session: &mut Session,
    header: &Header,
    packet: &Packet<'_>,
    outcome: &Outcome,
) -> Result<(), String> {
    let is_refused = outcome.is_refused;
    if session.is_forged {
        // What the sender has sent is not known, where the receiver stands is.
        let verdict = forged_verdict(outcome.place, header, packet);
        return check_verdict(header, packet, is_refused, verdict);
    }
    let verdict = session.receiver_judges(header, packet);
    if verdict == Verdict::Open {
        return if outcome.is_breaking { session.check_denial(now, packet, false) } else { Ok(()) };
    }
    check_verdict(header, packet, is_refused, verdict)?;
    match packet {
        Packet::Mark(mark) if !is_refused => session.mark_taken(now, header, mark.source_lost),
        Packet::Close(close) if !is_refused => session.close_taken(now, header, close),
        _ => {}
    }
    Ok(())
}

/// What a receiver that flows must do with a MARK or CLOSE, by where it stands.
fn forged_verdict(place: Place, header: &Header, packet: &Packet<'_>) -> Verdict {
    let Place::Receiver { highest_end, limit, next_index, is_draining: false } = place else {
        return Verdict::Open;
    };
    let seq = header.seq;
    let is_taken = match packet {
        Packet::Mark(mark) => !limit.before(seq) && !seq.before(mark.oldest),
        Packet::Close(_) => {
            let is_within = !seq.before(highest_end) && !limit.before(seq);
            is_within && (next_index..=FINAL_INDEX_MAX).contains(&header.index)
        }
        _ => return Verdict::Open,
    };
    if is_taken { Verdict::Taken } else { Verdict::Refused }
}

fn check_verdict(
    header: &Header,
    packet: &Packet<'_>,
    is_refused: bool,
    verdict: Verdict,
) -> Result<(), String> {
    let rule = if matches!(packet, Packet::Close(_)) { "7.2" } else { "7.12" };
    if verdict == Verdict::Open || is_refused == (verdict == Verdict::Refused) {
        return Ok(());
    }
    Err(format!(
        "{header:?} {packet:?}: refused {is_refused}, must be {verdict:?} by docs/protocol.md#{rule}"
    ))
}

/// Notes what a receiver has delivered, given up and promised.
pub(super) fn advance_receiver(
    turn: &mut Turn<'_>,
    known: &Known,
    receiver: &Receiver<Box<[RecvSlot]>>,
) {
    let session = &mut turn.checker.sessions[known.session];
    let stats = receiver.stats();
    let (before, after) = (known.state, receiver.phase());
    let is_breaking = matches!(before, State::Receiving(receiver::Phase::Breaking(_)))
        || matches!(after, receiver::Phase::Breaking(_) | receiver::Phase::Ended);
    let (delivered, skipped) = (stats.delivered, stats.skipped);
    let next_index = Some(receiver.next_index());
    let progress = Progress { delivered, skipped, next_index, is_breaking };
    let advanced = session.advance_to(turn.now, &progress);
    turn.checker.tally.wraps += *advanced.as_ref().unwrap_or(&0);
    let mut held = advanced.map(|_| ());
    if held.is_ok() {
        held = session.promised_up_to(receiver.limit());
    }
    if held.is_ok() && matches!(after, receiver::Phase::Flowing | receiver::Phase::Draining { .. })
    {
        held = session.check_patience(turn.now, false);
    }
    turn.checker.note(known.session, held);
}
