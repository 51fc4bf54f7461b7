//! What both ends need of the host: randomness and addresses; and the sizes of packets.

use std::io;
use std::net::SocketAddr;

use samplewire_io::links::{self, LINKS_MAX};
use samplewire_io::{ErrorCounts, Link, UdpOptions, Word};
use samplewire_proto::Nanos;
use samplewire_proto::session::{ListenStats, Peer};
use samplewire_proto::stream::PAYLOAD_OFFSET_MAX;
use samplewire_proto::wire::{HEADER_LEN, TRAILER_LEN};

use crate::error::OpenError;

/// 16 random bytes of the operating system.
///
/// # Errors
/// The operating system has no randomness to give.
pub(crate) fn seed() -> io::Result<[u8; 16]> {
    let mut seed = [0; 16];
    getrandom::fill(&mut seed).map_err(io::Error::other)?;
    Ok(seed)
}

/// A random ID by which devices know a program: see
/// [`ReceiveOptions::owner`](crate::ReceiveOptions::owner).
///
/// # Errors
/// The operating system has no randomness to give.
pub fn draw_owner() -> io::Result<u64> {
    Ok(u64::from_le_bytes(*seed()?.first_chunk().expect("16 bytes")).max(1))
}

/// Binds a link to each of these addresses: those of one port.
///
/// # Errors
/// There are none or too many, or one cannot be bound.
pub(crate) fn bind_each(
    locals: &[SocketAddr],
    options: &UdpOptions,
) -> Result<Box<dyn Link>, OpenError> {
    if !(1..=LINKS_MAX).contains(&locals.len()) {
        let (option, value) = ("local addresses", locals.len() as u64);
        return Err(OpenError::OptionRange { option, value, range: LINKS_RANGE });
    }
    Ok(links::bind(locals, options)?)
}

/// Where a sent stream goes, and over what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) peer: SocketAddr,
    /// The speed of the interface in bits a second, if that is known.
    pub(crate) line_bps: Option<u64>,
}

impl Route {
    /// By an interface of unknown speed.
    pub(crate) const fn unknown(peer: SocketAddr) -> Self {
        Self { peer, line_bps: None }
    }
}

/// The protocol's opaque form of an address.
pub(crate) fn peer_of(address: SocketAddr) -> Peer {
    match address {
        SocketAddr::V4(v4) => Peer::v4(v4.ip().octets(), v4.port()),
        SocketAddr::V6(v6) => Peer::v6(v6.ip().octets(), v6.port()),
    }
}

/// The tag of a packet, as a link knows it: one of these (`docs/protocol.md#2.2`).
pub(crate) const fn tag_word(tags: &[u32]) -> Word<'_> {
    Word { offset_bytes: 2, values: tags }
}

/// The tag that a CLOSE_ACK echoes: one of these (`docs/protocol.md#2.18`).
pub(crate) const fn echoed_tag_word(tags: &[u32]) -> Word<'_> {
    Word { offset_bytes: HEADER_LEN as u16 + 4, values: tags }
}

/// What a port counts besides its streams.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PortCounts {
    /// Counters of the listener, over all sessions.
    pub(crate) listen: ListenStats,
    /// Packets whose CRC was wrong.
    pub(crate) corrupted: u64,
    /// Packets that were not of the protocol.
    pub(crate) foreign: u64,
    /// Errors of the link that ended nothing.
    pub(crate) link: ErrorCounts,
}

/// How long a port goes on after its program is gone, for the other side to learn of it.
pub(crate) const LINGER_MAX: Nanos = Nanos::from_millis(1_500);

/// The longest wait for a link that is full.
pub(crate) const LINK_FULL_PAUSE: Nanos = Nanos::from_millis(1);

/// Ranges of a REPORT that a host takes; hardware takes 32.
pub(crate) const RANGES_MAX: u16 = 128;

/// Packets in one batch from or to a link.
pub(crate) const BATCH_PACKETS: usize = 64;

/// What a DATA packet has besides its payload, in bytes: the head at its longest, and the CRC.
pub(crate) const PACKET_OVERHEAD_BYTES: usize = PAYLOAD_OFFSET_MAX as usize + TRAILER_LEN;

/// The largest IP packet, headers included, in bytes.
pub(crate) const IP_BYTES_MAX: usize = 9_000;

/// [`LINKS_MAX`] in words.
const LINKS_RANGE: &str = "1 to 8";
const _: () = assert!(LINKS_MAX == 8);

/// The range of an MTU in words.
pub(crate) const MTU_RANGE: &str = "576 to 9000 bytes";

/// The largest UDP payload that a batch takes.
pub(crate) const PACKET_BYTES_MAX: usize = IP_BYTES_MAX - 28;

#[cfg(test)]
mod tests {
    use samplewire_proto::wire::{CloseAck, CloseAckReason, Flags, Header, PacketType};
    use samplewire_proto::{Departure, Seq, Tag};

    use super::*;

    #[test]
    fn words_stand_where_the_wire_has_the_tags() {
        let header = Header {
            kind: PacketType::CloseAck,
            flags: Flags::NONE,
            tag: Tag(0x0102_0304),
            index: 0,
            seq: Seq(0),
            departure: Departure(0),
        };
        let echoed_tag = Tag(0x0506_0708);
        let ack = CloseAck { reason: CloseAckReason::UnknownTag, echoed_tag, source_lost: 0 };
        let mut bytes = [0; CloseAck::PACKET_LEN];
        ack.emit(&header, &mut bytes);
        for (word, tag) in [(tag_word(&[]), header.tag), (echoed_tag_word(&[]), echoed_tag)] {
            let at = usize::from(word.offset_bytes);
            assert_eq!(bytes[at..at + 4], tag.0.to_be_bytes());
        }
    }

    #[test]
    fn ipv4_peer_is_known_as_such() {
        assert_eq!(peer_of("192.0.2.1:5".parse().unwrap()).ip_overhead(), 28);
        assert_eq!(peer_of("[2001:db8::1]:5".parse().unwrap()).ip_overhead(), 48);
    }
}
