//! What the responder answers, and what reaches memory.

use super::*;
use crate::number::{PathMtu, Qpn};
use crate::region::Access;
use crate::wire::{Bth, RnrTimer};

type TestResponder = Responder<Vec<ReceiveSlot>, Vec<Region>>;

const START: u32 = U24_MAX - 1;
const KEY: u32 = 0x77;
const ADDRESS: u64 = 0x10_0000;
const TIMER: u8 = 9;

fn responder() -> TestResponder {
    let config = ResponderConfig {
        psn: Psn::new(START),
        mtu: PathMtu::Bytes256,
        rnr_timer: RnrTimer::new(TIMER).expect("it is below 32"),
        ..ResponderConfig::default()
    };
    let region = |key, access| Region::new(key, ADDRESS, 1_000, access).expect("it fits");
    let regions = vec![region(KEY + 1, Access::None), region(KEY, Access::Write)];
    Responder::new(config, vec![ReceiveSlot::default(); 4], regions)
}

/// A packet whose PSN is `at` packets after the first; it requests an ACK.
fn packet<'a>(at: u32, opcode: Opcode, payload: &'a [u8]) -> Packet<'a> {
    let bth = Bth::new(opcode, Qpn::new(1), Psn::new(START) + at);
    let reth = Reth { address: ADDRESS, key: KEY, len_bytes: payload.len() as u32 };
    let body = Body::Request {
        reth: opcode.has_reth().then_some(reth),
        immediate: opcode.has_immediate().then_some(0xABCD),
        payload,
    };
    Packet { bth: Bth { ack_request: true, ..bth }, body }
}

fn write(at: u32, opcode: Opcode, payload: &[u8], of: u32) -> Packet<'_> {
    let mut packet = packet(at, opcode, payload);
    if let Body::Request { reth: Some(reth), .. } = &mut packet.body {
        reth.len_bytes = of;
    }
    packet
}

/// Hands over a packet of which only the answer matters.
fn take(responder: &mut TestResponder, packet: &Packet<'_>) {
    let _ = responder.handle(packet);
}

/// The answer's PSN as a distance from the first, its syndrome and MSN.
fn answer(responder: &mut TestResponder) -> Option<(i32, u8, u32)> {
    let response = responder.poll_transmit()?;
    let at = response.psn.distance(Psn::new(START));
    assert_eq!(responder.poll_transmit(), None, "one answer is due at a time");
    Some((at, response.aeth.syndrome.number(), response.aeth.msn))
}

const FULL: [u8; 256] = [7; 256];
const ACK: u8 = 0x1F;

/// IB 9.7.5: PSN of the newest packet, MSN of completed messages; credit 31 counts nothing.
#[test]
fn messages_are_placed_and_acknowledged_across_the_wrap_of_the_psn() {
    let mut it = responder();
    it.post_receive(ReceiveRequest { id: 5, len_bytes: 300 }).expect("there is room");
    let placement = it.handle(&packet(0, Opcode::SendFirst, &FULL));
    assert_eq!(placement, Placement::Receive { id: 5, offset: 0 });
    assert_eq!(answer(&mut it), Some((0, ACK, 0)), "no message is complete");
    let placement = it.handle(&packet(1, Opcode::SendLastImmediate, &[1; 44]));
    assert_eq!(placement, Placement::Receive { id: 5, offset: 256 });
    assert_eq!(answer(&mut it), Some((1, ACK, 1)));
    let status = ReceiveStatus::Send { len_bytes: 300, immediate: Some(0xABCD) };
    assert_eq!(it.poll_event(), Some(ReceiveCompletion { id: 5, status }));
    for (at, opcode, len) in
        [(2, Opcode::WriteFirst, 256), (3, Opcode::WriteMiddle, 256), (4, Opcode::WriteLast, 3)]
    {
        let placement = it.handle(&write(at, opcode, &FULL[..len], 515));
        let offset = 256 * u64::from(at - 2);
        assert_eq!(placement, Placement::Region { region: 1, offset });
    }
    assert_eq!(answer(&mut it), Some((4, ACK, 2)), "three requests, one answer");
    assert_eq!(it.poll_event(), None, "a WRITE without immediate completes nothing here");
    assert_eq!((it.expected(), it.fault()), (Psn::new(3), None));
}

