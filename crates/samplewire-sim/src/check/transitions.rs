//! How often each transition of the protocol's state tables was taken.

use std::collections::BTreeMap;

use samplewire_proto::session::OpenPhase;
use samplewire_proto::stream::End;
use samplewire_proto::wire::{CloseReason, PacketType};
use samplewire_proto::{receiver, sender};

use super::table::TABLE;

/// Which state table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Machine {
    /// The opening end.
    Opener,
    /// The answering end.
    Listener,
    /// The sending end of a stream.
    Sender,
    /// The receiving end of a stream.
    Receiver,
}

/// One row of a state table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Transition {
    /// Whose.
    pub machine: Machine,
    /// The state before.
    pub from: &'static str,
    /// What happened.
    pub event: &'static str,
    /// The state after.
    pub to: &'static str,
}

/// Counts by transition; a change of state is rare beside packets, so a map will do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transitions {
    taken: BTreeMap<Transition, u64>,
}

impl Transitions {
    /// Each transition that is known and each that was taken, with how often.
    pub fn iter(&self) -> impl Iterator<Item = (Transition, u64)> + '_ {
        let mut all: BTreeMap<Transition, u64> = TABLE.iter().map(|row| (*row, 0)).collect();
        all.extend(self.taken.iter().map(|(row, count)| (*row, *count)));
        all.into_iter()
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        for (row, count) in &other.taken {
            *self.taken.entry(*row).or_default() += count;
        }
    }

    /// Transitions that no state table has.
    pub fn unknown(&self) -> impl Iterator<Item = &Transition> {
        self.taken.keys().filter(|row| !TABLE.contains(row))
    }

    /// Counts what a machine has done that is seen before and after alone: the packet `event`, if one
    /// came, and then what follows without a packet.
    pub(crate) fn infer(
        &mut self,
        machine: Machine,
        from: &'static str,
        event: Option<&'static str>,
        to: &'static str,
    ) {
        if from == to {
            return;
        }
        let rows = || TABLE.iter().filter(|row| row.machine == machine);
        let is_own = |row: &&Transition| !PACKETS.contains(&row.event);
        let first = |row: &&Transition| row.from == from && event.is_none_or(|it| it == row.event);
        let by_event = rows().filter(first).filter(|row| event.is_some() || is_own(row));
        // Perhaps the packet changed nothing, and the change came without it.
        let alone = rows().filter(|row| row.from == from).filter(is_own);
        for row in by_event.chain(alone) {
            if row.to == to {
                return self.count(machine, from, row.event, to);
            }
            if let Some(next) = rows().filter(is_own).find(|it| it.from == row.to && it.to == to) {
                self.count(machine, from, row.event, row.to);
                return self.count(machine, next.from, next.event, to);
            }
        }
        self.count(machine, from, event.unwrap_or("time"), to);
    }

    /// Counts the end of a machine of which the last packet is not known.
    pub(crate) fn infer_end(&mut self, machine: Machine, from: &'static str, to: &'static str) {
        let row = TABLE.iter().find(|row| (row.machine, row.from, row.to) == (machine, from, to));
        self.count(machine, from, row.map_or("time", |row| row.event), to);
    }

    pub(crate) fn count(
        &mut self,
        machine: Machine,
        from: &'static str,
        event: &'static str,
        to: &'static str,
    ) {
        if from != to {
            *self.taken.entry(Transition { machine, from, event, to }).or_default() += 1;
        }
    }
}

/// The name of a sender's state.
pub(crate) const fn sender_state(phase: sender::Phase) -> &'static str {
    match phase {
        sender::Phase::Opening => "Opening",
        sender::Phase::Flowing => "Flowing",
        sender::Phase::Closing(CloseReason::QueuePairFailed) => "Closing(failed)",
        sender::Phase::Closing(_) => "Closing",
        sender::Phase::Ended => "Ended",
    }
}

/// The name of a sender that has ended so.
pub(crate) const fn ended_state(end: End) -> &'static str {
    match end {
        End::Finished { .. } => "Ended(finished)",
        End::Cancelled => "Ended(cancelled)",
        End::ClosedByPeer(_) => "Ended(closed by peer)",
        End::PeerRestarted => "Ended(peer restarted)",
        End::PeerSilent => "Ended(peer silent)",
        End::CircuitBreaker => "Ended(circuit breaker)",
        End::QueuePairFailed => "Ended(queue pair failed)",
        End::Violation(_) => "Ended(violation)",
    }
}

/// The name of a receiver's state.
pub(crate) const fn receiver_state(phase: receiver::Phase) -> &'static str {
    match phase {
        receiver::Phase::Flowing => "Flowing",
        receiver::Phase::Draining { .. } => "Draining",
        receiver::Phase::Lingering { .. } => "Lingering",
        receiver::Phase::Breaking(End::PeerSilent) => "Breaking(silent)",
        receiver::Phase::Breaking(_) => "Breaking(restarted)",
        receiver::Phase::Cancelling { .. } => "Cancelling",
        receiver::Phase::Ended => "Ended",
    }
}

/// The name of an opener's state.
pub(crate) const fn opener_state(phase: OpenPhase) -> &'static str {
    match phase {
        OpenPhase::Asking => "Asking",
        OpenPhase::Trying => "Trying",
        OpenPhase::Done => "Done",
    }
}

/// The name of the event that a packet is.
pub(crate) const fn event_of(kind: PacketType, is_unknown: bool) -> &'static str {
    match kind {
        PacketType::CloseAck if is_unknown => "CLOSE_ACK unknown",
        _ => kind.name(),
    }
}

/// Events that are packets.
const PACKETS: [&str; 7] =
    ["CLOSE", "CLOSE_ACK", "CLOSE_ACK unknown", "REPORT", "CHALLENGE", "ACCEPT", "REFUSE"];
