//! Packets with a source address that is not the sender's, and sockets of strangers.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};

use samplewire_io::{Batch, Ecn, Link, Outgoing, Udp, UdpOptions};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// A raw socket that writes IP and UDP headers itself. It needs CAP_NET_RAW.
pub(crate) struct Forger {
    socket: Socket,
    to: SockAddr,
    packet: Vec<u8>,
}

impl Forger {
    pub(crate) fn new(from: SocketAddr, to: SocketAddr) -> io::Result<Self> {
        let (SocketAddr::V4(from), SocketAddr::V4(to)) = (from, to) else {
            return Err(io::Error::other("only IPv4 addresses are forged here"));
        };
        // IPPROTO_RAW: such a socket sends and receives nothing.
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(255)))?;
        socket.set_header_included_v4(true)?;
        let to_socket = SocketAddrV4::new(*to.ip(), 0);
        Ok(Self { socket, to: to_socket.into(), packet: headers(from, to) })
    }

    pub(crate) fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        self.packet.truncate(HEADERS_BYTES);
        self.packet.extend_from_slice(payload);
        let udp_len_bytes = (8 + payload.len()) as u16;
        self.packet[24..26].copy_from_slice(&udp_len_bytes.to_be_bytes());
        match self.socket.send_to(&self.packet, &self.to) {
            // The kernel's queue is full: the packet is lost, as on a wire.
            Err(error) if error.raw_os_error() != Some(105) => Err(error),
            _ => Ok(()),
        }
    }
}

/// The headers of a packet; the kernel fills in the length and the checksum of IPv4, and UDP has
/// none.
fn headers(from: SocketAddrV4, to: SocketAddrV4) -> Vec<u8> {
    let mut bytes = vec![0; HEADERS_BYTES];
    bytes[0] = 0x45;
    bytes[6] = 0x40;
    bytes[8] = 64;
    bytes[9] = 17;
    bytes[12..16].copy_from_slice(&from.ip().octets());
    bytes[16..20].copy_from_slice(&to.ip().octets());
    bytes[20..22].copy_from_slice(&from.port().to_be_bytes());
    bytes[22..24].copy_from_slice(&to.port().to_be_bytes());
    bytes
}

/// Whether addresses can be forged here.
pub(crate) fn can_forge() -> bool {
    Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(255))).is_ok()
}

/// A stranger: an attacker's own address, 127.66.x.y.
pub(crate) struct Stranger {
    link: Udp,
    batch: Batch,
}

impl Stranger {
    pub(crate) fn new(x: u8, y: u8) -> io::Result<Self> {
        let link = Udp::bind(([127, 66, x, y], 0).into(), &UdpOptions::new());
        Ok(Self { link: link.map_err(io::Error::other)?, batch: Batch::new(64, 9_000) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.link.local_addr()
    }

    /// Sends all of them in as few calls as the system takes; equal ones cross it as one.
    pub(crate) fn send(&mut self, packets: &[Vec<u8>], to: SocketAddr) -> io::Result<()> {
        for chunk in packets.chunks(CHUNK_PACKETS) {
            let mut out = [Outgoing::whole(to, Ecn::NotEct, &[]); CHUNK_PACKETS];
            for (out, packet) in out.iter_mut().zip(chunk) {
                out.parts[0] = packet;
            }
            self.link.send(&out[..chunk.len()]).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Gives what has come within `patience` to `take`, and whether anything has.
    pub(crate) fn receive(
        &mut self,
        patience: std::time::Duration,
        mut take: impl FnMut(&[u8], SocketAddr),
    ) -> io::Result<bool> {
        if !patience.is_zero() {
            self.link.wait(patience).map_err(io::Error::other)?;
        }
        self.link.recv(&mut self.batch).map_err(io::Error::other)?;
        for (bytes, meta) in &self.batch {
            take(bytes, meta.peer);
        }
        Ok(!self.batch.is_empty())
    }
}

const HEADERS_BYTES: usize = 28;
const CHUNK_PACKETS: usize = 64;
