//! QEMU's datagram port (`-netdev dgram`): a UDP or Unix datagram is a frame.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{self, UnixDatagram};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{EtherError, EtherLink, sys};
use crate::concern::{Call, Concern};

/// Both ends of a datagram port: `127.0.0.1:4000,127.0.0.1:4001` or `/run/local,/run/remote`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DgramAddress {
    /// UDP.
    Inet {
        /// Where frames come in.
        local: SocketAddr,
        /// Where frames go; no other sender is heard.
        remote: SocketAddr,
    },
    /// Unix sockets.
    Unix {
        /// Where frames come in. The file is created and removed.
        local: PathBuf,
        /// Where frames go.
        remote: PathBuf,
    },
}

impl FromStr for DgramAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not LOCAL,REMOTE: two IP:PORT of one family, or two paths with a /"
            )
        };
        let (local, remote) = text.split_once(',').ok_or_else(wrong)?;
        if local.contains('/') && remote.contains('/') {
            return Ok(Self::Unix { local: local.into(), remote: remote.into() });
        }
        let address = |text: &str| text.parse::<SocketAddr>().map_err(|_| wrong());
        let (local, remote) = (address(local)?, address(remote)?);
        if local.is_ipv4() != remote.is_ipv4() {
            return Err(wrong());
        }
        Ok(Self::Inet { local, remote })
    }
}

impl fmt::Display for DgramAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inet { local, remote } => write!(f, "{local},{remote}"),
            Self::Unix { local, remote } => write!(f, "{},{}", local.display(), remote.display()),
        }
    }
}

/// An open datagram port.
#[derive(Debug)]
pub struct Dgram {
    name: String,
    socket: Socket,
}

#[derive(Debug)]
enum Socket {
    Inet(UdpSocket),
    Unix {
        socket: UnixDatagram,
        /// The file that is removed in the end; an abstract name has none.
        local: Option<PathBuf>,
        remote: PathBuf,
    },
}

impl Dgram {
    /// Binds the local end. The remote end may come and go: frames to no one are lost.
    ///
    /// # Errors
    /// The local address is in use or not this host's, or there is no route to the remote one.
    pub fn open(address: &DgramAddress) -> Result<Self, EtherError> {
        let name = address.to_string();
        let socket = match address {
            DgramAddress::Inet { local, remote } => {
                let socket = UdpSocket::bind(local).map_err(EtherError::of(&name, "bind"))?;
                socket.set_nonblocking(true).map_err(EtherError::of(&name, "bind"))?;
                sys::set_receive_buffer(&socket, Self::QUEUE_BYTES)
                    .map_err(EtherError::of(&name, "SO_RCVBUF"))?;
                socket.connect(remote).map_err(EtherError::of(&name, "connect"))?;
                Socket::Inet(socket)
            }
            DgramAddress::Unix { local, remote } => {
                let socket = bind(local).map_err(EtherError::of(&name, "bind"))?;
                socket.set_nonblocking(true).map_err(EtherError::of(&name, "bind"))?;
                Socket::Unix { socket, local: Some(local.clone()), remote: remote.clone() }
            }
        };
        Ok(Self { name, socket })
    }

    /// A port to a Unix socket that answers its last sender, such as that of a simulated board. The local
    /// end has an abstract name, and needs no file.
    ///
    /// # Errors
    /// Nothing receives datagrams at `remote`, or this process may not send there.
    pub fn to(remote: &Path) -> Result<Self, EtherError> {
        let name = format!("unix:{}", remote.display());
        let probe = UnixDatagram::unbound().map_err(EtherError::of(&name, "socket"))?;
        probe.connect(remote).map_err(EtherError::of(&name, "connect"))?;
        let socket = bind_abstract().map_err(EtherError::of(&name, "bind"))?;
        socket.set_nonblocking(true).map_err(EtherError::of(&name, "bind"))?;
        Ok(Self { name, socket: Socket::Unix { socket, local: None, remote: remote.to_owned() } })
    }

    /// Room for frames that wait at a UDP socket, with what the kernel needs for each: some 4,096
    /// of 4 KiB. Without CAP_NET_ADMIN it is at most `net.core.rmem_max`. Who sends to a Unix
    /// socket waits.
    pub const QUEUE_BYTES: i32 = 32 << 20;
}

impl EtherLink for Dgram {
    fn name(&self) -> &str {
        &self.name
    }

