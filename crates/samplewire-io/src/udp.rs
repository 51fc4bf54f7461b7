//! UDP over IPv4 and IPv6: batched calls, segmentation and joining by the kernel, ECN.
//!
//! A packet costs no allocation and, in a batch, a fraction of a system call. Don't-fragment is
//! set and path MTU answers are not believed (see `Socket::open`): the protocol proves the MTU
//! with padded packets.

mod depth;
mod drops;
mod lane;
mod marking;
mod options;
mod runs;
mod single_packet_mode;
mod speed;
mod sys;

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Instant;

use self::depth::Depth;
use self::drops::Drops;
use self::lane::{Bound, LOOK_MESSAGES_MAX, Lane};
use self::marking::Marking;
use self::options::BUFFER_BYTES;
pub use self::options::UdpOptions;
use self::single_packet_mode::SinglePacketMode;
use self::speed::Speed;
use self::sys::Socket;
use self::sys::message::{ReceiveHeaders, Received, SendHeaders, Sending};
use crate::batch::{Batch, JOINED_RECEIVES_MAX, JOINED_STRIDE_BYTES, Meta, Place};
use crate::concern::{Call, Concern};
use crate::favoured::Favoured;
use crate::link::{Capabilities, Link, LinkError, Outgoing};
use crate::netlink::link;
use crate::wake::{Sleep, Waker};

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
    /// Where favoured packets come to, on a link for any number of peers.
    lane: Option<Lane>,
    /// The kernel drops what is not favoured, on a link to one peer.
    is_filtered: bool,
    waker: Waker,
    local: SocketAddr,
    /// The index of the interface that was named.
    interface: Option<u32>,
    /// The only peer, for a client.
    remote: Option<SocketAddr>,
    capabilities: Capabilities,
    /// The receive buffer follows [`Link::make_room`].
    grows: bool,
    /// The kernel may join packets, and is asked to once many come.
    joining: bool,
    joins: bool,
    receive_messages_max: usize,
    send_headers: SendHeaders,
    receive_headers: ReceiveHeaders,
    marking: Marking,
    depth: Depth,
    /// Of the lane's socket where there is a lane.
    single_packet: SinglePacketMode,
    /// Whether the last send found the socket's buffer full.
    blocked: bool,
    kernel_dropped: u32,
    drops: Drops,
    /// The most packets that one message has brought.
    joined_packets_max: u32,
    /// Packets that did not fit the batch.
    truncated: u32,
    unreachable: u64,
    speed: Speed,
}

/// Where packets leave this host.
struct FirstHop {
    /// The interface that was named.
    named: Option<link::Interface>,
    mtu_bytes: usize,
}

impl Udp {
    /// Binds to `local` for any number of peers. Port 0 lets the system choose; an unspecified
    /// IPv6 address does not take IPv4 packets.
    ///
    /// `mtu_bytes` is that of the interface which is named or has the address, or the largest of all; see
    /// [`route_mtu_bytes`] for the one towards a peer.
    ///
    /// # Errors
    /// `System` with the operation, e.g. `bind` when the port is in use; `Interface` when there is none of
    /// the name.
    pub fn bind(local: SocketAddr, options: &UdpOptions) -> Result<Self, LinkError> {
        let socket = Socket::open(local).map_err(system("socket", local))?;
        let named = bind_interface(&socket, options)?;
        socket.bind(local).map_err(system("bind", local))?;
        let mtu_bytes = match &named {
            Some(interface) => Some(interface.mtu_bytes as usize),
            None => socket.interface_mtu(local.ip()).map_err(system("getifaddrs", local))?,
        };
        let mtu_bytes = mtu_bytes.unwrap_or(MTU_BYTES_UNKNOWN);
        Self::new(socket, None, FirstHop { named, mtu_bytes }, options)
    }

    /// Makes a link to `remote` alone, from an address and port that the system chooses.
    ///
    /// # Errors
    /// `System` with the operation, e.g. `connect` when no route leads there; `Interface` when there is none
    /// of the name.
    pub fn client(remote: SocketAddr, options: &UdpOptions) -> Result<Self, LinkError> {
        let socket = Socket::open(remote).map_err(system("socket", remote))?;
        let named = bind_interface(&socket, options)?;
        socket.connect(remote).map_err(system("connect", remote))?;
        let mtu_bytes = socket.route_mtu().map_err(system("getsockopt", remote))?;
        Self::new(socket, Some(remote), FirstHop { named, mtu_bytes }, options)
    }

