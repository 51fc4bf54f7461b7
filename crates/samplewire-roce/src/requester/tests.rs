//! Which packets leave, when they leave again, and how work requests end.

use super::*;
use crate::number::{PathMtu, U24_MAX};

type TestRequester = Requester<Vec<SendSlot>>;

const START: u32 = U24_MAX - 1;
const NOW: Nanos = Nanos(1_000);
const TIMEOUT: Nanos = Nanos(4_096 << 8);
const IMMEDIATE: u32 = 0xAB;

fn config() -> RequesterConfig {
    RequesterConfig {
        psn: Psn::new(START),
        mtu: PathMtu::Bytes256,
        window: 8,
        ack_every: 4,
        timeout: AckTimeout::new(8).expect("it is below 32"),
        retries: 2,
        rnr_retries: 1,
        patience: None,
    }
}

fn requester(config: RequesterConfig) -> TestRequester {
    Requester::new(config, vec![SendSlot::default(); 4]).expect("it is in range")
}

fn send(id: u64, len_bytes: u32) -> WorkRequest {
    WorkRequest { id, len_bytes, ..WorkRequest::default() }
}

fn write(id: u64, len_bytes: u32) -> WorkRequest {
    WorkRequest { verb: Verb::Write { address: 0x1000, key: 7 }, ..send(id, len_bytes) }
}

/// The distances of the PSNs that leave at `now` from the first.
fn leaving(it: &mut TestRequester, now: Nanos) -> Vec<i32> {
    packets(it, now).iter().map(|packet| packet.psn.distance(Psn::new(START))).collect()
}

fn packets(it: &mut TestRequester, now: Nanos) -> Vec<Request> {
    std::iter::from_fn(|| it.poll_transmit(now)).collect()
}

fn answer(it: &mut TestRequester, now: Nanos, at: u32, syndrome: Syndrome) {
    it.handle(now, Psn::new(START) + at, &Aeth { syndrome, msn: 0 });
}

fn done(it: &mut TestRequester) -> Vec<(u64, SendStatus)> {
    std::iter::from_fn(|| it.poll_event()).map(|done| (done.id, done.status)).collect()
}

const ACK: Syndrome = Syndrome::Ack(Syndrome::CREDIT_INVALID);
const GAP: Syndrome = Syndrome::Nak(NakCode::SequenceError);

fn not_ready(code: u8) -> Syndrome {
    Syndrome::RnrNak(RnrTimer::new(code).expect("it is below 32"))
}

/// IB 9.7: FIRST, MIDDLE, LAST or ONLY; the RDMA header in the first, immediate data in the last.
#[test]
fn messages_are_cut_at_the_mtu() {
    let mut it = requester(config());
    it.post(WorkRequest { immediate: Some(IMMEDIATE), is_solicited: true, ..write(1, 600) })
        .expect("there is room");
    it.post(send(2, 0)).expect("there is room");
    it.post(send(3, 256)).expect("there is room");
    let packets = packets(&mut it, NOW);
    let parts: Vec<_> = packets
        .iter()
        .map(|it| (it.opcode, it.payload.id, it.payload.offset, it.payload.len_bytes))
        .collect();
    assert_eq!(
        parts,
        [
            (Opcode::WriteFirst, 1, 0, 256),
            (Opcode::WriteMiddle, 1, 256, 256),
            (Opcode::WriteLastImmediate, 1, 512, 88),
            (Opcode::SendOnly, 2, 0, 0),
            (Opcode::SendOnly, 3, 0, 256),
        ]
    );
    let reth = Reth { address: 0x1000, key: 7, len_bytes: 600 };
    let reths: Vec<_> = packets.iter().map(|it| it.reth).collect();
    assert_eq!(reths, [Some(reth), None, None, None, None]);
    let immediates: Vec<_> = packets.iter().map(|it| it.immediate).collect();
    assert_eq!(immediates, [None, None, Some(IMMEDIATE), None, None]);
    let solicited: Vec<_> = packets.iter().map(|it| it.is_solicited).collect();
    assert_eq!(solicited, [false, false, true, false, false]);
    let numbers: Vec<_> = packets.iter().map(|it| it.psn.get()).collect();
    assert_eq!(numbers, [START, U24_MAX, 0, 1, 2]);
    let requests: Vec<_> = packets.iter().map(|it| it.ack_request).collect();
    assert_eq!(requests, [false, false, true, true, true], "at the end of each message");
}

