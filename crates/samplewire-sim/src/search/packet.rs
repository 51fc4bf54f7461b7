//! A packet in flight, and what the search knows of it that no machine does.

use std::fmt;
use std::rc::Rc;

use samplewire_proto::fingerprint::Fingerprint;
use samplewire_proto::session::Peer;
use samplewire_proto::wire::{self, CloseAckReason, Header, Packet, PacketType, TRAILER_LEN};
use samplewire_proto::{Departure, Tag, crc};

use super::canon::{Canon, Space};

/// A process of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Process {
    Device,
    Host(usize),
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device => f.write_str("the device"),
            Self::Host(0) => f.write_str("host A"),
            Self::Host(_) => f.write_str("host B"),
        }
    }
}

/// What a process sends.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) to: Process,
    pub(super) bytes: Vec<u8>,
    /// The session that it is of, or whose packet it answers as unknown; 0 = of none.
    pub(super) session: u32,
}

/// A packet on its way.
#[derive(Debug)]
pub(super) struct Flying {
    pub(super) from: Process,
    pub(super) to: Process,
    pub(super) bytes: Rc<[u8]>,
    pub(super) session: u32,
    /// How many packets had left when it did.
    pub(super) order: u64,
    pub(super) kind: PacketType,
    tokens: Vec<Token>,
    text: String,
}

/// A part of a packet, as a fingerprint takes it.
#[derive(Clone, Copy, Debug)]
enum Token {
    Word(u64),
    Name(u128),
    Rank(Space, u32),
}

impl Flying {
    pub(super) fn new(from: Process, outgoing: Outgoing, order: u64) -> Self {
        let Outgoing { to, bytes, session } = outgoing;
        let (header, packet) = wire::parse(&bytes).expect("what our machines send parses");
        let (tokens, text) = (tokens(from, session, &header, &packet), text(&header, &packet));
        Self { from, to, session, order, kind: header.kind, tokens, text, bytes: bytes.into() }
    }

    /// The order in which a state lists what is in flight: none of what is renamed comes into it.
    pub(super) fn key(&self) -> (Process, Process, u8, u32, u64) {
        (self.to, self.from, self.kind as u8, self.session, self.order)
    }

    pub(super) fn fingerprint(&self, canon: &mut Canon) {
        let Process::Host(host) = self.from else { return self.tokens_into(0, canon) };
        self.tokens_into(1 + host as u64, canon);
    }

    fn tokens_into(&self, from: u64, canon: &mut Canon) {
        canon.word(from);
        canon.word(matches!(self.to, Process::Host(1)).into());
        for token in &self.tokens {
            match *token {
                Token::Word(word) => canon.word(word),
                Token::Name(name) => canon.name(name),
                Token::Rank(space, number) => canon.rank(space, number),
            }
        }
    }
}

impl fmt::Display for Flying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} #{} of {}", self.text, self.order, self.from)?;
        if self.session == 0 { Ok(()) } else { write!(f, " [session {}]", self.session) }
    }
}

fn tokens(from: Process, session: u32, header: &Header, packet: &Packet<'_>) -> Vec<Token> {
    use Token::{Name, Rank, Word};
    let (sender, receiver) = (Space::Sender(session), Space::Receiver(session));
    let reports = Space::Reports(session);
    let rank = |space, departure: Departure| Rank(space, departure.0);
    let mut tokens = vec![
        Word(header.kind as u64),
        Word(header.flags.0.into()),
        Name(header.tag.0.into()),
        Name(u128::from(session) | SESSION_NAME),
    ];
    tokens.extend(match packet {
        Packet::Data(_) => vec![Word(header.seq.0.into()), rank(sender, header.departure)],
        Packet::Mark(mark) => vec![
            Word(header.seq.0.into()),
            Word(mark.oldest.0.into()),
            rank(sender, header.departure),
            rank(receiver, mark.echo),
        ],
        Packet::Report(report) => {
            let fields = &report.fields;
            let mut parts = vec![
                Word(fields.released.0.into()),
                Word(fields.limit.0.into()),
                Word(fields.highest_end.0.into()),
                Rank(reports, header.seq.0),
                rank(receiver, header.departure),
                rank(sender, fields.settled),
                rank(sender, fields.echo),
            ];
            let ranges = report.ranges.iter();
            parts.extend(ranges.flat_map(|r| [Word(r.first.0.into()), Word(r.count.into())]));
            parts
        }
        Packet::Open(open) => {
            let Process::Host(host) = from else { unreachable!("the device opens nothing") };
            vec![
                Name(open.tag.0.into()),
                Name(open.nonce.into()),
                Name(u128::from_be_bytes(open.cookie)),
                rank(Space::Opener(host as u32), header.departure),
            ]
        }
        Packet::Challenge(challenge) => {
            vec![Name(challenge.nonce.into()), Name(u128::from_be_bytes(challenge.cookie))]
        }
        Packet::Accept(accept) => vec![Name(accept.nonce.into()), Name(accept.tag.0.into())],
        Packet::Refuse(refuse) => {
            vec![Name(refuse.nonce.into()), Word(refuse.reason.number().into())]
        }
        Packet::Close(close) => {
            let own = if from == Process::Device { sender } else { receiver };
            vec![
                Word(close.reason.number().into()),
                Word(header.seq.0.into()),
                rank(own, header.departure),
            ]
        }
        Packet::CloseAck(ack) => vec![
            Word(ack.reason.number().into()),
            Word(header.seq.0.into()),
            Name(ack.echoed_tag.0.into()),
        ],
    });
    tokens
}

