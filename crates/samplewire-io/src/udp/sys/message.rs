//! `sendmmsg` and `recvmmsg` with headers that are made once; one message alone goes by the plain
//! call, which is shorter.
//!
//! Every pointer in a header is written by the call that uses it, from memory that the caller
//! lends for that call.

use std::io;
use std::mem::size_of;
use std::net::SocketAddr;
use std::ptr::{null, null_mut};

use super::Socket;
use super::address::NativeAddress;
use crate::link::{Ecn, Outgoing};
use crate::udp::runs::run_len;

/// Headers for one `sendmmsg`.
pub(in crate::udp) struct SendHeaders {
    headers: Box<[libc::mmsghdr]>,
    iovecs: Box<[libc::iovec]>,
    names: Box<[NativeAddress]>,
    controls: Box<[Control]>,
    /// A short packet in one piece.
    whole: [u8; WHOLE_BYTES_MAX],
}

/// What is known of all packets of a send.
#[derive(Clone, Copy, Debug)]
pub(in crate::udp) struct Sending {
    /// Runs of equal packets are one message.
    pub(in crate::udp) segmented: bool,
    /// The address that the socket itself knows.
    pub(in crate::udp) connected: Option<SocketAddr>,
    /// The ECN bits that the socket itself sets.
    pub(in crate::udp) own_ecn: Ecn,
}

// SAFETY: the pointers in `headers` and `iovecs` are written and followed within one call of
// `send`, which has the only reference; between calls no code follows them.
unsafe impl Send for SendHeaders {}

impl SendHeaders {
    pub(in crate::udp) fn new(packets_max: usize) -> Self {
        Self {
            headers: vec![HEADER; packets_max].into_boxed_slice(),
            iovecs: vec![IOVEC; packets_max * PARTS].into_boxed_slice(),
            names: vec![NativeAddress::EMPTY; packets_max].into_boxed_slice(),
            controls: vec![Control::EMPTY; packets_max].into_boxed_slice(),
            whole: [0; WHOLE_BYTES_MAX],
        }
    }

    /// Sends the first of `packets`, as many as there are headers and the socket takes, and says
    /// how many packets that were.
    ///
    /// # Errors
    /// The system's, which concerns the first packet; none was sent.
    pub(in crate::udp) fn send(
        &mut self,
        socket: &Socket,
        packets: &[Outgoing<'_>],
        sending: Sending,
    ) -> io::Result<usize> {
        if let [packet] = packets
            && packet.ecn == sending.own_ecn
            && packet.len_bytes() <= WHOLE_BYTES_MAX
        {
            return self.send_whole(socket, packet, sending.connected);
        }
        let Sending { segmented, connected, own_ecn } = sending;
        let packets = &packets[..packets.len().min(self.headers.len())];
        let mut messages = 0;
        let mut rest = packets;
        let mut iovecs = self.iovecs.as_mut_ptr();
        while let Some(first) = rest.first() {
            let count = if segmented { run_len(rest) } else { 1 };
            let (run, after) = rest.split_at(count);
            rest = after;
            let (name, name_len) = if connected == Some(first.peer) {
                (null_mut(), 0)
            } else {
                self.names[messages] = NativeAddress::from(first.peer);
                let (pointer, len_bytes) = self.names[messages].as_ptr();
                (pointer.cast_mut().cast(), len_bytes)
            };
            let header = &mut self.headers[messages].msg_hdr;
            header.msg_name = name;
            header.msg_namelen = name_len;
            header.msg_iov = iovecs;
            header.msg_iovlen = 0;
            for part in run.iter().flat_map(|packet| packet.parts) {
                if !part.is_empty() {
                    let iovec = libc::iovec {
                        iov_base: part.as_ptr().cast_mut().cast(),
                        iov_len: part.len(),
                    };
                    // SAFETY: there are `PARTS` iovecs for each of the packets, of which there
                    // are no more than headers.
                    unsafe {
                        iovecs.write(iovec);
                        iovecs = iovecs.add(1);
                    }
                    header.msg_iovlen += 1;
                }
            }
            let segment_bytes = (count > 1).then(|| first.len_bytes());
            self.controls[messages].write(header, first, (own_ecn, segment_bytes));
            messages += 1;
        }
        // SAFETY: the first `messages` headers point to names, iovecs and controls of `self`, and
        // through the iovecs to bytes that `packets` borrows; all outlive the call, which reads
        // them and writes only the headers' lengths.
        let answer =
            unsafe { libc::sendmmsg(socket.fd(), self.headers.as_mut_ptr(), messages as u32, 0) };
        let sent = usize::try_from(answer).map_err(|_| io::Error::last_os_error())?;
        let mut rest = packets;
        for _ in 0..sent {
            let count = if segmented { run_len(rest) } else { 1 };
            rest = &rest[count..];
        }
        Ok(packets.len() - rest.len())
    }

    /// Sends a short packet that needs no control message.
    fn send_whole(
        &mut self,
        socket: &Socket,
        packet: &Outgoing<'_>,
        connected: Option<SocketAddr>,
    ) -> io::Result<usize> {
        let len_bytes = packet.gather(&mut self.whole);
        let (name, name_len) = if connected == Some(packet.peer) {
            (null(), 0)
        } else {
            self.names[0] = NativeAddress::from(packet.peer);
            self.names[0].as_ptr()
        };
        let bytes = self.whole.as_ptr().cast();
        // SAFETY: the pointers cover `len_bytes` of `self.whole`, and a name of `self` or none; both
        // outlive the call, which reads them.
        let answer = unsafe { libc::sendto(socket.fd(), bytes, len_bytes, 0, name, name_len) };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(1) }
    }
}

