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

const RUNS: u64 = 20_000;
