//! Congestion notifications that the switch sends itself, with frames of two queue pairs.

use super::*;
use samplewire_roce::qp::{Peer, QueuePair};
use samplewire_roce::requester::{RequesterConfig, SendSlot, Verb, WorkRequest};
use samplewire_roce::responder::{ReceiveSlot, ResponderConfig};
use samplewire_roce::wire::{Aeth, Body, Bth, Opcode, Operation, Packet, Route, Syndrome};
use samplewire_roce::{Access, PathMtu, Psn, Qpn, Region};

type Qp = QueuePair<Vec<SendSlot>, Vec<ReceiveSlot>, Vec<Region>>;

mod strangers;

const D: Nanos = Nanos::from_micros(50);

/// One end of a connection, behind a port.
struct Station {
    qp: Qp,
    port: usize,
}

fn route(from: u8, to: u8) -> Route {
    Route {
        source_mac: [2, 0, 0, 0, 0, from],
        destination_mac: [2, 0, 0, 0, 0, to],
        source_ip: [10, 0, 0, from],
        destination_ip: [10, 0, 0, to],
        source_port: 0xC000,
        identification: 0,
        tos: 0b10,
        ttl: 64,
    }
}

/// Two ends of a connection between the stations 1, behind port 0, and 2, behind port 1. The receiver
/// sends no notifications.
fn connection(qpns: [u32; 2], psn: u32) -> [Station; 2] {
    [0, 1].map(|at| {
        let region = Region::new(7, 0, 1 << 20, Access::Write).expect("it fits");
        let slots = (vec![SendSlot::default(); 4], vec![ReceiveSlot::default(); 1]);
        let mut qp = QueuePair::new(Qpn::new(qpns[at]), slots.0, slots.1, vec![region]);
        let (near, far) = (1 + at as u8, 2 - at as u8);
        let peer = Peer { number: Qpn::new(qpns[1 - at]), route: route(near, far) };
        let (psn, mtu) = (Psn::new(psn), PathMtu::Bytes1024);
        let config = ResponderConfig { psn, mtu, cnp_interval: None, ..ResponderConfig::default() };
        qp.init().expect("it is reset");
        qp.ready_to_receive(peer, config).expect("INIT");
        let config = RequesterConfig { psn, mtu, ack_every: 1, ..RequesterConfig::default() };
        qp.ready_to_send(config).expect("RTR");
        Station { qp, port: at }
    })
}

/// The frames that a station sends, in all.
fn frames(station: &mut Station, now: Nanos) -> Vec<Vec<u8>> {
    let mut frames = vec![];
    while let Some(transmit) = station.qp.poll_transmit(now) {
        let payload = vec![0; transmit.payload().map_or(0, |at| at.len_bytes as usize)];
        let mut frame = vec![0; 1_200];
        let len = transmit.emit(station.qp.route(), &payload, &mut frame);
        frame.truncate(len);
        frames.push(frame);
    }
    frames
}

fn post(station: &mut Station, len_bytes: u32) {
    let verb = Verb::Write { address: 0, key: 7 };
    while station.qp.poll_event().is_some() {}
    let request = WorkRequest { verb, len_bytes, ..WorkRequest::default() };
    station.qp.post_send(request).expect("there is room");
}

/// Sends all of a station through the switch at `now`, and what leaves it to the other: the CNPs.
fn carry(switch: &mut EtherSwitch, ends: &mut [Station; 2], from: usize, now: Nanos) -> usize {
    for frame in frames(&mut ends[from], now) {
        switch.handle_frame(now, ends[from].port, &frame);
    }
    deliver(switch, ends, now)
}

/// Hands over what leaves the switch, at `now`: how many are notifications.
fn deliver(switch: &mut EtherSwitch, ends: &mut [Station; 2], now: Nanos) -> usize {
    let mut notified = 0;
    while let Some(departure) = switch.poll_transmit(Nanos(u64::MAX)) {
        let Some(end) = ends.iter_mut().find(|end| end.port == departure.port) else { continue };
        let frame = RoceFrame::new_checked(departure.bytes).expect("its ICRC is right");
        notified += usize::from(is_cnp(&frame));
        let _ = end.qp.handle(now, &frame);
    }
    notified
}

