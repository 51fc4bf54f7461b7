//! A UDP port of a station that has no kernel behind it: ARP, echo and IPv4/UDP without fragments.

use std::net::{SocketAddr, SocketAddrV4};

use etherparse::{EtherType, Ethernet2Slice, IpNumber, Ipv4HeaderSlice};
use samplewire_proto::Nanos;
use samplewire_proto::checksum::InternetSum;
use samplewire_proto::session::Bucket;

use super::arp::NoMessage;
use super::neighbours::Neighbours;
use super::{Arp, FRAME_BYTES_MAX, Network, echo};
use crate::counters::FrameCounts;
use crate::datagram::{Datagram, Headers};
use crate::link::Outgoing;

/// One IPv4 address and one UDP port on a link whose frames pass no kernel, as those of DPDK.
///
/// It performs no I/O: [`UdpStation::handle`] takes a frame that has come,
/// [`UdpStation::write`] makes one that is to leave. After each call [`UdpStation::poll_frame`] has the
/// frame that the station sends of its own: an ARP request, or an answer. It is alone with its address. It
/// answers ARP requests and echo requests, up to 64 at once and 1,000 a second of each kind, and believes
/// only the ARP reply to an open request of its own. Frames that it does not deliver are counted.
///
/// ```
/// use samplewire_io::ether::{Arp, CardChecks, Network, UdpStation, Way};
/// use samplewire_io::{Ecn, Outgoing};
/// use samplewire_proto::Nanos;
///
/// let network = |text: &str| text.parse::<Network>();
/// let (near_mac, far_mac) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
/// let mut near = UdpStation::new(network("10.0.0.1/24")?, 5_000, near_mac);
/// let mut far = UdpStation::new(network("10.0.0.2/24")?, 5_001, far_mac);
/// let (now, checks) = (Nanos(0), CardChecks::default());
///
/// let packet = Outgoing::whole(far.local_addr().into(), Ecn::Ect0, b"samples");
/// assert_eq!(near.way(now, packet.peer), Way::Unknown);
/// let request = near.poll_frame().expect("it looks for the other").to_vec();
/// assert_eq!(far.handle(now, &request, checks), None);
/// let answer = far.poll_frame().expect("it answers").to_vec();
/// near.handle(now, &answer, checks);
///
/// let Way::To(ethernet) = near.way(now, packet.peer) else { panic!("it is known") };
/// let mut frame = vec![0; UdpStation::frame_bytes(&packet)];
/// near.write(ethernet, &packet, &mut frame);
/// let datagram = far.handle(now, &frame, checks).expect("it is for the port");
/// let start = datagram.payload_offset_bytes;
/// assert_eq!(&frame[start..start + datagram.payload_bytes], b"samples");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct UdpStation {
    network: Network,
    port: u16,
    mac: [u8; 6],
    neighbours: Neighbours,
    arp_answers: Bucket,
    /// Of its own, so that a flood of echo requests leaves the answers to ARP.
    echo_answers: Bucket,
    /// The frame that it sends of its own, if any.
    own: Box<[u8]>,
    own_bytes: usize,
    /// Whether the frame that was polled last is an answer.
    is_answer: bool,
    counts: FrameCounts,
}

/// The checksums of a frame, as the network card has checked them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CardChecks {
    /// Of the IP header.
    pub ip: Verdict,
    /// Of the UDP packet.
    pub udp: Verdict,
}

/// Whether a checksum is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// The card has not checked it: the station does.
    #[default]
    Unknown,
    /// It is.
    Right,
    /// It is not.
    Wrong,
}

/// How frames to a peer leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// With this Ethernet header.
    To([u8; 14]),
    /// The station on the way has not answered ARP yet: the packet is lost, and counted.
    Unknown,
    /// The peer is outside of the network and there is no gateway, or it has an IPv6 address.
    NoRoute,
}

impl UdpStation {
    /// The station with this address, alone on the link with it.
    pub fn new(network: Network, port: u16, mac: [u8; 6]) -> Self {
        Self {
            network,
            port,
            mac,
            neighbours: Neighbours::new((network.ip(), mac), network.routes()),
            arp_answers: Bucket::new(),
            echo_answers: Bucket::new(),
            own: vec![0; FRAME_BYTES_MAX].into(),
            own_bytes: 0,
            is_answer: false,
            counts: FrameCounts::default(),
        }
    }

