//! UDP over IPv4 and IPv6: batched calls, segmentation and joining by the kernel, ECN.
//!
//! A packet costs no allocation and, in a batch, a fraction of a system call. Don't-fragment is
//! set and path MTU answers are not believed (see `Socket::open`): the protocol proves the MTU
//! with padded packets.

mod options;
mod runs;
mod sys;

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

pub use self::options::UdpOptions;
use self::sys::Socket;
use self::sys::message::{ReceiveHeaders, Received, SendHeaders};
use crate::batch::{Batch, JOINED_BYTES_MAX, JOINED_RECEIVES_MAX, Meta, Place};
use crate::link::{Capabilities, Link, LinkError, Outgoing};
use crate::wake::Waker;

/// A UDP socket as a link.
///
/// ```
/// use samplewire_io::{Batch, Ecn, Link, Outgoing, Udp, UdpOptions};
///
/// let options = UdpOptions::new();
/// let mut far = Udp::bind("127.0.0.1:0".parse()?, &options)?;
/// let mut near = Udp::client(far.local_addr(), &options)?;
/// let packet = Outgoing::whole(far.local_addr(), Ecn::Ect0, b"samples");
/// assert_eq!(near.send(&[packet; 3])?, 3);
///
/// let mut batch = Batch::new(64, 9_000);
/// far.wait(std::time::Duration::from_secs(1))?;
/// far.recv(&mut batch)?;
/// assert!(batch.iter().all(|(bytes, meta)| bytes == b"samples" && meta.ecn == Ecn::Ect0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Udp {
    socket: Socket,
    waker: Waker,
    local: SocketAddr,
    /// The only peer, for a client.
    remote: Option<SocketAddr>,
    capabilities: Capabilities,
    joining: bool,
    receive_messages_max: usize,
    send_headers: SendHeaders,
    receive_headers: ReceiveHeaders,
    /// Whether the last receive had joined packets.
    joined: bool,
    /// Whether the last send found the socket's buffer full.
    blocked: bool,
    kernel_dropped: u32,
    /// Packets that did not fit the batch.
    truncated: u32,
    unreachable: u64,
}

impl Udp {
    /// Binds to `local` for any number of peers. Port 0 lets the system choose; an unspecified
    /// IPv6 address does not take IPv4 packets.
    ///
    /// `mtu_bytes` is that of the interface which has the address, or the largest of all; see
    /// [`route_mtu_bytes`] for the one towards a peer.
    ///
    /// # Errors
    /// `System` with the operation, e.g. `bind` when the port is in use.
    pub fn bind(local: SocketAddr, options: &UdpOptions) -> Result<Self, LinkError> {
        let socket = Socket::open(local).map_err(system("socket", local))?;
        socket.bind(local).map_err(system("bind", local))?;
        let mtu_bytes = socket
            .interface_mtu(local.ip())
            .map_err(system("getifaddrs", local))?
            .unwrap_or(MTU_BYTES_UNKNOWN);
        Self::new(socket, None, mtu_bytes, options)
    }

    /// Makes a link to `remote` alone, from an address and port that the system chooses.
    ///
    /// # Errors
    /// `System` with the operation, e.g. `connect` when no route leads there.
    pub fn client(remote: SocketAddr, options: &UdpOptions) -> Result<Self, LinkError> {
        let socket = connected(remote)?;
        let mtu_bytes = socket.route_mtu().map_err(system("getsockopt", remote))?;
        Self::new(socket, Some(remote), mtu_bytes, options)
    }

