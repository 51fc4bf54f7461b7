//! Targets without a fuzzer: over their corpora, and over inputs from a seed.

use std::fs;
use std::path::{Path, PathBuf};

use samplewire_proto::Rng;

/// Panics when an input breaks an invariant.
pub(crate) type Check = fn(&[u8]);

/// Checks every input of a target's corpus.
///
/// # Panics
/// When one breaks an invariant, or there are none.
pub(crate) fn corpus_passes(target: &str, check: Check) {
    let mut files = 0;
    for entry in fs::read_dir(root().join("fuzz/corpus").join(target)).expect("a corpus") {
        let path = entry.expect("the corpus is readable").path();
        println!("{}", path.display());
        check(&fs::read(&path).expect("an input is readable"));
        files += 1;
    }
    assert!(files > 0, "an empty corpus of {target} replays nothing");
}

/// Checks inputs that `draw` makes of a seed; a failure prints the seed.
///
/// # Panics
/// When one breaks an invariant.
pub(crate) fn run_random(runs: u64, check: Check, mut draw: impl FnMut(&mut Rng) -> Vec<u8>) {
    for seed in 0..runs {
        let bytes = draw(&mut Rng::new(seed));
        let outcome = std::panic::catch_unwind(|| check(&bytes));
        assert!(outcome.is_ok(), "seed {seed}: {bytes:02x?}");
    }
}

/// The folder of the whole project, for a test in one of its crates.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// One of `from`.
#[expect(clippy::allow_attributes, reason = "each test draws some of it")]
#[allow(dead_code)]
pub(crate) fn choose<'a, T>(rng: &mut Rng, from: &'a [T]) -> &'a T {
    &from[rng.index(from.len())]
}

/// Bytes without any order: `least` of them, and up to `more` more.
#[expect(clippy::allow_attributes, reason = "each test draws some of it")]
#[allow(dead_code)]
pub(crate) fn bytes(rng: &mut Rng, least: usize, more: usize) -> Vec<u8> {
    (0..least + rng.index(more)).map(|_| rng.draw() as u8).collect()
}

/// Changes, cuts or lengthens an input, or crosses it with another.
#[expect(clippy::allow_attributes, reason = "not each test has inputs to change")]
#[allow(dead_code)]
pub(crate) fn mutate(bytes: &mut Vec<u8>, others: &[Vec<u8>], rng: &mut Rng) {
    let at = rng.index(bytes.len().max(1));
    match rng.index(6) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << rng.index(8),
        1 if !bytes.is_empty() => bytes[at] = rng.draw() as u8,
        2 if !bytes.is_empty() => bytes[at] = *choose(rng, &[0x00, 0x01, 0x7F, 0x80, 0xFF]),
        3 => bytes.truncate(at),
        4 => bytes.resize(bytes.len() + 1 + rng.index(16), rng.draw() as u8),
        _ => {
            let other = choose(rng, others);
            let from = rng.index(other.len().max(1)).min(other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
    }
}