    /// Its address.
    pub const fn local_addr(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.network.ip(), self.port)
    }

    /// Frames that it did not deliver, by reason.
    pub const fn counts(&self) -> FrameCounts {
        self.counts
    }

    /// The datagram of a frame, if it is for the port. Anything else is answered, or dropped and counted.
    #[inline]
    pub fn handle(&mut self, now: Nanos, frame: &[u8], checks: CardChecks) -> Option<Datagram> {
        match self.read(now, frame, checks) {
            Ok(datagram) => Some(datagram),
            Err(reason) => {
                self.count(reason);
                None
            }
        }
    }

    /// The frame that the station sends of its own after the last call, once.
    pub fn poll_frame(&mut self) -> Option<&[u8]> {
        let len_bytes = std::mem::take(&mut self.own_bytes);
        (len_bytes > 0).then(|| &self.own[..len_bytes])
    }

    /// The frame of the last [`UdpStation::poll_frame`] did not leave: an answer counts as not given.
    pub fn frame_lost(&mut self) {
        if std::mem::take(&mut self.is_answer) {
            self.counts.answered -= 1;
            self.counts.unanswered += 1;
        }
    }

    /// How frames to a peer leave. A packet whose way is unknown is taken as lost.
    pub fn way(&mut self, now: Nanos, peer: SocketAddr) -> Way {
        let SocketAddr::V4(peer) = peer else { return Way::NoRoute };
        if !self.network.reaches(*peer.ip()) {
            return Way::NoRoute;
        }
        let found = self.neighbours.find(now, *peer.ip());
        if let Some(request) = found.request {
            self.send_arp(&request);
        }
        let Some(mac) = found.mac else {
            self.counts.unresolved += 1;
            return Way::Unknown;
        };
        let mut ethernet = [0; 14];
        ethernet[..6].copy_from_slice(&mac);
        ethernet[6..12].copy_from_slice(&self.mac);
        ethernet[12..].copy_from_slice(&EtherType::IPV4.0.to_be_bytes());
        Way::To(ethernet)
    }

    /// The length of a packet's frame, without FCS.
    pub const fn frame_bytes(packet: &Outgoing<'_>) -> usize {
        let len_bytes = HEADERS_BYTES + packet.len_bytes();
        if len_bytes < Arp::FRAME_BYTES { Arp::FRAME_BYTES } else { len_bytes }
    }

    /// Writes the frame of a packet, whose way begins with this header.
    ///
    /// # Panics
    /// When `frame` is not as long as [`UdpStation::frame_bytes`].
    #[inline]
    pub fn write(&self, ethernet: [u8; 14], packet: &Outgoing<'_>, frame: &mut [u8]) {
        assert_eq!(frame.len(), Self::frame_bytes(packet), "the frame has room for its packet");
        let (head, rest) = frame.split_at_mut(HEADERS_BYTES);
        let len_bytes = packet.gather(rest);
        let (payload, padding) = rest.split_at_mut(len_bytes);
        padding.fill(0);
        let local = self.local_addr().into();
        let headers = Headers::new(local, packet.peer, packet.ecn, &[payload]);
        head[..ETHERNET_BYTES].copy_from_slice(&ethernet);
        head[ETHERNET_BYTES..].copy_from_slice(headers.as_bytes());
    }

    fn read(&mut self, now: Nanos, frame: &[u8], checks: CardChecks) -> Result<Datagram, Reason> {
        let ethernet =
            Ethernet2Slice::from_slice_without_fcs(frame).map_err(|_| Reason::Malformed)?;
        if ethernet.ether_type() == EtherType::ARP {
            let arp = Arp::read(frame).map_err(Reason::from)?;
            let destination = ethernet.destination();
            return Err(self.handle_arp(now, &arp, destination));
        }
        if ethernet.destination() != self.mac || ethernet.ether_type() != EtherType::IPV4 {
            return Err(Reason::Other);
        }
        let rest = ethernet.payload_slice();
        let ip = Ipv4HeaderSlice::from_slice(rest).map_err(|_| Reason::Malformed)?;
        if ip.destination_addr() != self.network.ip() {
            return Err(Reason::Other);
        }
        if !is_right(checks.ip, || sum_of(&[ip.slice()]).complement() == 0) {
            return Err(Reason::Checksum);
        }
        if ip.is_fragmenting_payload() {
            return Err(Reason::Fragment);
        }
        let end_bytes = usize::from(ip.total_len());
        let message = rest.get(ip.slice().len()..end_bytes).ok_or(Reason::Malformed)?;
        if ip.protocol() == IpNumber::ICMP {
            return Err(self.handle_icmp(now, frame, &ip, message));
        }
        if ip.protocol() != IpNumber::UDP {
            return Err(Reason::OtherPort);
        }
        let datagram = Datagram::parse(frame, frame.len()).ok_or(Reason::Malformed)?;
        if datagram.destination.port() != self.port {
            return Err(Reason::OtherPort);
        }
        if !self.network.may_send(ip.source_addr()) {
            return Err(Reason::Source);
        }
        if !is_right(checks.udp, || is_udp_right(&ip, message)) {
            return Err(Reason::Checksum);
        }
        Ok(datagram)
    }

    fn handle_arp(&mut self, now: Nanos, arp: &Arp, destination: [u8; 6]) -> Reason {
        self.neighbours.learn(arp, destination);
        let Some(answer) = arp.answer((self.network.ip(), self.mac)) else { return Reason::Done };
        if !self.arp_answers.take(now) {
            return Reason::Unanswered;
        }
        self.send_arp(&answer);
        self.is_answer = true;
        Reason::Answered
    }

    fn handle_icmp(
        &mut self,
        now: Nanos,
        frame: &[u8],
        ip: &Ipv4HeaderSlice<'_>,
        message: &[u8],
    ) -> Reason {
        let Some(len_bytes) = echo::answer(frame, ip, message, &mut self.own) else {
            let is_right = sum_of(&[message]).complement() == 0;
            return if is_right { Reason::OtherPort } else { Reason::Checksum };
        };
        if !self.echo_answers.take(now) {
            return Reason::Unanswered;
        }
        self.own_bytes = len_bytes;
        self.is_answer = true;
        Reason::Answered
    }

    fn send_arp(&mut self, arp: &Arp) {
        self.own[..Arp::FRAME_BYTES].copy_from_slice(&arp.frame());
        self.own_bytes = Arp::FRAME_BYTES;
        self.is_answer = false;
    }

    #[cold]
    fn count(&mut self, reason: Reason) {
        let counts = &mut self.counts;
        let place = match reason {
            Reason::Done => return,
            Reason::Other => &mut counts.others,
            Reason::OtherPort => &mut counts.other_ports,
            Reason::Fragment => &mut counts.fragments,
            Reason::Checksum => &mut counts.checksums,
            Reason::Malformed => &mut counts.malformed,
            Reason::Source => &mut counts.sources,
            Reason::Answered => &mut counts.answered,
            Reason::Unanswered => &mut counts.unanswered,
        };
        *place += 1;
    }
}