    fn new(
        socket: Socket,
        remote: Option<SocketAddr>,
        FirstHop { named, mtu_bytes }: FirstHop,
        options: &UdpOptions,
    ) -> Result<Self, LinkError> {
        let local = socket.local_addr().map_err(system("getsockname", any_like(remote)))?;
        let receive_buffer_bytes = socket
            .set_receive_buffer(options.receive_buffer_bytes.unwrap_or(BUFFER_BYTES))
            .map_err(system("setsockopt", local))?;
        let send_buffer_bytes = socket
            .set_send_buffer(options.send_buffer_bytes)
            .map_err(system("setsockopt", local))?;
        socket.count_drops(true).map_err(system("setsockopt", local))?;
        let joining = options.joining && socket.join_received(false);
        let capabilities = Capabilities {
            kind: "udp",
            mtu_bytes: mtu_bytes.min(IP_BYTES_MAX),
            receive_buffer_bytes,
            send_buffer_bytes,
            segmentation: options.segmentation && socket.knows_segmentation(),
            ecn: true,
            interface: options.interface.clone(),
            bypass: None,
        };
        Ok(Self {
            waker: Waker::new().map_err(system("eventfd", local))?,
            socket,
            lane: None,
            is_filtered: false,
            local,
            interface: named.map(|it| it.index),
            remote,
            capabilities,
            grows: options.receive_buffer_bytes.is_none(),
            joining,
            joins: false,
            receive_messages_max: options.receive_messages_max,
            send_headers: SendHeaders::new(options.send_packets_max),
            receive_headers: ReceiveHeaders::new(options.receive_messages_max, remote),
            marking: Marking::new(),
            depth: Depth::new(),
            single_packet: SinglePacketMode::new(),
            blocked: false,
            kernel_dropped: 0,
            drops: Drops::new(local.is_ipv6()),
            joined_packets_max: 1,
            truncated: 0,
            unreachable: 0,
            speed: Speed::new(options.line_bps, options.interface.clone()),
        })
    }

    /// The index of the interface that was named.
    pub(crate) const fn interface(&self) -> Option<u32> {
        self.interface
    }

    /// The only peer, for a client.
    pub(crate) const fn remote(&self) -> Option<SocketAddr> {
        self.remote
    }

    /// The next packets go by another way: nothing waits for room in the socket.
    pub(crate) const fn forget_full(&mut self) {
        self.blocked = false;
    }

    /// Receives from the lane or the port's own socket into the arena from buffer `first` on, at
    /// most `messages_max` messages, and says how many came.
    fn receive(
        &mut self,
        batch: &mut Batch,
        from_lane: bool,
        (first, messages_max): (usize, usize),
    ) -> Result<usize, LinkError> {
        let stride_bytes =
            if self.joining { JOINED_STRIDE_BYTES } else { batch.packet_bytes_max() };
        let mut attempts = 0;
        loop {
            let socket = match &self.lane {
                Some(lane) if from_lane => &lane.socket,
                _ => &self.socket,
            };
            let arena = &mut batch.arena_mut()[first * stride_bytes..];
            match self.receive_headers.receive(socket, arena, stride_bytes, messages_max) {
                Ok(messages) => {
                    self.depth.begin();
                    match &mut self.lane {
                        Some(lane) if from_lane => lane.drops.begin(),
                        _ => self.drops.begin(),
                    }
                    for index in 0..messages {
                        let received = self.receive_headers.received(index);
                        self.enter(batch, (first + index) * stride_bytes, &received, from_lane);
                    }
                    return Ok(messages);
                }
                Err(error) => {
                    attempts += 1;
                    let is_last = attempts == ATTEMPTS_MAX;
                    match Concern::of_system(Call::Receive, &error) {
                        Concern::Attempt if is_interrupt(&error) && !is_last => {}
                        Concern::Attempt => return Ok(0),
                        // To have read an answer of the network clears it.
                        Concern::Stream if !is_last => self.unreachable += 1,
                        _ => return Err(system("receive", self.local)(error)),
                    }
                }
            }
        }
    }

