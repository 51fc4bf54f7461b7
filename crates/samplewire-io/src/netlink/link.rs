//! rtnetlink: interfaces, what they count, and whether an XDP program is attached.

use std::io;

use super::message::{Message, push};
use super::sys::Socket;

/// An interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its number, from 1 on.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// The address of its station, where it is of Ethernet.
    pub mac: Option<[u8; 6]>,
    /// The longest IP packet in bytes.
    pub mtu_bytes: u32,
    /// See [`xdp_mode`].
    pub xdp_mode: u64,
}

/// Reads an interface.
///
/// # Errors
/// `ENODEV` where it is gone.
pub fn interface(index: u32) -> io::Result<Interface> {
    let mut request = [0; LINK_HEADER_BYTES];
    request[4..8].copy_from_slice(&index.to_ne_bytes());
    requested(&request)
}

/// Reads the interface of this name.
///
/// # Errors
/// `ENODEV` where there is none.
pub fn interface_named(name: &str) -> io::Result<Interface> {
    // The kernel would refuse a longer name by another error, and take none for the index 0.
    if !(1..libc::IFNAMSIZ).contains(&name.len()) {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    let mut request = vec![0; LINK_HEADER_BYTES];
    let mut text = [0; libc::IFNAMSIZ];
    text[..name.len()].copy_from_slice(name.as_bytes());
    push(&mut request, IFLA_IFNAME, &text);
    requested(&request)
}

/// Reads the interface of a request: an ifinfomsg of family, padding, type, index, flags and mask of
/// changes, and attributes.
fn requested(request: &[u8]) -> io::Result<Interface> {
    let socket = Socket::open(libc::NETLINK_ROUTE)?;
    let mut found = None;
    socket.request(libc::RTM_GETLINK, request, false, |message| {
        let attributes = message.attributes(LINK_HEADER_BYTES);
        let xdp = attributes.get(IFLA_XDP);
        let attached = xdp.and_then(|it| it.nested().get(IFLA_XDP_ATTACHED)?.number());
        let index = message.body.get(4..8).and_then(|it| it.try_into().ok());
        found = index.map(u32::from_ne_bytes).map(|index| Interface {
            index,
            name: attributes.get(IFLA_IFNAME).and_then(|it| it.text()).unwrap_or("?").to_owned(),
            mac: attributes.get(IFLA_ADDRESS).and_then(|it| it.value.try_into().ok()),
            mtu_bytes: attributes.get(IFLA_MTU).and_then(|it| it.number()).unwrap_or(0) as u32,
            xdp_mode: attached.unwrap_or(0),
        });
    })?;
    found.ok_or_else(|| io::Error::from_raw_os_error(libc::EPROTO))
}

/// Whether an XDP program is attached to an interface: 0 for none, else its mode by
/// `XDP_ATTACHED_*` (1 driver, 2 generic, 3 card, 4 several).
///
/// # Errors
/// See [`interface`].
pub fn xdp_mode(index: u32) -> io::Result<u64> {
    Ok(interface(index)?.xdp_mode)
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
        push(&mut request, IFLA_TARGET_NETNSID, &namespace.to_ne_bytes());
    }
    let mut state = None;
    socket.request(libc::RTM_GETLINK, &request, false, |message| {
        state = LinkState::of(&message);
    })?;
    state.ok_or_else(|| io::Error::from_raw_os_error(libc::EPROTO))
}

const LINK_HEADER_BYTES: usize = 16;
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_XDP: u16 = 43;
const IFLA_TARGET_NETNSID: u16 = 46;
const IFLA_XDP_ATTACHED: u16 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_counts_and_has_no_program() {
        let loopback = interface(1).unwrap();
        assert_eq!((loopback.name.as_str(), loopback.mac), ("lo", Some([0; 6])));
        assert_eq!(xdp_mode(1).unwrap(), 0);
        let counts = link_counts(1).unwrap();
        assert_eq!((counts.ring_full, counts.missed), (RingFull::NoRing, 0));
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&[7; 1_000], socket.local_addr().unwrap()).unwrap();
        let later = link_counts(1).unwrap();
        assert!(later.frames > counts.frames && later.bytes >= counts.bytes + 1_028, "{later:?}");
        assert_eq!(xdp_mode(u32::MAX >> 1).unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }
}
