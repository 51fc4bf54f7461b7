//! Runs the check of the fuzz target of the switch without a fuzzer: on its corpus, and on seeded
//! inputs.

#[path = "../../../fuzz/checks/ether_switch.rs"]
mod ether_switch;
#[path = "../../../fuzz/checks/input.rs"]
mod input;
#[path = "../../../fuzz/checks/replay.rs"]
mod replay;

use replay::{bytes, corpus_passes, run_random};

#[test]
fn corpus_of_ether_switch() {
    corpus_passes("ether_switch", ether_switch::check);
}

#[test]
fn frames_of_any_bytes_are_forwarded_or_dropped() {
    run_random(RUNS, ether_switch::check, |rng| bytes(rng, 0, 640));
}

#[test]
fn valid_frames_of_roce_are_forwarded_and_answered_for_known_queue_pairs() {
    run_random(RUNS, ether_switch::check, |rng| {
        // Settings: a buffer of 64 KiB, no loss.
        let mut bytes = bytes(rng, 9, 9);
        bytes.extend([0, 0, 0, 0, 0xFF, 0xFF, 0]);
        for _ in 0..rng.below(60) {
            let [kind, number] = [rng.draw() as u8, rng.below(8) as u8];
            let (from, time) = (number & 1, rng.below(0x2000) as u16);
            bytes.extend([0x20, kind, from, 1 - from, number, from]);
            bytes.extend(time.to_le_bytes());
        }
        bytes
    });
}

const RUNS: u64 = 20_000;