    fn new(
        socket: Socket,
        remote: Option<SocketAddr>,
        mtu_bytes: usize,
        options: &UdpOptions,
    ) -> Result<Self, LinkError> {
        let local = socket.local_addr().map_err(system("getsockname", any_like(remote)))?;
        let receive_buffer_bytes = socket
            .set_receive_buffer(options.receive_buffer_bytes)
            .map_err(system("setsockopt", local))?;
        let send_buffer_bytes = socket
            .set_send_buffer(options.send_buffer_bytes)
            .map_err(system("setsockopt", local))?;
        socket.count_drops().map_err(system("setsockopt", local))?;
        let joining = options.joining && socket.join_received();
        let capabilities = Capabilities {
            kind: "udp",
            mtu_bytes: mtu_bytes.min(IP_BYTES_MAX),
            receive_buffer_bytes,
            send_buffer_bytes,
            segmentation: options.segmentation && socket.knows_segmentation(),
            ecn: true,
        };
        Ok(Self {
            waker: Waker::new().map_err(system("eventfd", local))?,
            socket,
            local,
            remote,
            capabilities,
            joining,
            receive_messages_max: options.receive_messages_max,
            send_headers: SendHeaders::new(options.send_packets_max),
            receive_headers: ReceiveHeaders::new(options.receive_messages_max),
            joined: false,
            blocked: false,
            kernel_dropped: 0,
            truncated: 0,
            unreachable: 0,
        })
    }

    /// Enters the packets of one received message.
    fn enter(&mut self, batch: &mut Batch, offset_bytes: usize, received: &Received) {
        // The kernel leaves the count out while it is zero.
        self.kernel_dropped = received.dropped.unwrap_or(self.kernel_dropped);
        let Some(peer) = received.peer.filter(|_| !received.truncated) else {
            self.truncated = self.truncated.wrapping_add(1);
            return;
        };
        let dropped = Some(self.kernel_dropped.wrapping_add(self.truncated));
        let meta = Meta { peer, ecn: received.ecn, dropped };
        self.joined |= received.segment_bytes < received.len_bytes;
        let mut start_bytes = 0;
        loop {
            let len_bytes = received.segment_bytes.min(received.len_bytes - start_bytes);
            let place = Place { offset_bytes: offset_bytes + start_bytes, len_bytes };
            if !batch.enter(place, meta) {
                self.truncated = self.truncated.wrapping_add(1);
            }
            start_bytes += len_bytes;
            if start_bytes == received.len_bytes || len_bytes == 0 {
                return;
            }
        }
    }
}

impl Link for Udp {
    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The kernel refusing segmentation turns it off for good, see [`Capabilities`]. A packet
    /// for which the route is gone counts as sent.
    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        let mut sent = 0;
        let mut refusals = 0;
        let mut segmented = self.capabilities.segmentation;
        self.blocked = false;
        while sent < packets.len() {
            let rest = &packets[sent..];
            let error = match self.send_headers.send(&self.socket, rest, segmented, self.remote) {
                Ok(count) => {
                    // Only what has left unsegmented proves that segmentation was the fault.
                    self.capabilities.segmentation = segmented;
                    sent += count;
                    refusals = 0;
                    continue;
                }
                Err(error) => error,
            };
            refusals += 1;
            match Refusal::of(&error) {
                Refusal::Full => {
                    self.blocked = error.raw_os_error() == Some(libc::EAGAIN);
                    break;
                }
                Refusal::Again if refusals <= REFUSALS_MAX => {}
                Refusal::Again => break,
                Refusal::Segmentation if segmented && runs::run_len(rest) > 1 => segmented = false,
                Refusal::Unreachable => {
                    self.unreachable += 1;
                    sent += usize::from(refusals > REFUSALS_MAX);
                }
                // On a connected socket the first may be the answer to an earlier packet.
                Refusal::TooLong if refusals <= 1 => {}
                Refusal::TooLong if sent == 0 => {
                    let (len_bytes, peer) = (rest[0].len_bytes(), rest[0].peer);
                    return Err(LinkError::TooLong { len_bytes, peer });
                }
                _ if sent == 0 => return Err(system("send", rest[0].peer)(error)),
                _ => break,
            }
        }
        Ok(sent)
    }

    /// A packet that is longer than the batch was made for is dropped and counted in
    /// [`Meta::dropped`], unless the kernel joins packets: then all fit.
    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        batch.clear();
        let (stride_bytes, bound) = if self.joining {
            (JOINED_BYTES_MAX, if self.joined { JOINED_RECEIVES } else { JOINED_RECEIVES_MAX })
        } else {
            (batch.packet_bytes_max(), usize::MAX)
        };
        let messages_max = self.receive_messages_max.min(batch.packets_max()).min(bound);
        for _ in 0..=REFUSALS_MAX {
            let arena = batch.arena_mut();
            match self.receive_headers.receive(&self.socket, arena, stride_bytes, messages_max) {
                Ok(messages) => {
                    self.joined = false;
                    for index in 0..messages {
                        let received = self.receive_headers.received(index);
                        self.enter(batch, index * stride_bytes, &received);
                    }
                    return Ok(());
                }
                Err(error) => match Refusal::of(&error) {
                    Refusal::Full => return Ok(()),
                    Refusal::Again => {}
                    Refusal::Unreachable | Refusal::TooLong => self.unreachable += 1,
                    _ => return Err(system("receive", self.local)(error)),
                },
            }
        }
        Ok(())
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), LinkError> {
        self.waker
            .wait_with(self.socket.fd(), self.blocked, timeout)
            .map_err(system("wait", self.local))
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn unreachable_hint(&self) -> u64 {
        self.unreachable
    }
}