#[test]
fn packet_without_an_ack_request_is_not_answered() {
    let mut it = responder();
    let mut first = write(0, Opcode::WriteFirst, &FULL, 257);
    first.bth.ack_request = false;
    take(&mut it, &first);
    assert_eq!(answer(&mut it), None);
    take(&mut it, &write(1, Opcode::WriteLast, &[1], 257));
    assert_eq!(answer(&mut it), Some((1, ACK, 1)));
}

/// IB 9.7.5: one NAK a gap, until the expected packet comes.
#[test]
fn gap_is_nacked_once() {
    let mut it = responder();
    for at in 1..5 {
        assert_eq!(it.handle(&packet(at, Opcode::WriteOnly, &[1])), Placement::Nothing);
        let expected = (at == 1).then_some((0, 0x60, 0));
        assert_eq!(answer(&mut it), expected, "packet {at}");
    }
    take(&mut it, &packet(0, Opcode::WriteOnly, &[1]));
    assert_eq!(answer(&mut it), Some((0, ACK, 1)));
    take(&mut it, &packet(2, Opcode::WriteOnly, &[1]));
    assert_eq!(answer(&mut it), Some((1, 0x60, 1)), "the next gap gets its own");
    assert_eq!((it.stats().out_of_order, it.stats().sequence_naks), (5, 2));
}

#[test]
fn nak_that_was_not_sent_before_its_packet_came_is_an_ack() {
    let mut it = responder();
    take(&mut it, &packet(1, Opcode::WriteOnly, &[1]));
    let mut late = packet(0, Opcode::WriteOnly, &[1]);
    late.bth.ack_request = false;
    take(&mut it, &late);
    assert_eq!(answer(&mut it), Some((0, ACK, 1)));
}

/// IB 9.7.5: a duplicate is acknowledged with the newest PSN, and not executed.
#[test]
fn duplicate_is_acknowledged_and_not_executed() {
    let mut it = responder();
    it.post_receive(ReceiveRequest { id: 1, len_bytes: 10 }).expect("there is room");
    it.post_receive(ReceiveRequest { id: 2, len_bytes: 10 }).expect("there is room");
    let send = packet(0, Opcode::SendOnly, &[1, 2]);
    take(&mut it, &send);
    assert_eq!(answer(&mut it), Some((0, ACK, 1)));
    for _ in 0..3 {
        assert_eq!(it.handle(&send), Placement::Nothing);
    }
    assert_eq!(answer(&mut it), Some((0, ACK, 1)));
    assert_eq!(it.poll_event().map(|done| done.id), Some(1));
    assert_eq!(it.poll_event(), None, "the second request is not used");
    let oldest = packet(1 + (1 << 23), Opcode::SendOnly, &[]);
    assert_eq!(oldest.bth.psn.distance(it.expected()), -(1 << 23));
    take(&mut it, &oldest);
    assert_eq!(it.stats().duplicates, 4, "half of the numbers are before it");
}

/// A READ or an atomic waits for data: an ACK would complete it without.
#[test]
fn unsupported_request_before_the_expected_psn_is_not_answered() {
    let mut it = responder();
    take(&mut it, &packet(0, Opcode::WriteOnly, &[1]));
    assert_eq!(answer(&mut it), Some((0, ACK, 1)));
    for opcode in [Opcode::ReadRequest, Opcode::CompareSwap, Opcode::FetchAdd] {
        take(&mut it, &Packet { body: Body::Unsupported, ..packet(0, opcode, &[]) });
    }
    assert_eq!((answer(&mut it), it.stats().unexpected, it.stats().duplicates), (None, 3, 0));
}

