//! What a queue pair takes in each state, and what remains of a connection.

mod notification;

use samplewire_proto::rate::{DcqcnParams, WireRate};

use super::*;
use crate::number::{PathMtu, Psn};
use crate::region::Access;
use crate::requester::{SendStatus, Verb};
use crate::responder::ReceiveStatus;
use crate::wire::{Aeth, Bth, FRAME_BYTES_MAX, NakCode, Opcode, Syndrome};

type TestPair = QueuePair<Vec<SendSlot>, Vec<ReceiveSlot>, Vec<Region>>;

const NOW: Nanos = Nanos(1_000);
const OURS: Qpn = Qpn::new(0x11);
const THEIRS: Qpn = Qpn::new(0x22);

fn route() -> Route {
    Route { source_ip: [192, 0, 2, 1], destination_ip: [192, 0, 2, 2], ttl: 64, ..Route::default() }
}

fn pair() -> TestPair {
    let region = Region::new(7, 0, 4_096, Access::Write).expect("it fits");
    let (sends, receives) = (vec![SendSlot::default(); 4], vec![ReceiveSlot::default(); 4]);
    QueuePair::new(OURS, sends, receives, vec![region])
}

fn connect(qp: &mut TestPair, psn: u32) {
    qp.init().expect("it is reset");
    let peer = Peer { number: THEIRS, route: route() };
    let responder = ResponderConfig { psn: Psn::new(psn), ..ResponderConfig::default() };
    qp.ready_to_receive(peer, responder).expect("it is initialised");
    let requester = RequesterConfig { psn: Psn::new(psn), ..RequesterConfig::default() };
    qp.ready_to_send(requester).expect("it is ready to receive");
}

/// Hands over a frame of the peer.
fn take(qp: &mut TestPair, route: Route, packet: Packet<'_>) {
    let _ = placement(qp, route, packet);
}

/// The same, and where its payload belongs.
fn placement(qp: &mut TestPair, route: Route, packet: Packet<'_>) -> Placement {
    let mut bytes = [0; FRAME_BYTES_MAX];
    let len = packet.emit(&route, &mut bytes);
    qp.handle(NOW, &Frame::new_checked(&bytes[..len]).expect("what is written can be read"))
}

/// Hands over a frame without payload at another time.
fn take_at(qp: &mut TestPair, now: Nanos, packet: Packet<'_>) {
    let mut bytes = [0; FRAME_BYTES_MAX];
    let len = packet.emit(&from_peer(), &mut bytes);
    let frame = Frame::new_checked(&bytes[..len]).expect("what is written can be read");
    assert_eq!(qp.handle(now, &frame), Placement::Nothing);
}

fn from_peer() -> Route {
    let Route { source_ip, destination_ip, .. } = route();
    Route { source_ip: destination_ip, destination_ip: source_ip, ..route() }
}

fn request(opcode: Opcode, psn: u32, payload: &[u8]) -> Packet<'_> {
    let bth = Bth { ack_request: true, ..Bth::new(opcode, OURS, Psn::new(psn)) };
    Packet { bth, body: Body::Request { reth: None, immediate: None, payload } }
}

fn acknowledge(psn: u32, syndrome: Syndrome) -> Packet<'static> {
    let bth = Bth::new(Opcode::Acknowledge, OURS, Psn::new(psn));
    Packet { bth, body: Body::Acknowledge(Aeth { syndrome, msn: 0 }) }
}

const RECEIVE: ReceiveRequest = ReceiveRequest { id: 1, len_bytes: 64 };
const SEND: WorkRequest =
    WorkRequest { id: 2, verb: Verb::Send, len_bytes: 3, immediate: None, is_solicited: false };

