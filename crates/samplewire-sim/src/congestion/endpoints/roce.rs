//! One end of a RoCE flow: a queue pair of `samplewire-roce`. The sender always has messages to write.

use samplewire_io::Ecn;
use samplewire_io::ether::Headers;
use samplewire_proto::rate::{DcqcnParams, WireRate};
use samplewire_proto::{Nanos, Rng};
use samplewire_roce::qp::{Peer, QueuePair, ReactionConfig, State};
use samplewire_roce::requester::{AckTimeout, RequesterConfig, SendSlot, Verb, WorkRequest};
use samplewire_roce::responder::{ReceiveSlot, ResponderConfig};
use samplewire_roce::wire::{Bth, FRAME_BYTES_MAX, Frame, Opcode, Route};
use samplewire_roce::{Access, PathMtu, Psn, Qpn, Region};

use super::super::CongestionError;
use super::super::Preset;
use super::super::scenario::{Control, Scenario};
use super::{End, Figures, Leaving};
use crate::ether_switch::wire_bytes;

pub(super) struct RoceEnd {
    qp: QueuePair<Vec<SendSlot>, [ReceiveSlot; 0], [Region; 1]>,
    /// When it posts its first message; a receiver never does.
    begin: Nanos,
    /// What limits the rate from the begin on.
    reaction: Option<ReactionConfig>,
    has_begun: bool,
    has_left: bool,
}

impl RoceEnd {
    /// Both ends of a flow, with the longest payload below the scenario's frames. At most `window`
    /// packets are on their way.
    pub(super) fn pair(
        scenario: &Scenario,
        flow: usize,
        window: u32,
        begin: Nanos,
        rng: &mut Rng,
    ) -> Result<[Self; 2], CongestionError> {
        let spec = &scenario.flows[flow];
        let line_bps = scenario.topology.host_bps(spec.from);
        let dcqcn = match spec.control {
            Control::None => None,
            Control::Fixed(rate) => Some(fixed(line_bps, rate)),
            Control::Dcqcn(params) => Some(params),
            Control::Reference(_) => return Err(CongestionError::EndpointReference),
        };
        dcqcn.map_or(Ok(()), |params| params.check())?;
        let congested_acks_cut = scenario.congested_acks_cut;
        let reaction = dcqcn.map(|dcqcn| ReactionConfig { dcqcn, congested_acks_cut });
        let is_below = |mtu: &PathMtu| mtu.bytes() < scenario.wire_bytes;
        let mtu = PathMtu::ALL.into_iter().rfind(is_below).unwrap_or(PathMtu::Bytes256);
        let psn = Psn::new(rng.draw() as u32);
        let connect = |at: usize, sends: usize| {
            let number = |at: usize| Qpn::new(2 + 2 * flow as u32 + at as u32);
            let region = Region::new(KEY, 0, MESSAGE_BYTES.into(), Access::Write);
            let region = region.expect("it is short");
            let slots = vec![SendSlot::default(); sends];
            let mut qp = QueuePair::new(number(at), slots, [], [region]);
            let ip = |at: usize| (0x0A00_0000 | number(at).get()).to_be_bytes();
            let route = Route {
                source_ip: ip(at),
                destination_ip: ip(1 - at),
                tos: ECT0,
                ttl: 64,
                ..Route::default()
            };
            let cnp_interval = Some(scenario.report_spacing);
            let responder =
                ResponderConfig { psn, mtu, cnp_interval, ..ResponderConfig::default() };
            qp.init().expect("it is reset");
            let peer = Peer { number: number(1 - at), route };
            qp.ready_to_receive(peer, responder).expect("it is in INIT");
            let requester = RequesterConfig {
                psn,
                mtu,
                window,
                ack_every: ACK_EVERY.min(window),
                timeout: AckTimeout::new(TIMEOUT_EXPONENT).expect("below 32"),
                ..RequesterConfig::default()
            };
            qp.ready_to_send(requester).expect("the window has 1 to 65,536 packets");
            let (has_begun, has_left) = (false, false);
            Self { qp, begin, reaction, has_begun, has_left }
        };
        Ok([connect(0, MESSAGES), Self { begin: Nanos(u64::MAX), ..connect(1, 0) }])
    }

