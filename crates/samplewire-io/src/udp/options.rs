//! What a UDP link is asked to be.

use std::net::SocketAddr;

use super::speed::Speed;
use crate::xdp::Bypass;

/// Options of [`Udp`](crate::Udp). Values out of range are brought into it; what the system
/// granted is in [`Capabilities`](crate::Capabilities).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpOptions {
    /// `None`: it grows with what may come.
    pub(super) receive_buffer_bytes: Option<usize>,
    pub(super) send_buffer_bytes: usize,
    pub(super) segmentation: bool,
    pub(super) joining: bool,
    pub(super) send_packets_max: usize,
    pub(super) receive_messages_max: usize,
    /// `None`: as the system reports it.
    pub(super) line_bps: Option<u64>,
    /// `None`: routes decide.
    pub(super) interface: Option<String>,
    pub(crate) bypass: Bypass,
    pub(crate) drops_rights: bool,
}

impl UdpOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The socket's receive buffer in bytes, up to 1 GiB. Default 8 MiB, and as much as a stream's
    /// window takes once that is known ([`Link::make_room`](crate::Link::make_room)), up to 32 MiB.
    ///
    /// It bounds rate times stall of the receiving thread (3 ms at 10 Gb/s are 3.75 MB). The kernel
    /// charges up to twice a packet's length against twice this number. More than
    /// `net.core.rmem_max` needs CAP_NET_ADMIN.
    #[must_use]
    pub fn receive_buffer_bytes(mut self, bytes: usize) -> Self {
        self.receive_buffer_bytes = Some(bytes.min(BUFFER_BYTES_MAX));
        self
    }

    /// The socket's send buffer in bytes, up to 1 GiB. Default 8 MiB.
    ///
    /// What waits there left the pacer already: more gives more delay where the interface is
    /// slower than the pacer thinks, less gives shorter sends. More than `net.core.wmem_max`
    /// needs CAP_NET_ADMIN.
    #[must_use]
    pub fn send_buffer_bytes(mut self, bytes: usize) -> Self {
        self.send_buffer_bytes = bytes.min(BUFFER_BYTES_MAX);
        self
    }

    /// Whether runs of equal packets are given to the kernel as one (UDP_SEGMENT). Default on.
    ///
    /// On, a run crosses the stack once, and leaves the interface back to back.
    #[must_use]
    pub fn segmentation(mut self, on: bool) -> Self {
        self.segmentation = on;
        self
    }

    /// Whether the kernel may join received packets (UDP_GRO), once many come. Default on.
    ///
    /// On, each buffer of a batch takes 64 KiB, so a call takes fewer packets that come unjoined,
    /// and the kernel counts what it drops in joined packets: [`Meta::dropped`] is then a lower
    /// bound (Linux 6.18: 138 packets of 8,000 bytes dropped, 18 counted).
    ///
    /// [`Meta::dropped`]: crate::Meta::dropped
    #[must_use]
    pub fn joining(mut self, on: bool) -> Self {
        self.joining = on;
        self
    }

    /// The most packets that one call of `sendmmsg` is given: 1 to 1024. Default 256.
    ///
    /// Bounds the headers kept for sending; a longer slice takes several calls.
    #[must_use]
    pub fn send_packets_max(mut self, packets: usize) -> Self {
        self.send_packets_max = packets.clamp(1, CALL_MESSAGES_MAX);
        self
    }

    /// The most messages, joined or not, that one call of `recvmmsg` takes: 1 to 1024.
    /// Default 64. The batch's memory bounds it too.
    #[must_use]
    pub fn receive_messages_max(mut self, messages: usize) -> Self {
        self.receive_messages_max = messages.clamp(1, CALL_MESSAGES_MAX);
        self
    }

    /// The speed of the interface in bits a second, where the system does not know it: in a virtual
    /// machine, on a TAP device. Default: as the system reports it.
    #[must_use]
    pub fn line_bps(mut self, bps: u64) -> Self {
        self.line_bps = Some(bps);
        self
    }

    /// The speed in bits a second that a link with these options has for packets to `peer`: the one that is
    /// set, or the interface's. `None` where it is unknown, or the interface is virtual.
    pub fn line_bps_towards(&self, peer: SocketAddr) -> Option<u64> {
        Speed::new(self.line_bps, self.interface.clone()).towards(peer)
    }

    /// The interface that all packets come and leave by, such as `eth1`. Default: the host's routes decide.
    ///
    /// For a host with several interfaces in one network, where the kernel takes the same one for all
    /// packets. It needs no rights from Linux 5.7 on (SO_BINDTODEVICE).
    #[must_use]
    pub fn interface(mut self, name: impl Into<String>) -> Self {
        self.interface = Some(name.into());
        self
    }

    /// Whether packets of streams are to bypass the kernel ([`Xdp`](crate::Xdp)). Default
    /// [`Bypass::Never`]. A plain [`Udp`](crate::Udp) link ignores it.
    #[must_use]
    pub const fn bypass(mut self, bypass: Bypass) -> Self {
        self.bypass = bypass;
        self
    }

    /// Whether the thread that runs the link gives CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF up once packets
    /// bypass the kernel: for programs whose thread needs them for nothing else. Default off.
    #[must_use]
    pub const fn drop_rights(mut self, on: bool) -> Self {
        self.drops_rights = on;
        self
    }
}

impl Default for UdpOptions {
    fn default() -> Self {
        Self {
            receive_buffer_bytes: None,
            send_buffer_bytes: BUFFER_BYTES,
            segmentation: true,
            joining: true,
            send_packets_max: 256,
            receive_messages_max: 64,
            line_bps: None,
            interface: None,
            bypass: Bypass::Never,
            drops_rights: false,
        }
    }
}

/// What a socket buffer is unless chosen.
pub(super) const BUFFER_BYTES: usize = 8 << 20;

/// The kernel doubles what it is asked and keeps it in an `int`.
const BUFFER_BYTES_MAX: usize = 1 << 30;

/// UIO_MAXIOV: the kernel cuts longer calls.
const CALL_MESSAGES_MAX: usize = 1024;
