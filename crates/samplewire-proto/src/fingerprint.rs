//! The state of a machine, passed part by part to a search that recognises states.
//!
//! Only state that decides how a machine goes on is passed: counters are left out. Values without a
//! meaning of their own are passed by kind, so that a search compares them as the protocol does.
//! Names are equal or not, departures and REPORT numbers have an order, and instants have a
//! distance from the present.

use crate::number::{Departure, Nanos, Seq};
use crate::session::Peer;

/// Takes the parts of a state.
pub trait Fingerprint {
    /// A part that counts as it stands.
    fn word(&mut self, word: u64);

    /// A tag, a nonce or a cookie: only whether two are equal counts.
    fn name(&mut self, name: u128);

    /// An instant of the machine's clock, which shows `now`.
    fn instant(&mut self, now: Nanos, at: Nanos);

    /// A span that was measured.
    fn span(&mut self, span: Nanos);

    /// A departure: only the order among those of one machine counts.
    fn departure(&mut self, of: Stamper, departure: Departure);

    /// The number of a REPORT: only the order among those of one stream counts.
    fn report(&mut self, number: Seq);
}

/// Whose clock stamped a departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamper {
    /// The machine whose state is passed.
    Own,
    /// The other end of its stream.
    Other,
    /// The openers at an address.
    Opener(Peer),
}
