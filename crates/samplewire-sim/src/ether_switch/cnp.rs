//! Congestion notifications (CNP) that a switch sends itself, in the name of a RoCE receiver.
//!
//! A notification names the sender's queue pair, which its own packets do not carry. It is learned
//! from acknowledgements that come the other way: one belongs to the flow, among those between the
//! same two addresses, whose last packets have its PSN. If several have, nothing is learned from it.
//!
//! Any station can send under another's address. So a request changes nothing that an
//! acknowledgement has confirmed: its PSN must be near the last acknowledged one, or it counts as
//! foreign. A foreign request belongs to the receiver's next connection once an acknowledgement of
//! it passes. A notification leaves by the port that its request came in by. A forged
//! acknowledgement may name a wrong queue pair until the next true one.
//!
//! What it holds is bounded: [`FLOWS_MAX`] flows, of which [`WAYS`] between the same two addresses.
//! A flow that is forgotten is notified again after its next packet and acknowledgement.

use std::mem;

use samplewire_proto::Nanos;
use samplewire_proto::rate::Pacer;
use samplewire_roce::qp::NotificationPoint;
use samplewire_roce::wire::{Body, Frame, Packet, Route};
use samplewire_roce::{Psn, Qpn};

/// Which notifications a switch sends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CnpConfig {
    /// To the sender of each RoCE request that the switch marks, unless the receiver sends its own.
    pub proxies: bool,
    /// To a flow while it comes in faster than so many bits a second, at least 1.
    pub above_bps: Option<u64>,
    /// The shortest time between two notifications of a flow: D of its reaction point.
    pub interval: Nanos,
}

/// What becomes of a notification that is due.
#[derive(Debug)]
pub(super) enum Notice {
    /// It leaves by the port of the flow's source.
    Forged { port: usize, frame: [u8; CNP_FRAME_BYTES] },
    /// The queue pair of the source is not known.
    Refused { port: usize },
}

/// The flows that may be notified.
#[derive(Debug)]
pub(super) struct Notifier {
    config: CnpConfig,
    flows: Box<[Option<Flow>]>,
}

/// Requests to one queue pair of a receiver.
#[derive(Clone, Debug)]
struct Flow {
    source_ip: [u8; 4],
    destination_ip: [u8; 4],
    receiver: Qpn,
    /// The last PSN of the connection in serial order.
    psn: Psn,
    sender: Option<Sender>,
    /// A PSN that is not near: of a stranger, or of the next connection of the receiver.
    foreign: Option<Psn>,
    point: NotificationPoint,
    /// Of what is not sent, so that strangers use up no notification of the sender.
    refusals: NotificationPoint,
    /// Paid at the rate above which it is notified.
    meter: Option<Pacer>,
    /// When the receiver sent the last notification of its own.
    notified_at: Option<Nanos>,
    used_at: Nanos,
}

/// What acknowledgements show of a sender.
#[derive(Clone, Copy, Debug)]
struct Sender {
    number: Qpn,
    acked: Psn,
}

/// What a request is to the notification point of its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    Light,
    /// Marked, or above the rate.
    Heavy,
}

impl Notifier {
    pub(super) fn new(config: CnpConfig) -> Self {
        Self { config, flows: vec![None; FLOWS_MAX].into() }
    }

    /// A valid frame has come in by `port`: the notification that is due.
    pub(super) fn handle_arrival(
        &mut self,
        now: Nanos,
        port: usize,
        frame: &Frame<'_>,
        wire_bytes: u32,
    ) -> Option<Notice> {
        let (packet, route) = (frame.packet(), frame.route());
        match packet.body {
            Body::Request { .. } | Body::Unsupported => {
                let (flow, is_own) = self.request(now, &packet, &route);
                let mut load = Load::Light;
                if let Some(meter) = flow.meter.as_mut().filter(|_| is_own) {
                    if meter.ready_at(now) > now {
                        // As with a policer, what is above the rate does not use it up.
                        load = Load::Heavy;
                    } else {
                        meter.spend(now, wire_bytes);
                    }
                }
                let sender = flow.sender.filter(|_| is_own);
                flow.notice(now, port, &route, sender, load)
            }
            Body::Acknowledge(_) => {
                self.acknowledge(&packet, &route);
                None
            }
            Body::Cnp => {
                let number = packet.bth.destination;
                for flow in self.answered(&route).filter(|flow| flow.is_from(number)) {
                    flow.notified_at = Some(now);
                }
                None
            }
        }
    }

