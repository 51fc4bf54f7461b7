//! The station of an endpoint on an Ethernet, for the RoCEv2 frames of its streams
//! (`docs/protocol.md#13`).
//!
//! A peer's hardware address is looked up as frames leave: one that is not known yet is asked for,
//! and the frame is lost, which its queue pair repairs.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use samplewire_io::LinkError;
use samplewire_io::ether::{Arp, EtherError, EtherLink, PacketSocket};
use samplewire_proto::wire::{QueuePairTerms, RdmaOffer, SlotRegion};
use samplewire_proto::{Nanos, Rng};
use samplewire_roce::stream::Connection;
use samplewire_roce::wire::{FRAME_BYTES_MAX, Frame, Route, UDP_PORT, WireError};
use samplewire_roce::{PathMtu, Qpn};

/// A link of frames, and who this end is there.
pub struct StationConfig {
    /// The link.
    pub link: Box<dyn EtherLink>,
    /// The address of this end.
    pub ip: Ipv4Addr,
    /// Its hardware address.
    pub mac: [u8; 6],
    /// The payload of a packet, at most.
    pub path_mtu: PathMtu,
    /// Draws the numbers of queue pairs and first packets.
    pub seed: u64,
}

impl StationConfig {
    /// The station of this host on the interface that has the address `local`, shared with the
    /// kernel: with the largest path MTU that the interface carries.
    ///
    /// # Errors
    /// No interface of Ethernet has the address, UDP port 4791 is taken there, or the process does
    /// not have CAP_NET_RAW.
    pub fn of_host(local: SocketAddr) -> Result<Self, LinkError> {
        let refused =
            |operation| move |source| LinkError::System { operation, address: local, source };
        let interfaces = if_addrs::get_if_addrs().map_err(refused("getifaddrs"))?;
        let interface = interfaces.into_iter().find(|it| it.ip() == local.ip());
        let absent = || io::Error::new(io::ErrorKind::AddrNotAvailable, NO_INTERFACE);
        let (IpAddr::V4(ip), Some(interface)) = (local.ip(), interface) else {
            return Err(refused("station for RDMA")(absent()));
        };
        let link = PacketSocket::open(&interface.name, ip, UDP_PORT).map_err(
            |EtherError { operation, source, .. }| match operation {
                "bind" => refused("bind to RoCEv2's port")(source),
                operation => refused(operation)(source),
            },
        )?;
        let room = link.mtu_bytes().unwrap_or(0).saturating_sub(HEADERS_BYTES);
        let path_mtu = PathMtu::ALL.into_iter().rev().find(|it| it.bytes() as usize <= room);
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).map_err(|error| refused("getrandom")(error.into()))?;
        Ok(Self {
            mac: link.mac(),
            ip,
            path_mtu: path_mtu.unwrap_or_default(),
            seed: u64::from_ne_bytes(seed),
            link: Box::new(link),
        })
    }
}

/// A station under way.
pub(crate) struct Station {
    config: StationConfig,
    rng: Rng,
    neighbours: [Neighbour; NEIGHBOURS_MAX],
    /// The entry that is replaced next.
    oldest: usize,
    incoming: Box<[u8]>,
    outgoing: Box<[u8; FRAME_BYTES_MAX]>,
    counts: StationCounts,
}

/// A station of the network, and when it was asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Neighbour {
    ip: Option<Ipv4Addr>,
    mac: Option<[u8; 6]>,
    asked_at: Nanos,
}

/// What became of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StationCounts {
    /// Frames to this station that are not valid RoCEv2.
    pub(crate) invalid: u64,
    /// Frames of no open stream.
    pub(crate) foreign: u64,
    /// Frames that the link had no room for, or whose destination is not known yet.
    pub(crate) unsent: u64,
}

impl Station {
    pub(crate) fn new(config: StationConfig) -> Self {
        Self {
            rng: Rng::new(config.seed),
            config,
            neighbours: [Neighbour::default(); NEIGHBOURS_MAX],
            oldest: 0,
            incoming: vec![0; FRAME_BYTES_MAX + 1].into(),
            outgoing: Box::new([0; FRAME_BYTES_MAX]),
            counts: StationCounts::default(),
        }
    }

    /// The queue pair of the next stream at a place, which its number says, with slots for a window
    /// of packets to it, or for none.
    pub(crate) fn offer(&mut self, place: usize, window: Option<u32>) -> RdmaOffer {
        let generation = (self.rng.draw() as u32) << PLACE_BITS;
        let queue_pair = QueuePairTerms {
            qpn: (generation & U24_MAX) | (place as u32 + QPN_MIN),
            first_psn: self.rng.draw() as u32 & U24_MAX,
            path_mtu_bytes: self.config.path_mtu.bytes() as u16,
        };
        let slots = window.map(|slots| SlotRegion {
            // Nothing lies there: an address only names a place of the window.
            address: SLOTS_ADDRESS,
            rkey: self.rng.draw() as u32,
            slot_bytes: SLOT_BYTES,
            slots,
        });
        RdmaOffer { queue_pair, slots }
    }

    /// The payload of a packet, at most.
    pub(crate) const fn path_mtu(&self) -> PathMtu {
        self.config.path_mtu
    }

    /// The place that the number of a queue pair says.
    pub(crate) const fn place_of(number: Qpn) -> usize {
        (number.get() & ((1 << PLACE_BITS) - 1)).wrapping_sub(QPN_MIN) as usize
    }