    /// Receives from the lane, and from the port's own socket when that is due; says how many messages
    /// the lane had.
    fn receive_both(
        &mut self,
        batch: &mut Batch,
        now: Instant,
        messages_max: usize,
    ) -> Result<usize, LinkError> {
        let is_due = self.lane.as_mut().is_some_and(|lane| {
            lane.port_limit.note_return(now);
            lane.port_limit.is_due(now)
        });
        let strangers_max = if is_due { (messages_max / 4).clamp(1, LOOK_MESSAGES_MAX) } else { 0 };
        let asked = self.depth.of(messages_max - strangers_max);
        let taken = self.receive(batch, true, (0, asked))?;
        self.depth.note(asked, taken);
        if is_due {
            let len_before = batch.len();
            self.receive(batch, false, (taken, strangers_max))?;
            let packets = batch.len() - len_before;
            if let Some(lane) = &mut self.lane {
                lane.port_limit.note_look(Instant::now(), packets);
            }
        }
        Ok(taken)
    }

    /// Has the kernel count drops with each packet, or not: see [`SinglePacketMode`].
    fn count_drops(&mut self, on: bool) {
        let socket = self.lane.as_ref().map_or(&self.socket, |lane| &lane.socket);
        if socket.count_drops(on).is_ok() {
            self.single_packet.set(on);
        }
    }

    /// What a look that began at `now` and found so many messages says of those to come.
    fn end_look(&mut self, now: Instant, messages: usize) {
        let change = self.single_packet.end(now, messages);
        let may_join = self.lane.is_none() && !self.is_filtered;
        if self.joining && !self.joins && may_join && self.single_packet.is_crowd() {
            self.joins = self.socket.join_received(true);
        }
        if let Some(on) = change
            && (on || !self.joins && !self.is_filtered)
        {
            self.count_drops(on);
        }
    }

