//! An interface that the kernel has too, through AF_PACKET: frames to one UDP port and ARP's replies, or
//! frames of one EtherType.

mod datagrams;
mod frames;
mod merged;
mod sys;

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use self::datagrams::Datagrams;
use self::frames::Frames;
use super::{EtherError, EtherLink, FRAME_BYTES_MAX};

/// An interface of the kernel, shared with it.
///
/// [`PacketSocket::open`] receives IPv4 datagrams to its address and port, and ARP's replies; the kernel
/// has everything else, and answers for the address. While the link is open, a UDP socket holds the port
/// and takes nothing: without one the kernel would answer that the port is closed. Frames of one flow
/// pass the kernel together, both ways (UDP segmentation offload): datagrams of one length without a
/// checksum, whose identification counts up. A receiver gets each alone. Kernels before 6.2 take them one
/// by one.
///
/// [`PacketSocket::open_ether_type`] receives frames of one EtherType, which the kernel has no use for.
/// They pass several a call.
pub struct PacketSocket {
    name: String,
    socket: OwnedFd,
    index: i32,
    mac: [u8; 6],
    mtu_bytes: usize,
    /// It went down, and no frame has come since.
    is_down: bool,
    dropped: u64,
    passage: Passage,
}

/// How frames pass the kernel.
enum Passage {
    Datagrams(Datagrams),
    Frames(Frames),
}

/// How frames of an EtherType are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameReceive {
    /// By calls, for each as many frames as there are: a frame is received at once.
    Calls,
    /// In a ring of 32 MiB that the kernel writes into (TPACKET_V3): no call for a frame, and room for
    /// 25 ms of 10 Gb/s. A frame waits up to 1 ms, on older kernels up to some ms, for others behind it.
    Ring,
}

impl PacketSocket {
    /// Opens an interface that has the address `ip`, for datagrams to `port`.
    ///
    /// # Errors
    /// There is no such interface, it is not of Ethernet, `ip` is not an address of this host, the port
    /// is taken, or the process does not have CAP_NET_RAW.
    pub fn open(name: &str, ip: Ipv4Addr, port: u16) -> Result<Self, EtherError> {
        let interface = Interface::read(name)?;
        let holder = UdpSocket::bind((ip, port)).map_err(|error| {
            let words = format!("UDP port {port} of {ip}: {error}");
            EtherError::of(name, "bind")(io::Error::new(error.kind(), words))
        })?;
        sys::ignore_all(&holder).map_err(EtherError::of(name, "SO_ATTACH_FILTER"))?;
        let socket =
            sys::open(interface.index, ip, port).map_err(EtherError::of(name, "AF_PACKET"))?;
        Ok(interface.shared(socket, Passage::Datagrams(Datagrams::new(holder))))
    }

    /// Opens an interface for frames of `ether_type`, also for those that are for other stations: some
    /// come back as they left.
    ///
    /// # Errors
    /// There is no such interface, it is not of Ethernet, the process does not have CAP_NET_RAW, or the
    /// system has no memory for the ring.
    pub fn open_ether_type(
        name: &str,
        ether_type: u16,
        receive: FrameReceive,
    ) -> Result<Self, EtherError> {
        let kind: u16 = read(name, "type", |text| text.parse().ok())?;
        if !ETHERNET_KINDS.contains(&kind) {
            let words = format!("an interface of type {kind} carries no Ethernet frames");
            return Err(EtherError::of(name, "type")(io::Error::other(words)));
        }
        let interface = Interface::read(name)?;
        let socket = sys::socket().map_err(EtherError::of(name, "AF_PACKET"))?;
        let frames = Frames::new(&socket, receive).map_err(EtherError::of(name, "ring"))?;
        sys::receive_all_stations(&socket, interface.index)
            .and_then(|()| sys::bind(&socket, interface.index, ether_type))
            .map_err(EtherError::of(name, "AF_PACKET"))?;
        Ok(interface.shared(socket, Passage::Frames(frames)))
    }

    /// The address of the interface's station.
    pub const fn mac(&self) -> [u8; 6] {
        self.mac
    }

    /// Memory that frames are kept in, in this process and mapped from the kernel.
    pub fn memory_bytes(&self) -> usize {
        match &self.passage {
            Passage::Datagrams(datagrams) => datagrams.memory_bytes(),
            Passage::Frames(frames) => frames.memory_bytes(),
        }
    }

    /// Frames that were sent and that the system never takes, such as longer ones than the MTU.
    pub const fn refused(&self) -> u64 {
        match &self.passage {
            Passage::Datagrams(_) => 0,
            Passage::Frames(frames) => frames.refused(),
        }
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
        let received = match &mut self.passage {
            Passage::Datagrams(datagrams) => datagrams.recv(&self.socket, into),
            Passage::Frames(frames) => frames.recv(&self.socket, into),
        };
        match received {
            Ok(Some(len)) => {
                self.is_down = false;
                Ok(Some(len))
            }
            Ok(None) => Ok(None),
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
        match &mut self.passage {
            Passage::Datagrams(datagrams) => datagrams.advice(&self.name),
            Passage::Frames(_) => None,
        }
    }

    fn send(&mut self, frame: &[u8]) -> Result<bool, EtherError> {
        let sent = match &mut self.passage {
            Passage::Datagrams(datagrams) => datagrams.send(&self.socket, frame),
            Passage::Frames(frames) => frames.send(&self.socket, frame),
        };
        sent.map_err(EtherError::of(&self.name, "send"))
    }

    fn flush(&mut self) -> Result<bool, EtherError> {
        let sent = match &mut self.passage {
            Passage::Datagrams(datagrams) => datagrams.flush(&self.socket),
            Passage::Frames(frames) => frames.flush(&self.socket),
        };
        sent.map_err(EtherError::of(&self.name, "send"))
    }

    fn forget(&mut self) -> usize {
        match &mut self.passage {
            Passage::Datagrams(datagrams) => datagrams.forget(),
            Passage::Frames(frames) => frames.forget(),
        }
    }

    fn dropped(&mut self) -> Result<Option<u64>, EtherError> {
        let since = sys::drops(&self.socket);
        self.dropped += u64::from(since.map_err(EtherError::of(&self.name, "PACKET_STATISTICS"))?);
        Ok(Some(self.dropped))
    }
}

impl fmt::Debug for PacketSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PacketSocket").field("name", &self.name).finish_non_exhaustive()
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What sysfs has of an interface.
struct Interface {
    name: String,
    index: i32,
    mac: [u8; 6],
    mtu_bytes: usize,
}

impl Interface {
    fn read(name: &str) -> Result<Self, EtherError> {
        Ok(Self {
            mac: read(name, "address", mac_of)?,
            mtu_bytes: read(name, "mtu", |text| text.parse().ok())?,
            index: read(name, "ifindex", |text| text.parse().ok())?,
            name: name.to_owned(),
        })
    }

    /// The link on a socket of this interface.
    fn shared(self, socket: OwnedFd, passage: Passage) -> PacketSocket {
        let Self { name, index, mac, mtu_bytes } = self;
        PacketSocket { name, socket, index, mac, mtu_bytes, is_down: false, dropped: 0, passage }
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

/// ARPHRD_ETHER and ARPHRD_LOOPBACK: the types whose frames have Ethernet's header.
const ETHERNET_KINDS: [u16; 2] = [libc::ARPHRD_ETHER, libc::ARPHRD_LOOPBACK];

const ETHERNET_HEADER_BYTES: usize = 14;

const _: () = assert!(FRAME_BYTES_MAX > ETHERNET_HEADER_BYTES + 9_000);

#[cfg(test)]
mod tests;