#[test]
fn longest_message_has_its_last_byte_in_its_last_packet() {
    let mut it = requester(RequesterConfig { window: WINDOW_MAX, ..config() });
    it.post(write(1, MESSAGE_BYTES_MAX)).expect("it is not too long");
    let mut last = None;
    while let Some(packet) = it.poll_transmit(NOW) {
        last = Some(packet);
    }
    let last = last.expect("packets leave");
    assert_eq!((last.opcode, last.payload.offset), (Opcode::WriteLast, MESSAGE_BYTES_MAX - 256));
    assert_eq!(it.in_flight(), 1 << 23);
    answer(&mut it, NOW, (1 << 23) - 1, ACK);
    assert_eq!(done(&mut it), [(1, SendStatus::Done)], "half of the numbers are outstanding");
    let too_long = PostError::TooLong(MESSAGE_BYTES_MAX + 1);
    assert_eq!(it.post(send(2, MESSAGE_BYTES_MAX + 1)), Err(too_long));
}

#[test]
fn window_bounds_what_is_outstanding_and_always_contains_an_ack_request() {
    let mut it = requester(config());
    it.post(send(1, 20 * 256)).expect("there is room");
    let first = packets(&mut it, NOW);
    let requests: Vec<_> = first.iter().map(|it| it.ack_request).collect();
    assert_eq!(requests, [false, false, false, true, false, false, false, true]);
    assert_eq!((it.in_flight(), leaving(&mut it, NOW)), (8, vec![]));
    answer(&mut it, NOW, 3, ACK);
    assert_eq!(leaving(&mut it, NOW), [8, 9, 10, 11]);
}

#[test]
fn ack_requests_are_counted_from_the_last_one_and_from_the_way_back() {
    let mut it = requester(config());
    it.post(send(1, 256)).expect("there is room");
    it.post(send(2, 6 * 256)).expect("there is room");
    let requests =
        |packets: Vec<Request>| -> Vec<bool> { packets.iter().map(|it| it.ack_request).collect() };
    let first = requests(packets(&mut it, NOW));
    assert_eq!(first, [true, false, false, false, true, false, true]);
    answer(&mut it, NOW, 2, GAP);
    assert_eq!(requests(packets(&mut it, NOW)), [false, false, false, true, true]);
}

/// IB 9.7.5.1.2: an ACK is for all packets before it too.
#[test]
fn coalesced_ack_completes_several_messages_once_and_in_order() {
    let mut it = requester(config());
    for id in 1..=4 {
        it.post(send(id, 300)).expect("there is room");
    }
    assert_eq!(it.post(send(5, 1)), Err(PostError::Full(4)));
    leaving(&mut it, NOW);
    answer(&mut it, NOW, 4, ACK);
    assert_eq!(done(&mut it), [(1, SendStatus::Done), (2, SendStatus::Done)]);
    assert_eq!(it.free_slots(), 2);
    answer(&mut it, NOW, 4, ACK);
    answer(&mut it, NOW, 7, ACK);
    assert_eq!(done(&mut it), [(3, SendStatus::Done), (4, SendStatus::Done)]);
    assert_eq!((it.poll_timeout(), it.stats().stale), (None, 1));
}

/// IB 9.7.6: ACKs count from the oldest unacknowledged to the last sent PSN.
#[test]
fn acks_of_packets_that_were_not_sent_change_nothing() {
    let mut it = requester(config());
    it.post(send(1, 20 * 256)).expect("there is room");
    leaving(&mut it, NOW);
    answer(&mut it, NOW, 0, ACK);
    leaving(&mut it, NOW);
    let before = (it.in_flight(), it.oldest(), it.poll_timeout());
    let later = NOW + Nanos(1);
    for syndrome in [ACK, GAP, not_ready(1), Syndrome::Nak(NakCode::RemoteAccess)] {
        for at in [9, 10, 1 << 22, 1 << 23, U24_MAX, 0] {
            answer(&mut it, later, at, syndrome);
        }
    }
    assert_eq!((it.in_flight(), it.oldest(), it.poll_timeout()), before);
    assert_eq!((it.stats().stale, it.stats().beyond), (2 * 4, 4 * 4));
    assert!(leaving(&mut it, later).is_empty());
    answer(&mut it, later, 8, ACK);
    assert_eq!(it.oldest(), Psn::new(START) + 9, "the last that was sent counts");
}