impl fmt::Debug for Udp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Udp")
            .field("local", &self.local)
            .field("remote", &self.remote)
            .field("capabilities", &self.capabilities)
            .finish_non_exhaustive()
    }
}

/// The MTU of the route to `peer` in bytes, for a listener that answers it.
///
/// # Errors
/// `System` with the operation, e.g. `connect` when no route leads there.
pub fn route_mtu_bytes(peer: SocketAddr) -> Result<usize, LinkError> {
    let mtu_bytes = connected(peer)?.route_mtu().map_err(system("getsockopt", peer))?;
    Ok(mtu_bytes.min(IP_BYTES_MAX))
}

fn connected(remote: SocketAddr) -> Result<Socket, LinkError> {
    let socket = Socket::open(remote).map_err(system("socket", remote))?;
    socket.connect(remote).map_err(system("connect", remote))?;
    Ok(socket)
}

/// What a failed call means for the packet it concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// No room, or nothing there.
    Full,
    /// A signal came.
    Again,
    /// The interface or the kernel does not segment; or an older kernel finds a segment too long.
    Segmentation,
    /// The network answered that nobody is there, perhaps to an earlier packet.
    Unreachable,
    /// Longer than the interface takes; or the network answered so to an earlier packet.
    TooLong,
    Other,
}

impl Refusal {
    fn of(error: &io::Error) -> Self {
        match error.raw_os_error().unwrap_or(0) {
            libc::EAGAIN | libc::ENOBUFS => Self::Full,
            libc::EINTR => Self::Again,
            libc::EIO | libc::EINVAL | libc::ENOPROTOOPT => Self::Segmentation,
            libc::ECONNREFUSED
            | libc::EHOSTUNREACH
            | libc::ENETUNREACH
            | libc::ENETDOWN
            | libc::EHOSTDOWN => Self::Unreachable,
            libc::EMSGSIZE => Self::TooLong,
            _ => Self::Other,
        }
    }
}

fn system(operation: &'static str, address: SocketAddr) -> impl FnOnce(io::Error) -> LinkError {
    move |source| LinkError::System { operation, address, source }
}

/// What to name while the local address is not known.
fn any_like(remote: Option<SocketAddr>) -> SocketAddr {
    match remote {
        Some(SocketAddr::V6(_)) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        _ => (Ipv4Addr::UNSPECIFIED, 0).into(),
    }
}

/// How often one packet is offered again before it counts as lost.
const REFUSALS_MAX: u32 = 3;

/// Joined receives that one call takes: 1 MiB, so that the packets are still in a cache when they
/// are read.
const JOINED_RECEIVES: usize = 16;

/// The loopback interface's MTU is one more than the length field of IPv4 holds.
const IP_BYTES_MAX: usize = 65_535;

/// Ethernet's, where no interface has the address (anycast, transparent proxies).
const MTU_BYTES_UNKNOWN: usize = 1500;

#[cfg(test)]
mod tests;
