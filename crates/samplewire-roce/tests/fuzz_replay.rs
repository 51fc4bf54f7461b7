//! What the fuzz targets of RoCEv2 check, without a fuzzer: over their corpora, over random
//! operations, and over mutations of the vectors.

#[path = "../../../fuzz/checks/input.rs"]
mod input;
#[path = "../../../fuzz/checks/replay.rs"]
mod replay;
#[path = "../../../fuzz/checks/roce_queue_pair.rs"]
mod roce_queue_pair;
#[path = "../../../fuzz/checks/roce_requester.rs"]
mod roce_requester;
#[path = "../../../fuzz/checks/roce_responder.rs"]
mod roce_responder;
#[path = "../../../fuzz/checks/roce_stream.rs"]
mod roce_stream;
#[path = "../../../fuzz/checks/roce_wire.rs"]
mod roce_wire;

use std::fs;

use replay::{bytes, choose, corpus_passes, mutate, root, run_random};
use samplewire_proto::Rng;

#[test]
fn corpus_of_roce_wire() {
    corpus_passes("roce_wire", roce_wire::check);
}

#[test]
fn corpus_of_roce_queue_pair() {
    corpus_passes("roce_queue_pair", roce_queue_pair::check);
}

#[test]
fn corpus_of_roce_requester() {
    corpus_passes("roce_requester", roce_requester::check);
}

#[test]
fn corpus_of_roce_responder() {
    corpus_passes("roce_responder", roce_responder::check);
}

#[test]
fn corpus_of_roce_stream() {
    corpus_passes("roce_stream", roce_stream::check);
}

#[test]
fn queue_pair_keeps_its_promises_under_random_operations() {
    run_random(RUNS / 10, roce_queue_pair::check, operations);
}

#[test]
fn requester_keeps_its_promises_under_random_operations() {
    run_random(RUNS, roce_requester::check, operations);
}

#[test]
fn responder_keeps_its_promises_under_random_operations() {
    run_random(RUNS, roce_responder::check, operations);
}

#[test]
fn stream_keeps_its_promises_under_random_operations() {
    run_random(RUNS / 10, roce_stream::check, operations);
}

fn operations(rng: &mut Rng) -> Vec<u8> {
    bytes(rng, 64, 1_500)
}

#[test]
fn mutated_vectors_are_read_or_refused() {
    let vectors = vectors();
    run_random(RUNS, roce_wire::check, |rng| {
        let mut bytes = choose(rng, &vectors).clone();
        for _ in 0..=rng.index(4) {
            mutate(&mut bytes, &vectors, rng);
        }
        bytes
    });
}

/// The frames of `roce.json`, valid and invalid.
fn vectors() -> Vec<Vec<u8>> {
    let json = fs::read_to_string(root().join("vectors/roce.json")).expect("the vectors");
    let vectors: serde_json::Value = serde_json::from_str(&json).expect("the vectors are JSON");
    let hex = |digits: &str| -> Vec<u8> {
        (0..digits.len() / 2)
            .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("hex digits"))
            .collect()
    };
    let parts = ["frames", "invalid", "unusual", "foreign"];
    let rows = parts.iter().flat_map(|part| vectors[part].as_array().expect("a list of vectors"));
    rows.map(|row| hex(row["hex"].as_str().expect("a string"))).collect()
}

const RUNS: u64 = 20_000;
