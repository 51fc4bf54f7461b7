//! Runs the checks of the fuzz targets of this crate without a fuzzer: on their corpus, and on seeded
//! inputs.

#[path = "../../../fuzz/checks/btf.rs"]
mod btf;
#[path = "../../../fuzz/checks/frames.rs"]
mod frames;
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

#[test]
fn corpus_of_frames() {
    corpus_passes("frames", frames::check);
}

#[test]
fn frames_of_any_bytes_are_read_within_their_length() {
    run_random(RUNS, frames::check, |rng| {
        // Most begin as a frame that means something.
        let starts: [&[u8]; 5] = [
            include_bytes!("../../../fuzz/corpus/frames/echo"),
            include_bytes!("../../../fuzz/corpus/frames/udp4"),
            include_bytes!("../../../fuzz/corpus/frames/udp4_vlan"),
            include_bytes!("../../../fuzz/corpus/frames/udp6"),
            include_bytes!("../../../fuzz/corpus/frames/arp"),
        ];
        let mut input = starts[rng.below(5) as usize].to_vec();
        for _ in 0..rng.below(4) {
            let at = rng.below(input.len() as u64) as usize;
            input[at] = rng.below(256) as u8;
        }
        input.truncate(2 + rng.below(input.len() as u64) as usize);
        input
    });
}

#[test]
fn corpus_of_btf() {
    corpus_passes("btf", btf::check);
}

#[test]
fn types_of_any_bytes_are_read_within_their_length() {
    run_random(RUNS, btf::check, |rng| bytes(rng, 0, 200));
}

#[test]
fn types_of_any_kind_and_count_are_searched_to_an_end() {
    run_random(RUNS, btf::check, |rng| {
        let mut input = vec![1 + 2 * rng.below(2) as u8];
        for _ in 0..rng.below(8) {
            let (kind, count) = ([4, 4, 5, 6, 8, 10][rng.below(6) as usize], rng.below(5) as u32);
            let words = match kind {
                4 | 5 => 3 * count,
                6 => 2 * count,
                _ => 0,
            };
            let flag = (rng.below(4) as u32) << 31;
            let head = [rng.below(9) as u32, flag | kind << 24 | count, rng.below(10) as u32];
            let body = (0..words).map(|_| rng.below(10) as u32);
            input.extend(head.into_iter().chain(body).flat_map(u32::to_ne_bytes));
        }
        input
    });
}

const RUNS: u64 = 20_000;
