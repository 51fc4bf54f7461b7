//! AF_PACKET through `libc`.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::sockopt::{self, code};

/// Opens a socket of an interface that receives what [`filter`] lets through. A virtio header stands
/// before each frame, both ways.
pub(super) fn open(index: i32, ip: Ipv4Addr, port: u16) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the call takes no pointers. Protocol 0: it receives nothing until it is bound.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the kernel has given this descriptor to no one else.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    sockopt::attach(&socket, libc::SO_ATTACH_FILTER, &filter(ip, port))?;
    sockopt::set(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
    sockopt::set(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
    for option in [libc::SO_RCVBUF, libc::SO_SNDBUF] {
        sockopt::set(&socket, libc::SOL_SOCKET, option, BUFFER_BYTES)?;
    }
    // SAFETY: all bytes zero are a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index;
    let len_bytes = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer covers `address`, whose length is given.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len_bytes) })?;
    Ok(socket)
}

/// Lets nothing in: what arrives is dropped without an answer.
pub(super) fn ignore_all(socket: &UdpSocket) -> io::Result<()> {
    sockopt::attach(socket, libc::SO_ATTACH_FILTER, &[code(RET, 0, (0, 0))])
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