#[test]
fn duplicate_does_not_displace_the_nak_of_a_gap() {
    let mut it = responder();
    take(&mut it, &packet(0, Opcode::WriteOnly, &[1]));
    take(&mut it, &packet(2, Opcode::WriteOnly, &[1]));
    take(&mut it, &packet(0, Opcode::WriteOnly, &[1]));
    assert_eq!(answer(&mut it), Some((1, 0x60, 1)));
}

/// IB 9.7.5.2.8: RNR NAK with the timer's code; what follows waits for the repeat.
#[test]
fn send_without_a_receive_request_is_not_ready_and_loses_nothing() {
    let mut it = responder();
    assert_eq!(it.handle(&packet(0, Opcode::SendOnly, &[1, 2])), Placement::Nothing);
    assert_eq!(answer(&mut it), Some((0, 0x20 | TIMER, 0)));
    take(&mut it, &packet(1, Opcode::WriteOnly, &[1]));
    assert_eq!(answer(&mut it), None, "the packet before has its NAK");
    it.post_receive(ReceiveRequest { id: 3, len_bytes: 2 }).expect("there is room");
    let placement = it.handle(&packet(0, Opcode::SendOnly, &[1, 2]));
    assert_eq!(placement, Placement::Receive { id: 3, offset: 0 });
    assert_eq!((answer(&mut it), it.stats().not_ready), (Some((0, ACK, 1)), 1));
}

#[test]
fn write_with_immediate_needs_a_request_for_its_last_packet_alone() {
    let mut it = responder();
    take(&mut it, &write(0, Opcode::WriteFirst, &FULL, 257));
    assert_eq!(answer(&mut it), Some((0, ACK, 0)));
    let last = write(1, Opcode::WriteLastImmediate, &[1], 257);
    assert_eq!(it.handle(&last), Placement::Nothing);
    assert_eq!(answer(&mut it), Some((1, 0x20 | TIMER, 0)));
    it.post_receive(ReceiveRequest { id: 9, len_bytes: 0 }).expect("there is room");
    assert_eq!(it.handle(&last), Placement::Region { region: 1, offset: 256 });
    let status = ReceiveStatus::Write { len_bytes: 257, immediate: 0xABCD };
    assert_eq!(it.poll_event(), Some(ReceiveCompletion { id: 9, status }));
}

/// IB 9.7.5.2.2: the NAK codes. Nothing reaches memory, and the connection has failed.
#[test]
fn packet_that_breaks_a_rule_is_nacked_by_its_code_and_ends_the_connection() {
    let at = |address, key, len_bytes| {
        let mut packet = packet(0, Opcode::WriteOnly, &[1, 2]);
        let place = Reth { address, key, len_bytes };
        if let Body::Request { reth, .. } = &mut packet.body {
            *reth = Some(place);
        }
        packet
    };
    let read = Packet { body: Body::Unsupported, ..packet(0, Opcode::ReadRequest, &[]) };
    let cases = [
        (packet(0, Opcode::SendMiddle, &FULL), Fault::Order, 0x61),
        (packet(0, Opcode::WriteLast, &[1]), Fault::Order, 0x61),
        (read, Fault::Unsupported, 0x61),
        (packet(0, Opcode::SendFirst, &FULL[..255]), Fault::Length, 0x61),
        (write(0, Opcode::WriteFirst, &FULL, 256), Fault::Length, 0x61),
        (write(0, Opcode::WriteOnly, &[1], 2), Fault::Length, 0x61),
        (packet(0, Opcode::SendOnly, &[0; 11]), Fault::TooLong, 0x61),
        (at(ADDRESS, KEY + 2, 2), Fault::Key, 0x62),
        (at(ADDRESS, KEY + 1, 2), Fault::Rights, 0x62),
        (at(ADDRESS - 1, KEY, 2), Fault::Bounds, 0x62),
        (at(ADDRESS + 999, KEY, 2), Fault::Bounds, 0x62),
        (at(u64::MAX, KEY, 2), Fault::Bounds, 0x62),
        (write(0, Opcode::WriteFirst, &FULL, 1_001), Fault::Bounds, 0x62),
        (write(0, Opcode::WriteFirst, &FULL, (1 << 31) + 1), Fault::Length, 0x61),
    ];
    for (packet, fault, syndrome) in cases {
        let mut it = responder();
        it.post_receive(ReceiveRequest { id: 1, len_bytes: 10 }).expect("there is room");
        assert_eq!(it.handle(&packet), Placement::Nothing, "{fault:?}");
        assert_eq!(answer(&mut it), Some((0, syndrome, 0)), "{fault:?}");
        assert_eq!((it.fault(), it.stats().faults[fault as usize]), (Some(fault), 1));
        take(&mut it, &packet);
        assert_eq!((answer(&mut it), it.stats().after_fault), (None, 1), "{fault:?}");
    }
}

