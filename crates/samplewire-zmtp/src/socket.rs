//! A socket: an address, and the peers that are connected to it.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use crate::connection::{Connection, Leave};
use crate::endpoint::{Endpoint, Way};
use crate::notice::{Notice, Notices};
use crate::wire::{Kind, Violation};

/// The configuration of a socket.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its kind.
    pub kind: Kind,
    /// Its address.
    pub endpoint: Endpoint,
    /// The size of a sample; messages are whole numbers of samples.
    pub item_bytes: usize,
    /// Bytes that may wait for each peer: at least the longest message to send.
    pub queue_bytes: usize,
    /// A byte of a sample that replaces a missing one.
    pub zero: u8,
}

/// A ZeroMQ socket without a thread.
#[derive(Debug)]
pub struct Socket {
    config: Config,
    address: SocketAddr,
    /// The listening socket, if this end listens.
    listener: Option<TcpListener>,
    /// If it does not: when to connect again.
    dial_at: Instant,
    connections: Vec<Connection>,
    /// The connection whose turn it is.
    next: usize,
    /// Zeros that replace the rest of a message whose peer is gone.
    zeros_left: u64,
    counts: Counts,
    notices: Notices,
    /// The reported violation of the last rejected peer: when the peer reconnects, it repeats the
    /// violation.
    reported: Option<Violation>,
}

/// The counts of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages with samples that were received or sent; for a PUB one for each subscriber.
    pub messages: u64,
    /// PUB: messages that a subscriber missed, because its queue was full.
    pub dropped_messages: u64,
    /// The bytes of these.
    pub dropped_bytes: u64,
    /// Bytes of messages whose peer disconnected within the message; received ones are replaced by
    /// zeros.
    pub torn_bytes: u64,
    /// Peers that completed the handshake.
    pub peers: u64,
    /// Peers that were rejected.
    pub refused: u64,
}

impl Counts {
    /// The sums of two sockets.
    pub const fn and(&self, other: &Self) -> Self {
        Self {
            messages: self.messages + other.messages,
            dropped_messages: self.dropped_messages + other.dropped_messages,
            dropped_bytes: self.dropped_bytes + other.dropped_bytes,
            torn_bytes: self.torn_bytes + other.torn_bytes,
            peers: self.peers + other.peers,
            refused: self.refused + other.refused,
        }
    }
}

/// The result of offering a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// The message is on its way, or no peer wants it.
    Taken,
    /// No peer can take it now.
    Busy,
}

impl Socket {
    /// Listens, or begins to connect.
    ///
    /// # Errors
    /// The name is unknown, or the address is not available.
    pub fn new(config: Config) -> io::Result<Self> {
        let address = config.endpoint.resolve()?;
        let default = if config.kind.is_inward() { Way::Connect } else { Way::Bind };
        let listener = match config.endpoint.way(default) {
            Way::Connect => None,
            Way::Bind => {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                Some(listener)
            }
        };
        let address = match &listener {
            Some(listener) => listener.local_addr()?,
            None => address,
        };
        Ok(Self {
            config,
            address,
            listener,
            dial_at: Instant::now(),
            connections: Vec::with_capacity(CONNECTIONS_MAX),
            next: 0,
            zeros_left: 0,
            counts: Counts::default(),
            notices: Notices::default(),
            reported: None,
        })
    }

    /// The address where this end listens, or that it connects to.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether this end listens.
    pub const fn is_listening(&self) -> bool {
        self.listener.is_some()
    }

    /// The address as the user wrote it.
    pub const fn name(&self) -> &Endpoint {
        &self.config.endpoint
    }

    /// Its kind.
    pub const fn kind(&self) -> Kind {
        self.config.kind
    }

    /// What it has counted since its start.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// The next event, oldest first.
    pub fn notice(&mut self) -> Option<Notice> {
        self.notices.pop()
    }

    /// Whether any bytes wait to be sent.
    pub fn is_sending(&self) -> bool {
        self.connections.iter().any(|it| it.is_ready() && it.queued_bytes() > 0)
    }