/// Headers for one `recvmmsg`.
pub(in crate::udp) struct ReceiveHeaders {
    /// The only peer, for a connected socket.
    connected: Option<SocketAddr>,
    headers: Box<[libc::mmsghdr]>,
    iovecs: Box<[libc::iovec]>,
    names: Box<[NativeAddress]>,
    controls: Box<[Control]>,
}

// SAFETY: as for `SendHeaders`; `received` follows only pointers into `self`.
unsafe impl Send for ReceiveHeaders {}

impl ReceiveHeaders {
    pub(in crate::udp) fn new(messages_max: usize, connected: Option<SocketAddr>) -> Self {
        Self {
            connected,
            headers: vec![HEADER; messages_max].into_boxed_slice(),
            iovecs: vec![IOVEC; messages_max].into_boxed_slice(),
            names: vec![NativeAddress::EMPTY; messages_max].into_boxed_slice(),
            controls: vec![Control::EMPTY; messages_max].into_boxed_slice(),
        }
    }

    /// Receives up to `messages_max` messages, each into `stride_bytes` of `arena`, and returns how
    /// many. [`ReceiveHeaders::received`] then describes each. On a connected socket the sender's
    /// address is not read.
    ///
    /// # Errors
    /// The system's; nothing was received.
    pub(in crate::udp) fn receive(
        &mut self,
        socket: &Socket,
        arena: &mut [u8],
        stride_bytes: usize,
        messages_max: usize,
    ) -> io::Result<usize> {
        let messages = messages_max.min(self.headers.len()).min(arena.len() / stride_bytes);
        for (index, buffer) in arena.chunks_exact_mut(stride_bytes).take(messages).enumerate() {
            self.iovecs[index] =
                libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: stride_bytes };
            let header = &mut self.headers[index].msg_hdr;
            if self.connected.is_none() {
                header.msg_name = (&raw mut self.names[index]).cast();
                header.msg_namelen = size_of::<NativeAddress>() as libc::socklen_t;
            }
            header.msg_iov = &raw mut self.iovecs[index];
            header.msg_iovlen = 1;
            header.msg_control = self.controls[index].0.as_mut_ptr().cast();
            header.msg_controllen = CONTROL_BYTES as _;
        }
        if let ([header, ..], 1) = (&mut self.headers[..], messages) {
            // SAFETY: as below, of one header.
            let answer =
                unsafe { libc::recvmsg(socket.fd(), &raw mut header.msg_hdr, libc::MSG_DONTWAIT) };
            header.msg_len = u32::try_from(answer).map_err(|_| io::Error::last_os_error())?;
            return Ok(1);
        }
        // SAFETY: the first `messages` headers point to names, iovecs and controls of `self`, and
        // through the iovecs to separate parts of `arena`, borrowed mutably for this call.
        let answer = unsafe {
            libc::recvmmsg(
                socket.fd(),
                self.headers.as_mut_ptr(),
                messages as u32,
                // Their type differs between glibc and musl.
                libc::MSG_DONTWAIT as _,
                null_mut(),
            )
        };
        usize::try_from(answer).map_err(|_| io::Error::last_os_error())
    }

    /// What is known of message `index` of the last call.
    pub(in crate::udp) fn received(&self, index: usize) -> Received {
        let header = &self.headers[index];
        let len_bytes = header.msg_len as usize;
        let mut received = Received {
            peer: self.connected.or_else(|| self.names[index].get()),
            len_bytes,
            segment_bytes: len_bytes,
            truncated: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            ecn: Ecn::NotEct,
            dropped: None,
        };
        // SAFETY: the kernel wrote `msg_controllen` bytes of whole control messages into the
        // buffer of `self.controls`, to which the header still points.
        unsafe {
            let mut control = libc::CMSG_FIRSTHDR(&raw const header.msg_hdr);
            while !control.is_null() {
                received.read(control);
                control = libc::CMSG_NXTHDR(&raw const header.msg_hdr, control);
            }
        }
        received
    }
}