fn is_cnp(frame: &RoceFrame<'_>) -> bool {
    frame.packet().bth.opcode.operation() == Operation::Cnp
}

/// Three ports; every frame that finds another one waiting is marked.
fn marking(cnp: CnpConfig) -> EtherSwitch {
    let at = MarkingPoint::Enqueue;
    let marking = Marking { min_bytes: 1, max_bytes: 1, probability_max: 1.0, at };
    let config = EtherSwitchConfig { marking: Some(marking), cnp: Some(cnp), ..plain(1 << 20) };
    switch(config)
}

const PROXY: CnpConfig = CnpConfig { proxies: true, above_bps: None, interval: D };

/// A message without a mark, and its acknowledgement: the switch has seen both queue pairs.
fn greet(switch: &mut EtherSwitch, ends: &mut [Station; 2]) {
    post(&mut ends[0], 8);
    carry(switch, ends, 0, Nanos(0));
    carry(switch, ends, 1, Nanos(0));
}

#[test]
fn marked_request_notifies_the_queue_pair_of_its_sender_once_in_an_interval() {
    let mut switch = marking(PROXY);
    let mut ends = connection([0x11, 0x22], 0xFF_FFFE);
    greet(&mut switch, &mut ends);
    assert_eq!(switch.ports()[1].marked, 0);
    let begin = Nanos::from_millis(1);
    // The third and the fourth frame of each message leave with a mark, 26 and 35 us later. The second
    // mark is due when the interval has passed and a packet comes.
    for (us, expected) in [(0, 1), (100, 1), (110, 0)] {
        let now = begin + Nanos::from_micros(us);
        post(&mut ends[0], 4_096);
        assert_eq!(carry(&mut switch, &mut ends, 0, now), expected, "at {now:?}");
        carry(&mut switch, &mut ends, 1, now);
    }
    let [to_sender, to_receiver, other] = switch.ports() else { panic!("three ports") };
    assert_eq!(to_receiver.marked, 6, "two of each message");
    assert_eq!((to_sender.cnp_forged, to_sender.cnp_forwarded, to_sender.cnp_refused), (2, 0, 0));
    assert_eq!(to_receiver.bytes_forwarded, to_sender.bytes_out - 2 * 98, "CNPs are not its own");
    assert_eq!((to_receiver.cnp_forged, other.cnp_forged), (0, 0));
    assert_eq!(ends[0].qp.stats().0.cnp_received, 2, "they are for its queue pair");
    assert_eq!(ends[0].qp.stats().0.other_number, 0);
}

/// What the sender gets is what the receiver would have sent.
#[test]
fn notification_has_the_bytes_of_the_receivers_own() {
    let mut switch = marking(PROXY);
    let mut ends = connection([0x11, 0x22], 0);
    greet(&mut switch, &mut ends);
    post(&mut ends[0], 8_192);
    for frame in frames(&mut ends[0], D) {
        switch.handle_frame(D, 0, &frame);
    }
    let mut found = None;
    while let Some(departure) = switch.poll_transmit(LATER) {
        let frame = RoceFrame::new_checked(departure.bytes).expect("its ICRC is right");
        if is_cnp(&frame) {
            assert_eq!(departure.port, 0);
            found = Some((frame.packet().bth, frame.route(), departure.bytes.len()));
        }
    }
    let (bth, way, len) = found.expect("it is notified");
    assert_eq!(bth, Packet::cnp(Qpn::new(0x11)).bth);
    assert_eq!((way, len), (Route { source_port: 0xC000, ..route(2, 1).for_cnp() }, 74));
}

#[test]
fn sender_that_was_never_acknowledged_is_not_notified_but_counted() {
    let mut switch = marking(PROXY);
    let mut ends = connection([0x11, 0x22], 0);
    post(&mut ends[0], 8_192);
    assert_eq!(carry(&mut switch, &mut ends, 0, Nanos(0)), 0);
    assert_eq!((switch.ports()[0].cnp_refused, switch.ports()[0].cnp_forged), (1, 0));
}