/// IB 10.3
#[test]
fn each_state_takes_what_the_standard_allows() {
    let mut qp = pair();
    assert_eq!(qp.post_receive(RECEIVE), Err(PostReceiveError::State(State::Reset)));
    assert_eq!(qp.post_send(SEND), Err(PostSendError::State(State::Reset)));
    qp.init().expect("it is reset");
    qp.post_receive(RECEIVE).expect("INIT takes receive requests");
    let before = placement(&mut qp, from_peer(), request(Opcode::SendOnly, 5, &[1]));
    assert_eq!((before, qp.stats().0.wrong_state), (Placement::Nothing, 1));
    let peer = Peer { number: THEIRS, route: route() };
    let config = ResponderConfig { psn: Psn::new(5), ..ResponderConfig::default() };
    qp.ready_to_receive(peer, config).expect("it is initialised");
    assert_eq!(qp.post_send(SEND), Err(PostSendError::State(State::ReadyToReceive)));
    let placement = placement(&mut qp, from_peer(), request(Opcode::SendOnly, 5, &[1]));
    assert_eq!(placement, Placement::Receive { id: 1, offset: 0 });
    let ack = qp.poll_transmit(NOW).expect("RTR acknowledges").packet(&[]);
    assert_eq!((ack.bth.destination, ack.bth.psn), (THEIRS, Psn::new(5)));
    take(&mut qp, from_peer(), acknowledge(5, Syndrome::Ack(31)));
    assert_eq!(qp.stats().0.wrong_state, 2, "RTR takes no acknowledgement");
    qp.ready_to_send(RequesterConfig::default()).expect("it is ready to receive");
    qp.post_send(SEND).expect("RTS takes work requests");
    assert_eq!(qp.poll_transmit(NOW).and_then(|it| it.payload()).map(|it| it.id), Some(2));
}

/// IB 9.2: without path migration a connection is Migrated; the last packet requests an answer and
/// an event.
#[test]
fn requests_and_acknowledgements_have_these_bits() {
    let mut qp = pair();
    connect(&mut qp, 0);
    let posted = WorkRequest { len_bytes: 1_025, is_solicited: true, ..SEND };
    qp.post_send(posted).expect("there is room");
    take(&mut qp, from_peer(), request(Opcode::SendOnly, 9, &[1]));
    let sent: Vec<_> = std::iter::from_fn(|| qp.poll_transmit(NOW))
        .map(|it| it.packet(&[0; 1_024][..it.payload().map_or(0, |at| at.len_bytes as usize)]).bth)
        .map(|bth| (bth.opcode, bth.migrated, bth.ack_request, bth.solicited))
        .collect();
    let answer = (Opcode::Acknowledge, true, false, false);
    let requests = [(Opcode::SendFirst, true, false, false), (Opcode::SendLast, true, true, true)];
    assert_eq!(sent, [&[answer][..], &requests].concat());
}

#[test]
fn choice_out_of_range_leaves_the_state() {
    let mut qp = pair();
    qp.init().expect("it is reset");
    qp.ready_to_receive(Peer::default(), ResponderConfig::default()).expect("it is initialised");
    let config = RequesterConfig { window: 0, ..RequesterConfig::default() };
    let error = ReadyToSendError::Config(RequesterConfigError::Window(0));
    assert_eq!(qp.ready_to_send(config), Err(error));
    assert_eq!(qp.state(), State::ReadyToReceive);
}

/// IB 9.6: number, address and partition are those of the connection.
#[test]
fn frames_of_others_are_dropped_with_their_cause() {
    let mut qp = pair();
    connect(&mut qp, 0);
    qp.post_receive(RECEIVE).expect("there is room");
    let good = request(Opcode::SendOnly, 0, &[1]);
    let with = |bth| Packet { bth, ..good };
    let far = Route { source_ip: [192, 0, 2, 3], ..from_peer() };
    take(&mut qp, from_peer(), with(Bth { destination: THEIRS, ..good.bth }));
    take(&mut qp, far, good);
    take(&mut qp, Route { destination_ip: [192, 0, 2, 9], ..from_peer() }, good);
    take(&mut qp, from_peer(), with(Bth { p_key: 0x7FFF, ..good.bth }));
    let stats = *qp.stats().0;
    let expected =
        QpStats { other_number: 1, other_address: 2, other_partition: 1, ..QpStats::default() };
    assert_eq!((stats, qp.poll_transmit(NOW)), (expected, None));
    let marked = Route { source_mac: [9; 6], tos: 3, ttl: 1, ..from_peer() };
    assert_eq!(placement(&mut qp, marked, good), Placement::Receive { id: 1, offset: 0 });
}