    /// Enters the packets of one received message.
    fn enter(
        &mut self,
        batch: &mut Batch,
        offset_bytes: usize,
        received: &Received,
        from_lane: bool,
    ) {
        let (kernel_dropped, drops) = match &mut self.lane {
            Some(lane) if from_lane => (&mut lane.kernel_dropped, &mut lane.drops),
            _ => (&mut self.kernel_dropped, &mut self.drops),
        };
        // The kernel leaves the count out while it is zero.
        *kernel_dropped = received.dropped.unwrap_or(*kernel_dropped);
        if self.is_filtered {
            drops.skip(*kernel_dropped);
        }
        let dropped = drops.without_room(*kernel_dropped, Instant::now);
        let dropped = dropped.wrapping_add(self.truncated);
        let Some(peer) = received.peer.filter(|_| !received.truncated) else {
            self.truncated = self.truncated.wrapping_add(1);
            return;
        };
        let dropped = (!self.is_filtered).then_some(dropped);
        let packets = received.len_bytes.div_ceil(received.segment_bytes.max(1)) as u32;
        self.depth.see(received.len_bytes, packets > 1);
        self.joined_packets_max = self.joined_packets_max.max(packets);
        let packets_per_drop = self.joined_packets_max;
        let meta = Meta { peer, ecn: received.ecn, dropped, packets_per_drop };
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

    /// Lets the socket set the ECN bits that most packets leave with.
    fn mark(&mut self, packets: &[Outgoing<'_>]) {
        // Control packets leave first, and are fewer.
        let Some(last) = packets.last() else { return };
        if let Some(ecn) = self.marking.note(last.ecn)
            && self.socket.set_ecn(ecn).is_ok()
        {
            self.marking.set(ecn);
        }
    }

    /// The kernel drops what is not favoured, and joins no more: it would look at the first of
    /// joined packets alone.
    fn filter(&mut self, favoured: Option<&Favoured<'_>>) -> io::Result<()> {
        match favoured {
            Some(favoured) => {
                self.socket.attach_filter(favoured)?;
                if self.joins {
                    self.socket.join_received(false);
                }
                self.is_filtered = true;
            }
            None if self.is_filtered => {
                self.socket.detach_filter()?;
                if self.joins {
                    self.socket.join_received(true);
                }
                self.is_filtered = false;
            }
            None => {}
        }
        Ok(())
    }

    /// Opens, changes or closes the lane.
    fn steer(&mut self, favoured: Option<&Favoured<'_>>) -> io::Result<()> {
        match (favoured, &self.lane) {
            (Some(favoured), Some(_)) => self.socket.attach_steering(favoured),
            (Some(favoured), None) => {
                let buffer_bytes = self.capabilities.receive_buffer_bytes;
                let bound = Bound { local: self.local, interface: self.interface };
                let lane = Lane::open(&self.socket, bound, favoured, buffer_bytes)?;
                self.lane = Some(lane);
                Ok(())
            }
            (None, Some(_)) => {
                self.lane = None;
                self.socket.share_port(false)
            }
            (None, None) => Ok(()),
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

    /// The kernel refusing segmentation turns it off for good, see [`Capabilities`].
    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        let mut sent = 0;
        let mut attempts = 0;
        let mut segmented = self.capabilities.segmentation;
        self.blocked = false;
        self.mark(packets);
        while sent < packets.len() {
            let rest = &packets[sent..];
            let own_ecn = self.marking.own();
            let sending = Sending { segmented, connected: self.remote, own_ecn };
            let error = match self.send_headers.send(&self.socket, rest, sending) {
                Ok(count) => {
                    // Only what has left unsegmented proves that segmentation was the fault.
                    self.capabilities.segmentation = segmented;
                    sent += count;
                    attempts = 0;
                    continue;
                }
                Err(error) => error,
            };
            attempts += 1;
            let is_last = attempts == ATTEMPTS_MAX;
            match Concern::of_system(Call::Send, &error) {
                Concern::Attempt if is_interrupt(&error) && !is_last => {}
                Concern::Attempt => {
                    self.blocked = error.raw_os_error() == Some(libc::EAGAIN);
                    break;
                }
                _ if segmented && runs::run_len(rest) > 1 && is_of_segmentation(&error) => {
                    segmented = false;
                }
                // A connected socket returns an answer of the network to the next call, whatever that
                // sends, and has then forgotten it.
                _ if self.remote.is_some() && !is_last => {
                    let read = Concern::of_system(Call::Receive, &error);
                    self.unreachable += u64::from(read == Concern::Stream);
                }
                _ if sent > 0 => break,
                _ if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                    let (len_bytes, peer) = (rest[0].len_bytes(), rest[0].peer);
                    return Err(LinkError::TooLong { len_bytes, peer });
                }
                _ => return Err(system("send", rest[0].peer)(error)),
            }
        }
        Ok(sent)
    }

    /// A packet that is longer than the batch was made for is dropped and counted in
    /// [`Meta::dropped`], unless the kernel joins packets: then all fit.
    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        batch.clear();
        let slots = if self.joining {
            (batch.arena_mut().len() / JOINED_STRIDE_BYTES).min(JOINED_RECEIVES_MAX)
        } else {
            batch.packets_max()
        };
        let messages_max = self.receive_messages_max.min(batch.packets_max()).min(slots);
        let now = Instant::now();
        if self.single_packet.begin(now, self.capabilities.receive_buffer_bytes) {
            self.count_drops(true);
        }
        let came = if self.lane.is_some() {
            self.receive_both(batch, now, messages_max)?
        } else {
            let asked = self.depth.of(messages_max);
            let came = self.receive(batch, false, (0, asked))?;
            self.depth.note(asked, came);
            came
        };
        self.end_look(now, came);
        Ok(())
    }

    fn begin_wait(&mut self, sleep: &mut Sleep) -> Result<(), LinkError> {
        let mut ends_on_arrival = true;
        if let Some(lane) = &mut self.lane {
            let now = Instant::now();
            lane.port_limit.note_return(now);
            let (is_awaited, timeout) = lane.port_limit.waits(now, sleep.timeout());
            ends_on_arrival = is_awaited;
            if timeout < sleep.timeout() {
                sleep.at_most(timeout);
            }
            sleep.add(lane.socket.fd(), true, false);
        }
        sleep.add(self.socket.fd(), ends_on_arrival, self.blocked);
        Ok(())
    }

    fn end_wait(&mut self, sleep: &Sleep) -> Result<(), LinkError> {
        if let Some(lane) = &mut self.lane
            && sleep.is_ready(self.socket.fd())
        {
            lane.port_limit.note_ready(Instant::now());
        }
        Ok(())
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// What the system refuses is not had; `capabilities` says what is.
    fn make_room(&mut self, packets: u32, packet_bytes: usize) {
        let wanted_bytes = (packets as usize).saturating_mul(packet_bytes + CHARGE_BYTES);
        let wanted_bytes = wanted_bytes.min(ROOM_BYTES_MAX);
        if !self.grows || wanted_bytes <= self.capabilities.receive_buffer_bytes {
            return;
        }
        for socket in [Some(&self.socket), self.lane.as_ref().map(|lane| &lane.socket)] {
            if let Some(granted) = socket.and_then(|it| it.set_receive_buffer(wanted_bytes).ok()) {
                self.capabilities.receive_buffer_bytes = granted;
            }
        }
    }

    fn is_full(&self) -> bool {
        self.blocked
    }

    fn unreachable_hint(&self) -> u64 {
        self.unreachable
    }

    fn line_bps(&mut self, peer: SocketAddr) -> Option<u64> {
        self.speed.towards(peer)
    }

    /// On a bound socket favoured packets get a socket of their own at the same port, on a
    /// connected one the kernel drops the others.
    fn favour(&mut self, favoured: Option<&Favoured<'_>>) -> bool {
        // A filter drops too, and a lane is another socket.
        if self.single_packet.is_spared() {
            self.count_drops(true);
        }
        let done = match self.remote {
            Some(_) => self.filter(favoured),
            None => self.steer(favoured),
        };
        done.is_ok()
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

/// The address with which packets to `peer` leave by the kernel's choice.
///
/// # Errors
/// `System` with the operation, e.g. `connect` when no route leads there.
pub(crate) fn route_source(peer: SocketAddr) -> Result<IpAddr, LinkError> {
    let local = connected(peer)?.local_addr().map_err(system("getsockname", peer))?;
    Ok(local.ip())
}

fn connected(remote: SocketAddr) -> Result<Socket, LinkError> {
    let socket = Socket::open(remote).map_err(system("socket", remote))?;
    socket.connect(remote).map_err(system("connect", remote))?;
    Ok(socket)
}

/// Binds a socket that has no address yet to the interface that is named, if one is.
fn bind_interface(
    socket: &Socket,
    options: &UdpOptions,
) -> Result<Option<link::Interface>, LinkError> {
    let Some(name) = &options.interface else { return Ok(None) };
    let bound = link::interface_named(name)
        .and_then(|interface| socket.bind_interface(interface.index).map(|()| interface));
    match bound {
        Ok(interface) => Ok(Some(interface)),
        Err(source) => Err(LinkError::Interface { name: name.clone(), source }),
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

fn is_interrupt(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINTR)
}

/// Whether the kernel may refuse to segment with this: the interface cannot (EIO), or a segment with
/// its headers is longer than the MTU, or the socket sends no checksums (EINVAL). No answer of the
/// network is one of these, so that no forged one turns segmentation off.
fn is_of_segmentation(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL))
}

/// How often a call is made for one packet, or for one batch, while a connected socket returns
/// answers of the network: a flood of forged ones delays it by so many calls.
const ATTEMPTS_MAX: u32 = 4;

/// The most that [`Link::make_room`] requests; the kernel doubles it.
const ROOM_BYTES_MAX: usize = 32 << 20;

/// Half of what the kernel charges a packet beyond twice its length, at most: its descriptor, and
/// the rest of its buffer.
const CHARGE_BYTES: usize = 1_024;

/// The loopback interface's MTU is one more than the length field of IPv4 holds.
const IP_BYTES_MAX: usize = 65_535;

/// Ethernet's, where no interface has the address (anycast, transparent proxies).
const MTU_BYTES_UNKNOWN: usize = 1500;

#[cfg(test)]
mod tests;