/// Two connections between the same stations are distinguished by their PSNs.
#[test]
fn notifications_go_to_the_right_one_of_two_connections() {
    let mut switch = marking(PROXY);
    let mut ends = connection([0x11, 0x22], 0);
    let mut others = connection([0x33, 0x44], 0x80_0000);
    greet(&mut switch, &mut ends);
    greet(&mut switch, &mut others);
    for (pair, number) in [(&mut ends, 0x11), (&mut others, 0x33)] {
        post(&mut pair[0], 8_192);
        let now = Nanos::from_millis(1);
        assert_eq!(carry(&mut switch, pair, 0, now), 1);
        let stats = *pair[0].qp.stats().0;
        assert_eq!((stats.cnp_received, stats.other_number), (1, 0), "{number:x}");
        carry(&mut switch, pair, 1, now);
    }
}

/// Neither is notified for the other.
#[test]
fn connections_that_look_alike_are_not_notified() {
    let mut switch = marking(PROXY);
    let mut ends = connection([0x11, 0x22], 100);
    let mut others = connection([0x33, 0x44], 100);
    post(&mut ends[0], 8);
    post(&mut others[0], 8);
    carry(&mut switch, &mut ends, 0, Nanos(0));
    carry(&mut switch, &mut others, 0, Nanos(0));
    carry(&mut switch, &mut ends, 1, Nanos(0));
    carry(&mut switch, &mut others, 1, Nanos(0));
    post(&mut ends[0], 8_192);
    assert_eq!(carry(&mut switch, &mut ends, 0, D), 0);
    assert_eq!(switch.ports()[0].cnp_refused, 1);
}

/// The same receiver, connected again: the sender's queue pair has another number.
#[test]
fn number_of_the_sender_ends_with_its_connection() {
    let mut switch = marking(PROXY);
    let mut ends = connection([0x11, 0x22], 0);
    greet(&mut switch, &mut ends);
    // It ends with what the receiver did for it.
    let mut cnp = [0; 74];
    Packet::cnp(Qpn::new(0x11)).emit(&route(2, 1).for_cnp(), &mut cnp);
    switch.handle_frame(Nanos(0), 1, &cnp);
    deliver(&mut switch, &mut ends, Nanos(0));
    let mut again = connection([0x55, 0x22], 0x40_0000);
    post(&mut again[0], 8_192);
    assert_eq!(carry(&mut switch, &mut again, 0, D), 0);
    assert_eq!(switch.ports()[0].cnp_refused, 1, "0x11 is not the sender any more");
    carry(&mut switch, &mut again, 1, D);
    post(&mut again[0], 8_192);
    assert_eq!(carry(&mut switch, &mut again, 0, Nanos(2 * D.0)), 1);
    assert_eq!(again[0].qp.stats().0.cnp_received, 1);
}

#[test]
fn receiver_that_sends_its_own_is_left_to_it() {
    let mut switch = marking(PROXY);
    let mut ends = connection([0x11, 0x22], 0);
    greet(&mut switch, &mut ends);
    let mut cnp = [0; 74];
    Packet::cnp(Qpn::new(0x11)).emit(&route(2, 1).for_cnp(), &mut cnp);
    switch.handle_frame(Nanos(0), 1, &cnp);
    assert_eq!(deliver(&mut switch, &mut ends, Nanos(0)), 1);
    post(&mut ends[0], 8_192);
    assert_eq!(carry(&mut switch, &mut ends, 0, D), 0);
    let port = switch.ports()[0];
    assert_eq!((port.cnp_forwarded, port.cnp_forged, port.cnp_refused), (1, 0, 0));
}

/// A frame of 1,024 bytes has 1,098 on the wire: 8.784 us at 1 Gb/s.
#[test]
fn flow_above_a_rate_is_notified_and_one_below_is_not() {
    for (spacing_ns, is_above) in [(18_000, false), (17_000, true)] {
        let config = CnpConfig { proxies: false, above_bps: Some(500_000_000), interval: D };
        let mut switch = marking(config);
        let mut ends = connection([0x11, 0x22], 0);
        greet(&mut switch, &mut ends);
        let mut notified = 0;
        for step in 1..1_000 {
            let now = Nanos(step * spacing_ns);
            post(&mut ends[0], 1_024);
            notified += carry(&mut switch, &mut ends, 0, now);
            carry(&mut switch, &mut ends, 1, now);
        }
        assert_eq!(notified > 10, is_above, "{notified} at {spacing_ns} ns");
        assert!(is_above || notified == 0, "{notified} at {spacing_ns} ns");
        let most = 1_000 * spacing_ns / D.0 + 1;
        assert!(notified as u64 <= most, "{notified}, at most one in D");
        assert_eq!(switch.ports()[0].cnp_forged, notified as u64);
    }
}

