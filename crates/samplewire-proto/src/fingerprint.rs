//! The state of a machine, told part by part to a search that knows states again.
//!
//! Only what decides how a machine goes on is told: counters are left out. What has no meaning of
//! its own is told by kind, so that a search may compare it as the protocol does: names are equal
//! or not, departures and REPORT numbers have an order, instants a distance from the present.

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
    /// The machine that tells its state.
    Own,
    /// The other end of its stream.
    Other,
    /// The openers at an address.
    Opener(Peer),
}