    fn recv(&mut self, into: &mut [u8]) -> Result<Option<usize>, EtherError> {
        // Behind an answer of the network frames may wait, which are not reported again.
        for _ in 0..ATTEMPTS_MAX {
            let read = match &self.socket {
                Socket::Inet(socket) => socket.recv(into),
                Socket::Unix { socket, .. } => socket.recv(into),
            };
            match read {
                Ok(len) => return Ok(Some(len)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => {
                    passing(Call::Receive, error).map_err(EtherError::of(&self.name, "recv"))?
                }
            }
        }
        Ok(None)
    }

    fn send(&mut self, frame: &[u8]) -> Result<bool, EtherError> {
        let sent = match &self.socket {
            Socket::Inet(socket) => socket.send(frame),
            Socket::Unix { socket, remote, .. } => socket.send_to(frame, remote),
        };
        match sent {
            Ok(_) => Ok(true),
            // A frame longer than the socket takes is lost like one on a full link.
            Err(error) => passing(Call::Send, error)
                .map(|()| false)
                .map_err(EtherError::of(&self.name, "send")),
        }
    }

    fn flush(&mut self) -> Result<bool, EtherError> {
        Ok(true)
    }

    fn forget(&mut self) -> usize {
        0
    }

    fn dropped(&mut self) -> Result<Option<u64>, EtherError> {
        match &self.socket {
            Socket::Inet(socket) => sys::dropped(socket)
                .map(|count| Some(count.into()))
                .map_err(EtherError::of(&self.name, "SO_MEMINFO")),
            // None is dropped: its sender waits.
            Socket::Unix { .. } => Ok(None),
        }
    }
}

impl AsFd for Dgram {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Inet(socket) => socket.as_fd(),
            Socket::Unix { socket, .. } => socket.as_fd(),
        }
    }
}

impl Drop for Dgram {
    fn drop(&mut self) {
        if let Socket::Unix { local: Some(local), .. } = &self.socket {
            // Someone else may have removed it.
            drop(std::fs::remove_file(local));
        }
    }
}

/// Binds a Unix socket, in the place of one that a killed process has left behind.
fn bind(path: &Path) -> io::Result<UnixDatagram> {
    let bound = UnixDatagram::bind(path);
    let is_taken = bound.as_ref().is_err_and(|error| error.kind() == ErrorKind::AddrInUse);
    if !is_taken || !std::fs::metadata(path)?.file_type().is_socket() {
        return bound;
    }
    match UnixDatagram::unbound()?.connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)?;
            UnixDatagram::bind(path)
        }
        // Another process has it.
        _ => bound,
    }
}

/// Binds a Unix socket to an abstract name that no other one has.
fn bind_abstract() -> io::Result<UnixDatagram> {
    // Of this process: others have other numbers, and a socket that is closed gives its name back.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    // Relaxed: only that numbers differ matters.
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("samplewire-{}-{number}", std::process::id());
    UnixDatagram::bind_addr(&net::SocketAddr::from_abstract_name(name)?)
}

/// Passes an error on only where the socket or the host is broken: what the network answers may be
/// forged, and the remote end may come and go.
fn passing(call: Call, error: io::Error) -> io::Result<()> {
    if Concern::of_system(call, &error).ends_endpoint() { Err(error) } else { Ok(()) }
}

