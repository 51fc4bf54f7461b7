//! What lies between processes: packets, links, routes, sockets, and when each part acts next.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use samplewire_proto::session::Peer;
use samplewire_proto::{Nanos, Rng};

use crate::agenda::Agenda;
use crate::link::{Link, LinkSpec};
use crate::packets::{Meta, PacketId, Packets, ProcessId};
use crate::tap::Tap;
use crate::tape::Tape;
use crate::trace::Trace;

/// The network of a world. Parts of its agenda: the script, the links, the processes.
#[derive(Debug)]
pub(crate) struct Net {
    pub(crate) now: Nanos,
    pub(crate) packets: Packets,
    pub(crate) links: Vec<Link>,
    pub(crate) sockets: Vec<Socket>,
    pub(crate) agenda: Agenda,
    pub(crate) trace: Trace,
    pub(crate) tap: Option<Tap>,
    /// What hostile packets are made of, where there are any.
    pub(crate) tape: Option<Tape>,
    /// The first link from a process to another: row by row.
    routes: Vec<usize>,
}

/// Where packets wait for their process.
#[derive(Debug)]
pub(crate) struct Socket {
    queue: VecDeque<PacketId>,
    depth_packets: usize,
    /// Packets that found it full, modulo 2^32.
    pub(crate) dropped: u32,
    /// When the process looks next.
    pub(crate) looks_at: Nanos,
}

impl Net {
    pub(crate) fn new(
        links: &[(LinkSpec, Option<usize>)],
        depths: &[usize],
        rng: &mut Rng,
    ) -> Self {
        let links: Vec<Link> = links
            .iter()
            .map(|&(spec, next)| {
                let mut link = Link::new(spec, rng.fork());
                link.next = next;
                link
            })
            .collect();
        let socket = |&depth_packets: &usize| Socket {
            queue: VecDeque::with_capacity(depth_packets.min(SOCKET_RESERVE)),
            depth_packets,
            dropped: 0,
            looks_at: Nanos(0),
        };
        Self {
            now: Nanos(0),
            packets: Packets::default(),
            agenda: Agenda::new(1 + links.len() + depths.len()),
            links,
            sockets: depths.iter().map(socket).collect(),
            trace: Trace::default(),
            tap: None,
            tape: None,
            routes: vec![usize::MAX; depths.len() * depths.len()],
        }
    }

    pub(crate) fn set_route(&mut self, from: ProcessId, to: ProcessId, link: usize) {
        let processes = self.sockets.len();
        self.routes[usize::from(from) * processes + usize::from(to)] = link;
    }

    /// Whether a packet from one process gets to another.
    pub(crate) fn has_route(&self, from: ProcessId, to: ProcessId) -> bool {
        let processes = self.sockets.len();
        let place = usize::from(from) * processes + usize::from(to);
        usize::from(to) < processes && self.routes[place] != usize::MAX
    }

    /// The part of the agenda that is a process.
    pub(crate) fn part_of(&self, process: ProcessId) -> usize {
        1 + self.links.len() + usize::from(process)
    }

    /// Sends a packet of `parts` that counts as `padding_bytes` more.
    pub(crate) fn send(
        &mut self,
        from: ProcessId,
        to: ProcessId,
        parts: [&[u8]; 3],
        padding_bytes: u32,
        is_ect: bool,
    ) {
        let len_bytes: usize = parts.iter().map(|part| part.len()).sum();
        let ip_bytes = len_bytes as u32 + u32::from(Peer::V4_OVERHEAD) + padding_bytes;
        let meta = Meta { from, to, ip_bytes, is_ect, ..Meta::default() };
        let id = self.packets.keep(meta, parts);
        self.trace.note(self.now, "sends", &meta, self.packets.bytes(id));
        if let Some(tap) = &mut self.tap {
            let record = tap.departs(self.now, &meta, self.packets.bytes(id));
            self.packets.meta_mut(id).record = record;
        }
        let link = self.routes[usize::from(from) * self.sockets.len() + usize::from(to)];
        // What the path does not carry must not arrive by another way: it would prove a size.
        if let Some(tape) = &mut self.tape
            && carries(&self.links, link, ip_bytes)
        {
            tape.note(self.now, from, to, parts);
        }
        self.enter(link, id);
    }

