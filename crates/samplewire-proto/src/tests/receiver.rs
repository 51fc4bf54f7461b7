//! The receiver alone: the limits of its input, its counters, and its timers.

use super::packets::{self, close, close_ack, header};
use super::pair::{RECEIVER_TAG, SAMPLES, SENDER_TAG, terms};
use crate::gap::{Cause, Gap};
use crate::number::{Departure, INDEX_MAX, Nanos, Seq, Tag};
use crate::random::Rng;
use crate::receiver::{
    Delivered, Delivery, Phase, Placement, REPORT_BYTES, Receiver, ReceiverConfig, RecvSlot,
};
use crate::stream::{End, Terms, Violation};
use crate::wire::{
    self, CloseAckReason, CloseReason, Flags, Header, Mark, Packet, PacketType, Report,
};

const RTT: Nanos = Nanos::from_millis(8);
const UNIT: Nanos = Nanos(Departure::UNIT_NS);

/// A receiver of a window of 16 with credit for 8, and the present.
struct Bench {
    receiver: Receiver<Vec<RecvSlot>>,
    now: Nanos,
}

impl Bench {
    fn new() -> Self {
        Self::of(Delivery::Complete)
    }

    fn of(delivery: Delivery) -> Self {
        Self::with(delivery, |_| ())
    }

    fn with(delivery: Delivery, change: impl FnOnce(&mut Terms)) -> Self {
        let (local_tag, peer_tag) = (RECEIVER_TAG, SENDER_TAG);
        let mut terms = Terms { local_tag, peer_tag, is_opener: true, ..terms(16, RTT) };
        change(&mut terms);
        let config = ReceiverConfig::new().with_delivery(delivery).expect("in its range");
        let now = Nanos::from_millis(1_000);
        let receiver = Receiver::new(terms, config, vec![RecvSlot::default(); 16], now);
        let mut receiver = receiver.expect("the terms hold");
        receiver.grant(Seq(8));
        Self { receiver, now }
    }

    /// Full DATA of `seq` that departs at present.
    fn full(&self, seq: u32) -> Header {
        let index = u64::from(seq) * u64::from(SAMPLES);
        let departure = Departure::at(self.now);
        Header { index, departure, ..header(PacketType::Data, RECEIVER_TAG, Seq(seq)) }
    }

    fn hand_data(&mut self, header: &Header, payload: &[u8]) -> bool {
        let bytes = packets::data(header, payload);
        let (header, Packet::Data(body)) = wire::parse(&bytes).expect("a packet") else {
            panic!("DATA is DATA")
        };
        self.receiver.handle_data(self.now, &header, body, false) != Placement::Ignore
    }

    /// Full DATA of `seq` comes, and says whether it is needed.
    fn data(&mut self, seq: u32) -> bool {
        self.hand_data(&self.full(seq), &[0; 64])
    }

    fn hand(&mut self, bytes: &[u8]) -> bool {
        let (header, packet) = wire::parse(bytes).expect("a packet");
        self.receiver.handle(self.now, &header, &packet)
    }

    fn mark(&mut self, seq: u32, oldest: u32) -> bool {
        let refused = self.receiver.stats().refused;
        let oldest = Seq(oldest);
        let departure = Departure::at(self.now);
        assert!(self.hand(&packets::mark(seq, departure, &Mark { oldest, ..MARK })));
        self.receiver.stats().refused == refused
    }

    fn deliver(&mut self) -> Vec<Delivered> {
        core::iter::from_fn(|| self.receiver.poll_delivery(self.now)).collect()
    }

    fn gaps(&mut self) -> Vec<Gap> {
        let delivered = self.deliver();
        let gap = |delivered| if let Delivered::Gap(gap) = delivered { Some(gap) } else { None };
        delivered.into_iter().filter_map(gap).collect()
    }

    /// What leaves at present.
    fn leave(&mut self) -> Vec<Vec<u8>> {
        let mut out = [0; REPORT_BYTES];
        let mut left = vec![];
        while let Some(len) = self.receiver.poll_transmit(self.now, &mut out) {
            left.push(out[..len].to_vec());
        }
        left
    }

    fn report(&mut self) -> Option<Vec<u8>> {
        let left = self.leave();
        assert!(left.len() <= 1);
        left.into_iter().next()
    }

    fn due(&self) -> Nanos {
        self.receiver.poll_timeout(self.now).expect("it lives").since(self.now)
    }

