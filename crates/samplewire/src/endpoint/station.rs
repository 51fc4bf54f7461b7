//! The RoCEv2 side of an endpoint: the frames of its streams over RDMA (`docs/protocol.md#13`).

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use samplewire_io::LinkError;
use samplewire_io::ether::{EtherError, EtherStation};
use samplewire_io::verbs::Card;
use samplewire_proto::Nanos;
use samplewire_proto::session::{OpenConfig, Secrets};
use samplewire_proto::wire::{QueuePairTerms, RdmaOffer, SlotRegion};
use samplewire_roce::stream::Connection;
use samplewire_roce::wire::{FRAME_BYTES_MAX, Frame, Route, UDP_PORT, WireError};
use samplewire_roce::{PathMtu, Qpn};

/// Where an endpoint sends and takes its RoCEv2 frames.
pub struct StationConfig {
    /// Its address on an Ethernet.
    pub ether: EtherStation,
    /// The payload of a packet, at most.
    pub path_mtu: PathMtu,
    /// What the numbers of queue pairs, first packets and keys come from: secret, so that no stranger
    /// can guess them.
    pub seed: [u8; 16],
}

impl StationConfig {
    /// The station of this host on the interface that has the address `local`, shared with the
    /// kernel: with the largest path MTU that the interface carries, and the kernel's routes.
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
        let ether = EtherStation::of_host(&interface.name, ip, UDP_PORT).map_err(
            |EtherError { operation, source, .. }| match operation {
                "bind" => refused("bind to RoCEv2's port")(source),
                operation => refused(operation)(source),
            },
        )?;
        let path_mtu = path_mtu_of(ether.link().mtu_bytes().unwrap_or(0));
        let mut seed = [0; 16];
        getrandom::fill(&mut seed).map_err(|error| refused("getrandom")(error.into()))?;
        Ok(Self { ether, path_mtu, seed })
    }
}

/// The largest path MTU that an interface with this MTU carries, or the default where it carries none.
pub(crate) fn path_mtu_of(mtu_bytes: usize) -> PathMtu {
    let room = mtu_bytes.saturating_sub(HEADERS_BYTES);
    let carried = PathMtu::ALL.into_iter().rev().find(|it| it.bytes() as usize <= room);
    carried.unwrap_or_default()
}

/// What an opening that only asks for a description says of RDMA: numbers that no queue pair has.
pub(crate) fn description_offer(path_mtu: PathMtu) -> RdmaOffer {
    let path_mtu_bytes = path_mtu.bytes() as u16;
    let queue_pair = QueuePairTerms { qpn: QPN_MIN, first_psn: 0, path_mtu_bytes };
    let slots = SlotRegion { address: SLOTS_ADDRESS, rkey: 0, slot_bytes: SLOT_BYTES, slots: 1 };
    RdmaOffer { queue_pair, slots: Some(slots) }
}

/// What a port has its queue pairs in.
pub enum RdmaEnd {
    /// Software, with frames of its own.
    Station(StationConfig),
    /// A network card.
    Card(Card),
}

impl From<StationConfig> for RdmaEnd {
    fn from(station: StationConfig) -> Self {
        Self::Station(station)
    }
}

impl From<Card> for RdmaEnd {
    fn from(card: Card) -> Self {
        Self::Card(card)
    }
}

/// A station under way.
pub(crate) struct Station {
    ether: EtherStation,
    path_mtu: PathMtu,
    secrets: Secrets,
    offers: u32,
}

impl Station {
    pub(crate) fn new(config: StationConfig) -> Self {
        let StationConfig { ether, path_mtu, seed } = config;
        Self { ether, path_mtu, secrets: Secrets::new(seed), offers: 0 }
    }