    /// A frame that came in by `port` leaves with a mark of this switch: the notification that is
    /// due.
    pub(super) fn handle_mark(
        &mut self,
        now: Nanos,
        port: usize,
        frame: &Frame<'_>,
    ) -> Option<Notice> {
        let (packet, route) = (frame.packet(), frame.route());
        let is_request = matches!(packet.body, Body::Request { .. } | Body::Unsupported);
        if !self.config.proxies || !is_request {
            return None;
        }
        let mut flows = self.set(route.source_ip, route.destination_ip).iter_mut().flatten();
        let flow = flows.find(|flow| flow.is_of(&route, packet.bth.destination))?;
        let sender = flow.sender.filter(|sender| sender.is_near(packet.bth.psn));
        if sender.is_some() && flow.notified_at.is_some_and(|at| now.since(at) < FRESH) {
            return None;
        }
        flow.notice(now, port, &route, sender, Load::Heavy)
    }

    /// The flow of a request, and whether it is of the connection that the flow is known by. It
    /// replaces another one if it is not known.
    fn request(&mut self, now: Nanos, packet: &Packet<'_>, route: &Route) -> (&mut Flow, bool) {
        let (config, receiver) = (self.config, packet.bth.destination);
        let set = self.set(route.source_ip, route.destination_ip);
        let is_it = |flow: &Option<Flow>| flow.as_ref().is_some_and(|it| it.is_of(route, receiver));
        let at = set.iter().position(is_it).unwrap_or_else(|| {
            let rank = |at: &usize| set[*at].as_ref().map(|flow| flow.rank(now));
            let least = (0..WAYS).min_by_key(rank).expect("a set has places");
            set[least] = None;
            least
        });
        let flow = set[at].get_or_insert_with(|| Flow {
            source_ip: route.source_ip,
            destination_ip: route.destination_ip,
            receiver,
            psn: packet.bth.psn,
            sender: None,
            foreign: None,
            point: NotificationPoint::new(config.interval),
            refusals: NotificationPoint::new(config.interval),
            meter: config.above_bps.map(|bps| Pacer::new(bps, burst(bps))),
            notified_at: None,
            used_at: now,
        });
        flow.used_at = now;
        let is_own = flow.handle_request(packet.bth.psn);
        (flow, is_own)
    }

    /// Learns the sender's queue pair from an acknowledgement that one flow alone can have.
    fn acknowledge(&mut self, packet: &Packet<'_>, route: &Route) {
        let (psn, number) = (packet.bth.psn, packet.bth.destination);
        let known = self.answered(route).find(|flow| flow.is_from(number) && flow.has_sent(psn));
        if let Some(flow) = known {
            flow.handle_ack(number, psn);
            return;
        }
        let mut flows = self.answered(route).filter(|flow| flow.may_have_sent(psn));
        if let (Some(flow), None) = (flows.next(), flows.next()) {
            flow.handle_ack(number, psn);
        }
    }

    /// The flows whose receiver sends by `route`.
    fn answered(&mut self, route: &Route) -> impl Iterator<Item = &mut Flow> {
        let (source_ip, destination_ip) = (route.destination_ip, route.source_ip);
        self.set(source_ip, destination_ip).iter_mut().flatten().filter(move |flow| {
            flow.source_ip == source_ip && flow.destination_ip == destination_ip
        })
    }

    /// The places of flows between two addresses.
    fn set(&mut self, source_ip: [u8; 4], destination_ip: [u8; 4]) -> &mut [Option<Flow>] {
        let [source, destination] = [source_ip, destination_ip].map(u32::from_be_bytes);
        let wide = u64::from(source) << 32 | u64::from(destination);
        // Fibonacci hashing: the highest bits depend on all bits of both.
        let hash = wide.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let set = (hash >> (u64::BITS - SETS.trailing_zeros())) as usize;
        &mut self.flows[set * WAYS..][..WAYS]
    }
}

impl Flow {
    fn is_of(&self, route: &Route, receiver: Qpn) -> bool {
        self.receiver == receiver
            && self.source_ip == route.source_ip
            && self.destination_ip == route.destination_ip
    }

    fn is_from(&self, number: Qpn) -> bool {
        self.sender.is_some_and(|sender| sender.number == number)
    }

    /// The lowest gives up its place: first one that no acknowledgement has confirmed or that is
    /// idle.
    fn rank(&self, now: Nanos) -> (bool, Nanos) {
        (self.sender.is_some() && now.since(self.used_at) < FRESH, self.used_at)
    }

