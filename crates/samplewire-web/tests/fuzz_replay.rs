//! Runs the check of the fuzz target `web` without a fuzzer: on its corpus, and on seeded mutations of
//! valid messages, actions and frames.

#[path = "../../../fuzz/checks/input.rs"]
mod input;
#[path = "../../../fuzz/checks/replay.rs"]
mod replay;
#[path = "../../../fuzz/checks/web.rs"]
mod web;

use replay::{choose, corpus_passes, mutate, run_random};
use samplewire_web::frame::{Frame, FrameGap};

#[test]
fn corpus_of_web() {
    corpus_passes("web", web::check);
}

#[test]
fn mutated_messages_actions_and_frames_are_read_or_refused() {
    let kind = |kind: u8, texts: &[&str]| -> Vec<Vec<u8>> {
        texts.iter().map(|text| [&[kind], text.as_bytes()].concat()).collect()
    };
    let good = [kind(1, &MESSAGES), kind(3, &ACTIONS), vec![frame()]].concat();
    run_random(RUNS, web::check, |rng| {
        let mut bytes = choose(rng, &good).clone();
        for _ in 0..=rng.index(4) {
            mutate(&mut bytes, &good, rng);
        }
        bytes
    });
}

fn frame() -> Vec<u8> {
    let gap = FrameGap { first: 7, len: 9, cause: 1, hop: 1, stream: None, boot: 1 };
    let frame = Frame {
        source: 0,
        stream: 0,
        channel: 0,
        number: 1,
        omitted: 0,
        transforms: 4,
        index: 16,
        len_samples: 8,
        seen_samples: 8,
        delivered_samples: 7,
        gaps_before: 1,
        rate_hz: 1e6,
        centre_hz: 0.0,
        span_hz: 1e6,
        offset_db: -140.0,
        step_db: 0.55,
        row_samples: 32,
        tai_ns: Some(1),
        position: 16,
        boot: 1,
        gaps: vec![gap],
        mean: vec![1, 2, 3, 4],
        peak: vec![5, 6, 7, 8],
    };
    let mut bytes = vec![0];
    frame.encode(&mut bytes);
    bytes
}

const MESSAGES: [&str; 3] = [
    r#"{"seen": 7}"#,
    r#"{"view": {"bins": 2048, "fps": 30}}"#,
    r#"{"view": {"source": 0, "stream": 1, "channel": 2, "bins": 256, "fps": 60, "zoom": 64,
        "centre": -0.25}}"#,
];

const ACTIONS: [&str; 4] = [
    r#"{"record": {"source": 1, "from": "7", "until": "900", "name": "a-b", "form": "raw"}}"#,
    r#"{"stop": {"at": "18446744073709551615"}}"#,
    r#"{"event": {"text": "what", "at": "7"}}"#,
    r#"{"end": {}}"#,
];

const RUNS: u64 = 50_000;
