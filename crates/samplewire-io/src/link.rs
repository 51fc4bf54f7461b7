//! The trait that every backend and every middleware implements.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

pub use crate::batch::{Batch, BatchFull, Meta};
use crate::ether::EtherLink;
pub use crate::favoured::{Favoured, KnownTags, Word};
pub use crate::wake::{Sleep, Waker};
use crate::xdp::XdpLog;

/// Moves batches of UDP payloads. Never blocks but in [`Link::wait`].
pub trait Link: Send {
    /// What this link can do and was granted.
    fn capabilities(&self) -> Capabilities;

    /// The local address.
    fn local_addr(&self) -> SocketAddr;

    /// The local addresses: of a link over several, that of each in their order.
    fn local_addrs(&self) -> Vec<SocketAddr> {
        vec![self.local_addr()]
    }

    /// Sends as many of `packets` as fit, in order, and says how many.
    ///
    /// # Errors
    /// [`Concern::of`](crate::Concern::of) says what an error concerns. One that concerns a packet, a
    /// destination or a stream concerns `packets[0]`, and nothing was sent: where a later packet is at
    /// fault, those before it are sent and counted, and the error comes when it is offered first. The
    /// caller drops that packet and goes on; [`Resilient`](crate::Resilient) does so for an endpoint.
    /// Only an error that concerns the socket or the host ends an endpoint.
    ///
    /// What the network answers (ICMP) is not an error: the protocol's timers find silent peers, and
    /// [`Link::unreachable_hint`] counts the answers. Where such an answer keeps one packet from
    /// leaving again and again, the error is that of this packet.
    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError>;

    /// Replaces the content of `batch` with what has arrived, or the first of it; with nothing where
    /// nothing has. Whether more is there, the next call says.
    ///
    /// # Errors
    /// See [`LinkError`].
    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError>;

    /// Blocks until something can be received, `timeout` has passed, or a [`Waker`] woke it.
    ///
    /// After a `send` that took fewer than it was given, also until more may fit. May return
    /// early for no reason.
    ///
    /// # Errors
    /// As for [`Link::send`].
    fn wait(&mut self, timeout: Duration) -> Result<(), LinkError> {
        let mut sleep = Sleep::new(timeout);
        self.begin_wait(&mut sleep)?;
        let slept = self.waker().sleep(&mut sleep);
        self.end_wait(&sleep)?;
        let (operation, address) = ("wait", self.local_addr());
        slept.map_err(|source| LinkError::System { operation, address, source })
    }

    /// Adds to a wait what ends it for this link: one wait serves several links ([`Links`](crate::Links)).
    /// A link that has nothing to add is looked at every millisecond.
    ///
    /// # Errors
    /// As for [`Link::send`].
    fn begin_wait(&mut self, sleep: &mut Sleep) -> Result<(), LinkError> {
        sleep.at_most(UNKNOWN_SPAN);
        Ok(())
    }

    /// A wait that this link has added to is over.
    ///
    /// # Errors
    /// As for [`Link::send`].
    fn end_wait(&mut self, _sleep: &Sleep) -> Result<(), LinkError> {
        Ok(())
    }

    /// A handle by which another thread ends a [`Link::wait`] early.
    fn waker(&self) -> Waker;

    /// Makes room, as far as it can, for `packets` of `packet_bytes` (UDP payload) that may come
    /// before anybody looks: a window that fits is never dropped here. Room is not taken back.
    fn make_room(&mut self, _packets: u32, _packet_bytes: usize) {}

    /// Whether the last `send` took fewer than it was given because the link was full: to offer it
    /// the rest at once would only cost a call. A link that does not know returns `false`.
    fn is_full(&self) -> bool {
        false
    }

    /// Whether packets to `peer`, or of `None` to any peer, may fit although a `send` took fewer than it
    /// was given: of several links one may be full, and another not. It holds until the next `recv`.
    fn has_room_for(&mut self, _peer: Option<SocketAddr>) -> bool {
        false
    }

