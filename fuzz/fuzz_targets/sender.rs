//! Runs a sender through arbitrary operations.

#![no_main]

#[path = "../checks/input.rs"]
mod input;
#[path = "../checks/sender.rs"]
mod sender;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sender::check(bytes));
