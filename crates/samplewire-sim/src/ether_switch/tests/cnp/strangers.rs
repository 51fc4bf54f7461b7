//! What a station does that sends under the addresses of others.

use super::*;

/// A request of 4 bytes under the address of station 1, from another Ethernet address.
fn forged_request(number: u32, psn: u32) -> Vec<u8> {
    let way = Route { source_mac: [2, 0, 0, 0, 0, 9], ..route(1, 2) };
    let bth = Bth::new(Opcode::SendOnly, Qpn::new(number), Psn::new(psn));
    let body = Body::Request { reth: None, immediate: None, payload: &[0; 4] };
    let mut frame = vec![0; 100];
    let len = Packet { bth, body }.emit(&way, &mut frame);
    frame.truncate(len);
    frame
}

/// An acknowledgement of station 2, true or not.
fn ack(number: u32, psn: u32) -> Vec<u8> {
    let aeth = Aeth { syndrome: Syndrome::Ack(31), msn: 0 };
    let bth = Bth::new(Opcode::Acknowledge, Qpn::new(number), Psn::new(psn));
    let mut frame = vec![0; 62];
    Packet { bth, body: Body::Acknowledge(aeth) }.emit(&route(2, 1), &mut frame);
    frame
}

/// Frames that come in by a port at `now`; what leaves the switch is not looked at.
fn pass(switch: &mut EtherSwitch, port: usize, now: Nanos, frames: &[Vec<u8>]) {
    for frame in frames {
        switch.handle_frame(now, port, frame);
        while switch.poll_transmit(LATER).is_some() {}
    }
}

/// The notifications that a message of four packets brings about; the last ones are marked.
fn notified(switch: &mut EtherSwitch, ends: &mut [Station; 2], now: Nanos) -> usize {
    post(&mut ends[0], 4_096);
    carry(switch, ends, 0, now)
}

#[test]
fn foreign_psn_changes_neither_the_sender_nor_the_time_of_a_notification() {
    let mut switch = marking(PROXY);
    let mut ends = connection([0x11, 0x22], 0);
    greet(&mut switch, &mut ends);
    for round in 1..5 {
        let now = Nanos(D.0 * 2 * round);
        // Two at once: one waits and is marked.
        let frames = [forged_request(0x22, 0x40_0000), forged_request(0x22, 0x50_0000)];
        for _ in 0..2 {
            frames.iter().for_each(|frame| switch.handle_frame(now, 2, frame));
        }
        while switch.poll_transmit(LATER).is_some() {}
        assert_eq!(notified(&mut switch, &mut ends, now), 1);
        carry(&mut switch, &mut ends, 1, now);
    }
    assert!(switch.ports()[2].cnp_refused >= 4, "those to the stranger are");
}

/// With a window of PSNs around the last one, two requests would move it away from the true ones.
#[test]
fn stranger_does_not_lead_the_window_away() {
    let mut switch = marking(PROXY);
    let mut ends = connection([0x11, 0x22], 0);
    greet(&mut switch, &mut ends);
    for sign in [1, -1i32] {
        let step = |at: i32| forged_request(0x22, (sign * at * 0x3000) as u32);
        let walk: Vec<_> = (0..20).map(step).collect();
        pass(&mut switch, 2, D, &walk);
    }
    assert_eq!(notified(&mut switch, &mut ends, Nanos(D.0 * 2)), 1);
}

/// The stranger is behind port 2.
#[test]
fn notification_leaves_by_the_port_that_its_request_came_in_by() {
    let mut switch = marking(PROXY);
    let mut ends = connection([0x11, 0x22], 0);
    greet(&mut switch, &mut ends);
    post(&mut ends[0], 8_192);
    for frame in frames(&mut ends[0], D) {
        switch.handle_frame(D, 0, &frame);
    }
    // After the requests have come in and before they are marked.
    switch.handle_frame(D, 2, &forged_request(0x22, 1));
    deliver(&mut switch, &mut ends, D);
    assert_eq!((switch.ports()[0].cnp_forged, switch.ports()[2].cnp_forged), (1, 0));
    assert_eq!(ends[0].qp.stats().0.cnp_received, 1);
}

/// One forged notification silences the switch for a second at most.
#[test]
fn receiver_that_stops_its_own_notifications_is_stood_in_for_again() {
    let mut switch = marking(PROXY);
    let mut ends = connection([0x11, 0x22], 0);
    greet(&mut switch, &mut ends);
    let mut cnp = vec![0; 74];
    Packet::cnp(Qpn::new(0x11)).emit(&route(2, 1).for_cnp(), &mut cnp);
    pass(&mut switch, 1, Nanos(0), &[cnp]);
    for (ms, expected) in [(999, 0), (1_001, 1)] {
        let now = Nanos::from_millis(ms);
        assert_eq!(notified(&mut switch, &mut ends, now), expected, "after {ms} ms");
        carry(&mut switch, &mut ends, 1, now);
    }
}

