//! An interface that the kernel has too, through AF_PACKET: frames to one UDP port, and ARP's replies.

mod merged;
mod sys;

use std::fs;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use self::merged::{Merged, UnknownKind};
use super::{EtherError, EtherLink, FRAME_BYTES_MAX};

/// An interface of the kernel, shared with it.
///
/// The link receives IPv4 datagrams to its address and port, and ARP's replies; the kernel has
/// everything else, and answers for the address. While the link is open, a UDP socket holds the port and
/// takes nothing: without one the kernel would answer that the port is closed.
///
/// Frames of one flow pass the kernel together, both ways (UDP segmentation offload): datagrams of one
/// length without a checksum, whose identification counts up. A receiver gets each alone. Kernels before
/// 6.2 take them one by one.
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
    come: Merged,
    /// Of what has come so many were taken.
    taken: usize,
    leaving: Merged,
    /// The kernel takes frames one by one alone.
    is_single: bool,
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
            come: Merged::new(),
            taken: 0,
            leaving: Merged::new(),
            is_single: false,
            has_merged: false,
            is_advised: false,
            _holder: holder,
        })
    }

    /// The address of the interface's station.
    pub const fn mac(&self) -> [u8; 6] {
        self.mac
    }

    /// Takes what the kernel has, one frame or several; whether there was something.
    fn fetch(&mut self) -> Result<bool, EtherError> {
        self.taken = 0;
        self.come.clear();
        match sys::recv(&self.socket, self.come.room()) {
            Ok(len) => {
                self.has_merged |= self.come.came(len) == Err(UnknownKind);
                self.is_down = false;
                Ok(true)
            }
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {
                if self.is_down {
                    self.check_exists()?;
                }
                Ok(false)
            }
            // Reported once. The interface may come up again, or it is about to go.
            Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => {
                self.is_down = true;
                Ok(false)
            }
            Err(source) => Err(EtherError::of(&self.name, "recv")(source)),
        }
    }

    /// Sends what leaves together one by one; what finds no room is lost.
    fn send_each(&mut self) -> Result<bool, EtherError> {
        let mut lone = Merged::new();
        let mut frame = [0; FRAME_BYTES_MAX];
        for number in 0..self.leaving.frames() {
            let len = self.leaving.write(number, &mut frame);
            lone.clear();
            lone.add(&frame[..len]);
            if let Err(error) = sys::send(&self.socket, lone.finish())
                && !is_lost(&error)
            {
                return Err(EtherError::of(&self.name, "send")(error));
            }
        }
        self.leaving.clear();
        Ok(true)
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
        if self.taken == self.come.frames() && !self.fetch()? {
            return Ok(None);
        }
        if self.come.frames() == 0 {
            // Of a kind that cannot be cut: no valid packet.
            return Ok(Some(0));
        }
        let len = self.come.write(self.taken, into);
        self.taken += 1;
        Ok(Some(len.min(into.len())))
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
        let is_taken = self.leaving.add(frame) || (self.flush()? && self.leaving.add(frame));
        if is_taken && self.is_single { self.flush() } else { Ok(is_taken) }
    }

    fn flush(&mut self) -> Result<bool, EtherError> {
        if self.leaving.frames() == 0 {
            return Ok(true);
        }
        match sys::send(&self.socket, self.leaving.finish()) {
            Ok(()) => {
                self.leaving.clear();
                Ok(true)
            }
            Err(error)
                if error.raw_os_error() == Some(libc::EINVAL) && self.leaving.frames() > 1 =>
            {
                self.is_single = true;
                self.send_each()
            }
            Err(error) if is_lost(&error) => Ok(false),
            Err(source) => Err(EtherError::of(&self.name, "send")(source)),
        }
    }

    fn forget(&mut self) -> usize {
        let frames = self.leaving.frames();
        self.leaving.clear();
        frames
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

fn is_lost(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| LOST.contains(&code))
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

    use samplewire_testing::skip;

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
                skip(format_args!("{error} (needs CAP_NET_RAW)"));
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
        assert!(link.send(&into[..len]).unwrap() && link.flush().unwrap());
        assert_eq!(next(&mut link, &mut into), len);
        assert_eq!(link.recv(&mut into).unwrap(), None);
        assert_eq!((link.dropped().unwrap(), link.mac()), (Some(0), [0; 6]));
    }

    /// The kernel passes them on as one, and nothing cuts them on the loopback.
    #[test]
    fn frames_that_leave_together_come_one_by_one() {
        let Some((mut link, sender, port)) = open() else { return };
        sender.send_to(&[7; 100], ("127.0.0.1", port)).unwrap();
        let mut into = [0; FRAME_BYTES_MAX];
        let len = next(&mut link, &mut into);
        let identification = |number: u16| number.to_be_bytes();
        let mut frames = vec![];
        for number in 0..5 {
            let mut frame = into[..len].to_vec();
            frame[18..20].copy_from_slice(&identification(number));
            frame[24..26].fill(0);
            let sum = frame[14..34]
                .chunks(2)
                .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
                .sum::<u32>();
            let sum = !((sum & 0xFFFF) + (sum >> 16)) as u16;
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
            frame[42..].fill(number as u8);
            assert!(link.send(&frame).unwrap());
            frames.push(frame);
        }
        assert_eq!(link.recv(&mut into).unwrap(), None, "they have not left");
        assert!(link.flush().unwrap());
        for frame in frames {
            let len = next(&mut link, &mut into);
            assert_eq!(into[..len], frame);
        }
        assert_eq!((link.recv(&mut into).unwrap(), link.advice()), (None, None));
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
            return skip("no interface can be made (needs iproute2 and CAP_NET_ADMIN)");
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
