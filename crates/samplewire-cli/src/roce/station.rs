//! A station: a queue pair on a link, with the memory that its messages are in.

use std::io;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use samplewire_io::Clock;
use samplewire_io::ether::{Arp, Dgram, EtherError, EtherLink, FRAME_BYTES_MAX, PacketSocket, Tap};
use samplewire_proto::rate::DcqcnParams;
use samplewire_proto::{Nanos, Rng};
use samplewire_roce::qp::{Event, Peer, QueuePair, ReactionConfig};
use samplewire_roce::requester::{PayloadAt, SendSlot};
use samplewire_roce::responder::{Placement, ReceiveSlot};
use samplewire_roce::wire::{
    Body, FRAME_BYTES_MAX as FRAME_MAX, Frame, Route, UDP_PORT, WireError,
};
use samplewire_roce::{PathMtu, Qpn, Region};

use super::exchange::{Line, LineError, QPN_MAX, QPN_MIN};
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

/// A queue pair on a link.
pub(super) struct Station {
    link: Box<dyn EtherLink>,
    me: (Ipv4Addr, [u8; 6]),
    next_hop: Option<Ipv4Addr>,
    pub(super) qp: Qp,
    clock: Clock,
    incoming: Box<[u8]>,
    outgoing: Box<[u8]>,
    /// A frame in `outgoing` that the link had no room for: its length, and until when it is tried
    /// again. Then it counts as lost.
    waiting: Option<(usize, Nanos)>,
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
        let mut mac = [0x02, 0x57, a, b, c, d];
        let link: Box<dyn EtherLink> = if let Some(name) = &options.interface {
            let link = PacketSocket::open(name, options.ip, UDP_PORT)?;
            mac = link.mac();
            Box::new(link)
        } else if let Some(name) = &options.tap {
            Box::new(Tap::open(name)?)
        } else {
            let address = options.dgram.as_ref().expect("clap requires one link");
            Box::new(Dgram::open(address)?)
        };
        Ok(Self::on(link, mac, options, sends, receives, regions))
    }

    /// A station with the address `mac` on an open link.
    pub(super) fn on(
        link: Box<dyn EtherLink>,
        mac: [u8; 6],
        options: &StationOptions,
        sends: usize,
        receives: usize,
        regions: Vec<Region>,
    ) -> Self {
        let (sends, receives) =
            (vec![SendSlot::default(); sends], vec![ReceiveSlot::default(); receives]);
        Self {
            link,
            me: (options.ip, mac),
            next_hop: options.next_hop,
            qp: QueuePair::new(Qpn::new(0), sends, receives, regions),
            clock: Clock::start(options.slow.factor),
            incoming: vec![0; FRAME_BYTES_MAX + 1].into(),
            outgoing: vec![0; FRAME_BYTES_MAX].into(),
            waiting: None,
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
        (self.waiting, self.invalid) = (None, 0);
    }

    /// Ends the connection: frames of it that still come are dropped.
    pub(super) fn end(&mut self) {
        self.qp.reset(Qpn::new(0));
    }

    /// Finds the way to a peer: its station, or the next hop's.
    pub(super) fn find(
        &mut self,
        line: &Line,
        mtu: PathMtu,
        interrupt: &Interrupt,
    ) -> Result<Peer, FindError> {
        let needed = mtu.bytes() as usize + HEADERS_BYTES;
        if let Some(has) = self.link.mtu_bytes().filter(|has| *has < needed) {
            return Err(FindError::Mtu { link: self.link.name().to_owned(), has, needed });
        }
        if line.address == self.me.0 {
            return Err(FindError::Twice(line.address));
        }
        let hop = self.next_hop.unwrap_or(line.address);
        for _ in 0..ARP_ATTEMPTS {
            self.link.send(&Arp::request(self.me, hop).frame())?;
            let until = Instant::now() + ARP_PATIENCE;
            while Instant::now() < until {
                if interrupt.signal().is_some() {
                    return Err(FindError::Interrupted);
                }
                if let Some((_, mac)) = self.take_arp()?.filter(|sender| sender.0 == hop) {
                    return Ok(Peer { number: line.qpn(), route: self.route(line.address, mac) });
                }
                self.wait_for_link(IDLE)?;
            }
        }
        Err(FindError::NoStation { address: hop, link: self.link.name().to_owned() })
    }

    /// Lets congestion notifications limit the rate, on a line of so many bits a second.
    pub(super) fn react(&mut self, bps: u64, congested_acks_cut: bool) {
        let config = ReactionConfig { dcqcn: DcqcnParams::samplewire(bps), congested_acks_cut };
        self.qp.react(self.clock.now(), config).expect("clap checks the range of the line");
    }

    fn route(&self, peer: Ipv4Addr, destination_mac: [u8; 6]) -> Route {
        Route {
            source_mac: self.me.1,
            destination_mac,
            source_ip: self.me.0.octets(),
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
        self.take_arp()?;
        Ok(self.wait_for_link(IDLE)?)
    }

    /// Advice for the user, once.
    pub(super) fn advice(&mut self) -> Option<String> {
        self.link.advice()
    }

    /// Answers a request. Returns who sent it, or a reply.
    fn take_arp(&mut self) -> Result<Option<(Ipv4Addr, [u8; 6])>, EtherError> {
        for _ in 0..TURN_FRAMES_MAX {
            let Some(len) = self.link.recv(&mut self.incoming)? else { break };
            let Some(arp) = Arp::parse(&self.incoming[..len]) else { continue };
            let answer = arp.answer(self.me);
            if let Some(answer) = &answer {
                self.link.send(&answer.frame())?;
            }
            if answer.is_some() || !arp.is_request {
                return Ok(Some(arp.sender));
            }
        }
        Ok(None)
    }

    /// Takes what has come, sends what may leave; returns whether there may be more at once.
    pub(super) fn turn(&mut self, memory: &mut impl Memory) -> Result<bool, EtherError> {
        let now = self.clock.now();
        let mut frames = 0;
        while frames < TURN_FRAMES_MAX
            && let Some(len) = self.link.recv(&mut self.incoming)?
        {
            frames += 1;
            self.take(now, len, memory)?;
        }
        if self.qp.poll_timeout().is_some_and(|at| at <= now) {
            self.qp.handle_timeout(now);
        }
        Ok(self.send(now, memory)? || frames == TURN_FRAMES_MAX)
    }

    fn take(&mut self, now: Nanos, len: usize, memory: &mut impl Memory) -> Result<(), EtherError> {
        let bytes = &self.incoming[..len];
        if let Some(arp) = Arp::parse(bytes) {
            if let Some(answer) = arp.answer(self.me) {
                self.link.send(&answer.frame())?;
            }
            return Ok(());
        }
        // Other hosts' frames are none of ours: a TAP device has them too.
        if bytes.get(IPV4_DESTINATION).is_none_or(|ip| ip != self.me.0.octets()) {
            return Ok(());
        }
        let frame = match Frame::new_checked(bytes) {
            Ok(frame) => frame,
            Err(WireError::Protocol(_) | WireError::Port(_)) => return Ok(()),
            Err(_) => {
                self.invalid += 1;
                return Ok(());
            }
        };
        let placement = self.qp.handle(now, &frame);
        if let Body::Request { payload, .. } = frame.packet().body {
            memory.place(placement, payload);
        }
        Ok(())
    }

    /// Returns whether more may leave at once.
    fn send(&mut self, now: Nanos, memory: &impl Memory) -> Result<bool, EtherError> {
        for _ in 0..TURN_FRAMES_MAX {
            let (len, until) = match self.waiting.take() {
                Some(waiting) => waiting,
                None => {
                    let Some(transmit) = self.qp.poll_transmit(now) else { return Ok(false) };
                    let payload = transmit.payload().map_or(&[][..], |at| memory.payload(at));
                    let len = transmit.emit(self.qp.route(), payload, &mut self.outgoing);
                    (len, now + FULL_PATIENCE)
                }
            };
            if !self.link.send(&self.outgoing[..len])? && now < until {
                self.waiting = Some((len, until));
                return Ok(false);
            }
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
        let limit = if self.waiting.is_some() { limit.min(FULL_PAUSE) } else { limit };
        self.wait_for_link(limit)
    }

    fn wait_for_link(&self, limit: Duration) -> io::Result<()> {
        let span = Timespec::try_from(limit).expect("spans are short");
        match poll(&mut [PollFd::new(&self.link, PollFlags::IN)], Some(&span)) {
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
const FULL_PAUSE: Duration = Duration::from_micros(50);

/// A link that is full for longer is down, or no one reads at its other end.
const FULL_PATIENCE: Nanos = Nanos::from_millis(20);

/// What IPv4, UDP and RDMA add at most to the payload of a packet.
const HEADERS_BYTES: usize = FRAME_MAX - ETHERNET_BYTES - PathMtu::Bytes4096.bytes() as usize;
const ETHERNET_BYTES: usize = 14;

/// Between two looks at what comes and at signals, while there is nothing to do.
const IDLE: Duration = Duration::from_millis(5);

/// Where a frame has its IPv4 destination.
const IPV4_DESTINATION: std::ops::Range<usize> = 30..34;