    /// Posts a message for each that is done.
    fn post(&mut self) {
        while self.qp.poll_event().is_some() {}
        let message = WorkRequest {
            verb: Verb::Write { address: 0, key: KEY },
            len_bytes: MESSAGE_BYTES,
            ..WorkRequest::default()
        };
        while self.qp.state() == State::ReadyToSend && self.qp.requester().free_slots() > 0 {
            self.qp.post_send(message).expect("a place is free and the message is short");
        }
    }
}

impl End for RoceEnd {
    fn put(&mut self, now: Nanos, bytes: &[u8], ecn: Ecn) {
        let mut bytes = bytes.to_vec();
        if ecn == Ecn::Ce {
            Headers::parse(&bytes).expect("it is a frame").mark(&mut bytes);
        }
        let frame = Frame::new_checked(&bytes).expect("nothing damages it");
        // Payload is of no interest.
        let _ = self.qp.handle(now, &frame);
    }

    fn run(&mut self, now: Nanos, leaving: &mut Vec<Leaving>) {
        if now >= self.begin && !self.has_begun {
            self.has_begun = true;
            if let Some(reaction) = self.reaction {
                self.qp.react(now, reaction).expect("they were checked");
            }
        }
        if self.has_left {
            return;
        }
        if self.qp.poll_timeout().is_some_and(|at| at <= now) {
            self.qp.handle_timeout(now);
        }
        if self.has_begun {
            self.post();
        }
        while let Some(transmit) = self.qp.poll_transmit(now) {
            let len = transmit.payload().map_or(0, |at| at.len_bytes as usize);
            let mut bytes = vec![0; FRAME_BYTES_MAX];
            let len = transmit.emit(self.qp.route(), &ZEROS[..len], &mut bytes);
            bytes.truncate(len);
            let is_ect = bytes[TOS] & ECT0 != 0;
            leaving.push(Leaving { wire_bytes: wire_bytes(len), bytes: bytes.into(), is_ect });
        }
    }

    fn due_at(&self) -> Nanos {
        if self.has_left {
            return Nanos(u64::MAX);
        }
        let begin = (!self.has_begun).then_some(self.begin);
        self.qp.poll_timeout().into_iter().chain(begin).min().unwrap_or(Nanos(u64::MAX))
    }

    fn leave(&mut self) {
        self.has_left = true;
    }

    fn is_report(&self, bytes: &[u8]) -> bool {
        Bth::peek(bytes).is_some_and(|bth| bth.opcode == Opcode::Cnp)
    }

    fn received(&self) -> u64 {
        self.qp.stats().2.packets
    }

    fn figures(&self) -> Figures {
        let (qp, requester, _) = self.qp.stats();
        let acks =
            if self.reaction.is_some_and(|it| it.congested_acks_cut) { qp.acks_marked } else { 0 };
        Figures {
            limit_bps: self.qp.limit().map_or(0, WireRate::bps),
            notifications: qp.cnp_received + acks,
            cuts: qp.cuts,
            departures: requester.packets + requester.retransmissions,
            repeats: requester.retransmissions,
            overflows: 0,
        }
    }
}

/// Parameters that keep to a rate, whatever notifications come.
fn fixed(line_bps: u64, rate: WireRate) -> DcqcnParams {
    let rate = rate.max(WireRate::from_raw(1));
    let params = Preset::Samplewire.params(line_bps);
    DcqcnParams { line: rate, start: rate, first_cut: rate, minimum: rate, ..params }
}

const ECT0: u8 = 0b10;
/// Where a frame has its type of service.
const TOS: usize = 15;

/// Messages that are posted at any time: with the shortest packets, more than the widest window.
const MESSAGES: usize = 64;
const MESSAGE_BYTES: u32 = 1 << 20;
const ACK_EVERY: u32 = 16;
/// 4.096 us times 2^14, which is what perftest sets (`--qp-timeout`).
const TIMEOUT_EXPONENT: u8 = 14;
const KEY: u32 = 1;
static ZEROS: [u8; 4_096] = [0; 4_096];
