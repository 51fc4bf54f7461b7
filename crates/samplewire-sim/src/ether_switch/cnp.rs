//! Congestion notifications (CNP) that a switch sends itself, in the name of a RoCE receiver.
//!
//! A notification names the sender's queue pair, which its own packets do not carry. It is learned
//! from acknowledgements that come the other way: one belongs to the flow, among those between the
//! same two addresses, whose last packets have its PSN. If several have, nothing is learned from it.
//!
//! What it holds is bounded: [`FLOWS_MAX`] flows, of which [`WAYS`] between the same two addresses.
//! A flow that is forgotten is notified again after its next packet and acknowledgement.

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
    uses: u64,
}

/// Requests of one queue pair to another.
#[derive(Clone, Debug)]
struct Flow {
    /// Addresses, ports and stations of its packets.
    route: Route,
    receiver: Qpn,
    sender: Option<Qpn>,
    /// The last PSN in serial order.
    psn: Psn,
    /// The port that it comes in by.
    port: usize,
    point: NotificationPoint,
    /// Paid at the rate above which it is notified.
    meter: Option<Pacer>,
    /// Whether the receiver has sent a notification.
    has_notifier: bool,
    /// The number of the last use.
    used: u64,
}

impl Notifier {
    pub(super) fn new(config: CnpConfig) -> Self {
        Self { config, flows: vec![None; FLOWS_MAX].into(), uses: 0 }
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
                let flow = self.request(port, &packet, &route);
                if let Some(meter) = &mut flow.meter {
                    if meter.ready_at(now) > now {
                        // As with a policer, what is above the rate does not use it up.
                        flow.point.handle_mark();
                    } else {
                        meter.spend(now, wire_bytes);
                    }
                }
                flow.notice(now)
            }
            Body::Acknowledge(_) => {
                self.acknowledge(&packet, &route);
                None
            }
            Body::Cnp => {
                let sender = Some(packet.bth.destination);
                for flow in self.answered(&route).filter(|flow| flow.sender == sender) {
                    flow.has_notifier = true;
                }
                None
            }
        }
    }

    /// A frame leaves with a mark of this switch: the notification that is due.
    pub(super) fn handle_mark(&mut self, now: Nanos, frame: &Frame<'_>) -> Option<Notice> {
        let (packet, route) = (frame.packet(), frame.route());
        let is_request = matches!(packet.body, Body::Request { .. } | Body::Unsupported);
        if !self.config.proxies || !is_request {
            return None;
        }
        let mut flows = self.set(route.source_ip, route.destination_ip).iter_mut().flatten();
        let flow = flows.find(|flow| flow.is_of(&route, packet.bth.destination))?;
        if flow.has_notifier {
            return None;
        }
        flow.point.handle_mark();
        flow.notice(now)
    }

    /// The flow of a request, which replaces the one that was used the longest time ago if it is
    /// not known.
    fn request(&mut self, port: usize, packet: &Packet<'_>, route: &Route) -> &mut Flow {
        self.uses += 1;
        let (used, config, receiver) = (self.uses, self.config, packet.bth.destination);
        let set = self.set(route.source_ip, route.destination_ip);
        let is_it = |flow: &Option<Flow>| flow.as_ref().is_some_and(|it| it.is_of(route, receiver));
        let at = set.iter().position(is_it).unwrap_or_else(|| {
            let used = |at: &usize| set[*at].as_ref().map_or(0, |flow| flow.used);
            let oldest = (0..WAYS).min_by_key(used).expect("a set has places");
            set[oldest] = None;
            oldest
        });
        let flow = set[at].get_or_insert_with(|| Flow {
            route: *route,
            receiver,
            sender: None,
            psn: packet.bth.psn,
            port,
            point: NotificationPoint::new(config.interval),
            meter: config.above_bps.map(|bps| Pacer::new(bps, burst(bps))),
            has_notifier: false,
            used,
        });
        let step = packet.bth.psn.distance(flow.psn);
        let is_another = step.unsigned_abs() >= WINDOW;
        if is_another {
            // Another connection of the same receiver, maybe with another sender.
            (flow.sender, flow.has_notifier) = (None, false);
        }
        if step > 0 || is_another {
            flow.psn = packet.bth.psn;
        }
        (flow.route, flow.port, flow.used) = (*route, port, used);
        flow
    }

    /// Learns the sender's queue pair from an acknowledgement that one flow alone can have.
    fn acknowledge(&mut self, packet: &Packet<'_>, route: &Route) {
        let psn = packet.bth.psn;
        let in_window = |flow: &&mut Flow| (0..WINDOW as i32).contains(&flow.psn.distance(psn));
        let mut flows = self.answered(route).filter(in_window);
        if let (Some(flow), None) = (flows.next(), flows.next()) {
            flow.sender = Some(packet.bth.destination);
        }
    }

    /// The flows whose receiver sends by `route`.
    fn answered(&mut self, route: &Route) -> impl Iterator<Item = &mut Flow> {
        let (source_ip, destination_ip) = (route.destination_ip, route.source_ip);
        self.set(source_ip, destination_ip).iter_mut().flatten().filter(move |flow| {
            flow.route.source_ip == source_ip && flow.route.destination_ip == destination_ip
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
            && self.route.source_ip == route.source_ip
            && self.route.destination_ip == route.destination_ip
    }

    /// The notification that leaves at `now`. What comes due later leaves with a later packet of the
    /// flow: one that is silent needs none.
    fn notice(&mut self, now: Nanos) -> Option<Notice> {
        if !self.point.poll(now) {
            return None;
        }
        let port = self.port;
        let Some(sender) = self.sender else { return Some(Notice::Refused { port }) };
        let route = Route {
            source_mac: self.route.destination_mac,
            destination_mac: self.route.source_mac,
            source_ip: self.route.destination_ip,
            destination_ip: self.route.source_ip,
            source_port: self.route.source_port,
            identification: 0,
            tos: 0,
            ttl: TTL,
        };
        let mut frame = [0; CNP_FRAME_BYTES];
        let len = Packet::cnp(sender).emit(&route.for_cnp(), &mut frame);
        assert_eq!(len, CNP_FRAME_BYTES, "every notification has the same length");
        Some(Notice::Forged { port, frame })
    }
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

/// Ethernet, IPv4, UDP, the base transport header, 16 bytes and the ICRC.
const CNP_FRAME_BYTES: usize = 14 + 20 + 8 + 12 + 16 + 4;

const TTL: u8 = 64;
