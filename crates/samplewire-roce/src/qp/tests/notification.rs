//! What congestion marks of a switch make a queue pair send and cut (A17.9.3).

use super::*;
use crate::wire::Reth;

const D: Nanos = Nanos::from_micros(50);

fn marked() -> Route {
    Route { tos: 0b11, ..from_peer() }
}

/// A frame of the peer, as bytes.
fn frame_of(route: Route, packet: Packet<'_>) -> Vec<u8> {
    let mut bytes = vec![0; packet.frame_len()];
    packet.emit(&route, &mut bytes);
    bytes
}

fn hand_over(qp: &mut TestPair, now: Nanos, route: Route, packet: Packet<'_>) {
    let bytes = frame_of(route, packet);
    let _ = qp.handle(now, &Frame::new_checked(&bytes).expect("what is written can be read"));
}

/// A WRITE that is empty: the responder takes any number of them.
fn write(psn: u32) -> Packet<'static> {
    let reth = Some(Reth { address: 0, key: 7, len_bytes: 0 });
    let Packet { bth, .. } = request(Opcode::WriteOnly, psn, &[]);
    Packet { bth, body: Body::Request { reth, immediate: None, payload: &[] } }
}

/// The frames that leave at `now`.
fn sent(qp: &mut TestPair, now: Nanos) -> Vec<Vec<u8>> {
    let mut frames = vec![];
    while let Some(transmit) = qp.poll_transmit(now) {
        let payload = vec![0; transmit.payload().map_or(0, |at| at.len_bytes as usize)];
        let mut bytes = vec![0; FRAME_BYTES_MAX];
        let len = transmit.emit(qp.route(), &payload, &mut bytes);
        bytes.truncate(len);
        frames.push(bytes);
    }
    frames
}

fn cnps(frames: &[Vec<u8>]) -> usize {
    let opcode = |frame: &&Vec<u8>| Frame::new_checked(frame).expect("valid").packet().bth.opcode;
    frames.iter().filter(|frame| opcode(frame) == Opcode::Cnp).count()
}

fn receiver() -> TestPair {
    let mut qp = pair();
    connect(&mut qp, 0);
    qp
}

/// Opcode 81h, BECN, PSN 0, the peer's queue pair, 16 bytes of zeros, DSCP 48, not ECN-capable.
#[test]
fn marked_request_sends_these_bytes_before_the_acknowledgement() {
    let mut qp = pair();
    qp.init().expect("it is reset");
    let way = Route { tos: 0b10, source_port: 0xC011, ..route() };
    let peer = Peer { number: THEIRS, route: way };
    qp.ready_to_receive(peer, ResponderConfig::default()).expect("it is initialised");
    qp.post_receive(RECEIVE).expect("there is room");
    hand_over(&mut qp, NOW, marked(), request(Opcode::SendOnly, 0, &[1]));
    let frames = sent(&mut qp, NOW);
    assert_eq!((frames.len(), cnps(&frames)), (2, 1));
    let cnp = Frame::new_checked(&frames[0]).expect("its ICRC is right");
    assert_eq!((cnp.packet(), cnp.route().tos), (Packet::cnp(THEIRS), 48 << 2));
    assert_eq!(cnp.route(), way.for_cnp());
    let bth = [0x81, 0, 0xFF, 0xFF, 0x40, 0, 0, 0x22, 0, 0, 0, 0];
    assert_eq!((&frames[0][42..54], &frames[0][54..70]), (&bth[..], &[0; 16][..]));
    assert_eq!(frames[0].len(), 74);
    let stats = qp.stats().0;
    assert_eq!((stats.requests_marked, stats.cnp_sent, stats.taken), (1, 1, 1));
}

#[test]
fn marks_of_an_interval_send_one_notification_at_its_end() {
    let mut qp = receiver();
    for psn in 0..1_000 {
        hand_over(&mut qp, NOW, marked(), write(psn));
    }
    assert_eq!((cnps(&sent(&mut qp, NOW)), qp.poll_timeout()), (1, None));
    hand_over(&mut qp, NOW, marked(), write(1_000));
    let end = NOW + D;
    assert_eq!(qp.poll_timeout(), Some(end));
    assert_eq!(cnps(&sent(&mut qp, Nanos(end.0 - 1))), 0);
    assert_eq!((cnps(&sent(&mut qp, end)), cnps(&sent(&mut qp, end))), (1, 0));
    assert_eq!((qp.stats().0.cnp_sent, qp.poll_timeout()), (2, None));
}

#[test]
fn requests_without_a_mark_send_no_notification() {
    let mut qp = receiver();
    for (psn, tos) in [0, 0b01, 0b10, 0b1111_1100].into_iter().enumerate() {
        let way = Route { tos, ..from_peer() };
        hand_over(&mut qp, NOW, way, write(psn as u32));
    }
    assert_eq!((cnps(&sent(&mut qp, NOW)), qp.stats().0.requests_marked), (0, 0));
}

