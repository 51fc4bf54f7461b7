//! The same line under go-back-N: a RoCEv2 connection of `samplewire-roce` writes as fast as it can.

use std::collections::VecDeque;

use samplewire_proto::{Nanos, Odds, Rng};
use samplewire_roce::requester::{
    AckTimeout, Request, Requester, RequesterConfig, SendSlot, Verb, WorkRequest,
};
use samplewire_roce::responder::{Placement, ReceiveSlot, Responder, ResponderConfig, Response};
use samplewire_roce::wire::{Body, Bth, Packet};
use samplewire_roce::{Access, PathMtu, Qpn, Region};

use super::RepairOptions;
use crate::link::ETHERNET_BYTES;

/// Packets that were of use by those that the line could have carried, in thousandths.
///
/// Requests are lost like the DATA of a stream, answers like its REPORTs. The window has
/// `window_percent` of what a round trip holds, and the timeout is the shortest that is four round
/// trips long.
pub(super) fn goodput_permille(
    options: &RepairOptions,
    rtt: Nanos,
    window_percent: u64,
    loss_ppm: u64,
    packets: u64,
) -> u64 {
    let window = (rtt.0 * window_percent / 100 * PS / wire_time_ps(options, PAYLOAD_BYTES)).max(8);
    let mut line = Line {
        options,
        one_way_ps: rtt.0 * PS / 2,
        loss: Odds::ppm(loss_ppm),
        rng: Rng::new(options.seed),
        end: Roce::new(options.packet_bytes, window as u32, timeout(rtt)),
        free_ps: 0,
        requests: VecDeque::new(),
        answers: VecDeque::new(),
        useful_ps: 0,
    };
    let end_ps = (packets * wire_time_ps(options, PAYLOAD_BYTES)).max(40 * rtt.0 * PS);
    let mut now_ps = 0;
    while now_ps < end_ps
        && let Some(next_ps) = line.turn(now_ps)
    {
        now_ps = next_ps;
    }
    line.useful_ps * 1_000 / end_ps
}

/// A line, with both ends of its connection.
struct Line<'a> {
    options: &'a RepairOptions,
    one_way_ps: u64,
    loss: Odds,
    rng: Rng,
    end: Roce,
    /// When the next request may leave.
    free_ps: u64,
    /// On their way, with when they arrive.
    requests: VecDeque<(u64, Request)>,
    answers: VecDeque<(u64, Response)>,
    /// Wire time of the packets that were of use.
    useful_ps: u64,
}

impl Line<'_> {
    /// Does what is due, and says when something is due again; `None` when the connection has ended.
    fn turn(&mut self, now_ps: u64) -> Option<u64> {
        let now = Nanos(now_ps / PS);
        while let Some(answer) = due(&mut self.answers, now_ps) {
            self.end.answered(now, &answer);
        }
        while let Some(request) = due(&mut self.requests, now_ps) {
            let (is_of_use, answer) = self.end.arrived(&request);
            if is_of_use {
                self.useful_ps += wire_time_ps(self.options, request.payload.len_bytes);
            }
            if let Some(answer) = answer.filter(|_| !self.rng.chance(self.loss)) {
                self.answers.push_back((now_ps + self.one_way_ps, answer));
            }
        }
        if self.end.timeout().is_some_and(|at| at <= now) {
            self.end.handle_timeout(now);
        }
        if self.free_ps <= now_ps
            && let Some(request) = self.end.depart(now)
        {
            self.free_ps = now_ps + wire_time_ps(self.options, request.payload.len_bytes);
            if !self.rng.chance(self.loss) {
                self.requests.push_back((self.free_ps + self.one_way_ps, request));
            }
        }
        let next = [
            self.end.may_send().then_some(self.free_ps),
            self.requests.front().map(|it| it.0),
            self.answers.front().map(|it| it.0),
            self.end.timeout().map(|at| at.0 * PS),
        ];
        // A timeout in the same nanosecond is due in the next one.
        next.into_iter().flatten().min().map(|at| at.max(now_ps + 1))
    }
}

/// Both ends of a connection, at a link without bytes: the requester always has messages to write. It
/// stops for good when its retries are used up.
#[derive(Debug)]
struct Roce {
    requester: Requester<Vec<SendSlot>>,
    responder: Responder<[ReceiveSlot; 0], [Region; 1]>,
    mtu: PathMtu,
    /// There is nothing to send before an answer or a timeout.
    is_blocked: bool,
}

impl Roce {
    /// With the longest payload below frames of that size; at most `window` packets are on their way.
    fn new(wire_bytes: u32, window: u32, timeout: AckTimeout) -> Self {
        let is_below = |mtu: &PathMtu| mtu.bytes() < wire_bytes;
        let mtu = PathMtu::ALL.into_iter().rfind(is_below).unwrap_or(PathMtu::Bytes256);
        let config = RequesterConfig {
            mtu,
            window,
            ack_every: ACK_EVERY.min(window),
            timeout,
            ..RequesterConfig::default()
        };
        let slots = vec![SendSlot::default(); MESSAGES];
        let region = Region::new(KEY, 0, MESSAGE_BYTES.into(), Access::Write).expect("it is short");
        let answers = ResponderConfig { mtu, ..ResponderConfig::default() };
        let mut roce = Self {
            requester: Requester::new(config, slots).expect("the window has 1 to 65,536 packets"),
            responder: Responder::new(answers, [], [region]),
            mtu,
            is_blocked: false,
        };
        roce.post();
        roce
    }

