//! Sockets and their options through `libc`; [`message`] holds the batched calls, [`filter`] the
//! programs that the kernel runs on arrival.

pub(super) mod address;
mod filter;
pub(super) mod message;

use std::ffi::{CStr, CString};
use std::io;
use std::mem::size_of_val;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use self::address::NativeAddress;
use crate::link::Ecn;
use crate::sockopt;

/// A non-blocking UDP socket of one family, with the options that every link needs.
#[derive(Debug)]
pub(super) struct Socket {
    socket: UdpSocket,
    v6: bool,
}

impl Socket {
    /// Opens an unbound socket for the family of `address`.
    ///
    /// Don't-fragment is set by PROBE, not DO: under PROBE the kernel neither believes nor keeps
    /// ICMP "fragmentation needed", so a forged or stale one cannot narrow a stream, and the
    /// padded OPEN and ACCEPT that prove the MTU reach the wire whenever the interface takes
    /// them.
    pub(super) fn open(address: SocketAddr) -> io::Result<Self> {
        let v6 = address.is_ipv6();
        let family = if v6 { libc::AF_INET6 } else { libc::AF_INET };
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: socket takes no pointers.
        let fd = unsafe { libc::socket(family, kind, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just created this descriptor, and no other owner has it.
        let socket = UdpSocket::from(unsafe { OwnedFd::from_raw_fd(fd) });
        let socket = Self { socket, v6 };
        if v6 {
            // One family a socket: addresses then print as they were written, and one kind of
            // ECN message is enough.
            socket.set(libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1)?;
            socket.set(libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE)?;
            socket.set(libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG, 1)?;
            socket.set(libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1)?;
        } else {
            socket.set(libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)?;
            socket.set(libc::IPPROTO_IP, libc::IP_RECVTOS, 1)?;
        }
        Ok(socket)
    }

    /// Binds to `address`, which must be of the socket's family.
    pub(super) fn bind(&self, address: SocketAddr) -> io::Result<()> {
        let native = NativeAddress::from(address);
        let (pointer, len_bytes) = native.as_ptr();
        // SAFETY: the pointer covers `len_bytes` of `native`, which outlives the call.
        check(unsafe { libc::bind(self.fd(), pointer, len_bytes) })
    }

    /// Takes and sends packets by this interface alone; before the socket has an address.
    pub(super) fn bind_interface(&self, index: u32) -> io::Result<()> {
        let index = i32::try_from(index).expect("the kernel's own are ints");
        self.set(libc::SOL_SOCKET, libc::SO_BINDTOIFINDEX, index)
    }

    pub(super) fn connect(&self, remote: SocketAddr) -> io::Result<()> {
        self.socket.connect(remote)
    }

    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Requests a receive buffer. Returns the granted size, in the same unit as the request: bytes.
    pub(super) fn set_receive_buffer(&self, bytes: usize) -> io::Result<usize> {
        self.set_buffer([libc::SO_RCVBUFFORCE, libc::SO_RCVBUF], bytes)
    }

    /// Requests a send buffer. Returns the granted size, in the same unit as the request: bytes.
    pub(super) fn set_send_buffer(&self, bytes: usize) -> io::Result<usize> {
        self.set_buffer([libc::SO_SNDBUFFORCE, libc::SO_SNDBUF], bytes)
    }

    /// Sets the ECN bits of packets that bring none of their own.
    pub(super) fn set_ecn(&self, ecn: Ecn) -> io::Result<()> {
        let (level, name) = if self.v6 {
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS)
        } else {
            (libc::IPPROTO_IP, libc::IP_TOS)
        };
        self.set(level, name, ecn as i32)
    }

    /// Turns the kernel's drop count on or off; it comes with each packet that follows a drop.
    pub(super) fn count_drops(&self, on: bool) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, on.into())
    }

    /// Lets the kernel join received packets, or not; false when it does not know how.
    pub(super) fn join_received(&self, on: bool) -> bool {
        self.set(libc::SOL_UDP, libc::UDP_GRO, on.into()).is_ok()
    }

    /// Whether the kernel knows UDP_SEGMENT; each message names its own segment length.
    pub(super) fn knows_segmentation(&self) -> bool {
        self.get(libc::SOL_UDP, libc::UDP_SEGMENT).is_ok()
    }

    /// The MTU of the connected route in bytes.
    pub(super) fn route_mtu(&self) -> io::Result<usize> {
        let mtu_bytes = if self.v6 {
            self.get(libc::IPPROTO_IPV6, libc::IPV6_MTU)?
        } else {
            self.get(libc::IPPROTO_IP, libc::IP_MTU)?
        };
        Ok(usize::try_from(mtu_bytes).expect("the kernel gives a positive MTU"))
    }

    /// The MTU in bytes of the interface that has the address `local`; of all that are up, the
    /// largest, where `local` is unspecified. `None` when no interface fits.
    pub(super) fn interface_mtu(&self, local: IpAddr) -> io::Result<Option<usize>> {
        let mut largest = None;
        each_interface(local, |name| largest = largest.max(self.named_mtu(name)))?;
        Ok(largest)
    }

    /// The name of the interface that is up and has the address `local`, if there is one.
    pub(super) fn interface_name(&self, local: IpAddr) -> io::Result<Option<CString>> {
        let mut found = None;
        each_interface(local, |name| found = Some(name.to_owned()))?;
        Ok(found)
    }

    pub(super) fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// The first of `names` that the kernel lets us use; FORCE (CAP_NET_ADMIN) passes the sysctl
    /// limit, the other is cut to it.
    fn set_buffer(&self, names: [i32; 2], bytes: usize) -> io::Result<usize> {
        let asked = i32::try_from(bytes).unwrap_or(i32::MAX);
        if self.set(libc::SOL_SOCKET, names[0], asked).is_err() {
            self.set(libc::SOL_SOCKET, names[1], asked)?;
        }
        // FORCE names are written, never read. The kernel keeps twice what it is asked.
        let kept = self.get(libc::SOL_SOCKET, names[1])?;
        Ok(usize::try_from(kept).expect("the kernel gives a positive size") / 2)
    }

    pub(super) fn set(&self, level: i32, name: i32, value: i32) -> io::Result<()> {
        sockopt::set(&self.socket, level, name, value)
    }

    fn get(&self, level: i32, name: i32) -> io::Result<i32> {
        let mut value = 0_i32;
        let mut len_bytes = size_of_val(&value) as libc::socklen_t;
        // SAFETY: the pointers cover `value` and its length; the kernel writes no more than that.
        check(unsafe {
            libc::getsockopt(self.fd(), level, name, (&raw mut value).cast(), &raw mut len_bytes)
        })?;
        Ok(value)
    }

    /// The MTU of an interface by its name.
    fn named_mtu(&self, name: &CStr) -> Option<usize> {
        // SAFETY: all bytes zero are a valid ifreq.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        // SAFETY: the string ends in a zero byte; the last byte of the field stays zero.
        unsafe {
            libc::strncpy(request.ifr_name.as_mut_ptr(), name.as_ptr(), libc::IFNAMSIZ - 1);
        }
        // The type of a request differs between glibc and musl.
        let get_mtu = libc::SIOCGIFMTU as libc::Ioctl;
        // SAFETY: SIOCGIFMTU reads the name of the ifreq it is given and writes its MTU.
        let answer = unsafe { libc::ioctl(self.fd(), get_mtu, &raw mut request) };
        // SAFETY: the kernel wrote this variant of the union, or the zeros above stand there.
        let mtu_bytes = unsafe { request.ifr_ifru.ifru_mtu };
        if answer < 0 { None } else { usize::try_from(mtu_bytes).ok() }
    }
}

