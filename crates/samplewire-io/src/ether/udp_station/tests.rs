use std::net::Ipv4Addr;

use super::*;
use crate::link::Ecn;

const ME: [u8; 6] = [2, 0, 0, 0, 0, 1];
const PEER: [u8; 6] = [2, 0, 0, 0, 0, 2];
const PORT: u16 = 5_000;

fn stations() -> (UdpStation, UdpStation) {
    let make = |text: &str, mac| UdpStation::new(text.parse().unwrap(), PORT, mac);
    (make("10.0.0.1/24", ME), make("10.0.0.2/24", PEER))
}

fn now(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn handle(station: &mut UdpStation, frame: &[u8]) -> Option<Datagram> {
    station.handle(now(0), frame, CardChecks::default())
}

/// A packet of the peer to the station.
fn frame(payload: &[u8]) -> Vec<u8> {
    let (me, peer) = stations();
    let packet = Outgoing::whole(me.local_addr().into(), Ecn::Ect0, payload);
    let mut ethernet = [&ME[..], &PEER, &[0x08, 0x00]].concat();
    let mut frame = vec![0xEE; UdpStation::frame_bytes(&packet)];
    peer.write(*ethernet.first_chunk_mut().unwrap(), &packet, &mut frame);
    frame
}

/// An echo request of the peer, with its checksums.
fn echo(body: &[u8]) -> Vec<u8> {
    let mut message = [&[8, 0, 0, 0, 0, 7, 0, 1], body].concat();
    let checksum = sum_of(&[&message]).complement();
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    let mut frame = frame(body);
    frame[23] = IpNumber::ICMP.0;
    frame.truncate(34);
    frame.extend(message);
    seal(&mut frame);
    frame
}

/// Makes the length and the checksum of the IP header right.
fn seal(frame: &mut [u8]) {
    let len_bytes = (frame.len() - ETHERNET_BYTES) as u16;
    frame[16..18].copy_from_slice(&len_bytes.to_be_bytes());
    seal_header(frame);
}

fn seal_header(frame: &mut [u8]) {
    frame[24..26].fill(0);
    let checksum = sum_of(&[&frame[14..34]]).complement();
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
}

#[test]
fn packets_of_any_length_are_read_back_and_short_ones_are_padded() {
    let (mut me, peer) = stations();
    for len_bytes in [0, 1, 17, 18, 19, 1_472, 8_950] {
        let payload: Vec<u8> = (0..len_bytes).map(|at| (at * 7) as u8).collect();
        let frame = frame(&payload);
        assert!(frame.len() >= 60);
        let datagram = handle(&mut me, &frame).unwrap();
        assert_eq!((datagram.source, datagram.ecn), (peer.local_addr().into(), Ecn::Ect0));
        let start = datagram.payload_offset_bytes;
        assert_eq!(frame[start..start + datagram.payload_bytes], payload);
        assert!(frame[start + len_bytes..].iter().all(|byte| *byte == 0), "old bytes leave");
    }
    assert_eq!(me.counts(), FrameCounts::default());
}

#[test]
fn strangers_frames_are_dropped_and_counted_by_reason() {
    let (mut me, _) = stations();
    let mut drop = |change: fn(&mut Vec<u8>)| {
        let mut frame = frame(&[7; 100]);
        change(&mut frame);
        assert_eq!(handle(&mut me, &frame), None);
        assert_eq!(me.poll_frame(), None);
        me.counts()
    };
    drop(|frame| frame[0] ^= 2);
    drop(|frame| frame[12] = 0x86);
    let counts = drop(|frame| {
        frame[33] = 9;
        seal_header(frame);
    });
    assert_eq!(counts.others, 3);
    drop(|frame| frame[25] ^= 1);
    drop(|frame| frame[80] ^= 1);
    let counts = drop(|frame| frame[41] ^= 1);
    assert_eq!(counts.checksums, 3, "of the IP header, the payload and the field itself");
    drop(|frame| {
        frame[20] |= 0x20;
        seal_header(frame);
    });
    let counts = drop(|frame| {
        frame[21] = 1;
        seal_header(frame);
    });
    assert_eq!(counts.fragments, 2, "the first one, and one behind it");
    drop(|frame| frame[37] ^= 1);
    let counts = drop(|frame| {
        frame[23] = 6;
        seal_header(frame);
    });
    assert_eq!(counts.other_ports, 2, "another port, and TCP");
    drop(|frame| frame.truncate(13));
    drop(|frame| frame.truncate(100));
    let counts = drop(|frame| frame[38..40].copy_from_slice(&[0, 7]));
    assert_eq!(counts.malformed, 3);
    assert_eq!((counts.answered, counts.unanswered, counts.unresolved), (0, 0, 0));
}

#[test]
fn checksum_is_right_absent_or_left_to_a_card() {
    let (mut me, _) = stations();
    let mut absent = frame(&[7; 100]);
    absent[40..42].fill(0);
    assert!(handle(&mut me, &absent).is_some());
    // Linux writes this where the interface is to complete the sum.
    let mut partial = frame(&[7; 100]);
    let length = [partial[38], partial[39]];
    let pseudo = sum_of(&[&partial[26..34], &[0, 17], &length]);
    partial[40..42].copy_from_slice(&(!pseudo.complement()).to_be_bytes());
    assert!(handle(&mut me, &partial).is_some());
    // The card decides, where it has checked.
    let good = frame(&[7; 100]);
    let checks = |ip, udp| CardChecks { ip, udp };
    for wrong in [checks(Verdict::Wrong, Verdict::Right), checks(Verdict::Right, Verdict::Wrong)] {
        assert_eq!(me.handle(now(0), &good, wrong), None);
    }
    let mut wrong = good;
    wrong[41] ^= 1;
    assert!(me.handle(now(0), &wrong, checks(Verdict::Right, Verdict::Right)).is_some());
    assert_eq!(me.counts().checksums, 2);
}

#[test]
fn echo_request_is_answered_to_its_sender() {
    let (mut me, _) = stations();
    for body in [&[0xA5; 1_400][..], b"", b"x"] {
        let request = echo(body);
        assert_eq!(handle(&mut me, &request), None);
        let answer = me.poll_frame().unwrap().to_vec();
        assert_eq!(me.poll_frame(), None, "once");
        assert_eq!([&answer[..6], &answer[6..12]], [&PEER, &ME]);
        assert_eq!([&answer[26..30], &answer[30..34]], [[10, 0, 0, 1], [10, 0, 0, 2]]);
        assert_eq!(sum_of(&[&answer[14..34]]).complement(), 0);
        assert_eq!(sum_of(&[&answer[34..]]).complement(), 0);
        assert_eq!(answer[34..36], [0, 0]);
        assert_eq!(answer.len(), request.len().max(60));
        let (whole, padding) = answer.split_at(request.len());
        assert_eq!(whole[38..], request[38..], "identifier, number and body");
        assert!(padding.iter().all(|byte| *byte == 0), "old bytes leave");
    }
    assert_eq!(me.counts(), FrameCounts { answered: 3, ..FrameCounts::default() });
    let mut damaged = echo(b"body");
    *damaged.last_mut().unwrap() ^= 1;
    assert_eq!(handle(&mut me, &damaged), None);
    let mut of_group = echo(b"body");
    of_group[26] = 224;
    seal_header(&mut of_group);
    assert_eq!(handle(&mut me, &of_group), None);
    assert_eq!(me.poll_frame(), None);
    assert_eq!((me.counts().checksums, me.counts().other_ports), (1, 1));
}

#[test]
fn flood_of_requests_gets_few_answers() {
    let (mut me, peer) = stations();
    let who_has = Arp::request((*peer.local_addr().ip(), PEER), *me.local_addr().ip()).frame();
    let mut answered = |ms: u64, frame: &[u8]| {
        let mut answers = 0;
        for _ in 0..200 {
            me.handle(now(ms), frame, CardChecks::default());
            answers += usize::from(me.poll_frame().is_some());
        }
        answers
    };
    assert_eq!(answered(10_000, &who_has), 64);
    assert_eq!(answered(10_000, &echo(b"ping")), 64, "of a bucket of its own");
    assert_eq!(answered(10_003, &who_has), 3);
    assert_eq!((me.counts().answered, me.counts().unanswered), (131, 600 - 131));
}

#[test]
fn answer_that_does_not_leave_counts_as_none() {
    let (mut me, peer) = stations();
    let who_has = Arp::request((*peer.local_addr().ip(), PEER), *me.local_addr().ip()).frame();
    for request in [&who_has[..], &echo(b"ping")] {
        handle(&mut me, request);
        assert!(me.poll_frame().is_some());
        me.frame_lost();
    }
    me.way(now(0), peer.local_addr().into());
    assert!(me.poll_frame().is_some(), "a request is no answer");
    me.frame_lost();
    assert_eq!((me.counts().answered, me.counts().unanswered), (0, 2));
}

#[test]
fn packets_and_messages_of_no_other_station_are_dropped() {
    let (mut me, peer) = stations();
    let sources: [[u8; 4]; 7] = [
        [10, 0, 0, 1],
        [10, 0, 0, 255],
        [10, 0, 0, 0],
        [255; 4],
        [224, 0, 0, 1],
        [0; 4],
        [127, 0, 0, 1],
    ];
    for source in sources {
        let mut frame = frame(&[7; 100]);
        frame[26..30].copy_from_slice(&source);
        seal_header(&mut frame);
        // The source is in the sum of the packet too.
        frame[40..42].fill(0);
        assert_eq!(handle(&mut me, &frame), None, "{source:?}");
    }
    assert_eq!(me.counts(), FrameCounts { sources: 7, ..FrameCounts::default() });
    let of_group = Arp::request((*peer.local_addr().ip(), [3; 6]), *me.local_addr().ip());
    handle(&mut me, &of_group.frame());
    let mut reverse = of_group.frame();
    reverse[21] = 3;
    reverse[22] = 2;
    handle(&mut me, &reverse);
    handle(&mut me, &reverse[..41]);
    let expected = FrameCounts { sources: 8, others: 1, malformed: 1, ..FrameCounts::default() };
    assert_eq!(me.counts(), expected);
    assert_eq!(me.poll_frame(), None);
}

#[test]
fn announcement_and_request_do_not_change_a_known_station() {
    let (mut me, mut peer) = stations();
    let address = peer.local_addr().into();
    me.way(now(0), address);
    let request = me.poll_frame().unwrap().to_vec();
    handle(&mut peer, &request);
    let answer = peer.poll_frame().unwrap().to_vec();
    handle(&mut me, &answer);
    let (ip, forged) = (*peer.local_addr().ip(), [2, 0, 0, 0, 0, 9]);
    let mut announcement =
        Arp { is_request: false, sender: (ip, forged), target: (ip, forged) }.frame();
    announcement[..6].fill(0xFF);
    let requests = [Arp::request((ip, forged), me.network.ip()), Arp::request((ip, forged), ip)];
    let late = Arp { is_request: false, sender: (ip, forged), target: (me.network.ip(), ME) };
    for ms in [1, 30_000] {
        // The later time has a refresh under way, which only a reply ends.
        let Way::To(ethernet) = me.way(now(ms), address) else { panic!("it is known") };
        assert_eq!(ethernet[..6], PEER);
        handle(&mut me, &announcement);
        for request in &requests {
            handle(&mut me, &request.frame());
        }
        if ms == 1 {
            handle(&mut me, &late.frame());
        }
    }
    let Way::To(ethernet) = me.way(now(30_001), address) else { panic!("it is known") };
    assert_eq!(ethernet[..6], PEER);
}

#[test]
fn station_is_asked_for_before_it_is_sent_to() {
    let (mut me, mut peer) = stations();
    let address = peer.local_addr().into();
    // A reply to no request is not believed.
    let reply = Arp {
        is_request: false,
        sender: (Ipv4Addr::new(10, 0, 0, 2), ME),
        target: (me.network.ip(), ME),
    };
    handle(&mut me, &reply.frame());
    assert_eq!(me.way(now(0), address), Way::Unknown);
    let request = me.poll_frame().unwrap().to_vec();
    assert_eq!(me.way(now(1), address), Way::Unknown);
    assert_eq!(me.poll_frame(), None, "it was asked a moment ago");
    assert_eq!(me.counts().unresolved, 2);
    handle(&mut peer, &request);
    let answer = peer.poll_frame().unwrap().to_vec();
    handle(&mut me, &answer);
    let Way::To(ethernet) = me.way(now(2), address) else { panic!("it has answered") };
    assert_eq!(ethernet[..], [&PEER[..], &ME, &[0x08, 0x00]].concat());
    for far in ["10.0.1.2:1", "[::1]:1"] {
        assert_eq!(me.way(now(2), far.parse().unwrap()), Way::NoRoute);
    }
}