fn text(header: &Header, packet: &Packet<'_>) -> String {
    let (seq, tag) = (header.seq, header.tag.0);
    match packet {
        Packet::Data(_) => format!("DATA seq {seq}"),
        Packet::Mark(mark) => format!("MARK seq {seq} oldest {}", mark.oldest),
        Packet::Report(report) => {
            let fields = &report.fields;
            let wants: u32 = report.ranges.iter().map(|range| range.count).sum();
            let (released, limit) = (fields.released, fields.limit);
            format!("REPORT {seq} released {released} limit {limit} wants {wants}")
        }
        Packet::Open(open) if open.cookie == [0; 16] => format!("OPEN, tag {:08x}", open.tag.0),
        Packet::Open(open) => format!("OPEN with cookie, tag {:08x}", open.tag.0),
        Packet::Challenge(_) => format!("CHALLENGE to tag {tag:08x}"),
        Packet::Accept(accept) => format!("ACCEPT to tag {tag:08x}, tag {:08x}", accept.tag.0),
        Packet::Refuse(refuse) => format!("REFUSE {:?}", refuse.reason),
        Packet::Close(close) => format!("CLOSE {:?} seq {seq}", close.reason),
        Packet::CloseAck(ack) if ack.reason == CloseAckReason::UnknownTag => {
            format!("CLOSE_ACK unknown tag {:08x}", ack.echoed_tag.0)
        }
        Packet::CloseAck(_) => format!("CLOSE_ACK seq {seq}"),
    }
}

/// Puts another tag into a packet's header.
pub(super) fn retag(bytes: &mut [u8], tag: Tag) {
    bytes[TAG_AT..][..4].copy_from_slice(&tag.0.to_be_bytes());
    reseal(bytes);
}

/// Puts another tag into the body of a CLOSE_ACK.
pub(super) fn retag_echo(bytes: &mut [u8], tag: Tag) {
    bytes[ECHOED_TAG_AT..][..4].copy_from_slice(&tag.0.to_be_bytes());
    reseal(bytes);
}

/// Puts a cookie into an OPEN.
pub(super) fn put_cookie(bytes: &mut [u8], cookie: &[u8; 16]) {
    bytes[COOKIE_AT..][..16].copy_from_slice(cookie);
    reseal(bytes);
}

/// Puts another departure into a packet's header.
pub(super) fn restamp(bytes: &mut [u8], departure: Departure) {
    bytes[DEPARTURE_AT..][..4].copy_from_slice(&departure.0.to_be_bytes());
    reseal(bytes);
}

/// Makes the CRC right.
fn reseal(bytes: &mut [u8]) {
    let (covered, trailer) = bytes.split_at_mut(bytes.len() - TRAILER_LEN);
    trailer.copy_from_slice(&crc::crc32c(covered).to_be_bytes());
}

/// The address of a host.
pub(super) const fn peer_of(host: usize) -> Peer {
    Peer::v4([10, 0, 0, host as u8], 4000)
}

/// The host of an address.
pub(super) const fn host_of(peer: &Peer) -> usize {
    peer.0[15] as usize
}

/// Keeps the names of sessions apart from tags, nonces and cookies.
pub(super) const SESSION_NAME: u128 = 1 << 100;

/// `docs/protocol.md#2.2`, `#2.13`, `#2.18`.
const TAG_AT: usize = 2;
const DEPARTURE_AT: usize = 18;
const COOKIE_AT: usize = 22 + 24;
const ECHOED_TAG_AT: usize = 22 + 4;
