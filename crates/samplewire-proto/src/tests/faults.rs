//! Streams over paths that lose, double, reorder and corrupt.

use super::pair::{Pair, Path, SAMPLES, terms};
use crate::gap::{Cause, Gap};
use crate::latency::Latencies;
use crate::number::{Nanos, Seq};
use crate::receiver::{Delivery, Phase, ReceiverConfig};
use crate::stream::End;
use crate::wire::CloseReason;

const RTT: Nanos = Nanos::from_micros(100);
const LIMIT: Nanos = Nanos::from_millis(60_000);

fn bad_path(loss: f64) -> Path {
    Path {
        delay: Nanos(RTT.0 / 2),
        loss,
        duplicate: 0.01,
        corrupt: 0.005,
        reorder: 0.05,
        reorder_by: Nanos(RTT.0),
        lost: vec![],
    }
}

fn config(delivery: Delivery) -> ReceiverConfig {
    ReceiverConfig::new().with_delivery(delivery).expect("in range")
}

/// A run of `packets` with one in 1 us; prints its seed when it fails.
fn run(seed: u64, delivery: Delivery, data_loss: f64, report_loss: f64, packets: u64) -> Pair {
    println!("seed {seed}");
    let mut pair = Pair::new(seed, terms(1_024, RTT), config(delivery));
    pair.data_path = bad_path(data_loss);
    pair.report_path = bad_path(report_loss);
    pair.to_push = packets;
    pair.interval = Nanos(1_000);
    pair.run_to_end(LIMIT);
    let final_index = packets * u64::from(SAMPLES);
    assert_eq!(pair.sender_end, Some(End::Finished { final_index }));
    assert_eq!(pair.receiver_end, Some(End::Finished { final_index }));
    pair
}

#[test]
fn complete_delivery_through_every_fault_has_no_gap() {
    for seed in 0..8 {
        let packets = 20_000;
        let pair = run(seed, Delivery::Complete, 0.01, 0.01, packets);
        pair.assert_all_accounted(packets * u64::from(SAMPLES), None);
        assert!(pair.receiver.stats().repaired > 100);
    }
}

#[test]
fn complete_delivery_survives_thirty_percent_loss_both_ways() {
    for seed in 0..4 {
        let packets = 10_000;
        let pair = run(seed, Delivery::Complete, 0.3, 0.3, packets);
        pair.assert_all_accounted(packets * u64::from(SAMPLES), None);
    }
}

#[test]
fn deadline_names_every_index_it_gives_up() {
    for seed in 0..4 {
        let packets = 20_000;
        let deadline = Delivery::Deadline(Nanos::from_micros(300));
        let pair = run(seed, deadline, 0.3, 0.3, packets);
        pair.assert_all_accounted(packets * u64::from(SAMPLES), Some(Cause::Deadline));
        assert!(pair.ledger.gaps.len() > 10);
    }
}

#[test]
fn deadline_of_twenty_round_trips_repairs_nearly_all_of_ten_percent() {
    let packets = 50_000;
    let deadline = Delivery::Deadline(Nanos::from_millis(2));
    let pair = run(7, deadline, 0.1, 0.0, packets);
    let missing = pair.receiver.stats().samples_missing();
    assert!(missing * 1_000 <= packets * u64::from(SAMPLES), "{missing} samples missing");
}

#[test]
fn best_effort_asks_for_nothing_and_names_what_was_lost() {
    let packets = 20_000;
    let pair = run(3, Delivery::BestEffort, 0.05, 0.05, packets);
    pair.assert_all_accounted(packets * u64::from(SAMPLES), Some(Cause::NeverAsked));
    assert_eq!(pair.sender.stats().retransmissions, 0);
    assert!(pair.receiver.stats().late > 0, "reordered packets come after they were given up");
}

#[test]
fn one_percent_loss_is_repaired_without_useless_retransmissions() {
    let mut pair = Pair::new(5, terms(1_024, RTT), config(Delivery::Complete));
    pair.data_path.loss = 0.01;
    pair.report_path.loss = 0.01;
    pair.to_push = 100_000;
    pair.interval = Nanos(1_000);
    pair.run_to_end(LIMIT);
    let stats = pair.receiver.stats();
    assert!(stats.repaired > 900);
    assert!(stats.duplicates * 1_000 <= stats.repaired, "{stats:?}");
}

/// The repair latencies of a stream that loses these departures.
fn repair_latencies(lost: Vec<u64>) -> (Latencies, u64) {
    let mut pair = Pair::new(5, terms(1_024, RTT), config(Delivery::Complete));
    pair.data_path.lost = lost;
    pair.to_push = 1_000;
    pair.interval = Nanos(1_000);
    pair.run_to_end(LIMIT);
    let stats = pair.receiver.stats();
    assert_eq!(stats.repaired, stats.repair_latency.total());
    (stats.repair_latency, stats.repair_latency_ns)
}