    /// Lets time pass, and REPORTs leave, to the first timer of another kind.
    fn pass_to_timer(&mut self) -> Nanos {
        let start = self.now;
        loop {
            self.pass(self.due());
            if self.leave().is_empty() {
                return self.now.since(start);
            }
        }
    }

    fn pass(&mut self, span: Nanos) {
        self.now = self.now + span;
        self.receiver.handle_timeout(self.now);
    }
}

const MARK: Mark = Mark {
    oldest: Seq(0),
    report: Seq(0),
    echo: Departure(0),
    hold: u32::MAX,
    source_lost: 0,
    time_ns: 0,
};

fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn gap(first: u64, not_repaired: u64, cause: Cause) -> Gap {
    Gap { first, not_repaired, source_lost: 0, cause }
}

/// `docs/protocol.md#10`
#[test]
fn packets_that_have_no_place_here_are_counted() {
    let mut bench = Bench::new();
    let stranger = Header { tag: Tag(9), ..bench.full(0) };
    assert!(!bench.hand_data(&stranger, &[0; 64]));
    assert!(!bench.hand(&close(SENDER_TAG, 0, 0)));
    assert!(bench.hand(&close_ack(RECEIVER_TAG, 0, CloseAckReason::Done, RECEIVER_TAG)));
    assert!(!bench.data(8), "beyond the credit");
    assert!(!bench.mark(9, 0), "beyond the credit");
    assert!(!bench.mark(1, 2), "more is gone than has departed");
    assert!(bench.hand(&close(RECEIVER_TAG, 9, 9 * 16)));
    let stats = bench.receiver.stats();
    assert_eq!((stats.foreign, stats.unexpected, stats.beyond_credit), (2, 1, 1));
    assert_eq!((stats.refused, stats.received), (3, 0));
    assert_eq!(bench.receiver.poll_event(), None);
}

#[test]
fn every_arrival_is_counted_for_what_it_was() {
    let mut bench = Bench::of(Delivery::Deadline(ms(10)));
    let marked = bench.full(0);
    let bytes = packets::data(&marked, &[0; 64]);
    let (_, Packet::Data(body)) = wire::parse(&bytes).expect("a packet") else { panic!("DATA") };
    bench.receiver.handle_data(bench.now, &marked, body, true);
    assert!(bench.data(5));
    assert!(bench.data(2), "came without a repair");
    let repeat = Header { flags: Flags::RETRANSMISSION, ..bench.full(3) };
    assert!(bench.hand_data(&repeat, &[0; 64]));
    assert!(!bench.data(3) && !bench.data(5) && !bench.data(0), "there already");
    bench.deliver();
    bench.pass(ms(300));
    assert_eq!(bench.gaps(), [16, 64].map(|first| gap(first, 16, Cause::Deadline)));
    assert!(!bench.data(1) && !bench.data(1), "late once, then a duplicate");
    let stats = *bench.receiver.stats();
    assert_eq!((stats.received, stats.marked), (9, 1));
    assert_eq!((stats.reordered, stats.repaired, stats.duplicates), (1, 1, 4));
    assert_eq!((stats.late, stats.skipped, stats.gaps), (1, 2, 2));
    assert_eq!((stats.delivered, stats.samples_delivered), (4, 64));
}

#[test]
fn repair_is_counted_by_the_time_since_its_hole_was_detected() {
    let mut bench = Bench::new();
    assert!(bench.data(0) && bench.data(4));
    let repeat = |bench: &mut Bench, seq| {
        let header = Header { flags: Flags::RETRANSMISSION, ..bench.full(seq) };
        bench.hand_data(&header, &[0; 64])
    };
    // The first bucket ends at 362.04 units.
    bench.pass(Nanos(362 * UNIT.0));
    assert!(repeat(&mut bench, 1));
    bench.pass(UNIT);
    assert!(repeat(&mut bench, 2));
    assert!(!repeat(&mut bench, 2), "a duplicate");
    assert!(bench.data(6), "a hole that is younger");
    assert!(bench.data(3), "reordered, not repaired");
    bench.pass(Nanos(512 * UNIT.0));
    assert!(repeat(&mut bench, 5));
    let stats = bench.receiver.stats();
    assert_eq!((stats.repaired, stats.reordered, stats.duplicates), (3, 1, 1));
    assert_eq!((stats.repair_latency.counts()[0], stats.repair_latency.counts()[1]), (1, 2));
    assert_eq!(stats.repair_latency.total(), stats.repaired);
    assert_eq!(stats.repair_latency_ns, (362 + 363 + 512) * UNIT.0);
}

