//! Finds devices with one query to the local networks.
//!
//! The query is an OPEN for a description, without a cookie. It goes to the broadcast address of
//! each IPv4 network, to all nodes of each IPv6 link (RFC 4291, section 2.7.1), and to this host. A
//! device answers with a CHALLENGE, which is shorter. Each such device then gets its own query, as
//! in [`probe`].

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::time::{Duration, Instant};

use if_addrs::IfAddr;
use samplewire_proto::wire::{
    self, Flags, Header, OPEN_LEN_MIN, Open, Packet, PacketType, Role, Tlvs,
};
use samplewire_proto::{Departure, Seq, Tag};

use crate::error::OpenError;
use crate::info::DeviceInfo;
use crate::opening::probe;
use crate::port::{PACKET_BYTES_MAX, seed};

/// The devices that answered.
#[derive(Debug, Default)]
pub struct Found {
    /// The devices, without duplicates, ordered by address.
    pub devices: Vec<FoundDevice>,
    /// Errors of devices that answered the query, but did not describe their streams.
    pub failures: Vec<OpenError>,
    /// Whether more than [`ANSWERS_MAX`] addresses answered; the others were not queried.
    pub is_cut: bool,
}

/// A device that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundDevice {
    /// Its description, and the address to open: one that other hosts reach, if there is one.
    pub info: DeviceInfo,
    /// The other addresses of the same device.
    pub other_addresses: Vec<SocketAddr>,
}

/// Queries all devices on the local networks that listen on `port`.
///
/// # Errors
/// No network can be queried.
///
/// # Blocking
/// For `patience` until the answers have come, then at most as long again for every 16 answers.
pub fn find(port: u16, patience: Duration) -> Result<Found, OpenError> {
    let (addresses, is_cut) = ask_everybody(port, patience)?;
    let mut found = Found { is_cut, ..Found::default() };
    let mut described = Vec::new();
    for chunk in addresses.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            let probes = chunk.iter().map(|&address| scope.spawn(move || probe(address, patience)));
            for asked in probes.collect::<Vec<_>>() {
                match asked.join().expect("a probe does not panic") {
                    Ok(info) => described.push(info),
                    Err(error) => found.failures.push(error),
                }
            }
        });
    }
    found.devices = merge(described);
    Ok(found)
}

/// The addresses that answer, the most useful first, and whether there are more.
fn ask_everybody(port: u16, patience: Duration) -> Result<(Vec<SocketAddr>, bool), OpenError> {
    let random = u128::from_ne_bytes(seed()?);
    let question = Question { nonce: random as u64, tag: Tag((random >> 64) as u32 | 1) };
    let packet = question.packet();
    let targets = Targets::of_this_host(port)?;
    let mut sockets = Vec::new();
    let mut refusal = None;
    for (local, targets) in [
        (SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)), targets.v4),
        (SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)), targets.v6),
    ] {
        match open_socket(local) {
            Ok(socket) => sockets.push((socket, targets)),
            // A host may have only IPv4 or only IPv6.
            Err(error) => refusal = Some(error),
        }
    }
    if let (true, Some(error)) = (sockets.is_empty(), refusal) {
        return Err(error.into());
    }
    let started = Instant::now();
    let mut sent = 0;
    let mut answered = BTreeSet::new();
    let mut is_cut = false;
    while started.elapsed() < patience {
        if sent < QUESTIONS && started.elapsed() >= patience / 4 * sent {
            sent += 1;
            for (socket, targets) in &sockets {
                for target in targets {
                    // No device answers from a network that is down.
                    let _ = socket.send_to(&packet, target);
                }
            }
        }
        let mut bytes = [0; PACKET_BYTES_MAX];
        for (socket, _) in &sockets {
            // A limited number of packets between two queries, so that a flood does not delay the
            // next query.
            for _ in 0..LOOK_PACKETS_MAX {
                let Ok((len, from)) = socket.recv_from(&mut bytes) else { break };
                if from.port() != port || !question.is_answered_by(&bytes[..len]) {
                    continue;
                }
                if answered.len() < ANSWERS_MAX {
                    answered.insert(Ranked::new(from));
                } else {
                    is_cut |= !answered.contains(&Ranked::new(from));
                }
            }
        }
        std::thread::sleep(LOOK_PAUSE.min(patience / 8));
    }
    Ok((answered.into_iter().map(|ranked| ranked.address).collect(), is_cut))
}