    /// The queue pair of the next stream at a place, which its number says, with slots for what
    /// `receives`, or none. First PSNs repeat only after 2^24 offers (`docs/protocol.md#13.7`).
    pub(crate) fn offer(&mut self, place: usize, receives: Option<&OpenConfig>) -> RdmaOffer {
        let generation = (self.secrets.nonce() as u32) << PLACE_BITS;
        self.offers = self.offers.wrapping_add(1);
        let queue_pair = QueuePairTerms {
            qpn: (generation & U24_MAX) | (place as u32 + QPN_MIN),
            first_psn: self.secrets.shuffled_u24(self.offers & U24_MAX),
            path_mtu_bytes: self.path_mtu.bytes() as u16,
        };
        let slots = receives.map(|config| SlotRegion {
            // Nothing lies there: an address only names a place of the window.
            address: SLOTS_ADDRESS,
            rkey: self.secrets.nonce() as u32,
            slot_bytes: config.slot_bytes(),
            slots: config.window(),
        });
        RdmaOffer { queue_pair, slots }
    }

    /// The payload of a packet, at most.
    pub(crate) const fn path_mtu(&self) -> PathMtu {
        self.path_mtu
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
            source_mac: self.ether.mac(),
            destination_mac: [0; 6],
            source_ip: self.ether.ip().octets(),
            destination_ip: ip.octets(),
            // The dynamic ports, where switches look for different flows (A17).
            source_port: 0xC000 | local.qpn as u16 & 0x3FFF,
            identification: 0,
            tos: ECT0,
            ttl: 64,
        };
        Some(Connection { local, peer, route })
    }

    /// Asks for the station on the way to a peer ahead of the first frame to it, which would be lost.
    ///
    /// # Errors
    /// The link has failed.
    pub(crate) fn look_for(&mut self, now: Nanos, peer: &Route) -> Result<(), LinkError> {
        self.knows(now, peer.destination_ip.into()).map(drop)
    }

    /// Whether the station on the way to an address is known. If it is not, it is asked for.
    ///
    /// # Errors
    /// The link has failed.
    pub(crate) fn knows(&mut self, now: Nanos, ip: Ipv4Addr) -> Result<bool, LinkError> {
        let found = self.ether.find(now, ip);
        found.map(|mac| mac.is_some()).map_err(|error| self.failed(error))
    }

    /// See [`EtherStation::recv`].
    ///
    /// # Errors
    /// The link has failed.
    pub(crate) fn recv(&mut self) -> Result<Option<usize>, LinkError> {
        self.ether.recv().map_err(|error| self.failed(error))
    }

    /// The frame that [`Station::recv`] took.
    ///
    /// # Errors
    /// It is not of RoCEv2.
    pub(crate) fn frame(&self, len: usize) -> Result<Frame<'_>, WireError> {
        Frame::new_checked(self.ether.frame(len))
    }

    /// See [`EtherStation::has_room`].
    ///
    /// # Errors
    /// The link has failed.
    pub(crate) fn has_room(&mut self, now: Nanos) -> Result<bool, LinkError> {
        self.ether.has_room(now).map_err(|error| self.failed(error))
    }

    /// Where the next frame is written, once there is room.
    pub(crate) fn out(&mut self) -> &mut [u8] {
        self.ether.out()
    }

    /// Sends the frame that was written, of that length.
    ///
    /// # Errors
    /// The link has failed.
    pub(crate) fn send(&mut self, now: Nanos, len: usize) -> Result<(), LinkError> {
        self.ether.send(now, len).map_err(|error| self.failed(error))
    }

    /// See [`EtherStation::flush`].
    ///
    /// # Errors
    /// The link has failed.
    pub(crate) fn flush(&mut self, now: Nanos) -> Result<bool, LinkError> {
        self.ether.flush(now).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: EtherError) -> LinkError {
        let EtherError { operation, source, .. } = error;
        LinkError::System { operation, address: (self.ether.ip(), 0).into(), source }
    }
}

/// What IPv4, UDP and RDMA add at most to the payload of a packet.
const HEADERS_BYTES: usize = FRAME_BYTES_MAX - 14 - PathMtu::Bytes4096.bytes() as usize;
const NO_INTERFACE: &str = "streams over RDMA need one IPv4 address of an interface";
/// Low bits of a queue pair's number: more than the places of an endpoint.
const PLACE_BITS: u32 = 13;
/// 0 and 1 are reserved (A17.5.8).
const QPN_MIN: u32 = 2;
const U24_MAX: u32 = (1 << 24) - 1;
const SLOTS_ADDRESS: u64 = 1 << 32;
/// What holds any payload.
const SLOT_BYTES: u32 = 65_600;
const ECT0: u8 = 0b10;

