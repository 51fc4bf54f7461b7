//! Runs the checks of the file and text fuzz targets without a fuzzer: on their corpora, and on
//! seeded mutations of valid inputs.

#[path = "../../../fuzz/checks/input.rs"]
mod input;
#[path = "../../../fuzz/checks/metadata.rs"]
mod metadata;
#[path = "../../../fuzz/checks/replay.rs"]
mod replay;
#[path = "../../../fuzz/checks/text.rs"]
mod text;

use replay::{choose, corpus_passes, mutate, run_random};

#[test]
fn corpus_of_metadata() {
    corpus_passes("metadata", metadata::check);
}

#[test]
fn corpus_of_text() {
    corpus_passes("text", text::check);
}

#[test]
fn mutated_metadata_are_read_or_refused() {
    let good = METADATA.map(|text| text.as_bytes().to_vec());
    run_random(RUNS, metadata::check, |rng| {
        let mut bytes = choose(rng, &good).clone();
        for _ in 0..=rng.index(4) {
            mutate(&mut bytes, &good, rng);
        }
        bytes
    });
}

#[test]
fn mutated_texts_are_read_or_refused() {
    let good = TEXTS.map(|text| text.as_bytes().to_vec());
    run_random(RUNS, text::check, |rng| {
        let mut bytes = choose(rng, &good).clone();
        for _ in 0..rng.index(4) {
            mutate(&mut bytes, &good, rng);
        }
        bytes.insert(0, rng.draw() as u8);
        bytes
    });
}

const METADATA: [&str; 3] = [
    r#"{"global":{"core:datatype":"cu8","core:version":"1.2.5","core:sample_rate":2e6},
        "captures":[{"core:sample_start":0,"core:frequency":1.09e9}],"annotations":[]}"#,
    r#"{"global":{"core:datatype":"ci16_le","core:num_channels":2,"core:offset":100,
        "core:dataset":"other.bin","core:author":"N. N."},
        "captures":[{"core:sample_start":100,"core:global_index":7},{"core:sample_start":2e2}]}"#,
    r#"{"global":{"core:datatype":"rf32_le","core:metadata_only":false,"core:trailing_bytes":0},
        "captures":[{"core:sample_start":0,"core:header_bytes":0,"core:datetime":"2024-02-29"}]}"#,
];

const TEXTS: [&str; 9] = [
    "counter",
    "tone:-250k",
    "tone:1e6",
    "./a b.sigmf-meta",
    "2.5G",
    "forever",
    "sc16",
    "data:loss=0.01,burst=8,corrupt=0.001,dup=0.1,reorder=0.2,depth=3,delay=5ms",
    "feedback:jitter=20us,rate=10G,only=DATA+MARK,hold=100,seed=7",
];

const RUNS: u64 = 50_000;
