//! What is known of a stream's end from outside.

use samplewire_proto::receiver::{self, Receiver, ReceiverStats, RecvSlot};
use samplewire_proto::sender::{self, SendSlot, Sender, SenderStats};
use samplewire_proto::wire::{Header, Packet};
use samplewire_proto::{Departure, Nanos, SampleIndex, Seq, Tag};

use crate::check::{HasRefused, SessionId};
use crate::packets::ProcessId;

/// What an attacker on the path knows of an end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) session: SessionId,
    pub(crate) peer: ProcessId,
    /// The tags of packets to this end and from it.
    pub(crate) local_tag: Tag,
    pub(crate) peer_tag: Tag,
    pub(crate) place: Place,
    /// The peer's clock as this end knows it: departures up to now.
    pub(crate) now: Departure,
    /// It has heard its peer recently, so it ignores a denial of the stream.
    pub(crate) denial_is_early: bool,
    pub(crate) has_refused: HasRefused,
}

/// Where an end stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Sender { oldest: Seq, sent: Seq, next: Seq, is_closing: bool },
    Receiver { highest_end: Seq, limit: Seq, next_index: SampleIndex, is_draining: bool },
    Over,
}

/// All that packets may change of an end, but for the counters of packets that are not its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Observed {
    state: State,
    /// Packets that were dropped as impossible or out of place.
    refused: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Send {
        phase: sender::Phase,
        released: Seq,
        credit: u32,
        rtt: Nanos,
        stats: SenderStats,
    },
    Receive {
        phase: receiver::Phase,
        released: Seq,
        credit: u32,
        rtt: Nanos,
        stats: Box<ReceiverStats>,
    },
}

impl Observed {
    /// Whether nothing has happened since `before` but that so many packets were refused.
    pub(crate) fn is_after(&self, before: &Self, refused: u64) -> bool {
        self.state == before.state && self.refused == before.refused + refused
    }

    pub(crate) fn send<S: AsRef<[SendSlot]> + AsMut<[SendSlot]>>(sender: &Sender<S>) -> Self {
        let mut stats = *sender.stats();
        let refused = stats.reports_refused + stats.closes_refused + stats.unexpected;
        (stats.reports_refused, stats.closes_refused, stats.unexpected) = (0, 0, 0);
        stats.foreign = 0;
        let (phase, released) = (sender.phase(), sender.released());
        let (credit, rtt) = (sender.credit(), sender.rtt());
        Self { state: State::Send { phase, released, credit, rtt, stats }, refused }
    }

    pub(crate) fn receive<S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>>(
        receiver: &Receiver<S>,
    ) -> Self {
        let mut stats = Box::new(*receiver.stats());
        let refused = stats.refused + stats.beyond_credit + stats.unexpected;
        (stats.refused, stats.beyond_credit, stats.unexpected, stats.foreign) = (0, 0, 0, 0);
        let (phase, released) = (receiver.phase(), receiver.released());
        let (credit, rtt) = (receiver.credit(), receiver.rtt());
        Self { state: State::Receive { phase, released, credit, rtt, stats }, refused }
    }
}

impl Facts {
    /// Whether a packet carries what only its peer knows.
    pub(crate) fn is_named_by(&self, header: &Header, packet: &Packet<'_>) -> bool {
        match packet {
            Packet::CloseAck(ack) if header.tag == Tag::NONE => ack.echoed_tag == self.peer_tag,
            _ => header.tag == self.local_tag,
        }
    }
}
