//! Runs a line of play through arbitrary operations.

#![no_main]

#[path = "../checks/input.rs"]
mod input;
#[path = "../checks/play.rs"]
mod play;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| play::check(bytes));
