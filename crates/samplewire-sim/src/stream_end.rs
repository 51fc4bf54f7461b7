//! Either end of a stream.

use samplewire_proto::Nanos;
use samplewire_proto::wire::{Header, Packet};

use crate::process::Turn;
use crate::receiving::ReceiveEnd;
use crate::sending::SendEnd;

/// A sender or a receiver with what stands behind it.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a few in a world, and no pointer to chase a packet")]
pub(crate) enum StreamEnd {
    Send(SendEnd),
    Receive(ReceiveEnd),
}

impl StreamEnd {
    /// Takes a packet; `false` when it is of another stream.
    pub(crate) fn handle(
        &mut self,
        turn: &mut Turn<'_>,
        header: &Header,
        packet: &Packet<'_>,
        is_marked: bool,
    ) -> bool {
        match self {
            Self::Send(end) => end.handle(turn, header, packet),
            Self::Receive(end) => end.handle(turn, header, packet, is_marked),
        }
    }

    pub(crate) fn run(&mut self, turn: &mut Turn<'_>) {
        match self {
            Self::Send(end) => end.run(turn),
            Self::Receive(end) => end.run(turn),
        }
    }

    pub(crate) fn wakes_at(&self, now: Nanos) -> Option<Nanos> {
        match self {
            Self::Send(end) => end.wakes_at(now),
            Self::Receive(end) => end.wakes_at(now),
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        match self {
            Self::Send(end) => end.is_ended(),
            Self::Receive(end) => end.is_ended(),
        }
    }

    /// Dies without a word.
    pub(crate) fn vanish(&mut self, turn: &mut Turn<'_>) {
        let (session, is_sender) = match self {
            Self::Send(end) => (end.session(), true),
            Self::Receive(end) => (end.session(), false),
        };
        turn.checker.vanished(session, is_sender);
        self.close_books(turn);
    }

    /// Gives back what the machine lent.
    pub(crate) fn close_books(&mut self, turn: &mut Turn<'_>) {
        if let Self::Receive(end) = self {
            end.give_back_all(turn);
        }
    }
}