#[test]
fn packet_given_up_before_its_repair_counts_as_late_alone() {
    let mut bench = Bench::of(Delivery::Deadline(ms(10)));
    assert!(bench.data(0) && bench.data(2));
    bench.deliver();
    bench.pass(ms(300));
    bench.deliver();
    let repeat = Header { flags: Flags::RETRANSMISSION, ..bench.full(1) };
    assert!(!bench.hand_data(&repeat, &[0; 64]));
    let stats = bench.receiver.stats();
    assert_eq!((stats.late, stats.repair_latency.total(), stats.repair_latency_ns), (1, 0, 0));
}

#[test]
fn credit_is_open_until_all_that_was_granted_is_known_to_have_departed() {
    let mut bench = Bench::new();
    assert!(bench.receiver.has_open_credit());
    assert!(bench.mark(7, 0));
    assert!(bench.receiver.has_open_credit());
    assert!(bench.mark(8, 0));
    assert!(!bench.receiver.has_open_credit());
    bench.receiver.grant(Seq(9));
    bench.receiver.grant(Seq(3));
    assert_eq!(bench.receiver.limit(), Seq(9), "a promise stands");
}

#[test]
#[should_panic(expected = "a promise of 17 packets exceeds the window of 16")]
fn promise_beyond_the_window_is_our_own_error() {
    Bench::new().receiver.grant(Seq(17));
}

/// `docs/protocol.md#6.3`
#[test]
fn hole_of_a_packet_that_the_socket_dropped_is_our_own_and_the_next_is_not() {
    let mut bench = Bench::of(Delivery::BestEffort);
    bench.data(0);
    bench.receiver.note_local_drops(1);
    bench.data(2);
    bench.data(4);
    assert_eq!(bench.gaps(), [gap(16, 16, Cause::ReceiverBehind), gap(48, 16, Cause::NeverAsked)]);
    bench.receiver.note_local_drops(1);
    bench.data(5);
    bench.data(7);
    assert_eq!(bench.gaps(), [gap(96, 16, Cause::NeverAsked)], "the drop left no hole");
}

/// `docs/protocol.md#6.3`
#[test]
fn drops_noted_with_a_packet_that_reveals_nothing_belong_to_the_next_that_does() {
    let mut bench = Bench::of(Delivery::BestEffort);
    bench.data(1);
    bench.receiver.note_local_drops(1);
    bench.data(0);
    bench.data(3);
    bench.pass(Nanos::from_millis(1));
    assert_eq!(bench.gaps(), [gap(32, 16, Cause::ReceiverBehind)]);
    bench.receiver.note_local_drops(1);
    bench.mark(4, 0);
    bench.data(5);
    assert_eq!(bench.gaps(), [gap(64, 16, Cause::NeverAsked)], "nothing was missing at the MARK");
}

/// `docs/protocol.md#6.3`: the socket drops packets and the wire loses packets, drawn from seeds,
/// with reordering. Each lost packet is reported with its own cause.
#[test]
fn socket_and_wire_are_distinguished_packet_by_packet_over_seeds() {
    const STEP: Nanos = Nanos::from_micros(20);
    for seed in 0..200u64 {
        let mut rng = Rng::new(seed);
        let mut below = |end: u64| rng.below(end);
        let tolerance =
            |terms: &mut Terms| terms.reorder_tolerance = Departure::units(Nanos(2 * STEP.0));
        let mut bench = Bench::with(Delivery::BestEffort, tolerance);
        let (mut by_socket, mut by_wire) = (0, 0);
        let mut reported = [0; Cause::ALL.len()];
        let mut held: Option<Header> = None;
        for seq in 0..400 {
            bench.receiver.grant(Seq(bench.receiver.released().0 + 16));
            let header = bench.full(seq);
            // The last arrives, and so does what follows on one that is held back.
            match if seq == 399 || held.is_some() { 9 } else { below(10) } {
                0 | 1 => {
                    by_socket += u64::from(SAMPLES);
                    bench.receiver.note_local_drops(1);
                }
                2 => by_wire += u64::from(SAMPLES),
                3 if seq < 398 => held = Some(header),
                _ => {
                    bench.hand_data(&header, &[0; 64]);
                    if let Some(late) = held.take() {
                        bench.hand_data(&late, &[0; 64]);
                    }
                }
            }
            for gap in bench.gaps() {
                reported[gap.cause as usize] += gap.count();
            }
            bench.pass(STEP);
        }
        bench.pass(Nanos::from_millis(2));
        for gap in bench.gaps() {
            reported[gap.cause as usize] += gap.count();
        }
        assert_eq!(reported.iter().sum::<u64>(), by_socket + by_wire, "seed {seed}");
        assert_eq!(reported[Cause::ReceiverBehind as usize], by_socket, "seed {seed}");
    }
}

