//! rtnetlink: programs between a card and the IP stack.

use std::io;

use super::message::Message;
use super::sys::Socket;

/// Whether an XDP program is attached to an interface: 0 for none, else its mode by
/// `XDP_ATTACHED_*` (1 driver, 2 generic, 3 card, 4 several).
///
/// # Errors
/// The system's.
pub fn xdp_mode(index: u32) -> io::Result<u64> {
    let socket = Socket::open(libc::NETLINK_ROUTE)?;
    // ifinfomsg: family, padding, type, index, flags, mask of changes.
    let mut request = [0; LINK_HEADER_BYTES];
    request[4..8].copy_from_slice(&index.to_ne_bytes());
    let mut mode = 0;
    socket.request(libc::RTM_GETLINK, &request, false, |message| {
        let xdp = message.attributes(LINK_HEADER_BYTES).get(IFLA_XDP);
        let attached = xdp.and_then(|it| it.nested().get(IFLA_XDP_ATTACHED)?.number());
        mode = attached.unwrap_or(0);
    })?;
    Ok(mode)
}

/// Kinds of the queueing disciplines of an interface, e.g. `fq_codel`, `clsact`.
///
/// # Errors
/// The system's.
pub fn disciplines(index: u32) -> io::Result<Vec<String>> {
    let socket = Socket::open(libc::NETLINK_ROUTE)?;
    // tcmsg: family and padding, index, handle, parent, info. The kernel may ignore the index.
    let mut request = [0; QUEUE_HEADER_BYTES];
    request[4..8].copy_from_slice(&index.to_ne_bytes());
    let mut kinds = Vec::new();
    socket.request(libc::RTM_GETQDISC, &request, true, |message| {
        let of = message.body.get(4..8).map(|it| it == index.to_ne_bytes());
        let kind = message.attributes(QUEUE_HEADER_BYTES).get(TCA_KIND).and_then(|it| it.text());
        if let (Some(true), Some(kind)) = (of, kind) {
            kinds.push(kind.to_owned());
        }
    })?;
    Ok(kinds)
}

/// What the kernel counts for an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Frames received.
    pub frames: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Frames received and dropped by the driver or the kernel (`rx_dropped`).
    pub dropped: u64,
    /// Frames that the card had no room for (`rx_missed_errors`).
    pub missed: u64,
    /// For one end of a veth pair: frames that the other end sent while the ring between them was
    /// full.
    pub ring_full: RingFull,
}

/// What is known of the ring between the ends of a veth pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RingFull {
    /// The interface is of another kind.
    #[default]
    NoRing,
    /// So many frames found it full, as the other end counts.
    Frames(u64),
    /// This process may not see the other end: that needs CAP_NET_ADMIN.
    Hidden,
}

/// The counts of an interface.
///
/// # Errors
/// `ENODEV` without it.
pub fn link_counts(index: u32) -> io::Result<LinkCounts> {
    let socket = Socket::open(libc::NETLINK_ROUTE)?;
    let own = link(&socket, index, None)?;
    let counts = own.counts;
    let Some(peer) = own.veth_peer else { return Ok(counts) };
    // The kernel counts at the sender's end, which is usually in another network namespace.
    let ring_full = link(&socket, peer, own.peer_namespace)
        .map_or(RingFull::Hidden, |it| RingFull::Frames(it.send_dropped));
    Ok(LinkCounts { ring_full, ..counts })
}

/// The parts of an interface's description that are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkState {
    /// Its counts, without those of its other end.
    pub counts: LinkCounts,
    /// Frames that it should have sent and dropped (`tx_dropped`).
    pub send_dropped: u64,
    /// The index of the other end of a veth pair.
    pub veth_peer: Option<u32>,
    /// The number of the network namespace of the other end, as this one counts; `None` for the same.
    pub peer_namespace: Option<u32>,
}

impl LinkState {
    /// Reads a message of the kernel; `None` if it has no statistics.
    pub fn of(message: &Message<'_>) -> Option<Self> {
        let attributes = message.attributes(LINK_HEADER_BYTES);
        let statistics = attributes.get(IFLA_STATS64)?.value;
        // rtnl_link_stats64: later kernels add counts at its end.
        let count = |at: usize| {
            let bytes = statistics.get(8 * at..8 * at + 8)?;
            Some(u64::from_ne_bytes(bytes.try_into().ok()?))
        };
        let counts = LinkCounts {
            frames: count(0)?,
            bytes: count(2)?,
            dropped: count(6)?,
            missed: count(15)?,
            ring_full: RingFull::NoRing,
        };
        let number = |kind| attributes.get(kind)?.number();
        let word = |kind| u32::try_from(number(kind)?).ok();
        let kind = attributes.get(IFLA_LINKINFO).and_then(|it| it.nested().get(1)?.text());
        Some(Self {
            counts,
            send_dropped: count(7)?,
            veth_peer: if kind == Some("veth") { word(IFLA_LINK) } else { None },
            peer_namespace: word(IFLA_LINK_NETNSID),
        })
    }
}

fn link(socket: &Socket, index: u32, namespace: Option<u32>) -> io::Result<LinkState> {
    let mut request = vec![0; LINK_HEADER_BYTES];
    request[4..8].copy_from_slice(&index.to_ne_bytes());
    if let Some(namespace) = namespace {
        request.extend(8_u16.to_ne_bytes().into_iter().chain(IFLA_TARGET_NETNSID.to_ne_bytes()));
        request.extend(namespace.to_ne_bytes());
    }
    let mut state = None;
    socket.request(libc::RTM_GETLINK, &request, false, |message| {
        state = LinkState::of(&message);
    })?;
    state.ok_or_else(|| io::Error::from_raw_os_error(libc::EPROTO))
}

const LINK_HEADER_BYTES: usize = 16;
const QUEUE_HEADER_BYTES: usize = 20;
const IFLA_LINK: u16 = 5;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_XDP: u16 = 43;
const IFLA_TARGET_NETNSID: u16 = 46;
const IFLA_XDP_ATTACHED: u16 = 2;
const TCA_KIND: u16 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_a_discipline_and_no_program() {
        assert_eq!(xdp_mode(1).unwrap(), 0);
        assert_eq!(disciplines(1).unwrap().first().map(String::as_str), Some("noqueue"));
        let counts = link_counts(1).unwrap();
        assert_eq!((counts.ring_full, counts.missed), (RingFull::NoRing, 0));
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&[7; 1_000], socket.local_addr().unwrap()).unwrap();
        let later = link_counts(1).unwrap();
        assert!(later.frames > counts.frames && later.bytes >= counts.bytes + 1_028, "{later:?}");
        assert_eq!(xdp_mode(u32::MAX >> 1).unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }
}