    /// The connection to a peer; `None` to one that has no IPv4 address.
    pub(crate) fn connection(
        &self,
        local: QueuePairTerms,
        peer: QueuePairTerms,
        address: SocketAddr,
    ) -> Option<Connection> {
        let IpAddr::V4(ip) = address.ip() else { return None };
        let route = Route {
            source_mac: self.config.mac,
            destination_mac: [0; 6],
            source_ip: self.config.ip.octets(),
            destination_ip: ip.octets(),
            // The dynamic ports, where switches look for different flows (A17).
            source_port: 0xC000 | local.qpn as u16 & 0x3FFF,
            identification: 0,
            tos: ECT0,
            ttl: 64,
        };
        Some(Connection { local, peer, route })
    }

    /// Asks for a peer's hardware address ahead of the first frame to it, which would be lost.
    ///
    /// # Errors
    /// The link has failed.
    pub(crate) fn look_for(&mut self, now: Nanos, peer: &Route) -> Result<(), LinkError> {
        self.mac_of(now, peer.destination_ip.into()).map(drop)
    }

    /// Takes a frame to this station: its length; `None` when there is none. ARP is answered here.
    ///
    /// # Errors
    /// The link has failed.
    pub(crate) fn recv(&mut self) -> Result<Option<usize>, LinkError> {
        loop {
            let len = self.config.link.recv(&mut self.incoming);
            let Some(len) = len.map_err(|error| self.failed(error))? else { return Ok(None) };
            let bytes = &self.incoming[..len];
            if let Some(arp) = Arp::parse(bytes) {
                self.learn(arp.sender);
                if let Some(answer) = arp.answer((self.config.ip, self.config.mac)) {
                    self.launch(&answer.frame())?;
                }
            } else if bytes.get(IPV4_DESTINATION).is_some_and(|ip| *ip == self.config.ip.octets()) {
                return Ok(Some(len));
            }
        }
    }

    /// The frame that [`Station::recv`] took, if it is one of RoCEv2.
    pub(crate) fn frame(&mut self, len: usize) -> Option<Frame<'_>> {
        match Frame::new_checked(&self.incoming[..len]) {
            Ok(frame) => Some(frame),
            Err(WireError::Protocol(_) | WireError::Port(_)) => None,
            Err(_) => {
                self.counts.invalid += 1;
                None
            }
        }
    }

    pub(crate) const fn count_foreign(&mut self) {
        self.counts.foreign += 1;
    }

    /// Where the next frame is written.
    pub(crate) const fn out(&mut self) -> &mut [u8; FRAME_BYTES_MAX] {
        &mut self.outgoing
    }

    /// Sends the frame that was written, of that length.
    ///
    /// # Errors
    /// The link has failed.
    pub(crate) fn send(&mut self, now: Nanos, len: usize) -> Result<(), LinkError> {
        let octets = *self.outgoing[IPV4_DESTINATION].first_chunk().expect("four bytes");
        let Some(mac) = self.mac_of(now, Ipv4Addr::from(octets))? else {
            self.counts.unsent += 1;
            return Ok(());
        };
        self.outgoing[..mac.len()].copy_from_slice(&mac);
        let is_sent = self.config.link.send(&self.outgoing[..len]);
        if !is_sent.map_err(|error| self.failed(error))? {
            self.counts.unsent += 1;
        }
        Ok(())
    }

    /// Sends a frame of ARP, which may be lost.
    fn launch(&mut self, frame: &[u8]) -> Result<(), LinkError> {
        self.config.link.send(frame).map(drop).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: EtherError) -> LinkError {
        let EtherError { operation, source, .. } = error;
        LinkError::System { operation, address: (self.config.ip, 0).into(), source }
    }

    /// The hardware address of a station; asks for one that is not known, now and then.
    fn mac_of(&mut self, now: Nanos, ip: Ipv4Addr) -> Result<Option<[u8; 6]>, LinkError> {
        let known = self.neighbours.iter().position(|it| it.ip == Some(ip));
        let at = known.unwrap_or(self.oldest);
        if known.is_none() {
            self.oldest = (self.oldest + 1) % NEIGHBOURS_MAX;
            self.neighbours[at] = Neighbour { ip: Some(ip), mac: None, asked_at: Nanos(0) };
        }
        let neighbour = &mut self.neighbours[at];
        if neighbour.mac.is_none() && (known.is_none() || now >= neighbour.asked_at + ASK_PAUSE) {
            neighbour.asked_at = now;
            self.launch(&Arp::request((self.config.ip, self.config.mac), ip).frame())?;
        }
        Ok(self.neighbours[at].mac)
    }

    /// Keeps what an ARP message says of a station that is looked for, and of no other.
    fn learn(&mut self, (ip, mac): (Ipv4Addr, [u8; 6])) {
        if let Some(neighbour) = self.neighbours.iter_mut().find(|it| it.ip == Some(ip)) {
            neighbour.mac = Some(mac);
        }
    }
}

/// Stations that are remembered; of more, the one that was looked for longest ago is forgotten.
const NEIGHBOURS_MAX: usize = 64;
/// What IPv4, UDP and RDMA add at most to the payload of a packet.
const HEADERS_BYTES: usize = FRAME_BYTES_MAX - 14 - PathMtu::Bytes4096.bytes() as usize;
const NO_INTERFACE: &str = "streams over RDMA need one IPv4 address of an interface";
const ASK_PAUSE: Nanos = Nanos::from_millis(50);
/// Low bits of a queue pair's number: more than the places of an endpoint.
const PLACE_BITS: u32 = 13;
/// 0 and 1 are reserved (A17.5.8).
const QPN_MIN: u32 = 2;
const U24_MAX: u32 = (1 << 24) - 1;
const SLOTS_ADDRESS: u64 = 1 << 32;
/// What holds any payload.
const SLOT_BYTES: u32 = 65_600;
const ECT0: u8 = 0b10;
/// Where a frame has its IPv4 destination.
const IPV4_DESTINATION: std::ops::Range<usize> = 30..34;