#[test]
fn nak_of_a_gap_goes_back_once() {
    let mut it = requester(config());
    it.post(send(1, 6 * 256)).expect("there is room");
    leaving(&mut it, NOW);
    answer(&mut it, NOW, 2, GAP);
    assert_eq!(it.oldest(), Psn::new(START) + 2, "what came before is acknowledged");
    assert_eq!(it.poll_transmit(NOW).map(|it| it.opcode), Some(Opcode::SendMiddle));
    answer(&mut it, NOW, 2, GAP);
    assert_eq!(leaving(&mut it, NOW), [3, 4, 5], "a copy of the NAK changes nothing");
    answer(&mut it, NOW, 4, GAP);
    assert_eq!(leaving(&mut it, NOW), [4, 5], "another gap");
    assert_eq!((it.stats().sequence_naks, it.stats().naks_repeated), (2, 1));
    assert_eq!((it.stats().packets, it.stats().retransmissions), (6, 4 + 2));
}

/// After its RNR NAK the responder waits for the packet again, which may be lost again.
#[test]
fn nak_of_a_gap_after_the_wait_goes_back_again() {
    let mut it = requester(config());
    it.post(send(1, 3 * 256)).expect("there is room");
    leaving(&mut it, NOW);
    answer(&mut it, NOW, 0, GAP);
    assert_eq!(leaving(&mut it, NOW), [0, 1, 2]);
    answer(&mut it, NOW, 0, not_ready(1));
    let until = it.poll_timeout().expect("it waits");
    it.handle_timeout(until);
    assert_eq!(leaving(&mut it, until), [0, 1, 2]);
    answer(&mut it, until, 0, GAP);
    assert_eq!(leaving(&mut it, until), [0, 1, 2]);
    assert_eq!((it.stats().sequence_naks, it.stats().naks_repeated), (2, 0));
}

#[test]
fn nak_of_a_gap_after_a_timeout_goes_back_again() {
    let mut it = requester(RequesterConfig { retries: 3, ..config() });
    it.post(send(1, 3 * 256)).expect("there is room");
    leaving(&mut it, NOW);
    answer(&mut it, NOW, 0, GAP);
    leaving(&mut it, NOW);
    let later = it.poll_timeout().expect("packets are outstanding");
    it.handle_timeout(later);
    assert_eq!(leaving(&mut it, later), [0, 1, 2]);
    answer(&mut it, later, 0, GAP);
    assert_eq!(leaving(&mut it, later), [0, 1, 2]);
    assert_eq!((it.stats().sequence_naks, it.stats().naks_repeated), (2, 0));
}

#[test]
fn nak_of_a_gap_before_the_packet_is_sent_again_costs_no_retry() {
    let mut it = requester(RequesterConfig { retries: 1, ..config() });
    it.post(send(1, 3 * 256)).expect("there is room");
    leaving(&mut it, NOW);
    let later = it.poll_timeout().expect("packets are outstanding");
    it.handle_timeout(later);
    answer(&mut it, later, 0, GAP);
    assert_eq!((it.has_failed(), it.stats().naks_repeated), (false, 1));
    assert_eq!(leaving(&mut it, later), [0, 1, 2]);
}

#[test]
fn packet_acknowledged_during_a_restart_is_not_sent_again() {
    let mut it = requester(config());
    it.post(send(1, 256)).expect("there is room");
    it.post(send(2, 3 * 256)).expect("there is room");
    leaving(&mut it, NOW);
    answer(&mut it, NOW, 0, GAP);
    answer(&mut it, NOW, 1, ACK);
    let rest = packets(&mut it, NOW);
    assert_eq!(rest.iter().map(|it| it.payload.offset).collect::<Vec<_>>(), [256, 512]);
    assert_eq!(done(&mut it), [(1, SendStatus::Done)]);
}

