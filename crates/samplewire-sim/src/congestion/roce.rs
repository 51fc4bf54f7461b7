//! Both ends of a RoCE flow: the requester of `samplewire-roce`, which always has messages to write,
//! and the responder, at the two ends of a way without bytes.

use samplewire_proto::Nanos;
use samplewire_roce::requester::{
    AckTimeout, Request, Requester, RequesterConfig, SendSlot, Verb, WorkRequest,
};
use samplewire_roce::responder::{Placement, ReceiveSlot, Responder, ResponderConfig, Response};
use samplewire_roce::wire::{Body, Bth, Packet};
use samplewire_roce::{Access, PathMtu, Qpn, Region};

/// A connection, which stops for good when its retries are used up.
#[derive(Debug)]
pub(crate) struct Roce {
    requester: Requester<Vec<SendSlot>>,
    responder: Responder<[ReceiveSlot; 0], [Region; 1]>,
    mtu: PathMtu,
    /// There is nothing to send before an answer or a timeout.
    is_blocked: bool,
}

impl Roce {
    /// With the longest payload below frames of that size; at most `window` packets are on their way.
    pub(crate) fn new(wire_bytes: u32, window: u32, timeout: AckTimeout) -> Self {
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
    pub(crate) const fn may_send(&self) -> bool {
        !self.is_blocked
    }

    /// The next packet, if there is one.
    pub(crate) fn depart(&mut self, now: Nanos) -> Option<Request> {
        let request = self.requester.poll_transmit(now);
        self.is_blocked = request.is_none();
        request
    }

    /// The responder has a packet: whether it is of use, and what it answers at once.
    pub(crate) fn arrived(&mut self, request: &Request) -> (bool, Option<Response>) {
        let Request { opcode, psn, ack_request, reth, immediate, payload, .. } = *request;
        let bth = Bth { ack_request, ..Bth::new(opcode, Qpn::default(), psn) };
        let payload = &ZEROS[..payload.len_bytes as usize];
        let packet = Packet { bth, body: Body::Request { reth, immediate, payload } };
        let placement = self.responder.handle(&packet);
        (placement != Placement::Nothing, self.responder.poll_transmit())
    }

    /// The requester has an answer.
    pub(crate) fn answered(&mut self, now: Nanos, response: &Response) {
        self.requester.handle(now, response.psn, &response.aeth);
        self.post();
        self.is_blocked = false;
    }

    /// When the requester has waited too long.
    pub(crate) fn timeout(&self) -> Option<Nanos> {
        self.requester.poll_timeout()
    }

    pub(crate) fn handle_timeout(&mut self, now: Nanos) {
        self.requester.handle_timeout(now);
        self.is_blocked = false;
    }

    pub(super) const fn repeats(&self) -> u64 {
        self.requester.stats().retransmissions
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

/// Messages that are posted at any time: with the shortest packets, more than the widest window.
const MESSAGES: usize = 64;
const MESSAGE_BYTES: u32 = 1 << 20;
const ACK_EVERY: u32 = 16;
/// 4.096 us times 2^14, which is what perftest sets (`--qp-timeout`).
pub(super) const TIMEOUT: AckTimeout = AckTimeout::new(14).expect("below 32");
const KEY: u32 = 1;
static ZEROS: [u8; 4_096] = [0; 4_096];

#[cfg(test)]
mod tests {
    use super::*;

    /// The first packet is lost. The NAK brings all again, and no answer at all ends the flow after
    /// the retries.
    #[test]
    fn lost_packet_is_repeated_with_all_behind_it_and_silence_ends_the_flow() {
        let mut roce = Roce::new(4_134, 3, TIMEOUT);
        let sent: Vec<Request> = (0..3).filter_map(|_| roce.depart(Nanos(0))).collect();
        assert_eq!((sent.len(), roce.depart(Nanos(0)), roce.may_send()), (3, None, false));
        let (is_of_use, nak) = roce.arrived(&sent[1]);
        assert!(!is_of_use);
        roce.answered(Nanos(10), &nak.expect("a gap is answered"));
        assert_eq!(roce.depart(Nanos(10)), Some(sent[0]));
        assert_eq!((roce.repeats(), roce.arrived(&sent[0]).0), (1, true));
        let mut silences = 0;
        while let Some(at) = roce.timeout() {
            roce.handle_timeout(at);
            while roce.depart(at).is_some() {}
            silences += 1;
        }
        assert_eq!(silences, 7, "the NAK took one of 7 retries, and the last silence ends it");
    }
}