    /// How many times the network said that a peer cannot be reached: nothing listens there, or
    /// no route leads there. Zero where the link cannot know.
    fn unreachable_hint(&self) -> u64 {
        0
    }

    /// The speed in bits a second of the interface that packets to `peer` leave by. `None` where it is
    /// unknown, or the interface is virtual.
    fn line_bps(&mut self, _peer: SocketAddr) -> Option<u64> {
        None
    }

    /// Puts what this link does to its packets, such as faults or a capture, on a link of frames beside
    /// it. A link that only moves packets returns it as it is.
    fn frames(&mut self, frames: Box<dyn EtherLink>) -> Box<dyn EtherLink> {
        frames
    }

    /// From now on favoured packets come first, and a flood of others takes no room from them;
    /// `None` ends that. Says whether it holds: a link may not be able to, and receives as before.
    ///
    /// Others still come, later and fewer, on a link for any number of peers; on a link to one
    /// peer they do not, and [`Meta::dropped`] is `None` while that lasts, since the system counts
    /// them with what found no room.
    fn favour(&mut self, _favoured: Option<&Favoured<'_>>) -> bool {
        false
    }

    /// Names the tags of the streams that flow. A link may take their packets past the kernel; one over
    /// several learns the routes of their peers. `None` while nothing flows. Other links ignore it.
    fn steer(&mut self, _tags: Option<&KnownTags<'_>>) {}
}

impl<L: Link + ?Sized> Link for Box<L> {
    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn local_addr(&self) -> SocketAddr {
        (**self).local_addr()
    }

    fn local_addrs(&self) -> Vec<SocketAddr> {
        (**self).local_addrs()
    }

    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        (**self).send(packets)
    }

    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        (**self).recv(batch)
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), LinkError> {
        (**self).wait(timeout)
    }

    fn begin_wait(&mut self, sleep: &mut Sleep) -> Result<(), LinkError> {
        (**self).begin_wait(sleep)
    }

    fn end_wait(&mut self, sleep: &Sleep) -> Result<(), LinkError> {
        (**self).end_wait(sleep)
    }

    fn waker(&self) -> Waker {
        (**self).waker()
    }

    fn make_room(&mut self, packets: u32, packet_bytes: usize) {
        (**self).make_room(packets, packet_bytes);
    }

    fn is_full(&self) -> bool {
        (**self).is_full()
    }

    fn has_room_for(&mut self, peer: Option<SocketAddr>) -> bool {
        (**self).has_room_for(peer)
    }

    fn unreachable_hint(&self) -> u64 {
        (**self).unreachable_hint()
    }

    fn line_bps(&mut self, peer: SocketAddr) -> Option<u64> {
        (**self).line_bps(peer)
    }

    fn frames(&mut self, frames: Box<dyn EtherLink>) -> Box<dyn EtherLink> {
        (**self).frames(frames)
    }

    fn favour(&mut self, favoured: Option<&Favoured<'_>>) -> bool {
        (**self).favour(favoured)
    }

    fn steer(&mut self, tags: Option<&KnownTags<'_>>) {
        (**self).steer(tags);
    }
}

/// One packet to send: the UDP payload as up to three parts that are gathered without a copy.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Where it goes.
    pub peer: SocketAddr,
    /// The ECN bits it leaves with.
    pub ecn: Ecn,
    /// Header, payload, trailer; unused parts are empty.
    pub parts: [&'a [u8]; 3],
}

impl<'a> Outgoing<'a> {
    /// A packet whose bytes lie in one piece.
    pub const fn whole(peer: SocketAddr, ecn: Ecn, bytes: &'a [u8]) -> Self {
        Self { peer, ecn, parts: [bytes, &[], &[]] }
    }

    /// The UDP payload's length in bytes.
    pub const fn len_bytes(&self) -> usize {
        self.parts[0].len() + self.parts[1].len() + self.parts[2].len()
    }