    /// Whether a packet may be there to send.
    const fn may_send(&self) -> bool {
        !self.is_blocked
    }

    /// The next packet, if there is one.
    fn depart(&mut self, now: Nanos) -> Option<Request> {
        let request = self.requester.poll_transmit(now);
        self.is_blocked = request.is_none();
        request
    }

    /// The responder has a packet: whether it is of use, and what it answers at once.
    fn arrived(&mut self, request: &Request) -> (bool, Option<Response>) {
        let Request { opcode, psn, ack_request, reth, immediate, payload, .. } = *request;
        let bth = Bth { ack_request, ..Bth::new(opcode, Qpn::default(), psn) };
        let payload = &ZEROS[..payload.len_bytes as usize];
        let packet = Packet { bth, body: Body::Request { reth, immediate, payload } };
        let placement = self.responder.handle(&packet);
        (placement != Placement::Nothing, self.responder.poll_transmit())
    }

    /// The requester has an answer.
    fn answered(&mut self, now: Nanos, response: &Response) {
        self.requester.handle(now, response.psn, &response.aeth);
        self.post();
        self.is_blocked = false;
    }

    /// When the requester has waited too long.
    fn timeout(&self) -> Option<Nanos> {
        self.requester.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Nanos) {
        self.requester.handle_timeout(now);
        self.is_blocked = false;
    }

    /// Posts a message for each that is done.
    fn post(&mut self) {
        while self.requester.poll_event().is_some() {}
        let message = WorkRequest {
            verb: Verb::Write { address: 0, key: KEY },
            len_bytes: MESSAGE_BYTES,
            ..WorkRequest::default()
        };
        debug_assert!(MESSAGE_BYTES.is_multiple_of(self.mtu.bytes()), "whole packets");
        while self.requester.free_slots() > 0 {
            self.requester.post(message).expect("a place is free and the message is short");
        }
    }
}

/// The next one that has arrived.
fn due<T>(queue: &mut VecDeque<(u64, T)>, now_ps: u64) -> Option<T> {
    queue.front().filter(|it| it.0 <= now_ps)?;
    queue.pop_front().map(|it| it.1)
}

/// The time that a packet with this payload takes on the wire.
fn wire_time_ps(options: &RepairOptions, payload_bytes: u32) -> u64 {
    let bytes = u64::from(payload_bytes + HEADERS_BYTES + ETHERNET_BYTES);
    bytes * 8 * 1_000_000_000 / (options.rate_bps / 1_000)
}

/// The shortest of at least four round trips.
fn timeout(rtt: Nanos) -> AckTimeout {
    let is_long = |it: &AckTimeout| it.span().is_some_and(|span| span.0 >= 4 * rtt.0);
    (1..=31)
        .filter_map(AckTimeout::new)
        .find(is_long)
        .expect("2.4 hours are longer than a round trip")
}

/// IPv4, UDP, BTH and ICRC. The address of a WRITE is in one packet of a thousand.
const HEADERS_BYTES: u32 = 20 + 8 + 12 + 4;
/// The path MTU that fits an IP packet of 1,500 bytes.
const PAYLOAD_BYTES: u32 = 1_024;
const PS: u64 = 1_000;
/// Messages that are posted at any time: with the shortest packets, more than the widest window.
const MESSAGES: usize = 64;
const MESSAGE_BYTES: u32 = 1 << 20;
const ACK_EVERY: u32 = 16;
const KEY: u32 = 1;
static ZEROS: [u8; 4_096] = [0; 4_096];

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 / (1 + p (n + 1) + p^2 t), with n packets a round trip and t a timeout, of a window that
    /// fills the line.
    #[test]
    fn goodput_is_that_of_go_back_n() {
        let options = RepairOptions::new();
        let rtt = Nanos::from_micros(100);
        let packets_in = |span: Nanos| span.0 as f64 * 1e3 / wire_time_ps(&options, 1_024) as f64;
        let timeout = timeout(rtt).span().expect("there is one");
        for loss_ppm in [0, 100, 1_000, 10_000] {
            let goodput = goodput_permille(&options, rtt, 250, loss_ppm, 200_000) as f64 / 1e3;
            let loss = loss_ppm as f64 / 1e6;
            let bound =
                1.0 / (1.0 + loss * (packets_in(rtt) + 1.0) + loss * loss * packets_in(timeout));
            println!("loss {loss}: {goodput:.3}, go-back-N {bound:.3}");
            assert!((0.93..=1.1).contains(&(goodput / bound)), "loss {loss}: {goodput} of {bound}");
        }
    }
}