    /// Adds the events to wait for; `takes_samples` if the owner would call [`Socket::read`].
    pub fn wants<'a>(&'a self, takes_samples: bool, fds: &mut Vec<PollFd<'a>>) {
        if let Some(listener) = &self.listener
            && self.connections.len() < CONNECTIONS_MAX
        {
            fds.push(PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN));
        }
        for connection in &self.connections {
            // A REQ or a PULL within a message reads only that message.
            let interest = connection.interest(takes_samples && self.may_read(connection));
            if !interest.is_empty() {
                fds.push(PollFd::from_borrowed_fd(connection.fd(), interest));
            }
        }
    }

    fn may_read(&self, connection: &Connection) -> bool {
        connection.is_in_samples() || !self.connections.iter().any(Connection::is_in_samples)
    }

    /// Does all pending work except reading samples: accepts and connects peers, completes
    /// handshakes, sends.
    pub fn turn(&mut self, now: Instant) {
        self.accept();
        if self.listener.is_none() && self.connections.is_empty() && now >= self.dial_at {
            self.dial_at = now + DIAL_PAUSE;
            let Config { kind, queue_bytes, .. } = self.config;
            // Without a route, the next turn tries again.
            self.connections.extend(Connection::dial(kind, self.address, queue_bytes));
        }
        let mut at = 0;
        while let Some(connection) = self.connections.get_mut(at) {
            match connection.turn(now) {
                Ok(is_new) => {
                    if is_new {
                        self.counts.peers += 1;
                        self.notices.push(Notice::Joined(connection.peer));
                    }
                    at += 1;
                }
                Err(leave) => self.part(at, leave),
            }
        }
    }

    /// Disconnects all peers; the next turn accepts or connects peers again.
    pub fn leave(&mut self) {
        self.connections.clear();
        self.zeros_left = 0;
    }

    fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        while self.connections.len() < CONNECTIONS_MAX {
            // For example no free file descriptors: the existing connections continue.
            let Ok((stream, peer)) = listener.accept() else { return };
            let Config { kind, queue_bytes, .. } = self.config;
            self.connections.extend(Connection::over(kind, stream, peer, queue_bytes));
        }
    }

    /// Closes a connection, and reports it.
    fn part(&mut self, at: usize, leave: Leave) {
        let connection = self.connections.remove(at);
        let peer = connection.peer;
        let missing_bytes = connection.missing_bytes();
        self.zeros_left += missing_bytes;
        // Before the handshake is complete, the queue has no samples.
        let unsent_bytes = if connection.is_ready() { connection.queued_bytes() } else { 0 };
        let unsent_bytes = if self.config.kind.is_inward() { 0 } else { unsent_bytes };
        let lost_bytes = missing_bytes as usize + unsent_bytes;
        self.counts.torn_bytes += lost_bytes as u64;
        match leave {
            Leave::Sent(violation) => {
                self.counts.refused += 1;
                self.dial_at = Instant::now() + REFUSED_PAUSE;
                if self.reported.as_ref() != Some(&violation) {
                    self.reported = Some(violation.clone());
                    self.notices.push(Notice::Refused { peer, violation });
                }
            }
            Leave::Gone if connection.is_ready() => {
                self.notices.push(Notice::Left { peer, lost_bytes });
            }
            Leave::Gone => {}
        }
    }

    /// Offers a message: a PUB sends to all subscribers with room, a PUSH to one peer with room, a
    /// REP to the peer with a pending request.
    pub fn offer(&mut self, message: &[u8]) -> Offered {
        debug_assert!(message.len() <= self.config.queue_bytes, "a message fits into a queue");
        match self.config.kind {
            Kind::Pub => self.publish(message),
            Kind::Push => return self.offer_one(message, |_| true),
            Kind::Rep => return self.offer_one(message, |it| it.is_asking()),
            Kind::Sub | Kind::Pull | Kind::Req => unreachable!("samples come in through it"),
        }
        Offered::Taken
    }

    fn publish(&mut self, message: &[u8]) {
        let room = self.config.queue_bytes - message.len();
        let mut at = 0;
        while let Some(connection) = self.connections.get_mut(at) {
            if connection.is_ready() && connection.subscribes_to(message) {
                if connection.queued_bytes() > room {
                    self.counts.dropped_messages += 1;
                    self.counts.dropped_bytes += message.len() as u64;
                } else {
                    self.counts.messages += 1;
                    if let Err(leave) = connection.send(message) {
                        self.part(at, leave);
                        continue;
                    }
                }
            }
            at += 1;
        }
    }

    fn offer_one(&mut self, message: &[u8], wants: fn(&Connection) -> bool) -> Offered {
        let room = self.config.queue_bytes - message.len();
        let peers = self.connections.len();
        let mut order = (0..peers).map(|step| (self.next + step) % peers);
        let taker = order.find(|at| {
            let connection = &self.connections[*at];
            connection.is_ready() && wants(connection) && connection.queued_bytes() <= room
        });
        let Some(at) = taker else { return Offered::Busy };
        self.next = at + 1;
        self.counts.messages += 1;
        if let Err(leave) = self.connections[at].send(message) {
            self.part(at, leave);
        }
        Offered::Taken
    }

    /// Reads samples to the start of `out`, message by message; 0 if there are none. A REQ without
    /// samples sends a request.
    pub fn read(&mut self, out: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < out.len() {
            if self.zeros_left > 0 {
                let len = self.zeros_left.min((out.len() - filled) as u64) as usize;
                out[filled..filled + len].fill(self.config.zero);
                self.zeros_left -= len as u64;
                filled += len;
                continue;
            }
            if self.config.kind == Kind::Req {
                self.ask();
            }
            match self.read_one(&mut out[filled..]) {
                0 if self.zeros_left == 0 => break,
                len => filled += len,
            }
        }
        filled
    }

    /// Sends a request to the next peer, unless one is pending.
    fn ask(&mut self) {
        if self.connections.iter().any(|it| it.is_awaiting() || it.is_in_samples()) {
            return;
        }
        let peers = self.connections.len();
        let mut order = (0..peers).map(|step| (self.next + step) % peers);
        let Some(at) = order.find(|at| self.connections[*at].is_ready()) else { return };
        self.next = at + 1;
        if let Err(leave) = self.connections[at].ask() {
            self.part(at, leave);
        }
    }

    /// Reads samples of the current message, or of the next.
    fn read_one(&mut self, out: &mut [u8]) -> usize {
        let begun = self.connections.iter().position(Connection::is_in_samples);
        let peers = self.connections.len();
        let (first, count) = begun.map_or((self.next, peers), |at| (at, 1));
        for step in 0..count {
            let at = (first + step) % peers;
            let connection = &mut self.connections[at];
            let read = connection.read_samples(out, self.config.item_bytes);
            match read {
                Ok(0) => {}
                Ok(len) => {
                    if !connection.is_in_samples() {
                        self.counts.messages += 1;
                        self.reported = None;
                        self.next = at + 1;
                    }
                    return len;
                }
                Err(leave) => {
                    self.part(at, leave);
                    return 0;
                }
            }
        }
        0
    }
}

/// Maximum number of peers.
const CONNECTIONS_MAX: usize = 16;

/// Time until a failed connection is tried again: as libzmq does.
const DIAL_PAUSE: Duration = Duration::from_millis(100);

/// The same after a violation, which the peer will repeat.
const REFUSED_PAUSE: Duration = Duration::from_secs(2);
