//! QEMU's datagram port (`-netdev dgram`): a UDP or Unix datagram is a frame.

use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::str::FromStr;

use super::{EtherError, EtherLink, is_passing, received};

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
    Unix { socket: UnixDatagram, local: PathBuf, remote: PathBuf },
}

impl Dgram {
    /// Binds the local end. The remote end may come and go: frames to no one are lost.
    ///
    /// # Errors
    /// The local address is in use, or cannot be had.
    pub fn open(address: &DgramAddress) -> Result<Self, EtherError> {
        let name = address.to_string();
        let socket = match address {
            DgramAddress::Inet { local, remote } => UdpSocket::bind(local)
                .and_then(|socket| {
                    socket.set_nonblocking(true)?;
                    socket.connect(remote)?;
                    Ok(Socket::Inet(socket))
                })
                .map_err(EtherError::of(&name, "bind"))?,
            DgramAddress::Unix { local, remote } => {
                let socket = UnixDatagram::bind(local).map_err(EtherError::of(&name, "bind"))?;
                socket.set_nonblocking(true).map_err(EtherError::of(&name, "bind"))?;
                Socket::Unix { socket, local: local.clone(), remote: remote.clone() }
            }
        };
        Ok(Self { name, socket })
    }
}

impl EtherLink for Dgram {
    fn name(&self) -> &str {
        &self.name
    }

    fn recv(&mut self, into: &mut [u8]) -> Result<Option<usize>, EtherError> {
        let read = match &self.socket {
            Socket::Inet(socket) => socket.recv(into),
            Socket::Unix { socket, .. } => socket.recv(into),
        };
        received(read).map_err(EtherError::of(&self.name, "recv"))
    }

    fn send(&mut self, frame: &[u8]) -> Result<bool, EtherError> {
        let sent = match &self.socket {
            Socket::Inet(socket) => socket.send(frame),
            Socket::Unix { socket, remote, .. } => socket.send_to(frame, remote),
        };
        match sent {
            Ok(_) => Ok(true),
            // A frame longer than the socket takes is lost like one on a full link.
            Err(error) if is_passing(&error) || is_lost(&error) => Ok(false),
            Err(source) => Err(EtherError::of(&self.name, "send")(source)),
        }
    }

    fn dropped(&mut self) -> Result<Option<u64>, EtherError> {
        Ok(None)
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
        if let Socket::Unix { local, .. } = &self.socket {
            // Someone else may have removed it.
            drop(std::fs::remove_file(local));
        }
    }
}

fn is_lost(error: &io::Error) -> bool {
    let code = error.raw_os_error().unwrap_or(0);
    [libc::ENOENT, libc::ENOBUFS, libc::ENOMEM, libc::EMSGSIZE].contains(&code)
}

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

    /// Sends frames both ways; what goes to no one is lost, and no error.
    fn exchange(near: &DgramAddress, far: &DgramAddress) {
        let mut near = Dgram::open(near).expect("it is free");
        assert_eq!(near.recv(&mut [0; 8]).expect("it is open"), None);
        near.send(b"to no one").expect("it is open");
        let mut far = Dgram::open(far).expect("it is free");
        // An answer of the network to the first frame may end the next call.
        let mut into = [0; 8];
        while !near.send(b"frame").expect("it is open") {}
        while far.recv(&mut into).expect("it is open") != Some(5) {}
        assert_eq!(&into[..5], b"frame");
        assert!(far.send(b"longer than eight").expect("it is open"));
        while near.recv(&mut into).expect("it is open").is_none() {}
        assert_eq!(&into, b"longer t", "it is cut");
        assert_eq!(near.dropped().expect("it is open"), None);
    }

    #[test]
    fn datagrams_of_both_kinds_are_frames() {
        let free = || UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
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
