//! The way past the kernel while it exists: the program, the sockets, the frames.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::hops::{Hop, Hops};
use super::program::{Steering, Taken};
use super::socket::{Binding, Queue};
use super::umem::{Frame, Umem};
use super::{Bypass, XdpGrant};
use crate::batch::{Batch, Meta, Place};
use crate::bpf::{Attachment, XdpMode};
use crate::datagram::{Datagram, Headers};
use crate::link::{LinkError, Outgoing, header_bytes};
use crate::netlink::{link, netdev, route};
use crate::wake::Sleep;

/// Everything that is attached. Sockets and program go when this is dropped.
#[derive(Debug)]
pub(super) struct Path {
    /// Taken off before the sockets are closed.
    _attachment: Attachment,
    steering: Steering,
    queues: Vec<Queue>,
    /// All sockets in one, where there are several.
    poll: Option<OwnedFd>,
    umem: Arc<Umem>,
    /// Frames to receive into that no ring has.
    free: Vec<Frame>,
    /// Frames to send from that no ring has.
    unsent: Vec<Frame>,
    /// Frames of the packet that is being read or written.
    parts: Vec<Part>,
    hops: Hops,
    changes: route::Changes,
    remote: Option<SocketAddr>,
    local: SocketAddr,
    interface: u32,
    grant: XdpGrant,
    mtu_bytes: usize,
    /// The queue that is read next.
    turn: usize,
    /// Before this path.
    dropped_before: u32,
    /// Packets that found no frame or no place in a ring, by the kernel's count.
    dropped_by_kernel: u32,
    /// Packets that found no room in a batch.
    dropped_here: u32,
    needs_kick: bool,
    /// The interface took no packet, and the reason is not known yet.
    has_failed: bool,
    is_full: bool,
}

/// What a path is attached for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) peer: SocketAddr,
    /// Of the UDP socket: its address, its only peer, and the interface that was named.
    pub(super) local: SocketAddr,
    pub(super) remote: Option<SocketAddr>,
    pub(super) named: Option<u32>,
    /// Where the tag of a packet stands in its payload.
    pub(super) tag_offset_bytes: u16,
    pub(super) room: Room,
    pub(super) choice: Bypass,
}

/// Packets that may come before anyone reads them, as far as is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Room {
    pub(super) packets: u32,
    pub(super) packet_bytes: usize,
}

/// Why packets go by UDP.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("{operation}: {source}")]
    System { operation: &'static str, source: io::Error },
    #[error(
        "{operation}: {source}; allow it: sudo setcap cap_net_admin,cap_net_raw,cap_bpf+ep PROGRAM \
         (replaces the rights it has)"
    )]
    NotAllowed { operation: &'static str, source: io::Error },
    #[error(
        "{operation}: {source}: too little memory may be locked; allow more: ulimit -l unlimited"
    )]
    Locked { operation: &'static str, source: io::Error },
    #[error("{0} is on this host")]
    Loopback(SocketAddr),
    #[error("{0} is of one link alone (link-local)")]
    LinkLocal(SocketAddr),
    #[error(
        "the MTU of {name} is {mtu_bytes} bytes, and at most {PACKET_BYTES_MAX} fit into frames"
    )]
    Mtu { name: String, mtu_bytes: u32 },
    #[error("{0} carries no Ethernet frames")]
    NotEthernet(String),
    #[error("the driver of {0} cannot write into a program's memory (zero copy)")]
    NoZeroCopy(String),
    #[error("the program was taken off {0}")]
    TakenOff(String),
}

impl Refusal {
    /// Whether it may pass in a moment.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self, Self::System { source, .. } if source.kind() == io::ErrorKind::ResourceBusy)
    }

    /// Whether it concerns the peer alone.
    pub(super) const fn is_of_peer(&self) -> bool {
        matches!(self, Self::Loopback(_) | Self::LinkLocal(_))
    }

    pub(super) fn of(operation: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => Self::NotAllowed { operation, source },
            Some(libc::ENOBUFS) => Self::Locked { operation, source },
            _ => Self::System { operation, source },
        }
    }
}

