//! An interface that the kernel has too, through AF_PACKET: frames to one UDP port, and ARP's replies.

mod sys;

use std::fs;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::{EtherError, EtherLink, FRAME_BYTES_MAX};

/// An interface of the kernel, shared with it.
///
/// The link receives IPv4 datagrams to its address and port, and ARP's replies; the kernel has
/// everything else, and answers for the address. While the link is open, a UDP socket holds the port and
/// takes nothing: without one the kernel would answer that the port is closed.
#[derive(Debug)]
pub struct PacketSocket {
    name: String,
    socket: OwnedFd,
    index: i32,
    mac: [u8; 6],
    mtu_bytes: usize,
    /// It went down, and no frame has come since.
    is_down: bool,
    dropped: u64,
    has_merged: bool,
    is_advised: bool,
    _holder: UdpSocket,
}

impl PacketSocket {
    /// Opens an interface that has the address `ip`, for datagrams to `port`.
    ///
    /// # Errors
    /// There is no such interface, it is not of Ethernet, `ip` is not an address of this host, the port
    /// is taken, or the process does not have CAP_NET_RAW.
    pub fn open(name: &str, ip: Ipv4Addr, port: u16) -> Result<Self, EtherError> {
        let mac = read(name, "address", mac_of)?;
        let mtu_bytes = read(name, "mtu", |text| text.parse().ok())?;
        let index = read(name, "ifindex", |text| text.parse().ok())?;
        let holder = UdpSocket::bind((ip, port)).map_err(|error| {
            let words = format!("UDP port {port} of {ip}: {error}");
            EtherError::of(name, "bind")(io::Error::new(error.kind(), words))
        })?;
        sys::ignore_all(&holder).map_err(EtherError::of(name, "SO_ATTACH_FILTER"))?;
        let socket = sys::open(index, ip, port).map_err(EtherError::of(name, "AF_PACKET"))?;
        Ok(Self {
            name: name.to_owned(),
            socket,
            index,
            mac,
            mtu_bytes,
            is_down: false,
            dropped: 0,
            has_merged: false,
            is_advised: false,
            _holder: holder,
        })
    }

    /// The address of the interface's station.
    pub const fn mac(&self) -> [u8; 6] {
        self.mac
    }

    /// An error where the interface is gone, or another one has its name.
    fn check_exists(&self) -> Result<(), EtherError> {
        let index = read(&self.name, "ifindex", |text| text.parse::<i32>().ok())?;
        if index == self.index {
            return Ok(());
        }
        let source = io::Error::from_raw_os_error(libc::ENODEV);
        Err(EtherError::of(&self.name, "recv")(source))
    }
}

impl EtherLink for PacketSocket {
    fn name(&self) -> &str {
        &self.name
    }

    fn recv(&mut self, into: &mut [u8]) -> Result<Option<usize>, EtherError> {
        match sys::recv(&self.socket, into) {
            Ok(len) => {
                // Longer than any frame of this interface, so the kernel has merged several. As it is
                // no valid packet, whoever takes it drops it.
                self.has_merged |=
                    len > FRAME_BYTES_MAX.max(ETHERNET_HEADER_BYTES + self.mtu_bytes);
                self.is_down = false;
                Ok(Some(len.min(into.len())))
            }
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {
                if self.is_down {
                    self.check_exists()?;
                }
                Ok(None)
            }
            // Reported once. The interface may come up again, or it is about to go.
            Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => {
                self.is_down = true;
                Ok(None)
            }
            Err(source) => Err(EtherError::of(&self.name, "recv")(source)),
        }
    }

    fn mtu_bytes(&self) -> Option<usize> {
        Some(self.mtu_bytes)
    }

    fn advice(&mut self) -> Option<String> {
        if !self.has_merged || self.is_advised {
            return None;
        }
        self.is_advised = true;
        let name = &self.name;
        Some(format!("{name}: the kernel merges received frames: ethtool -K {name} gro off"))
    }

    fn send(&mut self, frame: &[u8]) -> Result<bool, EtherError> {
        match sys::send(&self.socket, frame) {
            Ok(()) => Ok(true),
            Err(error) if LOST.contains(&error.raw_os_error().unwrap_or(0)) => Ok(false),
            Err(source) => Err(EtherError::of(&self.name, "send")(source)),
        }
    }