#[test]
fn fault_of_the_peer_is_nacked_once_and_flushes_both_halves() {
    let mut qp = pair();
    connect(&mut qp, 0);
    qp.post_receive(RECEIVE).expect("there is room");
    qp.post_send(SEND).expect("there is room");
    take(&mut qp, from_peer(), request(Opcode::SendMiddle, 0, &[0; 1_024]));
    assert_eq!(qp.state(), State::Error);
    let nak = qp.poll_transmit(NOW).expect("the NAK leaves in ERROR").packet(&[]);
    let syndrome = Syndrome::Nak(NakCode::InvalidRequest);
    assert_eq!(nak.body, Body::Acknowledge(Aeth { syndrome, msn: 0 }));
    assert_eq!(qp.poll_transmit(NOW), None, "and nothing else");
    let received = ReceiveCompletion { id: 1, status: ReceiveStatus::Flushed };
    let sent = SendCompletion { id: 2, status: SendStatus::Flushed };
    let events: Vec<_> = std::iter::from_fn(|| qp.poll_event()).collect();
    assert_eq!(events, [Event::Received(received), Event::Sent(sent)]);
    qp.post_send(SEND).expect("ERROR takes and flushes");
    assert_eq!(qp.poll_event(), Some(Event::Sent(sent)));
    take(&mut qp, from_peer(), request(Opcode::SendOnly, 0, &[]));
    assert_eq!((qp.stats().0.wrong_state, qp.poll_timeout()), (1, None));
}

#[test]
fn nak_of_the_peer_and_silence_move_to_error() {
    let mut qp = pair();
    connect(&mut qp, 9);
    qp.post_send(SEND).expect("there is room");
    qp.poll_transmit(NOW).expect("it leaves");
    take(&mut qp, from_peer(), acknowledge(9, Syndrome::Nak(NakCode::RemoteAccess)));
    assert_eq!(qp.state(), State::Error);
    let sent = SendCompletion { id: 2, status: SendStatus::Nak(NakCode::RemoteAccess) };
    assert_eq!(qp.poll_event(), Some(Event::Sent(sent)));

    qp.reset(OURS);
    connect(&mut qp, 9);
    qp.post_send(SEND).expect("there is room");
    let mut now = NOW;
    while qp.poll_transmit(now).is_some() {
        now = qp.poll_timeout().expect("it waits for an acknowledgement");
        qp.handle_timeout(now);
    }
    let sent = SendCompletion { id: 2, status: SendStatus::RetriesExceeded };
    assert_eq!((qp.state(), qp.poll_event()), (State::Error, Some(Event::Sent(sent))));
}

/// The numbers of a connection end with it.
#[test]
fn reset_forgets_all_but_the_regions() {
    let mut qp = pair();
    let number = Qpn::new(0x33);
    let fresh = {
        let mut fresh = pair();
        fresh.reset(number);
        format!("{fresh:?}")
    };
    connect(&mut qp, 77);
    qp.reset(number);
    assert_eq!(format!("{qp:?}"), fresh, "an idle connection");
    connect(&mut qp, 99);
    qp.post_receive(RECEIVE).expect("there is room");
    qp.post_send(SEND).expect("there is room");
    qp.poll_transmit(NOW).expect("it leaves");
    let mut first = request(Opcode::SendFirst, 99, &[0; 1_024]);
    first.bth.destination = number;
    take(&mut qp, from_peer(), first);
    qp.reset(number);
    assert_eq!((qp.state(), qp.poll_event(), qp.poll_timeout()), (State::Reset, None, None));
    assert_eq!((qp.poll_transmit(NOW), qp.requester().in_flight()), (None, 0));
    assert_eq!((qp.stats().0, qp.responder().regions().len()), (&QpStats::default(), 1));
    connect(&mut qp, 5);
    assert_eq!(qp.responder().expected(), Psn::new(5));
    let mut late = acknowledge(99, Syndrome::Ack(31));
    late.bth.destination = number;
    take(&mut qp, from_peer(), late);
    qp.post_send(WorkRequest { len_bytes: 2_000, ..SEND }).expect("there is room");
    let psns = [PathMtu::Bytes1024; 2].map(|_| qp.poll_transmit(NOW).expect("two").packet_psn());
    assert_eq!(psns, [5, 6]);
}

impl Transmit {
    fn packet_psn(&self) -> u32 {
        let len = self.payload().map_or(0, |at| at.len_bytes as usize);
        self.packet(&vec![0; len]).bth.psn.get()
    }
}

fn notification(destination: Qpn) -> Packet<'static> {
    Packet::cnp(destination)
}

#[test]
fn congestion_notification_without_a_reaction_is_counted() {
    let mut qp = pair();
    connect(&mut qp, 0);
    take(&mut qp, from_peer(), notification(OURS));
    assert_eq!((qp.stats().0.cnp_received, qp.stats().0.cuts), (1, 0));
    assert_eq!(qp.poll_transmit(NOW), None);
}

/// 8 Gb/s: a byte a nanosecond.
fn params() -> DcqcnParams {
    let line = WireRate::from_bps(8_000_000_000);
    let params = DcqcnParams::samplewire(8_000_000_000);
    DcqcnParams { start: line, first_cut: line, ..params }
}

