//! Feeds any text to the parser of metrics, and any value of a label to their writer.

#![no_main]

#[path = "../checks/metrics_text.rs"]
mod metrics_text;
#[path = "../checks/input.rs"]
mod input;
#[path = "../../crates/samplewire-cli/src/metrics/text.rs"]
mod text;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| metrics_text::check(bytes));