impl Path {
    /// Attaches to the interface by which the peer is reached.
    ///
    /// # Blocking
    /// Some 10 ms: the kernel waits until no CPU works on the interface as it was.
    pub(super) fn attach(wanted: Wanted) -> Result<Self, Refusal> {
        let Wanted { peer, local, remote, named, tag_offset_bytes, room, choice } = wanted;
        // Its route depends on the interface too, which an address alone does not name.
        if is_link_local(peer.ip()) {
            return Err(Refusal::LinkLocal(peer));
        }
        let way = route::route(peer.ip(), Some(local.ip()), named).map_err(Refusal::of("route"))?;
        if way.interface == LOOPBACK {
            return Err(Refusal::Loopback(peer));
        }
        let interface = link::interface(way.interface).map_err(Refusal::of("interface"))?;
        let Some(mac) = interface.mac else { return Err(Refusal::NotEthernet(interface.name)) };
        if interface.mtu_bytes as usize > PACKET_BYTES_MAX {
            let (name, mtu_bytes) = (interface.name, interface.mtu_bytes);
            return Err(Refusal::Mtu { name, mtu_bytes });
        }
        // Before a kernel that lists features, what the driver can do is found by trying.
        let device = netdev::net_device(way.interface).unwrap_or_default();
        let may_zero_copy = device.xdp_features.is_none_or(|bits| bits & FEATURE_ZERO_COPY != 0);
        if choice == Bypass::ZeroCopy && !may_zero_copy {
            return Err(Refusal::NoZeroCopy(interface.name));
        }
        let queues = device.receive_queues.unwrap_or(1).clamp(1, QUEUES_MAX) as u32;
        let layout = Layout::of(interface.mtu_bytes as usize, room, queues as usize);
        let has_fragments = layout.has_fragments;
        let taken = Taken { local, tag_offset_bytes, mtu_bytes: interface.mtu_bytes as usize };
        let steering = Steering::load(taken, queues, has_fragments)
            .map_err(Refusal::of("load a BPF program"))?;
        let mut bound = Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        for is_zero_copy in [true, false] {
            if bound.is_err() && (may_zero_copy || !is_zero_copy) {
                let binding =
                    Binding { interface: way.interface, queue: 0, has_fragments, is_zero_copy };
                bound = Bound::new(layout, binding, queues);
            }
        }
        let Bound { umem, queues, free, unsent } =
            bound.map_err(Refusal::of("bind an AF_XDP socket"))?;
        let is_zero_copy = queues[0].is_zero_copy().map_err(Refusal::of("XDP_OPTIONS"))?;
        if choice == Bypass::ZeroCopy && !is_zero_copy {
            return Err(Refusal::NoZeroCopy(interface.name));
        }
        let native = if choice == Bypass::Generic {
            Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
        } else {
            Attachment::xdp(&steering.program, way.interface, XdpMode::Native)
        };
        let is_native = native.is_ok();
        let attachment = native
            .or_else(|_| Attachment::xdp(&steering.program, way.interface, XdpMode::Generic))
            .map_err(Refusal::of("attach an XDP program"))?;
        for (number, queue) in queues.iter().enumerate() {
            steering
                .set_socket(number as u32, queue.as_fd().as_raw_fd())
                .map_err(Refusal::of("enter a socket into the program's map"))?;
        }
        let grant = XdpGrant {
            interface: interface.name,
            is_native,
            is_zero_copy,
            has_fragments,
            queues: queues.len() as u32,
            memory_bytes: umem.len_bytes(),
        };
        let mut path = Self {
            _attachment: attachment,
            poll: if queues.len() > 1 {
                Some(joined(&queues).map_err(Refusal::of("epoll"))?)
            } else {
                None
            },
            steering,
            queues,
            umem,
            free,
            unsent,
            parts: Vec::with_capacity(PARTS_MAX),
            hops: Hops::new(way.interface, mac, local, named),
            changes: route::Changes::listen().map_err(Refusal::of("listen to rtnetlink"))?,
            remote,
            local,
            interface: way.interface,
            grant,
            mtu_bytes: interface.mtu_bytes as usize,
            turn: 0,
            dropped_before: 0,
            dropped_by_kernel: 0,
            dropped_here: 0,
            needs_kick: false,
            has_failed: false,
            is_full: false,
        };
        path.refill();
        Ok(path)
    }