/// Sends WRITEs of a packet each until `end`, acknowledged at once; returns their bytes of the wire.
fn sent_bytes(qp: &mut TestPair, mut now: Nanos, end: Nanos) -> usize {
    let mut bytes = 0;
    let bytes_max = 2 * (end.0 - now.0) as usize + 10_000;
    while now < end {
        assert!(bytes <= bytes_max, "{bytes} bytes at a byte a nanosecond");
        if qp.requester().free_slots() > 0 {
            qp.post_send(WorkRequest { len_bytes: 1_000, ..SEND }).expect("there is room");
        }
        let Some(transmit) = qp.poll_transmit(now) else {
            now = qp.poll_timeout().expect("a packet waits for the rate").max(now + Nanos(1));
            qp.handle_timeout(now);
            continue;
        };
        let packet = transmit.packet(&[0; 1_000]).bth;
        bytes += packet_bytes(&transmit);
        let mut frame = [0; FRAME_BYTES_MAX];
        let ack = acknowledge(packet.psn.get(), Syndrome::Ack(31));
        let len = ack.emit(&from_peer(), &mut frame);
        let frame = Frame::new_checked(&frame[..len]).expect("it can be read");
        assert_eq!(qp.handle(now, &frame), Placement::Nothing);
        while qp.poll_event().is_some() {}
    }
    bytes
}

/// Preamble, gap and Ethernet's checksum are 24 bytes.
fn packet_bytes(transmit: &Transmit) -> usize {
    transmit.packet(&[0; 1_000]).frame_len() + 24
}

/// A17.9.3: the reaction point. Alpha is 1 at first, so that the first cut halves the rate.
#[test]
fn congestion_notification_halves_the_rate_of_requests_and_it_rises_again() {
    let mut qp = pair();
    connect(&mut qp, 0);
    qp.react(NOW, params().into()).expect("they are in range");
    let share = |bytes: usize, span: Nanos| bytes as f64 / span.0 as f64;
    let span = Nanos::from_micros(500);
    let first = share(sent_bytes(&mut qp, NOW, NOW + span), span);
    assert!((0.97..1.12).contains(&first), "{first} of the line, and a burst of 50 us");
    let cut_at = NOW + span + span;
    let full = share(sent_bytes(&mut qp, NOW + span, cut_at), span);
    assert!((0.995..1.005).contains(&full), "{full} of the line");
    take_at(&mut qp, cut_at, notification(OURS));
    let span = Nanos::from_micros(50);
    let cut = share(sent_bytes(&mut qp, cut_at, cut_at + span), span);
    assert!((0.4..0.6).contains(&cut), "{cut} of the line");
    let later = cut_at + Nanos::from_millis(100);
    let span = Nanos::from_millis(1);
    let risen = share(sent_bytes(&mut qp, later, later + span), span);
    assert!(risen > 0.9, "{risen} of the line");
}

/// At most one cut in D, and never below the minimum; those for others, or damaged, change nothing.
#[test]
fn flood_of_congestion_notifications_cuts_once_in_an_interval() {
    let mut qp = pair();
    connect(&mut qp, 0);
    let params = params();
    assert_eq!(qp.limit(), None);
    qp.react(NOW, params.into()).expect("they are in range");
    assert_eq!(qp.limit(), Some(params.start));
    for _ in 0..1_000 {
        take_at(&mut qp, NOW, notification(OURS));
        take_at(&mut qp, NOW, notification(THEIRS));
    }
    let stats = *qp.stats().0;
    assert_eq!((stats.cnp_received, stats.cuts, stats.other_number), (1_000, 1, 1_000));
    let mut now = NOW;
    for _ in 0..200 {
        now = now + params.cut_interval;
        take_at(&mut qp, now, notification(OURS));
    }
    assert_eq!((qp.stats().0.cuts, qp.limit()), (201, Some(params.minimum)));
    let span = Nanos::from_millis(20);
    let soon = now + Nanos::from_micros(50);
    let bytes = sent_bytes(&mut qp, now, soon) as u64;
    let least_bytes = params.minimum.bps() * span.0 / 8_000_000_000;
    assert!(bytes <= 3 * 1_100, "{bytes} bytes, of them a burst of two packets");
    assert!(sent_bytes(&mut qp, soon, soon + span) as u64 >= least_bytes, "it is not below that");
}

