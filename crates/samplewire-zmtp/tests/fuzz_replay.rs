//! Runs the check of the fuzz target `zmtp` without a fuzzer: on its corpus, and on seeded mutations of
//! what peers say.

#[path = "../../../fuzz/checks/input.rs"]
mod input;
#[path = "../../../fuzz/checks/replay.rs"]
mod replay;
#[path = "../../../fuzz/checks/zmtp.rs"]
mod zmtp;

use replay::{choose, corpus_passes, mutate, root, run_random};

#[test]
fn corpus_of_zmtp() {
    corpus_passes("zmtp", zmtp::check);
}

#[test]
fn mutated_talk_is_classified_or_refused() {
    let folder = root().join("fuzz/corpus/zmtp");
    let good: Vec<_> = std::fs::read_dir(folder)
        .expect("a corpus")
        .map(|entry| std::fs::read(entry.expect("it is readable").path()).expect("it is readable"))
        .collect();
    run_random(RUNS, zmtp::check, |rng| {
        let mut bytes = choose(rng, &good).clone();
        for _ in 0..=rng.index(4) {
            mutate(&mut bytes, &good, rng);
        }
        bytes
    });
}

const RUNS: u64 = 50_000;
