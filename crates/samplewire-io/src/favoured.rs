//! Which packets a port keeps apart from a flood.

use std::net::SocketAddr;

/// Packets that a port must not lose to a flood of others: those in which every word of one of
/// the alternatives stands.
///
/// A link knows nothing of what packets mean, so the caller names bytes of the UDP payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Favoured<'a> {
    /// At most [`Favoured::ALTERNATIVES_MAX`].
    pub alternatives: &'a [&'a [Word<'a>]],
}

/// Four bytes of a UDP payload, as a number in network byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    /// Where the first of them stands.
    pub offset_bytes: u16,
    /// What they may be, in any order: one of these.
    pub values: &'a [u32],
}

/// The tags of the streams that flow: one of them stands in each of their packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownTags<'a> {
    /// Where the tag of a packet stands, and the tags.
    pub word: Word<'a>,
    /// The peer that sends packets with each of these tags, in the same order. For a link to one
    /// peer it may be empty.
    pub peers: &'a [SocketAddr],
}

impl Favoured<'_> {
    /// The most alternatives.
    pub const ALTERNATIVES_MAX: usize = 20;
    /// The most words of an alternative.
    pub const WORDS_MAX: usize = 4;
    /// The most values of all words together.
    pub const VALUES_MAX: usize = 2_200;
}
