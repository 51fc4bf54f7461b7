//! Peers that connect to a listener: the first one whose connection line is there is served, so
//! that a silent one holds up no other.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Instant;

use super::exchange::{Exchange, Heard, LineError, PATIENCE};

/// A peer, and its connection line or why there is none.
pub(super) struct Arrival {
    pub(super) exchange: Exchange,
    /// Its address, or the file that has its line.
    pub(super) from: String,
    pub(super) line: Result<String, LineError>,
}

/// The peers that have connected, the oldest first. At most [`PEERS_MAX`]: one more closes the
/// oldest.
pub(super) struct Arrivals {
    socket: TcpListener,
    peers: Vec<Peer>,
}

struct Peer {
    exchange: Exchange,
    from: String,
    until: Instant,
}

impl Arrivals {
    pub(super) fn new(socket: TcpListener) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket, peers: Vec::new() })
    }

    /// Where peers connect.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The next peer whose line is there, or that sends none.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Arrival> {
        for _ in 0..PEERS_MAX {
            // An error is of a peer that left, or of its network (accept(2)); a shortage of the
            // system may pass.
            let Ok((stream, from)) = self.socket.accept() else { break };
            if self.peers.len() == PEERS_MAX {
                self.peers.remove(0);
            }
            let from = from.to_string();
            let peer = |exchange| Peer { exchange, from, until: now + PATIENCE };
            self.peers.extend(Exchange::new(stream).map(peer));
        }
        let found = self.peers.iter_mut().enumerate().find_map(|(at, peer)| {
            let line = match peer.exchange.hear() {
                Ok(Heard::Line(line)) => Ok(line),
                Ok(Heard::Closed) => Err(LineError::Closed),
                Ok(Heard::Nothing) if now > peer.until => Err(LineError::Late),
                Ok(Heard::Nothing) => return None,
                Err(error) => Err(error),
            };
            Some((at, line))
        });
        let (at, line) = found?;
        let Peer { exchange, from, .. } = self.peers.remove(at);
        Some(Arrival { exchange, from, line })
    }
}

const PEERS_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpStream;
    use std::time::Duration;

    use super::*;

    fn arrivals() -> (Arrivals, impl Fn() -> TcpStream) {
        let socket = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let arrivals = Arrivals::new(socket).expect("it is open");
        let address = arrivals.address().expect("it is bound");
        (arrivals, move || TcpStream::connect(address).expect("it listens"))
    }

    /// The next arrival; what a peer has sent may take a moment.
    fn next(arrivals: &mut Arrivals) -> Arrival {
        loop {
            if let Some(arrival) = arrivals.poll(Instant::now()) {
                return arrival;
            }
        }
    }

    #[test]
    fn peer_with_a_line_passes_silent_ones_and_each_of_them_has_its_time() {
        let (mut arrivals, connect) = arrivals();
        let mut silent = connect();
        silent.write_all(b"half a line").expect("there is room");
        let mut prompt = connect();
        prompt.write_all(b"whole\n").expect("there is room");
        let arrival = next(&mut arrivals);
        assert_eq!(arrival.line.expect("it is there"), "whole");
        assert_eq!(arrival.from, prompt.local_addr().expect("it is bound").to_string());
        assert!(arrivals.poll(Instant::now()).is_none());
        let later = Instant::now() + PATIENCE + Duration::from_millis(1);
        let arrival = arrivals.poll(later).expect("its time is over");
        assert!(matches!(arrival.line, Err(LineError::Late)));
        assert_eq!(arrival.from, silent.local_addr().expect("it is bound").to_string());
        drop(connect());
        assert!(matches!(next(&mut arrivals).line, Err(LineError::Closed)));
    }

    #[test]
    fn one_peer_too_many_closes_the_oldest() {
        let (mut arrivals, connect) = arrivals();
        let mut streams: Vec<_> = (0..=PEERS_MAX).map(|_| connect()).collect();
        // In several calls: one takes a limited number.
        while arrivals.peers.len() < PEERS_MAX {
            assert!(arrivals.poll(Instant::now()).is_none());
        }
        assert!(arrivals.poll(Instant::now()).is_none());
        assert_eq!(arrivals.peers.len(), PEERS_MAX);
        let second = streams[1].local_addr().expect("it is bound").to_string();
        assert_eq!(arrivals.peers[0].from, second);
        streams[PEERS_MAX].write_all(b"whole\n").expect("there is room");
        assert!(next(&mut arrivals).line.is_ok());
    }
}