#[test]
fn repair_takes_a_round_trip_and_twice_that_where_the_repeat_is_lost() {
    let (latencies, sum_ns) = repair_latencies(vec![]);
    assert_eq!((latencies.total(), sum_ns), (0, 0));
    let (latencies, sum_ns) = repair_latencies((10..200).collect());
    assert_eq!((latencies.total(), sum_ns), (190, 190 * RTT.0));
    // 100 µs: above 2^16.5 ns, 92.7 µs, and at most 2^17 ns.
    assert_eq!(latencies.counts()[9], 190);
    // Where the repeat itself is lost, no other hole is left: one departure of these is that.
    let later = (11..400).map(|repeat| repair_latencies(vec![10, repeat]));
    let alone: Vec<_> = later.filter(|(latencies, _)| latencies.total() == 1).collect();
    let [(latencies, sum_ns)] = alone[..] else { panic!("{alone:?}") };
    assert!((2 * RTT.0..=2 * RTT.0 + RTT.0 / 4).contains(&sum_ns), "{sum_ns}");
    assert_eq!(latencies.counts()[11], 1, "{latencies:?}");
}

#[test]
fn receiver_paused_for_ten_seconds_loses_nothing() {
    let mut pair = Pair::new(1, terms(256, RTT), config(Delivery::Deadline(Nanos::from_millis(2))));
    pair.to_push = 20_000;
    pair.run_for(Nanos::from_millis(1));
    pair.paused_until = pair.now + Nanos::from_millis(10_000);
    pair.run_to_end(LIMIT);
    pair.assert_all_accounted(20_000 * u64::from(SAMPLES), None);
}

#[test]
fn holes_found_after_a_pause_longer_than_the_deadline_are_repaired_all_the_same() {
    let deadline = Delivery::Deadline(Nanos::from_millis(2));
    let mut pair = Pair::new(1, terms(4_096, RTT), config(deadline));
    pair.to_push = 40_000;
    pair.interval = Nanos(10_000);
    pair.data_path.loss = 0.1;
    for _ in 0..20 {
        pair.run_for(Nanos::from_millis(5));
        pair.paused_until = pair.now + Nanos::from_millis(8);
    }
    pair.run_to_end(LIMIT);
    let missing = pair.receiver.stats().samples_missing();
    assert!(missing * 1_000 <= 40_000 * u64::from(SAMPLES), "{missing} samples missing");
    assert!(pair.receiver.stats().repaired > 3_000);
}

/// `docs/protocol.md#6.8`, `#1.4`
#[test]
fn longest_deadline_holds_though_the_receiver_stalls_past_the_horizon() {
    for stall_ms in [100, 4_300, 4_400, 4_600, 14_000] {
        let deadline = Nanos::from_millis(30_000);
        let terms = terms(1_024, Nanos::from_millis(50));
        let mut pair = Pair::new(1, terms, config(Delivery::Deadline(deadline)));
        pair.to_push = 900;
        pair.interval = Nanos::from_millis(100);
        pair.never_arrives = Some(Seq(1));
        // Packet 2, or the MARK before it, reveals the hole within 225 ms.
        pair.run_for(Nanos::from_millis(100) + deadline);
        assert!(pair.ledger.gaps.is_empty());
        pair.paused_until = pair.now + Nanos::from_millis(stall_ms);
        pair.run_for(Nanos::from_millis(stall_ms + 300));
        let first = u64::from(SAMPLES);
        let gap = Gap { first, not_repaired: first, source_lost: 0, cause: Cause::Deadline };
        assert_eq!(pair.ledger.gaps, [gap], "after a stall of {stall_ms} ms");
    }
}

#[test]
fn silent_receiver_is_dead_after_the_time_agreed() {
    let mut pair = Pair::new(1, terms(256, RTT), config(Delivery::Complete));
    pair.to_push = 1_000_000;
    pair.run_for(Nanos::from_millis(1));
    pair.report_path.loss = 1.0;
    pair.data_path.loss = 1.0;
    let start = pair.now;
    pair.run_to_end(LIMIT);
    assert_eq!(pair.sender_end, Some(End::PeerSilent));
    assert_eq!(pair.receiver_end, Some(End::PeerSilent));
    let waited = pair.now.since(start);
    assert!(
        waited >= Nanos::from_millis(14_900) && waited < Nanos::from_millis(15_300),
        "{waited:?}"
    );
}

#[test]
fn sender_that_was_never_answered_does_not_claim_to_be_finished() {
    let mut pair = Pair::new(1, terms(256, RTT), config(Delivery::Complete));
    pair.data_path.loss = 1.0;
    pair.report_path.loss = 1.0;
    pair.sender.lose_at_source(100);
    pair.run_to_end(LIMIT);
    assert_eq!(pair.sender_end, Some(End::PeerSilent), "the last 100 samples were never reported");
}

