//! A queue pair at a station, with the memory that its messages are in.

use std::io;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use samplewire_io::Clock;
use samplewire_io::ether::{Dgram, EtherError, EtherStation, Tap};
use samplewire_proto::rate::DcqcnParams;
use samplewire_proto::{Nanos, Rng};
use samplewire_roce::qp::{Event, Peer, QueuePair, ReactionConfig};
use samplewire_roce::requester::{PayloadAt, SendSlot};
use samplewire_roce::responder::{Placement, ReceiveSlot};
use samplewire_roce::wire::{Body, FRAME_BYTES_MAX, Frame, Route, UDP_PORT, WireError};
use samplewire_roce::{PathMtu, Qpn, Region};

use super::exchange::LineError;
use super::line::{Line, QPN_MAX, QPN_MIN};
use crate::arguments::StationOptions;
use crate::interrupt::Interrupt;

/// A queue pair whose places are on the heap.
pub(super) type Qp = QueuePair<Vec<SendSlot>, Vec<ReceiveSlot>, Vec<Region>>;

/// The bytes of messages.
pub(super) trait Memory {
    /// The bytes that a packet carries.
    fn payload(&self, at: PayloadAt) -> &[u8];

    /// Keeps the payload of a packet.
    fn place(&mut self, placement: Placement, payload: &[u8]);
}

/// A queue pair at a station.
pub(super) struct Station {
    ether: EtherStation,
    pub(super) qp: Qp,
    clock: Clock,
    /// Whether switches may mark its frames, rather than drop them.
    pub(super) is_ecn_capable: bool,
    /// Frames to UDP port 4791 that are not valid RoCEv2, since the connection began.
    pub(super) invalid: u64,
}

impl Station {
    /// Opens the link. `sends` and `receives` are how many requests may be posted.
    pub(super) fn open(
        options: &StationOptions,
        sends: usize,
        receives: usize,
        regions: Vec<Region>,
    ) -> Result<Self, EtherError> {
        let [a, b, c, d] = options.ip.octets();
        // Of local administration, and another one for each address.
        let mac = [0x02, 0x57, a, b, c, d];
        let ether = if let Some(name) = &options.interface {
            EtherStation::of_host(name, options.ip, UDP_PORT)?
        } else if let Some(name) = &options.tap {
            EtherStation::new(Box::new(Tap::open(name)?), options.ip, mac)
        } else {
            let address = options.dgram.as_ref().expect("clap requires one link");
            EtherStation::new(Box::new(Dgram::open(address)?), options.ip, mac)
        };
        let ether = match options.next_hop {
            Some(router) => ether.via(router),
            None => ether,
        };
        Ok(Self::on(ether, options, sends, receives, regions))
    }

    /// A queue pair at a station that is open.
    pub(super) fn on(
        ether: EtherStation,
        options: &StationOptions,
        sends: usize,
        receives: usize,
        regions: Vec<Region>,
    ) -> Self {
        let (sends, receives) =
            (vec![SendSlot::default(); sends], vec![ReceiveSlot::default(); receives]);
        Self {
            ether,
            qp: QueuePair::new(Qpn::new(0), sends, receives, regions),
            clock: Clock::start(options.slow.factor),
            is_ecn_capable: false,
            invalid: 0,
        }
    }

    /// Resets the queue pair under this number, else under one that no earlier frame had, and leaves
    /// it in INIT.
    pub(super) fn renew(&mut self, number: Option<u32>, rng: &mut Rng) {
        let random = rng.within(QPN_MIN.into()..=QPN_MAX.into()) as u32;
        self.qp.reset(Qpn::new(number.unwrap_or(random)));
        self.qp.init().expect("it was reset");
        self.ether.forget();
        self.invalid = 0;
    }

    /// Ends the connection: frames of it that still come are dropped.
    pub(super) fn end(&mut self) {
        self.qp.reset(Qpn::new(0));
    }

    /// Finds the way to a peer: its station, or the router's.
    pub(super) fn find(
        &mut self,
        line: &Line,
        mtu: PathMtu,
        interrupt: &Interrupt,
    ) -> Result<Peer, FindError> {
        let needed = mtu.bytes() as usize + HEADERS_BYTES;
        let link = self.ether.link();
        if let Some(has) = link.mtu_bytes().filter(|has| *has < needed) {
            return Err(FindError::Mtu { link: link.name().to_owned(), has, needed });
        }
        if line.address == self.ether.ip() {
            return Err(FindError::Twice(line.address));
        }
        for _ in 0..ARP_ATTEMPTS {
            self.ether.ask(self.clock.now(), line.address)?;
            let until = Instant::now() + ARP_PATIENCE;
            while Instant::now() < until {
                if interrupt.signal().is_some() {
                    return Err(FindError::Interrupted);
                }
                if let Some(mac) = self.ether.find(self.clock.now(), line.address)? {
                    return Ok(Peer { number: line.qpn(), route: self.route(line.address, mac) });
                }
                self.pass_over()?;
                self.wait_for_link(IDLE)?;
            }
        }
        let link = self.ether.link().name().to_owned();
        Err(FindError::NoStation { address: line.address, link })
    }

