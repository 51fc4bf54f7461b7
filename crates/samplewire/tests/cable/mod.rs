//! A cable for the frames of streams over RDMA: datagram sockets.

use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use samplewire::StationConfig;
use samplewire_io::ether::{Dgram, DgramAddress, EtherError, EtherLink, EtherStation};
use samplewire_roce::PathMtu;

/// Two stations at the ends of a cable; both have the address of their host.
pub(crate) fn cable(link: impl Fn(Dgram, usize) -> Box<dyn EtherLink>) -> [StationConfig; 2] {
    let sockets = [0; 2].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
    let ports = sockets.each_ref().map(|it| it.local_addr().unwrap());
    drop(sockets);
    [0, 1].map(|end: usize| {
        let text = format!("{},{}", ports[end], ports[1 - end]);
        let address: DgramAddress = text.parse().unwrap();
        let link = link(Dgram::open(&address).unwrap(), end);
        let mac = [2, 0, 0, 0, 0, end as u8 + 1];
        StationConfig {
            ether: EtherStation::new(link, Ipv4Addr::LOCALHOST, mac),
            path_mtu: PathMtu::Bytes1024,
            seed: [end as u8; 16],
        }
    })
}

/// A cable's end that does something else with what it sends.
pub(crate) struct Altered<F> {
    link: Dgram,
    send: F,
}

impl<F: FnMut(&mut Dgram, &[u8]) -> Result<bool, EtherError>> Altered<F> {
    /// Sends frames by `send`.
    pub(crate) const fn new(link: Dgram, send: F) -> Self {
        Self { link, send }
    }
}

impl<F> AsFd for Altered<F> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }
}

impl<F: FnMut(&mut Dgram, &[u8]) -> Result<bool, EtherError> + Send> EtherLink for Altered<F> {
    fn name(&self) -> &str {
        self.link.name()
    }

    fn recv(&mut self, into: &mut [u8]) -> Result<Option<usize>, EtherError> {
        self.link.recv(into)
    }

    fn send(&mut self, frame: &[u8]) -> Result<bool, EtherError> {
        (self.send)(&mut self.link, frame)
    }

    fn flush(&mut self) -> Result<bool, EtherError> {
        self.link.flush()
    }

    fn forget(&mut self) -> usize {
        self.link.forget()
    }

    fn dropped(&mut self) -> Result<Option<u64>, EtherError> {
        self.link.dropped()
    }
}