    pub(super) const fn grant(&self) -> &XdpGrant {
        &self.grant
    }

    /// Sets the number of packets that the link dropped before.
    pub(super) const fn begin(&mut self, dropped: u32) {
        self.dropped_before = dropped;
    }

    /// Takes packets with these tags from here on, and sends to these peers.
    pub(super) fn set_tags(&mut self, tags: &[u32], peers: &[SocketAddr]) -> Result<(), Refusal> {
        self.hops.set(peers);
        self.steering.set_tags(tags).map_err(Refusal::of("write the program's map"))
    }

    /// Replaces the content of `batch` with packets that have come by the sockets.
    pub(super) fn receive(&mut self, batch: &mut Batch) {
        batch.clear();
        self.kick();
        self.refill();
        let (first, queues) = (self.turn, self.queues.len());
        // Each queue is first in its turn, so that none can keep another from being read.
        self.turn = (first + 1) % queues;
        for step in 0..queues {
            let queue = (first + step) % queues;
            while batch.len() < batch.packets_max() && self.take(queue, batch) {}
            self.queues[queue].receive.release();
        }
    }

    /// Takes a packet of a queue; false when there is none.
    fn take(&mut self, queue: usize, batch: &mut Batch) -> bool {
        let Some(first) = self.queues[queue].receive.pop() else { return false };
        let (frame, offset_bytes) = self.umem.frame_at(first.addr);
        if first.options & libc::XDP_PKT_CONTD != 0 {
            let len_bytes = first.len as usize;
            self.take_rest(queue, Part { frame, offset_bytes, len_bytes }, batch);
            return true;
        }
        let len_bytes = first.len as usize;
        let bytes = self.umem.bytes(&frame).get(offset_bytes..offset_bytes + len_bytes);
        let datagram = bytes.and_then(|bytes| self.parse(bytes, len_bytes));
        let Some(datagram) = datagram else {
            self.free.push(frame);
            return true;
        };
        let meta = self.meta(&datagram);
        let place = Place {
            offset_bytes: offset_bytes + datagram.payload_offset_bytes,
            len_bytes: datagram.payload_bytes,
        };
        if batch.can_borrow(&self.umem) {
            batch.lend(frame, place, meta);
            return true;
        }
        let bytes = &self.umem.bytes(&frame)[place.offset_bytes..][..place.len_bytes];
        if batch.push(bytes, meta).is_err() {
            self.dropped_here = self.dropped_here.wrapping_add(1);
        }
        self.free.push(frame);
        true
    }

