//! The fingerprint of a state: what two states have in common that go on alike.
//!
//! Names are numbered by first appearance, departures and REPORT numbers by their rank among those
//! of the same clock or stream, instants by their distance from the present in steps that grow.

use samplewire_proto::fingerprint::{Fingerprint, Stamper};
use samplewire_proto::session::Peer;
use samplewire_proto::{Departure, Nanos, Seq};

use super::packet::host_of;

/// Numbers of which only the order among each other counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Space {
    /// Departures of the sender of a session.
    Sender(u32),
    /// Departures of the receiver of a session.
    Receiver(u32),
    /// Departures of the openers of a host.
    Opener(u32),
    /// REPORTs of a session.
    Reports(u32),
}

/// Collects a state. One serves for many states, one after another.
#[derive(Debug)]
pub(super) struct Canon {
    words: Vec<u64>,
    names: Vec<u128>,
    /// Space, number, and the word that its rank becomes.
    ranked: Vec<(Space, u32, usize)>,
    own: Space,
    other: Space,
    reports: Space,
}

impl Canon {
    pub(super) fn new() -> Self {
        let none = Space::Opener(u32::MAX);
        let (words, names, ranked) = (vec![], vec![], vec![]);
        Self { words, names, ranked, own: none, other: none, reports: none }
    }

    /// The machine that passes its state next is an end of this session.
    pub(super) const fn begin_machine(&mut self, session: u32, is_sender: bool) {
        let (sender, receiver) = (Space::Sender(session), Space::Receiver(session));
        (self.own, self.other) = if is_sender { (sender, receiver) } else { (receiver, sender) };
        self.reports = Space::Reports(session);
    }

    pub(super) fn rank(&mut self, space: Space, number: u32) {
        self.ranked.push((space, number, self.words.len()));
        self.words.push(0);
    }

    /// Ends the state, and leaves room for the next.
    pub(super) fn finish(&mut self) -> u64 {
        self.ranked.sort_unstable();
        let (mut rank, mut last) = (0, None);
        for &(space, number, at) in &self.ranked {
            rank = match last {
                Some((last_space, _)) if last_space != space => 0,
                Some((_, last_number)) if last_number != number => rank + 1,
                _ => rank,
            };
            last = Some((space, number));
            self.words[at] = rank;
        }
        let hash = self.words.iter().fold(self.words.len() as u64, |hash, word| mix(hash ^ *word));
        self.words.clear();
        self.names.clear();
        self.ranked.clear();
        hash
    }
}

impl Fingerprint for Canon {
    fn word(&mut self, word: u64) {
        self.words.push(word);
    }

    fn name(&mut self, name: u128) {
        let known = self.names.iter().position(|known| *known == name);
        let number = known.unwrap_or(self.names.len());
        if known.is_none() {
            self.names.push(name);
        }
        self.words.push(number as u64);
    }

    fn instant(&mut self, now: Nanos, at: Nanos) {
        self.words.push(coarse(at.since(now)));
    }

    fn span(&mut self, span: Nanos) {
        self.words.push(coarse(span));
    }

    fn departure(&mut self, of: Stamper, departure: Departure) {
        let space = match of {
            Stamper::Own => self.own,
            Stamper::Other => self.other,
            Stamper::Opener(peer) => self.opener_space(&peer),
        };
        self.rank(space, departure.0);
    }

    fn report(&mut self, number: Seq) {
        self.rank(self.reports, number.0);
    }
}

impl Canon {
    fn opener_space(&mut self, peer: &Peer) -> Space {
        let host = host_of(peer) as u32;
        self.words.push(host.into());
        Space::Opener(host)
    }
}

/// A distance by class, and by 100 ms beyond 50 ms: the pauses of the protocol are 20 us, 1 ms, 5 to
/// 20 ms, 40 ms, and multiples of 100 ms.
fn coarse(span: Nanos) -> u64 {
    const CLASSES_US: [u64; 5] = [1, 50, 1_500, 15_000, 50_000];
    let us = span.0.div_ceil(1_000);
    match CLASSES_US.iter().position(|end| us < *end) {
        Some(class) => class as u64,
        None => CLASSES_US.len() as u64 + us / 100_000,
    }
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014) over a step.
const fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ word >> 31
}