#[test]
fn message_that_is_too_long_fails_at_the_packet_that_is() {
    let mut it = responder();
    it.post_receive(ReceiveRequest { id: 1, len_bytes: 256 }).expect("there is room");
    it.post_receive(ReceiveRequest { id: 2, len_bytes: 256 }).expect("there is room");
    take(&mut it, &packet(0, Opcode::SendFirst, &FULL));
    take(&mut it, &packet(1, Opcode::SendLast, &[1]));
    assert_eq!(answer(&mut it), Some((1, 0x61, 0)));
    it.flush();
    let failed = ReceiveCompletion { id: 1, status: ReceiveStatus::Failed };
    assert_eq!(it.poll_event(), Some(failed), "it was in use");
    let flushed = ReceiveCompletion { id: 2, status: ReceiveStatus::Flushed };
    assert_eq!((it.poll_event(), it.poll_event()), (Some(flushed), None));
}

#[test]
fn message_of_one_packet_that_is_too_long_fails_its_request() {
    let mut it = responder();
    for id in 1..=2 {
        it.post_receive(ReceiveRequest { id, len_bytes: 10 }).expect("there is room");
    }
    take(&mut it, &packet(0, Opcode::SendOnly, &[0; 11]));
    assert_eq!(answer(&mut it), Some((0, 0x61, 0)));
    it.flush();
    let completion = |id, status| Some(ReceiveCompletion { id, status });
    assert_eq!(it.poll_event(), completion(1, ReceiveStatus::Failed));
    assert_eq!(it.poll_event(), completion(2, ReceiveStatus::Flushed));
}

/// IB 9.7.7: a SEND does not state its length in its first packet, as a WRITE does.
#[test]
fn send_ends_at_two_to_the_31_bytes() {
    let full = [7; 4_096];
    let packets = MESSAGE_BYTES_MAX / 4_096;
    let mut it = responder();
    it.begin(ResponderConfig { mtu: PathMtu::Bytes4096, ..it.config });
    it.post_receive(ReceiveRequest { id: 1, len_bytes: u32::MAX }).expect("there is room");
    take(&mut it, &packet(0, Opcode::SendFirst, &full));
    for at in 1..packets {
        take(&mut it, &packet(at, Opcode::SendMiddle, &full));
    }
    assert_eq!(answer(&mut it).map(|it| it.1), Some(ACK), "2^31 bytes");
    take(&mut it, &packet(packets, Opcode::SendLast, &[1]));
    assert_eq!((it.fault(), answer(&mut it).map(|it| it.1)), (Some(Fault::Length), Some(0x61)));
}

/// IB 9.7.5: each gets a NAK, reserved ones too.
#[test]
fn every_request_that_is_not_supported_is_invalid() {
    let is_request = |opcode: &Opcode| opcode.operation() == Operation::Unsupported;
    let opcodes: Vec<_> = Opcode::ALL.into_iter().filter(is_request).collect();
    let numbers = opcodes.iter().map(|opcode| *opcode as u8);
    assert!(numbers.eq([0x0C].into_iter().chain(0x13..=0x1F)), "{opcodes:?}");
    for opcode in opcodes {
        let mut it = responder();
        take(&mut it, &Packet { body: Body::Unsupported, ..packet(0, opcode, &[]) });
        assert_eq!(answer(&mut it), Some((0, 0x61, 0)), "{opcode:?}");
    }
}