/// `docs/protocol.md#6.4`, `#6.5`: 16 samples in 64 bytes, of which 8 are the count.
#[test]
fn data_of_the_agreed_form_is_taken_and_any_other_is_a_violation() {
    let come = |flags: Flags, len_bytes: usize, samples: u64| {
        let mut bench = Bench::new();
        let mut payload = vec![0; len_bytes];
        if let Some(count) = payload.last_chunk_mut() {
            *count = samples.to_be_bytes();
        }
        let header = Header { flags, ..bench.full(0) };
        bench.hand_data(&header, &payload);
        match bench.deliver()[..] {
            [Delivered::Packet { samples, .. }] => Ok(samples),
            [] => Err(bench.receiver.poll_event()),
            ref other => panic!("{other:?}"),
        }
    };
    let wrong = |violation| Err(Some(End::Violation(violation)));
    let seq = Seq(0);
    let (full, end, meta) = (Flags::NONE, Flags::END_OF_BURST, Flags::META);
    assert_eq!(come(full, 64, 99), Ok(16));
    for (flags, len_bytes) in [(full, 56), (full, 72), (end, 72), (end, 12), (meta, 72)] {
        let length = Violation::PayloadLength { seq, len_bytes, expected: 64 };
        assert_eq!(come(flags, len_bytes, 0), wrong(length));
    }
    for (len_bytes, most) in [(8, 0), (16, 2), (64, 14)] {
        assert_eq!(come(end, len_bytes, most), Ok(most as u32));
        let samples = most + 1;
        assert_eq!(come(end, len_bytes, samples), wrong(Violation::BurstLength { seq, samples }));
    }
    let samples = 1 << 60;
    assert_eq!(come(end, 64, samples), wrong(Violation::BurstLength { seq, samples }));
    assert_eq!((come(meta, 8, 99), come(meta | end, 64, 99)), (Ok(0), Ok(0)));
}

/// `docs/protocol.md#1.2`
#[test]
fn largest_index_is_2_to_the_63() {
    let come = |index| {
        let mut bench = Bench::new();
        let header = Header { index, flags: Flags::START, ..bench.full(0) };
        bench.hand_data(&header, &[0; 64]);
        bench.deliver();
        bench.receiver.poll_event()
    };
    assert_eq!(come(INDEX_MAX), None);
    let violation = Violation::IndexTooLarge { seq: Seq(0), index: INDEX_MAX + 1 };
    assert_eq!(come(INDEX_MAX + 1), Some(End::Violation(violation)));
}

/// `docs/protocol.md#7.2`
#[test]
fn close_is_taken_from_what_is_known_to_what_is_possible() {
    for (seq, index, is_taken) in [
        (3, 64, false),
        (4, 64, true),
        (8, 64, true),
        (9, 64, false),
        (4, 63, false),
        (4, INDEX_MAX + (1 << 32), true),
        (4, INDEX_MAX + (1 << 32) + 1, false),
    ] {
        let mut bench = Bench::new();
        (0..4).for_each(|seq| assert!(bench.data(seq)));
        bench.deliver();
        assert!(bench.hand(&close(RECEIVER_TAG, seq, index)));
        let is_draining = matches!(bench.receiver.phase(), Phase::Draining { .. });
        assert_eq!(is_draining, is_taken, "seq {seq}, index {index}");
        assert_eq!(bench.receiver.stats().refused, u64::from(!is_taken));
    }
}