    /// Takes the further frames of a packet and copies all to one place.
    fn take_rest(&mut self, queue: usize, first: Part, batch: &mut Batch) {
        self.parts.clear();
        self.parts.push(first);
        let mut is_whole = false;
        // The last frame has no mark; the kernel enters the frames of a packet together.
        while !is_whole && let Some(next) = self.queues[queue].receive.pop() {
            is_whole = next.options & libc::XDP_PKT_CONTD == 0;
            let (frame, offset_bytes) = self.umem.frame_at(next.addr);
            if self.parts.len() < PARTS_MAX {
                self.parts.push(Part { frame, offset_bytes, len_bytes: next.len as usize });
            } else {
                self.free.push(frame);
                self.parts[0].len_bytes = 0;
            }
        }
        let Self { parts, umem, .. } = &*self;
        let frame_bytes = parts.iter().map(|part| part.len_bytes).sum();
        let head = parts[0].bytes(umem).unwrap_or_default();
        if is_whole && let Some(datagram) = self.parse(head, frame_bytes) {
            let mut left_bytes = datagram.payload_bytes;
            let mut skip_bytes = datagram.payload_offset_bytes;
            let payload = parts.iter().filter_map(|part| part.bytes(umem)).map(|bytes| {
                let bytes = &bytes[skip_bytes.min(bytes.len())..];
                skip_bytes = 0;
                let bytes = &bytes[..bytes.len().min(left_bytes)];
                left_bytes -= bytes.len();
                bytes
            });
            let meta = self.meta(&datagram);
            if batch.push_parts(payload, datagram.payload_bytes, meta).is_err() {
                self.dropped_here = self.dropped_here.wrapping_add(1);
            }
        }
        let Self { parts, free, .. } = self;
        free.extend(parts.drain(..).map(|part| part.frame));
    }

    /// The datagram of a frame, if it is for this link.
    fn parse(&self, head: &[u8], frame_bytes: usize) -> Option<Datagram> {
        let mut datagram = Datagram::parse(head, frame_bytes)?;
        if let SocketAddr::V6(source) = &mut datagram.source
            && is_link_local((*source.ip()).into())
        {
            // As the kernel reports it.
            source.set_scope_id(self.interface);
        }
        let is_ours = datagram.destination.port() == self.local.port()
            && (self.local.ip().is_unspecified() || datagram.destination.ip() == self.local.ip());
        // The kernel keeps packets of others from a connected socket, too.
        let is_peers = self.remote.is_none_or(|remote| remote == datagram.source);
        (is_ours && is_peers).then_some(datagram)
    }

    fn meta(&self, datagram: &Datagram) -> Meta {
        let dropped = self.dropped_before.wrapping_add(self.dropped());
        let Datagram { source: peer, ecn, .. } = *datagram;
        Meta { peer, ecn, dropped: Some(dropped), packets_per_drop: 1 }
    }

    /// Packets that found no room on this path.
    pub(super) const fn dropped(&self) -> u32 {
        self.dropped_by_kernel.wrapping_add(self.dropped_here)
    }

    /// Gives free frames to the queues, and counts what found none.
    fn refill(&mut self) {
        self.umem.take_returned(&mut self.free);
        let mut has_run_out = false;
        for queue in &mut self.queues {
            has_run_out |= queue.fill.is_empty();
            let room = queue.fill.room().min(self.free.len() as u32);
            for frame in self.free.drain(self.free.len() - room as usize..) {
                queue.fill.push(self.umem.address(frame));
            }
            if room > 0 {
                queue.fill.submit();
            }
            if queue.fill.needs_wakeup() {
                queue.wake();
            }
        }
        // Where the kernel copies, a packet finds no frame only then. A driver takes frames ahead, so
        // that this means nothing: `check` reads the counts.
        if has_run_out && !self.grant.is_zero_copy {
            self.count_drops();
        }
    }

    fn count_drops(&mut self) {
        let counts = self.queues.iter().filter_map(|queue| queue.dropped().ok());
        self.dropped_by_kernel = counts.sum::<u64>() as u32;
    }

    /// Takes back frames that have been sent.
    pub(super) fn begin_send(&mut self) {
        self.is_full = false;
        let Self { queues, umem, unsent, .. } = self;
        let queue = &mut queues[SEND_QUEUE];
        while let Some(address) = queue.completion.pop() {
            unsent.push(umem.frame_at(address).0);
        }
        queue.completion.release();
        self.needs_kick |= !queue.transmit.is_empty();
        self.kick();
    }

    /// Whether packets to a peer go this way.
    #[inline]
    pub(super) fn reaches(&mut self, peer: SocketAddr) -> bool {
        self.hops.take(peer)
    }