/// Why a frame is not delivered.
#[derive(Clone, Copy, Debug)]
enum Reason {
    /// It was for the station, and is dealt with.
    Done,
    Other,
    OtherPort,
    Fragment,
    Checksum,
    Malformed,
    Source,
    Answered,
    Unanswered,
}

impl From<NoMessage> for Reason {
    fn from(no_message: NoMessage) -> Self {
        match no_message {
            NoMessage::Malformed => Self::Malformed,
            NoMessage::Group => Self::Source,
            NoMessage::Other => Self::Other,
        }
    }
}

fn is_right(verdict: Verdict, check: impl FnOnce() -> bool) -> bool {
    match verdict {
        Verdict::Right => true,
        Verdict::Wrong => false,
        Verdict::Unknown => check(),
    }
}

fn sum_of(parts: &[&[u8]]) -> InternetSum {
    let mut sum = InternetSum::default();
    parts.iter().for_each(|part| sum.add(part));
    sum
}

/// Whether the checksum of a UDP packet is right, absent, or that of the pseudo header alone: such a packet
/// comes from a sender on this host, whose interface leaves the rest to a network card, and has none.
fn is_udp_right(ip: &Ipv4HeaderSlice<'_>, message: &[u8]) -> bool {
    let Some(head) = message.first_chunk::<UDP_BYTES>() else { return false };
    let udp_bytes = u16::from_be_bytes([head[4], head[5]]);
    let Some(packet) = message.get(..usize::from(udp_bytes)) else { return false };
    let (checksum, length) = (u16::from_be_bytes([head[6], head[7]]), udp_bytes.to_be_bytes());
    let pseudo = [&ip.source()[..], &ip.destination(), &[0, IpNumber::UDP.0], &length];
    let sum = sum_of(&pseudo);
    if checksum == 0 || checksum == !sum.complement() {
        return true;
    }
    let mut sum = sum;
    sum.add(packet);
    sum.complement() == 0
}

const ETHERNET_BYTES: usize = 14;
const UDP_BYTES: usize = 8;
/// Ethernet, IPv4 and UDP.
const HEADERS_BYTES: usize = 42;

#[cfg(test)]
mod tests;
