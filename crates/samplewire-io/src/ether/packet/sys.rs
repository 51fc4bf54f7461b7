//! AF_PACKET through `libc`.

mod batch;
mod ring;

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

pub(super) use self::batch::Batch;
pub(super) use self::ring::Ring;
use crate::ether::sys::set_receive_buffer;
use crate::sockopt::{self, code};

/// A socket that receives nothing until it is bound, and then no frame that this host sends.
pub(super) fn socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the call takes no pointers. Protocol 0: it receives nothing until it is bound.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the kernel has given this descriptor to no one else.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    sockopt::set(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
    set_receive_buffer(&socket, BUFFER_BYTES)?;
    sockopt::set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, BUFFER_BYTES)?;
    Ok(socket)
}

/// Lets a socket receive the frames of one EtherType that come by an interface; ETH_P_ALL for all.
pub(super) fn bind(socket: &OwnedFd, index: i32, ether_type: u16) -> io::Result<()> {
    // SAFETY: all bytes zero are a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = ether_type.to_be();
    address.sll_ifindex = index;
    let len_bytes = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer covers `address`, whose length is given.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len_bytes) })?;
    Ok(())
}

/// Lets the interface pass frames to other stations too, while the socket is open.
pub(super) fn receive_all_stations(socket: &OwnedFd, index: i32) -> io::Result<()> {
    let membership = libc::packet_mreq {
        mr_ifindex: index,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    let len_bytes = size_of_val(&membership) as libc::socklen_t;
    // SAFETY: the pointer covers `membership`, whose length is given; the kernel copies it.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_ADD_MEMBERSHIP,
            (&raw const membership).cast(),
            len_bytes,
        )
    })?;
    Ok(())
}

/// Opens a socket of an interface that receives what [`filter`] lets through. A virtio header stands
/// before each frame, both ways.
pub(super) fn open(index: i32, ip: Ipv4Addr, port: u16) -> io::Result<OwnedFd> {
    let socket = socket()?;
    sockopt::attach(&socket, libc::SO_ATTACH_FILTER, &filter(ip, port))?;
    sockopt::set(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
    bind(&socket, index, libc::ETH_P_ALL as u16)?;
    Ok(socket)
}

/// Lets nothing in: what arrives is dropped without an answer.
pub(super) fn ignore_all(socket: &UdpSocket) -> io::Result<()> {
    sockopt::attach(socket, libc::SO_ATTACH_FILTER, &[code(RET, 0, (0, 0))])
}

/// The error that a socket has met and not reported, once.
pub(super) fn take_error(socket: &OwnedFd) -> io::Result<Option<io::Error>> {
    let mut code: libc::c_int = 0;
    let mut len_bytes = size_of_val(&code) as libc::socklen_t;
    // SAFETY: the pointers cover `code` and its length; the kernel writes no more than that.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            (&raw mut code).cast(),
            &raw mut len_bytes,
        )
    })?;
    Ok((code != 0).then(|| io::Error::from_raw_os_error(code)))
}

/// Reads a frame and returns its whole length, also where `into` is shorter.
pub(super) fn recv(socket: &OwnedFd, into: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer covers `into`, whose length is given.
    let len = unsafe {
        libc::recv(socket.as_raw_fd(), into.as_mut_ptr().cast(), into.len(), libc::MSG_TRUNC)
    };
    if len < 0 { Err(io::Error::last_os_error()) } else { Ok(len as usize) }
}

pub(super) fn send(socket: &OwnedFd, frame: &[u8]) -> io::Result<()> {
    // SAFETY: the pointer covers `frame`, whose length is given.
    let len = unsafe { libc::send(socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
    if len < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Frames that found no room since the last call.
pub(super) fn drops(socket: &OwnedFd) -> io::Result<u32> {
    // SAFETY: all bytes zero are a valid tpacket_stats.
    let mut stats: libc::tpacket_stats = unsafe { std::mem::zeroed() };
    let mut len_bytes = size_of_val(&stats) as libc::socklen_t;
    // SAFETY: the pointers cover `stats` and its length; the kernel writes no more than that.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut stats).cast(),
            &raw mut len_bytes,
        )
    })?;
    Ok(stats.tp_drops)
}

/// Takes IPv4 datagrams to `ip` and `port`, unfragmented and without options, and ARP replies to `ip`.
fn filter(ip: Ipv4Addr, port: u16) -> [libc::sock_filter; 19] {
    let ip = u32::from(ip);
    let (half, byte) = (libc::BPF_LD | libc::BPF_H | ABS, libc::BPF_LD | libc::BPF_B | ABS);
    let word = libc::BPF_LD | libc::BPF_W | ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let any_bit = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    [
        code(half, 12, (0, 0)),
        code(equal, libc::ETH_P_ARP as u32, (11, 0)),
        code(equal, libc::ETH_P_IP as u32, (0, 14)),
        code(byte, 14, (0, 0)),
        code(equal, 0x45, (0, 12)),
        code(byte, 23, (0, 0)),
        code(equal, libc::IPPROTO_UDP as u32, (0, 10)),
        code(half, 20, (0, 0)),
        code(any_bit, 0x3FFF, (8, 0)),
        code(word, 30, (0, 0)),
        code(equal, ip, (0, 6)),
        code(half, 36, (0, 0)),
        code(equal, port.into(), (5, 4)),
        // ARP: a reply, to this station.
        code(half, 20, (0, 0)),
        code(equal, 2, (0, 2)),
        code(word, 38, (0, 0)),
        code(equal, ip, (1, 0)),
        code(RET, 0, (0, 0)),
        code(RET, u32::MAX, (0, 0)),
    ]
}

fn check(answer: i32) -> io::Result<i32> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

const ABS: u32 = libc::BPF_ABS;
const RET: u32 = libc::BPF_RET | libc::BPF_K;

/// Of frames that wait: some ms at 10 Gb/s.
const BUFFER_BYTES: i32 = 8 << 20;