/// Marks on what is not taken are a stranger's: another queue pair, address, or a wrong ICRC.
#[test]
fn marked_frames_of_others_send_no_notification() {
    let mut qp = receiver();
    let good = write(0);
    let other = Packet { bth: Bth { destination: THEIRS, ..good.bth }, ..good };
    hand_over(&mut qp, NOW, marked(), other);
    hand_over(&mut qp, NOW, Route { source_ip: [192, 0, 2, 3], ..marked() }, good);
    let mut bytes = frame_of(marked(), good);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    assert!(Frame::new_checked(&bytes).is_err(), "a wrong ICRC is no frame");
    assert_eq!((sent(&mut qp, NOW).len(), qp.poll_timeout()), (0, None));
    assert_eq!(qp.stats().0.requests_marked, 0);
}

#[test]
fn failed_connection_sends_no_notification() {
    let mut qp = receiver();
    hand_over(&mut qp, NOW, marked(), write(0));
    qp.fail().expect("it is not reset");
    assert_eq!((cnps(&sent(&mut qp, NOW)), qp.poll_timeout()), (0, None));
}

#[test]
fn receiver_without_an_interval_counts_marks_alone() {
    let mut qp = pair();
    qp.init().expect("it is reset");
    let config = ResponderConfig { cnp_interval: None, ..ResponderConfig::default() };
    qp.ready_to_receive(Peer { number: THEIRS, route: route() }, config).expect("INIT");
    hand_over(&mut qp, NOW, marked(), write(0));
    assert_eq!((cnps(&sent(&mut qp, NOW)), qp.stats().0.requests_marked), (0, 1));
}

/// A sender that waits for acknowledgements of PSN 0 to 3.
fn sender(congested_acks_cut: bool) -> TestPair {
    let mut qp = receiver();
    let config = ReactionConfig { dcqcn: params(), congested_acks_cut };
    qp.react(NOW, config).expect("they are in range");
    for id in 0..4 {
        qp.post_send(WorkRequest { id, len_bytes: 8, ..SEND }).expect("there is room");
    }
    assert_eq!(sent(&mut qp, NOW + D).len(), 4);
    qp
}

#[test]
fn marked_acknowledgements_are_counted_and_cut_where_they_are_to() {
    for (congested_acks_cut, cuts) in [(false, [0, 0, 0]), (true, [1, 1, 2])] {
        let mut qp = sender(congested_acks_cut);
        let begin = NOW + D;
        let times = [begin, Nanos(begin.0 + D.0 - 1), begin + D];
        for (psn, (now, cuts)) in times.into_iter().zip(cuts).enumerate() {
            hand_over(&mut qp, now, marked(), acknowledge(psn as u32, Syndrome::Ack(31)));
            let stats = *qp.stats().0;
            assert_eq!((stats.acks_marked, stats.cuts), (psn as u64 + 1, cuts), "at {now:?}");
        }
        assert_eq!(cnps(&sent(&mut qp, begin + D)), 0, "an acknowledgement is no request");
        assert_eq!(qp.stats().0.cnp_received, 0);
    }
}

/// "ACKs beyond the sent PSN or for another queue pair change nothing."
#[test]
fn marked_acknowledgement_of_what_was_not_sent_cuts_nothing() {
    let mut qp = sender(true);
    let now = NOW + D;
    hand_over(&mut qp, now, marked(), acknowledge(4, Syndrome::Ack(31)));
    hand_over(&mut qp, now, marked(), acknowledge(0, Syndrome::Reserved(0x40)));
    let mut other = acknowledge(0, Syndrome::Ack(31));
    other.bth.destination = THEIRS;
    hand_over(&mut qp, now, marked(), other);
    hand_over(&mut qp, now, from_peer(), acknowledge(0, Syndrome::Ack(31)));
    hand_over(&mut qp, now, marked(), acknowledge(0, Syndrome::Ack(31)));
    assert_eq!((qp.stats().0.acks_marked, qp.stats().0.cuts), (0, 0));
    hand_over(&mut qp, now, marked(), acknowledge(1, Syndrome::Ack(31)));
    assert_eq!((qp.stats().0.acks_marked, qp.stats().0.cuts), (1, 1));
}

/// The marks and notifications of a flood act once in D.
#[test]
fn flood_of_marked_acknowledgements_cuts_once_in_an_interval() {
    let mut qp = sender(true);
    let config = ReactionConfig { dcqcn: params(), congested_acks_cut: true };
    qp.react(NOW, config).expect("they are in range");
    let begin = NOW + D;
    for psn in 0..4 {
        hand_over(&mut qp, begin, marked(), acknowledge(psn, Syndrome::Ack(31)));
        take_at(&mut qp, begin, notification(OURS));
    }
    let stats = *qp.stats().0;
    assert_eq!((stats.acks_marked, stats.cnp_received, stats.cuts), (4, 4, 1));
}
