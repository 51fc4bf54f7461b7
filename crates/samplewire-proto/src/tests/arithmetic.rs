//! Numbers that wrap: seq at 2^32, departures at 68.7 s, indexes beyond 2^32.

use super::pair::{Pair, SAMPLES, terms};
use crate::number::{Nanos, Seq};
use crate::receiver::ReceiverConfig;
use crate::stream::{End, Terms};

const RTT: Nanos = Nanos::from_micros(100);

/// Runs `packets` through 10 % loss both ways from the given origin.
fn run_from(now: Nanos, terms: Terms, packets: u64) {
    let mut pair = Pair::at(now, 11, terms, ReceiverConfig::new());
    pair.data_path.loss = 0.1;
    pair.report_path.loss = 0.1;
    pair.to_push = packets;
    pair.interval = Nanos(2_000);
    pair.run_to_end(Nanos::from_millis(60_000));
    let final_index = terms.first_index + packets * u64::from(SAMPLES);
    assert_eq!(pair.receiver_end, Some(End::Finished { final_index }));
    pair.assert_all_accounted(final_index, None);
    assert!(pair.receiver.stats().repaired > packets / 20);
}

#[test]
fn stream_crosses_the_seq_wrap() {
    run_from(Nanos(0), Terms { first_seq: Seq(u32::MAX - 5_000), ..terms(1_024, RTT) }, 10_000);
}

#[test]
fn stream_crosses_the_wrap_of_departures() {
    let wrap = Nanos((1 << 32) * 16);
    run_from(wrap - Nanos::from_millis(10), terms(1_024, RTT), 10_000);
}

#[test]
fn stream_crosses_the_sign_change_of_departures() {
    let half = Nanos((1 << 31) * 16);
    run_from(half - Nanos::from_millis(10), terms(1_024, RTT), 10_000);
}

#[test]
fn index_grows_beyond_32_bits() {
    run_from(Nanos(0), Terms { first_index: (1 << 32) - 1_000, ..terms(1_024, RTT) }, 2_000);
}

#[test]
fn all_wraps_at_once_in_a_window_that_is_no_power_of_two() {
    let terms = Terms {
        first_seq: Seq(u32::MAX - 1_000),
        first_index: (1 << 32) - 16_000,
        ..terms(800, RTT)
    };
    run_from(Nanos((1 << 32) * 16) - Nanos::from_millis(2), terms, 4_000);
}

#[test]
fn window_of_2_to_the_18_repairs_a_long_path() {
    let rtt = Nanos::from_millis(50);
    let mut pair = Pair::new(3, terms(1 << 18, rtt), ReceiverConfig::new());
    pair.data_path.loss = 0.01;
    pair.report_path.loss = 0.01;
    pair.to_push = 400_000;
    pair.interval = Nanos(500);
    pair.run_to_end(Nanos::from_millis(60_000));
    pair.assert_all_accounted(400_000 * u64::from(SAMPLES), None);
    assert!(pair.now < Nanos::from_millis(700), "one window and its repairs: {:?}", pair.now);
}
