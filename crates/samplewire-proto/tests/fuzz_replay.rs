//! What the fuzz targets of the protocol check, without a fuzzer: over their corpora, over random
//! operations, and over seeded mutations of the wire vectors.

#[path = "../../../fuzz/checks/block_receiver.rs"]
mod block_receiver;
#[path = "../../../fuzz/checks/block_sender.rs"]
mod block_sender;
#[path = "../../../fuzz/checks/block_wire.rs"]
mod block_wire;
#[path = "../../../fuzz/checks/dcqcn.rs"]
mod dcqcn;
#[path = "../../../fuzz/checks/decode.rs"]
mod decode;
#[path = "../../../fuzz/checks/input.rs"]
mod input;
#[path = "../../../fuzz/checks/packets.rs"]
mod packets;
#[path = "../../../fuzz/checks/play.rs"]
mod play;
#[path = "../../../fuzz/checks/receiver.rs"]
mod receiver;
#[path = "../../../fuzz/checks/replay.rs"]
mod replay;
#[path = "../../../fuzz/checks/sender.rs"]
mod sender;
#[path = "../../../fuzz/checks/session.rs"]
mod session;
#[path = "../../../fuzz/checks/tlvs.rs"]
mod tlvs;

use std::fs;

use replay::{bytes, choose, corpus_passes, mutate, root, run_random};
use samplewire_proto::Rng;

#[test]
fn corpus_of_block_receiver() {
    corpus_passes("block_receiver", block_receiver::check);
}

#[test]
fn corpus_of_block_sender() {
    corpus_passes("block_sender", block_sender::check);
}

#[test]
fn corpus_of_block_wire() {
    corpus_passes("block_wire", block_wire::check);
}

#[test]
fn corpus_of_dcqcn() {
    corpus_passes("dcqcn", dcqcn::check);
}

#[test]
fn corpus_of_decode() {
    corpus_passes("decode", decode::check);
}

#[test]
fn corpus_of_packets() {
    corpus_passes("packets", packets::check);
}

#[test]
fn corpus_of_play() {
    corpus_passes("play", play::check);
}

#[test]
fn corpus_of_receiver() {
    corpus_passes("receiver", receiver::check);
}

#[test]
fn corpus_of_sender() {
    corpus_passes("sender", sender::check);
}

#[test]
fn corpus_of_session() {
    corpus_passes("session", session::check);
}

#[test]
fn corpus_of_tlvs() {
    corpus_passes("tlvs", tlvs::check);
}

#[test]
fn ends_of_the_block_transfer_keep_their_promises_under_random_operations() {
    run_random(RANDOM_RUNS / 4, block_receiver::check, operations);
    run_random(RANDOM_RUNS / 4, block_sender::check, operations);
}

#[test]
fn flow_under_dcqcn_keeps_its_promises_under_random_operations() {
    run_random(RANDOM_RUNS / 20, dcqcn::check, operations);
}

#[test]
fn receiver_keeps_its_promises_under_random_operations() {
    run_random(RANDOM_RUNS, receiver::check, operations);
}

#[test]
fn play_keeps_the_grid_under_random_operations() {
    run_random(RANDOM_RUNS, play::check, operations);
}

#[test]
fn sender_keeps_its_promises_under_random_operations() {
    run_random(RANDOM_RUNS, sender::check, operations);
}

#[test]
fn openings_end_once_under_random_operations() {
    run_random(RANDOM_RUNS, session::check, operations);
}

#[test]
fn packets_of_random_fields_come_through() {
    run_random(RANDOM_RUNS, packets::check, operations);
    run_random(RANDOM_RUNS, tlvs::check, |rng| bytes(rng, 0, 300));
}

fn operations(rng: &mut Rng) -> Vec<u8> {
    bytes(rng, 64, 1_500)
}

#[test]
fn mutated_vectors_are_parsed_or_refused() {
    let vectors = [vectors("packets.json"), vectors("invalid.json")].concat();
    for (number, bytes) in vectors.iter().enumerate() {
        println!("vector {number}");
        decode::check(bytes);
    }
    run_random(MUTATIONS, decode::check, |rng| {
        let mut bytes = choose(rng, &vectors).clone();
        for _ in 0..=rng.index(4) {
            mutate(&mut bytes, &vectors, rng);
        }
        bytes
    });
}

#[test]
fn mutated_frames_of_the_block_transfer_are_parsed_or_refused() {
    let vectors = vectors("block.json");
    vectors.iter().for_each(|bytes| block_wire::check(bytes));
    run_random(MUTATIONS / 4, block_wire::check, |rng| {
        let mut bytes = choose(rng, &vectors).clone();
        for _ in 0..=rng.index(4) {
            mutate(&mut bytes, &vectors, rng);
        }
        bytes
    });
}

/// The packets of a file of vectors, which is a list, or an object of lists.
fn vectors(file: &str) -> Vec<Vec<u8>> {
    let json = fs::read_to_string(root().join("vectors").join(file)).expect("the vectors");
    let vectors: serde_json::Value = serde_json::from_str(&json).expect("the vectors are JSON");
    let hex = |digits: &str| -> Vec<u8> {
        (0..digits.len() / 2)
            .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("hex digits"))
            .collect()
    };
    let lists = vectors.as_object().map_or_else(|| vec![&vectors], |it| it.values().collect());
    let rows = lists.into_iter().flat_map(|list| list.as_array().expect("a list of vectors"));
    rows.map(|vector| hex(vector["hex"].as_str().expect("a string"))).collect()
}

const MUTATIONS: u64 = 100_000;
const RANDOM_RUNS: u64 = 20_000;