/// IB 9.7.6.1.3, 9.9: the timeout sends again; its retries end the connection.
#[test]
fn silence_is_answered_by_retries_and_then_by_failure() {
    let mut it = requester(config());
    it.post(send(1, 300)).expect("there is room");
    it.post(send(2, 1)).expect("there is room");
    let mut now = NOW;
    for _ in 0..3 {
        assert_eq!(leaving(&mut it, now), [0, 1, 2]);
        assert_eq!(it.poll_timeout(), Some(now + TIMEOUT));
        it.handle_timeout(now + TIMEOUT - Nanos(1));
        assert_eq!((leaving(&mut it, now), done(&mut it)), (vec![], vec![]));
        now = now + TIMEOUT;
        it.handle_timeout(now);
    }
    assert!(it.has_failed());
    assert!(leaving(&mut it, now).is_empty());
    it.post(send(3, 1)).expect("it is flushed");
    let expected =
        [(1, SendStatus::RetriesExceeded), (2, SendStatus::Flushed), (3, SendStatus::Flushed)];
    assert_eq!(done(&mut it), expected);
    answer(&mut it, now, 0, ACK);
    assert_eq!((it.stats().timeouts, it.stats().after_failure, it.poll_timeout()), (3, 1, None));
}

/// In place of the counts of IB 9.9: the timeout doubles, and time alone ends the connection.
#[test]
fn silence_within_the_patience_is_answered_by_retries_that_become_rare() {
    let patience = Nanos(100 * TIMEOUT.0);
    let impatient = RequesterConfig { retries: 0, rnr_retries: 0, ..config() };
    let mut it = requester(RequesterConfig { patience: Some(patience), ..impatient });
    it.post(send(1, 300)).expect("there is room");
    it.post(send(2, 1)).expect("there is room");
    // It begins with the first packet that waits.
    let begin = NOW + Nanos(7 * TIMEOUT.0);
    let mut waits = vec![];
    let mut now = begin;
    while !it.has_failed() {
        assert_eq!(leaving(&mut it, now), [0, 1, 2]);
        let at = it.poll_timeout().expect("packets are outstanding");
        waits.push((at - now).0 * 10 / TIMEOUT.0);
        now = at;
        it.handle_timeout(now);
    }
    // An eighth of the patience is the longest.
    let mut expected = vec![10, 20, 40, 80];
    expected.extend([125; 6]);
    expected.push(100);
    assert_eq!((waits, now), (expected, begin + patience));
    assert_eq!(done(&mut it), [(1, SendStatus::RetriesExceeded), (2, SendStatus::Flushed)]);
}

#[test]
fn naks_without_progress_end_a_connection_after_its_patience_alone() {
    let patience = Nanos(100 * TIMEOUT.0);
    let impatient = RequesterConfig { retries: 0, rnr_retries: 0, ..config() };
    for (syndrome, status) in
        [(GAP, SendStatus::RetriesExceeded), (not_ready(1), SendStatus::RnrRetriesExceeded)]
    {
        let mut it = requester(RequesterConfig { patience: Some(patience), ..impatient });
        it.post(send(1, 300)).expect("there is room");
        leaving(&mut it, NOW);
        let mut now = NOW + TIMEOUT;
        // Progress, from where the patience begins again.
        answer(&mut it, now, 0, ACK);
        let end = now + patience;
        while now < end {
            assert!(!it.has_failed(), "{syndrome:?} at {now:?}");
            answer(&mut it, now, 1, syndrome);
            now = now + Nanos(TIMEOUT.0 / 3);
            it.handle_timeout(now);
            leaving(&mut it, now);
        }
        if !it.has_failed() {
            answer(&mut it, now, 1, syndrome);
        }
        assert_eq!(done(&mut it), [(1, status)], "{syndrome:?}");
    }
}

#[test]
fn new_timeout_counts_from_the_next_start_of_the_timer() {
    let mut it = requester(config());
    it.post(send(1, 512)).expect("there is room");
    leaving(&mut it, NOW);
    it.set_timeout(AckTimeout::new(9).expect("it is below 32"));
    assert_eq!(it.poll_timeout(), Some(NOW + TIMEOUT));
    answer(&mut it, NOW, 0, ACK);
    assert_eq!(it.poll_timeout(), Some(NOW + Nanos(2 * TIMEOUT.0)));
}