    /// Whether a request is of the connection that the flow is known by.
    fn handle_request(&mut self, psn: Psn) -> bool {
        let is_near = match &self.sender {
            Some(sender) => sender.is_near(psn),
            None => is_near(psn, self.psn),
        };
        match (is_near, &self.sender) {
            (true, _) => {
                if psn.distance(self.psn) > 0 {
                    self.psn = psn;
                }
            }
            (false, Some(_)) => self.foreign = Some(psn),
            // Which of the two is the stranger's is open.
            (false, None) => self.foreign = Some(mem::replace(&mut self.psn, psn)),
        }
        is_near || self.sender.is_none()
    }

    /// Whether an acknowledgement is about one of the last requests.
    fn has_sent(&self, psn: Psn) -> bool {
        is_among_last(psn, self.psn)
    }

    /// The same, with the last foreign one.
    fn may_have_sent(&self, psn: Psn) -> bool {
        self.has_sent(psn) || self.foreign.is_some_and(|foreign| is_among_last(psn, foreign))
    }

    /// Takes an acknowledgement that is about one of the last requests, or the last foreign one.
    fn handle_ack(&mut self, number: Qpn, psn: Psn) {
        if self.has_sent(psn) {
            let acked = match self.sender {
                Some(sender) if psn.distance(sender.acked) < 0 => sender.acked,
                _ => psn,
            };
            self.sender = Some(Sender { number, acked });
        } else if let Some(foreign) = self.foreign.take() {
            // Another connection of the receiver, maybe with another sender.
            self.psn = foreign;
            self.sender = Some(Sender { number, acked: psn });
            self.notified_at = None;
        }
    }

    /// The notification that leaves at `now`, after a request that came in by `port`; `sender` is
    /// `None` where it is not known. What comes due later leaves with a later packet of the flow:
    /// one that is silent needs none.
    fn notice(
        &mut self,
        now: Nanos,
        port: usize,
        route: &Route,
        sender: Option<Sender>,
        load: Load,
    ) -> Option<Notice> {
        let point = if sender.is_some() { &mut self.point } else { &mut self.refusals };
        if load == Load::Heavy {
            point.handle_mark();
        }
        if !point.poll(now) {
            return None;
        }
        let Some(sender) = sender else { return Some(Notice::Refused { port }) };
        let route = Route {
            source_mac: route.destination_mac,
            destination_mac: route.source_mac,
            source_ip: route.destination_ip,
            destination_ip: route.source_ip,
            source_port: route.source_port,
            identification: 0,
            tos: 0,
            ttl: TTL,
        };
        let mut frame = [0; CNP_FRAME_BYTES];
        let len = Packet::cnp(sender.number).emit(&route.for_cnp(), &mut frame);
        assert_eq!(len, CNP_FRAME_BYTES, "every notification has the same length");
        Some(Notice::Forged { port, frame })
    }
}

impl Sender {
    /// Whether a request is one of those that may be on their way.
    fn is_near(&self, psn: Psn) -> bool {
        is_near(psn, self.acked)
    }
}

fn is_near(psn: Psn, other: Psn) -> bool {
    psn.distance(other).unsigned_abs() < WINDOW
}

fn is_among_last(psn: Psn, last: Psn) -> bool {
    (0..WINDOW as i32).contains(&last.distance(psn))
}

/// What a flow may send at once without a notification: a burst of its pacer, and jitter.
fn burst(bps: u64) -> Nanos {
    let frames_bits = 2 * 8 * 4_200 * 1_000_000_000u64;
    Nanos(frames_bits.div_ceil(bps)).max(Nanos::from_micros(100))
}

/// Flows that a switch knows at most.
const FLOWS_MAX: usize = 1_024;

/// A power of two.
const SETS: usize = FLOWS_MAX / WAYS;

/// Flows between two addresses at most.
const WAYS: usize = 16;

/// An acknowledgement is about one of so many last packets. Windows are shorter; among so many of 2^24
/// numbers two connections seldom meet.
const WINDOW: u32 = 1 << 14;

/// A flow keeps its place for so long after its last request, and a receiver counts as one that
/// sends notifications for so long after its last one.
const FRESH: Nanos = Nanos::from_millis(1_000);

/// Ethernet, IPv4, UDP, the base transport header, 16 bytes and the ICRC.
const CNP_FRAME_BYTES: usize = 14 + 20 + 8 + 12 + 16 + 4;

const TTL: u8 = 64;