    /// Moves what has come out of a link on to the next or into its socket.
    pub(crate) fn run_link(&mut self, link: usize) {
        while let Some(id) = self.links[link].leave(self.now) {
            match self.links[link].next {
                Some(next) => self.enter(next, id),
                None => self.arrive(id),
            }
        }
        self.agenda.set(1 + link, self.links[link].next_at());
    }

    /// The packet that a process takes next.
    pub(crate) fn take(&mut self, process: ProcessId) -> Option<PacketId> {
        self.sockets[usize::from(process)].queue.pop_front()
    }

    /// Empties the socket of a process that restarts.
    pub(crate) fn forget_arrivals(&mut self, process: ProcessId) {
        while let Some(id) = self.take(process) {
            if let Some(tap) = &mut self.tap {
                tap.forgotten(self.packets.meta(id));
            }
            self.packets.free(id);
        }
    }

    fn enter(&mut self, link: usize, id: PacketId) {
        let before =
            self.tap.is_some().then(|| (*self.packets.meta(id), *self.links[link].counts()));
        self.links[link].enter(self.now, id, &mut self.packets);
        if let (Some(tap), Some((meta, counts))) = (&mut self.tap, before) {
            tap.befell(&meta, link, &counts, self.links[link].counts());
        }
        self.agenda.set(1 + link, self.links[link].next_at());
    }

    fn arrive(&mut self, id: PacketId) {
        let to = self.packets.meta(id).to;
        let socket = &mut self.sockets[usize::from(to)];
        if let Some(tap) = &mut self.tap {
            let has_room = socket.queue.len() < socket.depth_packets;
            tap.arrives(self.now, self.packets.meta(id), self.packets.bytes(id), has_room);
        }
        if socket.queue.len() >= socket.depth_packets {
            socket.dropped = socket.dropped.wrapping_add(1);
            self.packets.free(id);
            return;
        }
        self.packets.meta_mut(id).dropped = socket.dropped;
        socket.queue.push_back(id);
        let at = socket.looks_at.max(self.now);
        self.agenda.hasten(self.part_of(to), at);
    }
}

/// Whether a link and those behind it carry an IP packet of that size.
fn carries(links: &[Link], first: usize, ip_bytes: u32) -> bool {
    let is_carried = ip_bytes <= links[first].mtu_bytes();
    is_carried && links[first].next.is_none_or(|next| carries(links, next, ip_bytes))
}

/// The address of a process.
pub(crate) const fn peer_of(process: ProcessId) -> Peer {
    let [high, low] = process.to_be_bytes();
    Peer::v4([10, 0, high, low], PORT)
}

/// The same, as a link has it.
pub(crate) const fn address_of(process: ProcessId) -> SocketAddr {
    let [high, low] = process.to_be_bytes();
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, high, low)), PORT)
}

/// An address of the network, as a link has it.
pub(crate) fn address_of_peer(&Peer([.., a, b, c, d, high, low]): &Peer) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(a, b, c, d)), u16::from_be_bytes([high, low]))
}

/// The same the other way round.
pub(crate) fn peer_at(address: SocketAddr) -> Peer {
    match address.ip() {
        IpAddr::V4(ip) => Peer::v4(ip.octets(), address.port()),
        IpAddr::V6(_) => unreachable!("the network has addresses of version 4 alone"),
    }
}

/// The process at an address of a link, if one is there.
pub(crate) fn process_at(address: SocketAddr) -> Option<ProcessId> {
    let IpAddr::V4(ip) = address.ip() else { return None };
    let [_, _, high, low] = ip.octets();
    let process = u16::from_be_bytes([high, low]);
    (address == address_of(process)).then_some(process)
}

/// The process at an address, if one is there.
pub(crate) fn process_of(peer: &Peer) -> Option<ProcessId> {
    let process = u16::from_be_bytes([peer.0[14], peer.0[15]]);
    (*peer == peer_of(process)).then_some(process)
}

/// An address like that of a process, where there is none: another port, or another host.
pub(crate) const fn stranger(process: ProcessId, kind: u16) -> Peer {
    let [high, low] = process.to_be_bytes();
    match kind {
        0 => Peer::v4([10, 1, high, low], PORT),
        kind => Peer::v4([10, 0, high, low], PORT + kind),
    }
}

const PORT: u16 = 40_000;
/// Room that a socket has from the start; a deeper one grows to its depth once.
const SOCKET_RESERVE: usize = 1_024;