#[test]
fn progress_restores_the_retries_and_restarts_the_timer() {
    let mut it = requester(config());
    it.post(send(1, 10 * 256)).expect("there is room");
    let mut now = NOW;
    for at in 0..10 {
        for _ in 0..2 {
            leaving(&mut it, now);
            now = it.poll_timeout().expect("packets are outstanding");
            it.handle_timeout(now);
        }
        leaving(&mut it, now);
        now = now + Nanos(5);
        answer(&mut it, now, at, ACK);
        let expected = (at < 9).then_some(now + TIMEOUT);
        assert_eq!(it.poll_timeout(), expected, "packet {at}");
    }
    assert_eq!(done(&mut it), [(1, SendStatus::Done)]);
    assert_eq!(it.stats().timeouts, 20);
}

/// IB 9.7.6.1.3: the exponent 0 means that there is no timer.
#[test]
fn without_a_timeout_silence_lasts() {
    let timeout = AckTimeout::new(0).expect("it is below 32");
    let mut it = requester(RequesterConfig { timeout, ..config() });
    it.post(send(1, 1)).expect("there is room");
    assert_eq!((leaving(&mut it, NOW), it.poll_timeout()), (vec![0], None));
    it.handle_timeout(Nanos(u64::MAX));
    assert_eq!((leaving(&mut it, NOW), it.has_failed()), (vec![], false));
}

/// IB 9.7.5.2.8: the code 0 is 655.36 ms. Waiting uses up no retry of the timeout.
#[test]
fn receiver_that_is_not_ready_is_waited_for() {
    let mut it = requester(config());
    it.post(send(1, 3 * 256)).expect("there is room");
    leaving(&mut it, NOW);
    answer(&mut it, NOW, 1, not_ready(0));
    let until = NOW + Nanos(655_360_000);
    assert_eq!((it.poll_timeout(), leaving(&mut it, NOW)), (Some(until), vec![]));
    answer(&mut it, NOW, 1, not_ready(0));
    answer(&mut it, NOW, 1, GAP);
    assert_eq!(it.stats().naks_repeated, 2, "copies and later packets of the window");
    it.handle_timeout(until - Nanos(1));
    assert!(leaving(&mut it, until - Nanos(1)).is_empty());
    it.handle_timeout(until);
    assert_eq!(leaving(&mut it, until), [1, 2]);
    assert_eq!(it.poll_timeout(), Some(until + TIMEOUT));
    answer(&mut it, until, 2, ACK);
    assert_eq!(done(&mut it), [(1, SendStatus::Done)]);
}

/// The wait is over, and the packet was not sent again.
#[test]
fn copy_of_an_rnr_nak_after_the_wait_costs_no_retry_and_no_time() {
    let mut it = requester(RequesterConfig { rnr_retries: 1, ..config() });
    it.post(send(1, 3 * 256)).expect("there is room");
    leaving(&mut it, NOW);
    answer(&mut it, NOW, 0, not_ready(1));
    let until = it.poll_timeout().expect("it waits");
    it.handle_timeout(until);
    answer(&mut it, until, 0, not_ready(1));
    assert_eq!((it.has_failed(), it.stats().rnr_naks, it.stats().naks_repeated), (false, 1, 1));
    assert_eq!(leaving(&mut it, until), [0, 1, 2]);
}

/// The NAK of a gap sent the requester back, and the next NAK is about a later packet.
#[test]
fn rnr_nak_of_a_later_packet_is_no_copy() {
    let mut it = requester(config());
    it.post(send(1, 3 * 256)).expect("there is room");
    leaving(&mut it, NOW);
    answer(&mut it, NOW, 0, GAP);
    answer(&mut it, NOW, 2, not_ready(1));
    assert_eq!((leaving(&mut it, NOW), it.stats().rnr_naks), (vec![], 1));
}

/// IB 9.2: there is no completion that a WRITE without immediate data could signal.
#[test]
fn solicited_event_is_requested_only_where_the_peer_gets_a_completion() {
    let mut it = requester(config());
    for (id, request) in [send(1, 1), write(2, 1), write(3, 1)].into_iter().enumerate() {
        let immediate = (id == 2).then_some(IMMEDIATE);
        it.post(WorkRequest { immediate, is_solicited: true, ..request }).expect("there is room");
    }
    let solicited: Vec<_> = packets(&mut it, NOW).iter().map(|it| it.is_solicited).collect();
    assert_eq!(solicited, [true, false, true]);
}