/// `docs/protocol.md#7.2`
#[test]
fn finished_receiver_answers_for_eight_round_trips_within_bounds() {
    for (rtt_ms, linger_ms) in [(1, 300), (100, 800), (2_000, 5_000)] {
        let mut bench = Bench::with(Delivery::Complete, |terms| terms.rtt = ms(rtt_ms));
        assert!(bench.data(0));
        bench.hand(&close(RECEIVER_TAG, 1, 16));
        bench.deliver();
        assert_eq!(bench.receiver.poll_event(), Some(End::Finished { final_index: 16 }));
        let is_answered = |bench: &mut Bench| bench.leave().len() == 1;
        assert!(is_answered(&mut bench));
        assert_eq!(bench.due(), ms(linger_ms));
        bench.pass(ms(linger_ms) - Nanos(1));
        assert!(!is_answered(&mut bench), "no REPORT");
        bench.hand(&close(RECEIVER_TAG, 1, 16));
        assert_eq!(bench.due(), Nanos(0), "it owes an answer");
        assert!(is_answered(&mut bench));
        bench.hand(&close(RECEIVER_TAG, 2, 16));
        assert!(!is_answered(&mut bench), "another CLOSE");
        bench.pass(Nanos(1));
        assert!(bench.receiver.is_ended());
        assert_eq!(bench.receiver.poll_timeout(bench.now), None);
    }
}

/// `docs/protocol.md#7.3`
#[test]
fn cancelled_receiver_closes_six_times_at_doubling_pauses_within_bounds() {
    for (rtt_ms, pauses_ms) in
        [(0, [5; 6]), (8, [8, 16, 32, 64, 128, 256]), (100, [100, 200, 400, 500, 500, 500])]
    {
        let mut bench = Bench::with(Delivery::Complete, |terms| terms.rtt = ms(rtt_ms));
        bench.receiver.cancel(bench.now);
        for pause_ms in pauses_ms {
            let bytes = bench.report().expect("a CLOSE is due");
            let (_, Packet::Close(close)) = wire::parse(&bytes).expect("a packet") else {
                panic!("CLOSE")
            };
            assert_eq!(close.reason, CloseReason::Cancelled);
            assert_eq!(bench.due(), ms(pause_ms));
            bench.pass(ms(pause_ms) - Nanos(1));
            assert!(bench.leave().is_empty() && !bench.receiver.is_ended());
            bench.pass(Nanos(1));
        }
        assert!(bench.receiver.is_ended());
    }
}

/// `docs/protocol.md#7.3`, `#7.6`
#[test]
fn receiver_that_cancels_or_lingers_has_ended_once_the_sender_says_so() {
    let acknowledged = close_ack(RECEIVER_TAG, 0, CloseAckReason::Done, SENDER_TAG);
    let unknown = close_ack(Tag::NONE, 0, CloseAckReason::UnknownTag, SENDER_TAG);
    for bytes in [&acknowledged, &unknown] {
        let mut bench = Bench::new();
        bench.receiver.cancel(bench.now);
        assert!(bench.hand(bytes) && bench.receiver.is_ended());
        assert_eq!(bench.receiver.stats().unexpected, 0);
    }
    let mut bench = Bench::new();
    bench.hand(&close(RECEIVER_TAG, 0, 0));
    bench.deliver();
    assert!(bench.hand(&acknowledged) && !bench.receiver.is_ended(), "it was not requested");
    assert!(bench.hand(&unknown) && bench.receiver.is_ended());
}

/// `docs/protocol.md#7.7`
#[test]
fn silence_breaks_off_when_dead_after_has_passed_since_the_last_valid_packet() {
    let mut bench = Bench::new();
    assert!(bench.data(0));
    bench.pass(ms(500));
    assert!(!bench.mark(9, 0) && !bench.data(8));
    bench.pass(ms(14_500) - Nanos(1));
    assert_eq!(bench.receiver.phase(), Phase::Flowing);
    bench.pass(Nanos(1));
    assert_eq!(bench.receiver.phase(), Phase::Breaking(End::PeerSilent));
    bench.deliver();
    assert_eq!(bench.receiver.poll_event(), Some(End::PeerSilent));
}

/// `docs/protocol.md#7.6`
#[test]
fn unknown_is_believed_of_the_tag_in_use_alone() {
    let unknown = CloseAckReason::UnknownTag;
    for (tag, reason, echoed_tag) in [
        (Tag::NONE, unknown, RECEIVER_TAG),
        (Tag::NONE, CloseAckReason::Done, SENDER_TAG),
        (SENDER_TAG, unknown, SENDER_TAG),
    ] {
        let mut bench = Bench::new();
        assert!(!bench.hand(&close_ack(tag, 0, reason, echoed_tag)));
        assert_eq!((bench.receiver.stats().foreign, bench.receiver.phase()), (1, Phase::Flowing));
    }
}