    /// Puts a packet into the ring; false when there is no room.
    ///
    /// # Errors
    /// `TooLong` where the interface does not take it.
    ///
    /// # Panics
    /// When packets to its peer do not go this way.
    pub(super) fn push(&mut self, packet: &Outgoing<'_>) -> Result<bool, LinkError> {
        let hop = self.hops.to(packet.peer).expect("the peer is reached");
        let (len_bytes, headers_bytes) = (packet.len_bytes(), header_bytes(&packet.peer));
        if headers_bytes + len_bytes > self.mtu_bytes {
            return Err(LinkError::TooLong { len_bytes, peer: packet.peer });
        }
        let total_bytes = ETHERNET_BYTES + headers_bytes + len_bytes;
        let frames = total_bytes.div_ceil(self.umem.frame_bytes());
        let room = self.queues[SEND_QUEUE].transmit.room() as usize;
        if self.unsent.len() < frames || room < frames {
            self.is_full = true;
            return Ok(false);
        }
        self.parts.clear();
        let start = self.unsent.len() - frames;
        for frame in self.unsent.drain(start..) {
            self.parts.push(Part { frame, offset_bytes: 0, len_bytes: 0 });
        }
        self.write(packet, hop, headers_bytes);
        let queue = &mut self.queues[SEND_QUEUE];
        let last = frames - 1;
        for (number, part) in self.parts.drain(..).enumerate() {
            let options = if number == last { 0 } else { libc::XDP_PKT_CONTD };
            let (addr, len) = (self.umem.address(part.frame), part.len_bytes as u32);
            queue.transmit.push(libc::xdp_desc { addr, len, options });
        }
        self.needs_kick = true;
        Ok(true)
    }

    /// Writes a packet into the frames of `parts`.
    fn write(&mut self, packet: &Outgoing<'_>, hop: Hop, headers_bytes: usize) {
        let Self { umem, parts, .. } = self;
        let start_bytes = ETHERNET_BYTES + headers_bytes;
        let mut skip_bytes = start_bytes;
        let mut sources = packet.parts.iter().copied().filter(|part| !part.is_empty());
        let mut source: &[u8] = sources.next().unwrap_or_default();
        for part in parts.iter_mut() {
            let into = umem.bytes_mut(&mut part.frame);
            let mut end_bytes = skip_bytes;
            skip_bytes = 0;
            while !source.is_empty() && end_bytes < into.len() {
                let count = source.len().min(into.len() - end_bytes);
                into[end_bytes..end_bytes + count].copy_from_slice(&source[..count]);
                (source, end_bytes) = (&source[count..], end_bytes + count);
                if source.is_empty() {
                    source = sources.next().unwrap_or_default();
                }
            }
            part.len_bytes = end_bytes;
        }
        let mut payload: [&[u8]; PARTS_MAX] = [&[]; PARTS_MAX];
        for (number, part) in parts.iter().enumerate() {
            let from = if number == 0 { start_bytes } else { 0 };
            payload[number] = &umem.bytes(&part.frame)[from..part.len_bytes];
        }
        let payload = &payload[..parts.len()];
        let headers = Headers::new(hop.source, packet.peer, packet.ecn, payload);
        let head = &mut umem.bytes_mut(&mut parts[0].frame)[..start_bytes];
        head[..ETHERNET_BYTES].copy_from_slice(&hop.ethernet);
        head[ETHERNET_BYTES..].copy_from_slice(headers.as_bytes());
    }

    /// Lets the packets that were pushed leave. Where the kernel takes only some, the rest leaves with the
    /// next call.
    pub(super) fn kick(&mut self) {
        if !self.needs_kick {
            return;
        }
        let queue = &mut self.queues[SEND_QUEUE];
        queue.transmit.submit();
        // What an interface takes that is down leaves with a later send.
        let taken = if queue.transmit.needs_wakeup() { queue.kick() } else { Ok(true) };
        self.needs_kick = matches!(taken, Ok(false));
        self.has_failed |= taken.is_err();
    }

