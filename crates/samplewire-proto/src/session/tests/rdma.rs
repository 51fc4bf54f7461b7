//! Openings of streams over RDMA (`docs/protocol.md#13.1`).

use super::listening::{NOW, header};
use super::world::*;
use crate::number::{Seq, Tag};
use crate::session::{AcceptError, OpenConfig, OpenEvent, Opener};
use crate::stream::TermsError;
use crate::wire::{
    self, Accept, Challenge, Header, Open, Packet, PacketType, QueuePairTerms, RdmaError,
    RdmaField, RdmaOffer, RefuseReason, Role, SlotRegion, TlvKind, TlvWriter, Tlvs,
};

const QUEUE_PAIR: QueuePairTerms = QueuePairTerms { qpn: 17, first_psn: 3, path_mtu_bytes: 1_024 };
const PAYLOAD: u16 = 32_768;

/// What an end says that receives, with a slot for each of `window` packets.
fn slots(window: u32) -> RdmaOffer {
    let slot_bytes = u32::from(PAYLOAD) + 64;
    let slots = SlotRegion { address: 1 << 40, rkey: 5, slot_bytes, slots: window };
    RdmaOffer { queue_pair: QUEUE_PAIR, slots: Some(slots) }
}

const SENDS: RdmaOffer = RdmaOffer { queue_pair: QUEUE_PAIR, slots: None };

fn opener(role: Role, offer: Option<RdmaOffer>) -> OpenConfig {
    let config = OpenConfig::new(role, 1, OWNER).with_first_seq(Seq(77));
    let config = config.with_window(256).expect("in range");
    match offer {
        Some(offer) => config.with_rdma(offer),
        None => config,
    }
}

/// How an opening ends at a device that says this of RDMA, and what its listener found.
fn open(config: OpenConfig, device: Option<RdmaOffer>) -> (OpenEvent, Vec<AcceptError>) {
    let mut world = World::new(1, config);
    world.device = Device::Payload(if device.is_some() { PAYLOAD } else { 1_024 });
    world.rdma = device;
    let event = world.run();
    (event, world.errors)
}

/// Both ways, with packets that no IP packet holds.
#[test]
fn both_ends_learn_queue_pair_and_slots() {
    for (role, ours, theirs) in
        [(Role::Receive, slots(256), SENDS), (Role::Send, SENDS, slots(WINDOW))]
    {
        let mut world = World::new(1, opener(role, Some(ours)));
        world.device = Device::Payload(PAYLOAD);
        world.rdma = Some(theirs);
        let OpenEvent::Accepted(info) = world.run() else { panic!("{role:?} is not accepted") };
        assert_eq!(info.params.rdma, Some(theirs), "{role:?}");
        assert_eq!(world.openings[0].rdma, Some(ours), "{role:?}");
        assert_eq!(info.params.payload_bytes, PAYLOAD);
    }
}

/// It has none; in the shortest OPEN there is no room for them beside what only a sender says.
#[test]
fn opener_that_sends_offers_no_slots() {
    let mut world = World::new(1, opener(Role::Send, Some(slots(256))));
    world.device = Device::Payload(PAYLOAD);
    world.rdma = Some(slots(WINDOW));
    let OpenEvent::Accepted(_) = world.run() else { panic!("it is not accepted") };
    assert_eq!(world.openings[0].rdma, Some(SENDS));
}

#[test]
fn device_that_does_not_agree_opens_a_stream_of_data() {
    let (event, _) = open(opener(Role::Receive, Some(slots(256))), None);
    let OpenEvent::Accepted(info) = event else { panic!("{event:?}") };
    assert_eq!(info.params.rdma, None);
}

/// A listener of this end does not accept what its opener would not take.
#[test]
fn listener_accepts_no_stream_that_contradicts_the_request() {
    let receive = |offer| opener(Role::Receive, offer);
    let short = SlotRegion { slot_bytes: 32_768, ..slots(256).slots.expect("it receives") };
    let short = RdmaOffer { slots: Some(short), ..SENDS };
    let slot_bytes = TermsError::RdmaSlotBytes { slot_bytes: 32_768, payload_bytes: PAYLOAD };
    for (config, device, error) in [
        (receive(None), SENDS, TermsError::RdmaUnasked),
        (receive(Some(short)), SENDS, slot_bytes),
        (receive(Some(slots(256))).with_delivery(2, 0), SENDS, TermsError::RdmaDelivery),
        (opener(Role::Send, Some(SENDS)), SENDS, TermsError::RdmaNowhere),
    ] {
        let (event, errors) = open(config, Some(device));
        assert_eq!(errors.first(), Some(&AcceptError::Rdma(error)), "{event:?}");
        assert!(!matches!(event, OpenEvent::Accepted(_)), "{error}");
    }
}