fn open_socket(local: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(local)?;
    if local.is_ipv4() {
        socket.set_broadcast(true)?;
    }
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The query to all devices.
struct Question {
    nonce: u64,
    tag: Tag,
}

impl Question {
    fn packet(&self) -> [u8; OPEN_LEN_MIN] {
        let header = Header {
            kind: PacketType::Open,
            flags: Flags::FROM_OPENER,
            tag: Tag::NONE,
            index: 0,
            seq: Seq(0),
            departure: Departure(0),
        };
        let open = Open {
            tag: self.tag,
            role: Role::Describe,
            delivery: 0,
            stream: 0,
            nonce: self.nonce,
            owner: 0,
            cookie: [0; 16],
            window: 1,
            max_packet_bytes: PACKET_BYTES_MAX as u16,
            pad: 0,
            trailer_kind: wire::TRAILER_CRC32C,
            deadline_us: 0,
            tlvs: Tlvs::EMPTY,
        };
        let mut packet = [0; OPEN_LEN_MIN];
        open.emit(&header, OPEN_LEN_MIN, &mut packet);
        packet
    }

    fn is_answered_by(&self, bytes: &[u8]) -> bool {
        match wire::parse(bytes) {
            Ok((header, Packet::Challenge(challenge))) => {
                header.tag == self.tag && challenge.nonce == self.nonce
            }
            // A device of another version refuses; `probe` then reports that.
            Ok((header, Packet::Refuse(refuse))) => {
                header.tag == self.tag && refuse.nonce == self.nonce
            }
            _ => false,
        }
    }
}

/// The destinations of the query.
#[derive(Debug, PartialEq, Eq)]
struct Targets {
    v4: BTreeSet<SocketAddr>,
    v6: BTreeSet<SocketAddr>,
}

impl Targets {
    fn of_this_host(port: u16) -> io::Result<Self> {
        let interfaces = if_addrs::get_if_addrs()?;
        let addresses = interfaces.iter().map(|interface| (&interface.addr, interface.index));
        Ok(Self::of(addresses, port))
    }

    fn of<'a>(interfaces: impl Iterator<Item = (&'a IfAddr, Option<u32>)>, port: u16) -> Self {
        // Devices of this host, which do not receive broadcasts of a network.
        let mut v4 = BTreeSet::from([
            SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            SocketAddr::from(([127, 255, 255, 255], port)),
        ]);
        let mut v6 = BTreeSet::from([SocketAddr::from((Ipv6Addr::LOCALHOST, port))]);
        for (address, index) in interfaces.filter(|(address, _)| !address.is_loopback()) {
            match address {
                IfAddr::V4(own) => {
                    // A device bound to this address alone does not receive broadcasts either.
                    v4.insert(SocketAddr::from((own.ip, port)));
                    v4.extend(own.broadcast.map(|all| SocketAddr::from((all, port))));
                }
                IfAddr::V6(own) => {
                    let scope = index.unwrap_or(0);
                    let own_scope = if own.is_link_local() { scope } else { 0 };
                    v6.insert(SocketAddrV6::new(own.ip, port, 0, own_scope).into());
                    v6.insert(SocketAddrV6::new(ALL_NODES, port, 0, scope).into());
                }
            }
        }
        Self { v4, v6 }
    }
}

/// An address and its usefulness: lower is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ranked {
    rank: u8,
    address: SocketAddr,
}

impl Ranked {
    fn new(address: SocketAddr) -> Self {
        let rank = match address.ip() {
            ip if ip.is_loopback() => 3,
            IpAddr::V6(ip) if ip.is_unicast_link_local() => 2,
            IpAddr::V6(_) => 1,
            IpAddr::V4(_) => 0,
        };
        Self { rank, address }
    }
}