/// IB 9.9: the retries after RNR NAK are counted apart; 7 means no limit.
#[test]
fn receiver_that_is_never_ready_ends_the_connection_unless_there_is_no_limit() {
    let mut it = requester(config());
    let mut patient = requester(RequesterConfig { rnr_retries: 7, retries: 0, ..config() });
    let mut now = NOW;
    for it in [&mut it, &mut patient] {
        it.post(send(1, 1)).expect("there is room");
    }
    for round in 0..100 {
        assert_eq!(leaving(&mut patient, now), [0]);
        answer(&mut patient, now, 0, not_ready(1));
        if round < 2 {
            assert_eq!(leaving(&mut it, now), [0]);
            answer(&mut it, now, 0, not_ready(1));
        }
        now = now + Nanos::from_micros(10);
        patient.handle_timeout(now);
        it.handle_timeout(now);
    }
    assert_eq!(done(&mut it), [(1, SendStatus::RnrRetriesExceeded)]);
    assert_eq!(done(&mut patient), []);
    assert_eq!(patient.stats().rnr_naks, 100);
}

#[test]
fn request_posted_by_the_peer_meanwhile_ends_the_wait() {
    let mut it = requester(config());
    it.post(send(1, 1)).expect("there is room");
    it.post(send(2, 1)).expect("there is room");
    leaving(&mut it, NOW);
    answer(&mut it, NOW, 0, not_ready(0));
    answer(&mut it, NOW, 0, ACK);
    assert_eq!(leaving(&mut it, NOW), [1]);
}

/// IB 9.7.5.2.2, 9.9.2: what came before is done, the request fails, the others are flushed.
#[test]
fn fatal_nak_fails_its_request_and_flushes_the_rest() {
    let codes = [NakCode::InvalidRequest, NakCode::RemoteAccess, NakCode::RemoteOperation];
    for code in codes {
        let mut it = requester(config());
        for id in 1..=3 {
            it.post(send(id, 300)).expect("there is room");
        }
        leaving(&mut it, NOW);
        answer(&mut it, NOW, 3, Syndrome::Nak(code));
        let expected =
            [(1, SendStatus::Done), (2, SendStatus::Nak(code)), (3, SendStatus::Flushed)];
        assert_eq!(done(&mut it), expected);
        assert_eq!((leaving(&mut it, NOW), it.poll_timeout()), (vec![], None));
    }
}

#[test]
fn reserved_syndrome_changes_nothing() {
    let mut it = requester(config());
    it.post(send(1, 1)).expect("there is room");
    leaving(&mut it, NOW);
    answer(&mut it, NOW, 0, Syndrome::from_number(0x6F));
    assert_eq!((it.in_flight(), it.stats().reserved, it.has_failed()), (1, 1, false));
}

#[test]
fn flushed_requester_sends_nothing_and_completes_all() {
    let mut it = requester(config());
    it.post(send(1, 1)).expect("there is room");
    it.post(send(2, 1)).expect("there is room");
    leaving(&mut it, NOW);
    answer(&mut it, NOW, 0, ACK);
    it.flush();
    assert_eq!(done(&mut it), [(1, SendStatus::Done), (2, SendStatus::Flushed)]);
    assert_eq!((leaving(&mut it, NOW), it.poll_timeout()), (vec![], None));
}

/// A queue may hold more packets than there are PSNs.
#[test]
fn positions_do_not_wrap_with_the_psn() {
    let mut it = requester(RequesterConfig { window: 1 << 20, ack_every: 1 << 20, ..config() });
    for id in 1..=4 {
        it.post(write(id, MESSAGE_BYTES_MAX)).expect("there is room");
    }
    let mut sent = 0;
    loop {
        let mut last = None;
        while let Some(packet) = it.poll_transmit(NOW) {
            sent += 1;
            last = Some(packet.psn);
        }
        let Some(last) = last else { break };
        it.handle(NOW, last, &Aeth { syndrome: ACK, msn: 0 });
    }
    assert_eq!(sent, 4u64 << 23, "2^25 packets, four turns of the PSN");
    assert_eq!(done(&mut it).len(), 4);
}