/// A responder that answers what was not requested: no stream is opened.
#[test]
fn opener_finds_the_contradiction_of_an_accept() {
    let some = slots(256);
    let other = RdmaOffer { slots: slots(128).slots, ..SENDS };
    let fewer = TermsError::RdmaSlots { slots: 128, window: WINDOW };
    for (config, theirs, error) in [
        (opener(Role::Receive, None), SENDS, TermsError::RdmaUnasked),
        (opener(Role::Receive, Some(SENDS)), SENDS, TermsError::RdmaNowhere),
        (
            opener(Role::Receive, Some(slots(128))),
            SENDS,
            TermsError::RdmaSlots { slots: 128, window: 256 },
        ),
        (opener(Role::Send, Some(SENDS)), SENDS, TermsError::RdmaNowhere),
        (opener(Role::Send, Some(SENDS)), other, fewer),
    ] {
        let event = answer(config, |tlvs| theirs.push(tlvs));
        assert_eq!(event, Some(OpenEvent::Contradicted(error)));
    }
    let malformed = RdmaError { field: RdmaField::Length, value: 11 };
    let config = opener(Role::Receive, Some(some));
    let event = answer(config, |tlvs| tlvs.push(TlvKind::QUEUE_PAIR, &[1; 11]));
    assert_eq!(event, Some(OpenEvent::Contradicted(TermsError::Rdma(malformed))));
    let event = answer(config, |tlvs| SENDS.push(tlvs));
    assert!(matches!(event, Some(OpenEvent::Accepted(_))), "{event:?}");
}

/// How an opening ends whose ACCEPT has these TLVs.
fn answer(
    config: OpenConfig,
    tlvs: impl for<'b> Fn(TlvWriter<'b>) -> TlvWriter<'b>,
) -> Option<OpenEvent> {
    let mut opener = Opener::new(config, seed_bytes(3), NOW);
    let nonce = open_nonce(&mut opener);
    let challenge = Packet::Challenge(Challenge { nonce, cookie: [7; 16] });
    opener.handle(NOW, &header(PacketType::Challenge, opener.tag()), &challenge, 50);
    let nonce = open_nonce(&mut opener);
    let head = Header { seq: Seq(77), ..header(PacketType::Accept, opener.tag()) };
    let mut buf = [0; 128];
    let tlvs = tlvs(TlvWriter::new(&mut buf)).finish();
    let accept = Accept { tlvs, ..super::hostile::accept(nonce, 1_024, Tag(9)) };
    let accept = Accept { window: WINDOW, ..accept };
    opener.handle(NOW, &head, &Packet::Accept(accept), 8_000);
    opener.poll_event()
}

/// The nonce of the OPEN that is due.
fn open_nonce(opener: &mut Opener) -> u64 {
    let mut out = vec![0; PACKET_BYTES_MAX];
    let len = opener.poll_transmit(NOW, &mut out).expect("an OPEN is due");
    match wire::parse(&out[..len]) {
        Ok((_, Packet::Open(open))) => open.nonce,
        other => panic!("no OPEN: {other:?}"),
    }
}

/// `docs/protocol.md#13.1`, `#13.3`: once its sender has proven its address. The slots of an opener
/// that receives are as many as its window.
#[test]
fn open_that_says_what_cannot_be_of_rdma_is_refused() {
    let bad = QueuePairTerms { qpn: 1, ..QUEUE_PAIR };
    let format = Some(RefuseReason::Format);
    for (offer, role, reason) in [
        (RdmaOffer { queue_pair: bad, ..SENDS }, Role::Describe, format),
        (SENDS, Role::Receive, format),
        (slots(512), Role::Receive, format),
        (slots(1_024), Role::Receive, None),
        (SENDS, Role::Send, None),
        (SENDS, Role::Describe, None),
    ] {
        let mut buf = [0; 64];
        let tlvs = offer.push(TlvWriter::new(&mut buf)).finish();
        assert_eq!(refusal(role, tlvs), reason, "{offer:?} {role:?}");
    }
}

/// Why an OPEN with a window of 1,024 and these TLVs is refused; `None` where it is taken.
fn refusal(role: Role, tlvs: Tlvs<'_>) -> Option<RefuseReason> {
    let mut listener = listener(9);
    let mut asks = |cookie| {
        let open = Open { tlvs, role, window: 1_024, ..super::listening::open(cookie) };
        let mut bytes = vec![0; 1_400];
        open.emit(&header(PacketType::Open, Tag::NONE), 1_400, &mut bytes);
        listener.handle(NOW, PEER, &bytes, &wire::parse(&bytes)).expect("it is a packet");
        if listener.poll_event().is_some() {
            return Ok(None);
        }
        let (_, len) = listener.poll_transmit(NOW, &mut bytes).expect("an answer");
        match wire::parse(&bytes[..len]) {
            Ok((_, Packet::Challenge(challenge))) => Err(challenge.cookie),
            Ok((_, Packet::Refuse(refuse))) => Ok(Some(refuse.reason)),
            other => panic!("{other:?}"),
        }
    };
    let cookie = asks([0; 16]).expect_err("a CHALLENGE comes first");
    asks(cookie).expect("the cookie is good")
}