/// Posts WRITEs and sends those that may leave at once.
fn fill(qp: &mut TestPair, now: Nanos) {
    while qp.requester().free_slots() > 0 {
        qp.post_send(WorkRequest { len_bytes: 1_000, ..SEND }).expect("there is room");
    }
    while qp.poll_transmit(now).is_some() {}
}

#[test]
fn packet_that_waits_when_the_rate_is_cut_waits_twice_as_long() {
    let mut qp = pair();
    connect(&mut qp, 0);
    qp.react(NOW, params().into()).expect("they are in range");
    fill(&mut qp, NOW);
    let wait = qp.poll_timeout().expect("a packet waits").since(NOW);
    assert!(wait > Nanos(1_000), "a packet's time: {wait:?}");
    take_at(&mut qp, NOW, notification(OURS));
    assert_eq!(qp.poll_timeout().map(|at| at.since(NOW).0.div_ceil(2)), Some(wait.0));
}

#[test]
fn packet_that_waits_leaves_earlier_when_the_rate_rises_meanwhile() {
    let mut qp = pair();
    connect(&mut qp, 0);
    let params = params();
    qp.react(NOW, params.into()).expect("they are in range");
    let mut now = NOW;
    for _ in 0..200 {
        now = now + params.cut_interval;
        take_at(&mut qp, now, notification(OURS));
    }
    fill(&mut qp, now);
    let begin = now;
    while qp.poll_transmit(now).is_none() {
        now = qp.poll_timeout().expect("a packet waits").max(now + Nanos(1));
    }
    let at_the_lowest_ns = 1_082 * 8_000_000_000 / params.minimum.bps();
    assert!(now.since(begin).0 < at_the_lowest_ns * 9 / 10, "{:?}", now.since(begin));
}

/// The burst follows from the MTU of the connection.
#[test]
fn reaction_begins_in_rts_alone() {
    let mut qp = pair();
    assert_eq!(qp.react(NOW, params().into()), Err(ReactError::State(State::Reset)));
    qp.init().expect("it is reset");
    assert_eq!(qp.react(NOW, params().into()), Err(ReactError::State(State::Init)));
    let config = ResponderConfig::default();
    qp.ready_to_receive(Peer::default(), config).expect("it is initialised");
    assert_eq!(qp.react(NOW, params().into()), Err(ReactError::State(State::ReadyToReceive)));
    qp.ready_to_send(RequesterConfig::default()).expect("it is ready to receive");
    assert_eq!(qp.react(NOW, params().into()), Ok(()));
    let wrong = DcqcnParams { gain_shift: 0, ..params() };
    let error = ReactError::Params(ParamsError::GainShift(0));
    assert_eq!(qp.react(NOW, wrong.into()), Err(error));
    qp.fail().expect("it is not reset");
    assert_eq!(qp.react(NOW, params().into()), Err(ReactError::State(State::Error)));
}

#[test]
fn rate_that_changes_is_no_timer_without_a_packet_to_send() {
    let mut qp = pair();
    connect(&mut qp, 0);
    qp.react(NOW, params().into()).expect("they are in range");
    take_at(&mut qp, NOW, notification(OURS));
    assert_eq!(qp.poll_timeout(), None);
    fill(&mut qp, NOW);
    assert!(qp.poll_timeout().is_some_and(|at| at > NOW));
}

/// No expiry of an hour is left over that changes nothing.
#[test]
fn queue_pair_at_the_lines_rate_rests_after_a_long_silence() {
    let mut qp = pair();
    connect(&mut qp, 0);
    qp.react(NOW, params().into()).expect("they are in range");
    assert_eq!(qp.limit(), Some(params().line));
    let now = NOW + Nanos::from_millis(3_600_000);
    // More than what leaves at once after a silence.
    qp.post_send(WorkRequest { len_bytes: 64_000, ..SEND }).expect("there is room");
    while qp.poll_transmit(now).is_some() {}
    assert!(qp.requester().has_packet());
    assert!(qp.poll_timeout().is_some_and(|at| at > now));
}

#[test]
fn reset_ends_the_reaction() {
    let mut qp = pair();
    connect(&mut qp, 0);
    qp.react(NOW, params().into()).expect("they are in range");
    take(&mut qp, from_peer(), notification(OURS));
    qp.reset(OURS);
    connect(&mut qp, 0);
    for id in 0..4 {
        qp.post_send(WorkRequest { id, len_bytes: 1_000, ..SEND }).expect("there is room");
    }
    assert_eq!(std::iter::from_fn(|| qp.poll_transmit(NOW)).count(), 4, "all at once");
    assert_eq!(qp.limit(), None);
}
