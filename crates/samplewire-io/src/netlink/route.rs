//! rtnetlink: routes, neighbours, and queueing disciplines.

use std::io;
use std::net::IpAddr;

use super::message::{Attribute, push};
use super::sys::Socket;

/// How the kernel sends packets to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The index of the interface that they leave by.
    pub interface: u32,
    /// The address that they leave with.
    pub source: Option<IpAddr>,
    /// The station on the link that gets them: a router, or the destination.
    pub next_hop: IpAddr,
}

/// The route to an address, for packets that leave with `source`, or by `interface`, where one is given.
///
/// # Errors
/// `ENETUNREACH` or `EHOSTUNREACH` where there is none, `EINVAL` where it rejects packets.
pub fn route(
    destination: IpAddr,
    source: Option<IpAddr>,
    interface: Option<u32>,
) -> io::Result<Route> {
    let socket = Socket::open(libc::NETLINK_ROUTE)?;
    // rtmsg: family, lengths of destination and source, TOS, table, protocol, scope, type, flags.
    let mut request = vec![0; ROUTE_HEADER_BYTES];
    request[0] = family(destination);
    request[1] = prefix_bits(destination);
    push_address(&mut request, RTA_DST, destination);
    if let Some(source) = source.filter(|it| !it.is_unspecified()) {
        request[2] = prefix_bits(source);
        push_address(&mut request, RTA_SRC, source);
    }
    if let Some(interface) = interface {
        push(&mut request, RTA_OIF, &interface.to_ne_bytes());
    }
    let mut found = None;
    socket.request(libc::RTM_GETROUTE, &request, false, |message| {
        let attributes = message.attributes(ROUTE_HEADER_BYTES);
        let interface = attributes.get(RTA_OIF).and_then(|it| it.number());
        let address = |kind| attributes.get(kind).and_then(|it| address_of(&it));
        found = interface.and_then(|index| u32::try_from(index).ok()).map(|interface| Route {
            interface,
            source: address(RTA_PREFSRC),
            next_hop: address(RTA_GATEWAY).unwrap_or(destination),
        });
    })?;
    found.ok_or_else(|| io::Error::from_raw_os_error(libc::ENETUNREACH))
}

/// The station's address that the kernel has for a neighbour on an Ethernet interface, if it has one that
/// it would use.
///
/// # Errors
/// The system's.
pub fn neighbour(interface: u32, ip: IpAddr) -> io::Result<Option<[u8; 6]>> {
    let socket = Socket::open(libc::NETLINK_ROUTE)?;
    // ndmsg: family, padding, interface, state, flags, type.
    let mut request = vec![0; NEIGHBOUR_HEADER_BYTES];
    request[0] = family(ip);
    request[4..8].copy_from_slice(&interface.to_ne_bytes());
    push_address(&mut request, NDA_DST, ip);
    let mut found = None;
    let answer = socket.request(libc::RTM_GETNEIGH, &request, false, |message| {
        let state = message.body.get(8..10).map_or(0, |it| u16::from_ne_bytes([it[0], it[1]]));
        let station = message.attributes(NEIGHBOUR_HEADER_BYTES).get(NDA_LLADDR);
        found = station.filter(|_| state & NUD_USABLE != 0).and_then(|it| it.value.try_into().ok());
    });
    match answer {
        Ok(()) => Ok(found),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Receives notices of changes of interfaces, addresses, routes and neighbours.
#[derive(Debug)]
pub struct Changes(Socket);

impl Changes {
    /// Begins to listen.
    ///
    /// # Errors
    /// The system's.
    pub fn listen() -> io::Result<Self> {
        let groups = libc::RTMGRP_LINK
            | libc::RTMGRP_NEIGH
            | libc::RTMGRP_IPV4_IFADDR
            | libc::RTMGRP_IPV4_ROUTE
            | libc::RTMGRP_IPV6_IFADDR
            | libc::RTMGRP_IPV6_ROUTE;
        let socket = Socket::open(libc::NETLINK_ROUTE)?;
        socket.join(groups as u32)?;
        Ok(Self(socket))
    }

    /// Whether something has changed since the last call, of whatever interface.
    pub fn have_come(&self) -> bool {
        self.0.drain()
    }
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

fn family(ip: IpAddr) -> u8 {
    match ip {
        IpAddr::V4(_) => libc::AF_INET as u8,
        IpAddr::V6(_) => libc::AF_INET6 as u8,
    }
}

/// All bits of an address.
fn prefix_bits(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { 32 } else { 128 }
}

fn push_address(request: &mut Vec<u8>, kind: u16, ip: IpAddr) {
    match ip {
        IpAddr::V4(ip) => push(request, kind, &ip.octets()),
        IpAddr::V6(ip) => push(request, kind, &ip.octets()),
    }
}

fn address_of(attribute: &Attribute<'_>) -> Option<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(attribute.value) {
        return Some(octets.into());
    }
    <[u8; 16]>::try_from(attribute.value).ok().map(IpAddr::from)
}

const ROUTE_HEADER_BYTES: usize = 12;
const NEIGHBOUR_HEADER_BYTES: usize = 12;
const QUEUE_HEADER_BYTES: usize = 20;
const RTA_DST: u16 = 1;
const RTA_SRC: u16 = 2;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PREFSRC: u16 = 7;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
/// States in which the kernel sends to a neighbour: reachable, stale, delay, probe, no ARP, permanent.
const NUD_USABLE: u16 = 0x02 | 0x04 | 0x08 | 0x10 | 0x40 | 0x80;
const TCA_KIND: u16 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_of_this_host_is_behind_loopback() {
        for ip in ["127.0.0.1", "::1"] {
            let ip: IpAddr = ip.parse().unwrap();
            let route = route(ip, None, None).unwrap();
            assert_eq!((route.interface, route.next_hop), (1, ip));
            assert_eq!(neighbour(route.interface, ip).unwrap().unwrap_or_default(), [0; 6]);
        }
    }

    #[test]
    fn loopback_has_a_discipline() {
        assert_eq!(disciplines(1).unwrap().first().map(String::as_str), Some("noqueue"));
    }
}