/// There are more of them than places between two addresses.
#[test]
fn flow_that_is_in_use_keeps_its_place_among_strangers() {
    let mut switch = marking(PROXY);
    let mut ends = connection([0x11, 0x22], 0);
    greet(&mut switch, &mut ends);
    let many: Vec<_> = (0..100).map(|at| forged_request(0x1000 + at, 0x40_0000 + at)).collect();
    pass(&mut switch, 2, D, &many);
    assert_eq!(notified(&mut switch, &mut ends, Nanos(D.0 * 2)), 1);
    // Its last request counts, not its first.
    pass(&mut switch, 2, Nanos::from_millis(1_000), &many);
    carry(&mut switch, &mut ends, 1, Nanos::from_millis(1_000));
    assert_eq!(notified(&mut switch, &mut ends, Nanos::from_millis(1_000)), 1);
    // One that is idle for a second gives its place up.
    pass(&mut switch, 2, Nanos::from_millis(2_001), &many);
    let now = Nanos::from_millis(2_002);
    assert_eq!(notified(&mut switch, &mut ends, now), 0);
    carry(&mut switch, &mut ends, 1, now);
    assert_eq!(notified(&mut switch, &mut ends, now + D + D), 1, "it is learned again");
}

/// A flow below its rate, however many foreign requests there are.
#[test]
fn foreign_requests_do_not_use_up_the_rate_of_a_flow() {
    let config = CnpConfig { proxies: false, above_bps: Some(500_000_000), interval: D };
    let mut switch = marking(config);
    let mut ends = connection([0x11, 0x22], 0);
    greet(&mut switch, &mut ends);
    let many = vec![forged_request(0x22, 0x40_0000); 1_000];
    let now = Nanos::from_millis(10);
    pass(&mut switch, 2, now, &many);
    assert_eq!(notified(&mut switch, &mut ends, now), 0);
}

#[test]
fn acknowledgement_of_the_last_request_counts_after_a_repeat() {
    let mut switch = marking(PROXY);
    let mut ends = connection([0x11, 0x22], 0);
    pass(&mut switch, 0, Nanos(0), &[forged_request(0x22, 5), forged_request(0x22, 3)]);
    pass(&mut switch, 1, Nanos(0), &[ack(0x11, 5)]);
    assert_eq!(notified(&mut switch, &mut ends, D), 1);
}

/// A stranger's request lies between each one of a sender and its acknowledgement.
#[test]
fn sender_is_learned_beside_a_foreign_psn() {
    for foreign in [0x40_0000, 0xC0_0000] {
        let mut switch = marking(PROXY);
        let mut ends = connection([0x11, 0x22], 0);
        let stranger = [forged_request(0x22, foreign)];
        pass(&mut switch, 2, Nanos(0), &stranger);
        post(&mut ends[0], 8);
        carry(&mut switch, &mut ends, 0, Nanos(0));
        pass(&mut switch, 2, Nanos(0), &stranger);
        carry(&mut switch, &mut ends, 1, Nanos(0));
        assert_eq!(notified(&mut switch, &mut ends, D), 1, "beside {foreign:#x}");
    }
}

/// The window follows the acknowledgements, around the end of the numbers and beside a flow that
/// looks alike.
#[test]
fn flow_is_followed_over_many_windows_beside_one_that_looks_alike() {
    let mut switch = marking(PROXY);
    let first = 0xFF_0000;
    let at = |step: u32| Psn::new(first).get().wrapping_add(step);
    pass(&mut switch, 0, Nanos(0), &[forged_request(0x22, at(0))]);
    pass(&mut switch, 1, Nanos(0), &[ack(0x11, at(0))]);
    for step in (1..200_000).step_by(1_000) {
        let requests = [forged_request(0x22, at(step)), forged_request(0x44, at(step))];
        pass(&mut switch, 0, Nanos(u64::from(step)), &requests);
        pass(&mut switch, 1, Nanos(u64::from(step)), &[ack(0x11, at(step))]);
    }
    let now = Nanos::from_millis(10);
    for step in 200_000..200_003 {
        switch.handle_frame(now, 0, &forged_request(0x22, at(step)));
    }
    while switch.poll_transmit(LATER).is_some() {}
    assert_eq!((switch.ports()[0].cnp_forged, switch.ports()[0].cnp_refused), (1, 0));
}