/// `docs/protocol.md#7.6`
#[test]
fn unknown_is_believed_by_an_opener_that_has_heard_nothing_valid_for_long() {
    let unknown = close_ack(Tag::NONE, 0, CloseAckReason::UnknownTag, SENDER_TAG);
    // A live sender sends a MARK at least every `idle after`.
    let silence = ms(1_000) + RTT;
    let mut bench = Bench::new();
    bench.pass(silence);
    assert!(bench.data(0));
    bench.pass(silence - Nanos(1));
    assert!(bench.hand(&unknown));
    assert_eq!((bench.receiver.phase(), bench.receiver.stats().unexpected), (Phase::Flowing, 1));
    bench.pass(Nanos(1));
    assert!(bench.hand(&unknown));
    assert_eq!(bench.receiver.phase(), Phase::Breaking(End::PeerRestarted));

    let mut bench = Bench::with(Delivery::Complete, |terms| terms.is_opener = false);
    bench.pass(silence);
    assert!(!bench.hand(&unknown), "an opener does not say so");
    assert_eq!((bench.receiver.stats().foreign, bench.receiver.phase()), (1, Phase::Flowing));
}

/// `docs/protocol.md#4.5`
#[test]
fn idle_sender_that_pauses_less_than_reports_do_may_be_silent_as_long() {
    let unknown = close_ack(Tag::NONE, 0, CloseAckReason::UnknownTag, SENDER_TAG);
    let mut bench = Bench::with(Delivery::Complete, |terms| terms.idle_after = ms(1));
    bench.pass(ms(100) + RTT - Nanos(1));
    assert!(bench.hand(&unknown));
    assert_eq!(bench.receiver.phase(), Phase::Flowing);
    bench.pass(Nanos(1));
    assert!(bench.hand(&unknown));
    assert_eq!(bench.receiver.phase(), Phase::Breaking(End::PeerRestarted));
}

/// `docs/protocol.md#2.11`, `#4.9`
#[test]
fn echo_of_a_mark_counts_once_a_report_has_left() {
    let mut bench = Bench::new();
    let at = bench.now;
    let echoing = |bench: &mut Bench, hold| {
        bench.now = bench.now + ms(2);
        let mark = Mark { echo: Departure::at(at), hold, source_lost: 5, ..MARK };
        let departure = Departure::at(bench.now);
        assert!(bench.hand(&packets::mark(0, departure, &mark)));
        bench.receiver.rtt()
    };
    assert_eq!(echoing(&mut bench, 0), RTT, "nothing has left that could be echoed");
    assert!(bench.report().is_some());
    assert_eq!(echoing(&mut bench, u32::MAX), RTT, "nothing has come");
    assert_eq!(echoing(&mut bench, 0), ms(6));
    assert_eq!(bench.receiver.stats().source_lost, 5);
}

/// `docs/protocol.md#2.11`
#[test]
fn time_is_that_of_the_mark_that_departed_last() {
    let mut bench = Bench::new();
    let start = bench.now;
    bench.pass(ms(2));
    let marked = |bench: &mut Bench, departed: Nanos, index, time_ns| {
        let header = Header {
            departure: Departure::at(departed),
            index,
            ..header(PacketType::Mark, RECEIVER_TAG, Seq(0))
        };
        let mut bytes = [0; 64];
        let len = Mark { time_ns, ..MARK }.emit(&header, &mut bytes);
        assert!(bench.hand(&bytes[..len]));
        let stats = bench.receiver.stats();
        (stats.timed_index, stats.timed_index_tai_ns)
    };
    assert_eq!(marked(&mut bench, start, 70, 0), (0, 0), "no time");
    assert_eq!(marked(&mut bench, start + ms(2), 80, 8_000), (80, 8_000));
    assert_eq!(marked(&mut bench, start + ms(1), 75, 7_500), (80, 8_000), "it was overtaken");
    assert_eq!(marked(&mut bench, start + ms(2), 81, 0), (80, 8_000), "no time");
    // A clock that was set back counts as well.
    assert_eq!(marked(&mut bench, start + ms(2), 82, 1), (82, 1));
    let impossible = packets::mark(
        0,
        Departure::at(start + ms(2)),
        &Mark { oldest: Seq(1), time_ns: 5, ..MARK },
    );
    assert!(bench.hand(&impossible));
    let stats = bench.receiver.stats();
    assert_eq!((stats.refused, stats.timed_index_tai_ns), (1, 1));
}