#[test]
fn message_ends_with_the_receive_requests_that_are_forgotten() {
    let mut it = responder();
    it.post_receive(ReceiveRequest { id: 1, len_bytes: 600 }).expect("there is room");
    take(&mut it, &packet(0, Opcode::SendFirst, &FULL));
    it.clear();
    assert_eq!(it.handle(&packet(1, Opcode::SendMiddle, &FULL)), Placement::Nothing);
    assert_eq!(it.fault(), Some(Fault::Order));
}

#[test]
fn flushed_responder_takes_no_packets() {
    let mut it = responder();
    it.post_receive(ReceiveRequest { id: 1, len_bytes: 10 }).expect("there is room");
    it.flush();
    assert_eq!(it.handle(&packet(0, Opcode::SendOnly, &[1])), Placement::Nothing);
    assert_eq!((answer(&mut it), it.stats().after_fault), (None, 1));
    let flushed = ReceiveCompletion { id: 1, status: ReceiveStatus::Flushed };
    assert_eq!((it.poll_event(), it.poll_event()), (Some(flushed), None));
}

/// IB 9.7.4.1.5: an empty WRITE is a message, and names no memory.
#[test]
fn empty_messages_complete_without_memory() {
    let mut it = responder();
    it.post_receive(ReceiveRequest::default()).expect("there is room");
    take(&mut it, &packet(0, Opcode::SendOnly, &[]));
    let mut write = packet(1, Opcode::WriteOnly, &[]);
    if let Body::Request { reth, .. } = &mut write.body {
        *reth = Some(Reth { address: 0, key: 0, len_bytes: 0 });
    }
    assert_eq!(it.handle(&write), Placement::Nothing);
    assert_eq!(answer(&mut it), Some((1, ACK, 2)));
    let status = ReceiveStatus::Send { len_bytes: 0, immediate: None };
    assert_eq!(it.poll_event(), Some(ReceiveCompletion { id: 0, status }));
}

#[test]
fn region_that_is_withdrawn_within_a_message_takes_no_more_of_it() {
    let mut it = responder();
    take(&mut it, &write(0, Opcode::WriteFirst, &FULL, 300));
    it.regions_mut().clear();
    assert_eq!(it.handle(&write(1, Opcode::WriteLast, &[1; 44], 300)), Placement::Nothing);
    assert_eq!(answer(&mut it), Some((1, 0x62, 0)));
}

#[test]
fn queue_of_receive_requests_is_bounded_and_freed_by_polling() {
    let mut it = responder();
    for id in 0..4 {
        it.post_receive(ReceiveRequest { id, len_bytes: 1 }).expect("there is room");
    }
    let fifth = ReceiveRequest { id: 4, len_bytes: 1 };
    assert_eq!(it.post_receive(fifth), Err(ReceiveQueueFull(4)));
    take(&mut it, &packet(0, Opcode::SendOnly, &[1]));
    assert_eq!(it.post_receive(fifth), Err(ReceiveQueueFull(4)), "its completion was not polled");
    assert_eq!(it.poll_event().map(|done| done.id), Some(0));
    assert_eq!(it.post_receive(fifth), Ok(()));
}

#[test]
fn acknowledgement_is_no_request() {
    let mut it = responder();
    let aeth = Aeth { syndrome: Syndrome::Ack(0), msn: 0 };
    let bth = Bth::new(Opcode::Acknowledge, Qpn::new(1), Psn::new(START));
    take(&mut it, &Packet { bth, body: Body::Acknowledge(aeth) });
    assert_eq!((answer(&mut it), it.stats().unexpected), (None, 1));
}