/// Passes the names of the interfaces that are up and have the address `local`; of all that are up,
/// where `local` is unspecified.
fn each_interface(local: IpAddr, mut visit: impl FnMut(&CStr)) -> io::Result<()> {
    let mut list = std::ptr::null_mut();
    // SAFETY: the kernel's library writes one pointer, which is freed below.
    check(unsafe { libc::getifaddrs(&raw mut list) })?;
    let mut next = list;
    while !next.is_null() {
        // SAFETY: `next` is an entry of the list, which lives until freeifaddrs below.
        let entry = unsafe { &*next };
        next = entry.ifa_next;
        let up = entry.ifa_flags & libc::IFF_UP as u32 != 0;
        // SAFETY: an entry's address is null or valid for its family.
        let address = unsafe { address::from_pointer(entry.ifa_addr) };
        let fits = address.is_some_and(|address| local.is_unspecified() || address.ip() == local);
        if up && fits {
            // SAFETY: the name is a string of the list's memory, which outlives the visit.
            visit(unsafe { CStr::from_ptr(entry.ifa_name) });
        }
    }
    // SAFETY: the list came from getifaddrs, and no reference into it is left.
    unsafe { libc::freeifaddrs(list) };
    Ok(())
}

fn check(answer: i32) -> io::Result<()> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
