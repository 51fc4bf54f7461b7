//! What must hold, and what has happened in each session.

use std::fmt;

use samplewire_proto::stream::End;
use samplewire_proto::{Gap, SampleIndex};

/// What must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// What was sent in one session is never delivered, acknowledged or ended in another.
    NoConfusion,
    /// No DATA leaves before a REPORT of its session has come.
    NoEarlyData,
    /// A stream opens only for a cookie that this run of the device made for that address.
    ProvenAddress,
    /// An end that says "finished" is one of a stream that was delivered whole.
    TrueEnd,
    /// Where the network heals, every opening and every stream ends, on both sides.
    Ends,
    /// After that a stream can be opened, and arrives.
    Reopens,
}

/// A property that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which.
    pub property: Property,
    /// What happened instead.
    pub what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.property, self.what)
    }
}

/// Every session, by number from 1, and the first thing that did not hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    sessions: Vec<Book>,
    broken: Option<Broken>,
}

/// A session.
#[derive(Clone, Debug)]
pub(super) struct Book {
    pub(super) host: usize,
    /// The order of the OPEN that opened it, among all packets.
    pub(super) opened_by: u64,
    pub(super) first_index: SampleIndex,
    /// Packets that the source has pushed, and that have been delivered.
    pub(super) pushed: u32,
    pub(super) delivered: u32,
    /// The index after what has been delivered or lies in a gap.
    next_index: SampleIndex,
    /// A REPORT of its own receiver has come to the sender.
    pub(super) is_reported: bool,
}

impl Ledger {
    /// Begins a session and returns its number.
    pub(super) fn begin(&mut self, host: usize, opened_by: u64, first_index: SampleIndex) -> u32 {
        self.sessions.push(Book {
            host,
            opened_by,
            first_index,
            pushed: 0,
            delivered: 0,
            next_index: first_index,
            is_reported: false,
        });
        self.sessions.len() as u32
    }

    pub(super) fn next_session(&self) -> u32 {
        self.sessions.len() as u32 + 1
    }

    pub(super) fn book(&self, session: u32) -> &Book {
        &self.sessions[session as usize - 1]
    }

    pub(super) fn book_mut(&mut self, session: u32) -> &mut Book {
        &mut self.sessions[session as usize - 1]
    }

    pub(super) fn check(&mut self, holds: bool, property: Property, what: impl FnOnce() -> String) {
        if !holds && self.broken.is_none() {
            self.broken = Some(Broken { property, what: what() });
        }
    }

    pub(super) fn broken(&self) -> Option<&Broken> {
        self.broken.as_ref()
    }

    /// A packet had an effect at an end of `session`.
    pub(super) fn took(&mut self, session: u32, packet: &super::packet::Flying) {
        self.check(packet.session == session, Property::NoConfusion, || {
            format!("{packet} has an effect in session {session}")
        });
    }

    /// A packet's samples are delivered in `session`.
    pub(super) fn deliver(&mut self, session: u32, bytes: &[u8], index: SampleIndex) {
        let book = self.book_mut(session);
        let expected = book.next_index;
        book.delivered += 1;
        book.next_index += u64::from(PACKET_SAMPLES);
        let is_right = bytes == payload(session, expected) && index == expected;
        self.check(is_right, Property::NoConfusion, || {
            let (of, at) = bytes.split_at(8);
            format!(
                "samples {at:?} of session {of:?} are delivered as index {index} of session \
                 {session}, where index {expected} follows"
            )
        });
    }

    /// A gap is reported in `session`: the next delivery follows it.
    pub(super) fn skip(&mut self, session: u32, gap: &Gap) {
        self.book_mut(session).next_index += gap.count();
    }

    /// An end of `session` reports how it ended.
    pub(super) fn ended(&mut self, session: u32, end: End, packets: u32) {
        let End::Finished { final_index } = end else { return };
        let Book { first_index, delivered, .. } = *self.book(session);
        let is_whole = delivered == packets
            && final_index == first_index + u64::from(packets) * u64::from(PACKET_SAMPLES);
        self.check(is_whole, Property::TrueEnd, || {
            format!(
                "session {session} has finished with {delivered} of {packets} packets delivered"
            )
        });
    }
}

/// The samples of a packet: which session, and which index.
pub(super) fn payload(session: u32, index: SampleIndex) -> [u8; PAYLOAD_BYTES] {
    let mut bytes = [0; PAYLOAD_BYTES];
    bytes[..8].copy_from_slice(&u64::from(session).to_be_bytes());
    bytes[8..].copy_from_slice(&index.to_be_bytes());
    bytes
}

pub(super) const PAYLOAD_BYTES: usize = 16;
pub(super) const PACKET_SAMPLES: u32 = 2;
