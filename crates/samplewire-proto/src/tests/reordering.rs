//! Paths that reorder by more than the terms tolerate (`docs/protocol.md#4.11`).

use super::pair::{Pair, RECEIVER_TAG, SAMPLES, terms};
use crate::gap::Cause;
use crate::number::{Departure, Nanos};
use crate::receiver::{Delivery, ReceiverConfig};
use crate::stream::Terms;
use crate::wire::{Flags, HEADER_LEN, Header, PacketType, TRAILER_LEN, seal};

const RTT: Nanos = Nanos::from_micros(1_000);
const FLOOR: Nanos = Nanos::from_micros(32);
const LIMIT: Nanos = Nanos::from_millis(60_000);

/// A stream of one packet in 2 us of which 1 % is lost and 1 % comes up to `late` later.
fn reordered(delivery: Delivery, late: Nanos) -> Pair {
    let terms = Terms { reorder_tolerance: Departure::units(FLOOR), ..terms(4_096, RTT) };
    let config = ReceiverConfig::new().with_delivery(delivery).expect("in range");
    let mut pair = Pair::new(9, terms, config);
    pair.interval = Nanos(2_000);
    pair.data_path.loss = 0.01;
    pair.data_path.reorder = 0.01;
    pair.data_path.reorder_by = late;
    pair
}

#[test]
fn reordering_eight_times_the_tolerance_costs_hardly_a_repeat() {
    let mut pair = reordered(Delivery::Complete, Nanos(8 * FLOOR.0));
    pair.to_push = 100_000;
    pair.run_to_end(LIMIT);
    pair.assert_all_accounted(100_000 * u64::from(SAMPLES), None);
    let stats = pair.receiver.stats();
    assert!(stats.repaired > 900 && stats.reordered > 900, "{stats:?}");
    assert!(stats.duplicates * 100 <= stats.repaired, "{stats:?}");
    assert!((1..=9).contains(&stats.reordered_beyond), "{stats:?}");
    let tolerance = FLOOR.0 * 6..=FLOOR.0 * 10;
    assert!(tolerance.contains(&stats.reorder_tolerance.0), "{stats:?}");
}

#[test]
fn reordering_within_the_tolerance_does_not_raise_it() {
    let mut pair = reordered(Delivery::Complete, FLOOR);
    pair.to_push = 20_000;
    pair.run_to_end(LIMIT);
    let stats = pair.receiver.stats();
    assert_eq!((stats.reorder_tolerance, stats.reordered_beyond), (FLOOR, 0));
    assert_eq!(stats.duplicates, 0);
}

#[test]
fn reordering_beyond_the_bound_costs_its_repeats_and_no_wait() {
    let mut pair = reordered(Delivery::Complete, Nanos(0));
    pair.to_push = 2_000;
    pair.data_path.loss = 0.0;
    pair.data_path.reorder = 0.0;
    // Every hundredth packet takes a path that is longer by most of a round trip.
    for _ in 0..20 {
        pair.data_path.delay = Nanos(RTT.0 / 2 + RTT.0 * 3 / 4);
        pair.run_for(Nanos(2_000));
        pair.data_path.delay = Nanos(RTT.0 / 2);
        pair.run_for(Nanos(198_000));
    }
    pair.run_to_end(LIMIT);
    let stats = pair.receiver.stats();
    assert!(stats.reordered_beyond >= 15 && stats.duplicates >= 15, "{stats:?}");
    assert_eq!(stats.reorder_tolerance, FLOOR);
}

#[test]
fn path_that_stops_reordering_is_trusted_again() {
    let mut pair = reordered(Delivery::Complete, Nanos(8 * FLOOR.0));
    pair.to_push = u64::MAX;
    pair.run_for(Nanos::from_millis(50));
    assert!(pair.receiver.stats().reorder_tolerance > FLOOR);
    pair.data_path.reorder = 0.0;
    let repaired = pair.receiver.stats().repaired;
    while pair.receiver.stats().reorder_tolerance > FLOOR {
        pair.run_for(RTT);
        let since = pair.receiver.stats().repaired - repaired;
        assert!(since < 600, "{since} repairs later the tolerance still stands");
    }
    assert!(pair.receiver.stats().repaired - repaired > 256, "forgotten too early");
}

#[test]
fn deadline_that_is_short_leaves_time_for_a_repair() {
    let deadline = Nanos(RTT.0 * 8 / 5);
    let mut pair = reordered(Delivery::Deadline(deadline), Nanos(RTT.0 * 3 / 8));
    pair.to_push = 100_000;
    pair.run_to_end(LIMIT);
    let stats = pair.receiver.stats();
    assert!(stats.reorder_tolerance > Nanos(8 * FLOOR.0), "{stats:?}");
    assert!(stats.reorder_tolerance + Nanos(RTT.0 * 9 / 8) < deadline, "{stats:?}");
    // A repair comes in time where its repeat is not lost.
    assert!(stats.skipped * 50 <= stats.repaired, "{stats:?}");
}

#[test]
fn best_effort_gives_up_less_once_the_path_has_shown_its_reordering() {
    let mut pair = reordered(Delivery::BestEffort, Nanos(8 * FLOOR.0));
    pair.to_push = 100_000;
    pair.run_to_end(LIMIT);
    pair.assert_all_accounted(100_000 * u64::from(SAMPLES), Some(Cause::NeverAsked));
    let stats = pair.receiver.stats();
    assert!(stats.late <= 10 && stats.reordered > 900, "{stats:?}");
}

#[test]
fn absurd_departures_leave_the_tolerance_as_it_is() {
    for by in [1 << 20, 1 << 26, 1 << 30, (1 << 31) - 1, 1 << 31, u32::MAX - 1_000] {
        let mut pair = reordered(Delivery::Complete, Nanos(0));
        pair.data_path.loss = 0.05;
        pair.to_push = 2_000;
        while !pair.receiver.has_waiting() {
            pair.run_for(Nanos(2_000));
        }
        let header = Header {
            kind: PacketType::Data,
            flags: Flags::NONE,
            tag: RECEIVER_TAG,
            index: u64::from(pair.receiver.released().0) * u64::from(SAMPLES),
            seq: pair.receiver.released(),
            departure: Departure::at(pair.now).minus(by),
        };
        let mut bytes = vec![0; HEADER_LEN + 66 + TRAILER_LEN];
        seal(&header, 66, &mut bytes);
        pair.accept_any_bytes();
        pair.inject_to_receiver(bytes);
        pair.run_to_end(LIMIT);
        pair.assert_all_accounted(2_000 * u64::from(SAMPLES), None);
        let stats = pair.receiver.stats();
        assert_eq!(stats.reorder_tolerance, FLOOR, "{by} units ago: {stats:?}");
    }
}