    /// Whether [`Path::check`] is worth a call.
    pub(super) const fn has_failed(&self) -> bool {
        self.has_failed
    }

    pub(super) const fn is_full(&self) -> bool {
        self.is_full
    }

    /// Adds what ends a wait besides the UDP socket.
    pub(super) fn begin_wait(&mut self, sleep: &mut Sleep) {
        let fd = self.poll.as_ref().map_or(self.queues[0].as_fd().as_raw_fd(), |it| it.as_raw_fd());
        sleep.add(fd, true, false);
        // Frames come back without a sign. A link that is not offered the rest again waits for nothing.
        if std::mem::take(&mut self.is_full) || self.needs_kick {
            sleep.at_most(FULL_PAUSE);
        }
    }

    /// Finds out whether packets still go this way.
    pub(super) fn check(&mut self) -> Result<(), Refusal> {
        self.count_drops();
        self.hops.confirm(Instant::now());
        if !self.changes.have_come() && !std::mem::take(&mut self.has_failed) {
            return Ok(());
        }
        self.hops.expire();
        let interface = match link::interface(self.interface) {
            Ok(interface) => interface,
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {
                return Err(Refusal::of("interface")(error));
            }
            // The kernel did not answer: the next change is another chance.
            Err(_) => return Ok(()),
        };
        if interface.xdp_mode == 0 {
            return Err(Refusal::TakenOff(interface.name));
        }
        self.mtu_bytes = self.mtu_bytes.min(interface.mtu_bytes as usize);
        Ok(())
    }
}

/// A frame of a packet, and the bytes of the packet in it.
#[derive(Debug)]
struct Part {
    frame: Frame,
    offset_bytes: usize,
    len_bytes: usize,
}

impl Part {
    /// The bytes of the packet in it; `None` where its place is outside.
    fn bytes<'a>(&'a self, umem: &'a Umem) -> Option<&'a [u8]> {
        umem.bytes(&self.frame).get(self.offset_bytes..self.offset_bytes + self.len_bytes)
    }
}

/// How memory is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    frame_bytes: usize,
    /// Of each ring; a power of two.
    entries: u32,
    has_fragments: bool,
}

impl Layout {
    /// For an interface of this MTU, and a window that is known.
    fn of(mtu_bytes: usize, room: Room, queues: usize) -> Self {
        let packet_bytes = ETHERNET_BYTES + VLAN_BYTES + mtu_bytes;
        let is_small = packet_bytes <= SMALL_FRAME_BYTES - HEADROOM_BYTES;
        let frame_bytes = if is_small { SMALL_FRAME_BYTES } else { FRAME_BYTES };
        let has_fragments = packet_bytes > FRAME_BYTES - HEADROOM_BYTES;
        let room_bytes = ETHERNET_BYTES + HEADERS_BYTES_MAX + room.packet_bytes;
        let packets = room.packets as usize + BATCH_PACKETS;
        let frames = room_bytes.div_ceil(frame_bytes - HEADROOM_BYTES).saturating_mul(packets);
        let most = (MEMORY_BYTES_MAX / frame_bytes / queues).min(FRAMES_MAX);
        let frames = frames.clamp(FRAMES_MIN.min(most), most);
        // A power of two at most `most`, which is one for one queue.
        let entries = frames.next_power_of_two().min(1 << most.ilog2()) as u32;
        Self { frame_bytes, entries, has_fragments }
    }
}

/// Sockets of all queues, and their frames.
struct Bound {
    umem: Arc<Umem>,
    queues: Vec<Queue>,
    free: Vec<Frame>,
    unsent: Vec<Frame>,
}

