//! What lies between processes: packets, links, routes, sockets, and when each part acts next.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use samplewire_io::ether::Arp;
use samplewire_proto::session::Peer;
use samplewire_proto::{Nanos, Rng};

use crate::agenda::Agenda;
use crate::link::{FRAME_HEADER_BYTES, Link, LinkSpec};
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
    /// The same of the process's station: the socket of its frames, as deep.
    frames: VecDeque<PacketId>,
    depth_packets: usize,
    /// Packets that found it full, modulo 2^32.
    pub(crate) dropped: u32,
    pub(crate) frames_dropped: u32,
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
            frames: VecDeque::new(),
            depth_packets,
            dropped: 0,
            frames_dropped: 0,
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
        let id = self.depart(meta, parts);
        let link = self.route(from, to);
        // What the path does not carry must not arrive by another way: it would prove a size.
        if let Some(tape) = &mut self.tape
            && carries(&self.links, link, ip_bytes)
        {
            tape.note(self.now, from, to, parts);
        }
        self.enter(link, id);
    }

    /// Sends a frame of Ethernet to the station that it names; one to all stations, to the one that
    /// it looks for. One to a station that is not there is lost.
    pub(crate) fn send_frame(&mut self, from: ProcessId, frame: &[u8]) {
        let Some(to) = station_of(frame).filter(|to| self.has_route(from, *to)) else { return };
        let ip_bytes = (frame.len() - FRAME_HEADER_BYTES) as u32;
        let is_ect = is_ip(frame) && frame[FRAME_HEADER_BYTES + 1] & 0b11 != 0;
        let meta = Meta { from, to, ip_bytes, is_ect, is_frame: true, ..Meta::default() };
        let id = self.depart(meta, [frame, &[], &[]]);
        if let Some(tape) = &mut self.tape {
            tape.note_frame(self.now, from, to, frame);
        }
        self.enter(self.route(from, to), id);
    }

    fn depart(&mut self, meta: Meta, parts: [&[u8]; 3]) -> PacketId {
        let id = self.packets.keep(meta, parts);
        self.trace.note(self.now, "sends", &meta, self.packets.bytes(id));
        if let Some(tap) = &mut self.tap {
            let record = tap.departs(self.now, &meta, self.packets.bytes(id));
            self.packets.meta_mut(id).record = record;
        }
        id
    }

    fn route(&self, from: ProcessId, to: ProcessId) -> usize {
        self.routes[usize::from(from) * self.sockets.len() + usize::from(to)]
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

    /// The frame that a process takes next.
    pub(crate) fn take_frame(&mut self, process: ProcessId) -> Option<PacketId> {
        self.sockets[usize::from(process)].frames.pop_front()
    }

    /// Empties the sockets of a process that restarts.
    pub(crate) fn forget_arrivals(&mut self, process: ProcessId) {
        while let Some(id) = self.take(process).or_else(|| self.take_frame(process)) {
            if let Some(tap) = &mut self.tap {
                tap.forgotten(self.packets.meta(id));
            }
            self.packets.free(id);
        }
    }

    /// Whether a process has packets and frames to take.
    pub(crate) fn has_arrivals(&self, process: ProcessId) -> [bool; 2] {
        let socket = &self.sockets[usize::from(process)];
        [!socket.queue.is_empty(), !socket.frames.is_empty()]
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
        let &Meta { to, is_frame, is_corrupted, .. } = self.packets.meta(id);
        let socket = &mut self.sockets[usize::from(to)];
        let queue = if is_frame { &mut socket.frames } else { &mut socket.queue };
        let has_room = queue.len() < socket.depth_packets;
        if let Some(tap) = &mut self.tap {
            tap.arrives(self.now, self.packets.meta(id), self.packets.bytes(id), has_room);
        }
        // ARP has no checksum but that of Ethernet.
        if is_corrupted && is_frame && !is_ip(self.packets.bytes(id)) {
            return self.packets.free(id);
        }
        if !has_room {
            // An endpoint knows what its socket has dropped, and not what its station has.
            let dropped = if is_frame { &mut socket.frames_dropped } else { &mut socket.dropped };
            *dropped = dropped.wrapping_add(1);
            self.packets.free(id);
            return;
        }
        self.packets.meta_mut(id).dropped = socket.dropped;
        queue.push_back(id);
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
    SocketAddr::new(IpAddr::V4(ip_of(process)), PORT)
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

/// The address of a process, as its station has it.
pub(crate) const fn ip_of(process: ProcessId) -> Ipv4Addr {
    let [high, low] = process.to_be_bytes();
    Ipv4Addr::new(10, 0, high, low)
}

/// The hardware address of a process.
pub(crate) const fn mac_of(process: ProcessId) -> [u8; 6] {
    let [high, low] = process.to_be_bytes();
    [2, 0, 0, 0, high, low]
}

/// The process whose station a frame is for.
fn station_of(frame: &[u8]) -> Option<ProcessId> {
    let &mac = frame.first_chunk::<6>()?;
    if mac == [0xFF; 6] {
        let [_, _, high, low] = Arp::parse(frame)?.target.0.octets();
        return Some(ProcessId::from_be_bytes([high, low]));
    }
    let process = ProcessId::from_be_bytes([mac[4], mac[5]]);
    (mac == mac_of(process)).then_some(process)
}

/// Whether a frame carries an IPv4 packet.
pub(crate) fn is_ip(frame: &[u8]) -> bool {
    frame[FRAME_HEADER_BYTES - 2..].starts_with(&[0x08, 0x00])
}

const PORT: u16 = 40_000;
/// Room that a socket has from the start; a deeper one grows to its depth once.
const SOCKET_RESERVE: usize = 1_024;
