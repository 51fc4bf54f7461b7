//! What the fuzz targets check, without a fuzzer: over their corpora and over seeded mutations of
//! the wire vectors.

#[path = "../../../fuzz/checks/decode.rs"]
mod decode;
#[path = "../../../fuzz/checks/input.rs"]
mod input;
#[path = "../../../fuzz/checks/receiver.rs"]
mod receiver;
#[path = "../../../fuzz/checks/sender.rs"]
mod sender;

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn corpora_pass() {
    let targets: [(&str, Check); 3] =
        [("decode", decode::check), ("receiver", receiver::check), ("sender", sender::check)];
    for (target, check) in targets {
        let mut files = 0;
        let folder = root().join("fuzz/corpus").join(target);
        for entry in fs::read_dir(folder).expect("the corpus is there") {
            let path = entry.expect("the corpus is readable").path();
            println!("{}", path.display());
            check(&fs::read(&path).expect("an input is readable"));
            files += 1;
        }
        assert!(files > 0, "an empty corpus of {target} replays nothing");
    }
}

#[test]
fn receiver_keeps_its_promises_under_random_operations() {
    run_random(receiver::check);
}

#[test]
fn sender_keeps_its_promises_under_random_operations() {
    run_random(sender::check);
}

/// Panics when an input breaks an invariant.
type Check = fn(&[u8]);

/// Checks random inputs; a failure prints the seed.
fn run_random(check: Check) {
    for seed in 0..RANDOM_RUNS {
        let mut rng = Rng(seed);
        let bytes: Vec<u8> = (0..64 + rng.below(1_500)).map(|_| rng.draw() as u8).collect();
        let outcome = std::panic::catch_unwind(|| check(&bytes));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

#[test]
fn mutated_vectors_are_parsed_or_refused() {
    let vectors = [vectors("packets.json"), vectors("invalid.json")].concat();
    for (number, bytes) in vectors.iter().enumerate() {
        println!("vector {number}");
        decode::check(bytes);
    }
    for seed in 0..MUTATIONS {
        let mut rng = Rng(seed);
        let mut bytes = rng.choose(&vectors).clone();
        for _ in 0..=rng.below(4) {
            mutate(&mut bytes, &vectors, &mut rng);
        }
        let outcome = std::panic::catch_unwind(|| decode::check(&bytes));
        assert!(outcome.is_ok(), "seed {seed}: {bytes:02x?}");
    }
}

/// Changes, cuts, lengthens or crosses.
fn mutate(bytes: &mut Vec<u8>, vectors: &[Vec<u8>], rng: &mut Rng) {
    let at = rng.below(bytes.len().max(1));
    match rng.below(6) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << rng.below(8),
        1 if !bytes.is_empty() => bytes[at] = rng.draw() as u8,
        2 if !bytes.is_empty() => bytes[at] = *rng.choose(&[0x00, 0x01, 0x7F, 0x80, 0xFF]),
        3 => bytes.truncate(at),
        4 => bytes.resize(bytes.len() + 1 + rng.below(16), rng.draw() as u8),
        _ => {
            let other = rng.choose(vectors);
            let from = rng.below(other.len().max(1)).min(other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
    }
}

fn vectors(file: &str) -> Vec<Vec<u8>> {
    let json = fs::read_to_string(root().join("vectors").join(file)).expect("the vectors");
    let vectors: serde_json::Value = serde_json::from_str(&json).expect("the vectors are JSON");
    let hex = |digits: &str| -> Vec<u8> {
        (0..digits.len() / 2)
            .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("hex digits"))
            .collect()
    };
    let list = vectors.as_array().expect("a list of vectors");
    list.iter().map(|vector| hex(vector["hex"].as_str().expect("a string"))).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.draw() % end as u64) as usize
    }

    fn choose<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

const MUTATIONS: u64 = 100_000;
const RANDOM_RUNS: u64 = 20_000;