#[test]
fn what_was_received_before_the_peer_died_is_delivered() {
    let mut pair = Pair::new(1, terms(256, RTT), config(Delivery::Complete));
    pair.to_push = 20;
    pair.closes = false;
    pair.data_path.lost = vec![8];
    pair.run_for(Nanos(RTT.0 * 6 / 5));
    pair.data_path.loss = 1.0;
    pair.report_path.loss = 1.0;
    pair.run_to_end(LIMIT);
    assert_eq!(pair.receiver_end, Some(End::PeerSilent));
    assert_eq!(pair.ledger.gaps.len(), 1);
    assert_eq!(pair.ledger.gaps[0].cause, Cause::GoneAtSender);
    assert_eq!(pair.ledger.samples, 19 * u64::from(SAMPLES));
}

#[test]
fn overflow_at_the_source_is_named_where_it_happened() {
    let mut pair = Pair::new(1, terms(256, RTT), config(Delivery::Complete));
    pair.to_push = 100;
    pair.overflows = [(40, 1_000), (41, 5)].into();
    pair.run_to_end(LIMIT);
    pair.assert_all_accounted(100 * u64::from(SAMPLES) + 1_005, Some(Cause::SourceOverflow));
    let gaps: Vec<_> = pair.ledger.gaps.iter().map(|gap| (gap.first, gap.count())).collect();
    assert_eq!(gaps, [(640, 1_000), (1_656, 5)]);
    assert_eq!(pair.receiver.stats().source_lost, 1_005);
}

#[test]
fn consumer_that_stops_stalls_the_sender_and_loses_nothing() {
    let mut pair = Pair::new(1, terms(64, RTT), config(Delivery::Complete));
    pair.to_push = 1_000;
    pair.consumes = false;
    pair.receiver.grant(pair.receiver.promise_end());
    pair.run_for(Nanos::from_millis(500));
    assert_eq!(pair.receiver.stats().delivered, 64, "the credit granted and no more");
    assert!(pair.sender.stats().credit_stalls > 0);
    pair.consumes = true;
    pair.run_to_end(LIMIT);
    pair.assert_all_accounted(1_000 * u64::from(SAMPLES), None);
}

#[test]
fn persistent_loss_trips_the_circuit_breaker_and_says_so() {
    let mut pair = Pair::new(1, terms(1_024, Nanos::from_millis(2)), config(Delivery::Complete));
    pair.to_push = u64::MAX;
    pair.interval = Nanos(100_000);
    pair.data_path.loss = 0.75;
    pair.run_to_end(LIMIT);
    assert_eq!(pair.sender_end, Some(End::CircuitBreaker));
}

#[test]
fn cancelled_receiver_ends_both_sides() {
    let mut pair = Pair::new(1, terms(256, RTT), config(Delivery::Complete));
    pair.data_path.loss = 0.3;
    pair.report_path.loss = 0.3;
    pair.to_push = u64::MAX;
    pair.interval = Nanos(1_000);
    pair.run_for(Nanos::from_millis(5));
    pair.receiver.cancel(pair.now);
    pair.run_to_end(Nanos::from_millis(1_000));
    assert_eq!(pair.receiver_end, Some(End::Cancelled));
    assert!(matches!(pair.sender_end, Some(End::ClosedByPeer(_))));
}

#[test]
fn cancelled_best_effort_receiver_with_holes_ends_both_sides() {
    for seed in 0..20 {
        println!("seed {seed}");
        let mut pair = Pair::new(seed, terms(256, RTT), config(Delivery::BestEffort));
        pair.data_path = bad_path(0.2);
        pair.to_push = u64::MAX;
        pair.interval = Nanos(1_000);
        pair.run_for(Nanos::from_millis(5));
        pair.receiver.cancel(pair.now);
        pair.run_to_end(Nanos::from_millis(1_000));
        assert!(matches!(pair.sender_end, Some(End::ClosedByPeer(_))), "{:?}", pair.sender_end);
    }
}

#[test]
fn receiver_cancelled_while_it_drains_names_no_gap() {
    let mut pair = Pair::new(1, terms(256, RTT), config(Delivery::Complete));
    pair.to_push = 20;
    pair.data_path.lost = vec![8];
    while !matches!(pair.receiver.phase(), Phase::Draining { .. }) {
        pair.run_for(Nanos(1_000));
    }
    assert!(pair.receiver.has_waiting(), "a packet is missing");
    pair.receiver.cancel(pair.now);
    pair.run_to_end(LIMIT);
    assert_eq!(pair.receiver_end, Some(End::Cancelled));
    assert_eq!(pair.ledger.gaps, []);
}

#[test]
fn cancelled_sender_delivers_what_had_departed() {
    let mut pair = Pair::new(1, terms(256, RTT), config(Delivery::Complete));
    pair.data_path.loss = 0.1;
    pair.to_push = u64::MAX;
    pair.run_for(Nanos::from_millis(5));
    pair.sender.cancel(pair.now);
    pair.to_push = 0;
    pair.run_to_end(LIMIT);
    let end = pair.ledger.next_index;
    assert_eq!(pair.receiver_end, Some(End::ClosedByPeer(CloseReason::Cancelled)));
    pair.assert_all_accounted(end, None);
}