impl Bound {
    fn new(layout: Layout, binding: Binding, queues_wanted: u32) -> io::Result<Self> {
        let Layout { frame_bytes, entries, .. } = layout;
        let frames = entries as usize * queues_wanted as usize + SEND_FRAMES;
        let (umem, mut free) = Umem::new(frames, frame_bytes)?;
        let mut queues: Vec<Queue> = Vec::with_capacity(queues_wanted as usize);
        for queue in 0..queues_wanted {
            let opened = Queue::open(&umem, entries, Binding { queue, ..binding }, queues.first())?;
            queues.push(opened);
        }
        let unsent = free.split_off(free.len() - SEND_FRAMES);
        Ok(Self { umem: Arc::new(umem), queues, free, unsent })
    }
}

pub(super) fn is_link_local(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local())
}

/// One descriptor that can be read when one of the sockets can.
fn joined(queues: &[Queue]) -> io::Result<OwnedFd> {
    // SAFETY: the call takes no pointers.
    let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has given this descriptor to no one else.
    let joined = unsafe { OwnedFd::from_raw_fd(fd) };
    for queue in queues {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        let (epoll, fd) = (joined.as_raw_fd(), queue.as_fd().as_raw_fd());
        // SAFETY: the pointer covers `event`, which the kernel copies.
        if unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(joined)
}

/// The index of `lo` in every network namespace.
const LOOPBACK: u32 = 1;

/// NETDEV_XDP_ACT_XSK_ZEROCOPY.
const FEATURE_ZERO_COPY: u64 = 1 << 3;

/// Sends go by the first queue.
const SEND_QUEUE: usize = 0;

const QUEUES_MAX: u64 = 64;
const ETHERNET_BYTES: usize = 14;
const VLAN_BYTES: usize = 4;
/// IPv6 and UDP.
const HEADERS_BYTES_MAX: usize = 48;

/// Room that the kernel leaves before a received packet (XDP_PACKET_HEADROOM).
const HEADROOM_BYTES: usize = 256;
const SMALL_FRAME_BYTES: usize = 2_048;
/// The longest frame that Linux takes: a page.
const FRAME_BYTES: usize = 4_096;
/// Frames of a packet of 9,216 bytes, and a reserve.
const PARTS_MAX: usize = 5;

/// Packets that a program works on while a window comes.
const BATCH_PACKETS: usize = 256;

/// The longest IP packet that they take.
const PACKET_BYTES_MAX: usize =
    PARTS_MAX * (FRAME_BYTES - HEADROOM_BYTES) - ETHERNET_BYTES - VLAN_BYTES;

/// Frames of a queue to receive into.
const FRAMES_MIN: usize = 1_024;
const FRAMES_MAX: usize = 16_384;
/// Bounds the memory of all queues.
const MEMORY_BYTES_MAX: usize = 64 << 20;
/// Frames to send from.
const SEND_FRAMES: usize = 1_024;

/// While frames to send from are missing.
const FULL_PAUSE: Duration = Duration::from_micros(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_cover_the_window_within_bounds() {
        let of = |mtu, packets, packet_bytes, queues| {
            Layout::of(mtu, Room { packets, packet_bytes }, queues)
        };
        let small = of(1_500, 3_000, 1_472, 1);
        assert_eq!(small, Layout { frame_bytes: 2_048, entries: 4_096, has_fragments: false });
        let jumbo = of(9_000, 3_000, 8_950, 1);
        assert_eq!(jumbo, Layout { frame_bytes: 4_096, entries: 16_384, has_fragments: true });
        assert_eq!(of(1_774, 0, 0, 1).frame_bytes, 2_048);
        assert_eq!(of(1_775, 0, 0, 1).frame_bytes, 4_096);
        assert!(!of(3_822, 0, 0, 1).has_fragments);
        assert!(of(3_823, 0, 0, 1).has_fragments);
        assert_eq!(of(1_500, 0, 0, 1).entries, 1_024);
        assert_eq!(of(9_000, u32::MAX, 9_000, 64).entries, 256, "64 MiB in all");
    }
}
