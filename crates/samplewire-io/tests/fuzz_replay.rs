//! Runs the check of the fuzz target of netlink without a fuzzer: on its corpus, and on seeded inputs.

#[path = "../../../fuzz/checks/input.rs"]
mod input;
#[path = "../../../fuzz/checks/netlink.rs"]
mod netlink;
#[path = "../../../fuzz/checks/replay.rs"]
mod replay;

use replay::{bytes, corpus_passes, run_random};

#[test]
fn corpus_of_netlink() {
    corpus_passes("netlink", netlink::check);
}

#[test]
fn replies_of_any_bytes_are_read_within_their_length() {
    run_random(RUNS, netlink::check, |rng| bytes(rng, 0, 200));
}

#[test]
fn messages_with_attributes_of_any_length_are_read_within_their_length() {
    run_random(RUNS, netlink::check, |rng| {
        let mut input = vec![rng.below(4) as u8, rng.below(3) as u8];
        for _ in 0..rng.below(4) {
            let mut body = vec![0; 4];
            for _ in 0..rng.below(6) {
                let (len, kind) = (rng.below(13) as u16, rng.below(16) as u16);
                body.extend((len + rng.below(5) as u16).to_ne_bytes());
                body.extend(kind.to_ne_bytes());
                body.extend(bytes(rng, usize::from(len), usize::from(len)));
                body.resize(body.len().next_multiple_of(4), 0);
            }
            let len_bytes = 16 + body.len() as u32 + rng.below(3) as u32;
            input.extend(len_bytes.to_ne_bytes());
            input.extend((rng.below(20) as u16).to_ne_bytes());
            input.extend([0; 10]);
            input.extend(body);
        }
        input
    });
}

const RUNS: u64 = 20_000;