/// One received message, which may be several packets that the kernel joined.
#[derive(Clone, Copy, Debug)]
pub(in crate::udp) struct Received {
    /// `None` where the kernel gave no address of a known family.
    pub(in crate::udp) peer: Option<SocketAddr>,
    pub(in crate::udp) len_bytes: usize,
    /// The length of each packet in it; the last may be shorter.
    pub(in crate::udp) segment_bytes: usize,
    /// Whether it was longer than its buffer.
    pub(in crate::udp) truncated: bool,
    /// Joined packets all have these ECN bits: the kernel joins no others.
    pub(in crate::udp) ecn: Ecn,
    /// The socket's drop count; the kernel leaves it out while it is zero.
    pub(in crate::udp) dropped: Option<u32>,
}

impl Received {
    /// # Safety
    /// `control` leads to a whole control message that the kernel wrote.
    unsafe fn read(&mut self, control: *const libc::cmsghdr) {
        // SAFETY: the caller's; the data of each of these messages has at least the length that
        // is read, as the kernel defines them.
        unsafe {
            let data = libc::CMSG_DATA(control);
            match ((*control).cmsg_level, (*control).cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_TOS) => self.ecn = Ecn::from_tos(data.read()),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    let class = data.cast::<i32>().read_unaligned();
                    self.ecn = Ecn::from_tos(class as u8);
                }
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    let bytes = data.cast::<i32>().read_unaligned();
                    self.segment_bytes = usize::try_from(bytes).unwrap_or(self.len_bytes);
                }
                (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                    self.dropped = Some(data.cast::<u32>().read_unaligned());
                }
                _ => {}
            }
        }
    }
}

/// Room for the control messages of one message.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

impl Control {
    const EMPTY: Self = Self([0; CONTROL_BYTES]);

    /// Makes `header` carry the ECN bits of `packet`, unless they are the socket's own, and, for a
    /// run, the length of its segments.
    fn write(
        &mut self,
        header: &mut libc::msghdr,
        packet: &Outgoing<'_>,
        (own_ecn, segment_bytes): (Ecn, Option<usize>),
    ) {
        let mut end = 0;
        if packet.ecn != own_ecn {
            let kind = match packet.peer {
                SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
                SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
            };
            end = self.append(end, kind, &(packet.ecn as i32).to_ne_bytes());
        }
        if let Some(bytes) = segment_bytes {
            let bytes = u16::try_from(bytes).expect("a run is shorter than 64 KiB");
            end = self.append(end, (libc::SOL_UDP, libc::UDP_SEGMENT), &bytes.to_ne_bytes());
        }
        header.msg_control = if end == 0 { null_mut() } else { self.0.as_mut_ptr().cast() };
        header.msg_controllen = end as _;
    }

    /// Writes one control message at `start` and says where the next begins.
    fn append(&mut self, start: usize, kind: (i32, i32), data: &[u8]) -> usize {
        // SAFETY: the two take a length and compute.
        let (len, space) = unsafe {
            (libc::CMSG_LEN(data.len() as u32), libc::CMSG_SPACE(data.len() as u32) as usize)
        };
        let message = &mut self.0[start..start + space];
        let header: *mut libc::cmsghdr = message.as_mut_ptr().cast();
        // SAFETY: `message` has room for header and data; it is aligned because the buffer is,
        // and CMSG_SPACE rounds up to the alignment.
        unsafe {
            (*header).cmsg_len = len as _;
            (*header).cmsg_level = kind.0;
            (*header).cmsg_type = kind.1;
            libc::CMSG_DATA(header).copy_from_nonoverlapping(data.as_ptr(), data.len());
        }
        start + space
    }
}

const PARTS: usize = 3;

/// A packet of so many bytes is copied sooner than the kernel reads a list of its parts.
const WHOLE_BYTES_MAX: usize = 256;

/// Four control messages of four bytes each: ECN, segment length, drop count, and one spare.
const CONTROL_BYTES: usize = 96;

const IOVEC: libc::iovec = libc::iovec { iov_base: null_mut(), iov_len: 0 };

const HEADER: libc::mmsghdr = libc::mmsghdr {
    // SAFETY: all bytes zero are a valid msghdr: null pointers of length zero.
    msg_hdr: unsafe { std::mem::zeroed() },
    msg_len: 0,
};