/// `docs/protocol.md#2.12`, `#4.5`
#[test]
fn report_counts_what_has_come_and_is_due_by_what_has_come_since() {
    let mut bench = Bench::with(Delivery::Complete, |terms| terms.ranges_max = 1);
    assert!(bench.report().is_some(), "the first at once");
    assert_eq!(bench.due(), ms(20), "no DATA has come");
    bench.data(0);
    assert_eq!(bench.due(), ms(32), "four round trips");
    bench.data(2);
    bench.data(4);
    assert_eq!(bench.due(), Nanos(62_500), "a hole can be listed");
    bench.pass(Nanos(62_500));
    let bytes = bench.report().expect("it is due");
    assert_eq!(bench.due(), Nanos(20_000), "the last one was full");
    let (header, Packet::Report(Report { fields, ranges })) = wire::parse(&bytes).unwrap() else {
        panic!("REPORT")
    };
    assert_eq!((header.seq, ranges.len()), (Seq(2), 1));
    assert_eq!((fields.received, fields.highest_end, fields.hold), (3, Seq(5), 3_906));
    let stats = bench.receiver.stats();
    assert_eq!((stats.reports, stats.ranges), (2, 1));
    // The second listing of one hole, and both of the other.
    for (ranges, due) in [(2, Nanos(20_000)), (3, Nanos(20_000)), (4, ms(100))] {
        bench.pass(Nanos(20_000));
        bench.report().expect("it is due");
        assert_eq!((bench.receiver.stats().ranges, bench.due()), (ranges, due));
    }
}

/// `docs/protocol.md#6.8`
#[test]
fn deadline_by_departures_gives_up_one_unit_after_it() {
    let deadline = ms(10);
    let mut bench = Bench::of(Delivery::Deadline(deadline));
    bench.data(0);
    bench.data(2);
    assert_eq!(bench.deliver().len(), 1);
    bench.pass(deadline);
    bench.data(3);
    assert!(bench.deliver().is_empty(), "as old as the deadline");
    bench.pass(UNIT);
    assert!(bench.deliver().is_empty(), "departures do not show it");
    bench.data(4);
    assert_eq!(bench.gaps(), [gap(16, 16, Cause::Deadline)]);
}

/// `docs/protocol.md#1.4`, `#6.8`
#[test]
fn age_of_a_hole_counts_on_beyond_half_of_the_departure_clock() {
    let half = Departure::span_ns(1 << 31);
    for deadline in [ms(10), ms(30_000)] {
        for age in [deadline + UNIT, half - UNIT, half, half + UNIT, deadline + ms(30_000)] {
            let mut bench = Bench::of(Delivery::Deadline(deadline));
            bench.data(0);
            bench.data(2);
            assert_eq!(bench.deliver().len(), 1);
            // The sender lives; no one looks at the hole meanwhile.
            for part in [age.0 / 2, age.0 - age.0 / 2] {
                bench.now = bench.now + Nanos(part);
                bench.mark(3, 0);
            }
            assert_eq!(bench.gaps(), [gap(16, 16, Cause::Deadline)], "{deadline:?}, {age:?}");
        }
    }
}

/// A program that takes nothing for so long decides nothing by it (`docs/protocol.md#1.4`).
#[test]
fn hole_that_has_expired_stays_so_while_the_program_takes_nothing() {
    let cases = [
        (Delivery::Deadline(ms(1_000)), Cause::Deadline),
        (Delivery::Deadline(ms(30_000)), Cause::Deadline),
        (Delivery::BestEffort, Cause::NeverAsked),
    ];
    for (delivery, cause) in cases {
        for stall_s in [31, 35, 60, 69, 103] {
            let mut bench = Bench::of(delivery);
            bench.data(0);
            bench.data(2);
            for _ in 0..stall_s {
                bench.pass(ms(1_000));
                bench.mark(3, 0);
                bench.receiver.handle_timeout(bench.now);
                bench.leave();
                assert!(bench.due() > Nanos(0), "a timer that has passed would spin");
            }
            assert_eq!(bench.gaps(), [gap(16, 16, cause)], "{delivery:?} after {stall_s} s");
        }
    }
}

/// `docs/protocol.md#6.8`
#[test]
fn hole_that_this_host_learns_of_late_gets_its_time_too() {
    let deadline = ms(10);
    let mut bench = Bench::of(Delivery::Deadline(deadline));
    bench.data(0);
    let revealing = bench.full(2);
    let newer = Header { departure: revealing.departure.plus(1_000_000), ..bench.full(3) };
    bench.hand_data(&revealing, &[0; 64]);
    bench.hand_data(&newer, &[0; 64]);
    assert_eq!(bench.deliver().len(), 1);
    let mut early = Bench { receiver: bench.receiver.clone(), now: bench.now };
    early.pass(deadline);
    assert!(early.deliver().is_empty());
    let waited = bench.pass_to_timer();
    assert!(waited > deadline && waited < deadline + UNIT + UNIT, "{waited:?}");
    assert_eq!(bench.gaps(), [gap(16, 16, Cause::Deadline)]);
}