/// Answers of the network in a row that a read passes over. A link that has more of them is read
/// again at the next one, or at the next frame.
const ATTEMPTS_MAX: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_back_as_they_are_written() {
        for text in ["127.0.0.1:4000,127.0.0.1:4001", "[::1]:1,[::1]:2", "/a/b,./c"] {
            assert_eq!(text.parse::<DgramAddress>().expect(text).to_string(), text);
        }
        for text in ["", "127.0.0.1:1", "127.0.0.1:1,[::1]:2", "/a,127.0.0.1:2", "a,b", ",", "/a,"]
        {
            let error = text.parse::<DgramAddress>().unwrap_err();
            assert!(error.starts_with(&format!("`{text}` is not LOCAL,REMOTE")), "{error}");
        }
    }

    #[test]
    fn port_to_a_board_needs_no_file_and_names_a_board_that_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("board");
        let error = Dgram::to(&path).unwrap_err().to_string();
        assert!(error.starts_with(&format!("unix:{}: connect: ", path.display())), "{error}");
        let board = UnixDatagram::bind(&path).unwrap();
        let mut ports = [Dgram::to(&path).unwrap(), Dgram::to(&path).unwrap()];
        for port in &mut ports {
            assert!(port.send(b"frame").unwrap());
            let mut into = [0; 8];
            let (len, sender) = board.recv_from(&mut into).unwrap();
            board.send_to_addr(&into[..len], &sender).unwrap();
            assert_eq!(port.recv(&mut into).unwrap(), Some(5));
            assert_eq!(&into[..5], b"frame");
            assert_eq!(port.recv(&mut into).unwrap(), None);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// Sends frames both ways; what goes to no one is lost, and no error.
    fn exchange(near: &DgramAddress, far: &DgramAddress) {
        let mut near = Dgram::open(near).expect("it is free");
        assert_eq!(near.recv(&mut [0; 8]).expect("it is open"), None);
        near.send(b"to no one").expect("it is open");
        let mut far = Dgram::open(far).expect("it is free");
        // An answer of the network to the first frame may cost the next one.
        let mut into = [0; 8];
        while !near.send(b"frame").expect("it is open") {}
        while far.recv(&mut into).expect("it is open") != Some(5) {}
        assert_eq!(&into[..5], b"frame");
        assert!(far.send(b"longer than eight").expect("it is open"));
        while near.recv(&mut into).expect("it is open").is_none() {}
        assert_eq!(&into, b"longer t", "it is cut");
        let is_inet = matches!(near.socket, Socket::Inet(_));
        assert_eq!(near.dropped().expect("it is open"), is_inet.then_some(0));
    }

    #[test]
    fn frames_that_find_no_room_are_counted() {
        let (one, other) = (free(), free());
        let mut near = Dgram::open(&DgramAddress::Inet { local: one, remote: other }).unwrap();
        let far = UdpSocket::bind(other).unwrap();
        far.connect(one).unwrap();
        let (mut sent, mut received) = (0, 0);
        while near.dropped().unwrap() == Some(0) {
            far.send(&[0xEE; 4_096]).unwrap();
            sent += 1;
        }
        while near.recv(&mut [0; 8]).unwrap().is_some() {
            received += 1;
        }
        assert_eq!(near.dropped().unwrap(), Some(sent - received));
        assert!(received > 0);
    }

    #[test]
    fn socket_of_a_killed_process_is_replaced_and_any_other_file_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let address = DgramAddress::Unix { local: path("a"), remote: path("b") };
        // Its file stays, as after a kill.
        drop(UnixDatagram::bind(path("a")).unwrap());
        let held = Dgram::open(&address).unwrap();
        assert!(Dgram::open(&address).unwrap_err().to_string().contains("in use"));
        drop(held);
        std::fs::write(path("a"), "samples").unwrap();
        Dgram::open(&address).unwrap_err();
        assert_eq!(std::fs::read(path("a")).unwrap(), b"samples");
    }

    fn free() -> SocketAddr {
        UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
    }

    #[test]
    fn answers_of_the_network_neither_end_the_link_nor_hide_a_frame() {
        let (one, other) = (free(), free());
        let mut near = Dgram::open(&DgramAddress::Inet { local: one, remote: other }).unwrap();
        // The answer, that the port is closed, waits at the socket before the frame comes.
        assert!(near.send(b"to no one").unwrap());
        let far = UdpSocket::bind(other).unwrap();
        far.send_to(b"frame", one).unwrap();
        let mut into = [0; 8];
        assert_eq!(near.recv(&mut into).unwrap(), Some(5));
        assert_eq!(near.recv(&mut into).unwrap(), None);
        for call in [Call::Send, Call::Receive] {
            for code in [libc::EHOSTUNREACH, libc::ENETUNREACH, libc::ENETDOWN, libc::EACCES] {
                assert!(passing(call, io::Error::from_raw_os_error(code)).is_ok(), "{code}");
            }
            let broken = io::Error::from_raw_os_error(libc::EBADF);
            assert!(passing(call, broken).is_err());
        }
    }

    #[test]
    fn what_failed_is_named() {
        let here = free();
        let open = |local, remote| Dgram::open(&DgramAddress::Inet { local, remote }).unwrap_err();
        let broadcast = "127.255.255.255:9".parse().unwrap();
        assert_eq!(open(here, broadcast).operation, "connect");
        let elsewhere = "192.0.2.1:9".parse().unwrap();
        assert_eq!(open(elsewhere, here).operation, "bind");
    }

    #[test]
    fn datagrams_of_both_kinds_are_frames() {
        let (one, other) = (free(), free());
        let inet = |local, remote| DgramAddress::Inet { local, remote };
        exchange(&inet(one, other), &inet(other, one));
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        let unix = |local: &PathBuf, remote: &PathBuf| DgramAddress::Unix {
            local: local.clone(),
            remote: remote.clone(),
        };
        exchange(&unix(&one, &other), &unix(&other, &one));
        assert!(!one.exists() && !other.exists(), "the files are gone");
    }
}
