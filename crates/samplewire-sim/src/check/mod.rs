//! The checker: knows everything that happened, and holds what the protocol says against it.
//!
//! It shares no code with what it checks but the wire's numbers. Each stream that was accepted is a
//! [`Session`]; its records say of every packet what was put into it, when it departed and whether
//! it arrived. The first thing that does not hold is kept as the failure of the run.

mod cuts;
mod drops;
mod ends;
mod feedback;
mod front;
mod gaps;
mod openings;
mod persistence;
mod rdma;
mod session;
mod table;
mod tally;
mod transitions;
mod waiting;

use std::collections::HashSet;

use samplewire_proto::receiver::Delivery;
use samplewire_proto::wire::{Flags, Header};
use samplewire_proto::{Nanos, Tag};

use crate::packets::ProcessId;

pub(crate) use feedback::{FINAL_INDEX_MAX, Verdict};
pub(crate) use front::Progress;
use openings::Openings;
pub(crate) use openings::{At, Done, Duty};
pub(crate) use rdma::RdmaTerms;
pub(crate) use session::{Agreed, Breach, HasRefused, Session};
pub use tally::Tally;
pub use transitions::{Machine, Transition, Transitions};
pub(crate) use transitions::{ended_state, event_of, opener_state, receiver_state, sender_state};

/// A session's number.
pub(crate) type SessionId = usize;

/// All sessions of a world, and what was counted.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    pub(crate) sessions: Vec<Session>,
    pub(crate) tally: Tally,
    pub(crate) transitions: Transitions,
    pub(crate) openings: Openings,
    /// Openings that an attacker on the path has touched: the device, and the opener's tag.
    tainted: HashSet<(ProcessId, Tag)>,
    /// Each packet that came as a repeat and was needed, if requested.
    pub(crate) repairs: Option<Vec<Repair>>,
    failure: Option<String>,
}

/// A packet that was lost and came again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repair {
    /// Its place in the stream.
    pub(crate) number: u32,
    /// From its first departure to its arrival.
    pub(crate) took: Nanos,
}

impl Checker {
    /// The first thing that did not hold.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    pub(crate) fn fail(&mut self, what: String) {
        self.failure.get_or_insert(what);
    }

    /// Notes that a listener has accepted a stream.
    pub(crate) fn begin(&mut self, agreed: Agreed) -> SessionId {
        self.tally.openings += 1;
        self.tally.openings_over_rdma += u64::from(agreed.rdma.is_some());
        let psn_of = |agreed: &Agreed| Some((agreed.listener, agreed.rdma?.sender.first_psn));
        let psn = psn_of(&agreed);
        let last = self.sessions.iter().rev().find_map(|it| psn_of(&it.agreed));
        if psn.is_some() && psn == last {
            self.fail(format!("{psn:?} twice in succession: docs/protocol.md#13.7"));
        }
        self.sessions.push(Session::new(agreed));
        self.sessions.len() - 1
    }

    /// Notes that an attacker on the path has touched the openings of a tag.
    pub(crate) fn taint(&mut self, device: ProcessId, opener_tag: Tag) {
        self.tainted.insert((device, opener_tag));
    }

    pub(crate) fn is_tainted(&self, device: ProcessId, opener_tag: Tag) -> bool {
        self.tainted.contains(&(device, opener_tag))
    }

    /// The session that a listener's tag names.
    pub(crate) fn session_of(&self, listener: ProcessId, tag: Tag) -> Option<SessionId> {
        self.sessions
            .iter()
            .rposition(|session| session.agreed.tag == tag && session.agreed.listener == listener)
    }

    /// Measures the repair of a packet that was needed and has come.
    pub(crate) fn measure_arrival(&mut self, id: SessionId, header: &Header, now: Nanos) {
        if let Some(repairs) = &mut self.repairs
            && header.flags.contains(Flags::RETRANSMISSION)
        {
            let session = &self.sessions[id];
            let departed_at = session.record(header.seq).departed_at.unwrap_or(now);
            let number = header.seq - session.agreed.first_seq;
            repairs.push(Repair { number, took: now.since(departed_at) });
        }
    }

    /// Keeps the failure of a check on a session.
    pub(crate) fn note(&mut self, id: SessionId, held: Result<(), String>) {
        if let Err(what) = held {
            let session = &self.sessions[id];
            self.fail(format!("stream {id} ({:?}): {what}", session.agreed.delivery));
        }
    }
}

/// The deadline of a delivery, if it has one.
pub(crate) const fn deadline_of(delivery: Delivery) -> Option<Nanos> {
    match delivery {
        Delivery::Deadline(deadline) => Some(deadline),
        Delivery::Complete | Delivery::BestEffort => None,
    }
}