/// Merges the addresses of each device, which its boot ID and name identify. Hardware without a
/// boot ID reports 0.
fn merge(mut described: Vec<DeviceInfo>) -> Vec<FoundDevice> {
    described.sort_by_key(|info| Ranked::new(info.address));
    let mut devices: Vec<FoundDevice> = Vec::new();
    for info in described {
        let is_it = |device: &&mut FoundDevice| {
            let known = &device.info;
            info.boot_id != 0 && (known.boot_id, &known.name) == (info.boot_id, &info.name)
        };
        match devices.iter_mut().find(is_it) {
            Some(device) => device.other_addresses.push(info.address),
            None => devices.push(FoundDevice { info, other_addresses: Vec::new() }),
        }
    }
    devices
}

/// All nodes of a link.
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);

/// Number of queries: a packet may be lost.
const QUESTIONS: u32 = 3;

/// Maximum number of addresses that are queried for their streams.
pub const ANSWERS_MAX: usize = 256;

/// Number of parallel probes.
const AT_ONCE: usize = 16;

const LOOK_PAUSE: Duration = Duration::from_millis(5);
const LOOK_PACKETS_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use if_addrs::{Ifv4Addr, Ifv6Addr};

    use super::*;

    #[test]
    fn question_goes_to_each_network_and_to_this_host() {
        let v4 = |ip: &str, broadcast: Option<&str>| {
            IfAddr::V4(Ifv4Addr {
                ip: ip.parse().unwrap(),
                netmask: "255.255.255.0".parse().unwrap(),
                prefixlen: 24,
                broadcast: broadcast.map(|all| all.parse().unwrap()),
            })
        };
        let v6 = |ip: &str| {
            let (ip, netmask) = (ip.parse().unwrap(), "ffff:ffff:ffff:ffff::".parse().unwrap());
            IfAddr::V6(Ifv6Addr { ip, netmask, prefixlen: 64, broadcast: None })
        };
        let interfaces = [
            (v4("127.0.0.1", None), Some(1)),
            (v4("10.1.2.3", Some("10.1.2.255")), Some(2)),
            (v4("10.9.9.9", None), Some(3)),
            (v6("fe80::5"), Some(2)),
            (v6("2001:db8::7"), Some(2)),
        ];
        let targets = Targets::of(interfaces.iter().map(|(address, index)| (address, *index)), 7);
        let addresses = |list: &[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
        let v4: BTreeSet<SocketAddr> = addresses(&[
            "127.0.0.1:7",
            "127.255.255.255:7",
            "10.1.2.3:7",
            "10.1.2.255:7",
            "10.9.9.9:7",
        ]);
        let v6 = addresses(&["[::1]:7", "[fe80::5%2]:7", "[2001:db8::7]:7", "[ff02::1%2]:7"]);
        assert_eq!(targets, Targets { v4, v6 });
    }

    #[test]
    fn answer_is_known_by_tag_and_nonce() {
        let question = Question { nonce: 9, tag: Tag(5) };
        let answer = |tag, nonce| {
            let header = Header {
                kind: PacketType::Challenge,
                flags: Flags::NONE,
                tag,
                index: 0,
                seq: Seq(0),
                departure: Departure(0),
            };
            let challenge = wire::Challenge { nonce, cookie: [1; 16] };
            let mut bytes = [0; OPEN_LEN_MIN];
            let len = challenge.emit(&header, &mut bytes);
            bytes[..len].to_vec()
        };
        assert!(question.is_answered_by(&answer(Tag(5), 9)));
        assert!(!question.is_answered_by(&answer(Tag(6), 9)));
        assert!(!question.is_answered_by(&answer(Tag(5), 8)));
        assert!(!question.is_answered_by(&question.packet()));
        assert!(!question.is_answered_by(&[]));
        assert!(answer(Tag(5), 9).len() < question.packet().len());
    }

    #[test]
    fn addresses_that_other_hosts_reach_come_first() {
        let mut addresses =
            ["[::1]:1", "127.0.0.1:1", "[fe80::1%2]:1", "[2001:db8::1]:1", "10.0.0.1:1"]
                .map(|text| Ranked::new(text.parse().unwrap()));
        addresses.sort();
        let sorted = addresses.map(|ranked| ranked.address.to_string());
        assert_eq!(
            sorted,
            ["10.0.0.1:1", "[2001:db8::1]:1", "[fe80::1%2]:1", "127.0.0.1:1", "[::1]:1"]
        );
    }
}
