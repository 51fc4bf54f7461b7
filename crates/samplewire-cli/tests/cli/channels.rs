//! Several channels of one stream.

use std::fs;
use std::path::Path;

use samplewire::source::counter_sample;
use serde_json::Value;

use crate::harness::{Device, folder, run, text};

/// A bad wire each way.
const BAD_WIRE: [&str; 4] = [
    "--fault",
    "data:loss=0.01,corrupt=0.001,dup=0.001,reorder=0.01,seed=11",
    "--fault",
    "feedback:loss=0.01,corrupt=0.001,dup=0.001,reorder=0.01,seed=12",
];

/// Checks a recording of a counter, index by index and channel by channel, and that it is proven.
/// The number of samples that are there.
fn check_counter(file: &Path, channels: u16) -> u64 {
    run(&["verify", text(file)]).expect(0);
    let meta = fs::read(file.with_extension("sigmf-meta")).unwrap();
    let meta: Value = serde_json::from_slice(&meta).unwrap();
    assert_eq!(meta["global"]["core:num_channels"].as_u64().unwrap_or(1), u64::from(channels));
    let data = fs::read(file.with_extension("sigmf-data")).unwrap();
    let mut frames = data.chunks_exact(4 * usize::from(channels));
    let captures = meta["captures"].as_array().unwrap();
    let start = |at: usize| captures.get(at)?["core:sample_start"].as_u64();
    let mut samples = 0;
    for (at, capture) in captures.iter().enumerate() {
        let first = capture["core:global_index"].as_u64().unwrap();
        let count = start(at + 1).map_or(usize::MAX, |next| (next - start(at).unwrap()) as usize);
        for (index, frame) in (first..).zip(frames.by_ref().take(count)) {
            for (channel, sample) in (0..).zip(frame.chunks(4)) {
                let expected = counter_sample(index, channel);
                assert_eq!(sample, expected, "channel {channel} at index {index}");
            }
            samples += 1;
        }
    }
    assert!(frames.next().is_none());
    samples
}

#[test]
fn eight_channels_stay_aligned_through_loss() {
    let mut arguments = vec!["--source", "counter", "--channels", "8", "--rate", "max"];
    arguments.extend(["--payload", "1408"]);
    arguments.extend(BAD_WIRE);
    let device = Device::start(&arguments);
    let file = folder("eight-channels").join("out");
    let ran = run(&["record", &device.address, text(&file), "--nsamps", "500k"]).expect(0);
    assert!(ran.text().contains("sc16, 8 channels"), "{}", ran.text());
    assert!(!ran.text().contains(" 0 repaired"), "{}", ran.text());
    assert_eq!(check_counter(&file, 8), 500_000);
}

#[test]
fn eight_channels_stay_aligned_around_gaps() {
    let mut arguments = vec!["--source", "counter", "--channels", "8", "--rate", "max"];
    arguments.extend(["--payload", "1408"]);
    arguments.extend(BAD_WIRE);
    let device = Device::start(&arguments);
    let file = folder("eight-channels-gaps").join("out");
    let arguments = ["record", &device.address, text(&file), "--nsamps", "500k"];
    let ran = run(&[&arguments[..], &["--delivery", "best-effort"]].concat()).expect(3);
    let there = check_counter(&file, 8);
    assert!((450_000..500_000).contains(&there), "{there}");
    assert!(ran.text().contains("never asked"), "{}", ran.text());
}