    /// Writes the parts one after another to the start of `into` and says how many bytes.
    ///
    /// # Panics
    /// When `into` is shorter than [`Outgoing::len_bytes`].
    pub fn gather(&self, into: &mut [u8]) -> usize {
        let mut end = 0;
        for part in self.parts {
            into[end..end + part.len()].copy_from_slice(part);
            end += part.len();
        }
        end
    }
}

/// The two ECN bits of the IP header (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: all control packets.
    #[default]
    NotEct = 0b00,
    /// ECN-capable transport 1.
    Ect1 = 0b01,
    /// ECN-capable transport 0: DATA.
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// The ECN bits of a TOS or traffic class byte; the six DSCP bits above them are ignored.
    pub const fn from_tos(tos: u8) -> Self {
        match tos & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// What a link can do, and what it was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// A word for people: `udp`, `memory`, ...
    pub kind: &'static str,
    /// The largest IP packet of the path's first hop, headers included, in bytes.
    pub mtu_bytes: usize,
    /// Socket buffers granted in bytes: receive, send. Zero where there is no such thing.
    pub receive_buffer_bytes: usize,
    /// See `receive_buffer_bytes`.
    pub send_buffer_bytes: usize,
    /// Whether the kernel segments a batch of equal packets (UDP_SEGMENT).
    pub segmentation: bool,
    /// Whether ECN bits of received packets are known.
    pub ecn: bool,
    /// The interface that was named: [`UdpOptions::interface`](crate::UdpOptions::interface).
    pub interface: Option<String>,
    /// Whether packets bypass the kernel, as it is at any time; `None` where the link has no such way.
    pub bypass: Option<XdpLog>,
}

/// Why a link failed. Full queues are not failures: `send` then takes fewer packets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The operating system refused an operation.
    #[error("{operation} on {address}: {source}")]
    System {
        /// What was tried, e.g. `bind`.
        operation: &'static str,
        /// The local or remote address concerned.
        address: SocketAddr,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
    /// The interface that was named does not exist, or the system refuses it.
    #[error("interface {name}: {source}")]
    Interface {
        /// The name.
        name: String,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
    /// The packet is longer than the path's first hop takes.
    #[error("a packet of {len_bytes} bytes to {peer} exceeds the MTU")]
    TooLong {
        /// The UDP payload's length.
        len_bytes: usize,
        /// Where it was to go.
        peer: SocketAddr,
    },
    /// The link that leads to the address has failed; packets to others go by other links.
    #[error("the link to {address} has failed: {source}")]
    Failed {
        /// The peer, or the link's own address where nothing was sent.
        address: SocketAddr,
        /// Why the link has failed.
        #[source]
        source: Arc<LinkError>,
    },
    /// The other end of an in-process link is gone.
    #[error("the other end of the in-process link was dropped")]
    Disconnected,
    /// The capture file could not be written.
    #[error("capture: {0}")]
    Capture(#[source] io::Error),
}

impl LinkError {
    /// The same error, for another of the streams that it ends.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        // An error that no system call returned keeps its text.
        let copy = |error: &io::Error| match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        };
        match self {
            Self::System { operation, address, source } => {
                Self::System { operation, address: *address, source: copy(source) }
            }
            Self::Interface { name, source } => {
                Self::Interface { name: name.clone(), source: copy(source) }
            }
            &Self::TooLong { len_bytes, peer } => Self::TooLong { len_bytes, peer },
            Self::Failed { address, source } => {
                Self::Failed { address: *address, source: Arc::clone(source) }
            }
            Self::Disconnected => Self::Disconnected,
            Self::Capture(error) => Self::Capture(copy(error)),
        }
    }
}

/// How long a wait lasts beside a link that adds nothing to it.
const UNKNOWN_SPAN: Duration = Duration::from_millis(1);

/// The bytes of IP and UDP headers before the UDP payload of a packet to or from `address`.
pub const fn header_bytes(address: &SocketAddr) -> usize {
    match address {
        SocketAddr::V4(_) => 20 + 8,
        SocketAddr::V6(_) => 40 + 8,
    }
}
