//! Which kinds of frames arrive at an interface, before any filter of the host (AF_PACKET).

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Counts the frames that arrive at an interface within `time`, at most 100,000, by EtherType. Needs
/// CAP_NET_RAW.
///
/// # Errors
/// `EPERM` without the right, `ENODEV` without such an interface.
///
/// # Blocking
/// For `time`, or until so many have arrived.
pub fn frame_types(index: u32, time: Duration) -> io::Result<BTreeMap<u16, u64>> {
    let socket = open(index)?;
    let end = Instant::now() + time;
    let (mut types, mut frames) = (BTreeMap::new(), 0);
    while frames < FRAMES_MAX && wait(&socket, end.saturating_duration_since(Instant::now()))? {
        if let Some(kind) = receive(&socket)? {
            *types.entry(kind).or_default() += 1;
            frames += 1;
        }
    }
    Ok(types)
}

fn open(index: u32) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the call takes no pointers. Protocol 0: it receives nothing until it is bound.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the kernel has given this descriptor to no one else.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut address = empty_address();
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = i32::try_from(index).unwrap_or(i32::MAX);
    let len_bytes = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer covers `address`, whose length is given.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len_bytes) })?;
    Ok(socket)
}

/// Whether a frame arrives within `time`.
fn wait(socket: &OwnedFd, time: Duration) -> io::Result<bool> {
    let mut ready = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let millis = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the pointer covers one pollfd.
    Ok(check(unsafe { libc::poll(&raw mut ready, 1, millis) })? > 0)
}

/// The EtherType of the next frame; `None` for one that the host sends.
fn receive(socket: &OwnedFd) -> io::Result<Option<u16>> {
    let (mut address, mut byte) = (empty_address(), 0_u8);
    let mut len_bytes = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointers cover one byte, the address and its length; the rest of a frame is dropped.
    let len = unsafe {
        let (place, from) = ((&raw mut byte).cast(), (&raw mut address).cast());
        libc::recvfrom(socket.as_raw_fd(), place, 1, 0, from, &raw mut len_bytes)
    };
    if len < 0 {
        let error = io::Error::last_os_error();
        let is_empty = error.kind() == io::ErrorKind::WouldBlock;
        return if is_empty { Ok(None) } else { Err(error) };
    }
    let is_ours = address.sll_pkttype == libc::PACKET_OUTGOING;
    Ok((!is_ours).then(|| u16::from_be(address.sll_protocol)))
}

fn empty_address() -> libc::sockaddr_ll {
    // SAFETY: all bytes zero are a valid sockaddr_ll.
    unsafe { std::mem::zeroed() }
}

fn check(answer: i32) -> io::Result<i32> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

const FRAMES_MAX: u64 = 100_000;

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn frames_of_the_loopback_are_counted_by_their_type_or_the_right_is_missing() {
        let sender = std::thread::spawn(|| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            for _ in 0..20 {
                socket.send_to(b"frame", socket.local_addr().unwrap()).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        match frame_types(1, Duration::from_millis(100)) {
            Ok(types) => assert!(types[&0x0800] > 0, "{types:?}"),
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EPERM)),
        }
        sender.join().unwrap();
    }
}