    /// Lets congestion notifications limit the rate, on a line of so many bits a second.
    pub(super) fn react(&mut self, bps: u64, congested_acks_cut: bool) {
        let config = ReactionConfig { dcqcn: DcqcnParams::samplewire(bps), congested_acks_cut };
        self.qp.react(self.clock.now(), config).expect("clap checks the range of the line");
    }

    fn route(&self, peer: Ipv4Addr, destination_mac: [u8; 6]) -> Route {
        Route {
            source_mac: self.ether.mac(),
            destination_mac,
            source_ip: self.ether.ip().octets(),
            destination_ip: peer.octets(),
            // The dynamic ports, where switches look for different flows (A17.9.4).
            source_port: 0xC000 | self.qp.number().get() as u16 & 0x3FFF,
            identification: 0,
            tos: if self.is_ecn_capable { ECT0 } else { 0 },
            ttl: 64,
        }
    }

    /// Answers who looks for this station, drops all else, and sleeps for a moment.
    pub(super) fn idle(&mut self) -> Result<(), LineError> {
        self.pass_over()?;
        Ok(self.wait_for_link(IDLE)?)
    }

    /// Drops the packets that have come.
    fn pass_over(&mut self) -> Result<(), EtherError> {
        for _ in 0..TURN_FRAMES_MAX {
            if self.ether.recv()?.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Advice for the user, once.
    pub(super) fn advice(&mut self) -> Option<String> {
        self.ether.advice()
    }

    /// Takes what has come, sends what may leave; returns whether there may be more at once.
    pub(super) fn turn(&mut self, memory: &mut impl Memory) -> Result<bool, EtherError> {
        let now = self.clock.now();
        let mut frames = 0;
        while frames < TURN_FRAMES_MAX
            && let Some(len) = self.ether.recv()?
        {
            frames += 1;
            self.take(now, len, memory);
        }
        if self.qp.poll_timeout().is_some_and(|at| at <= now) {
            self.qp.handle_timeout(now);
        }
        let has_more = self.send(now, memory)?;
        self.ether.flush(now)?;
        Ok(has_more || frames == TURN_FRAMES_MAX)
    }

    fn take(&mut self, now: Nanos, len: usize, memory: &mut impl Memory) {
        let frame = match Frame::new_checked(self.ether.frame(len)) {
            Ok(frame) => frame,
            Err(WireError::Protocol(_) | WireError::Port(_)) => return,
            Err(_) => {
                self.invalid += 1;
                return;
            }
        };
        let placement = self.qp.handle(now, &frame);
        if let Body::Request { payload, .. } = frame.packet().body {
            memory.place(placement, payload);
        }
    }

    /// Returns whether more may leave at once.
    fn send(&mut self, now: Nanos, memory: &impl Memory) -> Result<bool, EtherError> {
        for _ in 0..TURN_FRAMES_MAX {
            if !self.ether.has_room(now)? {
                return Ok(false);
            }
            let Some(transmit) = self.qp.poll_transmit(now) else { return Ok(false) };
            let payload = transmit.payload().map_or(&[][..], |at| memory.payload(at));
            let len = transmit.emit(self.qp.route(), payload, self.ether.out());
            self.ether.send(now, len)?;
        }
        Ok(true)
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        self.qp.poll_event()
    }

    /// Waits until a frame comes, a timer expires, or `limit` has passed. A link that is full is tried
    /// again soon: a device does not report when it has room.
    pub(super) fn wait(&mut self, limit: Duration) -> io::Result<()> {
        let due = self.qp.poll_timeout().map(|at| self.clock.span_until(at));
        let limit = due.map_or(limit, |span| span.min(limit));
        let limit = if self.ether.is_full() { limit.min(FULL_PAUSE) } else { limit };
        self.wait_for_link(limit)
    }

    fn wait_for_link(&self, limit: Duration) -> io::Result<()> {
        let span = Timespec::try_from(limit).expect("spans are short");
        match poll(&mut [PollFd::new(&self.ether, PollFlags::IN)], Some(&span)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Why the way to a peer was not found.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FindError {
    #[error(transparent)]
    Ether(#[from] EtherError),
    #[error("no station answers for {address} on {link}")]
    NoStation { address: Ipv4Addr, link: String },
    #[error("both ends have the address {0}")]
    Twice(Ipv4Addr),
    #[error("{link} takes packets of {has} bytes, and --mtu needs {needed}")]
    Mtu { link: String, has: usize, needed: usize },
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("interrupted")]
    Interrupted,
}

const ECT0: u8 = 0b10;

const ARP_ATTEMPTS: u32 = 5;
const ARP_PATIENCE: Duration = Duration::from_millis(500);

/// Frames between two looks at timers and at what may leave.
const TURN_FRAMES_MAX: usize = 64;

/// How soon a full link is tried again.
const FULL_PAUSE: Duration = Duration::from_nanos(EtherStation::FULL_PAUSE.0);

/// What IPv4, UDP and RDMA add at most to the payload of a packet.
const HEADERS_BYTES: usize = FRAME_BYTES_MAX - ETHERNET_BYTES - PathMtu::Bytes4096.bytes() as usize;
const ETHERNET_BYTES: usize = 14;

/// Between two looks at what comes and at signals, while there is nothing to do.
const IDLE: Duration = Duration::from_millis(5);