#[cfg(test)]
pub(super) mod tests {
    use std::collections::HashSet;
    use std::net::UdpSocket;

    use samplewire_io::ether::{Dgram, DgramAddress};
    use samplewire_proto::wire::Role;

    use super::*;

    /// With a path MTU of 1,024 bytes.
    pub(in crate::endpoint) fn station(seed: [u8; 16]) -> Station {
        let [near, far] = [0; 2].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
        let [near, far] = [near, far].map(|it| it.local_addr().unwrap());
        let cable: DgramAddress = format!("{near},{far}").parse().unwrap();
        let link = Box::new(Dgram::open(&cable).unwrap());
        let ether = EtherStation::new(link, Ipv4Addr::LOCALHOST, [2; 6]);
        Station::new(StationConfig { ether, path_mtu: PathMtu::Bytes1024, seed })
    }

    #[test]
    fn path_mtu_is_the_largest_whose_packets_an_interface_carries() {
        // IPv4, UDP, BTH, RETH, an immediate and the ICRC.
        let headers = 20 + 8 + 12 + 16 + 4 + 4;
        for path_mtu in PathMtu::ALL {
            let mtu_bytes = path_mtu.bytes() as usize + headers;
            assert_eq!(path_mtu_of(mtu_bytes), path_mtu);
            assert_ne!(path_mtu_of(mtu_bytes - 1), path_mtu, "a byte less");
        }
        assert_eq!(path_mtu_of(1_500), PathMtu::Bytes1024);
    }

    /// Switches and network cards spread flows by it.
    #[test]
    fn source_port_is_a_dynamic_one_with_the_low_bits_of_the_queue_pair() {
        let station = station([1; 16]);
        let peer = QueuePairTerms { qpn: 2, first_psn: 0, path_mtu_bytes: 1_024 };
        for (qpn, port) in [(2, 0xC002), (0x12_3456, 0xF456), (0xFF_FFFE, 0xFFFE)] {
            let local = QueuePairTerms { qpn, ..peer };
            let connection = station.connection(local, peer, "10.0.0.1:4791".parse().unwrap());
            assert_eq!(connection.map(|it| it.route.source_port), Some(port), "{qpn:#x}");
        }
        assert_eq!(station.connection(peer, peer, "[::1]:4791".parse().unwrap()), None);
    }

    /// `docs/protocol.md#13.7`: another first PSN, and most often another queue pair.
    #[test]
    fn numbers_of_offers_come_from_the_secret_and_do_not_repeat() {
        let config = OpenConfig::new(Role::Receive, 0, 1).with_window(64).unwrap();
        let (mut one, mut same, mut other) = (station([1; 16]), station([1; 16]), station([2; 16]));
        let (mut psns, mut qpns, mut keys) = (HashSet::new(), HashSet::new(), HashSet::new());
        let mut last = None;
        for number in 0..4_000 {
            let place = number % 3;
            let offer = one.offer(place, Some(&config));
            assert_eq!(offer, same.offer(place, Some(&config)), "one seed decides");
            let RdmaOffer { queue_pair, slots } = offer;
            assert_ne!(
                queue_pair.first_psn,
                other.offer(place, Some(&config)).queue_pair.first_psn
            );
            assert_eq!(Station::place_of(Qpn::new(queue_pair.qpn)), place);
            assert!(psns.insert(queue_pair.first_psn), "{queue_pair:?}");
            let step =
                last.replace(queue_pair.first_psn).map(|it| queue_pair.first_psn.abs_diff(it));
            assert!(step.is_none_or(|step| step > 16), "it does not follow on the one before");
            qpns.insert(queue_pair.qpn);
            keys.insert(slots.map(|it| it.rkey));
        }
        assert!(qpns.len() > 2_500, "{} queue pairs", qpns.len());
        assert_eq!(keys.len(), 4_000);
    }
}
