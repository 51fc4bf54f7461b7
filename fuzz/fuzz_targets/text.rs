//! Feeds any text to what reads sources, quantities, faults, formats and addresses.

#![no_main]

#[path = "../checks/input.rs"]
mod input;
#[path = "../checks/text.rs"]
mod text;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| text::check(bytes));
