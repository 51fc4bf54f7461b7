//! What a listener receives with: a queue pair of this program, or one of a network card.

use std::io;
use std::time::Duration;

use serde::Serialize;

use super::super::RoceError;
use super::super::line::Line;
use super::kept::Kept;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// A queue pair that takes what one peer after the other writes and sends, and its memory.
pub(super) trait End {
    /// Waits for `limit` while there is no peer, and answers those who look for this station.
    fn idle(&mut self, limit: Duration) -> Result<(), Failure>;

    /// Gets ready to receive from a peer; returns the line of this end. A peer that is not live says
    /// nothing on TCP, and may start later.
    fn connect(
        &mut self,
        peer: &Line,
        is_live: bool,
        interrupt: &Interrupt,
    ) -> Result<Line, RoceError>;

    /// Takes what has come, and keeps the messages that are complete.
    fn turn(&mut self, kept: &mut Kept) -> Result<Turn, Failure>;

    /// Waits until something comes, or `limit` has passed.
    fn wait(&mut self, limit: Duration) -> io::Result<()>;

    /// Advice for the user, once.
    fn advice(&mut self) -> Option<String> {
        None
    }

    /// Ends the connection, if there is one: what comes later is dropped. The peer has written
    /// `stated` bytes, by its own count.
    fn end(&mut self, stated: Option<u64>) -> Ended;

    /// The memory that the peer could write to. Empty while a connection lasts, if the system cannot
    /// keep the peer from writing meanwhile.
    fn region(&self) -> &[u8];

    /// Fills with zeros what the last connection has written.
    fn clear(&mut self);
}

/// What a turn has brought.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Whether there may be more at once.
    pub(super) has_more: bool,
    /// Whether the peer has sent anything.
    pub(super) has_come: bool,
    /// Why the connection is over.
    pub(super) fault: Option<String>,
}

/// What a connection has brought, beside its messages.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// Messages of all kinds, those without immediate data that were written too if they are known.
    pub(super) messages: u64,
    /// Bytes that were written.
    pub(super) written: u64,
    /// The region up to the last byte that was written.
    pub(super) region_end: u64,
    pub(super) counters: Counters,
}

/// Counters of a connection; null where a network card has none.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Counters {
    pub(super) packets: Option<u64>,
    pub(super) duplicates: Option<u64>,
    pub(super) out_of_order: Option<u64>,
    pub(super) requests_marked: Option<u64>,
    pub(super) cnp_sent: Option<u64>,
    pub(super) frames_invalid: Option<u64>,
}
