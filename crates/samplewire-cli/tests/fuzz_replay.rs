//! Runs the checks of the fuzz targets `connection_line` and `metrics_text` without a fuzzer: on their
//! corpora, on pairs of boundary values, and on seeded mutations.

#[path = "../../../fuzz/checks/connection_line.rs"]
mod connection_line;
#[path = "../../../fuzz/checks/input.rs"]
mod input;
#[path = "../src/roce/line.rs"]
mod line;
#[path = "../../../fuzz/checks/metrics_text.rs"]
mod metrics_text;
#[path = "../src/plain.rs"]
mod plain;
#[path = "../../../fuzz/checks/replay.rs"]
mod replay;
#[path = "../src/metrics/text.rs"]
mod text;

use replay::{Check, choose, corpus_passes, mutate, root, run_random};

#[test]
fn corpus_of_connection_line() {
    corpus_passes("connection_line", connection_line::check);
}

#[test]
fn corpus_of_metrics_text() {
    corpus_passes("metrics_text", metrics_text::check);
}

/// Two fields at once, the others in range.
#[test]
fn numbers_of_a_line_are_accepted_in_range_alone() {
    let choices = connection_line::CHOICES;
    for first in 0..choices.len() {
        for second in first + 1..choices.len() {
            for (one, other) in pairs(choices[first], choices[second]) {
                // An even byte, and a choice for each field.
                let mut bytes = [0; 1 + connection_line::CHOICES.len()];
                (bytes[1 + first], bytes[1 + second]) = (one as u8, other as u8);
                connection_line::check(&bytes);
            }
        }
    }
}

#[test]
fn value_of_a_label_is_read_as_it_was_written_beside_any_other() {
    let values = metrics_text::VALUES;
    for number in 0..metrics_text::NUMBERS.len() {
        for (one, other) in pairs(values.len(), values.len()) {
            let bytes = [&[0, number as u8, one as u8], values[other].as_bytes()].concat();
            metrics_text::check(&bytes);
        }
    }
}

#[test]
fn mutated_lines_are_read_or_refused() {
    mutated("connection_line", connection_line::check);
}

#[test]
fn mutated_pages_are_parsed_or_refused() {
    mutated("metrics_text", metrics_text::check);
}

fn pairs(ones: usize, others: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..ones).flat_map(move |one| (0..others).map(move |other| (one, other)))
}

fn mutated(target: &str, check: Check) {
    let good: Vec<_> = std::fs::read_dir(root().join("fuzz/corpus").join(target))
        .expect("a corpus")
        .map(|entry| std::fs::read(entry.expect("it is readable").path()).expect("it is readable"))
        .collect();
    run_random(RUNS, check, |rng| {
        let mut bytes = choose(rng, &good).clone();
        for _ in 0..=rng.index(4) {
            mutate(&mut bytes, &good, rng);
        }
        bytes
    });
}

const RUNS: u64 = 50_000;