/// A flood of flows, true or not, takes no more memory, and the known flow is soon known again.
#[test]
fn strange_flows_take_a_bounded_place() {
    let mut switch = marking(PROXY);
    let mut ends = connection([0x11, 0x22], 0);
    greet(&mut switch, &mut ends);
    for number in 0..100_000u32 {
        let [_, b, c, d] = number.to_be_bytes();
        let way = Route { source_ip: [172, b, c, d], ..route(1, 2) };
        let mut frame = vec![0; 1_200];
        let bth = Bth::new(Opcode::SendOnly, Qpn::new(number), Psn::new(0));
        let body = Body::Request { reth: None, immediate: None, payload: &[0; 4] };
        let len = Packet { bth, body }.emit(&way, &mut frame);
        switch.handle_frame(Nanos(0), 0, &frame[..len]);
        while switch.poll_transmit(LATER).is_some() {}
    }
    post(&mut ends[0], 8);
    carry(&mut switch, &mut ends, 0, D);
    carry(&mut switch, &mut ends, 1, D);
    post(&mut ends[0], 8_192);
    assert_eq!(carry(&mut switch, &mut ends, 0, Nanos(3 * D.0)), 1);
}

#[test]
fn damaged_frame_notifies_no_one() {
    let mut switch = marking(PROXY);
    let mut ends = connection([0x11, 0x22], 0);
    greet(&mut switch, &mut ends);
    post(&mut ends[0], 8_192);
    for mut frame in frames(&mut ends[0], D) {
        let last = frame.len() - 1;
        frame[last] ^= 1;
        switch.handle_frame(D, 0, &frame);
    }
    while switch.poll_transmit(LATER).is_some() {}
    let [to_sender, to_receiver, _] = switch.ports() else { panic!("three ports") };
    assert!(to_receiver.marked > 0);
    assert_eq!((to_sender.cnp_forged, to_sender.cnp_refused), (0, 0));
}

/// However long it was above.
#[test]
fn flow_that_slows_down_is_no_longer_notified() {
    let config = CnpConfig { proxies: false, above_bps: Some(500_000_000), interval: D };
    let mut switch = marking(config);
    let mut ends = connection([0x11, 0x22], 0);
    greet(&mut switch, &mut ends);
    let mut now = Nanos(0);
    let mut notified = |spacing_ns, frames| {
        let mut notified = 0;
        for _ in 0..frames {
            now = now + Nanos(spacing_ns);
            post(&mut ends[0], 1_024);
            notified += carry(&mut switch, &mut ends, 0, now);
            carry(&mut switch, &mut ends, 1, now);
        }
        notified
    };
    assert!(notified(9_000, 2_000) > 100);
    notified(18_000, 5);
    assert_eq!(notified(18_000, 1_000), 0);
}

#[test]
fn acknowledgement_of_a_packet_that_was_not_seen_names_no_sender() {
    for (psn, is_known) in [(100, true), (101, false)] {
        let mut switch = marking(PROXY);
        let mut ends = connection([0x11, 0x22], 100);
        post(&mut ends[0], 8);
        carry(&mut switch, &mut ends, 0, Nanos(0));
        let aeth = Aeth { syndrome: Syndrome::Ack(31), msn: 0 };
        let bth = Bth::new(Opcode::Acknowledge, Qpn::new(0x11), Psn::new(psn));
        let mut ack = [0; 62];
        Packet { bth, body: Body::Acknowledge(aeth) }.emit(&route(2, 1), &mut ack);
        switch.handle_frame(Nanos(0), 1, &ack);
        deliver(&mut switch, &mut ends, Nanos(0));
        post(&mut ends[0], 8_192);
        assert_eq!(carry(&mut switch, &mut ends, 0, D), usize::from(is_known), "PSN {psn}");
    }
}