/// `docs/protocol.md#6.8`
#[test]
fn silence_counts_for_a_deadline_when_it_is_longer_than_a_pause() {
    for (deadline_ms, bound_ms) in [(10, 200), (500, 500)] {
        let mut bench = Bench::of(Delivery::Deadline(ms(deadline_ms)));
        bench.data(0);
        bench.data(2);
        assert_eq!(bench.deliver().len(), 1);
        let mut early = Bench { receiver: bench.receiver.clone(), now: bench.now };
        early.pass(ms(bound_ms));
        assert!(early.deliver().is_empty(), "it may be a pause");
        assert_eq!(bench.pass_to_timer(), ms(bound_ms) + Nanos(1_000));
        assert_eq!(bench.gaps(), [gap(16, 16, Cause::Deadline)]);
    }
}

/// `docs/protocol.md#4.11`
#[test]
fn silence_counts_for_the_tolerance_where_the_hole_was_listed_in_it() {
    for is_listed in [false, true] {
        let mut bench = Bench::new();
        bench.data(0);
        let late = bench.full(1);
        bench.pass(Nanos(16_000));
        bench.data(2);
        if is_listed {
            assert!(bench.report().is_some());
            assert_eq!(bench.receiver.stats().ranges, 1);
        }
        bench.pass(Nanos(16_000));
        assert!(bench.hand_data(&late, &[0; 64]));
        let seen_us = if is_listed { 32 } else { 16 };
        let tolerance = bench.receiver.stats().reorder_tolerance;
        assert_eq!(tolerance, Nanos(seen_us * 1_250), "a quarter more");
        assert_eq!(bench.receiver.stats().reordered_beyond, 1);
    }
}

/// `docs/protocol.md#2.12`, `#2.17`, `#6.1`
#[test]
fn report_and_close_tell_the_positions_of_both_ends() {
    for (delivery, released) in [(Delivery::Complete, 1), (Delivery::BestEffort, 3)] {
        let mut bench = Bench::of(delivery);
        assert!(!bench.receiver.has_waiting());
        bench.data(0);
        bench.mark(3, 0);
        bench.receiver.poll_delivery(bench.now);
        assert!(bench.receiver.has_waiting());
        assert_eq!(bench.receiver.promise_end(), Seq(1 + 16));
        bench.receiver.set_consumed(7);
        let bytes = bench.report().expect("the first");
        let (header, Packet::Report(report)) = wire::parse(&bytes).unwrap() else {
            panic!("REPORT")
        };
        assert_eq!((header.index, header.flags), (7, Flags::FROM_OPENER));
        assert_eq!((report.fields.released, report.fields.limit), (Seq(released), Seq(8)));
        bench.receiver.cancel(bench.now);
        let bytes = bench.report().expect("a CLOSE");
        let (header, Packet::Close(close)) = wire::parse(&bytes).unwrap() else { panic!("CLOSE") };
        assert_eq!((header.index, header.seq, close.last), (16, Seq(released), Seq(1)));
    }
}

/// `docs/protocol.md#6.10`, `#2.17`
#[test]
fn device_that_plays_reports_what_is_late_and_closes_with_what_was_missing() {
    let mut bench = Bench::with(Delivery::Complete, |terms| terms.is_opener = false);
    assert!(!bench.receiver.is_heard());
    bench.data(0);
    bench.deliver();
    assert!(bench.receiver.is_heard());
    bench.receiver.set_consumed(16);
    bench.receiver.note_play(3, 40);
    let report = bench.report().expect("the first is due");
    let (header, Packet::Report(report)) = wire::parse(&report).expect("a packet") else {
        panic!("REPORT is REPORT")
    };
    assert_eq!((header.index, report.fields.late), (16, 3));
    bench.receiver.cancel_for(bench.now, CloseReason::Underflow);
    let left = bench.leave();
    let close = left.iter().find_map(|bytes| match wire::parse(bytes) {
        Ok((_, Packet::Close(close))) => Some(close),
        _ => None,
    });
    let close = close.expect("it closes");
    assert_eq!((close.reason, close.source_lost), (CloseReason::Underflow, 40));
}