    fn dropped(&mut self) -> Result<Option<u64>, EtherError> {
        let since = sys::drops(&self.socket);
        self.dropped += u64::from(since.map_err(EtherError::of(&self.name, "PACKET_STATISTICS"))?);
        Ok(Some(self.dropped))
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A property of an interface, from sysfs.
fn read<T>(
    name: &str,
    what: &'static str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, EtherError> {
    if name.is_empty() || name.contains('/') || name.starts_with('.') {
        let source = io::Error::new(ErrorKind::InvalidInput, "no interface has this name");
        return Err(EtherError::of(name, "name")(source));
    }
    let path = format!("/sys/class/net/{name}/{what}");
    let text = fs::read_to_string(path).map_err(EtherError::of(name, what))?;
    let words = || io::Error::new(ErrorKind::InvalidData, format!("`{}`", text.trim()));
    parse(text.trim()).ok_or_else(words).map_err(EtherError::of(name, what))
}

/// Six bytes in hexadecimal with colons between them.
fn mac_of(text: &str) -> Option<[u8; 6]> {
    let bytes: Option<Vec<u8>> =
        text.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    bytes?.try_into().ok()
}

/// The queue is full, memory is short, the interface is down, or the frame is longer than its MTU.
const LOST: [i32; 6] =
    [libc::EAGAIN, libc::ENOBUFS, libc::ENOMEM, libc::ENETDOWN, libc::EMSGSIZE, libc::EINVAL];

const ETHERNET_HEADER_BYTES: usize = 14;

const _: () = assert!(FRAME_BYTES_MAX > ETHERNET_HEADER_BYTES + 9_000);

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::*;

    /// A link on the loopback interface at a free port, and a socket that sends to it.
    fn open() -> Option<(PacketSocket, UdpSocket, u16)> {
        let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        match PacketSocket::open("lo", Ipv4Addr::LOCALHOST, port) {
            Ok(link) => {
                let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
                Some((link, sender, port))
            }
            Err(error) => {
                println!("skipped: {error} (needs CAP_NET_RAW)");
                None
            }
        }
    }

    fn next(link: &mut PacketSocket, into: &mut [u8]) -> usize {
        let until = Instant::now() + Duration::from_secs(5);
        loop {
            if let Some(len) = link.recv(into).unwrap() {
                return len;
            }
            assert!(Instant::now() < until, "no frame came");
        }
    }

    #[test]
    fn datagrams_to_the_port_come_in_whole_and_no_others() {
        let Some((mut link, sender, port)) = open() else { return };
        let other = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.send_to(b"other port", other.local_addr().unwrap()).unwrap();
        sender.send_to(b"other address", ("127.0.0.2", port)).unwrap();
        sender.send_to(b"this one", ("127.0.0.1", port)).unwrap();
        let mut into = [0; FRAME_BYTES_MAX + 1];
        let len = next(&mut link, &mut into);
        assert_eq!(into[len - 8..len], *b"this one");
        assert_eq!(len, ETHERNET_HEADER_BYTES + 20 + 8 + 8);
        // The loopback brings back what leaves: once, not as outgoing too.
        assert!(link.send(&into[..len]).unwrap());
        assert_eq!(next(&mut link, &mut into), len);
        assert_eq!(link.recv(&mut into).unwrap(), None);
        assert_eq!((link.dropped().unwrap(), link.mac()), (Some(0), [0; 6]));
    }

    #[test]
    fn kernel_does_not_answer_that_the_port_is_closed() {
        let Some((_link, sender, port)) = open() else { return };
        sender.connect(("127.0.0.1", port)).unwrap();
        for _ in 0..3 {
            // An answer to one datagram fails the next.
            sender.send(b"to no program").expect("no answer came");
        }
    }

    #[test]
    fn interface_that_goes_down_may_come_up_and_one_that_is_removed_is_an_error() {
        let name = format!("swt{}", std::process::id());
        let ip = |words: &str| {
            let words = words.replace("NAME", &name);
            Command::new("ip").args(words.split(' ')).status().is_ok_and(|it| it.success())
        };
        if !ip("link add NAME type dummy") {
            println!("skipped: no interface can be made (needs iproute2 and CAP_NET_ADMIN)");
            return;
        }
        assert!(ip("address add 192.0.2.77/32 dev NAME") && ip("link set NAME up"));
        let mut link = PacketSocket::open(&name, Ipv4Addr::new(192, 0, 2, 77), 0).unwrap();
        let mut into = [0; FRAME_BYTES_MAX];
        assert!(ip("link set NAME down"));
        (0..3).for_each(|_| assert_eq!(link.recv(&mut into).unwrap(), None));
        assert!(ip("link delete NAME"));
        let error = link.recv(&mut into).expect_err("it is gone").to_string();
        assert!(error.starts_with(&format!("{name}: ifindex: ")), "{error}");
    }

    #[test]
    fn interface_address_and_port_that_do_not_suit_are_named() {
        let open = |name: &str, ip, port| {
            PacketSocket::open(name, ip, port).expect_err("it does not suit").to_string()
        };
        let local = Ipv4Addr::LOCALHOST;
        for name in ["", "../lo", "a/b", ".."] {
            assert!(open(name, local, 1).contains("no interface has this name"), "{name}");
        }
        assert!(open("no-such-one", local, 1).starts_with("no-such-one: address: "));
        assert!(open("lo", Ipv4Addr::new(192, 0, 2, 1), 0).starts_with("lo: bind: "));
        let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        assert!(open("lo", local, port).contains("in use"));
    }
}
